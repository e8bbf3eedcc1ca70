//! What the test program does when it is not the tester.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, ExitCode, Stdio};
use whimbrel_linux::{Cgroup, Datapath, LinuxError, Options, Selection};

/// Exit status when this system does not allow it.
pub const NOT_ALLOWED: u8 = 77;

pub fn play(args: &[String]) -> ExitCode {
    let role = args.first().map_or("", String::as_str);
    let result = match role.split_once('=') {
        Some(("hold-existing", path)) => hold(Some(Cgroup::Existing(path.into()))),
        None if role == "hold" => hold(None),
        None if role == "hold-cgroup" => hold(Some(Cgroup::New)),
        _ => panic!("unknown role {role}"),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(NOT_ALLOWED)
        }
    }
}

/// Registers an algorithm, prints its name and the cgroup's directory, and keeps both until the
/// standard input ends. A process that it started stays in a new cgroup.
#[expect(clippy::zombie_processes, reason = "the tester ends the other process")]
fn hold(cgroup: Option<Cgroup>) -> Result<(), LinuxError> {
    let options = Options::new("cerl".parse().expect("a controller"));
    let datapath = Datapath::load(&options)?;
    let mut line = datapath.name().to_owned();
    let chosen = match &cgroup {
        Some(cgroup) => Some(datapath.choose(cgroup, &Selection::default())?),
        None => None,
    };
    if let (Some(chosen), Some(Cgroup::New)) = (&chosen, &cgroup) {
        let child = Command::new("sleep")
            .arg("60")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("sleep");
        let procs = chosen.directory().join("cgroup.procs");
        fs::write(procs, child.id().to_string()).expect("to move the process");
        line = format!("{line} {} {}", chosen.directory().display(), child.id());
    }
    println!("{line}");
    std::io::stdout().flush().expect("the tester reads");
    let _ = std::io::stdin().read(&mut [0]);
    Ok(())
}
