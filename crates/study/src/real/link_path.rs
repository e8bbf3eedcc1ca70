//! The emulated path of `whimbrel link` as flags and arguments describe it: a [`Bottleneck`], and
//! what only an emulated path has.

use crate::Error;
use crate::path::Bottleneck;
use std::path::PathBuf;
use whimbrel_link::PathSpec;
use whimbrel_net::{AqmSetting, Delay, Outage, Queue, WifiSpec};
use whimbrel_sim::scenario::{
    Direction, Link, Loss, ScenarioError, Traces, Written, constant_rate,
};
use whimbrel_units::{Bytes, Duration, ParseError, Probability, Rate, Time};

/// A path to emulate. Both directions are alike except for loss and corruption, which apply from
/// near to far, and for what `reverse` says.
#[derive(Debug, Clone)]
pub struct LinkPath {
    /// Rate, RTT, buffer size and random loss, one value each.
    pub path: Bottleneck,
    /// One-way propagation delay; `None`: half of the RTT, or none.
    pub delay: Option<Written<Duration>>,
    /// Queue management.
    pub aqm: Option<Written<AqmSetting>>,
    /// Packets with a flipped bit, from near to far.
    pub corrupt: Option<Written<Probability>>,
    /// What differs from far to near.
    pub reverse: Reverse,
    /// A Wi-Fi channel that both directions share, instead of a rate.
    pub wifi: Option<Written<WifiSpec>>,
    /// A recorded one-way delay of each direction: one value in milliseconds a line.
    pub delay_trace: Option<Written<PathBuf>>,
    /// How long a line of the recorded delay holds.
    pub delay_every: Written<Duration>,
    /// Spans in which everything is lost, both ways.
    pub outages: Vec<Outage>,
    /// Instants after which the first packet from near to far is lost.
    pub drops: Vec<Duration>,
    /// Decides which packets are lost and corrupted.
    pub seed: u64,
}

/// From far to near, where it differs.
#[derive(Debug, Clone, Default)]
pub struct Reverse {
    /// Rate; a recorded one is [`Bottleneck::back_trace`].
    pub rate: Option<Written<Rate>>,
    /// Propagation delay.
    pub delay: Option<Written<Duration>>,
    /// Buffer size.
    pub queue: Option<Written<Queue>>,
    /// Queue management.
    pub aqm: Option<Written<AqmSetting>>,
    /// Random loss; `None`: none.
    pub loss: Option<Written<Probability>>,
    /// Packets with a flipped bit; `None`: none.
    pub corrupt: Option<Written<Probability>>,
}

impl LinkPath {
    /// The path as the emulator takes it.
    ///
    /// # Errors
    /// If a property has several values or does not fit the others, or a recording cannot be read;
    /// names the flag.
    pub fn spec(&self) -> Result<PathSpec, Error> {
        let mut traces = Traces::default();
        self.path.only_one("there is one path; write one value")?;
        let mut link = self.path.link(&mut traces)?;
        let forward = &mut link.forward;
        if let Some(delay) = &self.delay {
            forward.delay = Some(constant(delay));
        }
        forward.aqm.clone_from(&self.aqm);
        if let Some(file) = &self.delay_trace {
            let every = &self.delay_every;
            let recorded = Delay::recorded(every.value, traces.delay(file)?);
            forward.delay = Some(file.with(recorded.map_err(|why| every.fail(why))?));
        }
        self.reverse.add_to(&mut link.reverse)?;
        // Outages strike both directions, drops the first.
        let loss = forward.loss.take().map(|loss| loss.value);
        let loss = Loss {
            corrupt: value(&self.corrupt).unwrap_or_default(),
            outages: Some(self.outages.clone()).filter(|outages| !outages.is_empty()),
            drops: self.drops.iter().map(|at| Time::ZERO + *at).collect(),
            ..loss.unwrap_or_default()
        };
        forward.loss = Some(Written::of("--loss", loss));
        link.wifi.clone_from(&self.wifi);
        self.size_queues(&mut link);
        let [forward, backward] = link.path(Bytes::new(u64::from(whimbrel_link::MTU)))?;
        Ok(PathSpec {
            hops: Vec::new(),
            forward,
            backward,
            wifi: self.wifi.as_ref().map(|wifi| wifi.value.clone()),
            seed: self.seed,
        })
    }

    /// Gives each direction its queue: by default one bandwidth-delay product, if the direction has
    /// a bandwidth.
    fn size_queues(&self, link: &mut Link) {
        let limited = link.forward.rate.is_some() || link.wifi.is_some();
        let usual = || Written::of("--queue", Queue::Bdp(1.0));
        let queue = self.path.queue.first().cloned().unwrap_or_else(usual);
        let fits =
            |rate: bool, queue: &Written<Queue>| rate || matches!(queue.value, Queue::Fixed(_));
        let back = limited || link.reverse.rate.is_some();
        let own = link.reverse.queue.take().unwrap_or_else(|| queue.clone());
        link.forward.queue = Some(queue).filter(|queue| fits(limited, queue));
        link.reverse.queue = Some(own).filter(|queue| fits(back, queue));
    }
}

impl Reverse {
    /// Overrides a direction.
    fn add_to(&self, direction: &mut Direction) -> Result<(), ScenarioError> {
        if let Some(rate) = &self.rate {
            direction.rate = Some(constant_rate(rate)?);
        }
        direction.delay = self.delay.as_ref().map(constant);
        direction.queue.clone_from(&self.queue);
        direction.aqm.clone_from(&self.aqm);
        let (random, corrupt) = (value(&self.loss), value(&self.corrupt));
        let written = random.is_some() || corrupt.is_some();
        let loss = Loss {
            corrupt: corrupt.unwrap_or_default(),
            ..Loss::random(random.unwrap_or_default())
        };
        direction.loss = written.then(|| Written::of("--reverse-loss", loss));
        Ok(())
    }
}

fn value(written: &Option<Written<Probability>>) -> Option<Probability> {
    written.as_ref().map(|written| written.value)
}

fn constant(delay: &Written<Duration>) -> Written<Delay> {
    delay.with(Delay::constant(delay.value))
}

/// Reads a Wi-Fi channel: its rate on the air.
///
/// # Errors
/// If 802.11n has no such rate; names the nearest ones.
pub fn wifi(text: &str) -> Result<WifiSpec, ParseError> {
    let spec = WifiSpec::at(text.parse()?);
    spec.map_err(|why| ParseError::new(why.to_string()))
}

/// Reads a span such as `4 s..5 s`.
///
/// # Errors
/// If it is none, or has no length.
pub fn outage(text: &str) -> Result<Outage, ParseError> {
    let example = "write e.g. `4 s..5 s`";
    let (from, to) = text
        .split_once("..")
        .ok_or_else(|| ParseError::new(format!("`{text}` is not a span of time; {example}")))?;
    let (from, to): (Duration, Duration) = (from.parse()?, to.parse()?);
    if from >= to {
        return Err(ParseError::new(format!(
            "an outage from {from} to {to} has no length; {example}"
        )));
    }
    Ok(Outage {
        from: Time::ZERO + from,
        to: Time::ZERO + to,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::fraction;
    use std::fmt::Display;
    use std::io::Write;
    use std::str::FromStr;
    use tempfile::NamedTempFile;
    use whimbrel_net::{Aqm, DelayTrace, QueueLimit, ServiceSpec};

    fn written<T: FromStr<Err: Display>>(flag: &str, text: &str) -> Written<T> {
        Written::parse(flag, text).expect("a value")
    }

    /// The path of flags with their values.
    fn path(flags: &str) -> LinkPath {
        let mut all = LinkPath {
            path: Bottleneck::default(),
            delay: None,
            aqm: None,
            corrupt: None,
            reverse: Reverse::default(),
            wifi: None,
            delay_trace: None,
            delay_every: written("--delay-every", "10 ms"),
            outages: Vec::new(),
            drops: Vec::new(),
            seed: 1,
        };
        let words: Vec<&str> = flags.split_whitespace().collect();
        for pair in words.chunks(2) {
            let [flag, text] = pair else {
                panic!("{flags}");
            };
            let lost = || Written::new(flag, fraction(text).expect("a fraction"), *text);
            let (path, reverse) = (&mut all.path, &mut all.reverse);
            match *flag {
                "--rate" => path.rate = vec![written(flag, text)],
                "--rate-trace" => path.rate_trace = Some(written(flag, text)),
                "--back-trace" => path.back_trace = Some(written(flag, text)),
                "--rtt" => path.rtt = vec![written(flag, text)],
                "--queue" => path.queue = vec![written(flag, text)],
                "--loss" => path.loss = vec![lost()],
                "--delay" => all.delay = Some(written(flag, text)),
                "--aqm" => all.aqm = Some(written(flag, text)),
                "--wifi" => all.wifi = Some(Written::new(flag, wifi(text).expect("one"), *text)),
                "--delay-trace" => all.delay_trace = Some(written(flag, text)),
                "--delay-every" => all.delay_every = written(flag, text),
                "--outage" => all.outages.push(outage(text).expect("a span")),
                "--drop" => all.drops.push(text.parse().expect("a time")),
                "--reverse-rate" => reverse.rate = Some(written(flag, text)),
                "--reverse-delay" => reverse.delay = Some(written(flag, text)),
                "--reverse-queue" => reverse.queue = Some(written(flag, text)),
                "--reverse-aqm" => reverse.aqm = Some(written(flag, text)),
                "--reverse-loss" => reverse.loss = Some(lost()),
                "--reverse-corrupt" => reverse.corrupt = Some(lost()),
                other => panic!("{other}"),
            }
        }
        all
    }

    fn spec(flags: &str) -> PathSpec {
        path(flags).spec().expect("a path")
    }

    fn refused(flags: &str) -> String {
        path(flags).spec().expect_err(flags).to_string()
    }

    /// A file, and its name.
    fn file(text: &str) -> (NamedTempFile, String) {
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(text.as_bytes()).expect("written");
        let name = file.path().display().to_string();
        (file, name)
    }

    #[test]
    fn both_directions_are_equal_except_loss() {
        let spec = spec("--rate 8Mbit/s --rtt 100ms --loss 1% --outage 4s..5s");
        assert_eq!(
            spec.forward.delay,
            Delay::constant(Duration::from_millis(50))
        );
        // 8 Mbit/s x 100 ms.
        assert_eq!(spec.forward.queue, QueueLimit::Bytes(Bytes::new(100_000)));
        assert_eq!(spec.forward.loss.random.get(), 0.01);
        let mut expected = spec.forward.clone();
        expected.loss.random = Probability::ZERO;
        assert_eq!(spec.backward, expected);
    }

    #[test]
    fn reverse_flags_override_the_reverse_direction() {
        let spec = spec(
            "--rate 8Mbit/s --delay 30ms --queue 7packets --reverse-rate 1Mbit/s \
             --reverse-delay 70ms --reverse-loss 2% --reverse-corrupt 3% --reverse-queue 2bdp",
        );
        assert_eq!(spec.forward.queue, QueueLimit::Packets(7));
        let backward = &spec.backward;
        assert_eq!(
            backward.service.nominal_rate(),
            Some(Rate::from_bits_per_sec(1_000_000))
        );
        assert_eq!(backward.delay, Delay::constant(Duration::from_millis(70)));
        assert_eq!(
            (backward.loss.random.get(), backward.loss.corrupt.get()),
            (0.02, 0.03)
        );
        // 2 x 1 Mbit/s x 100 ms.
        assert_eq!(backward.queue, QueueLimit::Bytes(Bytes::new(25_000)));
    }

    #[test]
    fn wifi_is_one_channel_and_its_rate_sizes_the_queue() {
        let spec = spec("--wifi 65Mbit/s --rtt 8ms --loss 1%");
        let rate = Rate::from_bits_per_sec(65_000_000);
        assert_eq!(spec.wifi.map(|wifi| wifi.rate()), Some(rate));
        // 65 Mbit/s x 8 ms.
        assert_eq!(spec.forward.queue, QueueLimit::Bytes(Bytes::new(65_000)));
        assert_eq!(spec.backward.queue, spec.forward.queue);
        assert_eq!(spec.forward.loss.random.get(), 0.01);
    }

    #[test]
    fn both_queues_have_the_same_management_unless_overridden() {
        let alike = spec("--rate 12Mbit/s --aqm red?min=6packets");
        let Some(Aqm::Red(red)) = alike.forward.aqm else {
            panic!("{:?}", alike.forward.aqm)
        };
        // 1500 bytes at 12 Mbit/s.
        assert_eq!(red.packet_time, Duration::from_millis(1));
        assert_eq!((red.min, red.max), (6.0, 18.0));
        assert_eq!(alike.backward.aqm, alike.forward.aqm);
        let one = spec("--rate 12Mbit/s --aqm red?min=6packets --reverse-aqm none");
        assert_eq!(one.backward.aqm, None);
        let slow = "--rate 12Mbit/s --aqm red --reverse-rate 120Mbit/s";
        // The reverse queue fits its own rate: 2.5 ms of it are 25 packets.
        let Some(Aqm::Red(reverse)) = spec(slow).backward.aqm else {
            panic!("no RED")
        };
        assert_eq!(reverse.min, 25.0);
    }

    #[test]
    fn a_recorded_delay_applies_to_both_directions_and_a_drop_to_one() {
        let (_file, name) = file("10\n30\n");
        let spec = spec(&format!("--rate 8Mbit/s --delay-trace {name} --drop 38s"));
        let row = DelayTrace::parse("10\n30").expect("a trace");
        let recorded = Delay::recorded(Duration::from_millis(10), row).expect("intervals");
        assert_eq!(spec.forward.delay, recorded);
        assert_eq!(spec.backward.delay, recorded);
        // 8 Mbit/s x twice the mean of 20 ms.
        assert_eq!(spec.forward.queue, QueueLimit::Bytes(Bytes::new(40_000)));
        assert_eq!(
            spec.forward.loss.drops,
            [Time::ZERO + Duration::from_secs(38)]
        );
        assert_eq!(spec.backward.loss.drops, []);
        let error = refused(&format!("--delay-trace {name} --delay-every 0s"));
        assert!(
            error.starts_with("--delay-every: a delay must hold"),
            "{error}"
        );
    }

    #[test]
    fn recorded_rates_of_both_directions_differ() {
        // 1504 bytes each 1 ms, and each 10 ms.
        let ((_down, down), (_up, up)) = (file("1\n"), file("10\n"));
        let rates = |flags: &str| {
            let spec = spec(flags);
            [spec.forward, spec.backward].map(|one| one.service.nominal_rate())
        };
        let mbit = |n| Some(Rate::from_bits_per_sec(n));
        let both = rates(&format!("--rate-trace {down} --back-trace {up}"));
        assert_eq!(both, [mbit(12_032_000), mbit(1_203_200)]);
        let one = rates(&format!("--rate 8Mbit/s --back-trace {up}"));
        assert_eq!(one, [mbit(8_000_000), mbit(1_203_200)]);
        for flag in ["--back-trace", "--rate-trace"] {
            let error = refused(&format!("{flag} /no/file"));
            let expected = format!("{flag}: cannot read the trace /no/file: ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn a_threshold_in_bdp_needs_a_rate() {
        let error = refused("--aqm mark?threshold=1bdp");
        assert!(
            error.starts_with("--aqm: a threshold in `bdp` needs"),
            "{error}"
        );
    }

    #[test]
    fn without_flags_the_path_has_no_limits() {
        let spec = spec("");
        assert_eq!(spec.forward, spec.backward);
        assert_eq!(spec.forward.service, ServiceSpec::Unlimited);
        assert_eq!(spec.forward.queue, QueueLimit::Unlimited);
    }
}
