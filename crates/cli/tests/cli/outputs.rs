//! Which files a command writes over, and names that are not UTF-8.

use super::support::*;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

const SHORT: &str = "compare --controllers cubic --rate 1Mbit/s --rtt 10ms";

#[test]
fn an_output_does_not_replace_another_file() {
    let folder = folder();
    let scenario = path_in(&folder, "ok.toml");
    fs::write(&scenario, stdout(&whimbrel("compare --print-scenario"))).expect("written");
    let before = fs::read(&scenario).expect("a scenario");
    let hint = fails(&whimbrel(&["figure", &scenario]), 2);
    assert_contains(&hint, &["has no figures", "compare --report page.html`"]);
    for flag in ["--report", "--iperf3", "--save"] {
        let error = fails(&whimbrel(&format!("{SHORT} {flag} '{scenario}'")), 2);
        assert_contains(&error, &["ok.toml"]);
        assert_eq!(fs::read(&scenario).expect("there"), before, "{flag}");
    }
    let page = path_in(&folder, "index.html");
    fs::write(&page, "<!DOCTYPE html>\n<title>Home</title>\n").expect("written");
    let error = fails(&whimbrel(&format!("{SHORT} --report '{page}'")), 2);
    assert_contains(
        &error,
        &["index.html", "not a page of Whimbrel", "remove it first"],
    );
    // The command's own page is replaced.
    fs::remove_file(&page).expect("removed");
    for _ in 0..2 {
        stdout(&whimbrel(&format!("{SHORT} --report '{page}'")));
    }
}

#[test]
fn a_transfer_that_fails_leaves_the_trace_of_an_earlier_one() {
    let folder = folder();
    let trace = path_in(&folder, "trace.csv");
    let earlier = "t_s,cwnd_bytes\n0,1\n";
    fs::write(&trace, earlier).expect("written");
    let send = "send nothing 127.0.0.1:9 --identity id --trace trace.csv";
    assert!(!whimbrel_in(folder.path(), send).status.success());
    assert_eq!(fs::read_to_string(&trace).expect("there"), earlier);
    let other = send.replace("trace.csv", "new.csv");
    assert!(!whimbrel_in(folder.path(), &other).status.success());
    assert!(!folder.path().join("new.csv").exists());
}

#[test]
fn names_need_not_be_utf_8() {
    let folder = folder();
    let name = |bytes: &[u8]| folder.path().join(OsStr::from_bytes(bytes));
    let page = name(b"bad-\xff.html");
    let output = command()
        .args(words(SHORT))
        .arg("--report")
        .arg(&page)
        .output();
    stdout(&output.expect("it runs"));
    assert!(page.exists());
    let mut figure = command();
    figure
        .arg("figure")
        .arg(&page)
        .args(words("--all --json --format svg"));
    let out = name(b"figures-\xff");
    stdout(&figure.arg("--out").arg(&out).output().expect("it runs"));
    assert!(fs::read_dir(&out).expect("a folder").next().is_some());
    let scenario = name(b"bad-\xff.toml");
    let print = whimbrel("compare --print-scenario --controllers cubic");
    fs::write(&scenario, stdout(&print)).expect("written");
    let output = command()
        .arg("sim")
        .arg(&scenario)
        .arg("--report")
        .arg(&page)
        .output();
    stdout(&output.expect("it runs"));
    for args in [
        &["sim"][..],
        &["judge"],
        &["figure"],
        &["reproduce", "--experiments"],
        &["rank", "--points"],
    ] {
        let output = command()
            .args(args)
            .arg(name(b"none-\xff"))
            .output()
            .expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!error.contains("panicked"), "{args:?}: {error}");
        assert!(!output.status.success(), "{args:?}");
    }
    // The directory of a server's key.
    let mut serve = command();
    serve.args(words("serve --once --json --listen 127.0.0.1:0"));
    serve
        .arg(folder.path())
        .arg("--identity")
        .arg(name(b"state-\xff"));
    let mut serve = serve
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    let out = serve.stdout.take().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
    serve.kill().expect("it runs");
    serve.wait().expect("it ends");
    assert_contains(&line, &["listening", "state-"]);
}
