//! What a Wi-Fi station alone carries, by rate and aggregation, and how long a packet takes to work out:
//! `cargo run --release -p whimbrel-net --example wifi_speed`.

use std::hint::black_box;
use std::time::Instant;
use whimbrel_net::{
    LinkSpec, LossSpec, NoSuchRate, QueueLimit, Schedule, ServiceSpec, Side, Wifi, WifiSpec,
};
use whimbrel_units::{Bytes, Duration, Rate, Time};

const PACKET: u32 = 1500;

/// Keeps packets waiting on these sides for so many virtual seconds; gives megabits per second of the first side and
/// real nanoseconds per packet.
fn saturate(spec: &WifiSpec, sides: &[Side], seconds: u64) -> (f64, f64) {
    let direction = LinkSpec {
        service: ServiceSpec::Unlimited,
        delay: Schedule::constant(Duration::ZERO),
        queue: QueueLimit::Unlimited,
        loss: LossSpec::default(),
    };
    let mut wifi = Wifi::new(spec, [&direction, &direction], 1);
    let until = Time::ZERO + Duration::from_secs(seconds);
    let mut left = Vec::new();
    let (mut now, mut packets) = (Time::ZERO, 0_u64);
    let start = Instant::now();
    while now < until {
        for side in sides {
            while wifi.backlog(*side).packets < 64 {
                wifi.offer(now, *side, PACKET);
            }
        }
        now = wifi.next().unwrap_or(until);
        wifi.advance(now, &mut left);
        packets += black_box(&left).len() as u64;
        left.clear();
    }
    let ns = start.elapsed().as_nanos() as f64 / packets as f64;
    let bytes = wifi.counters(sides[0]).delivered_bytes.get();
    (bytes as f64 * 8.0 / seconds as f64 / 1e6, ns)
}

fn main() -> Result<(), NoSuchRate> {
    println!("rate, mode: Mbit/s alone (share of the rate; worked out), ns per packet; both");
    for kbit in [6_500, 30_000, 120_000, 300_000, 600_000] {
        let aggregating = WifiSpec::at(Rate::from_bits_per_sec(kbit * 1000))?;
        let single = WifiSpec {
            aggregation: None,
            ..aggregating.clone()
        };
        for (name, spec) in [("one by one", single), ("aggregated", aggregating)] {
            let (alone, ns) = saturate(&spec, &[Side::Forward], 20);
            let (half, both_ns) = saturate(&spec, &[Side::Forward, Side::Reverse], 20);
            let expected = spec.saturation(Bytes::new(PACKET.into()));
            println!(
                "{}, {name}: {alone:.2} ({:.1} %; {expected}), {ns:.0} ns; {half:.2} each, {both_ns:.0} ns",
                spec.mode,
                alone / kbit as f64 * 1e5
            );
        }
    }
    Ok(())
}
