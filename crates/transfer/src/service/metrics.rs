//! Prometheus metrics of a server, over HTTP.
//!
//! The text format is version 0.0.4 of
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>. A scraper sends one request of a
//! few hundred bytes and gets one answer; that is all the HTTP there is.

use crate::lock::lock;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Maximum size of a request, bytes.
const MAX_REQUEST: usize = 8 << 10;
/// Timeout of a request with its answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of connections at once. A further one replaces the oldest: a scraper sends its
/// request as soon as it is connected and has its answer before as many others have come.
const MAX_CONNECTIONS: usize = 64;

/// What a value counts, in the words of Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It is a present state.
    Gauge,
}

/// The metrics. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Mutex<BTreeMap<&'static str, Family>>>);

#[derive(Debug)]
struct Family {
    kind: Kind,
    help: &'static str,
    /// By the labels as they are printed.
    values: BTreeMap<String, f64>,
}

impl Metrics {
    /// Defines a metric without labels whose value is 0 at first, so that it can be seen before
    /// anything has happened.
    pub fn define(&self, name: &'static str, kind: Kind, help: &'static str) {
        self.with(|families| {
            families.entry(name).or_insert(Family {
                kind,
                help,
                values: BTreeMap::new(),
            });
        });
    }

    /// Adds to a counter.
    pub fn add(&self, name: &'static str, labels: &[(&str, &str)], value: f64) {
        self.value(name, labels, |old| *old += value);
    }

    /// Sets a gauge.
    pub fn set(&self, name: &'static str, labels: &[(&str, &str)], value: f64) {
        self.value(name, labels, |old| *old = value);
    }

    fn value(&self, name: &str, labels: &[(&str, &str)], change: impl FnOnce(&mut f64)) {
        self.with(|families| {
            if let Some(family) = families.get_mut(name) {
                change(family.values.entry(text(labels)).or_insert(0.0));
            }
        });
    }

    /// All metrics as text.
    pub fn render(&self) -> String {
        self.with(|families| {
            let mut out = String::new();
            for (name, family) in families.iter() {
                let kind = match family.kind {
                    Kind::Counter => "counter",
                    Kind::Gauge => "gauge",
                };
                // A `String` takes everything.
                writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", family.help).ok();
                if family.values.is_empty() {
                    writeln!(out, "{name} 0").ok();
                }
                for (labels, value) in &family.values {
                    writeln!(out, "{name}{labels} {value}").ok();
                }
            }
            out
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<&'static str, Family>) -> T) -> T {
        work(&mut lock(&self.0))
    }
}

fn text(labels: &[(&str, &str)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let label = |(name, value): &(&str, &str)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        format!("{name}=\"{}\"", value.replace('\n', "\\n"))
    };
    let labels: Vec<_> = labels.iter().map(label).collect();
    format!("{{{}}}", labels.join(","))
}

/// Answers scrapers until it is dropped. `refresh` is called before each answer, to set gauges.
pub async fn serve(listener: TcpListener, metrics: Metrics, refresh: impl Fn(&Metrics)) {
    let mut answering = JoinSet::new();
    let mut oldest = VecDeque::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = answering.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else {
            // No file descriptor left: wait for one.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        refresh(&metrics);
        let metrics = metrics.clone();
        oldest.push_back(answering.spawn(async move {
            timeout(TIMEOUT, answer(stream, &metrics)).await.ok();
        }));
        oldest.retain(|task| !task.is_finished());
        if oldest.len() > MAX_CONNECTIONS
            && let Some(task) = oldest.pop_front()
        {
            task.abort();
        }
    }
}

async fn answer(mut stream: TcpStream, metrics: &Metrics) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > MAX_REQUEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or(b"");
    let mut words = line.split(|byte| *byte == b' ');
    let (method, path) = (words.next(), words.next());
    let (status, kind, body) = match (method, path) {
        (Some(b"GET"), Some(b"/metrics" | b"/")) => (
            "200 OK",
            "text/plain; version=0.0.4; charset=utf-8",
            metrics.render(),
        ),
        (Some(b"GET"), _) => ("404 Not Found", "text/plain", "see /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", String::new()),
    };
    let head = format!(
        "HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: \
         close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> Metrics {
        let metrics = Metrics::default();
        metrics.define("a_total", Kind::Counter, "Things.");
        metrics.define("b", Kind::Gauge, "A state.");
        metrics
    }

    #[test]
    fn the_text_format_has_help_type_and_escaped_labels() {
        let metrics = metrics();
        metrics.add("a_total", &[("user", "a\"b\\c\nd"), ("x", "y")], 2.0);
        metrics.add("a_total", &[("user", "a\"b\\c\nd"), ("x", "y")], 1.5);
        metrics.add("unknown", &[], 1.0);
        assert_eq!(
            metrics.render(),
            "# HELP a_total Things.\n# TYPE a_total counter\n\
             a_total{user=\"a\\\"b\\\\c\\nd\",x=\"y\"} 3.5\n\
             # HELP b A state.\n# TYPE b gauge\nb 0\n"
        );
        metrics.set("b", &[], 7.0);
        assert!(metrics.render().ends_with("b 7\n"));
    }

    #[tokio::test]
    async fn a_scraper_gets_the_metrics_and_others_an_error() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let serving = tokio::spawn(serve(listener, metrics(), |m| m.set("b", &[], 5.0)));
        for (request, expected) in [
            (
                "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
                "HTTP/1.0 200 OK",
            ),
            ("GET /other HTTP/1.0\r\n\r\n", "HTTP/1.0 404"),
            ("POST /metrics HTTP/1.0\r\n\r\n", "HTTP/1.0 405"),
        ] {
            let mut stream = TcpStream::connect(address).await.expect("connected");
            stream.write_all(request.as_bytes()).await.expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("an answer");
            assert!(answer.starts_with(expected), "{answer}");
            assert_eq!(answer.contains("b 5"), expected.contains("200"));
        }
        serving.abort();
    }

    #[tokio::test]
    async fn idle_connections_do_not_keep_a_scraper_waiting() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let serving = tokio::spawn(serve(listener, metrics(), |_| ()));
        let mut idle = Vec::new();
        for _ in 0..3 * MAX_CONNECTIONS {
            idle.push(TcpStream::connect(address).await.expect("connected"));
        }
        let mut stream = TcpStream::connect(address).await.expect("connected");
        let request = b"GET /metrics HTTP/1.0\r\n\r\n";
        stream.write_all(request).await.expect("sent");
        let mut text = String::new();
        let reading = timeout(TIMEOUT / 2, stream.read_to_string(&mut text)).await;
        reading
            .expect("before an idle one times out")
            .expect("an answer");
        assert!(text.starts_with("HTTP/1.0 200 OK"), "{text}");
        // The oldest had to leave.
        let mut byte = [0];
        let oldest = timeout(TIMEOUT / 2, idle[0].read(&mut byte));
        assert!(!matches!(oldest.await.expect("in time"), Ok(1..)));
        serving.abort();
    }
}
