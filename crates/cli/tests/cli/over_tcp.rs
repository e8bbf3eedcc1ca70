//! Where UDP is blocked, and pipes whose target ends first.

use super::support::*;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

const SERVE: &str = "--listen 127.0.0.1:0 --allow-read --allow-remove";

/// A path to `server` on which UDP packets disappear, and TCP passes. Returns its address.
fn blocked(server: &str) -> String {
    let (listener, udp) = loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        if let Ok(udp) = UdpSocket::bind(listener.local_addr().expect("bound")) {
            break (listener, udp);
        }
    };
    let (address, server) = (listener.local_addr().expect("bound"), server.to_owned());
    let copy = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            std::io::copy(&mut from, &mut to).ok();
            to.shutdown(std::net::Shutdown::Write).ok();
        });
    };
    thread::spawn(move || {
        let _silent = udp;
        while let Ok((client, _)) = listener.accept() {
            let onward = TcpStream::connect(&server).expect("the server");
            let clone = |stream: &TcpStream| stream.try_clone().expect("a copy");
            copy(clone(&client), clone(&onward));
            copy(onward, client);
        }
    });
    address.to_string()
}

#[test]
fn files_go_over_tls_where_udp_is_blocked() {
    let folder = folder();
    let path = folder.path();
    let server = Server::start(path, SERVE);
    let address = blocked(&server.address);
    fs::write(path.join("data"), vec![7; 3_000_000]).expect("written");
    // With the server's identity, neither token nor fingerprint is needed.
    let args = ["--identity", "id"];
    let run = |words: &[&str]| {
        let began = Instant::now();
        let output = whimbrel_in(path, &[words, &args[..]].concat());
        (output, began.elapsed())
    };
    let (sent, _) = run(&["send", "data", &address, "--json"]);
    let said = text(&sent.stderr);
    assert!(sent.status.success(), "{said}");
    let lines: Vec<_> = said.lines().filter(|l| l.contains("TLS on TCP")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    let object = parse(&text(&sent.stdout));
    assert_eq!(
        (&object["transport"], &object["outcome"]),
        (&"tls".into(), &"stored".into())
    );
    assert!(
        object["connect_seconds"].as_f64().is_some_and(|s| s < 5.0),
        "{object}"
    );
    let (listed, _) = run(&["ls", &address]);
    assert!(text(&listed.stdout).contains("data"), "{listed:?}");
    let place = format!("{address}:data");
    fs::create_dir(path.join("got")).expect("made");
    let (got, _) = run(&["get", &place, "got", "--json", "--transport", "tls"]);
    assert_eq!(parse(&text(&got.stdout))["transport"], "tls", "{got:?}");
    assert_eq!(
        fs::read(path.join("got/data")).expect("got"),
        vec![7; 3_000_000]
    );
    let (removed, _) = run(&["rm", &place, "--transport", "tls"]);
    assert!(removed.status.success(), "{removed:?}");
    // Without TLS the path is useless, with QUIC alone it is as before.
    let (refused, _) = run(&["send", "data", &server.address, "--transport", "sctp"]);
    assert!(fails(&refused, 2).contains("write auto, quic or tls"));
    let direct = json(&run(&["send", "data", &server.address, "--json"]).0);
    assert_eq!(direct["transport"], "quic");
}

#[test]
fn a_server_without_tcp_does_not_listen_on_it() {
    let folder = folder();
    let server = Server::start(folder.path(), &format!("{SERVE} --no-tcp"));
    assert!(TcpStream::connect(&server.address).is_err());
}

/// Pipes to a target that says one line and closes; the input stays open. Returns how the output
/// ended, and what came.
fn pipe_to_a_target_that_ends(transport: &str) {
    let folder = folder();
    let target = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = target.local_addr().expect("bound").to_string();
    let server = Server::start(folder.path(), &format!("{SERVE} --allow-connect {port}"));
    let ending = thread::spawn(move || {
        let (mut client, _) = target.accept().expect("a pipe");
        client.write_all(b"bye\n").expect("written");
    });
    let mut pipe = command()
        .args(["pipe", &server.address, &port, "--identity", "id"])
        .args(["--transport", transport])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let input = pipe.stdin.take().expect("piped");
    let mut output = pipe.stdout.take().expect("piped");
    let (done, ended) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut all = String::new();
        output.read_to_string(&mut all).expect("UTF-8");
        done.send(all).ok();
    });
    // As ssh does: the input is closed when the output has ended.
    let came = ended.recv_timeout(Duration::from_secs(30));
    if came.is_err() {
        pipe.kill().ok();
    }
    drop(input);
    let status = pipe.wait().expect("it ends");
    ending.join().expect("no panic");
    assert_eq!(
        came.as_deref(),
        Ok("bye\n"),
        "the output must end with the target"
    );
    assert!(status.success(), "{status}");
}

#[test]
fn the_output_of_a_pipe_ends_when_the_target_has_ended() {
    pipe_to_a_target_that_ends("quic");
}

#[test]
fn the_output_of_a_pipe_over_tls_ends_when_the_target_has_ended() {
    pipe_to_a_target_that_ends("tls");
}
