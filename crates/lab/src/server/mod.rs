//! The page's server: HTTP/1 on loopback, for one user.
//!
//! | request | answer |
//! |---|---|
//! | `GET /TOKEN/` | the page; `lab.css` and `lab.js` beside it |
//! | `GET /TOKEN/about` | algorithms, scenes and defaults, JSON |
//! | `POST /TOKEN/run?page=NAME` | plays a state; events, one JSON object per line |
//! | `POST /TOKEN/scenario` | a state as a scenario file |
//! | `POST /TOKEN/open` | a scenario file as a state, JSON |
//! | `POST /TOKEN/trace?name=NAME` | keeps a recorded rate |

mod about;
mod guard;
mod running;

pub use guard::BODY_TYPE;

use crate::recordings::{self, Recordings};
use crate::runs::Request as Runs;
use crate::{FieldError, State, opened, state};
use bytes::Bytes;
use guard::{Guard, Refusal};
use http_body_util::{BodyExt, Either, Full, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rand::RngExt;
use running::{Begun, Running};
use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// Maximum number of connections; further ones wait.
const CONNECTIONS: usize = 32;
/// Time within which a request must arrive: its head, then its body.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of a scenario file that is opened, in bytes.
const MAX_SCENARIO: usize = 256 << 10;
/// Maximum size of the head of a request, in bytes.
const MAX_HEAD: usize = 16 << 10;
/// Events that wait for a slow browser; then the runs wait.
const WAITING: usize = 16;

/// What the page may do: its own files and requests, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const PAGE: &str = include_str!("../../assets/lab.html");
const STYLE: &str = include_str!("../../assets/lab.css");
/// The page's script, in one scope with that of reports' figures.
const SCRIPT: [&str; 5] = [
    "(() => {\n'use strict';\n",
    whimbrel_report::FIGURE_SCRIPT,
    include_str!("../../assets/draw.js"),
    include_str!("../../assets/lab.js"),
    "})();\n",
];

type Answer = Response<Either<Full<Bytes>, Events>>;

/// The server, listening.
pub struct Lab {
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    guard: Guard,
    recordings: Recordings,
    running: Arc<Running>,
}

impl Lab {
    /// Listens on this port of loopback; 0: a free one.
    ///
    /// # Errors
    /// If the port is taken or forbidden.
    pub fn bind(port: u16) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let token: [u8; 16] = rand::rng().random();
        let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
        let guard = Guard::new(listener.local_addr()?.port(), token);
        let shared = Arc::new(Shared {
            guard,
            recordings: Recordings::default(),
            running: Arc::default(),
        });
        Ok(Self { listener, shared })
    }

    /// The address of the page in this state.
    pub fn url(&self, state: &State) -> String {
        let url = self.shared.guard.url();
        match state.print().as_str() {
            "" => url,
            state => format!("{url}#{state}"),
        }
    }

    /// The recorded rates that it has.
    pub fn recordings(&self) -> &Recordings {
        &self.shared.recordings
    }

    /// Serves until the process ends, or accepting connections fails.
    ///
    /// # Errors
    /// If threads cannot be started, or the listener fails.
    pub fn serve(self) -> io::Result<()> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build()?;
        runtime.block_on(self.run())
    }

    /// The same within a runtime of the caller.
    ///
    /// # Errors
    /// If the listener fails.
    pub async fn run(self) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else {
                return Ok(());
            };
            let (stream, _) = match listener.accept().await {
                Ok(accepted) => accepted,
                // A connection that is gone before it is accepted, or no free descriptor: others
                // go on.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let shared = self.shared.clone();
            tokio::spawn(async move {
                connection(shared, stream).await;
                drop(place);
            });
        }
    }
}

/// Serves one connection to its end.
async fn connection(shared: Arc<Shared>, stream: TcpStream) {
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(answer(&shared, request).await) }
    });
    // A connection that fails concerns nobody but its client.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Answers a request, and adds the headers that all answers have.
async fn answer(shared: &Arc<Shared>, request: Request<Incoming>) -> Answer {
    let mut answer = match route(shared, request).await {
        Ok(answer) => answer,
        Err(refusal) => plain(refusal.status, refusal.why),
    };
    let headers = answer.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for name in ["cross-origin-resource-policy", "cross-origin-opener-policy"] {
        let name = header::HeaderName::from_static(name);
        headers.insert(name, HeaderValue::from_static("same-origin"));
    }
    answer
}

async fn route(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Refusal> {
    let uri = request.uri().clone();
    let what = shared
        .guard
        .admit(request.method(), uri.path(), request.headers())?;
    let query = uri.query().unwrap_or_default();
    let parameter = |name: &str| {
        let mut all = form_urlencoded::parse(query.as_bytes());
        let found = all.find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    match (request.method(), what) {
        (&Method::GET, "") => Ok(file("text/html; charset=utf-8", PAGE.to_owned())),
        (&Method::GET, "lab.css") => {
            let style = format!("{}{STYLE}", whimbrel_report::PAGE_STYLE);
            Ok(file("text/css; charset=utf-8", style))
        }
        (&Method::GET, "lab.js") => Ok(file("text/javascript; charset=utf-8", SCRIPT.concat())),
        (&Method::GET, "about") => Ok(json(StatusCode::OK, &about::about())),
        (&Method::POST, "run") => {
            let text = body(request, state::MAX_LENGTH).await?;
            Ok(answered(run(shared, &text, &parameter("page"))))
        }
        (&Method::POST, "scenario") => {
            let text = body(request, state::MAX_LENGTH).await?;
            let made = State::parse(&text).and_then(|state| state.spec(&shared.recordings));
            let scenario = |spec: whimbrel_sim::scenario::ScenarioSpec| {
                file("application/toml; charset=utf-8", spec.to_string())
            };
            Ok(answered(made.map(scenario)))
        }
        (&Method::POST, "open") => {
            let text = body(request, MAX_SCENARIO).await?;
            let state = opened::state(&text, None, &shared.recordings);
            let link = |state: State| serde_json::json!({ "state": state.print() });
            Ok(answered(
                state.map(|state| json(StatusCode::OK, &link(state))),
            ))
        }
        (&Method::POST, "trace") => {
            let name = parameter("name");
            let text = body(request, recordings::MAX_SIZE).await?;
            let added = shared.recordings.add(&name, &text);
            let about = |trace: Arc<whimbrel_net::Trace>| {
                let mean = trace.mean_rate().as_bits_per_sec();
                serde_json::json!({
                    "name": name,
                    "mean_bps": mean,
                    "period_s": trace.period().as_secs_f64(),
                })
            };
            Ok(answered(
                added.map(|trace| json(StatusCode::OK, &about(trace))),
            ))
        }
        (&Method::GET | &Method::POST, _) => Ok(plain(StatusCode::NOT_FOUND, "not found")),
        _ => Ok(plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and POST are allowed",
        )),
    }
}

/// The body of a request as text, of at most this size in bytes.
async fn body(request: Request<Incoming>, most: usize) -> Result<String, Refusal> {
    let refused = |status, why| Refusal { status, why };
    let read = Limited::new(request.into_body(), most).collect();
    let read = tokio::time::timeout(PATIENCE, read).await.map_err(|_| {
        refused(
            StatusCode::REQUEST_TIMEOUT,
            "the request did not arrive in time",
        )
    })?;
    let bytes = read.map_err(|error| match error.is::<LengthLimitError>() {
        true => refused(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large"),
        false => refused(StatusCode::BAD_REQUEST, "the request broke off"),
    })?;
    String::from_utf8(bytes.to_bytes().into())
        .map_err(|_| refused(StatusCode::BAD_REQUEST, "the request is not text in UTF-8"))
}

/// Begins the runs of a state. Their events follow as they happen.
fn run(shared: &Arc<Shared>, text: &str, page: &str) -> Result<Answer, FieldError> {
    let state = State::parse(text)?;
    let runs = Runs::new(&state, &shared.recordings)?;
    let begun = shared.running.begin(page);
    let stop = begun.stop.clone();
    let (events, receiver) = mpsc::channel(WAITING);
    tokio::task::spawn_blocking(move || {
        runs.run(&stop, |event| {
            let Ok(mut line) = serde_json::to_vec(&event) else {
                return false;
            };
            line.push(b'\n');
            events.blocking_send(Bytes::from(line)).is_ok()
        });
    });
    let mut answer = Response::new(Either::Right(Events {
        receiver,
        _begun: begun,
    }));
    let kind = HeaderValue::from_static("application/x-ndjson");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(answer)
}

/// The events of a request as the body of its answer. When the client has gone, it is dropped, and
/// with it the request stops.
struct Events {
    receiver: mpsc::Receiver<Bytes>,
    _begun: Begun,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.receiver.poll_recv(context);
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The answer, or the error for a field of the page.
fn answered(made: Result<Answer, FieldError>) -> Answer {
    made.unwrap_or_else(|error| {
        let about = serde_json::json!({ "field": error.field, "why": error.why });
        json(StatusCode::UNPROCESSABLE_ENTITY, &about)
    })
}

fn file(kind: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Either::Left(Full::from(text)));
    let kind = HeaderValue::from_static(kind);
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

fn json(status: StatusCode, value: &serde_json::Value) -> Answer {
    let mut answer = file("application/json", value.to_string());
    *answer.status_mut() = status;
    answer
}

fn plain(status: StatusCode, why: &str) -> Answer {
    let mut answer = file("text/plain; charset=utf-8", format!("{why}\n"));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    /// The answer to these bytes, which no others follow, and how long it took.
    async fn answer_to(bytes: &str) -> (String, Duration) {
        let lab = Lab::bind(0).expect("a port");
        let port = lab.listener.local_addr().expect("bound").port();
        let bytes = bytes
            .replace("URL", lab.url(&State::default()).trim_end_matches('/'))
            .replace("PORT", &port.to_string());
        tokio::spawn(lab.run());
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .expect("a connection");
        let begun = Instant::now();
        stream.write_all(bytes.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok();
        (answer, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_does_not_end_is_not_waited_for() {
        let late = PATIENCE + Duration::from_secs(1);
        let (answer, took) = answer_to("POST /x HTTP/1.1\r\nHost: ").await;
        assert!(answer.is_empty() || answer.contains("408"), "{answer}");
        assert!((PATIENCE..late).contains(&took), "{took:?}");
        let head = format!(
            "POST URL/scenario HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\
             Content-Type: {BODY_TYPE}\r\nContent-Length: 100\r\n\r\nrate"
        );
        let (answer, took) = answer_to(&head).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert!((PATIENCE..late).contains(&took), "{took:?}");
    }
}
