//! Whimbrel: a short queue where the others allow it, the rate of the path where losses are random,
//! and CUBIC's share where others fill the queue.
//!
//! This project's own. Five papers have each one sense: a growing queue (Enhanced-AATP's jitter), a
//! standing queue (CERL's RTT), a path that changed (TCP-RTA), a refill after recovery (EMFAST),
//! and corruption that the receiver reports (TCP-NACK, in the transport). This algorithm puts them
//! around one model of the path. A file for each:
//!
//! | file | question |
//! |---|---|
//! | `delays.rs` | base RTT, standing queue and noise of the path |
//! | `forward.rs` | which part of an RTT is the way to the receiver |
//! | `target.rs` | how long a queue at which rate: fairness, priority |
//! | `startup.rs` | when is the rate of the path found |
//! | `cruise.rs` | the default mode: FAST's rule towards the target |
//! | `drain.rs` | what is the RTT without a queue |
//! | `clock.rs` | when do all of this algorithm's flows drain, wherever they are |
//! | `rhythm.rs` | the same without a common clock |
//! | `share.rs` | who gives way then |
//! | `queue_owner.rs` | whose queue was it, then |
//! | `fullness.rs` | is a delay above it a queue at all |
//! | `losses.rs` | how sure is it that a loss is congestion |
//! | `overflows.rs` | do losses come where the queue is long |
//! | `contrast.rs` | do drains lose less |
//! | `elasticity.rs` | do the others yield (Nimbus' question, asked of windows) |
//! | `surges.rs` | does the capacity vary |
//! | `compete.rs` | beside others that do not: CUBIC |
//! | `path.rs` | a longer path is not a queue |
//! | `excursions.rs` | when drains and trials begin, and what they have shown |
//! | `modes.rs` | from one mode to the next |
//! | `limits.rs` | what the transport gets of all that |
//!
//! **Fixed point.** In default mode a flow of x packets a second keeps a queue of `a/sqrt(x)`
//! seconds, so flows of one bottleneck have equal rates, in proportion to their priorities,
//! whatever their RTTs (`target.rs`).
//!
//! **Stability.** Let one flow fill a path of base RTT T, so that `W = C*(T + q)`. A round trip of
//! `W <- W + g*(W*T/(T + q') + alpha - W)`, where q' is the measured queue and q << T, changes a
//! deviation d of the queue by `d <- d - g*d'`. The queue that an acknowledgment measures is one
//! round trip old, and the standing RTT, a minimum over one round trip, is older by up to another
//! while the queue grows. With a delay of one round trip `z^2 - z + g = 0`: |z| = sqrt(g), stable
//! for g < 1. With two, `z^3 - z^2 + g = 0`: stable for g < 0.618. So g = 0.5 is stable, and g = 1
//! is not. For n flows the sum of windows obeys the same equation; differences between flows decay
//! by `1 - g*(alpha'/2 + q)/T`, slowly: within `T/(g*q)` round trips.
//!
//! **What it cannot have.** No algorithm whose delay converges to a range can be free of starvation
//! when delays vary by more than that range for other reasons (V. Arun, M. Alizadeh, H.
//! Balakrishnan, "Starvation in End-to-End Congestion Control", SIGCOMM 2022). It chose a short
//! queue: two of its flows whose base RTTs are wrong by a millisecond against each other are
//! unequal by a factor of 2 to 4 until the next drain. Where the RTT itself is noisy, the queue
//! grows with the noise, alike for all flows that see it.
//!
//! **When it works.** Random loss of several percent, outages, hand-overs, traces of Starlink,
//! beside few flows of CUBIC, NewReno and BBR. **When not.** Buffers of a tenth of a BDP, short
//! transfers beside CUBIC, and many flows of its own on hosts whose clocks differ by more than a
//! second. `docs/whimbrel.md` has the measurements.
//!
//! Units: bytes and seconds as `f64`; rates in packets of one segment per second where noted.

mod clock;
mod compete;
mod config;
mod contrast;
mod cruise;
mod delays;
mod drain;
mod elasticity;
mod excursions;
mod forward;
mod fullness;
mod limits;
mod losses;
mod modes;
mod overflows;
mod path;
mod queue_owner;
mod rhythm;
mod share;
mod startup;
mod surges;
mod target;
#[cfg(test)]
mod tests;

use crate::estimators::max_rate::MaxRate;
use crate::interface::{
    Ack, Controller, Loss, LossResponse, Signal, Timeout, TransportFeatures, Verdict,
};
use crate::path_change::rtt_step::RttStep;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, Setup, code};
use clock::Clock;
use compete::{Compete, FIRST_TRIAL, Sign};
use config::{Config, PARAMETERS};
use contrast::Contrast;
use cruise::Cruise;
use delays::Delays;
use drain::Excursion;
use elasticity::Yielding;
use forward::Backward;
use fullness::Fullness;
use limits::Limits;
use losses::Losses;
use overflows::Overflows;
use path::Suspected;
use rhythm::Rhythm;
use share::Share;
use startup::Startup;
use surges::Surges;
use target::Target;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "whimbrel",
    code: code!(
        "algorithms/model/whimbrel/mod.rs",
        "algorithms/model/whimbrel/modes.rs",
        "algorithms/model/whimbrel/excursions.rs",
        "algorithms/model/whimbrel/config.rs",
        "algorithms/model/whimbrel/delays.rs",
        "algorithms/model/whimbrel/forward.rs",
        "algorithms/model/whimbrel/target.rs",
        "algorithms/model/whimbrel/startup.rs",
        "algorithms/model/whimbrel/surges.rs",
        "algorithms/model/whimbrel/cruise.rs",
        "algorithms/model/whimbrel/drain.rs",
        "algorithms/model/whimbrel/clock.rs",
        "algorithms/model/whimbrel/rhythm.rs",
        "algorithms/model/whimbrel/share.rs",
        "algorithms/model/whimbrel/queue_owner.rs",
        "algorithms/model/whimbrel/fullness.rs",
        "algorithms/model/whimbrel/losses.rs",
        "algorithms/model/whimbrel/overflows.rs",
        "algorithms/model/whimbrel/contrast.rs",
        "algorithms/model/whimbrel/elasticity.rs",
        "algorithms/model/whimbrel/compete.rs",
        "algorithms/model/whimbrel/path.rs",
        "algorithms/model/whimbrel/limits.rs",
        "path_change/rtt_step.rs"
    ),
    summary: "A short queue by delay, confidence in losses, memory of the path; competes as CUBIC \
              with flows that do not yield",
    citation: "this project; after FAST, Copa, CERL+, TCP-RTA, EMFAST and Nimbus",
    parameters: PARAMETERS,
    feed: Feed::Acknowledgments {
        family: Family::Model,
        driven_by: DrivenBy::Path,
        build: |setup, values| Box::new(Whimbrel::new(setup, Config::from_values(values))),
    },
    look: Look::of(39, 7),
    without_receiver_clock: Some("it took queues of acknowledgments for queues of data"),
    ..Entry::BLANK
};

/// Minimum window in segments in normal operation. Below that of `limits.rs` pacing decides how
/// much is in flight.
const MIN_WINDOW: f64 = 1.0;

/// A window is at most this, bytes: every sum of windows remains finite.
const MAX_WINDOW: f64 = 1e15;

/// The confidence from which on a loss is called congestion, below which it is ignored, and from
/// which on a flow that competes answers it.
const CONGESTION: f64 = 0.5;
const IGNORED: f64 = 0.1;
const SURE: f64 = 0.95;

/// The part of the longest queue that a flow wants at most where the buffer overflows, and the part
/// of what it would want in a long buffer that it wants at least.
const BUFFER: f64 = 0.8;
const FEWEST: f64 = 0.1;

/// Round trips for which an overflow is remembered: as long as the longest queue.
const OVERFLOW: u64 = 500;

/// The standing RTT is the minimum over a round trip, but over no longer than this, s, or than so
/// many packets take. A queue swings within 100 ms where flows with short RTTs share it: over a
/// longer time than theirs a flow would see a shorter queue than they do, and take more than its
/// share.
const LONGEST: f64 = 0.05;
const MANY: f64 = 64.0;

/// The longest path without a queue: twice a geostationary satellite's, and some. What takes longer
/// is an outage.
const LONGEST_PATH: Duration = Duration::from_millis(1500);

/// What the controller is doing, and what it knows only while it does so.
#[derive(Debug, Clone)]
enum Mode {
    Startup(Startup),
    /// The default mode.
    Cruise(Cruise),
    /// A drain, and the growth to continue with.
    Drain(Excursion, Cruise),
    /// A push of `fullness.rs`, and the growth to continue with.
    Push(Excursion, Cruise),
    Compete(Box<Compete>),
    /// A trial of `compete.rs`, and the competition that it interrupts.
    Trial(Excursion, Box<Compete>),
}

impl Mode {
    /// The default mode, whose step begins small.
    fn cruise() -> Self {
        Self::Cruise(Cruise::new())
    }

    fn is_startup(&self) -> bool {
        matches!(self, Self::Startup(_))
    }

    /// The excursion of a drain, a push or a trial.
    fn excursion(&self) -> Option<&Excursion> {
        match self {
            Self::Drain(it, _) | Self::Push(it, _) | Self::Trial(it, _) => Some(it),
            Self::Startup(_) | Self::Cruise(_) | Self::Compete(_) => None,
        }
    }
}

/// Counts of the present round trip.
#[derive(Debug, Clone, Copy, Default)]
struct RoundTrip {
    began: f64,
    delivered: u64,
    lost: u64,
    /// The window when it began, bytes.
    window: f64,
    /// What the one before it delivered, bytes per second.
    rate: f64,
    /// Completed round trips.
    count: u64,
}

/// The controller.
#[derive(Debug, Clone)]
struct Whimbrel {
    config: Config,
    /// The same as `mss`, exactly.
    segment: u64,
    mss: f64,
    window: f64,
    /// What the transport gets of the present state.
    limits: Limits,
    mode: Mode,
    target: Target,
    delays: Delays,
    backward: Backward,
    losses: Losses,
    overflows: Overflows,
    contrast: Contrast,
    rate: MaxRate,
    step: RttStep,
    round: RoundTrip,
    /// The strokes of drains and trials.
    clock: Clock,
    /// Those of the first trial.
    early: Clock,
    rhythm: Rhythm,
    /// Drains and trials begin at strokes, and not by the rhythm.
    by_clock: bool,
    share: Share,
    yielding: Yielding,
    suspected: Suspected,
    fullness: Fullness,
    /// The maximum delivery rate of the last minutes, packets per second.
    reference: f64,
    /// The window of the last round trip of the default mode without room, bytes; 0 if that was on
    /// another path.
    settled: f64,
    /// The last drain has found a queue of this algorithm's flows.
    was_own: bool,
    /// It has left no longer queue than such flows make.
    emptied: bool,
    /// Losses have governed this path before.
    governed: bool,
    /// A trial has begun on this connection.
    tried: bool,
    /// Drains in a row after which the queue was still long.
    failed_drains: u32,
    /// Round trips in a row with a huge queue.
    huge: u32,
    surges: Surges,
    /// Changes of the path.
    changes: u64,
    /// A drain has begun on this path.
    drained: bool,
    /// The last drain has left no queue at all.
    free: bool,
    /// The last round trip in which the buffer counts as the limit of the queue.
    limited: u64,
    /// A timeout is not yet followed by an acknowledgment.
    stalled: bool,
    /// Losses of packets sent before this one are answered.
    answered: u64,
    /// Window and mode before the last reduction.
    before: Option<(f64, Mode)>,
}

fn seconds(time: Time) -> f64 {
    time.since(Time::ZERO).as_secs_f64()
}

/// The smaller of two numbers, of which none is NaN: one instruction, where `f64::min` takes five.
#[inline]
fn lower(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// The larger of two numbers, of which none is NaN, as above.
#[inline]
fn higher(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

impl Whimbrel {
    fn new(setup: &Setup, config: Config) -> Self {
        let segment = setup.mss.get().max(1);
        let mss = segment as f64;
        let window = (setup.initial_window.get() as f64).clamp(mss, MAX_WINDOW);
        let known = setup
            .ssthresh
            .is_some_and(|known| known <= setup.initial_window);
        let mut new = Self {
            config,
            segment,
            mss,
            window,
            limits: Limits::UNKNOWN,
            mode: match known {
                true => Mode::cruise(),
                false => Mode::Startup(Startup::default()),
            },
            target: Target::new(config.a),
            delays: Delays::new(),
            backward: Backward::new(),
            losses: Losses::new(),
            overflows: Overflows::default(),
            contrast: Contrast::NEW,
            rate: MaxRate::default(),
            step: RttStep::default(),
            round: RoundTrip::default(),
            clock: Clock::of(setup, &config, config.drain_after),
            early: Clock::of(setup, &config, FIRST_TRIAL),
            rhythm: Rhythm::NEW,
            by_clock: config.clock && Clock::is_right(setup, &config),
            share: Share::default(),
            yielding: Yielding::new(config.withstand),
            suspected: Suspected::default(),
            fullness: Fullness::new(),
            reference: 0.0,
            settled: 0.0,
            was_own: false,
            emptied: false,
            governed: false,
            tried: false,
            failed_drains: 0,
            huge: 0,
            surges: Surges::NONE,
            changes: 0,
            drained: false,
            free: false,
            limited: 0,
            stalled: false,
            answered: 0,
            before: None,
        };
        new.renew_limits();
        new
    }

    /// Minimum window in normal operation.
    fn min_window(&self) -> f64 {
        MIN_WINDOW * self.mss
    }

    /// What a packet takes to be acknowledged without a queue, s: with the wait of acknowledgments
    /// that come in batches.
    fn empty_trip(&self) -> f64 {
        self.delays.base() + self.backward.mean()
    }

    /// The same with the standing queue.
    fn trip(&self) -> f64 {
        self.delays.standing() + self.backward.mean()
    }

    /// The same for the slow ones of the acknowledgments.
    fn slow_trip(&self) -> f64 {
        self.delays.standing() + self.backward.excess()
    }

    /// What the path holds of this window without a queue, bytes (Little's law).
    fn without_queue(&self, window: f64) -> f64 {
        window * self.empty_trip() / self.trip()
    }

    /// The rate of the present window, packets per second; needs an RTT sample.
    fn own_rate(&self) -> f64 {
        self.window / self.mss / higher(self.trip(), 1e-6)
    }

    /// By how much the standing RTT may exceed the base without a queue: what pushes and drains have
    /// shown, and whatever noise explains beyond the longest queue of flows of this algorithm.
    fn allowance(&self) -> f64 {
        if !self.config.noise {
            return 0.0;
        }
        let limit = self.noise_limit();
        let beyond = limit - self.own_queue();
        let shown = match self.is_crowded() {
            true => 0.0,
            false => self.fullness.allowance(),
        };
        lower(higher(shown, beyond), limit)
    }

    /// Whether the buffer has overflowed lately, and the last drain has left more than flows of
    /// this algorithm make: what a push takes there, others lose.
    fn is_crowded(&self) -> bool {
        self.round.count <= self.limited && !self.emptied
    }

    /// By how much noise may explain a standing RTT above the base.
    fn noise_limit(&self) -> f64 {
        self.config.noise_times * self.delays.noise()
    }

    /// The standing RTT above the base that a flow of this rate wants on this path.
    fn wanted(&self, rate: f64) -> f64 {
        self.want(rate) + self.allowance()
    }

    /// The same without noise. In a buffer that is shorter than the queue of `target.rs` all flows
    /// would fill it, and nothing but losses would tell their rates apart. So where the buffer has
    /// overflowed, no flow wants more than [`BUFFER`] of the longest queue: the inverse squares of
    /// both limits add up.
    fn want(&self, rate: f64) -> f64 {
        let free = self.target.delay(rate);
        if self.free || self.round.count > self.limited {
            return free;
        }
        let longest = higher(BUFFER * self.delays.longest(), FEWEST * free);
        free / (1.0 + (free / longest).powi(2)).sqrt()
    }

    /// Whether the queue is shorter than half of what a flow of this rate wants.
    fn has_room(&self, rate: f64) -> bool {
        self.delays.queue() < 0.5 * self.want(rate) + self.allowance()
    }

    /// The maximum recent delivery rate, bytes per second.
    fn delivery_rate(&self) -> Option<f64> {
        self.rate
            .get()
            .map(|rate| rate.as_bits_per_sec() as f64 / 8.0)
    }

    /// Whether a step of the RTT may be that of a longer path (`path.rs`).
    fn may_be_longer(&self, ack: &Ack, now: f64) -> bool {
        let noisy = self.noise_limit() > self.want(self.own_rate());
        let delivered = ack.delivered.get();
        !noisy || (self.suspected).has_slowed(now, delivered, self.round.rate)
    }

    /// Limits the window to what the path delivers in a round trip, with headroom.
    fn limit_window(&mut self, alpha: f64) {
        if !self.mode.is_startup()
            && !self.stalled
            && let Some(rate) = self.delivery_rate()
        {
            let headroom = match &self.mode {
                Mode::Cruise(cruise) if !self.losses.suspicious() => cruise.headroom(),
                Mode::Compete(_) if !self.losses.suspicious() => compete::HEADROOM,
                _ => Cruise::new().headroom(),
            };
            let delivered = rate * self.slow_trip() / (1.0 - self.losses.floor());
            let limit = headroom * delivered + 2.0 * alpha + 4.0 * self.mss;
            self.window = lower(self.window, limit);
        }
        let min = if self.stalled {
            self.mss
        } else {
            self.min_window()
        };
        self.window = higher(lower(self.window, MAX_WINDOW), min);
    }

    /// Processes the RTT of an acknowledgment. Returns whether there is one to work with.
    fn on_rtt(&mut self, ack: &Ack, now: f64) -> bool {
        // The newest packet did not wait for the receiver's timer. If it is a retransmission, its
        // original may be what is acknowledged: after an outage that took acknowledgments, too.
        let newest = ack.newest.filter(|newest| !newest.retransmitted);
        let newest = newest.map(|newest| ack.now.since(newest.sent));
        let sample = ack.rtt.map(|rtt| newest.unwrap_or(rtt).as_secs_f64());
        let arrival = ack.receiver_time.map(seconds);
        let arrival = arrival.filter(|_| self.config.forward);
        let forward = sample.and_then(|rtt| self.backward.forward(now, rtt, arrival));
        if self.config.path {
            let rtt = forward.map(Duration::from_secs_f64);
            let observed = self.step.on_sample(ack, rtt);
            if let Some(change) = observed.change {
                let longer = change.to <= LONGEST_PATH && self.may_be_longer(ack, now);
                let counts = change.to < change.from || longer;
                self.suspected.end();
                if counts {
                    self.on_new_path(now, &change);
                    return true;
                }
            } else if rtt.is_some() && observed.rtt.is_none() {
                self.suspected.on_suspicion(now, ack.delivered.get());
                return false;
            } else if rtt.is_some() {
                self.suspected.end();
            }
        }
        let Some(rtt) = forward.filter(|rtt| *rtt > 0.0) else {
            return self.delays.known();
        };
        self.backward.learn();
        // The application sent no packet after this one, so the receiver may have waited for one.
        let last = ack.in_flight == Bytes::ZERO && !ack.cwnd_limited;
        if last && rtt > self.delays.base() {
            return self.delays.known();
        }
        let srtt = higher(ack.srtt.as_secs_f64(), lower(rtt, self.delays.base()));
        let (wanted, span) = match self.delays.known() {
            true => {
                let rate = self.own_rate();
                let span = lower(srtt, higher(MANY / rate, LONGEST));
                (self.want(rate), span)
            }
            false => (0.0, srtt),
        };
        let tolerance = lower(wanted / 4.0, rtt / 32.0);
        self.delays.add(now, rtt, span, tolerance);
        let standing = self.delays.standing();
        self.rhythm.on_sample(now, rtt, tolerance);
        match &mut self.mode {
            Mode::Drain(it, _) | Mode::Push(it, _) | Mode::Trial(it, _) => {
                it.on_sample(now, rtt, standing);
            }
            Mode::Compete(compete) => compete.on_sample(now, standing),
            Mode::Cruise(_) | Mode::Startup(_) => {}
        }
        true
    }
}

impl Controller for Whimbrel {
    fn on_ack(&mut self, ack: &Ack) {
        self.acknowledged(ack);
        self.renew_limits();
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        let response = self.lost(loss);
        self.renew_limits();
        response
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.timed_out(timeout);
        self.renew_limits();
    }

    fn on_spurious(&mut self, _now: Time) {
        self.undo();
        self.renew_limits();
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.segment = mss.get().max(1);
        self.mss = self.segment as f64;
        self.window = self.window.max(self.mss);
        if let Mode::Compete(compete) | Mode::Trial(_, compete) = &mut self.mode {
            compete.on_mss(mss);
        }
        self.renew_limits();
    }

    fn cwnd(&self) -> Bytes {
        debug_assert_eq!(self.limits, self.limits_now(), "not renewed after an event");
        self.limits.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.limits.pacing_rate
    }

    fn send_quantum(&self) -> u32 {
        self.limits.send_quantum
    }

    fn classifies_losses(&self) -> bool {
        true
    }

    fn transport_features(&self) -> TransportFeatures {
        let times = match self.config.forward {
            true => TransportFeatures::SAMPLED_RECEIVER_TIMES,
            false => TransportFeatures::NOTHING,
        };
        times.union(TransportFeatures::PROBES_IN_SILENCE)
    }

    fn path_changes(&self) -> Option<u64> {
        Some(self.changes)
    }

    fn phase(&self) -> &'static str {
        match self.mode {
            Mode::Startup(_) => "startup",
            Mode::Cruise(_) => "default",
            Mode::Drain(..) => "drain",
            Mode::Push(..) => "push",
            Mode::Compete(_) => "compete",
            Mode::Trial(..) => "trial",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Whimbrel {
    /// Processes an acknowledgment.
    #[inline]
    fn acknowledged(&mut self, ack: &Ack) {
        let now = seconds(ack.now);
        self.rate.on_ack(ack);
        let usable = self.on_rtt(ack, now);
        if self.stalled {
            self.refill(ack, now);
        }
        if !self.delays.known() {
            return;
        }
        if ack.round_start {
            self.on_round(ack, now);
        }
        self.end_long_excursion(now);
        let standing = self.delays.standing();
        let early = self.early.on_ack(now, standing).is_some();
        let stroke = self.clock.on_ack(now, standing);
        match self.by_clock {
            true if early || stroke.is_some() => self.on_stroke(now, early, stroke),
            true => {}
            false => self.on_rhythm(now),
        }
        if !usable {
            return;
        }
        let rate = self.own_rate();
        let wanted = self.wanted(rate);
        let alpha = wanted * rate * self.mss;
        let acked = lower(ack.acked.get() as f64, self.window);
        match &mut self.mode {
            Mode::Startup(_) => self.search(ack, acked, wanted),
            Mode::Cruise(cruise) => {
                let cruise = *cruise;
                let target = self.without_queue(self.window) + alpha;
                let room = self.has_room(rate);
                let gain = self.config.gain;
                let used = ack.cwnd_limited || self.is_small();
                let (base, seen) = (self.delays.base(), self.delays.seen());
                let least = match self.round.count > self.limited {
                    true => self.surges.growth(now, base, seen, standing),
                    false => 0.0,
                };
                let step = cruise.step(self.window, target, gain, (room, used), least);
                self.window += step * acked / self.window;
                // Noise adds more to the minimum of a quarter of a round trip than of a whole one.
                if cruise.is_fast() && self.recent_queue() > wanted + self.allowance() {
                    self.end_growth(ack, alpha);
                }
            }
            Mode::Compete(compete) => self.window = compete.on_ack(ack, self.window),
            Mode::Drain(..) | Mode::Push(..) | Mode::Trial(..) => {}
        }
        self.limit_window(alpha);
    }

    /// Decides about an episode of loss.
    fn lost(&mut self, loss: &Loss) -> LossResponse {
        let own = self.confidence(loss.signal);
        let usual = matches!(self.mode, Mode::Cruise(_) | Mode::Compete(_)) && !self.stalled;
        if usual && loss.signal == Signal::Loss {
            self.overflows.on_loss(own >= SURE);
        }
        let judged = match own >= CONGESTION {
            true => Verdict::Congestion,
            false => Verdict::Random,
        };
        let verdict = loss.verdict(judged);
        let confidence = match (verdict == judged, verdict) {
            (true, _) => own,
            (false, Verdict::Congestion) => 1.0,
            (false, Verdict::Random) => 0.0,
        };
        // Where the queue was never long, a random loss at a short one looks like an overflow. The
        // flow would then want that queue, and take the next loss for an overflow, too.
        if own >= SURE && loss.signal != Signal::Ecn && self.losses.exceeds_floor() {
            self.limited = self.round.count + OVERFLOW;
        }
        let reduced = self.answer(loss, confidence);
        LossResponse {
            reduced,
            verdict: Some(verdict),
            confidence: Some(confidence),
        }
    }

    /// The timer has expired: one segment, until an acknowledgment comes.
    fn timed_out(&mut self, timeout: &Timeout) {
        if !timeout.repeated && !self.stalled {
            let before = self.mode.excursion().map(|it| it.before().0);
            self.before = Some((before.unwrap_or(self.window), self.mode.clone()));
        }
        self.stalled = true;
        self.answered = timeout.next_order;
        self.window = self.mss;
    }

    /// Takes back the last reduction.
    fn undo(&mut self) {
        if let Some((window, mode)) = self.before.take() {
            self.window = self.window.max(window);
            self.mode = mode;
            self.stalled = false;
        }
    }

    /// How sure it is that a loss now is congestion.
    fn confidence(&self, signal: Signal) -> f64 {
        if signal == Signal::Ecn || !self.config.classify {
            return 1.0;
        }
        if !self.delays.known() {
            return 0.0;
        }
        let own = self.wanted(self.own_rate());
        let (base, level) = (self.delays.base(), self.delays.half());
        let competes = matches!(&self.mode, Mode::Compete(it) if it.sign() == Sign::Queue);
        self.losses
            .confidence(level, base, own, self.delays.longest(), competes)
    }

    /// Whether losses govern the path again: they did before, and one of this confidence comes.
    fn is_governed_again(&self, confidence: f64) -> bool {
        let sure = confidence >= SURE && self.losses.exceeds();
        let usual = matches!(self.mode, Mode::Cruise(_)) && self.config.elasticity;
        self.governed && usual && sure && self.has_short_buffer()
    }

    /// Responds to a loss. Returns whether the window was reduced.
    fn answer(&mut self, loss: &Loss, confidence: f64) -> bool {
        let known = self.delays.known();
        if self.mode.is_startup() {
            let queue = if known { self.delays.queue() } else { 0.0 };
            let full = confidence >= CONGESTION && (queue > 0.004 || !self.config.classify);
            if !full {
                return false;
            }
            let theirs = matches!(&self.mode, Mode::Startup(startup) if startup.finds_others());
            if theirs && loss.lost_order < self.answered {
                return false;
            }
            self.before = Some((self.window, self.mode.clone()));
            if theirs {
                // The buffer of others is full. The flow has no share yet, so it searches on.
                self.answered = loss.next_order;
                self.window = (compete::KEPT * self.window).max(self.min_window());
            } else {
                self.leave_startup(seconds(loss.now), 0.0);
            }
            return true;
        }
        let excursion = self.mode.excursion().is_some();
        let old = loss.lost_order < self.answered;
        if self.is_governed_again(confidence) && !old {
            self.begin_competing(Sign::Losses, seconds(loss.now));
        }
        let least = match &self.mode {
            Mode::Compete(it) if it.sign() == Sign::Queue => SURE,
            Mode::Compete(_) => 0.0,
            _ => IGNORED,
        };
        if confidence < least || old || excursion || self.stalled {
            return false;
        }
        // Where losses are the sign of others, none of them is the channel's.
        let by_other_sign = matches!(&self.mode, Mode::Compete(it) if it.sign() != Sign::Losses);
        if by_other_sign && !self.losses.exceeds() {
            return false;
        }
        self.answered = loss.next_order;
        self.before = Some((self.window, self.mode.clone()));
        let left = losses::left(confidence, self.empty_trip(), self.emptied);
        let window = match &mut self.mode {
            Mode::Compete(compete) => compete.on_loss(loss, self.window, self.segment),
            _ => self.window * left,
        };
        self.window = window.max(self.min_window());
        self.slow_down();
        true
    }
}
