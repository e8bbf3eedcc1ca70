//! The sender of bursts: opens the flow, measures the path with trains, sends, and looks for the
//! path when nothing is heard of it. It decides what leaves and when; its carrier writes the
//! messages, keeps the data, and reports what arrived.
//!
//! ```text
//! opening -> measuring (ten trains) -> sending -> closing -> done
//!                ^        ^              |  ^
//!                |        +-- checking --|--+   the path is the old one, or not
//!                +----------- halted <---+      the circuit breaker
//! ```
//!
//! What is not answered is sent again.
//!
//! **Circuit breaker** (RFC 8084). A sender that hears nothing of bursts in flight for a while, at
//! most ten round trips and a second, stops and only probes. When an answer arrives, it measures
//! the path again; or it sends one train, and if that finds the old bandwidth within a quarter, it
//! goes on at the old rate ([`SenderOptions::check`]).

use super::trains::{self, TRAINS};
use super::{Departures, Granted, bounded_rate};
use crate::interface::{Bandwidth, BurstController};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// First wait for an answer to the opening.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Maximum of the waits for an answer.
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// Bounds of the circuit breaker: this many round trips and a second (RFC 8084 section 3.1: some
/// round trips).
const BREAKER_ROUNDS: u64 = 10;
const BREAKER_BASE: Duration = Duration::from_secs(1);
/// A path whose new estimate differs by less than this fraction is the same path.
const SAME_PATH: f64 = 0.25;
/// The closing is sent this many times. (The user timeout of RFC 9293 is minutes. A receiver that
/// misses the closing drops the flow when it is silent.)
const CLOSINGS: u32 = 8;

/// How a sender behaves.
#[derive(Debug, Clone, Copy)]
pub struct SenderOptions {
    /// Silence after which it halts; `None`: it never halts, as in the paper.
    pub circuit_breaker: Option<Duration>,
    /// After a halt one train tells whether the path is the old one. Otherwise all ten follow.
    pub check: bool,
    /// Interval of trains that renew the estimate while data flows; `None`: never, as in the paper.
    pub reestimate: Option<Duration>,
    /// [`Bandwidth::exact`].
    pub exact: bool,
}

/// What the carrier knows of the path when it calls.
#[derive(Debug, Clone, Copy)]
pub struct PathView {
    /// Size of a full packet on the wire.
    pub packet: Bytes,
    /// How long an answer to a closing takes.
    pub close: Duration,
    /// How long the report on a train takes. The receiver waits half a second for its end; this is
    /// longer.
    pub train: Duration,
    /// Between probes.
    pub probe: Duration,
}

/// What a sender wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// The announcement of the flow.
    Open,
    /// The packets of a train, back to back.
    Train {
        /// Its number.
        number: u32,
        /// Its packets.
        count: u8,
    },
    /// A question whether the path works again. Bursts in flight are lost.
    Probe,
    /// All data is acknowledged.
    Close,
}

/// What follows from an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// This leaves.
    Send(Control),
    /// The path was measured: bursts leave from now on. What is not reported is lost.
    Begin,
    /// The path is the old one: bursts leave again.
    Resume,
    /// Nothing.
    Nothing,
}

/// What it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Opening(Try),
    /// The train of this step was sent.
    Measuring(u8, Try),
    Sending,
    /// Until the next probe.
    Halted(Time),
    /// The path answers again: a train was sent to check that it is the same.
    Checking(Try),
    Closing(Try),
    Done,
}

/// Something that waits for an answer: how often it was sent, and when it is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Try {
    count: u32,
    until: Time,
}

impl Try {
    fn first(now: Time, wait: Duration) -> Self {
        Self {
            count: 1,
            until: now + wait,
        }
    }

    /// The next one. The wait doubles each time, up to a minute if it was not longer at first.
    fn again(self, now: Time, wait: Duration) -> Self {
        let longer = wait * (1 << self.count.min(10));
        Self {
            count: self.count + 1,
            until: now + longer.min(wait.max(LONGEST_RETRY)),
        }
    }
}

/// The sender of one flow.
#[derive(Debug)]
pub struct Sender {
    /// Its congestion control.
    pub controller: Box<dyn BurstController>,
    options: SenderOptions,
    phase: Phase,
    next_train: u32,
    reestimate_at: Option<Time>,
    next_burst: u32,
    bandwidth: Rate,
    heard: Time,
    halts: u64,
}

impl Sender {
    /// A sender that has not begun.
    pub fn new(controller: Box<dyn BurstController>, options: SenderOptions) -> Self {
        Self {
            controller,
            options,
            phase: Phase::Idle,
            next_train: 0,
            reestimate_at: None,
            next_burst: 0,
            bandwidth: Rate::ZERO,
            heard: Time::ZERO,
            halts: 0,
        }
    }

    /// Whether bursts leave.
    pub fn is_sending(&self) -> bool {
        self.phase == Phase::Sending
    }

    /// Whether the path is measured: only bursts leave, or nothing.
    pub fn is_measured(&self) -> bool {
        matches!(self.phase, Phase::Sending | Phase::Halted(_))
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Whether the opening was sent once and is not answered: an answer gives a round-trip time.
    pub fn has_opened_once(&self) -> bool {
        matches!(self.phase, Phase::Opening(Try { count: 1, .. }))
    }

    /// The bandwidth that the controller knows.
    pub fn bandwidth(&self) -> Rate {
        self.bandwidth
    }

    /// How often the circuit breaker halted it.
    pub fn halts(&self) -> u64 {
        self.halts
    }

    /// When something was last heard of the receiver.
    pub fn heard(&self) -> Time {
        self.heard
    }

    /// What it does, in a word: the controller's phase while it sends.
    pub fn phase(&self) -> &'static str {
        match self.phase {
            Phase::Idle | Phase::Opening(_) => "opening",
            Phase::Measuring(..) => "measuring",
            Phase::Sending => self.controller.phase(),
            Phase::Halted(_) => "halted",
            Phase::Checking(_) => "checking",
            Phase::Closing(_) | Phase::Done => "closing",
        }
    }

    /// Opens the flow.
    pub fn open(&mut self, now: Time) -> Action {
        self.heard = now;
        self.phase = Phase::Opening(match self.phase {
            Phase::Opening(last) => last.again(now, FIRST_RETRY),
            _ => Try::first(now, FIRST_RETRY),
        });
        Action::Send(Control::Open)
    }

    /// Measures the path: it may be another one.
    pub fn measure(&mut self, now: Time, path: &PathView) -> Action {
        self.send_train(Phase::Measuring(0, Try::first(now, path.train)), 0)
    }

    /// Something arrived of the receiver.
    pub fn on_heard(&mut self, now: Time) {
        self.heard = now;
    }

    /// The receiver is reachable: a halted sender starts again.
    pub fn on_alive(&mut self, now: Time, path: &PathView) -> Action {
        match self.phase {
            Phase::Halted(_) if self.options.check => {
                let check = Phase::Checking(Try::first(now, path.train));
                self.send_train(check, TRAINS - 1)
            }
            Phase::Halted(_) => self.measure(now, path),
            _ => Action::Nothing,
        }
    }

    /// The receiver accepted the flow. `granted`: it knows its bandwidth without trains.
    pub fn on_accept(&mut self, now: Time, granted: Option<Granted>, path: &PathView) -> Action {
        match (self.phase, granted) {
            (Phase::Opening(_), Some(granted)) => self.begin(now, granted, path),
            (Phase::Opening(_), None) => self.measure(now, path),
            _ => Action::Nothing,
        }
    }

    /// The receiver reported a train: `latest` is what it measured, `granted` what all measured, if
    /// there are enough.
    pub fn on_train_report(
        &mut self,
        now: Time,
        number: u32,
        latest: Rate,
        granted: Option<Granted>,
        path: &PathView,
    ) -> Action {
        if number.wrapping_add(1) != self.next_train {
            return Action::Nothing; // Of a train that was given up.
        }
        match (self.phase, granted) {
            (Phase::Measuring(step, _), _) if step + 1 < TRAINS => {
                let next = Phase::Measuring(step + 1, Try::first(now, path.train));
                self.send_train(next, step + 1)
            }
            (Phase::Measuring(..), Some(granted)) => self.begin(now, granted, path),
            (Phase::Checking(_), _) => {
                let old = self.bandwidth.as_bits_per_sec() as f64;
                let new = bounded_rate(latest.as_bits_per_sec()).as_bits_per_sec() as f64;
                if (new - old).abs() <= SAME_PATH * old {
                    self.send_bursts(now);
                    Action::Resume
                } else {
                    self.measure(now, path)
                }
            }
            (Phase::Sending, Some(granted)) => {
                self.notify_bandwidth(now, granted, path, false);
                Action::Nothing
            }
            _ => Action::Nothing,
        }
    }

    /// All data is acknowledged.
    pub fn close(&mut self, now: Time, path: &PathView) -> Action {
        self.phase = match self.phase {
            Phase::Closing(last) if last.count == CLOSINGS => Phase::Done,
            Phase::Closing(last) => Phase::Closing(last.again(now, path.close)),
            _ => Phase::Closing(Try::first(now, path.close)),
        };
        match self.phase {
            Phase::Closing(_) => Action::Send(Control::Close),
            _ => Action::Nothing,
        }
    }

    /// The receiver has closed.
    pub fn on_closed(&mut self) {
        if let Phase::Closing(_) = self.phase {
            self.phase = Phase::Done;
        }
    }

    /// When [`Self::on_timer`] is to be called. `oldest`: when the oldest unreported burst began.
    pub fn deadline(&self, oldest: Option<Time>, srtt: Duration) -> Option<Time> {
        match self.phase {
            Phase::Idle | Phase::Done => None,
            Phase::Sending => self.breaker_at(oldest, srtt),
            Phase::Halted(until) => Some(until),
            Phase::Opening(last)
            | Phase::Measuring(_, last)
            | Phase::Checking(last)
            | Phase::Closing(last) => Some(last.until),
        }
    }

    /// The deadline of [`Self::deadline`] may have passed.
    pub fn on_timer(
        &mut self,
        now: Time,
        oldest: Option<Time>,
        srtt: Duration,
        path: &PathView,
    ) -> Action {
        if self.deadline(oldest, srtt).is_none_or(|at| at > now) {
            return Action::Nothing;
        }
        match self.phase {
            Phase::Idle | Phase::Done => Action::Nothing,
            Phase::Opening(_) => self.open(now),
            Phase::Measuring(step, last) => {
                let again = last.again(now, path.train);
                self.send_train(Phase::Measuring(step, again), step)
            }
            Phase::Checking(last) => {
                let again = last.again(now, path.train);
                self.send_train(Phase::Checking(again), TRAINS - 1)
            }
            Phase::Closing(_) => self.close(now, path),
            Phase::Sending | Phase::Halted(_) => {
                self.halts += u64::from(self.is_sending());
                self.phase = Phase::Halted(now + path.probe);
                Action::Send(Control::Probe)
            }
        }
    }

    /// A packet of data has left: the train that now renews the estimate, if it is time. (After
    /// data, so that some gets through in front of a queue that is shorter than the train.)
    pub fn renew(&mut self, now: Time) -> Option<Control> {
        if self.reestimate_at.is_none_or(|at| at > now) {
            return None;
        }
        self.reestimate_at = self.options.reestimate.map(|every| now + every);
        Some(self.train(TRAINS - 1))
    }

    /// The next burst: its number, its departures from `begin` on, and the controller's
    /// [`increase`](crate::BurstPlan::increase). `None` if the controller has no plan. `packet`,
    /// `interval` and `available` as in [`Departures::new`].
    pub fn plan(
        &mut self,
        begin: Time,
        packet: Bytes,
        interval: Duration,
        available: u32,
    ) -> Option<(u32, Departures, f64)> {
        let plan = self.controller.plan()?;
        let departures = Departures::new(begin, &plan, packet, interval, available);
        let number = self.next_burst;
        self.next_burst = number.wrapping_add(1);
        Some((number, departures, plan.increase))
    }

    fn send_train(&mut self, phase: Phase, step: u8) -> Action {
        self.phase = phase;
        Action::Send(self.train(step))
    }

    fn train(&mut self, step: u8) -> Control {
        let number = self.next_train;
        self.next_train = number.wrapping_add(1);
        let count = trains::packets(step);
        Control::Train { number, count }
    }

    fn begin(&mut self, now: Time, granted: Granted, path: &PathView) -> Action {
        self.notify_bandwidth(now, granted, path, true);
        self.send_bursts(now);
        Action::Begin
    }

    fn send_bursts(&mut self, now: Time) {
        self.phase = Phase::Sending;
        self.heard = now;
        self.reestimate_at = self.options.reestimate.map(|every| now + every);
    }

    fn notify_bandwidth(&mut self, now: Time, granted: Granted, path: &PathView, restart: bool) {
        self.bandwidth = bounded_rate(granted.bandwidth.as_bits_per_sec());
        let allocated = bounded_rate(granted.allocated.as_bits_per_sec());
        self.controller.on_bandwidth(&Bandwidth {
            now,
            rate: self.bandwidth,
            packet: path.packet,
            allocated: Some(allocated).filter(|rate| *rate > Rate::ZERO),
            restart,
            exact: self.options.exact,
        });
    }

    /// When the circuit breaker halts a sender of bursts if nothing arrives.
    fn breaker_at(&self, oldest: Option<Time>, srtt: Duration) -> Option<Time> {
        let longest = self.options.circuit_breaker?;
        let bound = srtt * BREAKER_ROUNDS + BREAKER_BASE;
        Some(self.heard.max(oldest?) + longest.min(bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setup;

    const PATH: PathView = PathView {
        packet: Bytes::new(1500),
        close: Duration::from_millis(200),
        train: Duration::from_millis(1200),
        probe: Duration::from_millis(250),
    };
    const RATE: Rate = Rate::from_bits_per_sec(50_000_000);
    const GRANTED: Option<Granted> = Some(Granted {
        bandwidth: RATE,
        allocated: RATE,
    });

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    fn sender(check: bool) -> Sender {
        let spec: crate::Spec = "enhanced-aatp".parse().expect("registered");
        let setup = Setup {
            mss: PATH.packet,
            initial_window: PATH.packet,
            paced: true,
            ssthresh: None,
            growth: Default::default(),
            seed: 1,
            time_of_day: Default::default(),
            saved: None,
        };
        let controller = spec.build_for_bursts(&setup).expect("fed bursts");
        let options = SenderOptions {
            circuit_breaker: Some(Duration::from_secs(2)),
            check,
            reestimate: None,
            exact: true,
        };
        Sender::new(controller, options)
    }

    /// A sender that sends bursts from 0 s on.
    fn sending(check: bool) -> Sender {
        let mut sender = sender(check);
        sender.open(ms(0));
        let begin = sender.on_accept(ms(0), GRANTED, &PATH);
        assert_eq!((begin, sender.is_sending()), (Action::Begin, true));
        sender
    }

    /// Its timer fires when it is due, with a burst in flight since 0 s; returns when and what.
    fn wait(sender: &mut Sender) -> (Time, Action) {
        let (oldest, srtt) = (Some(ms(0)), Duration::from_millis(50));
        let at = sender.deadline(oldest, srtt).expect("a timer");
        (at, sender.on_timer(at, oldest, srtt, &PATH))
    }

    fn train(number: u32, count: u8) -> Action {
        Action::Send(Control::Train { number, count })
    }

    #[test]
    fn each_train_waits_for_the_report_on_the_one_before() {
        let mut sender = sender(false);
        assert_eq!(sender.open(ms(0)), Action::Send(Control::Open));
        assert_eq!(sender.on_accept(ms(50), None, &PATH), train(0, 2));
        for number in 0..9_u8 {
            let next = sender.on_train_report(ms(100), number.into(), RATE, None, &PATH);
            assert_eq!(next, train(u32::from(number) + 1, 2 * number + 4));
        }
        let mut report = |number| sender.on_train_report(ms(200), number, RATE, GRANTED, &PATH);
        assert_eq!(report(3), Action::Nothing, "of a train that was given up");
        assert_eq!(report(9), Action::Begin);
        assert_eq!(sender.bandwidth(), RATE);
    }

    #[test]
    fn the_wait_for_an_answer_doubles_up_to_a_minute() {
        let mut sender = sender(false);
        sender.open(ms(0));
        let seconds: Vec<f64> = (0..8)
            .map(|_| wait(&mut sender).0.since(Time::ZERO).as_secs_f64())
            .collect();
        assert_eq!(seconds, [1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 123.0, 183.0]);
    }

    #[test]
    fn silence_halts_it_until_an_answer_comes() {
        for (check, latest, expected) in [
            (false, RATE, train(0, 2)),
            (true, RATE, Action::Resume),
            (true, RATE.mul_f64(0.5), train(1, 2)),
        ] {
            let mut sender = sending(check);
            // Ten round trips and a second are less than two seconds.
            assert_eq!(wait(&mut sender), (ms(1500), Action::Send(Control::Probe)));
            assert_eq!(wait(&mut sender), (ms(1750), Action::Send(Control::Probe)));
            assert_eq!((sender.halts(), sender.phase()), (1, "halted"));
            let mut next = sender.on_alive(ms(1800), &PATH);
            if check {
                assert_eq!(next, train(0, 20));
                next = sender.on_train_report(ms(1900), 0, latest, GRANTED, &PATH);
            }
            assert_eq!(next, expected);
        }
    }

    #[test]
    fn it_closes_eight_times_if_nothing_answers() {
        let mut sender = sending(false);
        assert_eq!(sender.close(ms(0), &PATH), Action::Send(Control::Close));
        for _ in 1..8 {
            assert_eq!(wait(&mut sender).1, Action::Send(Control::Close));
        }
        assert_eq!(wait(&mut sender).1, Action::Nothing);
        assert_eq!(sender.deadline(None, Duration::ZERO), None);
    }
}
