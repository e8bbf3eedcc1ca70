//! What happened to a flow: losses, timeouts and changes of the path.

use whimbrel_sim::{FlowSample, LossEpisode};
use whimbrel_units::{Bytes, Time};

/// With more events, a figure marks none: the marks would hide its lines.
pub(super) const MOST: usize = 60;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A loss for which the window was reduced.
    Reduced,
    /// A loss for which the window was kept.
    Kept,
    /// The retransmission timer fired.
    Timeout,
    /// The controller detected a change of the path.
    PathChange,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Reduced, Self::Kept, Self::Timeout, Self::PathChange];

    /// What the legend calls it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Reduced => "loss",
            Self::Kept => "loss, window kept",
            Self::Timeout => "timeout",
            Self::PathChange => "path changed",
        }
    }
}

/// One event of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Event<'a> {
    pub kind: Kind,
    pub at: Time,
    /// The congestion window just before.
    pub cwnd: Bytes,
    /// The loss episode, unless the event is a change of the path.
    pub episode: Option<&'a LossEpisode>,
}

/// All events of a flow: its loss episodes, then the path changes that its controller detected.
pub(super) fn all<'a>(
    flow: &'a [FlowSample],
    episodes: &'a [LossEpisode],
) -> impl Iterator<Item = Event<'a>> {
    let losses = episodes.iter().map(|episode| {
        let kind = match (episode.timeout, episode.reduced) {
            (true, _) => Kind::Timeout,
            (false, true) => Kind::Reduced,
            (false, false) => Kind::Kept,
        };
        Event {
            kind,
            at: episode.at,
            cwnd: episode.cwnd,
            episode: Some(episode),
        }
    });
    // A change was detected between two samples; the mark is at the second, on the line.
    let pairs = flow.iter().zip(flow.iter().skip(1));
    let changes = pairs
        .filter(|(before, after)| {
            after.path_changes.unwrap_or(0) > before.path_changes.unwrap_or(0)
        })
        .map(|(_, after)| Event {
            kind: Kind::PathChange,
            at: after.at,
            cwnd: after.cwnd,
            episode: None,
        });
    losses.chain(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_units::Duration;

    fn loss(seconds: u64, reduced: bool, timeout: bool) -> LossEpisode {
        LossEpisode {
            at: Time::ZERO + Duration::from_secs(seconds),
            cwnd: Bytes::new(1000 * seconds),
            in_flight: Bytes::ZERO,
            srtt: Duration::ZERO,
            reduced,
            timeout,
            ended: None,
        }
    }

    fn sample(seconds: u64, path_changes: Option<u64>) -> FlowSample {
        FlowSample {
            at: Time::ZERO + Duration::from_secs(seconds),
            cwnd: Bytes::new(500),
            path_changes,
            ..FlowSample::default()
        }
    }

    #[test]
    fn each_loss_and_each_detected_path_change_is_an_event() {
        let flow = [
            sample(1, None),
            sample(2, Some(0)),
            sample(3, Some(1)),
            sample(4, Some(1)),
            sample(5, Some(3)),
        ];
        let episodes = [
            loss(2, true, false),
            loss(3, false, false),
            loss(4, true, true),
        ];
        let found: Vec<(Kind, f64, u64)> = all(&flow, &episodes)
            .map(|event| (event.kind, event.at.as_secs_f64(), event.cwnd.get()))
            .collect();
        let expected = [
            (Kind::Reduced, 2.0, 2000),
            (Kind::Kept, 3.0, 3000),
            (Kind::Timeout, 4.0, 4000),
            (Kind::PathChange, 3.0, 500),
            (Kind::PathChange, 5.0, 500),
        ];
        assert_eq!(found, expected);
    }
}
