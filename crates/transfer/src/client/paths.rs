//! What a transfer did on each of its paths.

use noq_proto::PathStats;
use serde::Serialize;
use whimbrel_quic::endpoint::{PathCondition, PathReport};

/// A path is reported if the server has not answered on it in so many calls.
const PATIENCE: u32 = 5;

/// What a connection did over one network interface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathSummary {
    /// The interface; null if the system chose it.
    pub via: Option<String>,
    /// Bytes of the UDP datagrams sent, repeated data and QUIC's overhead included.
    pub sent_bytes: u64,
    /// The same received.
    pub received_bytes: u64,
    /// QUIC packets declared lost.
    pub lost_packets: u64,
    /// Smoothed round-trip time, milliseconds; 0 before the first sample.
    pub rtt_ms: f64,
    /// How it is: `opening`, `open`, `standing by`, `silent` or `closed`.
    pub state: &'static str,
}

impl PathSummary {
    /// The interface as a word; `-` without one.
    pub fn name(&self) -> &str {
        self.via.as_deref().unwrap_or("-")
    }

    /// Adds up the paths of each link.
    pub(crate) fn by_link(paths: &[PathReport], links: &[String]) -> Vec<Self> {
        let summary = |(number, name): (usize, &String)| {
            let mut sum = Self {
                via: Some(name.clone()),
                sent_bytes: 0,
                received_bytes: 0,
                lost_packets: 0,
                rtt_ms: 0.0,
                state: "closed",
            };
            // Closed ones come first, so the present one says how the link is.
            for path in paths.iter().filter(|path| path.link == number) {
                sum.add(path);
            }
            sum
        };
        links.iter().enumerate().map(summary).collect()
    }

    /// The only path of a connection.
    pub(crate) fn alone(stats: &PathStats, via: Option<String>) -> Self {
        Self {
            via,
            sent_bytes: stats.udp_tx.bytes,
            received_bytes: stats.udp_rx.bytes,
            lost_packets: stats.lost_packets,
            rtt_ms: stats.rtt.as_secs_f64() * 1000.0,
            state: "open",
        }
    }

    fn add(&mut self, path: &PathReport) {
        self.sent_bytes += path.sent_bytes;
        self.received_bytes += path.received_bytes;
        self.lost_packets += path.lost_packets;
        if !path.rtt.is_zero() {
            self.rtt_ms = path.rtt.as_secs_f64() * 1000.0;
        }
        self.state = match path.condition {
            PathCondition::Opening => "opening",
            PathCondition::Open => "open",
            PathCondition::StandingBy => "standing by",
            PathCondition::Silent => "silent",
            PathCondition::Closed => "closed",
        };
    }

    /// Adds what an earlier connection of the same transfer did.
    pub(crate) fn add_earlier(all: &mut Vec<Self>, earlier: &[Self]) {
        for before in earlier {
            match all.iter_mut().find(|path| path.via == before.via) {
                Some(path) => {
                    path.sent_bytes += before.sent_bytes;
                    path.received_bytes += before.received_bytes;
                    path.lost_packets += before.lost_packets;
                }
                None => all.push(before.clone()),
            }
        }
    }
}

/// Finds the interfaces over which the server does not answer.
#[derive(Debug, Default)]
pub(crate) struct Unanswered(Vec<(String, u32)>);

impl Unanswered {
    /// The interfaces whose path is still being opened at the [`PATIENCE`]th call in a row. To be
    /// called once a second.
    pub fn new_ones(&mut self, paths: &[PathSummary]) -> Vec<String> {
        let opening = paths.iter().filter(|path| path.state == "opening");
        let calls = |via: &String| {
            let known = self.0.iter().find(|(known, _)| known == via);
            known.map_or(1, |(_, calls)| calls.saturating_add(1))
        };
        let names = opening.filter_map(|path| path.via.clone());
        self.0 = names.map(|via| (via.clone(), calls(&via))).collect();
        let new = self.0.iter().filter(|(_, calls)| *calls == PATIENCE);
        new.map(|(via, _)| via.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(via: &str, state: &'static str) -> PathSummary {
        PathSummary {
            via: Some(via.to_owned()),
            sent_bytes: 0,
            received_bytes: 0,
            lost_packets: 0,
            rtt_ms: 0.0,
            state,
        }
    }

    #[test]
    fn an_interface_without_an_answer_is_reported_once() {
        let mut unanswered = Unanswered::default();
        let paths = [path("wlan0", "open"), path("wwan0", "opening")];
        for _ in 1..PATIENCE {
            assert!(unanswered.new_ones(&paths).is_empty());
        }
        assert_eq!(unanswered.new_ones(&paths), ["wwan0"]);
        assert!(unanswered.new_ones(&paths).is_empty());
        // It opens, and is lost again: that is news.
        assert!(unanswered.new_ones(&[path("wwan0", "open")]).is_empty());
        for _ in 1..PATIENCE {
            assert!(unanswered.new_ones(&paths).is_empty());
        }
        assert_eq!(unanswered.new_ones(&paths), ["wwan0"]);
    }
}
