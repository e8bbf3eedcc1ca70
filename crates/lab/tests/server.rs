//! The server as a client sees it, byte by byte, over a real connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use whimbrel_lab::State;
use whimbrel_lab::server::{BODY_TYPE, Lab};

/// A server on a free port; it ends with the process of the test.
struct Served {
    port: u16,
    token: String,
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

fn served() -> Served {
    let lab = Lab::bind(0).expect("a port");
    let url = lab.url(&State::default());
    std::thread::spawn(move || lab.serve());
    let rest = url.strip_prefix("http://127.0.0.1:").expect("an address");
    let (port, token) = rest.split_once('/').expect("a token");
    Served {
        port: port.parse().expect("a port"),
        token: token.trim_end_matches('/').to_owned(),
    }
}

impl Served {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("a timeout");
        stream
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        let port = self.port;
        let length = body.len();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += &format!("Host: 127.0.0.1:{port}\r\n");
        }
        if method == "POST" {
            head += &format!("Content-Length: {length}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        stream.write_all(head.as_bytes()).expect("sent");
        // The server may refuse before it has read all.
        let _ = stream.write_all(body);
        stream
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.send(method, path, headers, body);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        let text = String::from_utf8_lossy(&all);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or(0),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", &format!("/{}/{path}", self.token), &[], b"")
    }

    fn post(&self, path: &str, body: &str) -> Answer {
        let path = format!("/{}/{path}", self.token);
        let headers = [("Content-Type", BODY_TYPE)];
        self.ask("POST", &path, &headers, body.as_bytes())
    }
}

/// The objects of an answer's lines, whatever the lengths of its chunks between them.
fn events(body: &str) -> Vec<String> {
    let lines = body.lines().filter(|line| line.starts_with('{'));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let served = served();
    let page = served.get("");
    assert_eq!(page.status, 200);
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "cache-control: no-store",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(page.head.contains(header), "no {header} in {}", page.head);
    }
    assert!(!page.head.contains("access-control"), "{}", page.head);
    for file in ["", "lab.css", "lab.js"] {
        let answer = served.get(file);
        assert_eq!(answer.status, 200, "{file}");
        let elsewhere = ["https://", "http://", "@import", "//cdn"];
        for word in elsewhere {
            let allowed = answer.body.replace("http://www.w3.org/2000/svg", "");
            assert!(!allowed.contains(word), "{word} in {file}");
        }
    }
    let about = served.get("about");
    assert!(about.body.contains("\"cubic\"") && about.body.contains("\"scenes\""));
}

#[test]
fn others_are_refused() {
    let served = served();
    let (token, port) = (&served.token, served.port);
    let page = format!("/{token}/");
    let evil = "evil.example";
    assert_eq!(served.ask("GET", "/", &[], b"").status, 403);
    assert_eq!(
        served.ask("GET", "/0123456789abcdef/", &[], b"").status,
        403
    );
    let rebound = [("Host", "evil.example:80")];
    assert_eq!(served.ask("GET", &page, &rebound, b"").status, 421);
    let run = format!("/{token}/run");
    for origin in [format!("http://{evil}"), "null".to_owned()] {
        let headers = [("Origin", origin.as_str()), ("Content-Type", BODY_TYPE)];
        assert_eq!(served.ask("POST", &run, &headers, b"").status, 403);
    }
    let form = [("Content-Type", "text/plain")];
    assert_eq!(served.ask("POST", &run, &form, b"").status, 415);
    let preflight = [
        ("Origin", "http://evil.example"),
        ("Access-Control-Request-Method", "POST"),
    ];
    let preflight = served.ask("OPTIONS", &run, &preflight, b"");
    assert_eq!(preflight.status, 403);
    assert!(!preflight.head.contains("access-control-allow"));
    let own = format!("http://127.0.0.1:{port}");
    let headers = [("Origin", own.as_str()), ("Content-Type", BODY_TYPE)];
    let own = served.ask("POST", &run, &headers, b"duration=1+s&algorithms=cubic");
    assert_eq!(own.status, 200);
    assert_eq!(served.get("other").status, 404);
    assert_eq!(served.ask("PUT", &page, &[], b"").status, 405);
}

#[test]
fn two_servers_have_different_tokens() {
    let (a, b) = (served(), served());
    assert_ne!(a.token, b.token);
    assert_eq!(a.token.len(), 32);
}

#[test]
fn a_run_reports_rows_pictures_and_words() {
    let served = served();
    let answer = served.post("run?page=a", "duration=2+s&algorithms=cubic,whimbrel");
    assert_eq!(answer.status, 200);
    let events = events(&answer.body);
    let kinds = |kind: &str| {
        let kind = format!("{{\"kind\":\"{kind}\"");
        events.iter().filter(|line| line.starts_with(&kind)).count()
    };
    assert_eq!((kinds("begin"), kinds("row"), kinds("end")), (1, 2, 1));
    assert!(kinds("pictures") >= 1);
    assert!(
        events[0].starts_with("{\"kind\":\"begin\""),
        "{}",
        events[0]
    );
    let end = events.last().expect("an end");
    assert!(
        end.contains("cubic") && end.contains("Mbit/s of 20.0 Mbit/s"),
        "{end}"
    );
}

#[test]
fn wrong_values_are_answered_with_their_field() {
    let served = served();
    for (what, state, field) in [
        ("run", "loss=0.5", "loss"),
        ("run", "rate=0+Mbit/s", "rate"),
        ("scenario", "queue=x", "queue"),
        ("trace?name=x.down", "nonsense", "trace"),
        ("trace?name=../x", "0\n5\n", "trace"),
        ("open", "[link", ""),
    ] {
        let answer = served.post(what, state);
        assert_eq!(answer.status, 422, "{what} {state}");
        let expected = format!("{{\"field\":\"{field}\",\"why\":\"");
        assert!(answer.body.starts_with(&expected), "{}", answer.body);
    }
}

#[test]
fn what_is_too_large_or_no_text_is_refused() {
    let served = served();
    let large = "x".repeat((32 << 10) + 1);
    assert_eq!(served.post("run", &large).status, 413);
    let large = "x".repeat((256 << 10) + 1);
    assert_eq!(served.post("open", &large).status, 413);
    let headers = [("Content-Type", BODY_TYPE)];
    let path = format!("/{}/run", served.token);
    let binary = served.ask("POST", &path, &headers, b"rate=\xff");
    assert_eq!(binary.status, 400);
    let long = format!("/{}", "x".repeat(100_000));
    assert!(matches!(
        served.ask("GET", &long, &[], b"").status,
        400 | 414 | 431
    ));
    assert_eq!(served.get("").status, 200, "it goes on");
}

#[test]
fn the_saved_scenario_opens_as_the_same_state() {
    let served = served();
    let state = "rate=5+Mbit%2Fs&fades=2&algorithms=cubic%2Ccerl&seed=3";
    let saved = served.post("scenario", state);
    assert_eq!(saved.status, 200);
    let opened = served.post("open", &saved.body);
    assert_eq!(opened.status, 200, "{}", opened.body);
    assert!(opened.body.contains(state), "{}", opened.body);
}

#[test]
fn a_recording_is_used_under_its_name() {
    let served = served();
    let unknown = served.post("run", "trace=lte.down&duration=1+s&algorithms=cubic");
    assert!(
        unknown.body.contains("choose its file again"),
        "{}",
        unknown.body
    );
    // A packet of 1504 bytes each millisecond.
    let text: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
    let added = served.post("trace?name=lte.down", &text);
    assert!(
        added.body.contains("\"mean_bps\":12032000"),
        "{}",
        added.body
    );
    let run = served.post("run", "trace=lte.down&duration=1+s&algorithms=cubic");
    assert!(run.body.contains("rate of lte.down"), "{}", run.body);
    let saved = served.post("scenario", "trace=lte.down&duration=1+s");
    assert!(
        saved.body.contains("rate = { trace = \"lte.down\" }"),
        "{}",
        saved.body
    );
}

/// A request that would take many seconds.
const LONG: &str = "rate=1+Gbit/s&rtt=20+ms&duration=30+s&algorithms=cubic,bbr,whimbrel,newreno";

#[test]
fn a_newer_request_of_the_same_page_stops_the_older_one() {
    let served = served();
    let path = format!("/{}/run?page=same", served.token);
    let headers = [("Content-Type", BODY_TYPE)];
    let older = served.send("POST", &path, &headers, LONG.as_bytes());
    let mut older = BufReader::new(older);
    // The older one has begun when its first event is here.
    let mut line = String::new();
    while !line.starts_with('{') {
        line.clear();
        assert_ne!(older.read_line(&mut line).expect("a line"), 0, "it ended");
    }
    let newer = served.post("run?page=same", "duration=1+s&algorithms=cubic");
    assert!(newer.body.contains("\"kind\":\"end\""));
    let mut rest = String::new();
    let _ = older.read_to_string(&mut rest);
    assert!(
        !rest.contains("\"kind\":\"end\""),
        "it was stopped, not finished"
    );
}

#[test]
fn a_client_that_goes_away_stops_its_request() {
    let served = served();
    let path = format!("/{}/run?page=gone", served.token);
    let headers = [("Content-Type", BODY_TYPE)];
    for n in 0..20 {
        let path = format!("{path}{n}");
        drop(served.send("POST", &path, &headers, LONG.as_bytes()));
    }
    // Twenty such requests after another would take minutes.
    let begin = Instant::now();
    // One that is still on its way may begin later, and stop this one as the oldest of too many.
    while !served
        .post("run?page=stays", "duration=1+s&algorithms=cubic")
        .body
        .contains("\"kind\":\"end\"")
    {
        assert!(begin.elapsed() < Duration::from_secs(40), "they go on");
    }
}
