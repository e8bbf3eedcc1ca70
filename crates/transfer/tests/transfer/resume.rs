//! An interrupted transfer goes on where it was, and what is stored is what was sent.

use crate::common::path::Path as Network;
use crate::common::scratch_directory::file_names;
use crate::common::{ScratchDirectory, Service, TEST_TIMEOUT, limits, report, upload, visible};
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use whimbrel_transfer::{
    Error, KeepFree, Outcome, Progress, Reason, Report, Retry, SendOptions, SendSource,
    ServeOptions, Update, transfer,
};
use whimbrel_units::{Bytes, Duration as Span, Rate};

const MIB: u64 = 1 << 20;

/// Sends a file until so many bytes have arrived in the service's incomplete file, then stops.
async fn stop_after(service: &Service, file: &Path, bytes: u64) -> Report {
    let mut options = service.options(file);
    // What is left takes more than a second.
    options.bandwidth = Some(Rate::from_bits_per_sec(100_000_000));
    let directory = service.directory.clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let watching = tokio::spawn(async move {
        arrived(&directory, bytes).await;
        stop.send(()).ok();
    });
    let stopped = async { stopped.await.unwrap_or_default() };
    let sending = transfer(options, |_| (), stopped);
    let report = tokio::time::timeout(TEST_TIMEOUT, sending)
        .await
        .expect("in time");
    watching.abort();
    report
}

fn partial(directory: &Path) -> Option<PathBuf> {
    let names = file_names(directory);
    let name = names.iter().find(|name| name.ends_with(".part"))?;
    Some(directory.join(name))
}

/// Waits until so many bytes of an incomplete file are on disk.
async fn arrived(directory: &Path, bytes: u64) {
    let there = || {
        let metadata = partial(directory).and_then(|path| fs::metadata(path).ok());
        metadata.map_or(0, |m| m.blocks() * 512)
    };
    while there() < bytes {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Slow enough that a test can act while it is sent.
fn slowly(mut options: SendOptions) -> SendOptions {
    options.bandwidth = Some(Rate::from_bits_per_sec(400_000_000));
    options
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_transfer_goes_on_and_a_wrong_byte_on_disk_is_sent_again() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let file = scratch.file("a", 40 * MIB as usize + 77);
    let stopped = stop_after(&service, &file, 20 * MIB).await;
    assert!(matches!(stopped.result, Err(Error::Stopped)));
    assert_eq!(stopped.outcome, Outcome::NotStored);
    let path = partial(&service.directory).expect("an incomplete file");
    assert_eq!(fs::metadata(&path).expect("a file").mode() & 0o777, 0o600);
    // Three wrong bytes: in the first block, in the middle of another, and in its next part.
    let wrong = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .expect("a file");
    for at in [0, 5 * MIB + 1000, 5 * MIB + 70_000] {
        let mut byte = [0];
        wrong.read_exact_at(&mut byte, at).expect("read");
        wrong.write_all_at(&[!byte[0]], at).expect("written");
    }
    let again = report(service.options(&file)).await;
    let summary = again.result.expect("stored");
    let sent = fs::read(&file).expect("a file");
    assert!(fs::read(service.directory.join("a")).expect("stored") == sent);
    assert_eq!(summary.blake3, blake3::hash(&sent).to_hex().to_string());
    assert!(again.resumed_bytes >= 18 * MIB, "{}", again.resumed_bytes);
    assert_eq!(again.resumed_bytes + again.sent_bytes, 40 * MIB + 77);
    assert_eq!(file_names(&service.directory), ["a"]);
    service.stop().await;
}

/// The disk may have room again before the next attempt.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_nothing_of_an_earlier_attempt() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let file = scratch.file("a", 10 * MIB as usize);
    stop_after(&service, &file, 3 * MIB).await;
    let directory = service.stop().await;
    let options = ServeOptions {
        keep_free: KeepFree::Bytes(Bytes::new(1 << 60)),
        limits: limits(),
        ..ServeOptions::new(directory.clone(), ([127, 0, 0, 1], 0).into())
    };
    let full = Service::of(&scratch, options);
    let Err(Error::Refused(refusal)) = report(full.options(&file)).await.result else {
        panic!("not refused")
    };
    assert_eq!(refusal.reason, Reason::DiskFull);
    full.stop().await;
    let service = Service::in_directory(&scratch, directory, limits(), false);
    let again = report(service.options(&file)).await;
    again.result.expect("stored");
    assert!(again.resumed_bytes >= 2 * MIB, "{}", again.resumed_bytes);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_changed_between_attempts_is_stored_as_it_is_now() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let file = scratch.file("a", 30 * MIB as usize);
    stop_after(&service, &file, 15 * MIB).await;
    // Another size, other bytes at the beginning, a part less at the end.
    let mut data = fs::read(&file).expect("a file");
    data.truncate(29 * MIB as usize + 5);
    data[7] ^= 1;
    data[3_000_000..3_100_000].fill(0);
    fs::write(&file, &data).expect("written");
    let again = report(service.options(&file)).await;
    again.result.expect("stored");
    assert!(fs::read(service.directory.join("a")).expect("stored") == data);
    assert!(again.resumed_bytes >= 12 * MIB, "{}", again.resumed_bytes);
    service.stop().await;
}

/// Bytes behind the read position change while the file is sent; the size stays the same.
///
/// The file is checked for changes once all of it is with QUIC, which takes at most [`AHEAD`] more
/// than has arrived. So a change is made only while more than that is missing; however busy the
/// machine, it comes before the check. A round in which no such moment was reported does not count.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_it_is_sent_is_stored_as_it_is_at_the_end() {
    /// The send window.
    const AHEAD: u64 = 64 * MIB;
    const SIZE: u64 = AHEAD + 16 * MIB;
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let mut changes = 0;
    for round in 0..20 {
        let name = format!("file-{round}");
        let file = scratch.file(&name, SIZE as usize);
        let options = slowly(service.options(&file));
        let change = file.clone();
        let changed = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&changed);
        let watch = move |update| {
            if let Update::Progress(Progress { bytes, .. }) = update
                && (MIB..SIZE - AHEAD).contains(&bytes)
                && !done.swap(true, Ordering::Relaxed)
            {
                let mut file = OpenOptions::new()
                    .write(true)
                    .open(&change)
                    .expect("a file");
                file.seek(SeekFrom::Start(round * 1000)).expect("sought");
                file.write_all(b"changed").expect("written");
            }
        };
        let sending = transfer(options, watch, std::future::pending());
        let report = tokio::time::timeout(TEST_TIMEOUT, sending)
            .await
            .expect("in time");
        report.result.expect("stored");
        let stored = fs::read(service.directory.join(&name)).expect("stored");
        assert!(stored == fs::read(&file).expect("a file"), "round {round}");
        changes += u32::from(changed.load(Ordering::Relaxed));
        if changes == 3 {
            break;
        }
    }
    assert!(changes > 0, "never changed in time");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_never_stops_changing_is_an_error() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let file = scratch.file("a", 3 * MIB as usize);
    let path = file.clone();
    let (end, mut ended) = tokio::sync::oneshot::channel::<()>();
    let writer = std::thread::spawn(move || {
        let file = OpenOptions::new().write(true).open(&path).expect("a file");
        for n in 0u64.. {
            file.write_all_at(&n.to_be_bytes(), 0).expect("written");
            std::thread::sleep(Duration::from_millis(1));
            if ended.try_recv().is_ok() {
                break;
            }
        }
    });
    let report = report(slowly(service.options(&file))).await;
    assert!(
        matches!(report.result, Err(Error::Changed(_))),
        "{:?}",
        report.result
    );
    assert_eq!(report.outcome, Outcome::NotStored);
    assert!(visible(&service.directory).is_empty());
    end.send(()).expect("running");
    writer.join().expect("no panic");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identical_file_succeeds_again_and_another_one_is_refused() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let file = scratch.file("a", 5 * MIB as usize);
    upload(service.options(&file)).await.expect("stored");
    let again = report(service.options(&file)).await;
    again.result.expect("stored already");
    assert_eq!((again.sent_bytes, again.resumed_bytes), (0, 5 * MIB));
    let mut data = fs::read(&file).expect("a file");
    data[MIB as usize] ^= 1;
    fs::write(&file, data).expect("written");
    let other = report(service.options(&file)).await;
    let Err(Error::Refused(refusal)) = other.result else {
        panic!("not refused")
    };
    assert_eq!(
        (refusal.reason, other.outcome),
        (Reason::Exists, Outcome::NotStored)
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_survives_a_restart_of_the_server_by_itself() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let (address, directory) = (service.address, service.directory.clone());
    let file = scratch.file("a", 30 * MIB as usize);
    let path = Network::held(address, 16 * MIB).await;
    let mut options = slowly(service.options_to(&file, path.address));
    options.client.retry = Some(Retry {
        limit: Some(Span::from_secs(30)),
        from_start: false,
    });
    let (interrupted, noticed) = tokio::sync::oneshot::channel();
    let mut interrupted = Some(interrupted);
    let sending = tokio::spawn(async move {
        let watch = move |update| {
            if let Update::Interrupted { reason, .. } = update
                && let Some(interrupted) = interrupted.take()
            {
                interrupted.send(reason).ok();
            }
        };
        transfer(options, watch, std::future::pending()).await
    });
    arrived(&directory, 4 * MIB).await;
    service.stop().await;
    path.release();
    let reason = noticed.await.expect("interrupted");
    assert!(reason.contains("stopped"), "{reason}");
    let service = Service::listening(&scratch, address);
    let report = tokio::time::timeout(TEST_TIMEOUT, sending)
        .await
        .expect("in time");
    let report = report.expect("no panic");
    let summary = report.result.expect("stored");
    // All of it was sent by this command, whatever the server had of it at the second connection.
    let delivered = summary.goodput_bps * summary.seconds / 8.0;
    assert!(delivered > 29.0 * MIB as f64, "{delivered}");
    assert!(
        report.retries >= 1 && report.resumed_bytes > 3 * MIB,
        "{}",
        report.resumed_bytes
    );
    assert!(
        report.sent_bytes <= 30 * MIB + 16 * MIB,
        "{}",
        report.sent_bytes
    );
    assert!(fs::read(directory.join("a")).expect("stored") == fs::read(&file).expect("a file"));
    service.stop().await;
}

/// The first connection is dead but not closed: the server would wait for its idle timeout.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_command_takes_over_from_a_dead_one() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let file = scratch.file("a", 30 * MIB as usize);
    let path = Network::held(service.address, 16 * MIB).await;
    let options = slowly(service.options_to(&file, path.address));
    let dead = tokio::spawn(transfer(options, |_| (), std::future::pending()));
    arrived(&service.directory, 4 * MIB).await;
    path.cut.store(true, Ordering::Relaxed);
    let start = Instant::now();
    upload(service.options(&file)).await.expect("stored");
    // The dead one would be noticed after 30 s. A busy machine takes some for the file itself.
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    dead.abort();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn modes_and_times_are_kept_and_a_replaced_file_keeps_its_mode() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, limits(), true);
    let stored = service.directory.join("a");
    let file = scratch.file("a", 1000);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o740)).expect("the owner may");
    upload(service.options(&file)).await.expect("stored");
    let (there, here) = (fs::metadata(&stored), fs::metadata(&file).expect("a file"));
    let there = there.expect("stored");
    assert_eq!(
        there.mode() & 0o777 | 0o022,
        0o740 | 0o022,
        "but for the umask"
    );
    assert_eq!(
        (there.mtime(), there.mtime_nsec()),
        (here.mtime(), here.mtime_nsec())
    );
    fs::set_permissions(&stored, fs::Permissions::from_mode(0o600)).expect("the owner may");
    fs::write(&file, "new").expect("written");
    upload(service.options(&file)).await.expect("replaced");
    let there = fs::metadata(&stored).expect("stored");
    assert_eq!((there.mode() & 0o777, there.len()), (0o600, 3));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn holes_stay_holes() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let path = scratch.path().join("sparse");
    let file = fs::File::create(&path).expect("created");
    file.set_len(300 * MIB).expect("set");
    file.write_all_at(b"in the middle", 150 * MIB + 7)
        .expect("written");
    drop(file);
    let report = report(service.options(&path)).await;
    report.result.expect("stored");
    let stored = service.directory.join("sparse");
    assert!(fs::read(&stored).expect("stored") == fs::read(&path).expect("a file"));
    let taken = |path| fs::metadata(path).expect("a file").blocks() * 512;
    if taken(&path) < MIB {
        assert!(report.sent_bytes <= 2 * MIB, "{}", report.sent_bytes);
        assert!(taken(&stored) < 3 * MIB);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fifo_is_refused_and_not_waited_for() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let path = scratch.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo runs").success());
    let error = upload(service.options(&path))
        .await
        .expect_err("no file")
        .to_string();
    assert!(error.contains("not a regular file"), "{error}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_in_a_name_are_created_and_links_are_not_followed() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let outside = scratch.subdirectory("outside");
    std::os::unix::fs::symlink(&outside, service.directory.join("link")).expect("created");
    let file = scratch.file("a", 1000);
    let to = |name: &str| {
        let mut options = service.options(&file);
        options.name = Some(name.to_owned());
        options
    };
    upload(to("x/y/z")).await.expect("stored");
    assert!(service.directory.join("x/y/z").is_file());
    let error = upload(to("link/b")).await.expect_err("a link").to_string();
    assert!(error.contains("not a directory"), "{error}");
    assert!(file_names(&outside).is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_on_the_rate_holds() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let mut best = 0.0_f64;
    // A busy machine may be slower, now and then.
    for attempt in 0..10 {
        let file = scratch.file(&format!("a{attempt}"), 10 * MIB as usize);
        let mut options = service.options(&file);
        options.bandwidth = Some(Rate::from_bits_per_sec(40_000_000));
        let summary = upload(options).await.expect("stored");
        let rate = summary.goodput_bps / 40e6;
        assert!(rate <= 1.0, "{rate}");
        best = best.max(rate);
        if best >= 0.85 {
            break;
        }
    }
    assert!(best >= 0.85, "{best}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_beyond_the_places_waits_and_is_told() {
    let scratch = ScratchDirectory::new();
    let mut limits = limits();
    limits.connections = 1;
    let service = Service::with(&scratch, limits, false);
    let file = scratch.file("first", 20 * MIB as usize);
    let path = Network::held(service.address, 10 * MIB).await;
    let first = tokio::spawn(report(slowly(service.options_to(&file, path.address))));
    arrived(&service.directory, 1).await;
    let mut positions = Vec::new();
    let watch = |update| {
        if let Update::Queued(position) = update {
            positions.push(position);
            path.release();
        }
    };
    let second = service.options(&scratch.file("second", 1000));
    let sending = transfer(second, watch, std::future::pending());
    let second = tokio::time::timeout(TEST_TIMEOUT, sending)
        .await
        .expect("in time");
    second.result.expect("stored");
    assert_eq!(positions, [1]);
    first.await.expect("no panic").result.expect("stored");
    service.stop().await;
}

/// The receiver of the next attempt has most of the stream already, so what it writes does not
/// begin with the first byte. What the sender keeps must become free nevertheless.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_stream_goes_on_after_a_restart_of_the_server() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let (address, directory) = (service.address, service.directory.clone());
    let file = scratch.file("stream", 130 << 20);
    let mut options = service.options(&file);
    options.source = SendSource::stream(fs::File::open(&file).expect("a file"));
    options.name = Some("stream".to_owned());
    options.client.retry = Some(Retry {
        limit: Some(Span::from_secs(40)),
        from_start: false,
    });
    let (news, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let sending = tokio::spawn(async move {
        let watch = move |update| drop(news.send(update));
        transfer(options, watch, std::future::pending()).await
    });
    let passes = |update: &Update| matches!(update, Update::Progress(p) if p.bytes > 8 << 20);
    while !passes(&heard.recv().await.expect("it goes on")) {}
    service.stop().await;
    let service = Service::listening(&scratch, address);
    let report = tokio::time::timeout(TEST_TIMEOUT, sending).await;
    let report = report.expect("in time").expect("no panic");
    assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
    assert!(
        report.retries >= 1 && report.resumed_bytes > 0,
        "{report:?}"
    );
    assert!(fs::read(&file).ok() == fs::read(directory.join("stream")).ok());
    service.stop().await;
}
