//! The interface of a flow: how the engine calls it, and what it lends it.
//!
//! A flow has two ends, near and far, on each of its paths. The engine calls it when it starts and
//! stops, when a timer of an end is due, and when a packet reaches an end. The flow puts the
//! packets that leave into the [`Context`].

use super::report::{Ended, FlowReport};
use crate::observe::{Content, End, What};
use crate::outcome::{FlowSample, LossCounts};
use crate::packet::Packet;
use whimbrel_net::DropCause;
use whimbrel_units::{Duration, Time};

/// What the engine lends a flow for one call. `S` is the state that the flows of a run share.
pub(crate) struct Context<'a, S> {
    /// The time of the call. With lookahead it may be later than the engine's clock.
    pub now: Time,
    /// Where the flow puts the packets that leave.
    pub out: &'a mut Vec<Packet>,
    /// What the flows of the run share.
    pub shared: &'a mut S,
}

/// One end of one path of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathEnd {
    /// Index of the path, which is the index of its route.
    pub path: usize,
    /// The end.
    pub end: End,
}

/// What followed from the arrival of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// When the next timer of that end is due; [`Time::MAX`]: none runs. (Two values that are
    /// returned in registers.)
    pub due: Time,
    /// The flow may be complete now.
    pub progress: bool,
}

/// What an end does besides receiving packets. It decides whether the engine may deliver a packet
/// to it ahead of time (`engine/lookahead.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndBehavior {
    /// It acts on timers of its own, or shares state with another end.
    Acts,
    /// It only answers packets. Its state depends on nothing but the packets that it has received.
    Answers,
    /// It only counts packets.
    Counts,
}

/// A flow. `S` is the state that the flows of a run share.
pub(crate) trait Flow<S> {
    /// Starts the flow.
    fn start(&mut self, context: &mut Context<'_, S>);

    /// Sends no new data from now on. Data that was sent is still delivered.
    fn stop(&mut self);

    /// A timer of an end is due, or was moved: timers are lazy. Returns when the next one is due.
    fn on_timer(&mut self, context: &mut Context<'_, S>, place: PathEnd) -> Option<Time>;

    /// A packet reached an end intact.
    fn on_arrival(
        &mut self,
        context: &mut Context<'_, S>,
        place: PathEnd,
        packet: &Packet,
    ) -> Arrival;

    /// A packet reached an end corrupted. Returns when the next timer of that end is due.
    fn on_corrupted(
        &mut self,
        context: &mut Context<'_, S>,
        place: PathEnd,
        packet: &Packet,
    ) -> Option<Time>;

    /// Records why a packet was lost, for comparison with the decisions of the controller. No
    /// algorithm sees the cause.
    fn note_loss(&mut self, path: usize, packet: &Packet, cause: DropCause);

    /// When the next timer of an end is due.
    fn deadline(&self, now: Time, place: PathEnd) -> Option<Time>;

    /// What an end does besides receiving packets.
    fn behavior(&self, end: End) -> EndBehavior;

    /// Whether the flow ends by itself: the run is over when all flows that do are complete.
    fn can_complete(&self) -> bool;

    /// Whether all data has arrived.
    fn is_complete(&self) -> bool;

    /// The loss counts of a path.
    fn losses(&mut self, path: usize) -> &mut LossCounts;

    /// Records episodes of loss from now on.
    fn record_episodes(&mut self);

    /// The state of the flow, `interval` after the last sample. The engine fills in the rate.
    /// `None`: the flow has no state to sample.
    fn sample(&mut self, now: Time, interval: Duration) -> Option<FlowSample>;

    /// The outcome of the flow.
    fn report(self, ended: Ended<'_>) -> FlowReport
    where
        Self: Sized;

    /// Records what an observer wants to know, from now on.
    fn observe(&mut self);

    /// The content of a packet that leaves, for an observer. `id` is the number of the packet.
    fn describe(&mut self, packet: &Packet, id: u64) -> Content;

    /// Reports what the senders found since the last call, for an observer: the path and the event.
    fn report_findings(&mut self, report: &mut dyn FnMut(usize, What));

    /// Reports the state of each sender whose state changed since the last call.
    fn report_states(&mut self, report: &mut dyn FnMut(usize, What));
}
