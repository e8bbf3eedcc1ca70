//! Queue management as written on the command line and in scenario files.

use super::policer::BURST_TIME;
use super::{Aqm, CoDel, FqCodel, Mark, Policer, QueueUnit, Red, time_for};
use crate::queue::Queue;
use crate::spec::{QueueLimit, ServiceSpec};
use std::str::FromStr;
use whimbrel_units::{Bytes, Duration, ParseError, Probability, Rate, nearest};

/// Queue management as written: `red`, `red?min=5 packets&max=15 packets`, `codel?target=10 ms`,
/// `mark`, `none`. Parameters that are left out get defaults that fit the link, in
/// [`resolve`](Self::resolve).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AqmSetting {
    /// `none`: DropTail.
    None,
    /// `red`.
    Red {
        /// Lower threshold.
        min: Option<Queue>,
        /// Upper threshold.
        max: Option<Queue>,
        /// Probability at the upper threshold.
        max_p: Probability,
        /// Weight of each arrival in the average, from 0 to 1.
        weight: Option<f64>,
        /// Above the upper threshold the probability rises to one instead of jumping there.
        gentle: bool,
    },
    /// `codel`.
    CoDel {
        /// The waiting time that a standing queue may have.
        target: Duration,
        /// For how long packets may wait longer than the target.
        interval: Duration,
    },
    /// `mark`.
    Mark {
        /// The averaged queue above which packets are marked.
        threshold: Option<Queue>,
        /// Weight of each arrival in the average, from 0 to 1.
        weight: f64,
    },
    /// `fq-codel`: as CoDel, for each flow.
    FqCodel {
        /// The waiting time that a standing queue may have.
        target: Duration,
        /// For how long packets may wait longer than the target.
        interval: Duration,
        /// Number of queues that flows hash to.
        queues: u32,
    },
    /// `policer`.
    Policer {
        /// The rate that passes.
        rate: Option<Rate>,
        /// What passes at once.
        burst: Option<Bytes>,
    },
}

/// The names of all kinds.
const KINDS: [&str; 6] = ["none", "red", "codel", "fq-codel", "mark", "policer"];
/// RFC 8290 section 5.2.3, and the most that are useful.
const QUEUES: u32 = 1024;
const MOST_QUEUES: u32 = 65_536;
/// ns-2's `linterm_` of 10, which Floyd's "Discussions of setting parameters" (1997) recommends
/// instead of the paper's 1/50.
const MAX_P: f64 = 0.1;
/// The minimum lower threshold in packets (ns-2's `thresh_`; the paper's figure 3).
const MINIMUM_MIN: f64 = 5.0;
/// The target delay of the queue (ns-2's `targetdelay_`); min is half of it.
const TARGET: Duration = Duration::from_millis(5);
/// RFC 8289 sections 4.3 and 4.4.
const CODEL: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

impl AqmSetting {
    /// A kind with its default parameters.
    ///
    /// # Errors
    /// If the kind is unknown; suggests the nearest one.
    pub fn of_kind(kind: &str) -> Result<Self, ParseError> {
        match kind {
            "none" => Ok(Self::None),
            "red" => Ok(Self::Red {
                min: None,
                max: None,
                max_p: Probability::new(MAX_P)?,
                weight: None,
                gentle: true,
            }),
            "codel" => Ok(Self::CoDel {
                target: CODEL.0,
                interval: CODEL.1,
            }),
            "mark" => Ok(Self::Mark {
                threshold: None,
                weight: 1.0,
            }),
            "fq-codel" => Ok(Self::FqCodel {
                target: CODEL.0,
                interval: CODEL.1,
                queues: QUEUES,
            }),
            "policer" => Ok(Self::Policer {
                rate: None,
                burst: None,
            }),
            other => Err(unknown("queue management", other, &KINDS)),
        }
    }

    /// The names of its parameters.
    pub fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Red { .. } => &["min", "max", "max_p", "weight", "gentle"],
            Self::CoDel { .. } => &["target", "interval"],
            Self::Mark { .. } => &["threshold", "weight"],
            Self::FqCodel { .. } => &["target", "interval", "queues"],
            Self::Policer { .. } => &["rate", "burst"],
        }
    }

    /// Sets one of its parameters.
    ///
    /// # Errors
    /// If it has no such parameter, or the value is not valid.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ParseError> {
        match (self, key) {
            (Self::Red { min, .. }, "min") => *min = Some(threshold(value)?),
            (Self::Red { max, .. }, "max") => *max = Some(threshold(value)?),
            (Self::Red { max_p, .. }, "max_p") => *max_p = value.parse()?,
            (Self::Red { weight, .. }, "weight") => *weight = Some(share(value)?),
            (Self::Red { gentle, .. }, "gentle") => *gentle = switch(value)?,
            (Self::CoDel { target, .. } | Self::FqCodel { target, .. }, "target") => {
                *target = span(value)?;
            }
            (Self::CoDel { interval, .. } | Self::FqCodel { interval, .. }, "interval") => {
                *interval = span(value)?;
            }
            (Self::FqCodel { queues, .. }, "queues") => *queues = count(value)?,
            (Self::Mark { threshold: t, .. }, "threshold") => *t = Some(threshold(value)?),
            (Self::Mark { weight, .. }, "weight") => *weight = share(value)?,
            (Self::Policer { rate, .. }, "rate") => *rate = Some(positive(value)?),
            (Self::Policer { burst, .. }, "burst") => *burst = Some(value.parse()?),
            (this, other) => return Err(unknown("parameter", other, this.keys())),
        }
        Ok(())
    }

    /// The parameters for a link with this service, on a path with this base RTT, whose full
    /// packets have size `packet`. Defaults of parameters that are left out:
    /// * RED's `min`: the packets that the link passes in 2.5 ms, at least 5; `max`: three times
    ///   `min`; `weight`: `1 - exp(-1/C)`, C the packets that the link passes in a second, so that
    ///   the average covers about a second (ns-2's automatic setting, after S. Floyd, R. Gummadi,
    ///   S. Shenker, "Adaptive RED", 2001)
    /// * the threshold of `mark`: RED's `min`
    /// * the burst of `policer`: what its rate passes in 50 ms; always at least a packet
    ///
    /// # Errors
    /// If a threshold is in `bdp` and the link has no rate, or if the thresholds do not fit
    /// together.
    pub fn resolve(
        self,
        service: &ServiceSpec,
        base_rtt: Duration,
        packet: Bytes,
    ) -> Result<Option<Aqm>, ParseError> {
        let rate = service.nominal_rate();
        let packet_time = time_for(rate, packet);
        let usual = || {
            let packets = TARGET.as_nanos() as f64 / packet_time.as_nanos().max(1) as f64;
            let fitting = if packet_time.is_zero() {
                0.0
            } else {
                packets / 2.0
            };
            (QueueUnit::Packets, fitting.max(MINIMUM_MIN))
        };
        let length = |written: Queue| match written.limit(service, base_rtt, packet) {
            Some(QueueLimit::Packets(n)) => Ok((QueueUnit::Packets, f64::from(n))),
            Some(QueueLimit::Bytes(bytes)) => Ok((QueueUnit::Bytes, bytes.get() as f64)),
            Some(QueueLimit::Unlimited) => Err(ParseError::new("a threshold has a limit")),
            None => Err(ParseError::new(
                "a threshold in `bdp` needs the link's `rate`; write one, or the threshold in packets or bytes",
            )),
        };
        Ok(Some(match self {
            Self::None => return Ok(None),
            Self::Red {
                min,
                max,
                max_p,
                weight,
                gentle,
            } => {
                let (min, max) = match (min.map(length).transpose()?, max.map(length).transpose()?)
                {
                    (Some(min), Some(max)) => (min, max),
                    (Some(min), None) => (min, (min.0, 3.0 * min.1)),
                    (None, Some(max)) => ((max.0, max.1 / 3.0), max),
                    (None, None) => (usual(), (usual().0, 3.0 * usual().1)),
                };
                if min.0 != max.0 {
                    return Err(ParseError::new(
                        "`min` and `max` must both be in packets, or both in bytes or `bdp`",
                    ));
                }
                if max.1 < min.1 {
                    return Err(ParseError::new("`max` must be at least `min`"));
                }
                Aqm::Red(Red {
                    min: min.1,
                    max: max.1,
                    unit: min.0,
                    max_p,
                    weight: weight.unwrap_or(-(-packet_time.as_secs_f64()).exp_m1()),
                    gentle,
                    packet,
                    packet_time,
                })
            }
            Self::CoDel { target, interval } => Aqm::CoDel(CoDel {
                target,
                interval,
                mtu: packet,
            }),
            Self::FqCodel {
                target,
                interval,
                queues,
            } => Aqm::FqCodel(FqCodel {
                codel: CoDel {
                    target,
                    interval,
                    mtu: packet,
                },
                queues,
                quantum: packet,
            }),
            Self::Policer { rate, burst } => {
                let rate = rate.ok_or_else(|| {
                    ParseError::new("a policer needs its `rate`, as in `policer?rate=20 Mbit/s`")
                })?;
                let burst = burst.unwrap_or(rate.bytes_in(BURST_TIME));
                // A bucket that holds less than a packet passes none.
                Aqm::Policer(Policer {
                    rate,
                    burst: burst.max(packet),
                })
            }
            Self::Mark { threshold, weight } => {
                let (unit, threshold) = threshold.map_or_else(|| Ok(usual()), length)?;
                Aqm::Mark(Mark {
                    threshold,
                    unit,
                    weight,
                    packet_time,
                })
            }
        }))
    }
}

impl FromStr for AqmSetting {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (kind, parameters) = match text.trim().split_once('?') {
            Some((kind, parameters)) => (kind, Some(parameters)),
            None => (text.trim(), None),
        };
        let mut setting = Self::of_kind(kind.trim())?;
        for pair in parameters.into_iter().flat_map(|all| all.split('&')) {
            let (key, value) = pair.split_once('=').ok_or_else(|| {
                ParseError::new(format!(
                    "`{pair}` must be written parameter=value, as in `codel?target=10 ms`"
                ))
            })?;
            setting.set(key.trim(), value.trim())?;
        }
        Ok(setting)
    }
}

fn unknown(what: &str, word: &str, known: &[&'static str]) -> ParseError {
    ParseError::new(match nearest(word, known.iter().copied()) {
        Some(near) => format!("unknown {what} `{word}`, did you mean `{near}`?"),
        None if known.is_empty() => format!("unknown {what} `{word}`: it has none"),
        None => {
            let all: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
            format!("unknown {what} `{word}`; known: {}", all.join(", "))
        }
    })
}

fn threshold(text: &str) -> Result<Queue, ParseError> {
    let queue = text.parse()?;
    let none = [
        QueueLimit::Packets(0),
        QueueLimit::Bytes(Bytes::ZERO),
        QueueLimit::Unlimited,
    ];
    if none.map(Queue::Fixed).contains(&queue) {
        return Err(ParseError::new(format!(
            "a threshold must be greater than zero and have a limit, not `{text}`"
        )));
    }
    Ok(queue)
}

fn count(text: &str) -> Result<u32, ParseError> {
    match text.parse() {
        Ok(count) if (1..=MOST_QUEUES).contains(&count) => Ok(count),
        _ => Err(ParseError::new(format!(
            "must be a whole number from 1 to {MOST_QUEUES}, not `{text}`"
        ))),
    }
}

fn positive(text: &str) -> Result<Rate, ParseError> {
    match text.parse()? {
        Rate::ZERO => Err(ParseError::new("must be greater than zero")),
        rate => Ok(rate),
    }
}

fn share(text: &str) -> Result<f64, ParseError> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(ParseError::new(format!(
            "a weight must be a number greater than 0 and at most 1, not `{text}`"
        ))),
    }
}

fn switch(text: &str) -> Result<bool, ParseError> {
    text.parse()
        .map_err(|_| ParseError::new(format!("must be true or false, not `{text}`")))
}

fn span(text: &str) -> Result<Duration, ParseError> {
    match text.parse()? {
        Duration::ZERO => Err(ParseError::new("must be greater than zero")),
        span => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schedule;

    fn at(mbit: u64) -> ServiceSpec {
        let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
        ServiceSpec::Rate(Schedule::constant(rate))
    }

    fn resolved(text: &str, service: &ServiceSpec) -> Result<Option<Aqm>, ParseError> {
        let setting: AqmSetting = text.parse()?;
        setting.resolve(service, Duration::from_millis(100), Bytes::new(1500))
    }

    fn red(text: &str, service: &ServiceSpec) -> Red {
        match resolved(text, service) {
            Ok(Some(Aqm::Red(red))) => red,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn red_fits_the_link_as_in_ns_2() {
        // 12 Mbit/s are 1000 packets a second: 5 in 5 ms, half of which is below the minimum of 5.
        let slow = red("red", &at(12));
        assert_eq!((slow.min, slow.max, slow.max_p.get()), (5.0, 15.0, 0.1));
        assert!(slow.gentle && slow.unit == QueueUnit::Packets);
        assert_eq!(slow.packet_time, Duration::from_millis(1));
        // 1 - exp(-1/1000) = 0.0009995.
        assert!((slow.weight - 0.000_999_5).abs() < 1e-9, "{}", slow.weight);
        // 120 Mbit/s: 10,000 a second, 50 in 5 ms.
        let fast = red("red", &at(120));
        assert_eq!((fast.min, fast.max), (25.0, 75.0));
        let endless = red("red", &ServiceSpec::Unlimited);
        assert_eq!((endless.min, endless.weight), (5.0, 0.0));
    }

    #[test]
    fn a_threshold_left_out_follows_the_written_one() {
        let red_of = |text: &str| red(text, &at(12));
        let all = red_of("red?min=5 packets&max=20 packets&max_p=2 %&weight=0.002&gentle=false");
        assert_eq!((all.min, all.max, all.max_p.get()), (5.0, 20.0, 0.02));
        assert_eq!((all.weight, all.gentle), (0.002, false));
        assert_eq!(red_of("red?min=6 packets").max, 18.0);
        assert_eq!(red_of("red?max=6 packets").min, 2.0);
        // 0.1 bdp: 12 Mbit/s x 100 ms = 150 kB.
        let bytes = red_of("red?min=0.1 bdp&max=60 kB");
        assert_eq!((bytes.min, bytes.max), (15_000.0, 60_000.0));
        assert_eq!(bytes.unit, QueueUnit::Bytes);
    }

    #[test]
    fn codel_and_mark_have_defaults() {
        let codel = |target, interval| {
            Some(Aqm::CoDel(CoDel {
                target: Duration::from_millis(target),
                interval: Duration::from_millis(interval),
                mtu: Bytes::new(1500),
            }))
        };
        assert_eq!(resolved("codel", &at(12)), Ok(codel(5, 100)));
        assert_eq!(
            resolved(" codel?target=10 ms & interval=200 ms", &at(12)),
            Ok(codel(10, 200))
        );
        let mark = |threshold, unit, weight| {
            Some(Aqm::Mark(Mark {
                threshold,
                unit,
                weight,
                packet_time: Duration::from_millis(1),
            }))
        };
        assert_eq!(
            resolved("mark", &at(12)),
            Ok(mark(5.0, QueueUnit::Packets, 1.0))
        );
        assert_eq!(
            resolved("mark?threshold=30 kB&weight=0.2", &at(12)),
            Ok(mark(30_000.0, QueueUnit::Bytes, 0.2))
        );
        assert_eq!(resolved("none", &at(12)), Ok(None));
    }

    #[test]
    fn errors_name_the_mistake_and_the_remedy() {
        for (text, says) in [
            ("redd", "did you mean `red`?"),
            ("codle", "did you mean `codel`?"),
            (
                "pie",
                "known: `none`, `red`, `codel`, `fq-codel`, `mark`, `policer`",
            ),
            ("fq-codel?queues=0", "from 1 to 65536"),
            ("policer", "needs its `rate`"),
            ("policer?rate=0 bit/s", "greater than zero"),
            (
                "red?bytes=true",
                "known: `min`, `max`, `max_p`, `weight`, `gentle`",
            ),
            ("red?weigth=1", "did you mean `weight`?"),
            ("red?target=5 ms", "unknown parameter `target`"),
            ("none?min=5 packets", "it has none"),
            ("red?min", "must be written parameter=value"),
            ("red?min=5", "write e.g. `50 packets`"),
            ("red?min=0 packets", "greater than zero"),
            ("mark?threshold=unlimited", "have a limit"),
            ("red?max_p=2", "0 % to 100 %"),
            ("red?weight=0", "greater than 0 and at most 1"),
            ("red?gentle=yes", "true or false"),
            ("codel?target=5", "its unit is missing"),
            ("codel?interval=0 s", "greater than zero"),
            (
                "red?min=9 packets&max=8 packets",
                "`max` must be at least `min`",
            ),
            ("red?min=9 packets&max=80 kB", "both be in packets"),
        ] {
            let error = resolved(text, &at(12)).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let error = resolved("mark?threshold=1 bdp", &ServiceSpec::Unlimited);
        assert!(
            error
                .expect_err("no rate")
                .to_string()
                .contains("needs the link's `rate`")
        );
    }
}
