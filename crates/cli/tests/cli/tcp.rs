//! `whimbrel tcp` with real connections, each test in a network namespace of its own that has only
//! a loopback. Skipped with a line where the system does not allow it.

use super::support::*;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A sender and a receiver in one process. `send ADDRESS [PORT]` sends a megabyte over the loopback
/// and prints the congestion control of both ends. `hold FOLDER NAME` does the same, writes that
/// name to a file, and waits for the file `go`. `slow FOLDER` sends for more than a second after
/// the file `go` appears.
const TRAFFIC: &str = r#"
import os, socket, sys, threading, time

def control(s):
    return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()

def connect(address, port=0):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen()
    sender = socket.create_connection(listener.getsockname()[:2])
    receiver = listener.accept()[0]
    return sender, receiver

def drain(receiver, total):
    while part := receiver.recv(1 << 20):
        total.append(len(part))

def wait_for(path):
    until = time.time() + 20
    while not os.path.exists(path):
        if time.time() > until:
            sys.exit("no " + path)
        time.sleep(0.01)

def put(path, text):
    with open(path + "~", "w") as file:
        file.write(text)
    os.rename(path + "~", path)

def send(sender, receiver, parts, pause):
    total = []
    thread = threading.Thread(target=drain, args=(receiver, total))
    thread.start()
    for _ in range(parts):
        sender.sendall(bytes(1000000 // parts))
        time.sleep(pause)
    last = control(sender)
    sender.shutdown(socket.SHUT_WR)
    thread.join()
    return sum(total), last

mode = sys.argv[1]
if mode == "send":
    for address in sys.argv[2].split(","):
        for port in (sys.argv[3] if len(sys.argv) > 3 else "0").split(","):
            sender, receiver = connect(address, int(port))
            count, last = send(sender, receiver, 1, 0)
            print(address, port, count, last, control(receiver))
elif mode == "hold":
    folder, name = sys.argv[2:]
    sender, receiver = connect("127.0.0.1")
    count, last = send(sender, receiver, 1, 0)
    put(folder + "/" + name, last)
    wait_for(folder + "/go")
elif mode == "slow":
    folder = sys.argv[2]
    sender, receiver = connect("127.0.0.1")
    with open("/proc/self/cgroup") as file:
        own = [line[3:].strip() for line in file if line.startswith("0::")][0]
    put(folder + "/ready", control(sender) + " " + own)
    wait_for(folder + "/go")
    count, last = send(sender, receiver, 100, 0.015)
    put(folder + "/done", str(count) + " " + last)
"#;

/// A shell script in a network namespace with a loopback; `$W` is the command, `$T` the traffic,
/// `$D` the folder.
fn script(folder: &Path, text: &str) -> Command {
    let traffic = folder.join("traffic.py");
    fs::write(&traffic, TRAFFIC).expect("written");
    let mut command = Command::new("unshare");
    command
        .args(words("--net sh -c"))
        .arg(format!("ip link set lo up\n{text}"))
        .env("W", env!("CARGO_BIN_EXE_whimbrel"))
        .env("T", format!("python3 {}", traffic.display()))
        .env("D", folder)
        .stdin(Stdio::null());
    command
}

/// Runs a script that has to succeed. Returns its standard output and standard error.
fn run(folder: &Path, text: &str) -> (String, String) {
    let output = script(folder, text).output().expect("the script runs");
    let (out, error) = (self::text(&output.stdout), self::text(&output.stderr));
    assert!(output.status.success(), "{out}{error}");
    (out, error)
}

/// Whether the system lets this user run everything; if not, says so.
fn possible() -> bool {
    // Looked for once, because it takes a second on a busy machine.
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(|| {
        let folder = folder();
        let probe = "python3 -c '' && exec \"$W\" tcp --quiet -- true";
        match script(folder.path(), probe).output() {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(text(&output.stderr).trim().to_owned()),
            Err(error) => Some(format!("unshare: {error}")),
        }
    });
    if let Some(why) = missing {
        println!("skipped: {why}");
    }
    missing.is_none()
}

/// A JSON object in a file.
fn object(path: &Path) -> Value {
    parse(&fs::read_to_string(path).expect("a file"))
}

/// Whether the kernel knows an algorithm of this name.
fn is_registered(name: &str) -> bool {
    let all = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    all.expect("Linux").split_whitespace().any(|n| n == name)
}

/// Where the cgroups of version 2 are.
fn cgroups() -> PathBuf {
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
    let found = roots
        .into_iter()
        .find(|root| root.join("cgroup.controllers").exists());
    found.expect("cgroup2 is mounted, for `whimbrel tcp` ran")
}

/// Waits until something holds, at most a minute.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn connections_made_and_accepted_are_controlled_and_reported() {
    if !possible() {
        return;
    }
    let folder = folder();
    let (out, error) = run(
        folder.path(),
        "\"$W\" tcp --controller cerl --json --sample 1ms --time-line $D/time.csv --qlog $D/logs \
         --report $D/page.html -- $T send 127.0.0.1,::1",
    );
    // COMMAND's output is its own, JSON comes last on standard error.
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    let ends: Vec<&str> = lines[0].split(' ').collect();
    assert!(ends[3].starts_with("whim_") && ends[3] == ends[4], "{out}");
    let json = parse(&error);
    assert_eq!(
        (&json["controller"], &json["exit_status"]),
        (&Value::from("cerl"), &Value::from(0))
    );
    for counter in ["fallbacks", "dropped_events", "unfinished"] {
        assert_eq!(json[counter], 0, "{counter}");
    }
    let connections = list(&json["connections"]);
    assert_eq!(
        connections.len(),
        4,
        "both ends of two connections: {json:#}"
    );
    for address in ["127.0.0.1:", "[::1]:"] {
        let of = |c: &&Value| {
            c["remote"]
                .as_str()
                .expect("an address")
                .starts_with(address)
        };
        let ends: Vec<&Value> = connections.iter().filter(of).collect();
        let [one, other] = ends.as_slice() else {
            panic!("{json:#}");
        };
        assert_eq!(
            (&one["local"], &one["remote"]),
            (&other["remote"], &other["local"])
        );
        for c in [one, other] {
            let bytes = number(c, "/acked_bytes") + number(c, "/received_bytes");
            // TCP counts the end of a connection like a byte.
            assert!((1e6..1e6 + 3.0).contains(&bytes), "{json:#}");
        }
    }
    for c in connections {
        assert_eq!(c["fallback"], false);
        assert!(c["verdicts"]["congestion"].is_u64(), "{c}");
        assert!(c["retransmits"].is_u64() && c["timeouts"].is_u64());
    }
    let sender = connections.iter().find(|c| number(c, "/acked_bytes") > 0.0);
    assert!(number(sender.expect("a sender"), "/goodput_bps") > 0.0);
    let csv = fs::read_to_string(folder.path().join("time.csv")).expect("a time line");
    assert!(
        csv.starts_with("connection,local,remote,t_s,cwnd_bytes,"),
        "{csv}"
    );
    assert!(csv.lines().count() > 4, "{csv}");
    assert_eq!(names(&folder.path().join("logs")).len(), 4);
    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.contains("Linux TCP under cerl"));
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    if !possible() {
        return;
    }
    for (command, status) in [
        (&["sh", "-c", "exit 7"][..], 7),
        (&["sh", "-c", "kill -KILL $$"][..], 137),
        (&["/no/such/command"][..], 127),
        (&["/etc/passwd"][..], 126),
    ] {
        let output = whimbrel(&[&["tcp", "--"][..], command].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{error}");
        assert_eq!(text(&output.stdout), "");
        let says = if status == 127 {
            "command not found"
        } else {
            ""
        };
        assert_contains(&error, &[says]);
    }
}

#[test]
fn the_command_inherits_nothing_but_its_standard_streams() {
    if !possible() {
        return;
    }
    // What this test was started with is not for it to close.
    let show = words("sh -c 'ls /proc/$$/fd; grep SigBlk /proc/self/status; id -u'");
    let plain = Command::new(show[0])
        .args(&show[1..])
        .stdin(Stdio::null())
        .output();
    let output = whimbrel(&[&["tcp", "--quiet", "--"][..], &show].concat());
    assert_eq!(stdout(&output), text(&plain.expect("a shell").stdout));
}

#[test]
fn ports_and_addresses_select_connections() {
    if !possible() {
        return;
    }
    let folder = folder();
    let remotes = |flags: &str, traffic: &str| {
        let file = folder.path().join("out.json");
        run(
            folder.path(),
            &format!("\"$W\" tcp {flags} --quiet --output $D/out.json -- $T {traffic}"),
        );
        let json = object(&file);
        let mut ends: Vec<String> = list(&json["connections"])
            .iter()
            .map(|c| format!("{} {}", c["local"], c["remote"]).replace('"', ""))
            .collect();
        ends.sort();
        ends
    };
    let ends = remotes("--port 7001 --port 7003", "send 127.0.0.1 7001,7002,7003");
    assert_eq!(ends.len(), 4, "{ends:?}");
    assert!(ends.iter().all(|end| !end.contains(":7002")), "{ends:?}");
    // The accepting end of the selected connection has the remote address 127.0.0.1.
    let ends = remotes(
        "--to 127.0.1.0/24 --to ::1",
        "send 127.0.0.9,127.0.1.9,::1 7001",
    );
    assert_eq!(ends.len(), 3, "{ends:?}");
    assert!(ends[0].ends_with(" 127.0.1.9:7001"), "{ends:?}");
    assert!(
        ends[1..].iter().all(|end| end.contains("[::1]:7001")),
        "{ends:?}"
    );
}

#[test]
fn instances_run_side_by_side_and_status_shows_both() {
    if !possible() {
        return;
    }
    let folder = folder();
    let (out, _) = run(
        folder.path(),
        "\"$W\" tcp --controller cerl --quiet -- $T hold $D a &
         \"$W\" tcp --controller cubic --quiet --output $D/b.json -- $T hold $D b &
         for i in $(seq 6000); do
           [ -e $D/a ] && [ -e $D/b ] && break
           sleep 0.01
         done
         \"$W\" tcp status --json
         \"$W\" tcp status >$D/table
         touch $D/go
         wait
         \"$W\" tcp status --json",
    );
    let mut objects = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
    let mut next = || objects.next().expect("an object").expect("JSON");
    let during = next();
    let instances = list(&during["instances"]);
    assert_eq!(instances.len(), 2, "{during:#}");
    let mut controllers = Vec::new();
    for instance in instances {
        controllers.push(instance["controller"].as_str().expect("a name"));
        let connections = list(&instance["connections"]);
        assert_eq!(connections.len(), 2, "{during:#}");
        assert!(number(&connections[0], "/cwnd_bytes") > 0.0);
        assert_eq!(
            connections[0]["verdicts"].is_null(),
            controllers.last() == Some(&"cubic")
        );
        assert!(
            instance["what"]
                .as_str()
                .expect("words")
                .contains("traffic.py hold")
        );
    }
    controllers.sort_unstable();
    assert_eq!(controllers, ["cerl", "cubic"]);
    let table = fs::read_to_string(folder.path().join("table")).expect("a table");
    assert_contains(
        &table,
        &[
            "cerl (PID ",
            "cubic (PID ",
            "2 of 2 connections",
            "127.0.0.1:",
        ],
    );
    assert_eq!(list(&next()["instances"]).len(), 0, "none is left");
    let name = |file| fs::read_to_string(folder.path().join(file)).expect("a name");
    assert_ne!(name("a"), name("b"));
    assert!(!is_registered(&name("a")) && !is_registered(&name("b")));
    assert_eq!(object(&folder.path().join("b.json"))["controller"], "cubic");
}

#[test]
fn a_killed_instance_leaves_its_connections_and_nothing_else() {
    if !possible() {
        return;
    }
    let folder = folder();
    run(
        folder.path(),
        "\"$W\" tcp --controller cerl --fallback reno -- $T slow $D &
         for i in $(seq 6000); do [ -e $D/ready ] && break; sleep 0.01; done
         kill -KILL $!
         touch $D/go
         for i in $(seq 6000); do [ -e $D/done ] && break; sleep 0.01; done",
    );
    let read = |file| fs::read_to_string(folder.path().join(file)).expect("a file");
    let ready = read("ready");
    let (name, cgroup) = ready.split_once(' ').expect("two words");
    assert!(name.starts_with("whim_"), "{name}");
    // The watchdog has moved the connection, and the transfer is complete.
    assert_eq!(read("done"), "1000000 reno");
    assert!(!is_registered(name));
    let directory = cgroups().join(cgroup.trim_start_matches('/'));
    assert_contains(cgroup, &["whim_"]);
    eventually("the cgroup is removed", || !directory.exists());
}

#[test]
fn signals_are_passed_on_and_the_second_one_kills() {
    if !possible() {
        return;
    }
    let folder = folder();
    let ready = folder.path().join("ready");
    let start = |trap: &str| {
        let _ = fs::remove_file(&ready);
        let shell = format!(
            "trap '{trap}' TERM; touch {}; sleep 30 & wait; wait",
            ready.display()
        );
        let child = command()
            .args(["tcp", "--quiet", "--", "sh", "-c", &shell])
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        eventually("COMMAND runs", || ready.exists());
        child
    };
    let signal = |pid: u32| {
        let status = Command::new("kill")
            .args(["-TERM", &pid.to_string()])
            .status();
        assert!(status.expect("kill").success());
    };
    let mut child = start("kill $!; exit 5");
    signal(child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(5));
    let mut child = start(&format!("touch {}-again", ready.display()));
    signal(child.id());
    let again = folder.path().join("ready-again");
    eventually("the first signal is passed on", || again.exists());
    signal(child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(137));
}

#[test]
fn data_that_the_command_left_to_the_kernel_is_waited_for() {
    if !possible() {
        return;
    }
    let folder = folder();
    // Half a megabyte at 4 Mbit/s takes a second; the sender ends at once. 32 is SO_SNDBUFFORCE.
    let leave = "import socket; s = socket.create_connection(('10.77.0.2', 5001)); \
                 s.setsockopt(socket.SOL_SOCKET, 32, 4000000); \
                 s.sendall(bytes(500000))";
    let sink = "import socket; s = socket.create_server(('', 5001)).accept()[0]\nwhile s.recv(65536): pass";
    fs::write(folder.path().join("leave.py"), leave).expect("written");
    fs::write(folder.path().join("sink.py"), sink).expect("written");
    let (_, error) = run(
        folder.path(),
        "\"$W\" link --quiet --rate 4Mbit/s --rtt 40ms --queue unlimited \
           --far \"python3 $D/sink.py\" -- \
           \"$W\" tcp --output $D/out.json -- python3 $D/leave.py",
    );
    let json = object(&folder.path().join("out.json"));
    let connections = list(&json["connections"]);
    assert_eq!(connections.len(), 1, "{json:#}");
    assert!(
        number(&connections[0], "/acked_bytes") >= 500_000.0,
        "{json:#}"
    );
    assert_eq!(
        (&json["unfinished"], &json["fallbacks"]),
        (&Value::from(0), &Value::from(0))
    );
    assert_contains(
        &error,
        &["waiting for 1 connection with unacknowledged data"],
    );
}

#[test]
fn the_connections_of_a_cgroup_are_controlled_until_a_signal() {
    if !possible() {
        return;
    }
    let folder = folder();
    let directory = cgroups().join(format!("whimbrel-test-{}", std::process::id()));
    fs::create_dir(&directory).expect("a cgroup");
    let (out, error) = run(
        folder.path(),
        &format!(
            ": >$D/said
             \"$W\" tcp --controller newreno --cgroup {0} --json 2>$D/said &
             for i in $(seq 6000); do grep -q Ctrl-C $D/said && break; sleep 0.01; done
             (sh -c 'echo $PPID' >{0}/cgroup.procs; $T send 127.0.0.1 >$D/a)
             $T send 127.0.0.1 >$D/b
             kill -INT $!
             wait $!",
            directory.display()
        ),
    );
    fs::remove_dir(&directory).expect("the cgroup is still there, and empty");
    assert_eq!(error, "");
    let json = parse(&out);
    assert_eq!(list(&json["connections"]).len(), 2, "{json:#}");
    assert_eq!(json["exit_status"], Value::Null);
    assert_eq!(json["connections"][0]["verdicts"], Value::Null);
    let names = |file| fs::read_to_string(folder.path().join(file)).expect("a file");
    assert!(names("a").contains("whim_") && !names("b").contains("whim_"));
}

#[test]
fn wrong_input_is_refused_with_what_to_write() {
    all_refused(
        "",
        &[
            ("tcp", "what to control is missing: add `-- COMMAND`"),
            ("tcp --cgroup /x -- true", "give one of the two"),
            ("tcp --cgroup /no/such", "/no/such: No such file"),
            ("tcp --cgroup /tmp", "not a cgroup of version 2"),
            ("tcp --controller cerk -- true", "did you mean `cerl`?"),
            (
                "tcp --controller aatp -- true",
                "sends bursts, which TCP cannot do",
            ),
            ("tcp --to 10.0.0.0/33 -- true", "0 to 32"),
            ("tcp --to 10.0.0.1/8 -- true", "did you mean 10.0.0.0/8"),
            ("tcp --nack=a/b -- true", "ip -brief link"),
            ("tcp --port 0 -- true", "1..=65535"),
            ("tcp --sample 0s -- true", "longer than 0 s"),
        ],
    );
    let many = "--port 1 ".repeat(17);
    let error = refused(&format!("tcp {many} -- true"), "");
    assert_contains(&error, &["at most 16"]);
}
