//! Checks that a transport calls its controller as [the contract](super) says.

use crate::interface::{
    Ack, Controller, FastRecovery, Loss, LossResponse, LostPacket, Signal, Timeout, forward,
};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use whimbrel_units::{Bytes, Rate, Time};

/// Calls that a message shows: the one that violates the contract, and those before it.
const RECENT: usize = 8;

/// What a [`CallChecker`] found. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct CallLog(Arc<Mutex<Calls>>);

/// A controller that passes all calls on to another one and checks their order. Copies check
/// nothing, since a transport may use them for predictions.
#[derive(Debug)]
pub struct CallChecker {
    inner: Box<dyn Controller>,
    log: Option<CallLog>,
}

/// The methods that one event calls, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Step {
    #[default]
    Start,
    Spurious,
    PacketLost,
    Episode,
    RecoveryEnd,
    Ack,
}

/// An episode that has not ended.
#[derive(Debug, Clone, Copy)]
struct OpenEpisode {
    /// `None` after a timeout.
    signal: Option<Signal>,
    reduced: bool,
    /// Sending starts again from the oldest packet, or may do so.
    starts_again: bool,
    /// A loss at an earlier position belongs to it.
    covered: u64,
}

impl OpenEpisode {
    fn is_reducing(&self) -> bool {
        self.reduced && !self.starts_again
    }
}

#[derive(Debug, Default)]
struct Calls {
    now: Time,
    step: Step,
    /// Signals of the episodes that began in this event.
    signals: Vec<Signal>,
    open: Option<OpenEpisode>,
    /// The open episode reduced the window before this event.
    was_reducing: bool,
    /// Lost packets may follow the beginning of the episode.
    gives_up: bool,
    /// An episode began and ended in this event.
    ended_at_once: bool,
    undoable: bool,
    lost: Bytes,
    delivered: Bytes,
    calls: usize,
    /// The last calls, for messages.
    recent: VecDeque<String>,
    violations: Vec<String>,
}

impl CallLog {
    /// The calls that follow belong to another event: an acknowledgment, or a timer.
    pub fn next_event(&self) {
        self.lock().next_event();
    }

    /// The violations so far, each with the last calls before it.
    pub fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    /// The number of calls so far.
    pub fn calls(&self) -> usize {
        self.lock().calls
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    fn next_event(&mut self) {
        self.step = Step::Start;
        self.signals.clear();
        self.was_reducing = self.open.is_some_and(|open| open.is_reducing());
        self.gives_up = false;
        self.ended_at_once = false;
    }

    fn require(&mut self, holds: bool, rule: &str) {
        if !holds {
            let recent: Vec<&str> = self.recent.iter().map(String::as_str).collect();
            self.violations
                .push(format!("{rule}:\n  {}", recent.join("\n  ")));
        }
    }

    fn note(&mut self, now: Time, call: &dyn fmt::Debug) {
        self.calls += 1;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(format!("{call:?}"));
        self.require(now >= self.now, "time decreased");
        self.now = self.now.max(now);
    }

    /// The event reaches this step. `again`: a call of the same step may come before it.
    fn reach(&mut self, step: Step, again: bool) {
        let in_order = self.step < step || (again && self.step == step);
        self.require(in_order, "calls in the wrong order");
        self.step = self.step.max(step);
    }

    fn sent(&mut self, now: Time, size: Bytes) {
        self.note(now, &("on_sent", now, size));
        self.next_event();
    }

    fn packet_lost(&mut self, lost: &LostPacket) {
        self.note(lost.now, lost);
        if self.ended_at_once && self.step == Step::RecoveryEnd {
            self.step = Step::PacketLost;
        }
        if !self.gives_up {
            self.reach(Step::PacketLost, true);
        }
        self.require(lost.lost >= self.lost, "fewer bytes lost than before");
        self.lost = lost.lost;
    }

    fn loss(&mut self, loss: &Loss, response: LossResponse, never: bool) {
        self.note(loss.now, &(loss, response));
        if self.ended_at_once && self.step == Step::RecoveryEnd {
            self.step = Step::PacketLost;
            self.signals.clear();
        }
        let first = !self.signals.contains(&loss.signal);
        self.require(first, "two episodes of one signal in one event");
        self.reach(Step::Episode, true);
        let covered = self.open.filter(|open| open.is_reducing());
        self.require(
            covered.is_none_or(|open| loss.lost_order >= open.covered),
            "a loss belongs to the open reduction",
        );
        self.signals.push(loss.signal);
        self.gives_up |= response.reduced && never;
        self.undoable = loss.signal == Signal::Loss;
        self.open = Some(OpenEpisode {
            signal: Some(loss.signal),
            reduced: response.reduced,
            starts_again: never,
            covered: loss.next_order,
        });
    }

    fn timeout(&mut self, timeout: &Timeout) {
        self.note(timeout.now, timeout);
        self.reach(Step::Episode, false);
        self.gives_up = true;
        self.undoable = true;
        self.open = Some(OpenEpisode {
            signal: None,
            reduced: true,
            starts_again: true,
            covered: timeout.next_order,
        });
    }

    fn recovery_end(&mut self, now: Time) {
        self.note(now, &("on_recovery_end", now));
        self.reach(Step::RecoveryEnd, false);
        let open = self.open.take();
        self.require(open.is_some(), "no episode is open that could end");
        self.ended_at_once = !self.signals.is_empty();
    }

    fn spurious(&mut self, now: Time) {
        self.note(now, &("on_spurious", now));
        self.reach(Step::Spurious, false);
        let undoable = std::mem::take(&mut self.undoable);
        self.require(undoable, "no episode can be spurious");
        self.open = None;
    }

    fn ack(&mut self, ack: &Ack) {
        self.note(ack.now, ack);
        self.reach(Step::Ack, false);
        if let Some(open) = self.open {
            if open.is_reducing() {
                self.require(ack.in_recovery, "a reduction is open: in_recovery");
            } else if open.signal != Some(Signal::Ecn) && !(open.reduced && open.signal.is_some()) {
                let stays = ack.in_recovery && !self.was_reducing;
                self.require(!stays, "no reduction is open: not in_recovery");
            }
        }
        self.require(ack.lost >= self.lost, "fewer bytes lost than before");
        self.require(
            ack.delivered >= self.delivered,
            "fewer bytes delivered than before",
        );
        (self.lost, self.delivered) = (ack.lost, ack.delivered);
    }
}

impl CallChecker {
    /// Checks the calls for `inner`.
    pub fn new(inner: Box<dyn Controller>) -> (Self, CallLog) {
        let log = CallLog::default();
        let checker = Self {
            inner,
            log: Some(log.clone()),
        };
        (checker, log)
    }

    fn check(&self, check: impl FnOnce(&mut Calls)) {
        if let Some(log) = &self.log {
            check(&mut log.lock());
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Controller for CallChecker {
    forward!(self => self.inner;
        on_mss, cwnd, raise_window, ssthresh, pacing_rate, send_quantum, classifies_losses,
        transport_features, path_changes, fast_recovery, on_siblings, phase);

    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        self.check(|calls| calls.sent(now, size));
        self.inner.on_sent(now, size, in_flight);
    }

    fn on_sent_limits(
        &mut self,
        now: Time,
        size: Bytes,
        in_flight: Bytes,
    ) -> (Bytes, Option<Rate>) {
        self.check(|calls| calls.sent(now, size));
        self.inner.on_sent_limits(now, size, in_flight)
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.check(|calls| calls.ack(ack));
        self.inner.on_ack(ack);
    }

    fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.check(|calls| calls.packet_lost(lost));
        self.inner.on_packet_lost(lost);
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        let response = self.inner.on_loss(loss);
        let never = self.inner.fast_recovery() == FastRecovery::Never;
        self.check(|calls| calls.loss(loss, response, never));
        response
    }

    fn on_recovery_end(&mut self, now: Time) {
        self.check(|calls| calls.recovery_end(now));
        self.inner.on_recovery_end(now);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.check(|calls| calls.timeout(timeout));
        self.inner.on_timeout(timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        self.check(|calls| calls.spurious(now));
        self.inner.on_spurious(now);
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            log: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, loss, setup};

    /// The violations of these calls.
    fn violations(calls: impl FnOnce(&mut CallChecker)) -> Vec<String> {
        let spec: crate::Spec = "newreno".parse().expect("registered");
        let (mut checker, log) =
            CallChecker::new(spec.build(&setup(10)).expect("fed acknowledgments"));
        calls(&mut checker);
        log.violations()
    }

    fn lose(checker: &mut CallChecker) {
        let loss = loss(checker, ACK.now);
        checker.on_loss(&loss);
    }

    fn recovering() -> Ack {
        Ack {
            in_recovery: true,
            ..ACK
        }
    }

    #[test]
    fn the_calls_of_a_recovery_are_in_order() {
        let found = violations(|c| {
            lose(c);
            c.on_ack(&recovering());
            c.log.as_ref().expect("an original").next_event();
            c.on_recovery_end(ACK.now);
            c.on_ack(&ACK);
        });
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn each_violation_is_found() {
        type Calls = fn(&mut CallChecker);
        let all: [(&str, Calls); 7] = [
            ("no episode is open", |c| c.on_recovery_end(ACK.now)),
            ("no episode can be spurious", |c| c.on_spurious(ACK.now)),
            ("wrong order", |c| {
                lose(c);
                c.on_ack(&recovering());
                c.on_recovery_end(ACK.now);
            }),
            ("a reduction is open", |c| {
                lose(c);
                c.on_ack(&ACK);
            }),
            ("belongs to the open reduction", |c| {
                let begun = Loss {
                    next_order: 9,
                    ..loss(c, ACK.now)
                };
                c.on_loss(&begun);
                c.log.as_ref().expect("an original").next_event();
                c.on_loss(&Loss {
                    lost_order: 8,
                    ..begun
                });
            }),
            ("two episodes of one signal", |c| {
                lose(c);
                lose(c);
            }),
            ("time decreased", |c| {
                c.on_recovery_end(Time::from_nanos(2));
                c.on_spurious(Time::from_nanos(1));
            }),
        ];
        for (rule, calls) in all {
            let found = violations(calls);
            assert!(found.iter().any(|v| v.contains(rule)), "{rule}: {found:?}");
        }
    }
}
