//! The algorithm `whimbrel` over whole connections in virtual time: what QUIC's acknowledgments do
//! that those of the simulator's TCP do not.

use crate::Monitor;
use crate::endpoint::testing::{Network, Path, add_endless, settings};
use whimbrel_net::{Delay, JitterDistribution, Noise, Schedule, ServiceSpec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A path of `rate` to the receiver, with room for so many packets, and a fast one back.
fn path(rate: u64, delay: u64, packets: u64) -> Path {
    let rate = Rate::from_bits_per_sec(rate);
    let mut path = Path::symmetric(rate, ms(delay), Bytes::new(packets * 1480));
    let fast = Rate::from_bits_per_sec(1_000_000_000);
    path.back.service = ServiceSpec::Rate(Schedule::constant(fast));
    path
}

/// Flow control windows of these paths, bytes.
const WINDOW: u32 = 64 << 20;

fn add(network: &mut Network, spec: &str, seed: u64) -> Monitor {
    add_endless(network, spec, seed, &settings(WINDOW))
}

fn megabits(monitor: &Monitor) -> f64 {
    monitor.snapshot().state.delivered.get() as f64 * 8e-6
}

/// Lets acknowledgments come in batches, so long apart.
fn batch(path: &mut Path, each: Duration) {
    batch_after(path, ms(20), each);
}

/// The same after this delay.
fn batch_after(path: &mut Path, base: Duration, each: Duration) {
    path.back.delay = Delay::noisy(Noise {
        base,
        jitter: Duration::ZERO,
        distribution: JitterDistribution::Uniform,
        every: ms(1),
        batch: each,
    });
}

/// Acknowledgments come each 40 ms. Only the receiver's times tell their wait from a queue, and
/// each report must be of the packet that QUIC acknowledges. Whatever the time at which the
/// connection begins, the handshake's RTT included, the first seconds are not lost.
#[test]
fn batches_of_acknowledgments_do_not_look_like_a_queue() {
    let mut path = path(50_000_000, 20, 170);
    path.forth.loss.random = "0.5 %".parse().expect("a probability");
    batch(&mut path, ms(40));
    for begin in (0..40).step_by(5) {
        let mut network = Network::new(&path, 2);
        network.run_until(Time::ZERO + ms(begin));
        let monitor = add(&mut network, "whimbrel", 2);
        network.run_until(Time::ZERO + ms(begin + 4000));
        let rate = megabits(&monitor) / 4.0;
        assert!(rate > 30.0, "begun after {begin} ms: {rate} Mbit/s");
    }
}

/// The same on a path so fast that only a sample of the packets is marked. Without times of arrival
/// 5 Mbit/s remain.
#[test]
fn times_of_a_sample_are_enough_on_a_fast_path() {
    let mut path = path(300_000_000, 10, 800);
    batch(&mut path, ms(30));
    let mut network = Network::new(&path, 3);
    let monitor = add(&mut network, "whimbrel", 3);
    network.run_until(Time::ZERO + ms(3000));
    let rate = megabits(&monitor) / 3.0;
    assert!(rate > 180.0, "{rate} Mbit/s");
}

/// A packet takes 24 ms of this link, so the receiver acknowledges each one by its timer, alone and
/// beside CUBIC.
#[test]
fn on_a_slow_path_the_receivers_timer_is_no_queue() {
    let mut network = Network::new(&path(500_000, 25, 3), 1);
    let monitor = add(&mut network, "whimbrel", 1);
    network.run_until(Time::ZERO + ms(20_000));
    let alone = megabits(&monitor) / 20.0;
    assert!(alone > 0.47, "{alone} Mbit/s");
    let other = add(&mut network, "cubic", 1);
    let before = megabits(&monitor);
    let begun = network.now();
    network.run_until(begun + ms(90_000));
    let rates = [megabits(&monitor) - before, megabits(&other)].map(|sent| sent / 90.0);
    assert!(rates[0] > 0.12 && rates[1] > 0.12, "{rates:?} Mbit/s");
}

/// The receiver sends little, so its window is small, and over this round trip noq would pace its
/// reports at less than there are. Without them startup sees no queue, floods it, and loses a third
/// of the packets. The last run begins at such a time of the day that a drain follows startup at
/// once: what startup has found is not forgotten.
#[test]
fn on_a_long_path_reports_of_arrival_are_not_paced() {
    let mut path = path(20_000_000, 300, 1013);
    path.forth.loss.random = "1 %".parse().expect("a probability");
    for (seed, utc, least) in [(1, 0, 8.5), (2, 0, 8.5), (3, 0, 8.5), (1, 13_350, 7.5)] {
        let mut network = Network::at(ms(utc), &path, seed);
        let monitor = add(&mut network, "whimbrel", seed);
        network.run_until(Time::ZERO + ms(12_000));
        let rate = megabits(&monitor) / 12.0;
        let snapshot = monitor.snapshot().state;
        let lost = snapshot.lost.get() as f64 / snapshot.delivered.get() as f64;
        assert!(rate > least, "seed {seed}, {utc} ms: {rate} Mbit/s");
        assert!(lost < 0.03, "seed {seed}, {utc} ms: {lost}");
    }
}

/// On a fast path packets leave in batches, as those of TCP do, and the algorithm fills it all the
/// same, also where the queue has room for a few batches only. Acknowledgments come by the
/// millisecond, as those of packets that a receiver's kernel has merged.
#[test]
fn on_a_fast_path_packets_leave_in_batches() {
    for packets in [800, 200] {
        let mut path = path(1_000_000_000, 5, packets);
        batch_after(&mut path, ms(5), ms(1));
        let mut network = Network::new(&path, 1);
        let monitor = add(&mut network, "whimbrel", 1);
        network.run_until(Time::ZERO + ms(1000));
        let (begun, before) = (network.forth(), megabits(&monitor));
        network.run_until(Time::ZERO + ms(2000));
        let (sent, calls) = (network.forth().sent, network.forth().calls);
        let batch = (sent - begun.sent) as f64 / (calls - begun.calls) as f64;
        let rate = megabits(&monitor) - before;
        assert!(batch > 12.0, "{batch} packets a call");
        assert!(
            rate > 850.0,
            "{rate} Mbit/s with room for {packets} packets"
        );
    }
}
