//! What a probe says of its path: rate, base RTT, random loss and buffer, each with an interval.

use crate::BadInput;
use crate::path::Bottleneck;
use serde_json::{Value, json};
use whimbrel_net::Queue;
use whimbrel_sim::scenario::Written;
use whimbrel_sim::scenario::document::Value as Source;
use whimbrel_transfer::{PROBE_SAMPLING, ProbeReport, ProbeSample, ProbeStage};
use whimbrel_units::{Duration, Probability, Rate};

/// Standard errors to either side of a mean: 95 % of a normal distribution.
const Z: f64 = 1.96;
/// Bytes of IPv4 and UDP headers.
const HEADERS: f64 = 28.0;
/// Windows of the full rate, and round trips with an empty queue, without which nothing is said.
const LEAST: (usize, f64) = (4, 4.0);
/// A queue up to this part of the longest one is short.
const SHORT: f64 = 0.5;
/// Less than this queue is noise of the end systems, seconds.
const NOISE: f64 = 0.002;
/// With a full buffer this many times more packets are lost than with a short queue.
const FULL: f64 = 3.0;
/// Queues above this part of the longest one stood at the end of the buffer.
const TOP: f64 = 0.9;
/// The quantile of the RTT below the rate of the path that is the base RTT: half of the packets may
/// wait for one before them, or for a processor.
const BASE: f64 = 0.1;
/// A tenth of the windows each is slower and faster than this, and the rate varies if the faster is
/// so many times the slower, or if the longest queue was so many times slower than the mean rate.
const TENTHS: (f64, f64) = (0.1, 0.9);
const VARIES: f64 = 2.0;
/// The machine was busy if one sample of twenty came later than this many seconds, and than this
/// part of the RTT.
const LATE: (f64, f64) = (0.005, 0.05);

/// A quantity, and the interval in which it is with a probability of about 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// The interval.
    pub interval: (f64, f64),
}

impl Estimate {
    fn json(&self) -> Value {
        json!([self.interval.0, self.interval.1])
    }
}

/// What was measured of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathMeasurement {
    /// The server.
    pub host: String,
    /// Of the bottleneck, headers included, bit/s.
    pub rate: Estimate,
    /// The rates below and above which a tenth of the windows was, bit/s.
    pub tenths: (f64, f64),
    /// Whether the rate varied: by these, or because the longest queue took several times as long
    /// as its packets take at the mean rate.
    pub varies: bool,
    /// The base RTT without the time in which the bottleneck sends one packet, seconds.
    pub rtt: Estimate,
    /// Packets lost with a short queue, of those sent.
    pub loss: Estimate,
    /// The longest queue, in products of rate and base RTT; if the rate varied, by its packets.
    pub queue_bdp: Estimate,
    /// Whether that was the whole buffer, by the packets lost then.
    pub is_full: bool,
    /// One sample of twenty came later than this, seconds: how long this machine let the probe wait
    /// for a processor.
    pub late: f64,
    /// How long the probe took.
    pub seconds: f64,
    /// What it sent.
    pub bytes: u64,
}

impl PathMeasurement {
    /// What a probe of the path to this host says.
    ///
    /// # Errors
    /// If the probe ended before it was sure; the reason names what would help.
    pub fn of(host: &str, report: &ProbeReport) -> Result<Self, BadInput> {
        let rtt = report.min_rtt;
        let seconds = report.samples.last().map_or(0.0, |last| last.at);
        let too_short = |why: String| {
            BadInput::new(format!(
                "{why} after {seconds:.1} s and {:.1} MB, so there is no advice; probe for longer, \
                 or with more data",
                report.bytes as f64 * 1e-6
            ))
        };
        let rates = report.full_rates();
        let found = report.of(ProbeStage::Full).next().is_some();
        if rtt <= 0.0 || !found || rates.len() < LEAST.0 {
            let rounds = if rtt > 0.0 { seconds / rtt } else { 0.0 };
            let stage = match found {
                false => "the rate was still rising",
                true => "the rate was measured in too few windows",
            };
            return Err(too_short(format!("{stage} ({rounds:.1} round trips)")));
        }
        // From the moment when nothing was in flight until nothing is in flight again.
        let drained = report.of(ProbeStage::Drain).last();
        let after = report
            .samples
            .iter()
            .filter(|sample| matches!(sample.stage, ProbeStage::Calm | ProbeStage::End));
        let calm: Vec<&ProbeSample> = drained.into_iter().chain(after).collect();
        let sending = report.of(ProbeStage::Calm);
        let sending: Vec<f64> = sending.map(|sample| sample.at).collect();
        let lasted = match (sending.first(), sending.last()) {
            (Some(first), Some(last)) => last - first,
            _ => 0.0,
        };
        if lasted < LEAST.1 * rtt {
            let rounds = lasted / rtt;
            let why = format!("the loss was measured for {rounds:.1} round trips only");
            return Err(too_short(why));
        }
        let all: Vec<&ProbeSample> = report.samples.iter().filter(|s| s.rtt > 0.0).collect();
        let longest = all.iter().map(|s| s.rtt).fold(0.0, f64::max) - rtt;
        let queues = Queues::of(report, longest);
        // Samples at the end of the buffer: what the longest of them has above the others is noise.
        let top = all
            .iter()
            .filter(|sample| sample.rtt - rtt >= TOP * longest);
        let packets = median(top.clone().map(|sample| queues.in_packets(sample)));
        let top = median(top.map(|sample| sample.rtt - rtt));
        // How many times as long as at the mean rate these packets took.
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let usual = packets * f64::from(report.mtu) * 8.0 / mean;
        let slowed = top / usual.max(NOISE);
        let slow = if slowed > VARIES { slowed } else { 1.0 };
        let tenth = |part| quantile(rates.iter().copied(), part);
        let varies = slow > 1.0 || tenth(TENTHS.1) > VARIES * tenth(TENTHS.0);
        let queues = if varies {
            queues.by_packets(report)
        } else {
            queues
        };
        let random = Lost::split(&calm, &queues).0.estimate();
        let overflow = Lost::split(&all, &queues).1;
        let is_full =
            longest > NOISE && overflow.sent > 0 && overflow.part() > FULL * random.value.max(1e-4);
        let carried = carried(report.mtu, random.value);
        let rate = mean_rate(&rates, carried);
        let base = quantile(report.of(ProbeStage::Calm).map(|sample| sample.rtt), BASE);
        let serialization = (f64::from(report.mtu) + HEADERS) * 8.0 / rate.value;
        Ok(Self {
            host: host.to_owned(),
            rate,
            tenths: (tenth(TENTHS.0) * carried, tenth(TENTHS.1) * carried),
            varies,
            rtt: Estimate {
                // The fastest packet may have been a short one.
                value: (base - serialization).clamp((rtt - serialization).max(0.0), rtt),
                interval: ((rtt - serialization).max(0.0), base.max(rtt)),
            },
            loss: random,
            queue_bdp: Estimate {
                value: top / slow / rtt,
                interval: match is_full {
                    true => (TOP * longest / slow / rtt, longest / slow / rtt),
                    false => (top / slow / rtt, f64::INFINITY),
                },
            },
            is_full,
            late: late(&report.samples),
            seconds,
            bytes: report.bytes,
        })
    }

    /// The buffer. The longest queue may be shorter than the buffer, but no path has none.
    fn queue(&self) -> Queue {
        let least = if self.is_full { 0.05 } else { 0.25 };
        // In hundredths: more digits are noise.
        Queue::Bdp((self.queue_bdp.value.max(least) * 100.0).round() / 100.0)
    }

    /// Sets what is not known of a path.
    pub fn complete(&self, path: &mut Bottleneck) {
        fn set<T: Clone + Into<Source>>(values: &mut Vec<Written<T>>, measured: T) {
            if values.is_empty() {
                values.push(Written::of("HOST", measured));
            }
        }
        set(
            &mut path.rate,
            Rate::from_bits_per_sec(self.rate.value as u64),
        );
        set(&mut path.rtt, Duration::from_secs_f64(self.rtt.value));
        set(&mut path.queue, self.queue());
        // In hundredths of a percent: more digits are noise. Loss that may be none is none.
        let certain = self.loss.interval.0 > 0.0;
        let loss = (self.loss.value * 1e4).round() / 1e4;
        let loss = Probability::new(loss).unwrap_or_default();
        set(
            &mut path.loss,
            if certain { loss } else { Probability::ZERO },
        );
    }

    /// The path in a sentence.
    pub fn sentence(&self) -> String {
        let Self {
            rate,
            rtt,
            loss,
            queue_bdp: queue,
            ..
        } = self;
        // Of loopback the RTT is some microseconds, and the buffer hundreds of its products.
        let digits = if rtt.value < 1e-3 { 3 } else { 1 };
        let ms = |seconds: f64| format!("{:.digits$}", seconds * 1e3);
        let percent = |part: f64| format!("{:.2}", part * 100.0);
        let queue_digits = if queue.value < 10.0 { 2 } else { 0 };
        let bdp = |queue: f64| format!("{queue:.queue_digits$}");
        let buffer = match self.is_full {
            true => format!(
                "a buffer of {} BDP ({} to {})",
                bdp(queue.value),
                bdp(queue.interval.0),
                bdp(queue.interval.1)
            ),
            false => format!("a buffer of at least {} BDP", bdp(queue.value)),
        };
        format!(
            "The path to {}: {:.1} Mbit/s ({:.1} to {:.1}), base RTT {} ms ({} to {}), {} % random \
             loss ({} to {}), {buffer} (measured in {:.1} s with {:.1} MB).",
            self.host,
            rate.value * 1e-6,
            rate.interval.0 * 1e-6,
            rate.interval.1 * 1e-6,
            ms(rtt.value),
            ms(rtt.interval.0),
            ms(rtt.interval.1),
            percent(loss.value),
            percent(loss.interval.0),
            percent(loss.interval.1),
            self.seconds,
            self.bytes as f64 * 1e-6,
        )
    }

    /// What speaks against the advice: the measurement may have of this machine what it should have
    /// of the path, if the machine was busy; and the rate of the path varied.
    pub fn warnings(&self) -> Vec<String> {
        let (seconds, part) = LATE;
        let is_busy = self.late > f64::max(seconds, part * self.rtt.value);
        let busy = is_busy.then(|| {
            format!(
                "This machine was busy: one sample of twenty came {:.0} ms late or later, so rate \
                 and delays may be its own. Measure again when it has less to do.",
                self.late * 1e3
            )
        });
        let (slow, fast) = self.tenths;
        let varies = self.varies.then(|| {
            format!(
                "The rate varied: {:.1} Mbit/s or less in a tenth of the time, {:.1} or more in \
                 another. The advice is for a constant rate; there is also advice for a recorded one.",
                slow * 1e-6,
                fast * 1e-6
            )
        });
        busy.into_iter().chain(varies).collect()
    }

    /// The path in base units. An open end of an interval is null.
    pub fn as_json(&self) -> Value {
        let ms = |estimate: &Estimate| Estimate {
            value: estimate.value * 1e3,
            interval: (estimate.interval.0 * 1e3, estimate.interval.1 * 1e3),
        };
        let rtt = ms(&self.rtt);
        json!({
            "host": self.host,
            "rate_bps": self.rate.value.round() as u64,
            "rate_interval_bps": self.rate.json(),
            "rate_tenths_bps": [self.tenths.0, self.tenths.1],
            "rtt_ms": rtt.value,
            "rtt_interval_ms": rtt.json(),
            "loss": self.loss.value,
            "loss_interval": self.loss.json(),
            "queue_bdp": self.queue_bdp.value,
            "queue_interval_bdp": self.queue_bdp.json(),
            "queue_is_full": self.is_full,
            "late_ms": self.late * 1e3,
            "seconds": self.seconds,
            "bytes": self.bytes,
        })
    }
}

/// What the bottleneck carried, of what arrived: also what was lost behind it, and the headers.
fn carried(mtu: u16, loss: f64) -> f64 {
    let mtu = f64::from(mtu.max(1200));
    (mtu + HEADERS) / mtu / (1.0 - loss.min(0.9))
}

/// The rate of the bottleneck: the mean of these, of data that arrived, times what it `carried` of
/// them.
fn mean_rate(rates: &[f64], carried: f64) -> Estimate {
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let error = Z * (squares / (n - 1.0) / n).sqrt();
    Estimate {
        value: mean * carried,
        interval: ((mean - error).max(0.0) * carried, (mean + error) * carried),
    }
}

/// How late one sample of twenty came, or later: the next one is due an interval after it.
fn late(samples: &[ProbeSample]) -> f64 {
    let gaps = samples.windows(2).filter_map(|pair| match pair {
        [before, now] => Some(now.at - before.at),
        _ => None,
    });
    let interval = PROBE_SAMPLING.as_secs_f64();
    (quantile(gaps, 0.95) - interval).max(0.0)
}

/// The median; 0 without values.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

/// A quantile; 0 without values.
fn quantile(values: impl Iterator<Item = f64>, part: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let place = (part * values.len() as f64) as usize;
    values.get(place).copied().unwrap_or(0.0)
}

/// When a queue is long. Where the rate varies, the same packets take a different time, and a
/// buffer that is full at a high rate holds less time than at a low one. There a queue is long by
/// its packets or by its time.
struct Queues<'a> {
    samples: &'a [ProbeSample],
    min_rtt: f64,
    mtu: f64,
    /// Longer ones are long, seconds.
    seconds: f64,
    /// Longer ones are long, packets.
    packets: f64,
}

impl<'a> Queues<'a> {
    /// `longest`: the longest queue of a probe, seconds.
    fn of(report: &'a ProbeReport, longest: f64) -> Self {
        Self {
            samples: &report.samples,
            min_rtt: report.min_rtt,
            mtu: f64::from(report.mtu.max(1200)),
            seconds: (SHORT * longest).max(NOISE),
            packets: f64::INFINITY,
        }
    }

    /// The same for a path whose rate varied: its queues are long by their packets, too.
    fn by_packets(self, report: &ProbeReport) -> Self {
        let full = report.of(ProbeStage::Full);
        let most = quantile(full.map(|sample| self.in_packets(sample)), TOP);
        Self {
            packets: SHORT * most,
            ..self
        }
    }

    /// The queue in packets: of what was in flight a round trip ago and has arrived since, what was
    /// not on the links.
    fn in_packets(&self, sample: &ProbeSample) -> f64 {
        let then = sample.at - sample.rtt;
        let later = self.samples.partition_point(|other| other.at <= then);
        let before = later.checked_sub(1).and_then(|i| self.samples.get(i));
        let before = before.map_or(0, |before| before.delivered);
        let arrived = sample.delivered.saturating_sub(before) as f64 / self.mtu;
        arrived * (1.0 - self.min_rtt / sample.rtt.max(self.min_rtt))
    }

    fn is_long(&self, sample: &ProbeSample) -> bool {
        let seconds = sample.rtt - self.min_rtt;
        seconds > self.seconds || seconds > NOISE && self.in_packets(sample) > self.packets
    }
}

/// Packets lost of those sent.
#[derive(Debug, Clone, Copy, Default)]
struct Lost {
    lost: u64,
    sent: u64,
}

impl Lost {
    /// Those that met a short queue, and those that met a long one. What becomes of a packet is
    /// known a round trip after it was sent. The RTT that it met is measured about then, and where a
    /// queue fills within a round trip, not before: so a packet met a long queue if there was one at
    /// any time since it was sent.
    fn split(samples: &[&ProbeSample], queues: &Queues<'_>) -> (Self, Self) {
        let mut sums = [Self::default(); 2];
        let mut sent = 0;
        let mut last_long = None;
        for (i, pair) in samples.windows(2).enumerate() {
            let [before, now] = pair else { continue };
            if queues.is_long(now) {
                last_long = Some(i + 1);
            }
            let known = sent;
            while samples
                .get(sent + 1)
                .is_some_and(|next| now.at - next.at >= now.rtt)
            {
                sent += 1;
            }
            let (Some(from), Some(to)) = (samples.get(known), samples.get(sent)) else {
                continue;
            };
            let sum = &mut sums[usize::from(last_long.is_some_and(|long| long >= sent))];
            sum.sent += to.sent_packets.saturating_sub(from.sent_packets);
            sum.lost += now.lost_packets.saturating_sub(before.lost_packets);
        }
        (sums[0], sums[1])
    }

    fn part(self) -> f64 {
        (self.lost as f64 / self.sent.max(1) as f64).min(1.0)
    }

    /// With Wilson's interval.
    fn estimate(self) -> Estimate {
        let (n, p) = (self.sent.max(1) as f64, self.part());
        let middle = p + Z * Z / (2.0 * n);
        let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let of = |value: f64| (value / (1.0 + Z * Z / n)).clamp(0.0, 1.0);
        let low = if self.lost == 0 {
            0.0
        } else {
            of(middle - spread)
        };
        Estimate {
            value: p,
            interval: (low, of(middle + spread)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of 40 Mbit/s, 40 ms and 1 % random loss, sampled every 10 ms: 2 s at the full rate
    /// with a queue of 40 ms in which one packet of ten is lost, then 3 s without a queue.
    fn report() -> ProbeReport {
        let (mut delivered, mut sent, mut lost) = (0, 0, 0);
        let samples = (0..600).map(|i| {
            let (stage, rtt) = match i {
                0..50 => (ProbeStage::Startup, 0.04),
                50..250 => (ProbeStage::Full, 0.08),
                250..300 => (ProbeStage::Drain, 0.04),
                _ => (ProbeStage::Calm, 0.04),
            };
            if stage != ProbeStage::Drain {
                delivered += 50_000;
                sent += 100;
            }
            lost += match i {
                // The first packets after the drain are known to be lost a round trip later.
                0..58 | 304.. => 1,
                58..258 => 10,
                _ => 0,
            };
            ProbeSample {
                at: f64::from(i) * 0.01,
                stage,
                has_found_rate: stage != ProbeStage::Startup,
                delivered,
                sent_packets: sent,
                lost_packets: lost,
                rtt,
            }
        });
        ProbeReport {
            samples: samples.collect(),
            min_rtt: 0.04,
            mtu: 1472,
            bytes: 20_000_000,
        }
    }

    #[test]
    fn rate_rtt_loss_and_buffer_are_found() {
        let path = PathMeasurement::of("host", &report()).expect("long enough");
        // 40 Mbit/s of payload, with 28 bytes of headers on 1472, and 1 % lost behind it.
        let rate = 40e6 * 1500.0 / 1472.0 / 0.99;
        assert!((path.rate.value / rate - 1.0).abs() < 0.002, "{path:?}");
        // 1500 bytes take 0.3 ms.
        assert!((path.rtt.value - 0.0397).abs() < 5e-5, "{path:?}");
        assert!((path.loss.value - 0.01).abs() < 1e-4, "{path:?}");
        let (low, high) = path.loss.interval;
        assert!(low > 0.0085 && high < 0.012 && low < high, "{path:?}");
        assert!(
            (path.queue_bdp.value - 1.0).abs() < 1e-9 && path.is_full,
            "{path:?}"
        );
        assert_eq!(path.queue(), Queue::Bdp(1.0));
        let sentence = path.sentence();
        for part in [
            "41.2 Mbit/s (41.",
            "base RTT 39.7 ms (39.7 to 40.0)",
            "1.00 % random loss (0.",
        ] {
            assert!(sentence.contains(part), "{sentence}");
        }
        let loopback = PathMeasurement {
            rtt: Estimate {
                value: 35e-6,
                interval: (35e-6, 40e-6),
            },
            queue_bdp: Estimate {
                value: 2162.87,
                interval: (2162.87, f64::INFINITY),
            },
            is_full: false,
            ..path
        };
        let sentence = loopback.sentence();
        for part in ["base RTT 0.035 ms", "a buffer of at least 2163 BDP"] {
            assert!(sentence.contains(part), "{sentence}");
        }
        assert!(loopback.as_json()["queue_interval_bdp"][1].is_null());
    }

    #[test]
    fn a_busy_machine_is_named() {
        let path = |late: f64| {
            let mut report = report();
            // Each tenth sample is late, and those after it by as much.
            let mut shift = 0.0;
            for (i, sample) in report.samples.iter_mut().enumerate() {
                shift += if i % 10 == 9 { late } else { 0.0 };
                sample.at += shift;
            }
            PathMeasurement::of("host", &report).expect("long enough")
        };
        for quiet in [0.0, 0.004] {
            assert!(path(quiet).warnings().is_empty());
        }
        let busy = path(0.02);
        assert!((busy.late - 0.02).abs() < 1e-9, "{busy:?}");
        let [warning] = &busy.warnings()[..] else {
            panic!("{busy:?}");
        };
        assert!(warning.contains("20 ms late or later"), "{warning}");
    }

    #[test]
    fn a_rate_that_varies_is_named() {
        let mut report = report();
        // 40 and 10 Mbit/s for 200 ms each.
        let mut delivered = 0;
        for (i, sample) in report.samples.iter_mut().enumerate() {
            delivered += if i / 20 % 2 == 0 { 50_000 } else { 12_500 };
            sample.delivered = delivered;
        }
        let path = PathMeasurement::of("host", &report).expect("long enough");
        assert!(path.tenths.1 > 3.0 * path.tenths.0, "{path:?}");
        let [warning] = &path.warnings()[..] else {
            panic!("{path:?}");
        };
        assert!(warning.contains("The rate varied: 10."), "{warning}");
    }

    /// A queue that fills and overflows within a round trip, as where a radio link pauses: the RTT
    /// of the packets before the lost ones is measured when the losses are known, and not before.
    #[test]
    fn an_overflow_within_a_round_trip_is_no_random_loss() {
        let mut report = report();
        let mut lost = 0;
        for (i, sample) in report.samples.iter_mut().enumerate() {
            if (400..412).contains(&i) {
                sample.rtt = 0.16;
                lost += 5;
            }
            sample.lost_packets = lost;
        }
        let path = PathMeasurement::of("host", &report).expect("long enough");
        assert_eq!(path.loss.value, 0.0, "{path:?}");
    }

    /// A buffer of 300 packets takes half a second at the slowest rate of the path and 60 ms at
    /// another, at which it overflows as well.
    #[test]
    fn a_buffer_that_is_full_at_a_high_rate_is_full() {
        let mut report = report();
        let (mut lost, mut delivered) = (0, 0);
        for (i, sample) in report.samples.iter_mut().enumerate() {
            // The RTT, and packets that arrive in 10 ms.
            let (rtt, packets) = match i {
                0..50 => (0.04, 6),
                50..150 => (0.54, 6),
                150..250 => (0.2, 18),
                390..412 => (0.1, 30),
                _ => (0.04, 10),
            };
            lost += if (402..412).contains(&i) { 5 } else { 0 };
            delivered += packets * 1472;
            sample.rtt = rtt;
            sample.delivered = delivered;
            sample.lost_packets = lost;
        }
        let path = PathMeasurement::of("host", &report).expect("long enough");
        assert_eq!(path.loss.value, 0.0, "{path:?}");
    }

    #[test]
    fn own_overflow_is_no_random_loss() {
        let mut clean = report();
        let mut lost = 0;
        for (i, sample) in clean.samples.iter_mut().enumerate() {
            lost += if (58..258).contains(&i) { 10 } else { 0 };
            sample.lost_packets = lost;
        }
        let path = PathMeasurement::of("host", &clean).expect("long enough");
        assert_eq!(path.loss.value, 0.0);
        let mut known = Bottleneck::default();
        path.complete(&mut known);
        assert!(known.loss[0].value.is_zero());
    }

    #[test]
    fn a_probe_that_ends_early_says_why_there_is_no_advice() {
        let without = |keep: fn(&ProbeSample) -> bool| {
            let mut short = report();
            short.samples.retain(keep);
            PathMeasurement::of("host", &short)
                .map(drop)
                .expect_err("too short")
                .to_string()
        };
        let rising = without(|s| s.stage == ProbeStage::Startup);
        assert!(
            rising.contains("the rate was still rising (12.2 round trips)"),
            "{rising}"
        );
        assert!(rising.contains("probe for longer"), "{rising}");
        let few = without(|s| s.at > 0.4 && s.at < 0.7);
        assert!(few.contains("in too few windows"), "{few}");
        let no_loss = without(|s| s.at < 3.1);
        assert!(
            no_loss.contains("the loss was measured for 2."),
            "{no_loss}"
        );
        assert!(without(|_| false).contains("still rising (0.0 round trips)"));
    }
}
