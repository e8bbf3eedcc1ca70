//! The tests.

use crate::roles::NOT_ALLOWED;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};
use nix::unistd::Pid;
use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use whimbrel_linux::{Cgroup, Datapath, LinuxError, Network, Options, Selection};

const TESTS: &[(&str, fn())] = &[
    (
        "an_algorithm_is_available_until_it_is_dropped",
        an_algorithm_is_available_until_it_is_dropped,
    ),
    ("instances_run_side_by_side", instances_run_side_by_side),
    (
        "the_innermost_cgroup_decides_and_in_it_the_first",
        the_innermost_cgroup_decides_and_in_it_the_first,
    ),
    (
        "a_killed_process_leaves_nothing_behind",
        a_killed_process_leaves_nothing_behind,
    ),
    (
        "a_dropped_cgroup_is_removed_and_its_processes_live_on",
        a_dropped_cgroup_is_removed_and_its_processes_live_on,
    ),
    (
        "stale_cgroups_are_removed_by_the_next_instance",
        stale_cgroups_are_removed_by_the_next_instance,
    ),
    (
        "a_silent_process_loses_its_connections_to_the_fallback",
        a_silent_process_loses_its_connections_to_the_fallback,
    ),
    (
        "connections_of_a_killed_process_go_on_with_the_fallback",
        connections_of_a_killed_process_go_on_with_the_fallback,
    ),
    (
        "a_cgroup_s_connections_are_chosen_at_both_ends",
        a_cgroup_s_connections_are_chosen_at_both_ends,
    ),
    (
        "a_selection_chooses_by_port_and_network",
        a_selection_chooses_by_port_and_network,
    ),
    ("what_is_no_cgroup_is_refused", what_is_no_cgroup_is_refused),
    (
        "few_capabilities_suffice_and_a_missing_one_is_named",
        few_capabilities_suffice_and_a_missing_one_is_named,
    ),
];

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Nothing that a test waits for takes longer, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(60);

pub fn run_all(args: &[String]) -> ExitCode {
    let wanted = args.iter().find(|arg| !arg.starts_with('-'));
    if args.iter().any(|arg| arg == "--list") {
        for (name, _) in TESTS {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let allowed = Datapath::load(&options())
        .and_then(|datapath| datapath.choose(&Cgroup::New, &Selection::default()));
    if let Err(error) = allowed {
        println!("skipped: {error}");
        return ExitCode::SUCCESS;
    }
    if let Err(error) = network() {
        println!("skipped: no network namespace: {error}");
        return ExitCode::SUCCESS;
    }
    for (name, test) in TESTS {
        if wanted.is_none_or(|part| name.contains(part.as_str())) {
            println!("test {name} ...");
            test();
        }
    }
    println!("test result: ok");
    ExitCode::SUCCESS
}

/// Moves this process into a network namespace of its own.
fn network() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| error.to_string())?;
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status();
    match up {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("`ip link set lo up`: {other:?}")),
    }
}

fn options() -> Options {
    let mut options = Options::new("cerl".parse().expect("a controller"));
    // Nothing answers in these tests.
    options.silence = whimbrel_units::Duration::from_secs(60);
    options.fallback = "reno".to_owned();
    options
}

fn load() -> Datapath {
    Datapath::load(&options()).unwrap_or_else(|error| panic!("{error}"))
}

fn available() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let names = names.expect("to read the algorithms");
    names.split_whitespace().map(str::to_owned).collect()
}

fn is_available(name: &str) -> bool {
    available().iter().any(|known| known == name)
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LONGEST, "{what}");
        sleep(Duration::from_millis(2));
    }
}

/// A process of this program, which holds an algorithm until its standard input is closed.
struct Holder {
    process: Child,
    /// What it printed.
    words: Vec<String>,
}

impl Holder {
    fn start(role: &str) -> Self {
        let mut process = Command::new(env::current_exe().expect("this program"))
            .args(["role", role])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program");
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("a line");
        let words = line.split_whitespace().map(str::to_owned).collect();
        Self { process, words }
    }

    fn name(&self) -> &str {
        &self.words[0]
    }

    fn directory(&self) -> PathBuf {
        PathBuf::from(&self.words[1])
    }

    /// The process that it put into the cgroup.
    fn other(&self) -> Pid {
        Pid::from_raw(self.words[2].parse().expect("a number"))
    }

    fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ended");
    }

    fn finish(&mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().expect("it ended").success());
    }
}

fn connect(address: IpAddr, name: Option<&str>) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((address, 0)).expect("a port");
    connect_to(&listener, name)
}

fn connect_to(listener: &TcpListener, name: Option<&str>) -> (TcpStream, TcpStream) {
    let address: SocketAddr = listener.local_addr().expect("an address");
    let sender = TcpStream::connect(address).expect("a connection");
    if let Some(name) = name {
        setsockopt(&sender, TcpCongestion, &OsString::from(name)).expect("any user may");
    }
    let (receiver, _) = listener.accept().expect("a connection");
    (sender, receiver)
}

fn algorithm(socket: &TcpStream) -> String {
    let name = getsockopt(socket, TcpCongestion).expect("a connection has one");
    let name = name.to_string_lossy().into_owned();
    name.trim_end_matches('\0').to_owned()
}

/// Sends some data and waits until all has arrived.
fn transfer((sender, receiver): &mut (TcpStream, TcpStream)) {
    let data = [1; 10_000];
    let mut got = [0; 10_000];
    sender.write_all(&data).expect("a connection");
    receiver.set_read_timeout(Some(LONGEST)).expect("a limit");
    receiver.read_exact(&mut got).expect("no stall");
}

fn an_algorithm_is_available_until_it_is_dropped() {
    let datapath = load();
    let name = datapath.name().to_owned();
    assert!(is_available(&name));
    drop(datapath);
    assert!(!is_available(&name));
}

fn instances_run_side_by_side() {
    let mut other = Holder::start("hold");
    // All at once, so that they try the same names.
    let threads = [(); 4].map(|()| thread::spawn(load));
    let instances = threads.map(|thread| thread.join().expect("loaded"));
    for name in instances.iter().map(Datapath::name).chain([other.name()]) {
        assert!(is_available(name), "{name}");
    }
    let distinct: HashSet<&str> = instances.iter().map(Datapath::name).collect();
    assert_eq!(distinct.len(), instances.len());
    other.finish();
    let [last, others @ ..] = instances;
    drop(others);
    assert!(is_available(last.name()));
}

fn the_innermost_cgroup_decides_and_in_it_the_first() {
    let [outer, inner, late] = [(); 3].map(|()| load());
    let everything = Selection::default();
    let around = outer.choose(&Cgroup::New, &everything).expect("a cgroup");
    inside(around.directory(), || {
        // A new cgroup is made below the own one.
        let within = inner.choose(&Cgroup::New, &everything).expect("a cgroup");
        assert_eq!(within.directory().parent(), Some(around.directory()));
        let existing = Cgroup::Existing(within.directory().to_owned());
        let _second = late
            .choose(&existing, &everything)
            .expect("beside the first");
        assert_eq!(algorithm(&connect(V4, None).0), outer.name());
        inside(within.directory(), || {
            assert_eq!(algorithm(&connect(V4, None).0), inner.name());
        });
        drop(inner);
        drop(within);
    });
}

fn a_killed_process_leaves_nothing_behind() {
    let mut holder = Holder::start("hold-cgroup");
    let (name, directory) = (holder.name().to_owned(), holder.directory());
    assert!(is_available(&name));
    assert!(directory.exists());
    holder.kill();
    until("the algorithm is unregistered", || !is_available(&name));
    until("the cgroup is removed", || !directory.exists());
    kill(holder.other(), Signal::SIGKILL).expect("it was moved, not ended");
}

fn a_dropped_cgroup_is_removed_and_its_processes_live_on() {
    let mut holder = Holder::start("hold-cgroup");
    let directory = holder.directory();
    holder.finish();
    assert!(!directory.exists(), "removed before the process ended");
    kill(holder.other(), Signal::SIGKILL).expect("it was moved, not ended");
}

fn stale_cgroups_are_removed_by_the_next_instance() {
    let datapath = load();
    let chosen = datapath
        .choose(&Cgroup::New, &Selection::default())
        .expect("a cgroup");
    let above = chosen.directory().parent().expect("one above");
    // What remains if a guard is killed too; one instance still runs.
    let stale = above.join("whim_0_test-0");
    let within = stale.join("whim_0_inner-3");
    let running = above.join(format!("{}-77", datapath.name()));
    let other = above.join("whim-0");
    for directory in [&stale, &within, &running, &other] {
        fs::create_dir(directory).expect("a new directory");
    }
    drop(
        datapath
            .choose(&Cgroup::New, &Selection::default())
            .expect("a cgroup"),
    );
    assert!(!stale.exists());
    for directory in [&running, &other] {
        fs::remove_dir(directory).expect("it is not removed");
    }
}

fn a_silent_process_loses_its_connections_to_the_fallback() {
    let mut options = options();
    options.silence = whimbrel_units::Duration::from_millis(50);
    for address in [V4, V6] {
        let datapath = Datapath::load(&options).expect("as before");
        let mut connection = connect(address, Some(datapath.name()));
        assert_eq!(algorithm(&connection.0), datapath.name());
        until("the connection goes to the fallback", || {
            transfer(&mut connection);
            algorithm(&connection.0) == "reno"
        });
    }
}

fn connections_of_a_killed_process_go_on_with_the_fallback() {
    let mut holder = Holder::start("hold");
    let mut connection = connect(V4, Some(holder.name()));
    transfer(&mut connection);
    assert_eq!(algorithm(&connection.0), holder.name());
    holder.kill();
    until("the connection goes to the fallback", || {
        transfer(&mut connection);
        algorithm(&connection.0) == "cubic"
    });
}

/// Runs something with this process in a cgroup.
fn inside(directory: &Path, run: impl FnOnce()) {
    let procs = |directory: &Path| directory.join("cgroup.procs");
    fs::write(procs(directory), "0").expect("to join");
    run();
    fs::write(procs(directory.parent().expect("one above")), "0").expect("to leave");
}

fn a_cgroup_s_connections_are_chosen_at_both_ends() {
    let datapath = load();
    let before = connect(V4, None);
    let chosen = datapath
        .choose(&Cgroup::New, &Selection::default())
        .expect("a cgroup");
    inside(chosen.directory(), || {
        for address in [V4, V6] {
            let mut connection = connect(address, None);
            assert_eq!(algorithm(&connection.0), datapath.name());
            assert_eq!(algorithm(&connection.1), datapath.name());
            transfer(&mut connection);
        }
    });
    assert_ne!(algorithm(&before.0), datapath.name());
    let outside = connect(V4, None);
    assert_ne!(algorithm(&outside.0), datapath.name());
    drop(chosen);
}

fn a_selection_chooses_by_port_and_network() {
    let listeners = [(); 2].map(|()| TcpListener::bind((V4, 0)).expect("a port"));
    let port = listeners[0].local_addr().expect("an address").port();
    let network = |text: &str, bits| Network {
        address: text.parse().expect("an address"),
        bits,
    };
    let cases = [
        (vec![port], vec![], [true, false]),
        (vec![], vec![network("127.0.0.0", 8)], [true, true]),
        (
            vec![],
            vec![network("127.0.0.2", 32), network("::1", 128)],
            [false, false],
        ),
        (vec![port], vec![network("127.0.0.1", 32)], [true, false]),
        (vec![port], vec![network("10.0.0.0", 8)], [false, false]),
    ];
    for (ports, networks, expected) in cases {
        let datapath = load();
        let selection = Selection { ports, networks };
        let chosen = datapath.choose(&Cgroup::New, &selection).expect("a cgroup");
        let again = datapath.choose(
            &Cgroup::New,
            &Selection {
                ports: vec![1],
                networks: vec![],
            },
        );
        assert!(again.is_err(), "one selection for an instance");
        inside(chosen.directory(), || {
            let used = listeners
                .each_ref()
                .map(|listener| algorithm(&connect_to(listener, None).0) == datapath.name());
            assert_eq!(used, expected, "{selection:?}");
        });
    }
    // IPv6, with IPv4 networks beside.
    let datapath = load();
    let networks = vec![network("10.0.0.0", 8), network("::1", 127)];
    let selection = Selection {
        ports: vec![],
        networks,
    };
    let chosen = datapath.choose(&Cgroup::New, &selection).expect("a cgroup");
    inside(chosen.directory(), || {
        assert_eq!(algorithm(&connect(V6, None).0), datapath.name());
        assert_ne!(algorithm(&connect(V4, None).0), datapath.name());
    });
}

fn what_is_no_cgroup_is_refused() {
    let datapath = load();
    for path in ["/proc", "/nowhere/at/all"] {
        let cgroup = Cgroup::Existing(PathBuf::from(path));
        let error = datapath
            .choose(&cgroup, &Selection::default())
            .expect_err("no cgroup");
        let LinuxError::System(line) = error else {
            panic!("{error:?}");
        };
        assert!(line.starts_with(path), "{line}");
        assert!(line.contains("name a directory below /"), "{line}");
    }
}

/// Runs a role as an unprivileged user with some capabilities, and returns its messages.
fn with_capabilities(
    program: &Path,
    role: &str,
    capabilities: &str,
) -> Option<(Option<i32>, String)> {
    let sets = ["--inh-caps", "--ambient-caps"].map(|set| format!("{set}={capabilities}"));
    let run = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .args(sets)
        .arg(program)
        .args(["role", role])
        .stdin(Stdio::null())
        .output();
    match run {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            Some((output.status.code(), text))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("setpriv: {error}"),
    }
}

fn few_capabilities_suffice_and_a_missing_one_is_named() {
    // Where any user may execute it.
    let place = env::temp_dir().join(format!("whimbrel-datapath-{}", std::process::id()));
    fs::create_dir(&place).expect("a new directory");
    let program = place.join("program");
    fs::copy(env::current_exe().expect("this program"), &program).expect("a copy");
    let run = |role, capabilities| with_capabilities(&program, role, capabilities);
    // A cgroup that root has made for it.
    let datapath = load();
    let chosen = datapath
        .choose(&Cgroup::New, &Selection::default())
        .expect("a cgroup");
    let existing = format!("hold-existing={}", chosen.directory().display());

    let results = [
        run("hold", "+bpf,+perfmon"),
        run(&existing, "+bpf,+perfmon,+net_admin"),
        run("hold", "+perfmon"),
        run("hold", "+bpf"),
        run(&existing, "+bpf,+perfmon"),
        run("hold-cgroup", "+bpf,+perfmon,+net_admin"),
    ];
    fs::remove_dir_all(&place).expect("it is there");
    let Some(results) = results.into_iter().collect::<Option<Vec<_>>>() else {
        println!("  skipped: no setpriv");
        return;
    };
    for (status, text) in &results[..2] {
        assert_eq!(*status, Some(0), "{text}");
    }
    let missing = [
        "lacks CAP_BPF:",
        "lacks CAP_PERFMON:",
        "lacks CAP_NET_ADMIN:",
        "Permission denied; run this as root",
    ];
    for ((status, text), missing) in results[2..].iter().zip(missing) {
        assert_eq!(*status, Some(i32::from(NOT_ALLOWED)), "{text}");
        assert!(text.contains(missing), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}
