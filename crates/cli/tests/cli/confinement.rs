//! `whimbrel serve` confines itself, and goes on serving.

use super::support::*;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

const LISTEN: &str = "--listen 127.0.0.1:0";

/// Values of a key in the status of each thread of a process.
fn of_threads(process: u32, key: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let value = |thread: std::io::Result<fs::DirEntry>| {
        let status = thread.expect("an entry").path().join("status");
        // A thread may end.
        let status = fs::read_to_string(status).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        Some(line.expect(key).trim().to_owned())
    };
    threads.filter_map(value).collect()
}

#[test]
fn all_threads_of_a_server_are_confined_unless_that_is_unwanted() {
    let folder = folder();
    for (flag, calls) in [("", true), ("--no-confine", false)] {
        let server = Server::start(folder.path(), &format!("{LISTEN} {flag}"));
        let process = server.child.id();
        let confined = &server.listening["confined"];
        assert_eq!(confined["calls"], calls, "{confined}");
        // 2: there is a filter.
        let modes = of_threads(process, "Seccomp:");
        let mode = if calls { "2" } else { "0" };
        assert!(
            modes.len() > 2 && modes.iter().all(|m| m == mode),
            "{modes:?}"
        );
        let kept = of_threads(process, "NoNewPrivs:");
        let kept = kept.iter().filter(|kept| *kept == "1").count();
        assert_eq!(kept > 2, calls);
        if !calls {
            assert_eq!(confined["files"], false);
        }
    }
}

/// A user's token, and its hash.
fn token() -> (String, String) {
    let made = json(&whimbrel("token new --json"));
    let value = |key: &str| made[key].as_str().expect("a string").to_owned();
    (value("token"), value("hash"))
}

/// The file of users, written as an editor does: under another name, then renamed.
fn write_users(path: &Path, users: &[(&str, &str, &str)]) {
    let mut text = "[commands.cat]\nrun = [\"cat\"]\n".to_owned();
    for (name, hash, more) in users {
        text += &format!("[users.{name}]\ntokens = [\"{hash}\"]\n{more}\n");
    }
    fs::write(path.join("etc/new"), text).expect("written");
    fs::rename(path.join("etc/new"), path.join("etc/server.toml")).expect("renamed");
}

/// Tells the server to read the file again. Returns whether it did, and what it said.
fn reload(server: &mut Server) -> (bool, String) {
    let process = server.child.id().to_string();
    let told = Command::new("kill").args(["-HUP", &process]).status();
    assert!(told.expect("it runs").success());
    loop {
        let event = server.event().expect("it runs");
        if event["event"] == "reloaded" {
            let text = event["text"].as_str().expect("a text").to_owned();
            return (event["ok"] == true, text);
        }
    }
}

/// A port that sends back what it gets.
fn echo() -> u16 {
    let listener = TcpListener::bind("localhost:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut from = stream.try_clone().expect("a socket");
                std::io::copy(&mut from, &mut &stream).ok();
                stream.shutdown(std::net::Shutdown::Write).ok();
            });
        }
    });
    port
}

#[test]
fn a_confined_server_does_later_what_it_does_at_first() {
    let folder = folder();
    let path = folder.path();
    for name in ["etc", "log", "qlog"] {
        fs::create_dir(path.join(name)).expect("made");
    }
    let (alice, bob) = (token(), token());
    let port = echo();
    // Its host is looked up when it is used.
    let reaching = format!("connect = [\"localhost:{port}\"]");
    write_users(path, &[("alice", &alice.1, &reaching)]);
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let metrics = free.local_addr().expect("bound");
    drop(free);
    let options = format!(
        "{LISTEN} --config etc/server.toml --audit log/audit --qlog qlog --metrics {metrics} --meet"
    );
    let mut server = Server::start(path, &options);
    assert_eq!(server.listening["confined"]["calls"], true);
    let fingerprint = server.listening["fingerprint"].as_str().expect("a string");
    let fingerprint = fingerprint.to_owned();
    let address = server.address.clone();
    let run = |token: &str, line: &str, input: &str| {
        let mut child = command()
            .args(words(line))
            .args(["--fingerprint", &fingerprint, "--identity", "client"])
            .env("WHIMBREL_TOKEN", token)
            .current_dir(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input.as_bytes()).ok();
        drop(stdin);
        child.wait_with_output().expect("it ends")
    };
    fs::write(path.join("one"), "1").expect("written");
    for transport in ["quic", "tls"] {
        let line = format!("send one {address}:{transport} --transport {transport}");
        let sent = run(&alice.0, &line, "");
        assert!(sent.status.success(), "{sent:?}");
        assert!(path.join("in/alice").join(transport).exists());
    }
    let piped = run(&alice.0, &format!("pipe {address}"), "hello");
    assert_eq!(text(&piped.stdout), "hello", "{piped:?}");
    // A new user, with a directory of its own, in a file that was replaced.
    write_users(path, &[("alice", &alice.1, &reaching), ("bob", &bob.1, "")]);
    let (ok, said) = reload(&mut server);
    assert!(ok, "{said}");
    fs::rename(path.join("log/audit"), path.join("log/audit.1")).expect("renamed");
    let sent = run(&bob.0, &format!("send one {address}"), "");
    assert!(sent.status.success(), "{sent:?}");
    assert!(path.join("in/bob/one").exists());
    let log = fs::read_to_string(path.join("log/audit")).expect("begun anew");
    assert!(log.contains("\"bob\""), "{log}");
    let mut scraper = TcpStream::connect(metrics).expect("connected");
    write!(scraper, "GET /metrics HTTP/1.0\r\n\r\n").expect("sent");
    let mut answer = String::new();
    scraper.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("whimbrel_transfers_total"), "{answer}");
    let logs = names(&path.join("qlog")).len();
    assert!(logs >= 3, "{logs} packet logs");
    // A program is more than it may start.
    let program = "connect = [\"cat\"]";
    write_users(path, &[("alice", &alice.1, program), ("bob", &bob.1, "")]);
    let (ok, said) = reload(&mut server);
    assert!(
        !ok && said.contains("confined") && said.contains("restart"),
        "{said}"
    );
    let piped = run(&alice.0, &format!("pipe {address}"), "still");
    assert_eq!(text(&piped.stdout), "still", "{piped:?}");
    drop(server);
    // A server that begins with programs is not confined.
    let server = Server::start(path, &format!("{LISTEN} --config etc/server.toml"));
    assert_eq!(server.listening["confined"]["calls"], false);
    let piped = run(&alice.0, &format!("pipe {}", server.address), "program");
    assert_eq!(text(&piped.stdout), "program", "{piped:?}");
}
