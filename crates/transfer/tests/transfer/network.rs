//! Networks that lose packets or fail, and servers that are killed.

use crate::common::path::Path;
use crate::common::scratch_directory::file_names;
use crate::common::{
    ScratchDirectory, Service, TEST_TIMEOUT, UNDER_WAY, limits, report, upload, visible,
};
use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;
use whimbrel_transfer::{Error, Event, Identity, Limits, ServeOptions, Server};
use whimbrel_units::Duration as Span;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_arrives_over_a_path_with_two_percent_loss() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let path = Path::to(service.address, 50).await;
    for controller in ["newreno", "cerl"] {
        let file = scratch.file(controller, 16_000_000);
        let mut options = service.options_to(&file, path.address);
        options.client.controller = controller.parse().expect("a known controller");
        options.measurement.trace = Some(Span::from_millis(10));
        let summary = upload(options).await.expect("stored");
        assert!(fs::read(&file).ok() == fs::read(service.directory.join(controller)).ok());
        assert!(
            summary.lost_packets > 15 && summary.loss_episodes > 5,
            "{summary:?}"
        );
        assert!(summary.loss_episodes <= summary.lost_packets);
        let classified = summary.verdicts.map(|v| v.congestion + v.random);
        assert_eq!(
            classified,
            (controller == "cerl").then_some(summary.loss_episodes)
        );
        assert!(summary.samples.is_some_and(|s| s.len() > 3));
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_network_fails_both_sides_stop() {
    let scratch = ScratchDirectory::new();
    let idle = Span::from_secs(1);
    let mut service = Service::with(&scratch, Limits { idle, ..limits() }, false);
    let path = Path::to(service.address, u64::MAX).await;
    let mut options = service.options_to(&scratch.file("a", 100_000_000), path.address);
    options.client.idle = idle;
    let cut = |progress: whimbrel_transfer::Progress| {
        path.cut
            .store(progress.bytes > UNDER_WAY, Ordering::Relaxed);
    };
    let sending = whimbrel_transfer::send(options, cut, std::future::pending());
    let error = tokio::time::timeout(TEST_TIMEOUT, sending)
        .await
        .expect("in time")
        .expect_err("cut");
    assert!(matches!(error, Error::Lost(_)), "{error}");
    assert!(error.to_string().contains("silent"), "{error}");
    let Event::Failed {
        error: Error::Lost(_),
        ..
    } = service.event().await
    else {
        panic!("not lost")
    };
    assert!(visible(&service.directory).is_empty());
    service.stop().await;
}

const CHILD: &str = "WHIMBREL_TEST_CHILD";

/// Not a test: the server that the next test kills. It writes its port to a file.
#[test]
#[ignore = "run by the_next_server_goes_on_where_a_killed_one_was"]
fn child() {
    let Some(base) = std::env::var_os(CHILD).map(std::path::PathBuf::from) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let identity = Identity::load_or_create(&base.join("identity")).expect("an identity");
        let listen = ([127, 0, 0, 1], 0).into();
        let directory = base.join("stored");
        let options = ServeOptions {
            limits: limits(),
            ..ServeOptions::new(directory, listen)
        };
        let server = Server::bind(options, &identity).expect("a server");
        let port = server.local_addr().expect("bound").port();
        fs::write(base.join("port.tmp"), port.to_string()).expect("written");
        fs::rename(base.join("port.tmp"), base.join("port")).expect("a file");
        server.run(|_| (), std::future::pending()).await;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_server_goes_on_where_a_killed_one_was() {
    let scratch = ScratchDirectory::new();
    let stored = scratch.subdirectory("stored");
    Identity::load_or_create(&scratch.path().join("identity")).expect("an identity");
    let mut server = Command::new(std::env::current_exe().expect("this"))
        .args(["--exact", "network::child", "--ignored"])
        .env(CHILD, scratch.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    let port = tokio::time::timeout(TEST_TIMEOUT, async {
        loop {
            if let Ok(port) = fs::read_to_string(scratch.path().join("port")) {
                return port.parse().expect("a port");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let address = SocketAddr::from(([127, 0, 0, 1], port.await.expect("in time")));
    let service = Service::in_directory(&scratch, scratch.subdirectory("other"), limits(), false);
    let mut options = service.options_to(&scratch.file("a", 300_000_000), address);
    options.client.idle = Span::from_secs(1);
    let kill = |progress: whimbrel_transfer::Progress| {
        if progress.bytes > UNDER_WAY {
            server.kill().ok();
        }
    };
    let sending = whimbrel_transfer::send(options, kill, std::future::pending());
    let error = tokio::time::timeout(TEST_TIMEOUT, sending)
        .await
        .expect("in time")
        .expect_err("killed");
    assert!(matches!(error, Error::Lost(_)), "{error}");
    server.wait().expect("an exit status");
    let leftovers = file_names(&stored);
    assert!(
        leftovers.len() == 1 && leftovers[0].starts_with(".whimbrel-"),
        "{leftovers:?}"
    );
    let next = Service::start(&scratch);
    let file = scratch.path().join("a");
    let report = report(next.options(&file)).await;
    report.result.expect("stored");
    assert!(fs::read(&file).ok() == fs::read(stored.join("a")).ok());
    assert!(report.resumed_bytes > 0, "{}", report.resumed_bytes);
    assert_eq!(report.sent_bytes + report.resumed_bytes, 300_000_000);
    assert_eq!(file_names(&stored), ["a"]);
    next.stop().await;
    service.stop().await;
}
