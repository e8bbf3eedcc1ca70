//! The interface of congestion control algorithms.

use crate::interface::event::{Ack, Loss, LostPacket, Sibling, Timeout};
use crate::interface::transport::{FastRecovery, TransportFeatures};
use crate::interface::verdict::LossResponse;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate, Time};

/// The congestion control of one flow, or of one path of a multipath connection: the transport
/// reports events, the controller answers with a window and, optionally, a pacing rate.
///
/// [`connection`](crate::connection) has the order of the calls, and what an episode of loss is.
///
/// Algorithms that are fed reports on bursts are [`BurstController`](crate::BurstController)s.
///
/// **Wrappers.** A controller that wraps another one, such as
/// [`WithClassifier`](crate::WithClassifier), implements every method, also those in which it does
/// not differ: `#[deny(clippy::missing_trait_methods)]` on its `impl` refuses a method that
/// silently keeps its default instead of reaching the inner controller.
pub trait Controller: Send + Sync + Debug {
    /// Invoked when a packet of `size` bytes is sent at `now`; `in_flight` includes it.
    fn on_sent(&mut self, _: Time, _: Bytes, _: Bytes) {}

    /// [`on_sent`](Self::on_sent); returns [`cwnd`](Self::cwnd) and
    /// [`pacing_rate`](Self::pacing_rate) after it. A transport needs all three for each packet:
    /// this is one call at run time instead of three. No algorithm implements it.
    #[inline]
    fn on_sent_limits(
        &mut self,
        now: Time,
        size: Bytes,
        in_flight: Bytes,
    ) -> (Bytes, Option<Rate>) {
        self.on_sent(now, size, in_flight);
        (self.cwnd(), self.pacing_rate())
    }

    /// Invoked when data is acknowledged.
    fn on_ack(&mut self, ack: &Ack);

    /// Invoked for each packet that the transport finds lost.
    fn on_packet_lost(&mut self, _: &LostPacket) {}

    /// Invoked when an episode of loss, or of congestion marks, begins.
    fn on_loss(&mut self, loss: &Loss) -> LossResponse;

    /// Invoked when everything is acknowledged that was in flight when the last episode began, or
    /// when the timer last fired, even if the window was not reduced for it. Not invoked for an
    /// episode that was spurious, or that another one replaced.
    fn on_recovery_end(&mut self, _: Time) {}

    /// Invoked when the retransmission timer fires.
    fn on_timeout(&mut self, timeout: &Timeout);

    /// Invoked when the last [`on_loss`](Self::on_loss) or [`on_timeout`](Self::on_timeout) proves
    /// to be spurious: nothing was lost (RFC 4015, RFC 9438 section 4.9). The algorithm may undo
    /// its reduction.
    fn on_spurious(&mut self, _: Time) {}

    /// Invoked when the maximum payload of one packet changes.
    fn on_mss(&mut self, mss: Bytes);

    /// Congestion window: the number of bytes that may be in flight, at least one segment.
    fn cwnd(&self) -> Bytes;

    /// Invoked by a layer on the algorithm that finds that the path holds more: raises the window to
    /// `cwnd` if it is lower. An algorithm whose window follows a model of the path ignores it.
    fn raise_window(&mut self, cwnd: Bytes) {
        let _ = cwnd;
    }

    /// Slow start threshold; `None` if the algorithm has none, or has not set it yet.
    #[inline]
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }

    /// Pacing rate, if the algorithm sets one. The transport obeys both the rate and the window.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Packets that leave together where the transport paces, at least 1: BBR.send_quantum of
    /// draft-ietf-ccwg-bbr, section 4.6.3. A transport whose bursts are decided elsewhere need not
    /// obey: Linux sends two segments together (`tcp_min_tso_segs`), and QUIC's pacer is the
    /// library's.
    #[inline]
    fn send_quantum(&self) -> u32 {
        1
    }

    /// Whether the algorithm distinguishes random loss from congestion: its responses to losses
    /// then carry a verdict.
    #[inline]
    fn classifies_losses(&self) -> bool {
        false
    }

    /// The features that it requires of the transport.
    #[inline]
    fn transport_features(&self) -> TransportFeatures {
        TransportFeatures::NOTHING
    }

    /// How often it has detected that the path itself changed; `None` if it does not look for that.
    #[inline]
    fn path_changes(&self) -> Option<u64> {
        None
    }

    /// When fast recovery ends.
    #[inline]
    fn fast_recovery(&self) -> FastRecovery {
        FastRecovery::UntilRepaired
    }

    /// Invoked before [`on_ack`](Self::on_ack) on a multipath connection, for coupled algorithms:
    /// `paths` is the present state of all its paths, and this controller belongs to `paths[own]`.
    /// Never invoked on a connection with one path.
    fn on_siblings(&mut self, _: &[Sibling], _: usize) {}

    /// Its present state in a word or two, for traces: "slow start".
    fn phase(&self) -> &'static str;

    /// Returns a copy with its entire state.
    fn clone_box(&self) -> Box<dyn Controller>;
}

/// Implements methods of [`Controller`] by calling the same methods of an inner controller:
/// `forward!(self => self.controller; cwnd, phase);`.
macro_rules! forward {
    ($self:ident => $inner:expr; $($method:ident),+ $(,)?) => {
        $(forward!(@$method $self, $inner);)+
    };
    (@on_sent $self:ident, $inner:expr) => {
        #[inline]
        fn on_sent(
            &mut $self,
            now: whimbrel_units::Time,
            size: whimbrel_units::Bytes,
            in_flight: whimbrel_units::Bytes,
        ) {
            $inner.on_sent(now, size, in_flight)
        }
    };
    (@on_sent_limits $self:ident, $inner:expr) => {
        #[inline]
        fn on_sent_limits(
            &mut $self,
            now: whimbrel_units::Time,
            size: whimbrel_units::Bytes,
            in_flight: whimbrel_units::Bytes,
        ) -> (whimbrel_units::Bytes, Option<whimbrel_units::Rate>) {
            $inner.on_sent_limits(now, size, in_flight)
        }
    };
    (@on_ack $self:ident, $inner:expr) => {
        #[inline]
        fn on_ack(&mut $self, ack: &$crate::Ack) {
            $inner.on_ack(ack)
        }
    };
    (@on_packet_lost $self:ident, $inner:expr) => {
        #[inline]
        fn on_packet_lost(&mut $self, lost: &$crate::LostPacket) {
            $inner.on_packet_lost(lost)
        }
    };
    (@on_loss $self:ident, $inner:expr) => {
        #[inline]
        fn on_loss(&mut $self, loss: &$crate::Loss) -> $crate::LossResponse {
            $inner.on_loss(loss)
        }
    };
    (@on_recovery_end $self:ident, $inner:expr) => {
        #[inline]
        fn on_recovery_end(&mut $self, now: whimbrel_units::Time) {
            $inner.on_recovery_end(now)
        }
    };
    (@on_timeout $self:ident, $inner:expr) => {
        #[inline]
        fn on_timeout(&mut $self, timeout: &$crate::Timeout) {
            $inner.on_timeout(timeout)
        }
    };
    (@on_spurious $self:ident, $inner:expr) => {
        #[inline]
        fn on_spurious(&mut $self, now: whimbrel_units::Time) {
            $inner.on_spurious(now)
        }
    };
    (@on_mss $self:ident, $inner:expr) => {
        #[inline]
        fn on_mss(&mut $self, mss: whimbrel_units::Bytes) {
            $inner.on_mss(mss)
        }
    };
    (@cwnd $self:ident, $inner:expr) => {
        #[inline]
        fn cwnd(&$self) -> whimbrel_units::Bytes {
            $inner.cwnd()
        }
    };
    (@raise_window $self:ident, $inner:expr) => {
        #[inline]
        fn raise_window(&mut $self, cwnd: whimbrel_units::Bytes) {
            $inner.raise_window(cwnd)
        }
    };
    (@ssthresh $self:ident, $inner:expr) => {
        #[inline]
        fn ssthresh(&$self) -> Option<whimbrel_units::Bytes> {
            $inner.ssthresh()
        }
    };
    (@pacing_rate $self:ident, $inner:expr) => {
        #[inline]
        fn pacing_rate(&$self) -> Option<whimbrel_units::Rate> {
            $inner.pacing_rate()
        }
    };
    (@send_quantum $self:ident, $inner:expr) => {
        #[inline]
        fn send_quantum(&$self) -> u32 {
            $inner.send_quantum()
        }
    };
    (@classifies_losses $self:ident, $inner:expr) => {
        #[inline]
        fn classifies_losses(&$self) -> bool {
            $inner.classifies_losses()
        }
    };
    (@transport_features $self:ident, $inner:expr) => {
        #[inline]
        fn transport_features(&$self) -> $crate::TransportFeatures {
            $inner.transport_features()
        }
    };
    (@path_changes $self:ident, $inner:expr) => {
        #[inline]
        fn path_changes(&$self) -> Option<u64> {
            $inner.path_changes()
        }
    };
    (@fast_recovery $self:ident, $inner:expr) => {
        #[inline]
        fn fast_recovery(&$self) -> $crate::FastRecovery {
            $inner.fast_recovery()
        }
    };
    (@on_siblings $self:ident, $inner:expr) => {
        #[inline]
        fn on_siblings(&mut $self, paths: &[$crate::Sibling], own: usize) {
            $inner.on_siblings(paths, own)
        }
    };
    (@phase $self:ident, $inner:expr) => {
        #[inline]
        fn phase(&$self) -> &'static str {
            $inner.phase()
        }
    };
    (@clone_box $self:ident, $inner:expr) => {
        #[inline]
        fn clone_box(&$self) -> Box<dyn $crate::Controller> {
            $inner.clone_box()
        }
    };
}
pub(crate) use forward;

/// A controller that was chosen at run time is a controller too.
#[deny(clippy::missing_trait_methods)]
impl Controller for Box<dyn Controller> {
    forward!(self => (**self);
        on_sent, on_sent_limits, on_ack, on_packet_lost, on_loss, on_recovery_end, on_timeout,
        on_spurious, on_mss, cwnd, raise_window, ssthresh, pacing_rate, send_quantum,
        classifies_losses, transport_features, path_changes, fast_recovery, on_siblings, phase, clone_box);
}

impl Clone for Box<dyn Controller> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}
