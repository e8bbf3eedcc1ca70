//! The transfers that a server is receiving, as a table or as lines.

use whimbrel_report::{cell, text_table};
use whimbrel_transfer::Incoming;
use whimbrel_transfer::service::{Arrival, Arrivals};
use whimbrel_units::Bytes;

/// The longest name and address shown on a terminal, so that a row has at most 80 columns.
const NAME: usize = 18;
const PEER: usize = 20;
/// Heads of the columns, and whether each is aligned to the right.
const COLUMNS: [(&str, bool); 7] = [
    ("name", false),
    ("from", false),
    ("Mbit/s", true),
    ("share", true),
    ("prio", true),
    ("V/Vm", true),
    ("done", true),
];

/// All transfers together.
fn sum(arrivals: &Arrivals) -> String {
    let count = arrivals.transfers.len();
    let noun = if count == 1 { "transfer" } else { "transfers" };
    let fairness = arrivals.fairness;
    let fairness = fairness.map_or_else(String::new, |f| format!(", weighted fairness {f:.3}"));
    format!("{count} {noun}, {}{fairness}", arrivals.total())
}

/// The transfers as a table, at most 80 columns wide; empty without transfers.
pub fn table(arrivals: &Arrivals) -> String {
    if arrivals.transfers.is_empty() {
        return String::new();
    }
    let row = |transfer: &Arrival| {
        let i = &transfer.incoming;
        let mut rows = vec![vec![
            shortened(&i.name.to_string(), NAME),
            shortened(&transfer.peer().to_string(), PEER),
            format!("{:.1}", transfer.rate.as_bits_per_sec() as f64 / 1e6),
            format!("{:.0} %", 100.0 * arrivals.part(transfer)),
            cell(i.share.map(|s| s.priority.get().to_string())),
            cell(transfer.efficiency().map(|ratio| format!("{ratio:.2}"))),
            done(i),
        ]];
        rows.extend(transfer.paths.iter().map(|(peer, rate)| {
            let mut row = vec![String::new(); COLUMNS.len()];
            row[0] = "└".to_owned();
            row[1] = shortened(&peer.to_string(), PEER);
            row[2] = format!("{:.1}", rate.as_bits_per_sec() as f64 / 1e6);
            row
        }));
        rows
    };
    let rows: Vec<Vec<String>> = arrivals.transfers.iter().flat_map(row).collect();
    format!("{}{}", text_table(&COLUMNS, &rows), sum(arrivals))
}

/// The transfers as lines.
pub fn lines(arrivals: &Arrivals) -> String {
    let line = |transfer: &Arrival| {
        let i = &transfer.incoming;
        let priority = i.share.map(|share| share.priority.get());
        let priority = priority.map_or_else(String::new, |p| format!(", priority {p}"));
        let ratio = transfer.efficiency();
        let ratio = ratio.map_or_else(String::new, |ratio| format!(", V/Vm {ratio:.2}"));
        let of = i
            .size
            .map_or_else(String::new, |size| format!(" of {size}"));
        let paths = transfer
            .paths
            .iter()
            .map(|(peer, rate)| format!("{peer} {rate}"));
        let paths: Vec<String> = paths.collect();
        let paths = match paths.is_empty() {
            true => String::new(),
            false => format!(" (over {})", paths.join(", ")),
        };
        format!(
            "receiving {} from {}: {}{of}, {}{paths}, share {:.0} %{priority}{ratio}",
            i.name,
            transfer.peer(),
            done(i),
            transfer.rate,
            100.0 * arrivals.part(transfer),
        )
    };
    let mut lines: Vec<String> = arrivals.transfers.iter().map(line).collect();
    if lines.len() > 1 || arrivals.fairness.is_some() {
        lines.push(format!("receiving {}", sum(arrivals)));
    }
    lines.join("\n")
}

/// The part of the file that has arrived, or how much if its size is not known.
fn done(incoming: &Incoming) -> String {
    match incoming.size.map(Bytes::get) {
        Some(0) => "100 %".to_owned(),
        Some(size) => {
            let received = incoming.received.get().min(size);
            format!("{:.0} %", 100.0 * received as f64 / size as f64)
        }
        None => incoming.received.to_string(),
    }
}

/// At most `max` characters of a text; an ellipsis replaces its middle.
fn shortened(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let (head, tail) = (max / 2, max - max / 2 - 1);
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(count - tail).collect();
    format!("{first}…{last}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use whimbrel_cc::fairness::Priority;
    use whimbrel_transfer::service::Meter;
    use whimbrel_transfer::{IncomingPath, Receiving, RemotePath, Share};
    use whimbrel_units::Duration;
    use whimbrel_units::Rate;

    fn incoming(id: u64, name: &str, received: u64, share: Option<(u8, u64, u64)>) -> Incoming {
        let rate = |mbits| Rate::from_bits_per_sec(mbits * 1_000_000);
        Incoming {
            id,
            peer: "[::ffff:10.77.0.1]:40001".parse().expect("an address"),
            name: RemotePath::new(name).expect("a name"),
            size: Some(Bytes::new(100_000_000)),
            received: Bytes::new(received),
            elapsed: Duration::from_secs(2),
            share: share.map(|(priority, delivered, allocated)| Share {
                priority: Priority::new(priority).expect("from 1 to 8"),
                delivered: rate(delivered),
                allocated: rate(allocated),
            }),
            paths: Vec::new(),
        }
    }

    fn arrivals(transfers: Vec<Incoming>, fairness: Option<f64>) -> Arrivals {
        let receiving = Receiving {
            transfers,
            fairness,
        };
        Meter::default().measure(Duration::from_secs(5), Instant::now(), receiving)
    }

    #[test]
    fn the_table_has_shares_and_at_most_80_columns() {
        let long = "a-very-long-name-of-a-file-that-nobody-needs-to-read.tar.gz";
        let all = vec![
            incoming(1, long, 10_000_000, Some((2, 40, 50))),
            incoming(2, "b", 30_000_000, Some((4, 100, 100))),
            incoming(3, "c", 0, None),
        ];
        let table = table(&arrivals(all, Some(0.9876)));
        assert!(table.lines().all(|l| l.chars().count() <= 80), "{table}");
        let fields = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = table.lines().rev().map(fields).collect();
        assert_eq!(lines[0], "3 transfers, 160 Mbit/s, weighted fairness 0.988");
        assert_eq!(lines[1], "c 10.77.0.1:40001 0.0 0 % - - 0 %");
        assert_eq!(lines[2], "b 10.77.0.1:40001 120.0 75 % 4 1.00 30 %");
        assert!(
            lines[3].ends_with(" 10.77.0.1:40001 40.0 25 % 2 0.80 10 %"),
            "{table}"
        );
    }

    #[test]
    fn each_of_several_paths_has_a_row() {
        let mut meter = Meter::default();
        let start = Instant::now();
        let mut measure = |seconds: u64, received: u64| {
            let path = |link: u8, part: u64| IncomingPath {
                peer: ([10, 77, link, 1], 40001).into(),
                received: Bytes::new(received / part),
            };
            let mut transfer = incoming(1, "a", received, None);
            transfer.paths = vec![path(0, 1), path(1, 4)];
            let receiving = Receiving {
                transfers: vec![transfer],
                fairness: None,
            };
            let now = start + std::time::Duration::from_secs(seconds);
            meter.measure(Duration::from_secs(seconds), now, receiving)
        };
        measure(1, 5_000_000);
        let second = measure(3, 25_000_000);
        let table = table(&second);
        let rows = table.lines().filter(|line| line.contains('└'));
        let fields = rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "));
        let rows: Vec<String> = fields.collect();
        assert_eq!(
            rows,
            ["└ 10.77.0.1:40001 80.0", "└ 10.77.1.1:40001 20.0"],
            "{table}"
        );
        let paths = "(over 10.77.0.1:40001 80 Mbit/s, 10.77.1.1:40001 20 Mbit/s)";
        assert!(lines(&second).contains(paths), "{}", lines(&second));
        assert_eq!(
            second.json()["transfers"][0]["paths"][1]["rate_bps"],
            20_000_000
        );
    }

    #[test]
    fn lines_and_json_agree() {
        let arrivals = arrivals(
            vec![incoming(1, "a", 10_000_000, Some((8, 40, 50)))],
            Some(1.0),
        );
        assert_eq!(
            lines(&arrivals),
            "receiving a from 10.77.0.1:40001: 10 % of 100 MB, 40 Mbit/s, share 100 %, \
             priority 8, V/Vm 0.80\nreceiving 1 transfer, 40 Mbit/s, weighted fairness 1.000"
        );
        let json = arrivals.json();
        for (path, value) in [
            ("/event", "\"receiving\""),
            ("/t_s", "5.0"),
            ("/weighted_fairness", "1.0"),
            ("/transfers/0/rate_bps", "40000000"),
            ("/transfers/0/share", "1.0"),
            ("/transfers/0/priority", "8"),
            ("/transfers/0/delivered_bps", "40000000"),
            ("/transfers/0/allocated_bps", "50000000"),
        ] {
            let found = json.pointer(path).map(ToString::to_string);
            assert_eq!(found.as_deref(), Some(value), "{path}");
        }
    }
}
