//! The answer to the next acknowledgment, in advance ([`Command::ahead`]).
//!
//! The kernel's half applies an answer at the next acknowledgment. A window that grows would then
//! grow one acknowledgment late: a quarter of a round trip if four acknowledgments arrive in one,
//! and a whole one in slow start after a timeout. So a command also contains the windows after the
//! acknowledgment that most likely follows: one that advances, ends no recovery and reveals no
//! loss. A copy of the algorithm is asked for them; its answer to the real acknowledgment follows
//! as usual and replaces them. If it is smaller, the algorithm depends on more than this module
//! knows of an acknowledgment that has not arrived, such as its RTT. Then nothing is answered in
//! advance until many predictions in a row were not too large.
//!
//! [`Command::ahead`]: crate::wire::Command::ahead

use super::{Adapter, pacing_command};
use crate::wire::{self, Event, kind};
use whimbrel_cc::Ack;
use whimbrel_units::Bytes;

/// Windows up to this, packets, are answered in advance. In larger ones an acknowledgment is a
/// small part of a round trip, and the copies take CPU time.
const MAX_WINDOW: u64 = 64;

/// After a prediction that was too large, as many must be right.
const PROBATION: u32 = 64;

/// The predicted windows and pacing rates.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ahead {
    /// As in the command; 0: none.
    windows: u64,
    /// As in the command.
    pacing: [u64; 2],
    /// The number of predictions that must be right before they are used.
    probation: u32,
}

impl Ahead {
    /// [`Command::ahead`](crate::wire::Command::ahead).
    pub fn command(&self) -> u64 {
        if self.probation == 0 { self.windows } else { 0 }
    }

    /// [`Command::ahead_pacing`](crate::wire::Command::ahead_pacing).
    pub fn pacing(&self) -> [u64; 2] {
        self.pacing
    }

    /// The acknowledgment that was predicted has been answered with a window of `packets`.
    fn check(&mut self, acked: u32, packets: u64) {
        let predicted = if acked == 1 {
            self.windows & 0xffff
        } else {
            self.windows >> 16
        };
        self.probation = if predicted > packets {
            PROBATION
        } else {
            self.probation.saturating_sub(1)
        };
    }
}

impl Adapter {
    /// Compares the last prediction with the answer to `event`, and makes the next one. `lost`: a
    /// loss was found with it. `advanced`: it acknowledges new data.
    pub(super) fn look_ahead(&mut self, event: &Event, lost: bool, advanced: bool) {
        let predicted = event.kind == kind::ACK
            && advanced
            && event.acked > 0
            && !lost
            && event.ack_flags & wire::ACK_ECE == 0
            && self.is_cwnd_limited(event);
        let mut ahead = self.ahead;
        if predicted && ahead.windows != 0 {
            ahead.check(event.acked, self.controller.cwnd().get() / self.mss);
        }
        (ahead.windows, ahead.pacing) = self.predict();
        self.ahead = ahead;
    }

    /// The predicted windows, and the pacing rates with which they begin. None in a recovery, where
    /// proportional rate reduction decides. With a pacing rate, which limits before the window
    /// does, only before the jump of Careful Resume: no acknowledgment follows that of the initial
    /// window for a round trip.
    fn predict(&self) -> (u64, [u64; 2]) {
        let is_small = self.controller.cwnd().get() / self.mss <= MAX_WINDOW;
        let jumps = self.delivered.bytes() < self.jump_after;
        if !is_small
            || self.episodes.stage().is_reducing()
            || (self.controller.pacing_rate().is_some() && !jumps)
        {
            return (0, [0; 2]);
        }
        let after = |packets: u64| {
            let mut copy = self.controller.clone_box();
            copy.on_ack(&self.next_ack(Bytes::new(packets * self.mss)));
            let window = (copy.cwnd().get() / self.mss).clamp(1, u64::from(u16::MAX));
            (window, pacing_command(copy.pacing_rate()))
        };
        let ((one, one_paced), (more, more_paced)) = (after(1), after(2));
        (one | more << 16, [one_paced, more_paced])
    }

    /// An acknowledgment like the last one that delivers this much and uses the whole window.
    fn next_ack(&self, acked: Bytes) -> Ack {
        let state = &self.state.state;
        Ack {
            now: state.time,
            acked,
            rtt: self.min_rtt.map(|_| state.rtt),
            srtt: state.srtt,
            min_rtt: self.min_rtt.unwrap_or(state.srtt),
            in_flight: state.in_flight,
            delivered: Bytes::new(self.delivered.bytes() + acked.get()),
            delivery_rate: state.delivery_rate,
            app_limited: false,
            cwnd_limited: true,
            in_recovery: false,
            round_start: false,
            receiver_time: None,
            lost: Bytes::new(self.lost_bytes()),
            newest: None,
            ece: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{ACK_ADVANCED, Event, Start, ca_state, flag, kind};
    use whimbrel_cc::Spec;

    const MSS: u32 = 1000;

    /// A connection in slow start with a window of `cwnd` packets.
    fn connection(controller: &str, cwnd: u32) -> (Adapter, Event) {
        let spec: Spec = controller.parse().expect("an algorithm");
        let event = Event {
            time: 1_000_000_000,
            generation: 1,
            number: 1,
            kind: kind::START,
            mss: MSS,
            cwnd,
            srtt_us: 100_000,
            ..Event::default()
        };
        let start = Start {
            event,
            ..Start::default()
        };
        (Adapter::new(&spec, &start, 1, Default::default()), event)
    }

    /// The next event of a connection whose window is in use: it acknowledges two packets.
    fn acknowledge(event: &Event) -> Event {
        Event {
            time: event.time + 1_000_000,
            number: event.number + 1,
            kind: kind::ACK,
            flags: flag::CWND_LIMITED,
            ack_flags: ACK_ADVANCED,
            acked: 2,
            delivered: event.delivered + 2,
            rtt_us: 100_000,
            snd_una: event.snd_una + 2 * MSS,
            snd_nxt: event.snd_una + 40 * MSS,
            ..*event
        }
    }

    #[test]
    fn it_is_the_window_after_the_next_acknowledgment() {
        let (mut adapter, mut event) = connection("newreno", 10);
        for _ in 0..10 {
            let ahead = adapter.command().ahead;
            event = acknowledge(&event);
            adapter.on_event(&event);
            let window = adapter.command().window as u32;
            assert_eq!(u64::from(window), ahead >> 16);
        }
        assert_eq!(adapter.command().window as u32, 30, "slow start");
        assert_eq!(adapter.command().ahead, 31 | 32 << 16);
    }

    #[test]
    fn after_a_prediction_that_was_too_large_many_must_be_right() {
        let mut ahead = Ahead {
            windows: 11 | 12 << 16,
            ..Ahead::default()
        };
        ahead.check(1, 11);
        ahead.check(3, 12);
        ahead.check(2, 30);
        assert_eq!(ahead.command(), 11 | 12 << 16);
        ahead.check(2, 11);
        for _ in 0..PROBATION {
            assert_eq!(ahead.command(), 0);
            ahead.check(1, 11);
        }
        assert_eq!(ahead.command(), 11 | 12 << 16);
    }

    /// The jump of Careful Resume would leave at once if the kernel had its window before its rate.
    #[test]
    fn a_window_comes_with_the_rate_at_which_it_is_sent() {
        for controller in ["newreno", "bbr", "whimbrel"] {
            jump_is_answered_ahead(controller);
        }
    }

    fn jump_is_answered_ahead(controller: &str) {
        let (_, event) = connection("newreno", 10);
        let start = Start {
            event,
            ..Start::default()
        };
        let saved = whimbrel_cc::SavedPath {
            cwnd: Bytes::new(600_000),
            rtt: whimbrel_units::Duration::from_millis(100),
        };
        let spec: Spec = controller.parse().expect("an algorithm");
        let midnight = Default::default();
        let mut adapter = Adapter::resuming(&spec, &start, 1, midnight, Some(saved));
        let mut event = event;
        for _ in 0..4 {
            event = acknowledge(&event);
            adapter.on_event(&event);
        }
        // The initial window of ten packets is acknowledged by two more, not by one.
        let ahead = adapter.command();
        assert!(ahead.ahead & 0xffff < 30, "{controller}");
        assert_eq!(ahead.ahead >> 16, 100, "{controller}");
        assert_eq!(ahead.ahead_pacing[1], 1_000_000, "{controller}");
        adapter.on_event(&acknowledge(&event));
        let answer = adapter.command();
        assert_eq!(answer.window as u32, 100);
        assert_eq!(answer.pacing, 1_000_000);
    }

    #[test]
    fn there_is_none_in_recovery_in_large_windows_and_with_pacing() {
        let (mut adapter, event) = connection("newreno", 10);
        let event = Event {
            lost: 1,
            ca_state: ca_state::RECOVERY,
            states_entered: 1 << ca_state::RECOVERY,
            ..acknowledge(&event)
        };
        adapter.on_event(&event);
        assert_eq!(adapter.command().reduction & 1, 1);
        assert_eq!(adapter.command().ahead, 0);
        assert_eq!(connection("newreno", 65).0.command().ahead, 0);
        let (mut paced, event) = connection("bbr", 10);
        paced.on_event(&acknowledge(&event));
        assert_eq!(paced.command().ahead, 0);
    }
}
