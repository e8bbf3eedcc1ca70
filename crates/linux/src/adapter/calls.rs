//! The calls that the algorithm receives for each event.

use super::{Adapter, Judged, MAX_PACKETS};
use crate::wire::{self, Event, NO_RTT, ca_state, flag};
use whimbrel_cc::{Ack, AtSending, Loss, LostPacket, Signal, Timeout};
use whimbrel_units::{Bytes, Duration, Rate, Time};

impl Adapter {
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        event: &Event,
        newly_lost: u64,
        advanced: bool,
    ) -> Option<Judged> {
        if event.rtt_us != NO_RTT {
            let rtt = Duration::from_micros(event.rtt_us.into());
            self.state.state.rtt = rtt;
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        self.report_lost(now, event, newly_lost);
        let was_reducing = self.episodes.stage().is_reducing();
        let ece = event.ack_flags & wire::ACK_ECE != 0;
        let signal = self.signal(event, newly_lost, ece);
        self.unjudged = match signal {
            Some(_) => false,
            None => event.ca_state != ca_state::OPEN && (self.unjudged || newly_lost > 0),
        };
        let judged = signal.and_then(|begun| self.on_loss(now, event, begun, ece));
        let una = self.una.get();
        self.episodes.on_progress(&mut *self.controller, now, una);
        if event.acked > 0 {
            self.deliver_ack(now, event, advanced, was_reducing, ece);
        }
        judged
    }

    /// The signal of congestion that begins an episode now, if there is one, and the position at
    /// which the episode ends.
    fn signal(&self, event: &Event, newly_lost: u64, ece: bool) -> Option<(Signal, u64)> {
        if !self.episodes.begins_with(self.una.get()) {
            return None;
        }
        let entered = |state: u8| event.states_entered & (1 << state) != 0;
        // The kernel begins a recovery without a new loss if the last one ended and losses are left
        // that were found in it.
        if newly_lost > 0 || (entered(ca_state::RECOVERY) && self.unjudged) {
            return Some((Signal::Loss, self.nxt.get()));
        }
        // Without ECN-Echo the kernel reduces for a drop in its own queue. Either reduction (CWR)
        // lasts until data sent after it is acknowledged.
        let signal = if ece { Signal::Ecn } else { Signal::Loss };
        entered(ca_state::CWR).then_some((signal, self.nxt.get() + 1))
    }

    fn on_loss(
        &mut self,
        now: Time,
        event: &Event,
        (signal, until): (Signal, u64),
        ece: bool,
    ) -> Option<Judged> {
        let (seq, end) = self.hole(event);
        let loss = Loss {
            now,
            signal,
            in_flight: self.bytes(flight_size(event)),
            lost: Bytes::new(self.lost_bytes()),
            // What is acknowledged is no hole.
            lost_order: seq.max(self.una.get()),
            next_order: self.nxt.get(),
            sent: self.hole_sent(event, seq),
            ece,
            truth: None,
        };
        let response = (self.episodes).on_loss(&mut *self.controller, &loss, until);
        self.state.episodes.count(signal, &response);
        response.verdict.map(|verdict| Judged {
            time: now,
            seq: seq as u32,
            end: end as u32,
            verdict,
        })
    }

    fn deliver_ack(
        &mut self,
        now: Time,
        event: &Event,
        advanced: bool,
        was_reducing: bool,
        ece: bool,
    ) {
        let round_start = event.prior_delivered.wrapping_sub(self.round_ends) as i32 >= 0;
        if round_start {
            self.round_ends = event.delivered;
        }
        let newest = event.newest_sent_us.saturating_mul(1000);
        let at = self.sent.at(newest, event.in_flight);
        let since_then = event.delivered.wrapping_sub(event.prior_delivered);
        let delivered = self.delivered.bytes();
        let rate = (event.rate_interval_us > 0).then(|| {
            Rate::over(
                self.bytes(event.rate_delivered),
                Duration::from_micros(event.rate_interval_us.into()),
            )
        });
        let app_limited = event.flags & flag::APP_LIMITED != 0;
        // A duplicate acknowledgment that indicates a loss which is not yet certain.
        let excused = (self.nacks.as_ref()).is_some_and(|nacks| nacks.excuses(event.snd_una));
        let suspicious =
            !advanced && !excused && !self.episodes.is_open() && event.ca_state != ca_state::OPEN;
        let ack = Ack {
            now,
            acked: self.bytes(event.acked),
            rtt: (event.rtt_us != NO_RTT).then_some(self.state.state.rtt),
            srtt: Duration::from_micros(event.srtt_us.into()),
            min_rtt: self
                .min_rtt
                .unwrap_or(Duration::from_micros(event.srtt_us.into())),
            in_flight: self.bytes(event.in_flight),
            delivered: Bytes::new(delivered),
            delivery_rate: rate,
            app_limited,
            cwnd_limited: self.is_cwnd_limited(event),
            in_recovery: was_reducing || self.episodes.stage().is_reducing() || suspicious,
            round_start,
            receiver_time: self.clock.time(event.rcv_tsval, self.min_rtt),
            lost: Bytes::new(self.lost_bytes()),
            newest: Some(AtSending {
                sent: self.time(newest),
                in_flight: self.bytes(at.in_flight),
                delivered: Bytes::new(delivered.saturating_sub(u64::from(since_then) * self.mss)),
                lost: Bytes::new(at.lost),
                app_limited,
                retransmitted: event.flags & flag::RETRANSMISSION != 0,
            }),
            ece,
        };
        self.controller.on_ack(&ack);
        if let Some(observer) = &mut self.observer {
            observer.on_ack(&ack);
        }
        self.state.state.delivery_rate = rate.or(self.state.state.delivery_rate);
    }

    /// Linux's tcp_is_cwnd_limited(): in slow start half a window in flight counts as use.
    pub(super) fn is_cwnd_limited(&self, event: &Event) -> bool {
        let cwnd = self.controller.cwnd();
        let slow_start = self.controller.ssthresh().is_none_or(|s| cwnd < s);
        event.flags & flag::CWND_LIMITED != 0
            || event.prior_in_flight >= event.cwnd
            || (slow_start && event.cwnd < event.max_packets_out.saturating_mul(2))
    }

    pub(super) fn on_timeout(&mut self, now: Time, event: &Event) {
        let una = self.una.get();
        self.state.episodes.timeouts += 1;
        let timeout = Timeout {
            now,
            in_flight: self.bytes(event.prior_in_flight.max(1)),
            repeated: self.episodes.times_out_again(una),
            next_order: self.nxt.get(),
        };
        self.episodes.on_timeout(&mut *self.controller, &timeout);
    }

    pub(super) fn on_spurious(&mut self, now: Time) {
        let una = self.una.get();
        if (self.episodes).on_spurious(&mut *self.controller, now, una) {
            self.state.episodes.spurious += 1;
        }
    }

    /// Reports the packets that left since the last event.
    pub(super) fn on_sent(&mut self, event: &Event) {
        let count = self.segments.advance(event.segments_out, self.mss);
        self.retransmits.advance(event.retransmitted, self.mss);
        let sent = self.time(self.last_event);
        for _ in 0..count.min(MAX_PACKETS) {
            self.controller.on_sent(
                sent,
                Bytes::new(self.mss),
                self.bytes(event.prior_in_flight),
            );
        }
    }

    pub(super) fn report_lost(&mut self, now: Time, event: &Event, newly_lost: u64) {
        if newly_lost == 0 {
            return;
        }
        let (seq, _) = self.hole(event);
        let sent = self.hole_sent(event, seq);
        let at = self.sent.at(self.origin + sent.as_nanos(), event.in_flight);
        let before = self.lost_bytes().saturating_sub(newly_lost * self.mss);
        for index in 1..=newly_lost.min(MAX_PACKETS) {
            self.controller.on_packet_lost(&LostPacket {
                now,
                size: Bytes::new(self.mss),
                lost: Bytes::new(before + index * self.mss),
                at: AtSending {
                    sent,
                    in_flight: self.bytes(at.in_flight),
                    delivered: Bytes::new(self.delivered.bytes()),
                    lost: Bytes::new(at.lost),
                    app_limited: false,
                    retransmitted: false,
                },
            });
        }
    }

    /// The first lost segment: its first sequence number and the one behind it, unwrapped. Where
    /// the kernel does not show it, the first unacknowledged one.
    fn hole(&self, event: &Event) -> (u64, u64) {
        if event.flags & flag::LOST_KNOWN == 0 {
            let una = self.una.get();
            return (una, una + self.mss);
        }
        let seq = self.una.at(event.lost_seq).get();
        let length = event.lost_end.wrapping_sub(event.lost_seq);
        (seq, seq + u64::from(length))
    }

    fn hole_sent(&self, event: &Event, seq: u64) -> Time {
        let known = event.flags & flag::LOST_KNOWN != 0 && event.lost_sent != 0;
        self.time(if known {
            event.lost_sent
        } else {
            self.sent.last_sent(seq)
        })
    }
}

/// FlightSize of RFC 5681, packets. While the window is the limit it is the window: Linux leaves up
/// to a burst of it unused, to send larger bursts (tcp_tso_should_defer()).
fn flight_size(event: &Event) -> u32 {
    if event.flags & flag::CWND_LIMITED != 0 {
        event.prior_in_flight.max(event.cwnd)
    } else {
        event.prior_in_flight
    }
}
