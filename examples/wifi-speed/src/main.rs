//! The throughput of a Wi-Fi channel by rate and aggregation, and the computing time per packet:
//! `cargo run --release -p wifi-speed`.
//!
//! With arguments, one case as JSON, which `referee/wifi.py` compares with ns-3. `--rate=300000`
//! (kbit/s, required), `--ampdu=65535` (bytes, 0 for none), `--rts=0`, `--bothWays=0`, `--aifsn=3`,
//! `--packet=1500`, `--answer=0` (bytes of the other side's packets, if they are of another size),
//! `--loss=0` (of frames), `--duration=10` (s), `--seed=1`; `--train=20 --gap=0.2`: 20 packets at
//! one instant, every 0.2 s, instead of queues that are never empty.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;
use whimbrel_net::{Aggregation, Fate, LinkSpec, NoSuchRate, Side, Wifi, WifiSpec};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

const PACKET: u32 = 1500;

fn at_rest(spec: &WifiSpec, seed: u64) -> Wifi {
    let direction = LinkSpec::default();
    Wifi::new(spec, [&direction, &direction], seed)
}

/// Keeps packets of these sizes waiting on these sides for so long; gives real nanoseconds per
/// packet.
fn saturate(wifi: &mut Wifi, sides: &[(Side, u32)], duration: Duration) -> f64 {
    let until = Time::ZERO + duration;
    let mut left = Vec::new();
    let (mut now, mut packets) = (Time::ZERO, 0_u64);
    let start = Instant::now();
    while now < until {
        for (side, size) in sides {
            while wifi.backlog(*side).packets < 64 {
                wifi.offer(now, *side, *size);
            }
        }
        now = wifi.next().unwrap_or(until);
        wifi.advance(now, &mut left);
        packets += black_box(&left).len() as u64;
        left.clear();
    }
    start.elapsed().as_nanos() as f64 / packets as f64
}

fn goodput(wifi: &Wifi, side: Side, seconds: f64) -> f64 {
    wifi.counters(side).delivered_bytes.get() as f64 * 8.0 / seconds
}

/// Sends trains of packets; gives how many and the mean of what each says of the bandwidth: the
/// packets but the first, over the time from the first one's arrival to the last one's.
fn trains(wifi: &mut Wifi, packets: u32, size: u32, gap: Duration, count: u64) -> f64 {
    let mut sum = 0.0;
    let mut left = Vec::new();
    for i in 0..count {
        // Not always at the same place in a slot.
        let now = Time::ZERO + (gap + Duration::from_nanos(997)) * i;
        for _ in 0..packets {
            wifi.offer(now, Side::Forward, size);
        }
        left.clear();
        wifi.advance(now + gap, &mut left);
        let arrivals = left.iter().filter_map(|departure| match departure.fate {
            Fate::Delivered { at, .. } => Some(at),
            Fate::Dropped(_) => None,
        });
        if let (Some(first), Some(last)) = (arrivals.clone().min(), arrivals.max()) {
            let bits = 8.0 * f64::from(size) * f64::from(packets - 1);
            sum += bits / last.since(first).as_secs_f64();
        }
    }
    sum / count as f64
}

fn table() -> Result<(), NoSuchRate> {
    println!("rate, mode: Mbit/s alone (share of the rate; worked out), ns per packet; both");
    for kbit in [6_500, 30_000, 120_000, 300_000, 600_000] {
        let aggregating = WifiSpec::at(Rate::from_bits_per_sec(kbit * 1000))?;
        let single = WifiSpec {
            aggregation: None,
            ..aggregating.clone()
        };
        for (name, spec) in [("one by one", single), ("aggregated", aggregating)] {
            let run = |sides: &[(Side, u32)]| {
                let mut wifi = at_rest(&spec, 1);
                let ns = saturate(&mut wifi, sides, Duration::from_secs(20));
                (goodput(&wifi, Side::Forward, 20.0) / 1e6, ns)
            };
            let (alone, ns) = run(&[(Side::Forward, PACKET)]);
            let (half, both_ns) = run(&[(Side::Forward, PACKET), (Side::Reverse, PACKET)]);
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

fn one_case(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let number = |name: &str, otherwise: f64| -> Result<f64, Box<dyn Error>> {
        let begins = format!("--{name}=");
        let given = arguments.iter().find_map(|a| a.strip_prefix(&begins));
        Ok(given.map_or(Ok(otherwise), str::parse)?)
    };
    let ampdu = number("ampdu", 65_535.0)? as u32;
    let spec = WifiSpec {
        aggregation: (ampdu > 0).then_some(Aggregation {
            bytes: ampdu,
            ..Aggregation::MOST
        }),
        rts_cts: number("rts", 0.0)? > 0.0,
        aifsn: number("aifsn", 3.0)? as u8,
        frame_loss: Probability::new(number("loss", 0.0)?)?,
        ..WifiSpec::at(Rate::from_bits_per_sec(
            (number("rate", 0.0)? * 1000.0) as u64,
        ))?
    };
    let packet = number("packet", PACKET.into())? as u32;
    let answer = number("answer", 0.0)? as u32;
    let duration = number("duration", 10.0)?;
    let train = number("train", 0.0)? as u32;
    let mut wifi = at_rest(&spec, number("seed", 1.0)? as u64);
    if train > 0 {
        let gap = number("gap", 0.2)?;
        let count = (duration / gap) as u64;
        let bps = trains(
            &mut wifi,
            train,
            packet,
            Duration::from_secs_f64(gap),
            count,
        );
        println!("{{\"trains\":{count},\"train_bps\":{bps}}}");
        return Ok(());
    }
    let mut sides = vec![(Side::Forward, packet)];
    if number("bothWays", 0.0)? > 0.0 {
        sides.push((Side::Reverse, if answer > 0 { answer } else { packet }));
    }
    saturate(&mut wifi, &sides, Duration::from_secs_f64(duration));
    let stations = [Side::Forward, Side::Reverse].map(|side| {
        let (air, goodput) = (wifi.air(side), goodput(&wifi, side, duration));
        let (accesses, frames) = (air.accesses, air.frames);
        format!("{{\"goodput_bps\":{goodput},\"accesses\":{accesses},\"frames\":{frames}}}")
    });
    println!(
        "{{\"mode\":\"{}\",\"stations\":[{}]}}",
        spec.mode,
        stations.join(",")
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        table()?;
        Ok(())
    } else {
        one_case(&arguments)
    }
}
