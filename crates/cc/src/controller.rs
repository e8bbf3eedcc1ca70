//! The seam every algorithm stands behind.

use crate::burst::{Bandwidth, BurstPlan, BurstReport};
use crate::discriminator::Verdict;
use crate::event::{Ack, Loss, LostPacket, Sibling, Timeout};
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate, Time};

/// One flow's (or one path's) congestion control: told what happened, it answers with a window.
///
/// The order of calls for one acknowledgment is: [`on_packet_lost`](Self::on_packet_lost) for each packet that it showed
/// to be lost, [`on_loss`](Self::on_loss) if it revealed an episode, [`on_recovery_end`](Self::on_recovery_end) if it
/// ended one, then [`on_ack`](Self::on_ack).
///
/// An algorithm that lives on bursts ([`Feed::Bursts`](crate::registry::Feed)) is told [`on_bandwidth`](Self::on_bandwidth)
/// once and then [`on_burst`](Self::on_burst) for each burst, and nothing of single packets.
pub trait Controller: Send + Sync + Debug {
    /// A packet of `size` bytes was sent at `now`; `in_flight` counts it already.
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        let _ = (now, size, in_flight);
    }

    /// Data was acknowledged.
    fn on_ack(&mut self, ack: &Ack);

    /// A packet was found lost.
    fn on_packet_lost(&mut self, lost: &LostPacket) {
        let _ = lost;
    }

    /// An episode of loss (or of congestion marks) began.
    fn on_loss(&mut self, loss: &Loss) -> LossResponse;

    /// Everything that was in flight when the last episode began, or the timer last fired, is acknowledged, whether
    /// the window was reduced for it or not.
    fn on_recovery_end(&mut self, now: Time) {
        let _ = now;
    }

    /// The retransmission timer fired.
    fn on_timeout(&mut self, timeout: &Timeout);

    /// The last [`on_loss`](Self::on_loss) or [`on_timeout`](Self::on_timeout) was a mistake: nothing had
    /// been lost (RFC 4015, RFC 9438 section 4.9). What it reduced may be restored.
    fn on_spurious(&mut self, now: Time) {
        let _ = now;
    }

    /// What the path passes was measured.
    fn on_bandwidth(&mut self, bandwidth: &Bandwidth) {
        let _ = bandwidth;
    }

    /// A burst was reported. Answers for its losses, if it had any.
    fn on_burst(&mut self, burst: &BurstReport) -> Option<LossResponse> {
        let _ = burst;
        None
    }

    /// How the next burst leaves; `None` if the algorithm does not plan bursts, or not yet: it has heard of no bandwidth.
    fn burst_plan(&self) -> Option<BurstPlan> {
        None
    }

    /// The greatest payload of one packet has changed.
    fn on_mss(&mut self, mss: Bytes);

    /// Congestion window: how many bytes may be in flight. Never below one segment.
    fn cwnd(&self) -> Bytes;

    /// Slow start threshold, if the algorithm has one that has been set.
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }

    /// The rate at which packets should leave, if the algorithm sets one. Obeyed together with the window.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether it tells random loss from congestion: its responses to losses then carry a verdict.
    fn discriminates(&self) -> bool {
        false
    }

    /// What it asks of the transport that carries it.
    fn asks(&self) -> Asks {
        Asks::NOTHING
    }

    /// How often it has found that the path itself changed; `None` for a law that does not look for that.
    fn path_changes(&self) -> Option<u64> {
        None
    }

    /// What belongs to it of how losses are repaired.
    fn fast_recovery(&self) -> FastRecovery {
        FastRecovery::UntilRepaired
    }

    /// It governs `paths[own]` of a multipath connection whose paths now stand so. Told before
    /// [`on_ack`](Self::on_ack), for laws that are coupled; never told where there is one path.
    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        let _ = (paths, own);
    }

    /// What it is doing, in a word for a trace: "slow start".
    fn phase(&self) -> &'static str;

    /// A copy with all its state.
    fn clone_box(&self) -> Box<dyn Controller>;
}

/// So that a law chosen at run time can stand where a law is asked for.
impl Controller for Box<dyn Controller> {
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        (**self).on_sent(now, size, in_flight);
    }
    fn on_ack(&mut self, ack: &Ack) {
        (**self).on_ack(ack);
    }
    fn on_packet_lost(&mut self, lost: &LostPacket) {
        (**self).on_packet_lost(lost);
    }
    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        (**self).on_loss(loss)
    }
    fn on_recovery_end(&mut self, now: Time) {
        (**self).on_recovery_end(now);
    }
    fn on_timeout(&mut self, timeout: &Timeout) {
        (**self).on_timeout(timeout);
    }
    fn on_spurious(&mut self, now: Time) {
        (**self).on_spurious(now);
    }
    fn on_bandwidth(&mut self, bandwidth: &Bandwidth) {
        (**self).on_bandwidth(bandwidth);
    }
    fn on_burst(&mut self, burst: &BurstReport) -> Option<LossResponse> {
        (**self).on_burst(burst)
    }
    fn burst_plan(&self) -> Option<BurstPlan> {
        (**self).burst_plan()
    }
    fn on_mss(&mut self, mss: Bytes) {
        (**self).on_mss(mss);
    }
    fn cwnd(&self) -> Bytes {
        (**self).cwnd()
    }
    fn ssthresh(&self) -> Option<Bytes> {
        (**self).ssthresh()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        (**self).pacing_rate()
    }
    fn discriminates(&self) -> bool {
        (**self).discriminates()
    }
    fn asks(&self) -> Asks {
        (**self).asks()
    }
    fn path_changes(&self) -> Option<u64> {
        (**self).path_changes()
    }
    fn fast_recovery(&self) -> FastRecovery {
        (**self).fast_recovery()
    }
    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        (**self).on_siblings(paths, own);
    }
    fn phase(&self) -> &'static str {
        (**self).phase()
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        (**self).clone_box()
    }
}

impl Clone for Box<dyn Controller> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

/// What a law asks of the transport that carries it, which has it, if it knows it at all, unless it was told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asks {
    /// Congestion marks (RFC 3168): it lives by them.
    pub marks: bool,
    /// Several streams over one connection: it was published together with them.
    pub streams: bool,
    /// Negative acknowledgments, by which the receiver tells of corrupted packets: it was published together with them.
    pub nack: bool,
}

impl Asks {
    /// Nothing.
    pub const NOTHING: Self = Self {
        marks: false,
        streams: false,
        nack: false,
    };
    /// Congestion marks.
    pub const MARKS: Self = Self {
        marks: true,
        ..Self::NOTHING
    };
    /// Several streams.
    pub const STREAMS: Self = Self {
        streams: true,
        ..Self::NOTHING
    };
    /// Negative acknowledgments.
    pub const NACK: Self = Self {
        nack: true,
        ..Self::NOTHING
    };
}

/// What of the repair of losses is the algorithm's own: the oldest differ in nothing else. A transport goes by it as far
/// as its way of finding losses leaves it a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastRecovery {
    /// It lasts until all that was in flight when it began is acknowledged (RFC 6582, RFC 6675): all but two.
    UntilRepaired,
    /// Without SACK, the first acknowledgment that advances ends it, whether or not more is missing (RFC 5681 section
    /// 3.2 step 6): Reno. With SACK it lasts until all is repaired.
    UntilFirstAck,
    /// There is none: the oldest segment is sent again, and the rest in slow start, as after a timeout: Tahoe.
    Never,
}

/// What an algorithm did about an episode of loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossResponse {
    /// The window was reduced: the transport lets the flight shrink to it (RFC 6937, RFC 9937). Otherwise the
    /// window stands and the transport goes on filling it.
    pub reduced: bool,
    /// What it took the loss for, if it tells the two apart.
    pub verdict: Option<Verdict>,
}

impl LossResponse {
    /// Reduced without asking what the loss was: every law without a discriminator.
    pub const REDUCED: Self = Self {
        reduced: true,
        verdict: None,
    };
    /// Took notice and left the window alone.
    pub const KEPT: Self = Self {
        reduced: false,
        verdict: None,
    };
}
