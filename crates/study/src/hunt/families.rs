//! The families of paths, with the ranges of their knobs, and how a case becomes a path.

use super::draft::{Draft, Group, constant, in_steps, kilobytes, mbps, ms, percent, seconds};
use super::space::{Case, Family, Knob, Scale, rounded};
use crate::BadInput;
use whimbrel_net::{Cellular, Delay, GilbertElliott, Noise, Queue, QueueLimit, WifiSpec};
use whimbrel_rank::{Aim, Class};
use whimbrel_sim::scenario::document::Value;
use whimbrel_sim::scenario::{
    Direction, DrawnOutages, DrawnTime, Generator, Link, Loss, ScenarioError, Written,
    repeated_delay,
};
use whimbrel_units::{Duration, Probability, Rate, nearest};

/// Length of a run on a path that stays as it is, and on one that changes, seconds.
const STEADY: f64 = 30.0;
const CHANGING: f64 = 60.0;
/// Packets in a burst of losses.
const BURST: f64 = 8.0;
/// Words of algorithms that others use.
const OTHERS: &[&str] = &["cubic", "bbr", "newreno"];

impl Family {
    /// The family with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }
}

/// The families with these names, or all if there are none.
///
/// # Errors
/// If a name is unknown.
pub(super) fn chosen(names: &[String]) -> Result<Vec<&'static Family>, BadInput> {
    let named = |name: &String| {
        Family::named(name).ok_or_else(|| {
            let known = FAMILIES.iter().map(|family| family.name);
            let near = nearest(name, known.clone());
            let meant = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
            let all: Vec<&str> = known.collect();
            let why = format!("unknown family `{name}`{meant}; known: {}", all.join(", "));
            BadInput::in_argument("families", why)
        })
    };
    match names.is_empty() {
        true => Ok(FAMILIES.iter().collect()),
        false => names.iter().map(named).collect(),
    }
}

const fn knob(name: &'static str, unit: &'static str, scale: Scale, plain: f64) -> Knob {
    Knob {
        name,
        unit,
        scale,
        optional: false,
        plain,
    }
}

const fn option(name: &'static str, unit: &'static str, scale: Scale, plain: f64) -> Knob {
    Knob {
        name,
        unit,
        scale,
        optional: true,
        plain,
    }
}

const RATE: Knob = knob("rate", " Mbit/s", Scale::Log(1.0, 100.0), 10.0);
const RTT: Knob = knob("RTT", " ms", Scale::Log(5.0, 500.0), 50.0);
const BUFFER: Knob = knob("buffer", " BDP", Scale::Log(0.1, 10.0), 1.0);
const PACKETS: Knob = knob("buffer", " packets", Scale::Log(20.0, 2000.0), 200.0);
const LOSS: Knob = option("loss", " %", Scale::Log(0.01, 5.0), 1.0);
const AQM: Knob = option("AQM", "", Scale::Word(&["codel", "fq-codel", "red"]), 0.0);

/// All families.
pub static FAMILIES: &[Family] = &[
    Family {
        name: "bottleneck",
        summary: "one flow over one bottleneck",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            LOSS,
            option("bursty loss", " %", Scale::Log(0.05, 3.0), 1.0),
            option("jitter", " ms", Scale::Log(0.5, 30.0), 5.0),
            option("reordering", "", Scale::Word(&["by jitter"]), 0.0),
            AQM,
        ],
        draft: bottleneck,
    },
    Family {
        name: "several-bottlenecks",
        summary: "one flow over 2 to 4 bottlenecks, others across each",
        knobs: &[
            RATE,
            knob("links", "", Scale::Count(2.0, 4.0), 2.0),
            knob("RTT of a link", " ms", Scale::Log(3.0, 100.0), 20.0),
            BUFFER,
            option("flows across", "", Scale::Word(OTHERS), 0.0),
            knob("flows across a link", "", Scale::Count(1.0, 4.0), 1.0),
        ],
        draft: several_bottlenecks,
    },
    Family {
        name: "way-back",
        summary: "a way back that is slow, loses, pauses or carries uploads",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            knob("way back", " of the rate", Scale::Log(0.02, 1.0), 1.0),
            knob("its buffer", " packets", Scale::Log(10.0, 1000.0), 100.0),
            option("uploads", "", Scale::Count(1.0, 4.0), 1.0),
            option("its loss", " %", Scale::Log(0.1, 10.0), 1.0),
            option("its batches", " ms", Scale::Log(2.0, 100.0), 20.0),
            option("its pause", " s", Scale::Log(0.2, 5.0), 3.0),
        ],
        draft: way_back,
    },
    Family {
        name: "cellular",
        summary: "a generated cellular path, both ways",
        knobs: &[
            knob("rate", " Mbit/s", Scale::Log(1.0, 50.0), 12.0),
            knob("RTT", " ms", Scale::Log(10.0, 200.0), 50.0),
            knob("buffer", " packets", Scale::Log(30.0, 3000.0), 1000.0),
            knob("way back", " of the rate", Scale::Log(0.05, 1.0), 0.5),
            knob("fading", "", Scale::Linear(0.1, 1.2), 0.6),
            knob("grants every", " ms", Scale::Log(1.0, 40.0), 5.0),
            option("stalls every", " s", Scale::Log(3.0, 60.0), 7.0),
            option("hand-overs every", " s", Scale::Log(5.0, 100.0), 40.0),
            LOSS,
        ],
        draft: cellular,
    },
    Family {
        name: "wifi",
        summary: "Wi-Fi as the first hop",
        knobs: &[
            knob(
                "Wi-Fi",
                " Mbit/s",
                Scale::Word(&["6.5", "13", "26", "39", "52", "65"]),
                5.0,
            ),
            RTT,
            PACKETS,
            LOSS,
            option("jitter", " ms", Scale::Log(0.5, 30.0), 5.0),
            option("behind it", " Mbit/s", Scale::Log(1.0, 50.0), 10.0),
        ],
        draft: wifi,
    },
    Family {
        name: "churn",
        summary: "one flow beside short flows that come and go",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            knob("short flows of", " kB", Scale::Log(10.0, 1000.0), 100.0),
            knob("their load", " %", Scale::Linear(5.0, 70.0), 30.0),
            knob("their algorithm", "", Scale::Word(OTHERS), 0.0),
        ],
        draft: churn,
    },
    Family {
        name: "own-kind",
        summary: "2 to 30 flows of the algorithm alone",
        knobs: &[
            knob("rate", " Mbit/s", Scale::Log(5.0, 200.0), 50.0),
            RTT,
            BUFFER,
            knob("flows", "", Scale::Count(2.0, 30.0), 4.0),
            option(
                "half of them with RTTs",
                " times as long",
                Scale::Log(1.5, 8.0),
                4.0,
            ),
            option("starts within", " s", Scale::Log(1.0, 15.0), 5.0),
        ],
        draft: own_kind,
    },
    Family {
        name: "mixture",
        summary: "flows of the algorithm beside flows of others",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            knob("flows", "", Scale::Count(1.0, 4.0), 1.0),
            option("cubic flows", "", Scale::Count(1.0, 6.0), 1.0),
            option("bbr flows", "", Scale::Count(1.0, 4.0), 1.0),
            option("newreno flows", "", Scale::Count(1.0, 6.0), 1.0),
            AQM,
        ],
        draft: mixture,
    },
    Family {
        name: "changes",
        summary: "a rate or delay that steps, and outages",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            option("rate falls to", " of itself", Scale::Log(0.05, 0.8), 0.5),
            knob("half a period", " s", Scale::Log(0.2, 15.0), 5.0),
            option("RTT rises to", " times itself", Scale::Log(1.2, 5.0), 2.0),
            option("outages", "", Scale::Count(1.0, 60.0), 5.0),
            knob("of", " s", Scale::Log(0.05, 0.8), 0.2),
        ],
        draft: changes,
    },
    Family {
        name: "short",
        summary: "a short transfer, alone or beside a long flow",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            knob("transfer of", " kB", Scale::Log(20.0, 5000.0), 500.0),
            option("beside", "", Scale::Word(OTHERS), 0.0),
            LOSS,
        ],
        draft: short,
    },
];

/// What a family makes of a case.
type Drafted = Result<Draft, ScenarioError>;

/// One flow under test that should fill its path. `lost` is the part that the path itself loses.
fn fill(class: Class, rtt: f64, queue: f64, lost: f64) -> Draft {
    let aim = Aim::Fill {
        goal: 0.95,
        queue: rounded(queue.clamp(0.05, 100.0), 3),
        lost: percent(decimals(lost, 6) * 100.0).get(),
        taken: 0.0,
        overflow: None,
    };
    of(class, aim, rtt, STEADY)
}

/// Flows under test that share their path with others. `rtt` is in milliseconds.
fn share(rtt: f64) -> Draft {
    of(Class::D, Aim::Share { goal: 0.9 }, rtt, CHANGING)
}

/// Neither links nor flows yet; `rtt` in milliseconds, `duration` in seconds.
fn of(class: Class, aim: Aim, rtt: f64, duration: f64) -> Draft {
    Draft {
        class,
        aim,
        rtt: ms(rtt),
        links: Vec::new(),
        groups: Vec::new(),
        duration: seconds(duration),
        sample: None,
    }
}

/// A number with so many decimals.
fn decimals(x: f64, decimals: usize) -> f64 {
    // Unlike multiplying and dividing, this rounds halves by the exact value.
    format!("{x:.decimals$}").parse().unwrap_or(x)
}

/// A link with this written direction.
fn link(name: &str, forward: Direction) -> Link {
    Link {
        forward,
        ..Link::new(name)
    }
}

/// A constant delay in milliseconds.
fn delay(delay: f64) -> Option<Written<Delay>> {
    let delay = ms(delay);
    Some(Written::of("delay", delay).with(Delay::constant(delay)))
}

/// A delay with noise.
fn noisy(noise: Noise) -> Option<Written<Delay>> {
    Some(Written::of("delay", noise).with(Delay::noisy(noise)))
}

/// A base delay with jitter, if there is any; both in milliseconds.
fn jittery(base: f64, jitter: Option<f64>) -> Option<Written<Delay>> {
    match jitter {
        None => delay(base),
        Some(jitter) => noisy(Noise {
            base: ms(base),
            jitter: ms(jitter),
            ..Noise::default()
        }),
    }
}

/// A buffer in bandwidth-delay products.
fn bdp(multiple: f64) -> Option<Written<Queue>> {
    Some(Written::of("queue", Queue::Bdp(multiple)))
}

/// A buffer in packets.
fn packets(count: f64) -> Option<Written<Queue>> {
    let limit = QueueLimit::Packets(count.round() as u32);
    Some(Written::of("queue", Queue::Fixed(limit)))
}

/// Rate, half of the RTT as delay, and buffer.
fn pipe(case: &Case) -> Direction {
    Direction {
        rate: Some(constant(mbps(case.of("rate")))),
        delay: delay(case.of("RTT") / 2.0),
        queue: bdp(case.of("buffer")),
        ..Direction::default()
    }
}

/// The same with the case's losses and queue management.
fn impaired(case: &Case, direction: Direction) -> Result<Direction, ScenarioError> {
    let random = case.get("loss").map(percent);
    let bursts = case.get("bursty loss").map(|part| {
        let (lost, r) = (part / 100.0, 1.0 / BURST);
        let p = rounded(lost * r / (1.0 - lost), 4);
        GilbertElliott::ByPacket {
            p: percent(decimals(p, 7) * 100.0),
            r: percent(r * 100.0),
            good_loss: Probability::ZERO,
            bad_loss: Probability::ONE,
        }
    });
    let has_loss = random.is_some() || bursts.is_some();
    let loss = Loss {
        gilbert_elliott: bursts,
        ..Loss::random(random.unwrap_or_default())
    };
    let aqm = case.word("AQM").map(|word| Written::parse("aqm", word));
    Ok(Direction {
        aqm: aqm.transpose()?,
        loss: has_loss.then(|| Written::of("loss", loss)),
        ..direction
    })
}

/// The part of the packets that the path loses.
fn lost(case: &Case) -> f64 {
    let part = |name| case.get(name).unwrap_or(0.0) / 100.0;
    1.0 - (1.0 - part("loss")) * (1.0 - part("bursty loss"))
}

fn bottleneck(case: &Case) -> Drafted {
    let (half, jitter) = (case.of("RTT") / 2.0, case.get("jitter"));
    let mut only = link("L", impaired(case, pipe(case))?);
    only.forward.delay = jittery(half, jitter);
    if jitter.is_some() {
        let in_order = case.get("reordering").is_none();
        only.keep_order = Some(Written::of("keep_order", in_order));
        only.reverse.delay = delay(half);
    }
    // The 95th percentile of the noise is three times its mean.
    let rtt = case.of("RTT");
    let queue = 0.5 + jitter.map_or(0.0, |jitter| 3.0 * jitter / rtt);
    Ok(Draft {
        links: vec![only],
        groups: vec![Group::tested(vec![0])],
        ..fill(Class::A, rtt, queue, lost(case))
    })
}

fn several_bottlenecks(case: &Case) -> Drafted {
    let count = case.of("links") as usize;
    let rtt = case.of("RTT of a link");
    let one = |i: usize| {
        let direction = Direction {
            rate: Some(constant(mbps(case.of("rate")))),
            delay: delay(rtt / 2.0),
            queue: bdp(case.of("buffer")),
            ..Direction::default()
        };
        link(&format!("L{}", i + 1), direction)
    };
    let mut groups = vec![Group::tested((0..count).collect())];
    let whole = rounded(rtt * count as f64, 4);
    let draft = match case.word("flows across") {
        None => fill(Class::C, whole, 0.5, 0.0),
        Some(others) => {
            groups.extend((0..count).map(|i| Group {
                count: case.of("flows across a link"),
                start: Some(two_seconds()),
                ..Group::other(format!("across{}", i + 1), others, vec![i])
            }));
            share(whole)
        }
    };
    Ok(Draft {
        links: (0..count).map(one).collect(),
        groups,
        ..draft
    })
}

/// A start within the first two seconds.
fn two_seconds() -> DrawnTime {
    DrawnTime::within(seconds(2.0))
}

fn way_back(case: &Case) -> Drafted {
    let (rtt, pause) = (case.of("RTT"), case.get("its pause"));
    let half = rtt / 2.0;
    let back = mbps(rounded(case.of("rate") * case.of("way back"), 3));
    let slow = Rate::from_bits_per_sec(1000);
    let rate = match pause {
        None => constant(back),
        Some(pause) => in_steps(vec![
            (Duration::ZERO, back),
            (seconds(10.0), slow),
            (seconds(10.0 + pause), back),
        ])?,
    };
    let up = Direction {
        rate: Some(rate),
        delay: match case.get("its batches") {
            None => delay(half),
            Some(batch) => noisy(Noise {
                base: ms(half),
                batch: ms(batch),
                ..Noise::default()
            }),
        },
        queue: packets(case.of("its buffer")),
        loss: case
            .get("its loss")
            .map(|loss| Written::of("loss", Loss::random(percent(loss)))),
        ..Direction::default()
    };
    let mut groups = vec![Group {
        back: Some(vec![1]),
        ..Group::tested(vec![0])
    }];
    groups.extend(case.get("uploads").map(|count| Group {
        count,
        start: Some(DrawnTime::between(seconds(2.0), seconds(2.0))),
        back: Some(vec![0]),
        ..Group::other("upload", "cubic", vec![1])
    }));
    let draft = fill(Class::A, rtt, 0.5, 0.0);
    Ok(Draft {
        links: vec![link("down", pipe(case)), link("up", up)],
        groups,
        duration: match pause {
            Some(_) => seconds(40.0),
            None => draft.duration,
        },
        ..draft
    })
}

fn cellular(case: &Case) -> Drafted {
    let (rate, rtt) = (case.of("rate"), case.of("RTT"));
    let never = Duration::from_secs(3600);
    let every = |name| case.get(name).map_or(never, seconds);
    let path = Cellular {
        rate: mbps(rate),
        reverse_rate: mbps(rounded(rate * case.of("way back"), 3)),
        fading: case.of("fading"),
        reverse_slot: ms(case.of("grants every")),
        stall_interval: every("stalls every"),
        handover_interval: every("hand-overs every"),
        ..Cellular::default()
    };
    let direction = Direction {
        delay: delay(rtt / 2.0),
        queue: packets(case.of("buffer")),
        ..Direction::default()
    };
    let source = Value::from(&path);
    let generator = Generator::Cellular(path);
    let only = Link {
        generated: Some(Written::new("cellular", generator, source)),
        ..link("L", impaired(case, direction)?)
    };
    let draft = fill(Class::C, rtt, 1.0, lost(case));
    Ok(Draft {
        links: vec![only],
        groups: vec![Group::tested(vec![0])],
        duration: seconds(CHANGING),
        ..draft
    })
}

fn wifi(case: &Case) -> Drafted {
    let (rtt, jitter) = (case.of("RTT"), case.get("jitter"));
    let rate = Written::parse(
        "wifi",
        &format!("{} Mbit/s", case.word("Wi-Fi").unwrap_or("65")),
    )?;
    let channel = WifiSpec::at(rate.value).map_err(|why| rate.fail(why))?;
    let first = Link {
        wifi: Some(rate.with(channel)),
        ..link(
            "W",
            Direction {
                queue: packets(case.of("buffer")),
                ..Direction::default()
            },
        )
    };
    let behind = case.get("behind it");
    let rest = Direction {
        rate: behind.map(|rate| constant(mbps(rate))),
        delay: jittery(rtt / 2.0, jitter),
        queue: behind.and_then(|_| bdp(1.0)),
        ..Direction::default()
    };
    let queue = 0.5 + 3.0 * jitter.unwrap_or(0.0) / rtt;
    Ok(Draft {
        links: vec![first, link("B", impaired(case, rest)?)],
        groups: vec![Group::tested(vec![0, 1])],
        ..fill(Class::F, rtt, queue, lost(case))
    })
}

fn churn(case: &Case) -> Drafted {
    let (rate, load) = (case.of("rate"), case.of("their load") / 100.0);
    let size = case.of("short flows of");
    // 8 kbit in a kB.
    let count = (rate * load * 1e3 * STEADY / (8.0 * size))
        .round()
        .clamp(1.0, 3000.0);
    let by_short = rounded(count * size * 8e-3 / STEADY, 3).min(rate * 0.9);
    let mut draft = fill(Class::D, case.of("RTT"), 1.0, 0.0);
    if let Aim::Fill { taken, .. } = &mut draft.aim {
        *taken = mbps(by_short).as_bits_per_sec() as f64;
    }
    let others = case.word("their algorithm").unwrap_or("cubic");
    let short = Group {
        count,
        size: Some(kilobytes(size)),
        start: Some(DrawnTime::within(seconds(STEADY))),
        ..Group::other("short", others, vec![0])
    };
    Ok(Draft {
        links: vec![link("L", pipe(case))],
        groups: vec![Group::tested(vec![0]), short],
        ..draft
    })
}

fn own_kind(case: &Case) -> Drafted {
    let (flows, rtt) = (case.of("flows"), case.of("RTT"));
    let starts = seconds(case.get("starts within").unwrap_or(0.5));
    let group = |count: f64, route: Vec<usize>| Group {
        count,
        start: Some(DrawnTime::within(starts)),
        ..Group::tested(route)
    };
    let mut links = vec![link("L", pipe(case))];
    let groups = match case.get("half of them with RTTs") {
        None => vec![group(flows, vec![0])],
        Some(times) => {
            let far = Direction {
                delay: delay(rounded((times - 1.0) * rtt / 2.0, 3)),
                ..Direction::default()
            };
            links.push(link("far", far));
            let further = Group {
                name: "u".to_owned(),
                ..group((flows / 2.0).floor(), vec![1, 0])
            };
            vec![group((flows / 2.0).ceil(), vec![0]), further]
        }
    };
    let aim = Aim::Own {
        goal: 0.9,
        queue: 0.5,
        lost: 0.0,
        settled: None,
    };
    Ok(Draft {
        links,
        groups,
        sample: Some(seconds(1.0)),
        ..of(Class::D, aim, rtt, CHANGING)
    })
}

fn mixture(case: &Case) -> Drafted {
    let mut groups = vec![Group {
        count: case.of("flows"),
        ..Group::tested(vec![0])
    }];
    for controller in OTHERS {
        let count = case.get(&format!("{controller} flows"));
        groups.extend(count.map(|count| Group {
            count,
            ..Group::other(format!("others-{controller}"), controller, vec![0])
        }));
    }
    if groups.len() == 1 {
        groups.push(Group::other("others", "cubic", vec![0]));
    }
    for group in &mut groups {
        group.start = Some(two_seconds());
    }
    Ok(Draft {
        links: vec![link("L", impaired(case, pipe(case))?)],
        groups,
        ..share(case.of("RTT"))
    })
}

fn changes(case: &Case) -> Drafted {
    let (rate, rtt, half) = (case.of("rate"), case.of("RTT"), case.of("half a period"));
    let mut direction = pipe(case);
    if let Some(part) = case.get("rate falls to") {
        let rates = [mbps(rate), mbps(rounded(rate * part, 3))];
        let step = |i: usize| (seconds(rounded(i as f64 * half, 6)), rates[i % 2]);
        let steps = (CHANGING / half).ceil() as usize;
        direction.rate = Some(in_steps((0..steps).map(step).collect())?);
    }
    if let Some(times) = case.get("RTT rises to") {
        let steps = [rtt / 2.0, rounded(rtt / 2.0 * times, 4)].map(ms);
        direction.delay = Some(repeated_delay("delay", seconds(half), steps.into())?);
    }
    if let Some(count) = case.get("outages") {
        let outages = DrawnOutages {
            count: count as u32,
            length: seconds(case.of("of")),
            within: None,
        };
        let loss = Loss {
            random_outages: Some(Written::of("outages", outages)),
            ..Loss::default()
        };
        direction.loss = Some(Written::of("loss", loss));
    }
    let draft = fill(Class::C, rtt, 0.5, 0.0);
    Ok(Draft {
        links: vec![link("L", direction)],
        groups: vec![Group::tested(vec![0])],
        duration: seconds(CHANGING),
        ..draft
    })
}

fn short(case: &Case) -> Drafted {
    let long = case.word("beside");
    let long = long.map(|others| Group::other("long", others, vec![0]));
    let begin = DrawnTime::between(seconds(5.0), seconds(7.0));
    let transfer = Group {
        size: Some(kilobytes(case.of("transfer of"))),
        start: long.is_some().then_some(begin),
        ..Group::tested(vec![0])
    };
    let aim = Aim::Completion { goal: 1.05 };
    Ok(Draft {
        links: vec![link("L", impaired(case, pipe(case))?)],
        groups: long.into_iter().chain([transfer]).collect(),
        ..of(Class::G, aim, case.of("RTT"), CHANGING)
    })
}
