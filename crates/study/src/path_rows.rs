//! A row for each path of a transfer over several, while it runs.

use whimbrel_transfer::PathSummary;
use whimbrel_units::{Bytes, Duration, Rate};

/// What a user should know about a server that agrees to one path only.
pub const ONE_PATH: &str = "the server agrees to one path only: the other interfaces are not used";

/// Computes rates from what had been sent at the last call.
#[derive(Debug, Clone, Default)]
pub struct PathRows {
    before: Option<(Duration, Vec<PathSummary>)>,
}

impl PathRows {
    /// A row for each path, with its rate since the last call; `None` at the first one. Times must
    /// not go back.
    pub fn rows(&mut self, now: Duration, paths: &[PathSummary]) -> Option<String> {
        let before = self.before.replace((now, paths.to_vec()));
        let (then, before) = before.filter(|(then, _)| *then < now)?;
        let wide = |path: &PathSummary| path.name().chars().count();
        let width = paths.iter().map(wide).max().unwrap_or(0);
        let row = |path: &PathSummary| {
            let earlier = before.iter().find(|before| before.via == path.via);
            let moved = |path: &PathSummary| path.sent_bytes + path.received_bytes;
            let bytes = moved(path).saturating_sub(earlier.map_or(0, moved));
            let rate = Rate::over(Bytes::new(bytes), now - then).as_bits_per_sec() as f64 / 1e6;
            let (name, rtt, lost) = (path.name(), path.rtt_ms, path.lost_packets);
            let state = path.state;
            format!("\n  {name:width$}  {rate:7.1} Mbit/s  RTT {rtt:6.1} ms  {lost} lost  {state}")
        };
        Some(paths.iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(via: &str, sent_bytes: u64, state: &'static str) -> PathSummary {
        PathSummary {
            via: Some(via.to_owned()),
            sent_bytes,
            received_bytes: 0,
            lost_packets: 3,
            rtt_ms: 41.25,
            state,
        }
    }

    #[test]
    fn each_path_has_a_row_with_its_rate_since_the_last_one() {
        let mut rows = PathRows::default();
        let second = Duration::from_secs;
        let at = |bytes| {
            [
                path("wlan0", bytes, "open"),
                path("wwan", 2_000_000, "silent"),
            ]
        };
        assert_eq!(rows.rows(second(1), &at(1_000_000)), None);
        assert_eq!(
            rows.rows(second(3), &at(6_000_000)).as_deref(),
            Some(
                "\n  wlan0     20.0 Mbit/s  RTT   41.2 ms  3 lost  open\
                 \n  wwan       0.0 Mbit/s  RTT   41.2 ms  3 lost  silent"
            )
        );
        assert_eq!(
            rows.rows(second(3), &at(6_000_000)),
            None,
            "no time has passed"
        );
    }
}
