//! Single scenes: one client, its server, and a network that fails, in virtual time.

use super::life::{PORT, SERVER};
use super::network::{self, HOST};
use super::{slow, system};
use crate::client::{
    ClientOptions, GetOptions, GetReport, Outcome, Retry, SendOptions, SendSource, ServerAddress,
    TreeOptions, Update, get, send_tree, transfer,
};
use crate::connection::over_tcp::TransportChoice;
use crate::credentials::identity::Identity;
use crate::defaults::default_controller;
use crate::path::RemotePath;
use crate::scratch_directory::ScratchDirectory;
use crate::server::users::{Rights, User, Users};
use crate::server::{ServeOptions, Server};
use crate::storage::{Lock, Storage, StorageOptions};
use std::cell::{Cell, RefCell};
use std::future::pending;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tokio::time::sleep;
use whimbrel_cc::fairness::Priority;
use whimbrel_net::{Delay, LinkSpec, QueueLimit, Schedule, ServiceSpec};
use whimbrel_units::{Bytes, Duration as Span, Rate};

/// The host of the client.
const CLIENT: network::Host = 1;

/// A server that replaces files, and a client with a link of 10 Mbit/s to it.
struct Scene {
    scratch: ScratchDirectory,
    identity: Identity,
}

impl Scene {
    /// Plays a scene in a thread and a runtime of its own. The client has a quota or none.
    fn play(quota: Option<u64>, scene: impl AsyncFnOnce(Self) + Send) {
        let play = || {
            system::begin(0);
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().start_paused(true).build();
            runtime.expect("a runtime").block_on(async {
                let link = LinkSpec {
                    service: ServiceSpec::Rate(Schedule::constant(Rate::from_bits_per_sec(
                        10_000_000,
                    ))),
                    delay: Delay::constant(Duration::from_millis(20).into()),
                    queue: QueueLimit::Bytes(Bytes::new(200_000)),
                    ..LinkSpec::default()
                };
                network::begin(0, 2, link);
                slow::begin(0);
                let scratch = ScratchDirectory::in_memory();
                let identity = Identity::load_or_create(&scratch.path().join("identity"));
                let identity = identity.expect("an identity");
                let this = Self { scratch, identity };
                let listen = SocketAddr::new(network::address_of(SERVER), PORT);
                let rights = Rights {
                    read: true,
                    write: true,
                    remove: false,
                };
                let user = User {
                    quota,
                    ..User::owner(this.identity.token(), rights, Priority::HIGHEST)
                };
                let options = ServeOptions {
                    overwrite: true,
                    tcp: false,
                    users: Some(Users::new([user])),
                    ..ServeOptions::new(this.scratch.subdirectory("stored"), listen)
                };
                let bind = || Server::bind(options, &this.identity);
                let server = HOST.sync_scope(SERVER, bind).expect("a server");
                let serving = async move { server.run(|_| (), pending()).await };
                let serving = tokio::spawn(HOST.scope(SERVER, serving));
                HOST.scope(CLIENT, scene(this)).await;
                serving.abort();
            });
        };
        let played = std::thread::scope(|scope| scope.spawn(play).join());
        played.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }

    /// How the client reaches the server; it tries again for so long after each failure.
    fn client(&self, retry: Option<Span>) -> ClientOptions {
        let server = ServerAddress {
            host: network::address_of(SERVER).to_string(),
            port: PORT,
        };
        let token = self.identity.token().clone();
        ClientOptions {
            fingerprint: Some(self.identity.fingerprint()),
            transport: TransportChoice::Quic,
            idle: Span::from_secs(5),
            retry: retry.map(|limit| Retry {
                limit: Some(limit),
                from_start: true,
            }),
            ..ClientOptions::new(server, token, default_controller())
        }
    }

    /// The client sends a file.
    fn send(&self, file: &Path, retry: Option<Span>) -> SendOptions {
        SendOptions::new(self.client(retry), SendSource::File(file.to_owned()))
    }
}

/// Waits until so many bytes have arrived.
async fn arrived(arrived: &Cell<u64>, bytes: u64) {
    while arrived.get() < bytes {
        sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn many_outages_with_progress_between_them_end_no_transfer() {
    Scene::play(None, async |scene: Scene| {
        const SIZE: u64 = 6_000_000;
        let file = scene.scratch.file("a", SIZE as usize);
        let bytes = Cell::new(0);
        let waits = RefCell::new(Vec::new());
        let on_update = |update| match update {
            Update::Progress(progress) => bytes.set(bytes.get().max(progress.bytes)),
            Update::Interrupted { wait, .. } => waits.borrow_mut().push((bytes.get(), wait)),
            _ => {}
        };
        let outages = async {
            for n in 1..=4 {
                arrived(&bytes, n * 1_200_000).await;
                network::set_dark(SERVER, true);
                sleep(Duration::from_secs(40)).await;
                network::set_dark(SERVER, false);
            }
        };
        // Less than all outages together.
        let options = scene.send(&file, Some(Span::from_secs(80)));
        let sending = transfer(options, on_update, pending());
        let (report, ()) = tokio::join!(sending, outages);
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.result);
        assert!(report.resumed_bytes < SIZE, "{}", report.resumed_bytes);
        assert!(report.sent_bytes < 2 * SIZE, "{}", report.sent_bytes);
        // The first attempt after each outage is made soon.
        let mut before = 0;
        for (at, wait) in waits.into_inner() {
            if at > before + 500_000 {
                assert!(wait < Span::from_secs(1), "{wait} after {at} bytes");
            }
            before = at;
        }
        assert!(before > 4_000_000, "{before}");
    });
}

/// A file that was compared and found different is not stored before it is sent.
#[test]
fn a_file_that_differed_and_was_not_sent_is_said_not_to_be_stored() {
    Scene::play(None, async |scene: Scene| {
        let file = scene.scratch.file("a", 8_000_000);
        let other = scene.scratch.file("stored/a", 8_000_000);
        // As long, as old, and not the same.
        for path in [&file, &other] {
            let opened = std::fs::File::options().write(true).open(path);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            opened.expect("opened").set_modified(time).expect("set");
        }
        let bytes = Cell::new(0);
        let on_update = |update| {
            if let Update::Progress(progress) = update {
                bytes.set(progress.bytes);
            }
        };
        let outage = async {
            arrived(&bytes, 1_000_000).await;
            network::set_dark(SERVER, true);
        };
        // So that the end has not been announced when the connection is given up.
        let options = SendOptions {
            bandwidth: Some(Rate::from_bits_per_sec(4_000_000)),
            ..scene.send(&file, None)
        };
        let sending = transfer(options, on_update, pending());
        let (report, ()) = tokio::join!(sending, outage);
        assert!(report.result.is_err());
        assert_eq!(report.outcome, Outcome::NotStored);
    });
}

/// A thread of a transfer that has just ended may still use its file.
#[test]
fn the_file_of_a_transfer_that_has_just_ended_is_waited_for() {
    Scene::play(None, async |scene: Scene| {
        let stored = scene.scratch.path().join("stored");
        let storage = Storage::open(&stored, StorageOptions::default()).expect("opened");
        let name = RemotePath::new("a").expect("a path");
        for (held, stored) in [(2, true), (20, false)] {
            let file = scene.scratch.file("a", 1000 * held as usize);
            let Ok(Lock::Ours(used)) = storage.partial(User::OWNER, &name) else {
                panic!("it is free")
            };
            let release = async {
                sleep(Duration::from_secs(held)).await;
                drop(used);
            };
            let sending = transfer(scene.send(&file, None), |_| (), pending());
            let (report, ()) = tokio::join!(sending, release);
            assert_eq!(report.result.is_ok(), stored, "{:?}", report.result);
        }
    });
}

/// The old files make room for the new ones, one after the other.
#[test]
fn a_tree_that_replaces_another_needs_no_room_for_both() {
    Scene::play(Some(5_000_000), async |scene: Scene| {
        let tree = scene.scratch.subdirectory("tree");
        for round in 1..=3 {
            for n in 0..12 {
                let content = vec![round * 16 + n; 250_000];
                std::fs::write(tree.join(n.to_string()), content).expect("written");
            }
            let options = TreeOptions::new(scene.client(None), vec![tree.join("")]);
            let report = send_tree(options, |_| (), pending()).await;
            assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
            assert_eq!(report.sent_files, 12);
        }
    });
}

/// Gets all that the server has, while the network fails `outages` times.
async fn got(scene: &Scene, names: &[&str], rate: Option<Rate>, outages: u64) -> GetReport {
    let path = |name: &&str| Some(RemotePath::new(name).expect("a path"));
    let options = GetOptions {
        bandwidth: rate,
        ..GetOptions::new(
            scene.client(Some(Span::from_secs(80))),
            names.iter().map(path).collect(),
            scene.scratch.subdirectory("got"),
        )
    };
    let bytes = Cell::new(0);
    let on_update = |update| {
        if let Update::Progress(progress) = update {
            bytes.set(bytes.get().max(progress.bytes));
            assert!(progress.files <= progress.all_files, "{progress:?}");
        }
    };
    let outages = async {
        for n in 1..=outages {
            arrived(&bytes, n * 1_000_000).await;
            network::set_dark(SERVER, true);
            sleep(Duration::from_secs(20)).await;
            network::set_dark(SERVER, false);
        }
    };
    let (report, ()) = tokio::join!(get(options, on_update, pending()), outages);
    report
}

#[test]
fn what_was_got_before_an_outage_is_not_got_again() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.file("stored/small", 300_000);
        scene.scratch.file("stored/large", 4_000_000);
        let report = got(&scene, &["small", "large"], None, 3).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert!(report.retries >= 3, "{}", report.retries);
        assert!(report.received_bytes < 6_000_000, "{report:?}");
        for name in ["small", "large"] {
            let content = |directory: &str| {
                let path = scene.scratch.path().join(directory).join(name);
                std::fs::read(path).expect("there")
            };
            assert!(content("got") == content("stored"), "{name}");
        }
    });
}

#[test]
fn a_file_is_got_no_faster_than_wanted() {
    Scene::play(None, async |scene: Scene| {
        scene.scratch.file("stored/a", 4_000_000);
        let rate = Some(Rate::from_bits_per_sec(4_000_000));
        let report = got(&scene, &["a"], rate, 0).await;
        assert_eq!(report.outcome, Outcome::Stored, "{:?}", report.error);
        assert!((7.0..12.0).contains(&report.seconds), "{}", report.seconds);
    });
}
