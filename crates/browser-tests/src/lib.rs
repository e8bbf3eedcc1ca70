//! Headless Chromium with a fresh profile and one page, for tests of the report's page and of the
//! lab.

mod input;

use chromiumoxide::Page;
use chromiumoxide::browser::{Browser, BrowserConfig};
use chromiumoxide::cdp::browser_protocol::log::EventEntryAdded;
use chromiumoxide::cdp::browser_protocol::network::EventRequestWillBeSent;
use chromiumoxide::cdp::js_protocol::runtime::{
    EvaluateParams, EventConsoleApiCalled, EventExceptionThrown,
};
use chromiumoxide::handler::viewport::Viewport;
use chromiumoxide::listeners::EventStream;
use futures::{FutureExt, StreamExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Timeout of a condition, in milliseconds. A busy machine needs seconds.
const BOUND: u64 = 60_000;

/// A browser with one page.
///
/// Its methods panic if the browser fails: in a test that is the failure to report.
pub struct Chromium {
    browser: Browser,
    /// The page, for commands of the DevTools protocol.
    pub page: Page,
    console: EventStream<EventConsoleApiCalled>,
    exceptions: EventStream<EventExceptionThrown>,
    log: EventStream<EventEntryAdded>,
    requests: EventStream<EventRequestWillBeSent>,
    // Declared last, so that it is deleted after the browser has ended.
    _user_data: tempfile::TempDir,
}

/// Finds the browser: `$CHROMIUM`, or Chromium or Chrome on the `PATH`.
///
/// # Errors
/// If there is no browser; the text says how to install one.
pub fn executable() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Ok(PathBuf::from(named));
    }
    let folders: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            "no browser found: install Chromium (Debian: apt-get install chromium) or set CHROMIUM=PATH"
                .to_owned()
        })
}

impl Chromium {
    /// Opens a file in a window of this size (width and height in pixels).
    pub async fn open(file: &Path, size: (u32, u32)) -> Self {
        Self::open_url(&format!("file://{}", file.display()), size).await
    }

    /// Opens an address in a window of this size (width and height in pixels).
    pub async fn open_url(url: &str, (width, height): (u32, u32)) -> Self {
        let executable = executable().unwrap_or_else(|say| panic!("{say}"));
        let user_data = tempfile::tempdir().expect("a folder for the browser");
        let config = BrowserConfig::builder()
            .chrome_executable(executable)
            .no_sandbox()
            .user_data_dir(user_data.path())
            .viewport(Viewport {
                width,
                height,
                device_scale_factor: Some(1.0),
                ..Viewport::default()
            })
            .request_timeout(Duration::from_millis(2 * BOUND))
            .launch_timeout(Duration::from_millis(BOUND))
            .args(["disable-gpu", "disable-quic", "disable-component-update"])
            .build()
            .expect("a browser");
        let (browser, mut handler) = Browser::launch(config).await.expect("the browser starts");
        tokio::spawn(async move { while handler.next().await.is_some() {} });
        let page = browser.new_page("about:blank").await.expect("a page");
        page.enable_log().await.expect("a log");
        let this = Self {
            console: page.event_listener().await.expect("events"),
            exceptions: page.event_listener().await.expect("events"),
            log: page.event_listener().await.expect("events"),
            requests: page.event_listener().await.expect("events"),
            browser,
            page,
            _user_data: user_data,
        };
        this.page.goto(url).await.expect("the page opens");
        this.wait("window.whimbrel !== undefined").await;
        this
    }

    /// Evaluates a JavaScript expression; if it is a promise, waits for its value.
    pub async fn value<T: serde::de::DeserializeOwned>(&self, script: &str) -> T {
        let parameters = EvaluateParams::builder()
            .expression(script)
            .await_promise(true)
            .return_by_value(true)
            .build()
            .expect("it has an expression");
        let result = self.page.evaluate_expression(parameters).await;
        let result = result.unwrap_or_else(|error| panic!("{script}: {error}"));
        result
            .into_value()
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Runs JavaScript statements.
    pub async fn run(&self, script: &str) {
        let _: bool = self.value(&format!("{{ {script}; }} true")).await;
    }

    /// Waits until a JavaScript condition is true.
    pub async fn wait(&self, condition: &str) {
        let script = format!(
            "new Promise((resolve) => {{
                const end = Date.now() + {BOUND};
                const look = () => {{
                    if ({condition}) resolve(true);
                    else if (Date.now() > end) resolve(false);
                    else setTimeout(look, 10);
                }};
                look();
            }})"
        );
        let holds: bool = self.value(&script).await;
        assert!(holds, "timeout: {condition}");
    }

    /// The page's errors, warnings and uncaught exceptions since the last call.
    pub async fn complaints(&mut self) -> Vec<String> {
        // Messages arrive in order: after this reply, all earlier ones are here.
        self.run("0").await;
        let mut all = Vec::new();
        while let Some(Some(said)) = self.console.next().now_or_never() {
            let kind = format!("{:?}", said.r#type);
            if ["Error", "Warning", "Assert"].contains(&kind.as_str()) {
                all.push(format!("{kind}: {:?}", said.args));
            }
        }
        while let Some(Some(thrown)) = self.exceptions.next().now_or_never() {
            all.push(format!("{:?}", thrown.exception_details));
        }
        while let Some(Some(entry)) = self.log.next().now_or_never() {
            let kind = format!("{:?}", entry.entry.level);
            if ["Error", "Warning"].contains(&kind.as_str()) {
                all.push(format!("{kind}: {}", entry.entry.text));
            }
        }
        all
    }

    /// The URLs fetched since the last call, except `data:` URLs.
    pub async fn fetched(&mut self) -> Vec<String> {
        self.run("0").await;
        let mut all = Vec::new();
        while let Some(Some(request)) = self.requests.next().now_or_never() {
            if !request.request.url.starts_with("data:") {
                all.push(request.request.url.clone());
            }
        }
        all
    }

    /// Closes the browser and waits until it has ended.
    pub async fn close(mut self) {
        self.browser.close().await.expect("the browser closes");
        self.browser.wait().await.expect("the browser ends");
    }
}
