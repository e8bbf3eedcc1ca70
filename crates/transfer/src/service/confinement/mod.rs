//! Confines the server's process to what a file server does, before it reads anything from a peer.
//! A mistake in the server then opens no way to other files, programs or the rest of the kernel.
//!
//! | part | content |
//! |---|---|
//! | `file_rules` | which files it may open, by Landlock |
//! | `call_rules` | which system calls it may make, by seccomp |
//!
//! What the kernel does not have is left out and named. A confinement cannot be lifted, so a
//! configuration file that is read again may not need more than the first one.

mod call_rules;
mod file_rules;

use crate::users::{Target, Users};
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use thiserror::Error;

/// What the targets of pipes need beside connections to addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// Programs of `[commands]`.
    programs: bool,
    /// The addresses of hosts that are given by name.
    names: bool,
}

impl Needs {
    /// What the targets of these users need.
    pub fn of(users: &Users) -> Self {
        let is_name = |target: &Target| match target {
            Target::Tcp(host, _) => host.parse::<IpAddr>().is_err(),
            Target::Command(_) => false,
        };
        let is_program = |target: &Target| matches!(target, Target::Command(_));
        Self {
            programs: users.targets().any(is_program),
            names: users.targets().any(is_name),
        }
    }
}

/// The files and calls of a server.
#[derive(Debug, Default)]
pub struct Uses {
    /// What the targets need.
    pub needs: Needs,
    /// The directory of the users' files.
    pub directory: PathBuf,
    /// The directory of packet logs.
    pub qlog: Option<PathBuf>,
    /// The audit log, which is begun anew when it was renamed.
    pub audit: Option<PathBuf>,
    /// The file of users, which is read again, and may be replaced.
    pub config: Option<PathBuf>,
    /// TCP under one of Whimbrel's algorithms, which is a program in the kernel.
    pub kernel_algorithm: bool,
}

/// Users need more than the server is confined to: what it cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the server is confined and {0}; restart it")]
pub struct NeedsMore(&'static str);

/// What a server was confined to.
#[derive(Debug)]
pub struct Confinement {
    /// It opens its own files only.
    pub files: bool,
    /// It starts no programs, and makes none of the calls that a server does not need.
    pub calls: bool,
    /// Why it is not confined.
    unconfined: Option<&'static str>,
    needs: Needs,
    /// Keeps the rule for it: a directory of procfs that nothing uses may become another one.
    _own: Option<File>,
}

impl Confinement {
    /// No confinement, and why.
    fn none(why: &'static str, needs: Needs) -> Self {
        Self {
            files: false,
            calls: false,
            unconfined: Some(why),
            needs,
            _own: None,
        }
    }

    /// Confines this thread and all that it starts, unless that is not `wanted`.
    ///
    /// # Errors
    /// If the kernel has what is needed and refuses it.
    pub fn begin(uses: &Uses, wanted: bool) -> io::Result<Self> {
        let needs = uses.needs;
        if !wanted {
            return Ok(Self::none("it was turned off", needs));
        }
        // A program would inherit the confinement, and it has other files than the server.
        if needs.programs {
            return Ok(Self::none("it starts the programs of [commands]", needs));
        }
        let own = File::open("/proc/self").ok();
        let files = file_rules::confine(uses, own.as_ref()).map_err(io::Error::other)?;
        let calls = call_rules::confine(uses.kernel_algorithm)?;
        let nothing = "this kernel has neither Landlock nor seccomp";
        Ok(Self {
            files,
            calls,
            unconfined: (!files && !calls).then_some(nothing),
            needs,
            _own: own,
        })
    }

    /// Whether a confined server can serve these users, too.
    ///
    /// # Errors
    /// If it cannot; says what to do.
    pub fn permits(&self, users: &Users) -> Result<(), NeedsMore> {
        let needs = Needs::of(users);
        let what = match self {
            _ if needs.programs && self.calls => "starts no programs, which `connect` needs now",
            _ if needs.names && !self.needs.names && self.files => {
                "cannot look up names of hosts, which `connect` needs now"
            }
            _ => return Ok(()),
        };
        Err(NeedsMore(what))
    }

    /// One line for the operator.
    pub fn line(&self) -> String {
        match (self.unconfined, self.files, self.calls) {
            (Some(why), ..) => format!("not confined: {why}"),
            (_, true, true) => "confined: opens no other files and starts no programs".to_owned(),
            (_, true, false) => {
                "confined: opens no other files; this kernel has no seccomp".to_owned()
            }
            _ => "confined: starts no programs; this kernel has no Landlock, so it may open other \
                  files"
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Token;
    use crate::scratch_directory::ScratchDirectory;
    use crate::users::{Rights, User};
    use std::fs;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use whimbrel_cc::fairness::Priority;

    const FOLDER: &str = "WHIMBREL_TEST_CONFINED";

    fn reaching(target: Target) -> Users {
        let token = Token::random().expect("randomness");
        let mut user = User::owner(&token, Rights::default(), Priority::HIGHEST);
        user.connect.insert("target".to_owned(), target);
        Users::new([user])
    }

    fn port(host: &str) -> Target {
        Target::Tcp(host.to_owned(), 22)
    }

    fn program() -> Target {
        Target::Command(vec!["borg".to_owned()])
    }

    #[test]
    fn programs_and_names_are_what_targets_need() {
        for (target, programs, names) in [
            (program(), true, false),
            (port("127.0.0.1"), false, false),
            (port("::1"), false, false),
            (port("db.example"), false, true),
        ] {
            assert_eq!(Needs::of(&reaching(target)), Needs { programs, names });
        }
    }

    #[test]
    fn users_that_need_more_than_the_first_ones_are_refused() {
        let confined = |names| Confinement {
            files: true,
            calls: true,
            unconfined: None,
            needs: Needs {
                programs: false,
                names,
            },
            _own: None,
        };
        assert!(confined(false).permits(&reaching(port("::1"))).is_ok());
        assert!(
            confined(true)
                .permits(&reaching(port("db.example")))
                .is_ok()
        );
        let names = confined(false).permits(&reaching(port("db.example")));
        assert!(names.is_err_and(|e| e.to_string().contains("names of hosts")));
        let programs = confined(true).permits(&reaching(program()));
        assert!(programs.is_err_and(|e| e.to_string().contains("programs")));
        let unconfined = Confinement::none("it was turned off", Needs::default());
        assert!(unconfined.permits(&reaching(program())).is_ok());
    }

    /// A confinement cannot be lifted, so a process of its own tries it.
    #[test]
    fn a_confined_process_opens_its_own_files_and_starts_nothing() {
        let folder = ScratchDirectory::new();
        let path = folder.path();
        for name in ["files/user", "log", "config", "qlog"] {
            fs::create_dir_all(path.join(name)).expect("created");
        }
        for name in ["secret", "files/user/a", "config/server.toml", "log/audit"] {
            fs::write(path.join(name), "text").expect("written");
        }
        symlink("../secret", path.join("files/link")).expect("created");
        let status = Command::new(std::env::current_exe().expect("this"))
            .args(["--ignored", "--exact", "--test-threads=1"])
            .arg("service::confinement::tests::confined")
            .env(FOLDER, path)
            .status();
        assert!(status.expect("it runs").success());
    }

    #[test]
    #[ignore = "run by a_confined_process_opens_its_own_files_and_starts_nothing"]
    fn confined() {
        let path = PathBuf::from(std::env::var_os(FOLDER).expect("a folder"));
        let uses = Uses {
            directory: path.join("files"),
            qlog: Some(path.join("qlog")),
            audit: Some(path.join("log/audit")),
            config: Some(path.join("config/server.toml")),
            ..Uses::default()
        };
        let confinement = Confinement::begin(&uses, true).expect("confined");
        if confinement.files {
            owns_its_files(&path);
            opens_no_others(&path);
        } else {
            eprintln!("this kernel has no Landlock");
        }
        assert!(confinement.calls, "{}", confinement.line());
        calls_what_it_needs();
        calls_nothing_else();
    }

    fn owns_its_files(path: &std::path::Path) {
        let files = path.join("files");
        fs::create_dir(files.join("new")).expect("created");
        fs::write(files.join("user/b"), "text").expect("written");
        // Hidden files move from the top to their directories.
        fs::rename(files.join("user/b"), files.join("new/b")).expect("renamed");
        fs::hard_link(files.join("new/b"), files.join("user/b")).expect("linked");
        symlink("b", files.join("new/link")).expect("linked");
        let listed = fs::read_dir(&files).expect("listed").count();
        assert_eq!(listed, 3);
        fs::remove_dir_all(files.join("new")).expect("removed");
        fs::rename(path.join("config"), path.join("x")).expect_err("not its own");
        fs::read_to_string(path.join("config/server.toml")).expect("read");
        fs::write(path.join("config/server.toml"), "x").expect_err("only read");
        fs::read_to_string("/proc/self/status").expect("read");
        let append = |name: &str| {
            File::options()
                .append(true)
                .create(true)
                .open(path.join(name))
        };
        append("log/audit").expect("opened");
        append("log/new").expect("created");
        append("qlog/new").expect("created");
    }

    fn opens_no_others(path: &std::path::Path) {
        let denied = |result: io::Result<File>, what: &str| {
            let kind = result.map_err(|e| e.kind()).err();
            assert_eq!(kind, Some(io::ErrorKind::PermissionDenied), "{what}");
        };
        for other in ["/etc/passwd", "/proc/1/environ", "/bin/sh", "/"] {
            denied(File::open(other), other);
        }
        denied(File::open(path.join("secret")), "beside the directory");
        denied(File::open(path.join("files/link")), "through a link");
        denied(File::open(path.join("files/../secret")), "above it");
        denied(File::open(path.join("log/audit")), "to read the log");
        denied(File::create(path.join("new")), "to create a file");
        fs::rename(path.join("files/user/a"), path.join("a")).expect_err("out of it");
        fs::hard_link(path.join("secret"), path.join("files/s")).expect_err("into it");
    }

    fn calls_what_it_needs() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("bound");
        let connecting = std::thread::spawn(move || TcpStream::connect(address).is_ok());
        listener.accept().expect("accepted");
        assert!(connecting.join().expect("no panic"));
        std::net::UdpSocket::bind("[::1]:0").expect("bound");
        // SAFETY: zero is valid for each number of it. The call writes to it, and changes nothing
        // without modes.
        let state = unsafe {
            let mut timex: libc::timex = std::mem::zeroed();
            libc::adjtimex(&raw mut timex)
        };
        assert!(state >= 0, "whether something keeps the clock right");
    }

    fn calls_nothing_else() {
        let refused = Command::new("/bin/true").status();
        assert!(refused.is_err(), "a program was started");
        let error = || io::Error::last_os_error().raw_os_error();
        // SAFETY: none of the calls has effects beyond this process, which ends soon.
        unsafe {
            assert_eq!(
                (libc::unshare(libc::CLONE_NEWUSER), error()),
                (-1, Some(libc::EPERM))
            );
            let raw = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
            assert_eq!((raw, error()), (-1, Some(libc::EPERM)));
            let traced = libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            assert_eq!((traced, error()), (-1, Some(libc::EPERM)));
            let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
            let cloned = libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0);
            assert_eq!((cloned, error()), (-1, Some(libc::EPERM)));
            let cloned = libc::syscall(libc::SYS_clone3, 0, 0);
            assert_eq!((cloned, error()), (-1, Some(libc::ENOSYS)));
            // It would move the clock by nothing.
            let mut timex: libc::timex = std::mem::zeroed();
            timex.modes = libc::ADJ_SETOFFSET;
            let set = libc::adjtimex(&raw mut timex);
            assert_eq!((set, error()), (-1, Some(libc::EPERM)));
        }
    }
}
