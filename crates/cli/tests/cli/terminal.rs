//! What commands print on terminals of several widths: a real pseudo-terminal, as tmux makes one.

use super::support::*;
use nix::pty::{Winsize, openpty};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What a command prints on a terminal of this width.
fn on_terminal(args: &str, columns: u16) -> String {
    let size = Winsize {
        ws_row: 50,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None).expect("a pseudo-terminal");
    let mut child = command()
        .args(words(args))
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdout(Stdio::from(pty.slave))
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut printed = Vec::new();
    let (mut master, mut block) = (File::from(pty.master), [0; 4096]);
    // When the last writer is gone, reading fails.
    while let Ok(count) = master.read(&mut block) {
        if count == 0 {
            break;
        }
        printed.extend_from_slice(&block[..count]);
    }
    assert!(child.wait().expect("it ends").success(), "{args}");
    without_colours(&text(&printed).replace("\r\n", "\n"))
}

/// The text without escape sequences that set colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += part.split_once('m').map_or(part, |(_, rest)| rest);
    }
    plain
}

/// Asserts that a command's lines fit terminals of these widths, and that each of these words is
/// in one piece.
fn fits(args: &str, words: &[&str], widths: &[u16]) {
    for width in widths {
        let shown = on_terminal(args, *width);
        for line in shown.lines() {
            assert!(
                line.chars().count() <= usize::from(*width),
                "{width} columns: {line}\n{shown}"
            );
        }
        assert_contains(&shown, words);
    }
}

const WIDTHS: [u16; 3] = [80, 100, 200];

#[test]
fn compare_fits_terminals_and_breaks_no_word() {
    let args = "compare --duration 2s --seeds 2 --loss 0.1%,1% --rate 5Mbit/s \
                --controllers cubic,cerl-plus-printed,enhanced-aatp";
    let words = [
        "cerl-plus-printed",
        "enhanced-aatp",
        "0.1%",
        "1%",
        "Mbit/s",
        "goodput",
    ];
    fits(args, &words, &WIDTHS);
    // With room, nothing is left out: the deviations are there.
    let count = |width| on_terminal(args, width).matches('±').count();
    assert!(count(200) > count(80));
}

#[test]
fn lists_fit_terminals() {
    fits(
        "controllers",
        &["cubic", "enhanced-aatp", "cerl-plus-printed"],
        &WIDTHS,
    );
    fits("reproduce --list", &["cerl/fig-3.5", "tcp-nack"], &WIDTHS);
}

#[test]
fn a_ranking_and_advice_fit_terminals() {
    let folder = folder();
    let point = "[point]\nclass = \"A\"\nclaim = \"A full link.\"\nflows = [\"t\"]\n\
                 score = \"fill\"\nrtt = \"40 ms\"\n[link.L]\nrate = \"5 Mbit/s\"\n\
                 delay = \"20 ms\"\nqueue = \"1 bdp\"\n[[flow]]\nname = \"t\"\n\
                 route = [\"L\"]\n[run]\nduration = \"3 s\"\n";
    std::fs::write(folder.path().join("x1.toml"), point).expect("written");
    let (points, keep) = (path_in(&folder, ""), path_in(&folder, "kept"));
    let rank = format!(
        "rank --points '{points}' --keep '{keep}' --seeds 2 --detail \
         --controllers cubic,cerl-plus-printed"
    );
    fits(&rank, &["cerl-plus-printed", "cubic"], &WIDTHS);
    let advise = "advise --rate 2Mbit/s --rtt 20ms --loss 1%";
    fits(advise, &["algorithm", "cubic", "Mbit/s"], &[80]);
    // As a table, also with the column of a file: with a line below the heads.
    let with_file = format!("{advise} --size 10MB");
    fits(&with_file, &["───", "takes", "runs on"], &[80]);
}

#[test]
fn judgements_and_formulas_are_tables_at_80_columns() {
    let folder = folder();
    let grid = path_in(&folder, "grid.toml");
    let text = "[link.L]\nrate = \"5 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n\
                loss = \"1 %\"\n[[flow]]\nroute = [\"L\"]\n[[flow]]\nroute = [\"L\"]\n\
                [run]\nduration = \"5 s\"\nseeds = 2\n[sweep]\n\
                \"link.L.loss\" = [\"0.1 %\", \"1 %\"]\n";
    std::fs::write(&grid, text).expect("written");
    let judge = format!("judge '{grid}' --flow 0 --controllers cerl,veno");
    let shown = on_terminal(&judge, 80);
    // Two algorithms with three tables each, and one of both; none is turned.
    assert_eq!(shown.matches("───\n").count(), 7, "{shown}");
    fits(&judge, &["neighbours' goodput", "cerl", "veno"], &WIDTHS);
    let model = "model --duration 5s --seeds 1 --points 2";
    fits(model, &["tcp-nack-westwood", "chain", "───"], &WIDTHS);
}

/// A command with a terminal of its own, at which a user types.
struct Session {
    child: Child,
    terminal: File,
    shown: String,
}

impl Session {
    fn new(args: &[&str], folder: &Path) -> Self {
        let pty = openpty(None, None).expect("a pseudo-terminal");
        let end = || Stdio::from(pty.slave.try_clone().expect("a copy"));
        // util-linux: the terminal becomes that of a new session.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_whimbrel")])
            .args(args)
            .current_dir(folder)
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn();
        Self {
            child: child.expect("it starts"),
            terminal: File::from(pty.master),
            shown: String::new(),
        }
    }

    /// Waits until the command has printed this.
    fn wait_for(&mut self, words: &str) {
        let mut block = [0; 4096];
        while !self.shown.contains(words) {
            match self.terminal.read(&mut block) {
                Ok(count) if count > 0 => self.shown += &String::from_utf8_lossy(&block[..count]),
                _ => panic!("no {words:?} in\n{}", self.shown),
            }
        }
    }

    fn type_in(&mut self, line: &str) {
        writeln!(self.terminal, "{line}").expect("typed");
    }

    /// The exit status, and all that was printed.
    fn end(mut self) -> (Option<i32>, String) {
        let mut block = [0; 4096];
        while let Ok(count) = self.terminal.read(&mut block) {
            if count == 0 {
                break;
            }
            self.shown += &String::from_utf8_lossy(&block[..count]);
        }
        (self.child.wait().expect("it ends").code(), self.shown)
    }
}

#[test]
fn an_unknown_server_is_confirmed_before_the_token_is_typed() {
    let folder = folder();
    let path = folder.path();
    std::fs::write(path.join("file"), "content").expect("written");
    std::fs::create_dir(path.join("in")).expect("made");
    let mut server = command()
        .args(["serve", "in", "--json", "--listen", "127.0.0.1:0"])
        .args(["--identity", "server"])
        .current_dir(path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let mut printed = BufReader::new(server.stdout.take().expect("piped"));
    printed.read_line(&mut line).expect("its address");
    let listening = parse(&line);
    let text = |key: &str| listening[key].as_str().expect("a string").to_owned();
    let (address, fingerprint) = (text("address"), text("fingerprint"));
    let token = std::fs::read_to_string(path.join("server/token")).expect("a token");
    let send = ["send", "file", &address, "--identity", "client"];

    let mut refused = Session::new(&send, path);
    refused.wait_for("(yes/no)? ");
    assert!(refused.shown.contains(&fingerprint), "{}", refused.shown);
    refused.type_in("no");
    let (status, shown) = refused.end();
    assert_eq!(status, Some(4), "{shown}");
    assert!(!shown.contains("token of"), "{shown}");

    let mut trusted = Session::new(&send, path);
    trusted.wait_for("(yes/no)? ");
    trusted.type_in("perhaps");
    trusted.wait_for("Type yes, no,");
    trusted.type_in(&fingerprint);
    trusted.wait_for("token of");
    trusted.type_in(token.trim());
    let (status, shown) = trusted.end();
    assert_eq!(status, Some(0), "{shown}");

    // Both are remembered.
    let (status, shown) = Session::new(&send, path).end();
    assert_eq!(status, Some(0), "{shown}");
    assert!(!shown.contains("(yes/no)"), "{shown}");
    server.kill().expect("it runs");
    server.wait().expect("it ends");
}
