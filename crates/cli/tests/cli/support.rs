//! How tests run the command and check its output.

use serde_json::Value;
use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

/// The command, with nothing on stdin.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whimbrel"));
    command.stdin(Stdio::null());
    command
}

/// The words of a command line: separated by spaces, or in single quotes.
pub fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').expect("a closing quote"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// Arguments: a command line, or its words.
pub trait Arguments {
    fn words(&self) -> Vec<&str>;
}

impl Arguments for str {
    fn words(&self) -> Vec<&str> {
        words(self)
    }
}

impl Arguments for String {
    fn words(&self) -> Vec<&str> {
        words(self)
    }
}

impl Arguments for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const N: usize> Arguments for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Arguments for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

/// Runs the command.
pub fn whimbrel(args: &(impl Arguments + ?Sized)) -> Output {
    whimbrel_in(Path::new("."), args)
}

/// Runs the command in a folder.
pub fn whimbrel_in(folder: &Path, args: &(impl Arguments + ?Sized)) -> Output {
    let output = command().current_dir(folder).args(args.words()).output();
    output.expect("the command runs")
}

/// Whether this system allows a command, such as one that makes namespaces. If not, prints why the
/// test is skipped.
pub fn allowed(args: &(impl Arguments + ?Sized)) -> bool {
    let output = whimbrel(args);
    let allowed = output.status.success();
    if !allowed {
        println!("skipped: {}", text(&output.stderr).trim());
    }
    allowed
}

/// Runs the command with this input on stdin.
pub fn piped(args: &(impl Arguments + ?Sized), input: &str) -> Output {
    let mut child = command()
        .args(args.words())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // A command that does not read its input may have ended by now.
    let mut stdin = child.stdin.take().expect("piped");
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the command ends")
}

/// `whimbrel serve --json`, killed when it is dropped.
pub struct Server {
    pub child: Child,
    /// Where it listens.
    pub address: String,
    /// Its first event.
    pub listening: Value,
    /// What it prints after that, a line for each event.
    pub events: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Serves the folder `in` below `path`, which is made, with the state in `id`.
    pub fn start(path: &Path, args: &(impl Arguments + ?Sized)) -> Self {
        fs::create_dir_all(path.join("in")).expect("made");
        Self::try_start(path, args).expect("the server starts")
    }

    /// `None` if it ends before it listens.
    pub fn try_start(path: &Path, args: &(impl Arguments + ?Sized)) -> Option<Self> {
        let mut child = command()
            .args(words("serve in --json --identity id"))
            .args(args.words())
            .current_dir(path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut events = output.lines();
        let Some(line) = events.next() else {
            child.wait().expect("it ends");
            return None;
        };
        let listening = parse(&line.expect("UTF-8"));
        let address = listening["address"].as_str().expect("a string").to_owned();
        Some(Self {
            child,
            address,
            listening,
            events,
        })
    }

    /// Its next event; `None` when it has ended.
    pub fn event(&mut self) -> Option<Value> {
        self.events.next().map(|line| parse(&line.expect("UTF-8")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The output of a command that succeeds and prints nothing on stderr.
pub fn stdout(output: &Output) -> String {
    let error = text(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(error, "", "nothing on stderr without a terminal");
    text(&output.stdout)
}

/// The JSON that a command prints.
pub fn json(output: &Output) -> Value {
    parse(&stdout(output))
}

/// Parses JSON.
pub fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The error of a command that fails with this status and prints nothing on stdout.
pub fn fails(output: &Output, status: i32) -> String {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{error}");
    assert_eq!(text(&output.stdout), "");
    error
}

/// The error of a command that refuses its input: status 2, nothing on stdout.
pub fn refused(args: &(impl Arguments + ?Sized), input: &str) -> String {
    fails(&piped(args, input), 2)
}

/// Asserts that the command refuses each of these lines with this input on stdin, and that the
/// error has these words.
pub fn all_refused(input: &str, cases: &[(&str, &str)]) {
    for (line, says) in cases {
        assert_contains(&refused(*line, input), &[says]);
    }
}

/// A temporary folder.
pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The path of a file in a folder, as an argument.
pub fn path_in(folder: &TempDir, name: &str) -> String {
    let path = folder.path().join(name);
    path.to_str().expect("UTF-8").to_owned()
}

/// The names of the files in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Asserts that a text contains all of these words.
pub fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
}

/// A number in JSON, by its path.
pub fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number {path} in {value}"))
}

/// A list in JSON.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// How this test's own program is started as an end of a connection.
/// The environment variable `RECEIVE` or `SEND` names its file.
pub const END: [&str; 3] = ["--ignored", "--exact", "support::an_end_of_a_connection"];

/// The path of this test's own program.
pub static END_PROGRAM: LazyLock<String> = LazyLock::new(|| {
    let program = env::current_exe().expect("this test");
    program.into_os_string().into_string().expect("UTF-8")
});

#[test]
#[ignore = "a role of this program, which another test starts"]
fn an_end_of_a_connection() {
    if let Some(to) = env::var_os("RECEIVE") {
        let listener = TcpListener::bind(("0.0.0.0", 5001)).expect("a port");
        let (mut connection, _) = listener.accept().expect("a connection");
        io::copy(&mut connection, &mut File::create(to).expect("a file")).expect("received");
    } else if let Some(from) = env::var_os("SEND") {
        let mut connection = TcpStream::connect(("10.77.0.2", 5001)).expect("a connection");
        io::copy(&mut File::open(from).expect("a file"), &mut connection).expect("sent");
        connection.shutdown(Shutdown::Write).expect("open");
        // Until the receiver has everything.
        io::copy(&mut connection, &mut io::sink()).expect("closed");
    }
}
