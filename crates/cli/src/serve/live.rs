//! The display of the transfers that `serve` is receiving: a table on a terminal, lines elsewhere,
//! events as JSON, or a live view.

use crate::watch::{Curve, Screen, View};
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use whimbrel_transfer::{Counts, Incoming, Receiving};
use whimbrel_units::{Bytes, Duration, Rate};

/// Time between two displays: as JSON or on a terminal, and as lines.
const FAST: Duration = Duration::from_secs(1);
const SLOW: Duration = Duration::from_secs(10);
/// The longest name shown on a terminal, so that a row has at most 80 columns.
const NAME: usize = 18;
/// The longest address shown on a terminal.
const PEER: usize = 20;

/// Where transfers are shown.
pub enum Display {
    /// A table on a terminal that is drawn again and again.
    Terminal(ProgressBar),
    /// A line for each transfer.
    Lines,
    /// An event with all transfers.
    Json,
    /// A live view with curves.
    Watch(Box<Mutex<Watch>>),
}

/// The live view of a server.
pub struct Watch {
    screen: Screen,
    view: View,
    before: Counts,
}

/// Lines of events that a view keeps.
const EVENTS: usize = 200;

impl Watch {
    fn new(title: String) -> io::Result<Self> {
        let curves = ["received, Mbit/s", "transfers", "clients"];
        Ok(Self {
            screen: Screen::open()?,
            view: View {
                title,
                curves: curves.map(Curve::new).to_vec(),
                ..View::default()
            },
            before: Counts::default(),
        })
    }

    fn show(&mut self, state: &State, counts: &Counts) {
        let values = [
            state.total_bps() * 1e-6,
            state.transfers.len() as f64,
            counts.clients as f64,
        ];
        for (curve, value) in self.view.curves.iter_mut().zip(values) {
            curve.push(value);
        }
        let [sent, lost] = [
            counts.sent_packets.saturating_sub(self.before.sent_packets),
            counts.lost_packets.saturating_sub(self.before.lost_packets),
        ];
        if sent > 0 {
            let line = format!("a connection ended: {sent} packets sent from here, {lost} lost");
            self.note(line);
        }
        self.before = *counts;
        self.view.table = state.table();
        // A terminal that is gone ends the command by SIGHUP.
        let _ = self.screen.show(&self.view);
    }

    fn note(&mut self, line: String) {
        self.view.output.push(line);
        let more = self.view.output.len().saturating_sub(EVENTS);
        self.view.output.drain(..more);
    }
}

impl Display {
    /// The display for this process. Within `whimbrel link` the terminal belongs to the command at
    /// the near end, which may draw on it.
    pub fn new(as_json: bool) -> Self {
        let within_link = std::env::var_os("WHIMBREL_FAR").is_some();
        if as_json {
            return Self::Json;
        }
        if within_link || !std::io::stderr().is_terminal() {
            return Self::Lines;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let plain = ProgressStyle::with_template("{msg}");
        Self::Terminal(bar.with_style(plain.unwrap_or_else(|_| ProgressStyle::default_spinner())))
    }

    /// The live view, with this title.
    ///
    /// # Errors
    /// If standard error is not a terminal.
    pub fn watch(title: String) -> io::Result<Self> {
        Ok(Self::Watch(Box::new(Mutex::new(Watch::new(title)?))))
    }

    /// The time between two displays unless the user sets one.
    pub const fn interval(&self) -> Duration {
        match self {
            Self::Lines => SLOW,
            Self::Terminal(_) | Self::Json | Self::Watch(_) => FAST,
        }
    }

    /// Shows the transfers. Returns the text for standard output, if any: complete lines.
    pub fn show(&self, state: &State, counts: &Counts) -> Option<String> {
        match self {
            Self::Watch(watch) => {
                let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
                watch.show(state, counts);
                None
            }
            Self::Terminal(bar) => {
                bar.set_message(state.table());
                None
            }
            _ if state.transfers.is_empty() => None,
            Self::Lines => Some(state.lines()),
            Self::Json => Some(state.json().to_string()),
        }
    }

    /// Prints a line of events with `print`, without disturbing the table, or adds it to the view.
    pub fn print(&self, line: &str, print: impl FnOnce(&str)) {
        match self {
            Self::Terminal(bar) => bar.suspend(|| print(line)),
            Self::Lines | Self::Json => print(line),
            Self::Watch(watch) => {
                let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
                watch.note(line.to_owned());
            }
        }
    }
}

/// Computes rates from what had been received one interval before.
#[derive(Default)]
pub struct Meter {
    /// For each transfer the time and the bytes of the last state.
    before: HashMap<u64, (Instant, u64)>,
}

/// The transfers of one moment, with their rates.
pub struct State {
    /// Time since the server started.
    at: Duration,
    transfers: Vec<Measured>,
    fairness: Option<f64>,
}

struct Measured {
    incoming: Incoming,
    /// Since the last state, or since the start of the transfer.
    rate: Rate,
}

impl Meter {
    /// The state at `now`, for a server that started `at` before.
    pub fn measure(&mut self, at: Duration, now: Instant, receiving: Receiving) -> State {
        let mut next = HashMap::new();
        let mut measured = Vec::new();
        for incoming in receiving.transfers {
            let bytes = incoming.received;
            let (passed, arrived) = match self.before.get(&incoming.id) {
                Some((then, before)) => {
                    let passed = now.saturating_duration_since(*then).into();
                    (passed, bytes.get().saturating_sub(*before))
                }
                None => (incoming.elapsed, bytes.get()),
            };
            next.insert(incoming.id, (now, bytes.get()));
            let rate = Rate::over(whimbrel_units::Bytes::new(arrived), passed);
            measured.push(Measured { incoming, rate });
        }
        self.before = next;
        State {
            at,
            transfers: measured,
            fairness: receiving.fairness,
        }
    }
}

impl State {
    fn total_bps(&self) -> f64 {
        self.transfers.iter().map(Measured::bps).sum()
    }

    /// The part of what arrives that is this transfer's, 0 to 1.
    fn part(&self, transfer: &Measured) -> f64 {
        let total = self.total_bps();
        if total > 0.0 {
            transfer.bps() / total
        } else {
            0.0
        }
    }

    /// The last line of the table: all transfers together.
    fn sum(&self) -> String {
        let rate = Rate::from_bits_per_sec(self.total_bps() as u64);
        let count = self.transfers.len();
        let noun = if count == 1 { "transfer" } else { "transfers" };
        match self.fairness {
            Some(fairness) => format!("{count} {noun}, {rate}, weighted fairness {fairness:.3}"),
            None => format!("{count} {noun}, {rate}"),
        }
    }

    /// At most 80 columns wide; empty without transfers.
    fn table(&self) -> String {
        if self.transfers.is_empty() {
            return String::new();
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["name", "from", "Mbit/s", "share", "prio", "V/Vm", "done"]);
        for transfer in &self.transfers {
            let i = &transfer.incoming;
            table.add_row([
                shortened(&i.name.to_string(), NAME),
                shortened(&peer(i), PEER),
                format!("{:.1}", transfer.bps() / 1e6),
                format!("{:.0} %", 100.0 * self.part(transfer)),
                i.share
                    .map_or_else(|| "-".to_owned(), |s| s.priority.get().to_string()),
                efficiency(i).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
                done(i),
            ]);
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{}\n{}", table.trim_fmt(), self.sum())
    }

    fn lines(&self) -> String {
        let line = |transfer: &Measured| {
            let i = &transfer.incoming;
            let sharing = match (i.share, efficiency(i)) {
                (Some(share), Some(ratio)) => {
                    format!(", priority {}, V/Vm {ratio:.2}", share.priority.get())
                }
                (Some(share), None) => format!(", priority {}", share.priority.get()),
                (None, _) => String::new(),
            };
            format!(
                "receiving {} from {}: {}, {}, share {:.0} %{sharing}",
                i.name,
                peer(i),
                progress(i),
                transfer.rate,
                100.0 * self.part(transfer),
            )
        };
        let mut lines: Vec<String> = self.transfers.iter().map(line).collect();
        if lines.len() > 1 || self.fairness.is_some() {
            lines.push(format!("receiving {}", self.sum()));
        }
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let transfer = |transfer: &Measured| {
            let i = &transfer.incoming;
            json!({
                "peer": i.peer.to_string(),
                "name": i.name.to_string(),
                "bytes": i.size.map(Bytes::get),
                "received": i.received.get(),
                "seconds": i.elapsed.as_secs_f64(),
                "rate_bps": transfer.rate.as_bits_per_sec(),
                "share": self.part(transfer),
                "priority": i.share.map(|s| s.priority.get()),
                "delivered_bps": i.share.map(|s| s.delivered.as_bits_per_sec()),
                "allocated_bps": i.share.map(|s| s.allocated.as_bits_per_sec()),
            })
        };
        json!({
            "event": "receiving",
            "t_s": self.at.as_secs_f64(),
            "weighted_fairness": self.fairness,
            "transfers": self.transfers.iter().map(transfer).collect::<Vec<_>>(),
        })
    }
}

impl Measured {
    fn bps(&self) -> f64 {
        self.rate.as_bits_per_sec() as f64
    }
}

/// The client's address; an IPv4 address that is mapped into IPv6 as IPv4.
fn peer(incoming: &Incoming) -> String {
    let address = incoming.peer;
    std::net::SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}

/// V/Vm (21) of a transfer that shares by priority.
fn efficiency(incoming: &Incoming) -> Option<f64> {
    let share = incoming.share?;
    let allocated = share.allocated.as_bits_per_sec();
    (allocated > 0).then(|| share.delivered.as_bits_per_sec() as f64 / allocated as f64)
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

/// The same as part of a sentence.
fn progress(incoming: &Incoming) -> String {
    match incoming.size {
        Some(size) => format!("{} of {size}", done(incoming)),
        None => done(incoming),
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
    use whimbrel_cc::fairness::Priority;
    use whimbrel_transfer::{RemotePath, Share};

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
        }
    }

    fn state(transfers: Vec<Incoming>, fairness: Option<f64>) -> State {
        let receiving = Receiving {
            transfers,
            fairness,
        };
        Meter::default().measure(Duration::from_secs(5), Instant::now(), receiving)
    }

    #[test]
    fn a_rate_is_of_the_time_since_the_last_state() {
        let mut meter = Meter::default();
        let start = Instant::now();
        let mut measure = |after_ms, received| {
            let receiving = Receiving {
                transfers: vec![incoming(7, "a", received, None)],
                fairness: None,
            };
            let now = start + std::time::Duration::from_millis(after_ms);
            meter.measure(Duration::ZERO, now, receiving).transfers[0].rate
        };
        // 1 MB in the 2 s since the start of the transfer; 1 MB in half a second; nothing.
        assert_eq!(measure(0, 1_000_000), Rate::from_bits_per_sec(4_000_000));
        assert_eq!(measure(500, 2_000_000), Rate::from_bits_per_sec(16_000_000));
        assert_eq!(measure(1_000, 2_000_000), Rate::ZERO);
    }

    #[test]
    fn the_table_has_shares_and_at_most_80_columns() {
        let long = "a-very-long-name-of-a-file-that-nobody-needs-to-read.tar.gz";
        let state = state(
            vec![
                incoming(1, long, 10_000_000, Some((2, 40, 50))),
                incoming(2, "b", 30_000_000, Some((4, 100, 100))),
                incoming(3, "c", 0, None),
            ],
            Some(0.9876),
        );
        let table = state.table();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines.iter().all(|l| l.chars().count() <= 80), "{table}");
        let fields = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            fields(lines[1])[1..],
            ["10.77.0.1:40001", "40.0", "25", "%", "2", "0.80", "10", "%"]
        );
        assert_eq!(
            fields(lines[2]),
            [
                "b",
                "10.77.0.1:40001",
                "120.0",
                "75",
                "%",
                "4",
                "1.00",
                "30",
                "%"
            ]
        );
        assert_eq!(
            fields(lines[3]),
            ["c", "10.77.0.1:40001", "0.0", "0", "%", "-", "-", "0", "%"]
        );
        assert_eq!(lines[4], "3 transfers, 160 Mbit/s, weighted fairness 0.988");
    }

    #[test]
    fn lines_and_json_say_the_same() {
        let state = state(
            vec![incoming(1, "a", 10_000_000, Some((8, 40, 50)))],
            Some(1.0),
        );
        assert_eq!(
            state.lines(),
            "receiving a from 10.77.0.1:40001: 10 % of 100 MB, 40 Mbit/s, share 100 %, \
             priority 8, V/Vm 0.80\nreceiving 1 transfer, 40 Mbit/s, weighted fairness 1.000"
        );
        let json = state.json();
        assert_eq!(json["event"], "receiving");
        assert_eq!(json["t_s"], 5.0);
        assert_eq!(json["weighted_fairness"], 1.0);
        let transfer = &json["transfers"][0];
        assert_eq!(transfer["rate_bps"], 40_000_000);
        assert_eq!(transfer["share"], 1.0);
        assert_eq!(transfer["priority"], 8);
        assert_eq!(transfer["delivered_bps"], 40_000_000);
        assert_eq!(transfer["allocated_bps"], 50_000_000);
    }

    #[test]
    fn without_transfers_nothing_is_printed() {
        let nothing = state(Vec::new(), None);
        assert_eq!(Display::Lines.show(&nothing, &Counts::default()), None);
        assert_eq!(Display::Json.show(&nothing, &Counts::default()), None);
        assert_eq!(nothing.table(), "");
    }
}
