//! The advice on a path as sentences and as JSON.

mod table;

pub use table::table;

use crate::advise::{Candidate, Request, USUAL, tied};
use crate::transport::carriers;
use serde_json::{Value, json};
use std::fmt::Write as _;
use whimbrel_cc::Spec;
use whimbrel_units::Bytes;

/// Goodputs that differ less than this, relatively, are alike.
const ALIKE: f64 = 0.05;

fn show(bits: f64) -> String {
    if bits >= 1e6 {
        format!("{:.1} Mbit/s", bits * 1e-6)
    } else {
        format!("{:.0} kbit/s", bits * 1e-3)
    }
}

/// A time for a reader: `0.4 ms`, `72 ms`.
fn millis(seconds: f64) -> String {
    match seconds * 1e3 {
        few if few < 9.95 => format!("{few:.1} ms"),
        many => format!("{many:.0} ms"),
    }
}

/// The advice in three sentences, with one more about ties and one about a file.
pub fn sentences(request: &Request, measured: &[Candidate]) -> Vec<String> {
    let neighbours = &request.neighbours;
    let Some(best) = measured.first() else {
        return Vec::new();
    };
    let usual = measured.iter().find(|one| one.name == USUAL);
    let gain = match usual {
        Some(_) if best.name == USUAL => {
            "Nothing gains over CUBIC here without harming others".to_owned()
        }
        Some(usual) => match best.goodput / usual.goodput.max(1.0) {
            ratio if (ratio - 1.0).abs() < ALIKE => format!(
                "CUBIC delivers as much, with a queue of {}",
                millis(usual.queue)
            ),
            ratio => format!("That is {ratio:.1} times CUBIC's {}", show(usual.goodput)),
        },
        None => String::new(),
    };
    let spec = best.name.parse::<Spec>().ok();
    let carriers = spec.as_ref().map_or(String::new(), carriers);
    let (ours, kernel) = carriers.split_once(", kernel").unwrap_or((&carriers, ""));
    let ours: Vec<String> = ours
        .split(", ")
        .map(|word| format!("`whimbrel {word}`"))
        .collect();
    let verb = if ours.len() == 1 { "runs" } else { "run" };
    let mut runs = format!("{} {verb} it today", ours.join(" and "));
    if kernel.is_empty() {
        runs += "; the Linux kernel, and so nginx, does not have it";
    } else {
        let name = kernel.trim_matches([' ', '(', ')']);
        let _ = write!(
            runs,
            ", and so do the Linux kernel and nginx on it (`{name}`)"
        );
    }
    let one = neighbours.count == 1;
    let mut all = vec![
        format!(
            "Use {}: it delivers {} of the {} that the path carries, with a queue of at most {} \
             (95 % of the time).",
            best.name,
            show(best.goodput),
            show(best.ideal),
            millis(best.queue)
        ),
        format!(
            "{gain}. Beside {neighbours}, {} takes {:.2} of a fair share, and {} {:.0} % of what {} \
             beside {} own kind.",
            best.name,
            best.beside.share,
            if one { "that flow keeps" } else { "those keep" },
            best.beside.kept * 100.0,
            if one { "it has" } else { "they have" },
            if one { "its" } else { "their" },
        ),
        format!("{runs}."),
    ];
    let file = request.size.and_then(|size| file_sentence(size, measured));
    all.extend(file);
    all.extend(ties(measured));
    all
}

/// Which algorithms are as good as the best, and why they are not the advice.
fn ties(measured: &[Candidate]) -> Option<String> {
    let others = measured.get(1..tied(measured))?;
    let shortest = measured.first()?.queue;
    let named = |one: &Candidate| format!("{} ({})", one.name, millis(one.queue));
    let names: Vec<String> = others.iter().map(named).collect();
    (!names.is_empty()).then(|| {
        format!(
            "As good within what other runs might change, but with {} queues: {}.",
            match others.iter().all(|one| one.queue > shortest) {
                true => "longer",
                false => "no shorter",
            },
            names.join(", ")
        )
    })
}

/// The advice as JSON; `path` is what was measured of the path, or null.
pub fn json(request: &Request, measured: &[Candidate], path: Value) -> Value {
    let best = measured.first();
    let row = |one: &Candidate| {
        let spec = one.name.parse::<Spec>().ok();
        json!({
            "algorithm": one.name,
            "score": one.score(),
            "goodput_bps": one.goodput,
            "queue_ms": one.queue * 1e3,
            "lost": one.lost,
            "share": one.beside.share,
            "neighbours_keep": one.beside.kept,
            "file_seconds": one.takes,
            "carriers": spec.as_ref().map_or(String::new(), carriers),
        })
    };
    json!({
        "path": path,
        "use": best.map(|best| &best.name),
        "score": best.map(Candidate::score),
        "sentences": sentences(request, measured),
        "table": measured.iter().map(row).collect::<Vec<_>>(),
    })
}

/// What the file takes, with the best and with the usual algorithm.
fn file_sentence(size: Bytes, measured: &[Candidate]) -> Option<String> {
    let best = measured.first()?;
    let usual = measured.iter().find(|one| one.name == USUAL)?;
    let (seconds, slow) = (best.takes?, usual.takes?);
    let beside = match best.name == USUAL {
        true => String::new(),
        false => format!(", and {} with {USUAL}", span(slow)),
    };
    let name = &best.name;
    Some(format!(
        "A file of {size} takes {} with {name}{beside}.",
        span(seconds)
    ))
}

/// A time for a reader: `0.45 s`, `12.3 s`, `4 min 05 s`, `2 h 10 min`.
pub fn span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        s if s < 9.95 => format!("{s:.2} s"),
        s if s < 59.95 => format!("{s:.1} s"),
        s if s < 3599.5 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => {
            let minutes = (seconds / 60.0).round() as u64;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_written_for_a_reader() {
        assert_eq!(
            [0.0004, 0.00996, 0.0724].map(millis),
            ["0.4 ms", "10 ms", "72 ms"]
        );
    }

    #[test]
    fn of_equal_scores_the_shortest_queue_is_the_advice() {
        let one = |name: &str, alone, queue, error| Candidate {
            name: name.to_owned(),
            alone,
            error,
            goodput: 1e6,
            ideal: 2e6,
            queue,
            lost: 0.0,
            beside: crate::neighbours::Beside {
                kept: 1.0,
                share: 1.0,
            },
            takes: None,
        };
        let mut all = [
            one("bbr", 0.66, 0.3, 0.0),
            one("copa", 0.65, 0.01, 0.0),
            one("vegas", 0.6, 0.0, 0.0),
        ];
        crate::advise::prefer_short_queues(&mut all);
        assert_eq!(
            all.each_ref().map(|one| &*one.name),
            ["copa", "bbr", "vegas"]
        );
        let text = ties(&all).expect("a tie");
        assert!(text.contains("longer queues: bbr (300 ms)."), "{text}");
        assert_eq!(ties(&all[..1]), None);
        assert_eq!(ties(&[]), None);

        // The usual one is no worse for being usual.
        let mut all = ["tahoe", "reno", "cubic"].map(|name| one(name, 0.8, 12.0, 0.0));
        crate::advise::prefer_short_queues(&mut all);
        assert_eq!(
            all.each_ref().map(|one| &*one.name),
            ["cubic", "tahoe", "reno"]
        );
        let text = ties(&all).expect("a tie");
        assert!(
            text.contains("no shorter queues: tahoe (12000 ms)"),
            "{text}"
        );

        // Their intervals overlap; the third is worse whatever its interval is.
        let mut all = [
            one("bbr", 0.66, 0.3, 0.04),
            one("copa", 0.6, 0.01, 0.05),
            one("vegas", 0.5, 0.0, 0.4),
        ];
        crate::advise::prefer_short_queues(&mut all);
        assert_eq!(
            all.each_ref().map(|one| &*one.name),
            ["copa", "bbr", "vegas"]
        );
    }

    #[test]
    fn times_are_written_for_a_reader() {
        let all = [0.451, 12.34, 59.97, 245.0, 3599.6, 7800.0].map(span);
        let expected = [
            "0.45 s",
            "12.3 s",
            "1 min 00 s",
            "4 min 05 s",
            "1 h 00 min",
            "2 h 10 min",
        ];
        assert_eq!(all, expected);
    }
}
