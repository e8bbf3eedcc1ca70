//! What was found, in two sentences: how bad it is, and which numbers say so.

use super::goal::{Detail, Measured};
use super::{Find, Hunt, OfFamily, Target};
use whimbrel_rank::score::{References, five_packets, score};
use whimbrel_rank::{Aim, Cell, MatrixPoint, Measures, Runs};

/// A number with its interval: `0.31 (0.28 to 0.34)`.
fn with_interval(measured: &Measured) -> String {
    let interval = measured.interval();
    match interval.ends() {
        Some((low, high)) => {
            let low = low.max(0.0);
            format!("{:.2} ({low:.2} to {high:.2})", interval.mean)
        }
        None => format!("{:.2}", interval.mean),
    }
}

/// How bad it is, and what the numbers are.
pub fn sentences(target: &Target, find: &Find) -> [String; 2] {
    let words = find.case.words();
    let family = find.case.family.summary;
    let seeds = find.measured.ratios.len();
    let name = target.name();
    match &find.measured.detail {
        Detail::Scores {
            subject,
            best,
            runs,
        } => [
            format!(
                "On {family} ({words}) {name} has the score {:.2} and {}, the best of the others, \
                 {:.2}: a ratio of {} with {seeds} fresh seeds.",
                subject.interval().mean,
                best.controller,
                best.interval().mean,
                with_interval(&find.measured)
            ),
            format!(
                "{}; {}.",
                numbers(&find.point, subject, best),
                cause(&find.point, subject, best, runs)
            ),
        ],
        Detail::Decisions(all) => [
            format!(
                "On {family} ({words}) the balanced accuracy of {name} is {} with {seeds} fresh \
                 seeds; 0.5 is that of an answer without a look.",
                with_interval(&find.measured)
            ),
            format!(
                "Of {} random losses it takes {} for congestion, and of {} losses to full queues \
                 {} for random.",
                all.random(),
                all.random_as_congestion,
                all.congestion(),
                all.congestion_as_random
            ),
        ],
    }
}

/// The numbers of both, as far as the score depends on them.
fn numbers(point: &MatrixPoint, subject: &Cell, best: &Cell) -> String {
    let (name, other) = (&subject.controller, &best.controller);
    let (a, b) = (&subject.mean, &best.mean);
    let rate = |m: &Measures| format!("{:.2}", m.rate / 1e6);
    let percent = |x: f64| format!("{:.2} %", x * 100.0);
    let mut parts = match point.aim {
        Aim::Completion { .. } => vec![format!(
            "{name} takes {:.2} s and {other} {:.2} s",
            a.completion, b.completion
        )],
        _ => vec![format!(
            "{name} delivers {} Mbit/s and {other} {}",
            rate(a),
            rate(b)
        )],
    };
    let rtt = point.rtt.as_millis_f64();
    match point.aim {
        Aim::Share { .. } => {
            let others = |m: &Measures| format!("{:.2}", m.others / 1e6);
            parts.push(format!("of a fair share {:.2} and {:.2}", a.share, b.share));
            parts.push(format!(
                "each neighbour keeps {} and {} Mbit/s",
                others(a),
                others(b)
            ));
        }
        _ => parts.push(format!(
            "packets wait up to {:.0} ms and {:.0} ms (95th percentile)",
            a.delay * rtt,
            b.delay * rtt
        )),
    }
    if let Aim::Own { .. } = point.aim {
        let jain = |m: &Measures| m.jain_in_windows.unwrap_or(m.jain);
        parts.push(format!("Jain's index is {:.2} and {:.2}", jain(a), jain(b)));
    }
    parts.push(format!(
        "{} and {} are retransmitted",
        percent(a.retransmitted),
        percent(b.retransmitted)
    ));
    parts.join(", ")
}

/// Takes some measures of another run.
type Exchange = fn(&mut Measures, &Measures);

/// What would raise the score most if it were as the best's, and whether that alone would make most
/// of the difference.
fn cause(point: &MatrixPoint, subject: &Cell, best: &Cell, runs: &Runs) -> String {
    let groups: [(&str, Exchange); 4] = [
        ("goodput", |m, of| {
            m.rate = of.rate;
            m.efficiency = of.efficiency;
            m.share = of.share;
            m.utilization = of.utilization;
            m.completion = of.completion;
        }),
        ("the queue and its losses", |m, of| {
            m.delay = of.delay;
            m.wait = of.wait;
            m.overflow = of.overflow;
        }),
        ("what its neighbours keep and lose", |m, of| {
            m.others = of.others;
            m.others_overflow = of.others_overflow;
        }),
        ("unfairness among its own flows", |m, of| {
            m.jain = of.jain;
            m.jain_in_windows = of.jain_in_windows;
            m.settled = of.settled;
        }),
    ];
    let references = References::of(point, runs);
    let gain = |exchange: Exchange| {
        let mut m = subject.mean;
        exchange(&mut m, &best.mean);
        score(point, &m, &references, five_packets(point, &subject.mean))
    };
    let gains = groups
        .iter()
        .map(|(name, exchange)| (*name, gain(*exchange)));
    let most = gains.reduce(|a, b| if b.1 > a.1 { b } else { a });
    let (own, other) = (gain(|_, _| {}), best.interval().mean);
    match most.map(|(name, score)| (name, score - own)) {
        Some((name, more)) if more > (other - own) / 2.0 => {
            format!("most of the difference is {name}")
        }
        Some((name, more)) if more > 0.0 => {
            format!("the largest part of the difference is {name}, but not most of it")
        }
        _ => "no measure alone makes the difference".to_owned(),
    }
}

/// One line for each family: its name, paths tried, the ratio in the search, and with fresh seeds.
pub fn lines(hunt: &Hunt) -> Vec<[String; 5]> {
    let line = |one: &OfFamily| {
        let with = match &one.confirmed.detail {
            Detail::Scores { best, .. } => best.controller.clone(),
            Detail::Decisions(_) => "-".to_owned(),
        };
        [
            one.case.family.name.to_owned(),
            one.evaluations.to_string(),
            format!("{:.2}", one.searched),
            with_interval(&one.confirmed),
            with,
        ]
    };
    hunt.families.iter().map(line).collect()
}
