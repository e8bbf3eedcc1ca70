//! The league: senders by the scores of the matrix, and each family of controllers beside the
//! others' implementations of it, as Markdown.

use crate::show::mean;
use std::collections::BTreeMap;
use whimbrel_rank::{League, Library, MatrixPoint, Runs};
use whimbrel_stacks::catalog::{COMPARED, Sender};
use whimbrel_stacks::runs::Played;

/// The simulator's algorithms whose results the scores at these points are relative to.
pub fn references(points: &[MatrixPoint]) -> Vec<String> {
    let mut names = vec!["cubic".to_owned(), "bbr".to_owned()];
    for neighbour in points.iter().filter_map(|point| point.neighbour.clone()) {
        if !names.contains(&neighbour) {
            names.push(neighbour);
        }
    }
    names
}

/// The league, and a table with the efficiency of each sender at each point.
pub fn markdown(
    points: &[MatrixPoint],
    senders: &[Sender],
    played: &[Played],
    references: &[Played],
) -> String {
    let mut runs = Runs::default();
    for Played { run, measures, .. } in references {
        if let Some(measures) = measures {
            let key = (run.point.clone(), run.controller.clone());
            runs.entry(key).or_default().push(*measures);
        }
    }
    for Played { run, measures, .. } in played {
        if let Some(measures) = measures {
            let name = format!("{}:{}", run.stack, run.controller);
            let key = (run.point.clone(), name);
            runs.entry(key).or_default().push(*measures);
        }
    }
    let library = Library {
        version: String::new(),
        points: points.to_vec(),
    };
    let names: Vec<String> = senders.iter().map(Sender::to_string).collect();
    let league = League::new(&library, &names, &runs);
    let versions: BTreeMap<String, &'static str> = senders
        .iter()
        .map(|sender| (sender.to_string(), sender.stack().version))
        .collect();
    let of = |name: &str| -> Vec<&Played> {
        let same =
            |played: &&Played| format!("{}:{}", played.run.stack, played.run.controller) == name;
        played.iter().filter(same).collect()
    };
    let ids: Vec<&str> = points.iter().map(|point| point.id.as_str()).collect();
    let mut text = "| | sender | version | score | spurious | CPU/packet |".to_owned();
    for id in &ids {
        text += &format!(" {id} |");
    }
    text += "\n|--:|---|---|--:|--:|--:|";
    text += &"--:|".repeat(ids.len());
    text.push('\n');
    for (place, standing) in league.table.iter().enumerate() {
        let name = &standing.controller;
        let runs = of(name);
        let spurious: Option<Vec<f64>> = runs
            .iter()
            .map(|played| {
                let sent = played.run.packets_sent.max(1) as f64;
                Some(100.0 * played.run.spurious? as f64 / sent)
            })
            .collect();
        let spurious = spurious.map_or("-".to_owned(), |all| {
            format!("{:.2} %", mean(all.into_iter()))
        });
        // Of all packets: at a point with few of them the handshake would be most of it.
        let sent = |played: &&Played| played.run.packets_sent as f64;
        let cpu = runs
            .iter()
            .map(|played| sent(played) * played.run.cpu_us_per_packet)
            .sum::<f64>()
            / runs.iter().map(sent).sum::<f64>().max(1.0);
        text += &format!(
            "| {} | `{name}` | {} | {:.3} | {spurious} | {cpu:.1} µs |",
            place + 1,
            versions.get(name).unwrap_or(&""),
            standing.all.mean,
        );
        for id in &ids {
            let here = runs.iter().filter(|played| played.run.point == **id);
            let efficiency = mean(here.map(|played| played.run.efficiency));
            text += &format!(" {:.0} |", efficiency * 100.0);
        }
        text.push('\n');
    }
    text
}

/// For each family: the efficiency of this project's senders at each point, and the range of the
/// others', of all and of those without a known fault. An efficiency outside of the latter is bold.
pub fn families(points: &[MatrixPoint], senders: &[Sender], played: &[Played]) -> String {
    let efficiency = |sender: &Sender, point: &MatrixPoint| {
        let stack = sender.stack().name;
        let same = |run: &&Played| {
            (run.run.stack.as_str(), &run.run.controller, &run.run.point)
                == (stack, &sender.controller, &point.id)
        };
        mean(played.iter().filter(same).map(|one| one.run.efficiency)) * 100.0
    };
    // In the order of the points: the least and the greatest, in whole percents as printed.
    let ranges = |senders: &[&Sender]| -> Vec<(f64, f64)> {
        let range = |point| {
            let all = senders
                .iter()
                .map(|sender| efficiency(sender, point).round());
            all.fold((f64::INFINITY, 0.0), |(least, most), value| {
                (value.min(least), value.max(most))
            })
        };
        points.iter().map(range).collect()
    };
    let mut text = "| family | sender |".to_owned();
    for point in points {
        text += &format!(" {} |", point.id);
    }
    text += "\n|---|---|";
    text += &"--:|".repeat(points.len());
    text.push('\n');
    for family in COMPARED {
        let all = senders.iter().filter(|sender| sender.family() == family);
        let (ours, others): (Vec<&Sender>, Vec<&Sender>) =
            all.partition(|sender| sender.stack().is_ours());
        let sound = others.iter().filter(|sender| !sender.is_faulty());
        let sound: Vec<&Sender> = sound.copied().collect();
        let sound_ranges = ranges(&sound);
        for sender in ours {
            text += &format!("| {family} | `{sender}` |");
            for (point, (least, most)) in points.iter().zip(&sound_ranges) {
                let value = efficiency(sender, point).round();
                let inside = sound.is_empty() || (*least..=*most).contains(&value);
                let mark = if inside { "" } else { "**" };
                text += &format!(" {mark}{value:.0}{mark} |");
            }
            text.push('\n');
        }
        let rows = [
            (sound.len(), "without a known fault", sound_ranges),
            (others.len(), "in all", ranges(&others)),
        ];
        for (count, which, ranges) in rows {
            if count == 0 {
                continue;
            }
            text += &format!("| {family} | {count} of others {which} |");
            for (least, most) in &ranges {
                text += &format!(" {least:.0}–{most:.0} |");
            }
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::tests::run;
    use whimbrel_rank::Version;

    #[test]
    fn each_point_has_the_efficiency_that_was_measured_there() {
        let mut points = Library::matrix(Version::Two).expect("the matrix").points;
        points.retain(|point| ["a01", "c03"].contains(&point.id.split('-').next().unwrap_or("")));
        let ids: Vec<String> = points.iter().map(|point| point.id.clone()).collect();
        let [first, second] = ids.as_slice() else {
            panic!("{ids:?}")
        };
        let of = |point: &str, efficiency, packets_sent| {
            let mut played = run("cubic", 1, false);
            played.run.point = point.to_owned();
            played.run.efficiency = efficiency;
            played.run.packets_sent = packets_sent;
            played.run.spurious = Some(1);
            played.run.cpu_us_per_packet = packets_sent as f64 / 100.0;
            played.measures = Some(whimbrel_rank::Measures::default());
            played
        };
        let played = [of(first, 0.9, 100), of(second, 0.25, 300)];
        let senders = Sender::all_of("noq:cubic").expect("a sender");
        let text = markdown(&points, &senders, &played, &[]);
        let row = text.lines().last().expect("a row");
        // 1 of 100 and of 300 packets; 1 us for 100 packets, 3 us for 300.
        assert!(row.starts_with("| 1 | `noq:cubic` |"), "{row}");
        assert!(row.ends_with(" | 0.67 % | 2.5 µs | 90 | 25 |"), "{row}");
    }
}
