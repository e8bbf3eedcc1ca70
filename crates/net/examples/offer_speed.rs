//! How long `Link::offer` takes, for the common kinds of link: `cargo run --release -p whimbrel-net
//! --example offer_speed`.

use std::hint::black_box;
use std::time::Instant;
use whimbrel_net::{Delay, Link, LinkSpec, LossSpec, QueueLimit, Schedule, ServiceSpec};
use whimbrel_units::{Duration, Probability, Rate, Time};

fn main() {
    let rate = Schedule::constant(Rate::from_bits_per_sec(1_000_000_000));
    let one_percent = Probability::new(0.01).unwrap_or_default();
    let plain = LinkSpec {
        service: ServiceSpec::Rate(rate),
        delay: Delay::constant(Duration::from_millis(50)),
        queue: QueueLimit::Packets(1000),
        ..LinkSpec::default()
    };
    let loss = LossSpec {
        random: one_percent,
        ..LossSpec::default()
    };
    let lossy = LinkSpec {
        loss,
        ..plain.clone()
    };
    let both = LossSpec {
        random: one_percent,
        corrupt: one_percent,
        ..LossSpec::default()
    };
    let corrupting = LinkSpec {
        loss: both,
        ..plain.clone()
    };
    for (name, spec) in [
        ("rate", plain),
        ("rate, loss", lossy),
        ("rate, loss, corruption", corrupting),
    ] {
        let mut link = Link::new(&spec, 1);
        let packets = 50_000_000_u64;
        let start = Instant::now();
        for i in 0..packets {
            // A little faster than the link: its queue is full now and then.
            black_box(link.offer(Time::from_nanos(i * 11_990), 1500, true));
        }
        let ns = start.elapsed().as_nanos() as f64 / packets as f64;
        println!("{name}: {ns:.1} ns per packet");
    }
}
