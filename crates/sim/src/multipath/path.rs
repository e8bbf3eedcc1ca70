//! One path of a connection: its subflow, and what is counted of it.

use crate::measure::Delays;
use crate::outcome::{FlowSample, LossCounts};
use crate::tcp::{Endpoint, Mapping, Sender, Trace};
use std::collections::VecDeque;
use whimbrel_cc::path_scheduler::PathView;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// One path of a connection.
#[derive(Debug)]
pub(super) struct Path {
    /// Its number in the engine.
    pub path_id: u32,
    /// Near, far.
    pub ends: [Endpoint; 2],
    /// Data in flight when the timer fired, for other paths to carry: segment of the subflow, and
    /// its data.
    pub to_others: VecDeque<(u32, Mapping)>,
    /// Bytes that arrived on this path before they arrived on any other.
    pub brought: u64,
    /// Segments that it carried because they were stuck on another path.
    pub reinjected: u64,
    /// Its lost data packets.
    pub lost: LossCounts,
    /// Its samples, if there are several paths.
    pub samples: Vec<FlowSample>,
    /// `brought` at the last sample.
    pub sampled_bytes: u64,
    /// Its timer has fired, and nothing of it has been heard since.
    pub silent: bool,
    /// When a segment last left.
    pub last_sent: Time,
    /// When the handshake was over.
    pub established: Option<Time>,
    /// Until when `window_time` is counted.
    counted: Time,
    /// Integral of the window since the handshake, in byte seconds.
    window_time: f64,
    /// If the run is observed.
    pub trace: Option<Box<Trace>>,
}

impl Path {
    /// The path with this number and these ends, near and far.
    pub fn new(path_id: u32, ends: [Endpoint; 2]) -> Self {
        Self {
            path_id,
            ends,
            to_others: VecDeque::new(),
            brought: 0,
            reinjected: 0,
            lost: LossCounts::default(),
            samples: Vec::new(),
            sampled_bytes: 0,
            silent: false,
            last_sent: Time::ZERO,
            established: None,
            counted: Time::ZERO,
            window_time: 0.0,
            trace: None,
        }
    }

    /// The sender of its near end.
    pub fn sender(&self) -> Option<&Sender> {
        self.ends[0].sender()
    }

    /// The sender of its near end.
    pub fn sender_mut(&mut self) -> Option<&mut Sender> {
        self.ends[0].sender_mut()
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.sender().map_or(Duration::ZERO, Sender::srtt)
    }

    /// What the scheduler of paths needs to know.
    pub fn view(&self) -> PathView {
        let Some(sender) = self.sender() else {
            return PathView::default();
        };
        PathView {
            srtt: sender.srtt(),
            rttvar: sender.rttvar(),
            rate: Rate::over(self.cwnd(), sender.srtt()),
        }
    }

    /// Bytes in flight, and the time until the last acknowledgment for them is expected.
    pub fn left_to_bring(&self, now: Time) -> (Bytes, Duration) {
        let in_flight = self.sender().map_or(Bytes::ZERO, Sender::in_flight);
        (in_flight, (self.last_sent + self.srtt()).since(now))
    }

    /// Congestion window.
    pub fn cwnd(&self) -> Bytes {
        self.sender().map_or(Bytes::ZERO, Sender::effective_cwnd)
    }

    /// Congestion window, mean over the time from the handshake until `until`; zero if the
    /// handshake was never over.
    pub fn mean_cwnd(&self, until: Time) -> Bytes {
        let Some(established) = self.established else {
            return Bytes::ZERO;
        };
        let last = self.cwnd().get() as f64 * until.since(self.counted).as_secs_f64();
        let span = self.counted.max(until).since(established).as_secs_f64();
        Bytes::new(((self.window_time + last) / span.max(f64::MIN_POSITIVE)) as u64)
    }

    /// Adds the current window to the integral. Call it before the window changes.
    pub fn count_window(&mut self, now: Time) {
        if self.established.is_some() {
            let span = now.since(self.counted).as_secs_f64();
            self.window_time += self.cwnd().get() as f64 * span;
        }
        self.counted = now;
    }

    /// Offers the data in flight to the other paths.
    pub fn hand_over(&mut self) {
        let Self {
            ends, to_others, ..
        } = self;
        if let Some(sender) = ends[0].sender_mut() {
            sender.hand_over(|seg, mapping| to_others.push_back((seg, mapping)));
        }
    }

    /// RTT samples, and one-way delays of data.
    pub fn delays(&mut self) -> (&mut Delays, &mut Delays) {
        let [near, far] = &mut self.ends;
        (&mut near.rtt, &mut far.one_way)
    }
}
