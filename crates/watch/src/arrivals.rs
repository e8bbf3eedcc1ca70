//! The display of the transfers that `serve` is receiving: a table on a terminal, lines elsewhere,
//! events as JSON, or a live view.

use crate::{Screen, View};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::convert::Infallible;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::time::{MissedTickBehavior, interval};
use whimbrel_study::arrivals::{lines, table};
use whimbrel_transfer::service::{Arrivals, Meter};
use whimbrel_transfer::{Counts, Server};
use whimbrel_units::Duration;

/// Time between two displays: as JSON or on a terminal, and as lines.
const FAST: Duration = Duration::from_secs(1);
const SLOW: Duration = Duration::from_secs(10);

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

impl Watch {
    fn show(&mut self, arrivals: &Arrivals, counts: &Counts) {
        self.view.push([
            arrivals.total().as_bits_per_sec() as f64 * 1e-6,
            arrivals.transfers.len() as f64,
            counts.clients as f64,
        ]);
        let [sent, lost] = [
            counts.sent_packets.saturating_sub(self.before.sent_packets),
            counts.lost_packets.saturating_sub(self.before.lost_packets),
        ];
        if sent > 0 {
            let line = format!("a connection ended: {sent} packets sent from here, {lost} lost");
            self.view.note(line);
        }
        self.before = *counts;
        self.view.table = table(arrivals);
        // A terminal that is gone ends the command by SIGHUP.
        let _ = self.screen.show(&self.view);
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
        if within_link || !io::stderr().is_terminal() {
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
        Ok(Self::Watch(Box::new(Mutex::new(Watch {
            screen: Screen::open()?,
            view: View::new(title, &["received, Mbit/s", "transfers", "clients"]),
            before: Counts::default(),
        }))))
    }

    /// The time between two displays unless the user sets one.
    pub const fn interval(&self) -> Duration {
        match self {
            Self::Lines => SLOW,
            Self::Terminal(_) | Self::Json | Self::Watch(_) => FAST,
        }
    }

    /// Shows the transfers. Returns the text for standard output, if any: complete lines.
    pub fn show(&self, arrivals: &Arrivals, counts: &Counts) -> Option<String> {
        match self {
            Self::Watch(watch) => lock(watch).show(arrivals, counts),
            Self::Terminal(bar) => bar.set_message(table(arrivals)),
            _ if arrivals.transfers.is_empty() => {}
            Self::Lines => return Some(lines(arrivals)),
            Self::Json => return Some(arrivals.json().to_string()),
        }
        None
    }

    /// Shows the transfers of a server again and again. `print` gets the text for standard output.
    pub async fn follow(
        &self,
        server: &Server,
        every: Duration,
        print: impl Fn(&str),
    ) -> Infallible {
        let (mut meter, started) = (Meter::default(), Instant::now());
        let mut ticks = interval(every.into());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let now = Instant::now();
            let arrivals = meter.measure((now - started).into(), now, server.receiving());
            if let Some(text) = self.show(&arrivals, &server.counts()) {
                print(&text);
            }
        }
    }

    /// Prints a line of events with `print`, without disturbing the table, or adds it to the view.
    pub fn print(&self, line: &str, print: impl FnOnce(&str)) {
        match self {
            Self::Terminal(bar) => bar.suspend(|| print(line)),
            Self::Lines | Self::Json => print(line),
            Self::Watch(watch) => lock(watch).view.note(line.to_owned()),
        }
    }
}

fn lock(watch: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_transfer::Receiving;

    #[test]
    fn without_transfers_nothing_is_printed() {
        let nothing = Meter::default().measure(
            Duration::from_secs(5),
            std::time::Instant::now(),
            Receiving::default(),
        );
        assert_eq!(Display::Lines.show(&nothing, &Counts::default()), None);
        assert_eq!(Display::Json.show(&nothing, &Counts::default()), None);
        assert_eq!(table(&nothing), "");
    }
}
