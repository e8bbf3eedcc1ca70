//! Marks on a window's curve: what happened to the flow there.

use crate::curves::Curve;
use plotters::element::DynElement;
use plotters::prelude::*;
use whimbrel_sim::{FlowSample, LossEpisode};
use whimbrel_units::{Bytes, Time};

/// A curve with more of them has none: they would hide it.
pub(crate) const MOST: usize = 60;
/// Half of a mark's width, pixels.
const SIZE: i32 = 5;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A loss, and the window was reduced for it.
    Reduced,
    /// A loss, and the window was kept.
    Kept,
    /// The retransmission timer fired.
    Timeout,
    /// The law found that the path itself had changed.
    PathChange,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Reduced, Self::Kept, Self::Timeout, Self::PathChange];

    /// What the legend says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Reduced => "loss",
            Self::Kept => "loss, window kept",
            Self::Timeout => "timeout",
            Self::PathChange => "path changed",
        }
    }

    /// Its shape at a point.
    pub fn element<'a, C: Clone + 'static>(
        self,
        at: C,
        style: ShapeStyle,
    ) -> DynElement<'static, SVGBackend<'a>, C> {
        match self {
            Self::Reduced => Cross::new(at, SIZE, style).into_dyn(),
            Self::Kept => Circle::new(at, SIZE, style).into_dyn(),
            Self::Timeout => TriangleMarker::new(at, SIZE, style.filled()).into_dyn(),
            Self::PathChange => Circle::new(at, SIZE, style.filled()).into_dyn(),
        }
    }
}

/// A mark in a curve's colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mark {
    pub kind: Kind,
    /// When, in seconds.
    pub x: f64,
    /// The congestion window just before, in bytes.
    pub y: f64,
    colour: RGBColor,
}

impl Mark {
    pub fn element<'a>(&self) -> DynElement<'static, SVGBackend<'a>, (f64, f64)> {
        self.kind
            .element((self.x, self.y), self.colour.stroke_width(1))
    }
}

/// The marks of all curves, each in its colour.
pub(crate) fn of(curves: &[Curve<'_>], colours: &[RGBColor]) -> Vec<Mark> {
    let of_curve = |(curve, colour): (&Curve<'_>, &RGBColor)| {
        let all = of_one(curve, *colour);
        if all.len() > MOST { Vec::new() } else { all }
    };
    curves.iter().zip(colours).flat_map(of_curve).collect()
}

fn of_one(curve: &Curve<'_>, colour: RGBColor) -> Vec<Mark> {
    let mark = |happened: Happened<'_>| Mark {
        kind: happened.kind,
        x: happened.at.as_secs_f64(),
        y: happened.cwnd.get() as f64,
        colour,
    };
    all(curve.flow, curve.episodes).map(mark).collect()
}

/// Something that happened to a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Happened<'a> {
    pub kind: Kind,
    pub at: Time,
    /// The congestion window just before.
    pub cwnd: Bytes,
    /// The episode of loss, if it is one.
    pub episode: Option<&'a LossEpisode>,
}

/// All that happened to a flow: its episodes of loss, and then the changes of the path that its law found.
pub(crate) fn all<'a>(
    flow: &'a [FlowSample],
    episodes: &'a [LossEpisode],
) -> impl Iterator<Item = Happened<'a>> {
    let losses = episodes.iter().map(|episode| {
        let kind = match (episode.timeout, episode.reduced) {
            (true, _) => Kind::Timeout,
            (false, true) => Kind::Reduced,
            (false, false) => Kind::Kept,
        };
        Happened {
            kind,
            at: episode.at,
            cwnd: episode.cwnd,
            episode: Some(episode),
        }
    });
    // A change was found between two samples: it is shown at the second, on the curve.
    let pairs = flow.iter().zip(flow.iter().skip(1));
    let changes = pairs
        .filter(|(before, after)| {
            after.path_changes.unwrap_or(0) > before.path_changes.unwrap_or(0)
        })
        .map(|(_, after)| Happened {
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
    use whimbrel_units::{Duration, Rate};

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
            ssthresh: None,
            in_flight: Bytes::ZERO,
            srtt: Duration::ZERO,
            rate: Rate::ZERO,
            sent: Bytes::ZERO,
            ack_spacing: None,
            path_changes,
            pacing_rate: None,
            ..FlowSample::default()
        }
    }

    #[test]
    fn each_loss_and_each_found_change_of_the_path_has_its_mark() {
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
        let curve = Curve {
            label: String::new(),
            flow: &flow,
            episodes: &episodes,
            queue: &[],
        };
        let marks = of(std::slice::from_ref(&curve), &[RED]);
        let found: Vec<(Kind, f64, f64)> = marks.iter().map(|m| (m.kind, m.x, m.y)).collect();
        let expected = [
            (Kind::Reduced, 2.0, 2000.0),
            (Kind::Kept, 3.0, 3000.0),
            (Kind::Timeout, 4.0, 4000.0),
            (Kind::PathChange, 3.0, 500.0),
            (Kind::PathChange, 5.0, 500.0),
        ];
        assert_eq!(found, expected);
        let many = vec![loss(1, true, false); 61];
        let crowded = Curve {
            episodes: &many,
            ..curve
        };
        assert_eq!(of(&[crowded], &[RED]), []);
    }
}
