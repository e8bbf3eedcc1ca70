//! Measures the path to a server: rate, base RTT, random loss and buffer, from a short transfer of
//! data that the server discards.

use super::AdviseArgs;
use crate::failure::BadInput;
use crate::send::exit_code;
use anyhow::Context;
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use whimbrel_net::Queue;
use whimbrel_sim::scenario::Written;
use whimbrel_sim::scenario::document::Value as Source;
use whimbrel_study::path::Path;
use whimbrel_transfer::{ClientOptions, ProbeReport, ProbeSample, ServerAddress, probe};
use whimbrel_units::{Duration, Probability, Rate};

/// The algorithm that measures: it keeps the link full under random loss, and looks at the path
/// with an empty queue from time to time.
const CONTROLLER: &str = "bbr";
/// Rates are means over windows of this many seconds, or of this many round trips if that is more.
const WINDOW: (f64, f64) = (0.5, 4.0);
/// Part of the windows whose rate is not above the result: single windows profit from
/// acknowledgments that were held up.
const QUANTILE: f64 = 0.9;
/// The start of this part of the probe is left out of the loss: it fills the buffer.
const START: f64 = 0.25;
/// A queue up to this part of the longest one is short.
const SHORT: f64 = 0.5;
/// With a full buffer this many times more packets are lost than with a short queue.
const FULL: f64 = 3.0;
/// Bytes of IPv4 and UDP headers.
const HEADERS: f64 = 28.0;
/// Fewer samples say nothing.
const LEAST: usize = 20;

/// What was measured of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    host: String,
    /// Of the bottleneck, headers included.
    pub rate: Rate,
    /// The base RTT.
    pub rtt: Duration,
    /// Random loss.
    pub loss: Probability,
    /// The longest queue, in products of rate and base RTT.
    queue_bdp: f64,
    /// Whether that was the whole buffer, by the packets lost then.
    is_full: bool,
    seconds: f64,
    bytes: u64,
}

/// Measures the path to a server. The inner error is the exit status of a server that refuses.
///
/// # Errors
/// If no credentials are known, or the probe brought too little.
pub fn measure(args: &AdviseArgs, host: &str) -> anyhow::Result<Result<Measured, ExitCode>> {
    if args.probe_time.is_zero() || args.probe_time > Duration::from_secs(30) {
        return Err(BadInput::new("--probe-time must be above 0 and at most 30 s").into());
    }
    let host: ServerAddress = host.parse().map_err(BadInput::new)?;
    let credentials = args.credentials.find(&host)?;
    let controller = CONTROLLER.parse().context("the registry has BBR")?;
    let mut options = ClientOptions::for_pipes(host.clone(), credentials.token.clone(), controller);
    options.fingerprint = credentials.fingerprint;
    options.known_hosts.clone_from(&credentials.known_hosts);
    if io::stderr().is_terminal() {
        eprintln!("measuring the path to {host} for {} ...", args.probe_time);
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let report = match runtime.block_on(probe(options, args.probe_size, args.probe_time)) {
        Ok(report) => report,
        Err(error) => {
            let mut out = io::stderr().lock();
            writeln!(out, "error: {host}: {error}").ok();
            if let Some(hint) = credentials.hint(&error) {
                writeln!(out, "{hint}").ok();
            }
            let hint = "without a measurement: whimbrel advise --rate RATE --rtt RTT --loss LOSS";
            writeln!(out, "{hint}").ok();
            return Ok(Err(ExitCode::from(exit_code(&error))));
        }
    };
    credentials.accepted();
    let measured = Measured::of(&host.to_string(), &report).ok_or_else(|| {
        BadInput::new("the probe was too short; write a longer --probe-time or --probe-size")
    })?;
    Ok(Ok(measured))
}

impl Measured {
    /// What a probe says of its path; `None` if it is too short.
    fn of(host: &str, report: &ProbeReport) -> Option<Self> {
        let samples: Vec<&ProbeSample> = report.samples.iter().filter(|s| s.rtt > 0.0).collect();
        let (first, last) = (samples.first()?, samples.last()?);
        let rtt = report.min_rtt;
        let seconds = last.at - first.at;
        if samples.len() < LEAST || rtt <= 0.0 || seconds <= 2.0 * rtt {
            return None;
        }
        let mtu = f64::from(report.mtu.max(1200));
        let payload = rate(
            &samples,
            f64::max(WINDOW.0, WINDOW.1 * rtt).min(seconds / 2.0),
        )?;
        let rate = payload * (mtu + HEADERS) / mtu;
        let longest = samples.iter().map(|s| s.rtt).fold(0.0, f64::max) - rtt;
        let steady: Vec<&ProbeSample> = samples
            .iter()
            .copied()
            .filter(|s| s.at - first.at >= START * seconds)
            .collect();
        let (short, _) = split_loss(&steady, rtt + SHORT * longest);
        let (_, long) = split_loss(&samples, rtt + SHORT * longest);
        let random = short.or(long).unwrap_or(0.0).clamp(0.0, 1.0);
        let is_full = long.is_some_and(|long| long > FULL * random.max(1e-4));
        Some(Self {
            host: host.to_owned(),
            rate: Rate::from_bits_per_sec(rate as u64),
            rtt: Duration::from_nanos((rtt * 1e9) as u64),
            // In hundredths of a percent: more digits are noise.
            loss: Probability::new((random * 1e4).round() / 1e4).ok()?,
            queue_bdp: longest / rtt,
            is_full,
            seconds,
            bytes: report.bytes,
        })
    }

    /// The buffer. The longest queue may be shorter than the buffer, but no path has none.
    fn queue(&self) -> Queue {
        let least = if self.is_full { 0.05 } else { 0.25 };
        // In hundredths: more digits are noise.
        Queue::Bdp((self.queue_bdp.max(least) * 100.0).round() / 100.0)
    }

    /// Sets what is not known of a path.
    pub fn complete(&self, path: &mut Path) {
        fn set<T: Clone + Into<Source>>(values: &mut Vec<Written<T>>, measured: T) {
            if values.is_empty() {
                values.push(Written::of("HOST", measured));
            }
        }
        set(&mut path.rate, self.rate);
        set(&mut path.rtt, self.rtt);
        set(&mut path.loss, self.loss);
        set(&mut path.queue, self.queue());
    }

    /// The path in a sentence.
    pub fn sentence(&self) -> String {
        let at_least = if self.is_full { "" } else { "at least " };
        // Of loopback the RTT is some microseconds, and the buffer hundreds of its products.
        let rtt_digits = if self.rtt.as_millis_f64() < 1.0 { 3 } else { 1 };
        let queue_digits = if self.queue_bdp < 10.0 { 2 } else { 0 };
        format!(
            "The path to {}: {:.1} Mbit/s, base RTT {:.rtt_digits$} ms, {} random loss, a buffer \
             of {at_least}{:.queue_digits$} BDP (measured in {:.1} s with {:.1} MB).",
            self.host,
            self.rate.as_bits_per_sec() as f64 * 1e-6,
            self.rtt.as_millis_f64(),
            self.loss,
            self.queue_bdp,
            self.seconds,
            self.bytes as f64 * 1e-6,
        )
    }

    /// The path in base units.
    pub fn as_json(&self) -> Value {
        json!({
            "host": self.host,
            "rate_bps": self.rate.as_bits_per_sec(),
            "rtt_ms": self.rtt.as_millis_f64(),
            "loss": self.loss.get(),
            "queue_bdp": self.queue_bdp,
            "queue_is_full": self.is_full,
            "seconds": self.seconds,
            "bytes": self.bytes,
        })
    }
}

/// The rate of delivery over windows of this many seconds, bit/s: a high quantile.
fn rate(samples: &[&ProbeSample], window: f64) -> Option<f64> {
    let mut rates: Vec<f64> = Vec::new();
    let mut from = 0;
    for sample in samples {
        while samples
            .get(from + 1)
            .is_some_and(|next| sample.at - next.at >= window)
        {
            from += 1;
        }
        let begin = samples.get(from)?;
        let span = sample.at - begin.at;
        if span >= window {
            let bytes = sample.delivered.saturating_sub(begin.delivered);
            rates.push(bytes as f64 * 8.0 / span);
        }
    }
    rates.sort_by(f64::total_cmp);
    let at = (QUANTILE * rates.len() as f64) as usize;
    rates.get(at.min(rates.len().saturating_sub(1))).copied()
}

/// Packets lost of those sent, while the RTT was up to `limit` and while it was above. A loss
/// becomes known a round trip later, so each is counted with the RTT a round trip earlier.
fn split_loss(samples: &[&ProbeSample], limit: f64) -> (Option<f64>, Option<f64>) {
    let mut sums = [(0_u64, 0_u64); 2];
    let mut then = 0;
    for pair in samples.windows(2) {
        let [before, now] = pair else { continue };
        while samples
            .get(then + 1)
            .is_some_and(|next| now.at - next.at >= now.rtt)
        {
            then += 1;
        }
        let long = usize::from(samples.get(then).is_some_and(|s| s.rtt > limit));
        sums[long].0 += now.lost_packets.saturating_sub(before.lost_packets);
        sums[long].1 += now.sent_packets.saturating_sub(before.sent_packets);
    }
    let part = |(lost, sent): (u64, u64)| (sent > 0).then(|| lost as f64 / sent as f64);
    (part(sums[0]), part(sums[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of 40 Mbit/s and 40 ms, sampled every 10 ms for 4 s: in each second, 200 ms have a
    /// queue of 40 ms, in which one packet of ten is lost; otherwise one of a hundred.
    fn report() -> ProbeReport {
        let (mut delivered, mut sent, mut lost) = (0, 0, 0);
        let samples = (0..400).map(|i| {
            let queued = i % 100 < 20;
            let known = (i + 96) % 100 < 20;
            delivered += 50_000;
            sent += 100;
            lost += if known { 10 } else { 1 };
            ProbeSample {
                at: f64::from(i) * 0.01,
                delivered,
                sent_packets: sent,
                lost_packets: lost,
                rtt: if queued { 0.08 } else { 0.04 },
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
        let path = Measured::of("host", &report()).expect("long enough");
        // 40 Mbit/s of payload, with 28 bytes of headers on 1472.
        let rate = path.rate.as_bits_per_sec() as f64;
        assert!(
            (rate / (40e6 * 1500.0 / 1472.0) - 1.0).abs() < 0.001,
            "{rate}"
        );
        assert_eq!(path.rtt, Duration::from_millis(40));
        assert!((path.loss.get() - 0.01).abs() < 0.003, "{}", path.loss);
        assert!(
            (path.queue_bdp - 1.0).abs() < 1e-9 && path.is_full,
            "{path:?}"
        );
        assert_eq!(path.queue(), Queue::Bdp(1.0));
        let sentence = path.sentence();
        assert!(
            sentence.contains("40.8 Mbit/s, base RTT 40.0 ms"),
            "{sentence}"
        );
        let loopback = Measured {
            rtt: Duration::from_micros(35),
            queue_bdp: 2162.87,
            is_full: false,
            ..path
        };
        let sentence = loopback.sentence();
        for part in ["base RTT 0.035 ms", "a buffer of at least 2163 BDP"] {
            assert!(sentence.contains(part), "{sentence}");
        }
    }

    #[test]
    fn a_probe_without_answers_says_nothing() {
        let mut short = report();
        short.samples.truncate(10);
        assert_eq!(Measured::of("host", &short), None);
        let mut silent = report();
        silent.samples.iter_mut().for_each(|s| s.rtt = 0.0);
        assert_eq!(Measured::of("host", &silent), None);
        let none = ProbeReport {
            samples: Vec::new(),
            ..report()
        };
        assert_eq!(Measured::of("host", &none), None);
    }
}
