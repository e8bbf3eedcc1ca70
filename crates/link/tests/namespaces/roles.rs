//! What the test program does when it is not the tester.

use nix::sys::socket::{
    setsockopt,
    sockopt::{BindToDevice, Ipv4Tos},
};
use std::env;
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use whimbrel_link::{
    FAR, Layout, LinkError, LossCause, NEAR, Observer, Options, PathSpec, Prepared, Program,
};
use whimbrel_net::{
    AqmSetting, Delay, DelayTrace, DropCause, LinkSpec, LossSpec, QueueLimit, Schedule,
    ServiceSpec, Side, WifiSpec,
};
use whimbrel_units::{Bytes, Probability, Rate, Time};

const PORT: u16 = 7000;
/// What the sink answers with its counts.
const REPORT: &[u8] = b"report";

/// Exit status of the emulator when this system does not allow it.
pub const NOT_ALLOWED: u8 = 77;

pub fn play(args: &[String]) -> ExitCode {
    let number = |i: usize| args.get(i).and_then(|a| a.parse::<u64>().ok()).unwrap_or(0);
    match args.first().map(String::as_str) {
        Some("emulate") => emulate(&args[1..]),
        Some("echo") => echo(),
        Some("sink") => sink(),
        Some("rtt") => rtt(number(1)),
        Some("swallow") => swallow(),
        Some("abandon") => abandon(),
        Some("blast") => blast(number(1), number(2), number(3)),
        other => panic!("unknown role {other:?}"),
    }
}

fn setting(name: &str) -> Option<f64> {
    env::var(name).ok()?.parse().ok()
}

/// `DELAY_ROW`: milliseconds, each of which holds for `DELAY_EVERY_MS`; with `OVERTAKE` packets may
/// overtake each other.
fn recorded() -> Option<Delay> {
    let row = env::var("DELAY_ROW").ok()?.replace(' ', "\n");
    let every = whimbrel_units::Duration::from_millis(setting("DELAY_EVERY_MS")? as u64);
    let delay = Delay::recorded(every, DelayTrace::parse(&row).expect("a trace"));
    let delay = delay.expect("a length");
    Some(delay.in_order(env::var("OVERTAKE").is_err()))
}

/// `DROPS_MS`: when one packet each is lost.
fn drops() -> Vec<Time> {
    let drops = env::var("DROPS_MS").unwrap_or_default();
    let ms = drops
        .split_whitespace()
        .map(|ms| ms.parse().expect("milliseconds"));
    ms.map(|ms| Time::ZERO + whimbrel_units::Duration::from_millis(ms))
        .collect()
}

/// Counts what the path reports of packets that went from near to far.
#[derive(Debug, Default)]
struct Counts {
    random: AtomicU64,
    overflow: AtomicU64,
    early: AtomicU64,
    corrupted: AtomicU64,
}

impl Observer for Counts {
    fn lost(&self, _at: Time, side: Side, packet: &[u8], cause: LossCause) {
        assert_eq!(side, Side::Forward, "loss applies to this direction only");
        // The packet is the one that was sent: IPv4, with the addresses of both ends.
        assert_eq!(packet[0], 0x45);
        assert_eq!(packet[12..20], [NEAR.octets(), FAR.octets()].concat());
        let count = match cause {
            LossCause::Dropped(DropCause::Random) => &self.random,
            LossCause::Dropped(DropCause::QueueOverflow) => &self.overflow,
            LossCause::Dropped(DropCause::Early) => &self.early,
            LossCause::Corrupted => &self.corrupted,
            other => panic!("{other:?}"),
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// The emulator, its path from the environment. Shows `key value` lines about the path on standard
/// error.
fn emulate(command: &[String]) -> ExitCode {
    let share = |name| Probability::new(setting(name).unwrap_or(0.0)).expect("a share");
    let ms = whimbrel_units::Duration::from_millis(setting("DELAY_MS").unwrap_or(0.0) as u64);
    let backward = LinkSpec {
        service: setting("RATE").map_or(ServiceSpec::Unlimited, |bps| {
            ServiceSpec::Rate(Schedule::constant(Rate::from_bits_per_sec(bps as u64)))
        }),
        delay: recorded().unwrap_or(Delay::constant(ms)),
        queue: setting("QUEUE").map_or(QueueLimit::Unlimited, |p| QueueLimit::Packets(p as u32)),
        ..LinkSpec::default()
    };
    let loss = LossSpec {
        random: share("LOSS"),
        corrupt: share("CORRUPT"),
        drops: drops(),
        ..LossSpec::default()
    };
    let aqm = env::var("AQM").map_or(AqmSetting::None, |text| text.parse().expect("a setting"));
    let packet = Bytes::new(whimbrel_link::MTU.into());
    let spec = PathSpec {
        hops: Vec::new(),
        forward: LinkSpec {
            loss,
            aqm: aqm
                .resolve(&backward.service, ms * 2, packet)
                .expect("it fits"),
            ..backward.clone()
        },
        backward,
        wifi: setting("WIFI").map(|bps| {
            let rate = Rate::from_bits_per_sec(bps as u64);
            WifiSpec::at(rate).expect("a rate of 802.11n")
        }),
        seed: 1,
    };
    // `SECOND_DELAY_MS`: the ends have a second interface, whose path differs in its delay.
    let second = setting("SECOND_DELAY_MS").map(|ms| {
        let mut second = spec.clone();
        let delay = Delay::constant(whimbrel_units::Duration::from_millis(ms as u64));
        (second.forward.delay, second.backward.delay) = (delay.clone(), delay);
        second
    });
    let specs: Vec<PathSpec> = [spec].into_iter().chain(second).collect();
    let counts = Arc::new(Counts::default());
    let options = Options {
        congestion: env::var("CONGESTION").ok(),
        layout: Layout::ends(specs.len()),
        ecn: env::var("ECN").is_ok(),
        observers: env::var_os("OBSERVE")
            .map(|_| Arc::clone(&counts) as _)
            .into_iter()
            .collect(),
        ..Options::default()
    }
    .with_far(env::var_os("FAR").map(Program::Shell));
    let command = Program::Command(command.iter().map(OsString::from).collect());
    let prepared = Prepared::new(&command, &options);
    // Once it is prepared the process may have other threads.
    let outcome = prepared.and_then(|prepared| {
        let other = std::thread::spawn(std::thread::park);
        let outcome = prepared.run_all(&specs);
        other.thread().unpark();
        other.join().expect("no panic");
        outcome
    });
    match outcome {
        Ok(report) => {
            let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
            println!("observed_random {}", of(&counts.random));
            println!("observed_overflow {}", of(&counts.overflow));
            println!("observed_early {}", of(&counts.early));
            println!("observed_corrupted {}", of(&counts.corrupted));
            eprintln!("{report:#?}");
            let forward = report.forward;
            let c = forward.counters;
            println!(
                "offered {}\ndelivered {}\nrandom {}",
                c.offered, c.delivered, c.random
            );
            println!("overflow {}\ncorrupted {}", c.queue_overflow, c.corrupted);
            println!("early {}\nmarked {}", c.early, c.marked);
            println!(
                "arrived {}\nlate_p50_us {}",
                forward.arrived,
                forward.lateness.p50.as_nanos() / 1000
            );
            println!("missed {}", forward.missed.map_or(-1, |m| m as i64));
            println!("back_offered {}", report.backward.counters.offered);
            println!("notes {}", report.notes.len());
            for (number, [forward, _]) in report.more.iter().enumerate() {
                println!("arrived_{} {}", number + 1, forward.arrived);
            }
            ExitCode::from(report.status)
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(match e {
                LinkError::Command { status, .. } => status,
                LinkError::NotAllowed { .. }
                | LinkError::NoTun
                | LinkError::TunNotAllowed { .. } => NOT_ALLOWED,
                _ => 125,
            })
        }
    }
}

fn far_socket() -> UdpSocket {
    UdpSocket::bind((FAR, PORT)).expect("a port at the far end")
}

fn near_socket() -> UdpSocket {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
    if let Some(device) = env::var_os("VIA") {
        setsockopt(&socket, BindToDevice, &device).expect("an interface");
    }
    if env::var("ECT").is_ok() {
        // ECT(0) of RFC 3168.
        setsockopt(&socket, Ipv4Tos, &0b10).expect("a setting");
    }
    socket
        .connect(SocketAddr::from((FAR, PORT)))
        .expect("an address");
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .expect("a timeout");
    socket
}

/// Sends every datagram back.
fn echo() -> ExitCode {
    let socket = far_socket();
    let mut buffer = [0; 2000];
    while let Ok((len, from)) = socket.recv_from(&mut buffer) {
        let _ = socket.send_to(&buffer[..len], from);
    }
    ExitCode::SUCCESS
}

/// Packets that arrived here marked "congestion experienced", as the kernel counts them once it
/// found their header's checksum right.
fn marked_here() -> u64 {
    let table = std::fs::read_to_string("/proc/self/net/netstat").expect("a table");
    let mut lines = table.lines().filter(|line| line.starts_with("IpExt:"));
    let (names, numbers) = (lines.next().expect("names"), lines.next().expect("numbers"));
    let mut both = names.split(' ').zip(numbers.split(' '));
    let found = both.find(|(name, _)| *name == "InCEPkts");
    found
        .and_then(|(_, number)| number.parse().ok())
        .expect("a number")
}

/// Counts datagrams, and says what it counted when asked: packets, payload bytes, microseconds from
/// first to last, marked ones, those that a later one had overtaken.
fn sink() -> ExitCode {
    let socket = far_socket();
    let mut buffer = [0; 2000];
    let (mut packets, mut bytes) = (0_u64, 0_u64);
    let (mut newest, mut overtaken) = (0_u32, 0_u64);
    let mut span = (Instant::now(), Instant::now());
    while let Ok((len, from)) = socket.recv_from(&mut buffer) {
        if &buffer[..len] == REPORT {
            let us = (span.1 - span.0).as_micros();
            let marked = marked_here();
            let said = format!("{packets} {bytes} {us} {marked} {overtaken}");
            let _ = socket.send_to(said.as_bytes(), from);
            continue;
        }
        let now = Instant::now();
        span = (if packets == 0 { now } else { span.0 }, now);
        packets += 1;
        bytes += len as u64;
        let number = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
        overtaken += u64::from(number < newest);
        newest = newest.max(number);
    }
    ExitCode::SUCCESS
}

/// Shows the least, the median and the greatest round-trip time of some datagrams to an echo, in
/// microseconds.
fn rtt(count: u64) -> ExitCode {
    let socket = near_socket();
    let mut times: Vec<u128> = (0..count)
        .map(|_| {
            let start = Instant::now();
            socket.send(b"ping").expect("sent");
            socket.recv(&mut [0; 10]).expect("an echo");
            start.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    println!(
        "rtt_min_us {}\nrtt_median_us {}\nrtt_max_us {}",
        times[0],
        times[times.len() / 2],
        times[times.len() - 1]
    );
    ExitCode::SUCCESS
}

/// Sends `count` numbered datagrams of 1472 bytes (1500 with headers) in bursts of `burst` every
/// `gap_us`; prints what the sink received.
fn blast(count: u64, burst: u64, gap_us: u64) -> ExitCode {
    let socket = near_socket();
    let start = Instant::now();
    for i in 0..count {
        if i % burst == 0 {
            let due = Duration::from_micros(i / burst * gap_us);
            sleep(due.saturating_sub(start.elapsed()));
        }
        let mut datagram = [1; 1472];
        datagram[..4].copy_from_slice(&(i as u32).to_be_bytes());
        let _ = socket.send(&datagram);
    }
    // What is in the queue arrives before the question does, if the question is not lost.
    for _ in 0..50 {
        let _ = socket.send(REPORT);
        let mut buffer = [0; 100];
        if let Ok(len) = socket.recv(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..len]).into_owned();
            let words: Vec<&str> = text.split(' ').collect();
            println!(
                "got {}\ngot_bytes {}\ngot_us {}\ngot_marked {}\novertaken {}",
                words[0], words[1], words[2], words[3], words[4]
            );
            return ExitCode::SUCCESS;
        }
    }
    println!("got 0\ngot_bytes 0\ngot_us 0\ngot_marked 0\novertaken 0");
    ExitCode::SUCCESS
}

/// Reads one TCP connection to its end.
fn swallow() -> ExitCode {
    let listener = TcpListener::bind((FAR, PORT)).expect("a port at the far end");
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut buffer = [0; 2000];
    while stream.read(&mut buffer).is_ok_and(|len| len > 0) {}
    ExitCode::SUCCESS
}

/// Fills the send buffer of a TCP connection and leaves without waiting.
fn abandon() -> ExitCode {
    let mut stream = TcpStream::connect((FAR, PORT)).expect("a connection");
    stream.set_nonblocking(true).expect("a setting");
    let full = loop {
        if let Err(e) = stream.write(&[1; 2000]) {
            break e;
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    ExitCode::SUCCESS
}
