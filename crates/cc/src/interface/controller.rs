//! The interface of congestion control algorithms.

use crate::interface::burst::{Bandwidth, BurstPlan, BurstReport};
use crate::interface::event::{Ack, Loss, LostPacket, Sibling, Timeout};
use crate::interface::transport::{FastRecovery, TransportFeatures};
use crate::interface::verdict::LossResponse;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate, Time};

/// The congestion control of one flow, or of one path of a multipath connection: the transport
/// reports events, the controller answers with a window and, optionally, a pacing rate.
///
/// For one acknowledgment the transport calls, in this order:
/// [`on_packet_lost`](Self::on_packet_lost) for each packet that the acknowledgment shows to be
/// lost, [`on_loss`](Self::on_loss) if it reveals an episode of loss,
/// [`on_recovery_end`](Self::on_recovery_end) if it ends one, then [`on_ack`](Self::on_ack).
///
/// An algorithm that is fed bursts ([`Feed::Bursts`](crate::registry::Feed)) receives one
/// [`on_bandwidth`](Self::on_bandwidth), then one [`on_burst`](Self::on_burst) for each burst, and
/// no event of a single packet.
///
/// **Wrappers.** A controller that wraps another one, such as
/// [`WithClassifier`](crate::WithClassifier), returns it from [`inner`](Self::inner) and
/// [`inner_mut`](Self::inner_mut). Every provided method forwards to the inner controller, and only
/// without one does it return its default. So a wrapper writes the methods in which it differs, and
/// a method added here reaches the inner controller without a second list: a required method does
/// not compile until each wrapper implements it, and a provided one forwards in its own body.
pub trait Controller: Send + Sync + Debug {
    /// The controller that this one wraps.
    #[inline]
    fn inner(&self) -> Option<&dyn Controller> {
        None
    }

    /// The controller that this one wraps, to pass an event on.
    #[inline]
    fn inner_mut(&mut self) -> Option<&mut dyn Controller> {
        None
    }

    /// Invoked when a packet of `size` bytes is sent at `now`; `in_flight` includes it.
    #[inline]
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        if let Some(inner) = self.inner_mut() {
            inner.on_sent(now, size, in_flight);
        }
    }

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
    #[inline]
    fn on_packet_lost(&mut self, lost: &LostPacket) {
        if let Some(inner) = self.inner_mut() {
            inner.on_packet_lost(lost);
        }
    }

    /// Invoked when an episode of loss, or of congestion marks, begins.
    fn on_loss(&mut self, loss: &Loss) -> LossResponse;

    /// Invoked when everything is acknowledged that was in flight when the last episode began, or
    /// when the timer last fired, even if the window was not reduced for it.
    #[inline]
    fn on_recovery_end(&mut self, now: Time) {
        if let Some(inner) = self.inner_mut() {
            inner.on_recovery_end(now);
        }
    }

    /// Invoked when the retransmission timer fires.
    fn on_timeout(&mut self, timeout: &Timeout);

    /// Invoked when the last [`on_loss`](Self::on_loss) or [`on_timeout`](Self::on_timeout) proves
    /// to be spurious: nothing was lost (RFC 4015, RFC 9438 section 4.9). The algorithm may undo
    /// its reduction.
    #[inline]
    fn on_spurious(&mut self, now: Time) {
        if let Some(inner) = self.inner_mut() {
            inner.on_spurious(now);
        }
    }

    /// Invoked when the transport has measured the bandwidth of the path.
    #[inline]
    fn on_bandwidth(&mut self, bandwidth: &Bandwidth) {
        if let Some(inner) = self.inner_mut() {
            inner.on_bandwidth(bandwidth);
        }
    }

    /// Invoked when the receiver has reported a burst. Returns the response to its losses, if it
    /// had any.
    #[inline]
    fn on_burst(&mut self, burst: &BurstReport) -> Option<LossResponse> {
        self.inner_mut().and_then(|inner| inner.on_burst(burst))
    }

    /// How the next burst is sent; `None` if the algorithm does not plan bursts, or before the
    /// first [`on_bandwidth`](Self::on_bandwidth).
    #[inline]
    fn burst_plan(&self) -> Option<BurstPlan> {
        self.inner().and_then(|inner| inner.burst_plan())
    }

    /// Invoked when the maximum payload of one packet changes.
    fn on_mss(&mut self, mss: Bytes);

    /// Congestion window: the number of bytes that may be in flight, at least one segment.
    fn cwnd(&self) -> Bytes;

    /// Slow start threshold; `None` if the algorithm has none, or has not set it yet.
    #[inline]
    fn ssthresh(&self) -> Option<Bytes> {
        self.inner().and_then(|inner| inner.ssthresh())
    }

    /// Pacing rate, if the algorithm sets one. The transport obeys both the rate and the window.
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.inner().and_then(|inner| inner.pacing_rate())
    }

    /// Packets that leave together where the transport paces, at least 1: BBR.send_quantum of
    /// draft-ietf-ccwg-bbr, section 4.6.3. A transport whose bursts are decided elsewhere need not
    /// obey: Linux sends two segments together (`tcp_min_tso_segs`), and QUIC's pacer is the
    /// library's.
    #[inline]
    fn send_quantum(&self) -> u32 {
        self.inner().map_or(1, |inner| inner.send_quantum())
    }

    /// Whether the algorithm distinguishes random loss from congestion: its responses to losses
    /// then carry a verdict.
    #[inline]
    fn classifies_losses(&self) -> bool {
        self.inner().is_some_and(|inner| inner.classifies_losses())
    }

    /// The features that it requires of the transport.
    #[inline]
    fn transport_features(&self) -> TransportFeatures {
        self.inner().map_or(TransportFeatures::NOTHING, |inner| {
            inner.transport_features()
        })
    }

    /// How often it has detected that the path itself changed; `None` if it does not look for that.
    #[inline]
    fn path_changes(&self) -> Option<u64> {
        self.inner().and_then(|inner| inner.path_changes())
    }

    /// When fast recovery ends.
    #[inline]
    fn fast_recovery(&self) -> FastRecovery {
        self.inner()
            .map_or(FastRecovery::UntilRepaired, |inner| inner.fast_recovery())
    }

    /// Invoked before [`on_ack`](Self::on_ack) on a multipath connection, for coupled algorithms:
    /// `paths` is the present state of all its paths, and this controller belongs to `paths[own]`.
    /// Never invoked on a connection with one path.
    #[inline]
    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        if let Some(inner) = self.inner_mut() {
            inner.on_siblings(paths, own);
        }
    }

    /// Its present state in a word or two, for traces: "slow start".
    fn phase(&self) -> &'static str;

    /// Returns a copy with its entire state.
    fn clone_box(&self) -> Box<dyn Controller>;
}

/// A controller that was chosen at run time is a controller too.
impl Controller for Box<dyn Controller> {
    #[inline]
    fn inner(&self) -> Option<&dyn Controller> {
        Some(&**self)
    }
    #[inline]
    fn inner_mut(&mut self) -> Option<&mut dyn Controller> {
        Some(&mut **self)
    }
    #[inline]
    fn on_sent_limits(
        &mut self,
        now: Time,
        size: Bytes,
        in_flight: Bytes,
    ) -> (Bytes, Option<Rate>) {
        (**self).on_sent_limits(now, size, in_flight)
    }
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        (**self).on_ack(ack);
    }
    #[inline]
    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        (**self).on_loss(loss)
    }
    #[inline]
    fn on_timeout(&mut self, timeout: &Timeout) {
        (**self).on_timeout(timeout);
    }
    #[inline]
    fn on_mss(&mut self, mss: Bytes) {
        (**self).on_mss(mss);
    }
    #[inline]
    fn cwnd(&self) -> Bytes {
        (**self).cwnd()
    }
    #[inline]
    fn phase(&self) -> &'static str {
        (**self).phase()
    }
    #[inline]
    fn clone_box(&self) -> Box<dyn Controller> {
        (**self).clone_box()
    }
}

impl Clone for Box<dyn Controller> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

#[cfg(test)]
mod tests {
    /// The names of the trait's provided methods that do not use `inner`, by this file's own text.
    fn not_forwarded() -> Vec<&'static str> {
        let source = include_str!("controller.rs");
        let start = source.find("pub trait Controller").expect("the trait");
        let body = &source[start..];
        let body = &body[..body.find("\n}\n").expect("its end")];
        let methods = body.split("\n    fn ").skip(1);
        let provided = methods.filter(|method| method.contains(" {\n"));
        let forgotten = provided.filter(|method| !method.contains("self.inner"));
        forgotten
            .map(|method| &method[..method.find('(').expect("its parameters")])
            .collect()
    }

    #[test]
    fn every_provided_method_forwards_to_the_inner_controller() {
        // `on_sent_limits` calls three methods, which forward.
        assert_eq!(not_forwarded(), ["inner", "inner_mut", "on_sent_limits"]);
    }
}
