//! BBR version 3: BBR with a model that includes losses.
//!
//! N. Cardwell, I. Swett, J. Beshay (editors), "BBR Congestion Control", draft-ietf-ccwg-bbr-06,
//! July 2026. Names in code type and section numbers are those of the draft. Units: bytes, bits per
//! second, nanoseconds.
//!
//! * `bw = min(max_bw, bw_shortterm)`, max_bw over two cycles of ProbeBW (5.5.2 to 5.5.6); `bdp =
//!   bw * min_rtt`
//! * `pacing rate = 0.99 * pacing_gain * bw` (5.6.2); `max_inflight = cwnd_gain * bdp +
//!   extra_acked` (5.6.4.2)
//! * gains, pacing and window (5.6.1): Startup 2.77, 2; Drain 0.5, 2; ProbeBW DOWN 0.9, 2; CRUISE
//!   1, 2; REFILL 1, 2; UP 1.25, 2.25; ProbeRTT 1, 0.5
//! * a probe that loses more than 2 % of the flight sets `inflight_longterm = max(flight at the
//!   loss, 0.7*min(bdp, cwnd))` (5.5.10.2); loss outside a probe lowers `bw_shortterm` and
//!   `inflight_shortterm` to what was just delivered, at most by a factor of 0.7 per round
//!   (5.5.10.3)
//! * cwnd is at most inflight_longterm, 0.85 of it while cruising and in ProbeRTT, and at most
//!   inflight_shortterm (5.6.4.7)
//! * a probe every 2 to 3 s, or after as many rounds as there are packets in a bdp, at most 63
//!   (5.3.3.8)
//!
//! **Physics.** Version 1 takes the maximum delivery rate for the permitted sending rate. Where the
//! buffer is shallow or shared, the excess is dropped permanently. Version 3 tests in each probe
//! how much the path can hold in flight without losing more than 2 %, remembers it, and stays 15 %
//! below it between probes, so that others can grow. Loss between probes is taken for a short
//! period of less bandwidth: the response is immediate and ends with the next probe. Probes are
//! spaced so that a Reno flow with the same bdp could have recovered its window in between.
//!
//! **When it works.** Shallow buffers, where it loses a small fraction of what version 1 loses;
//! sharing with Reno and CUBIC; random loss up to about 1 %.
//!
//! **Limits.** Random loss above 2 % looks like a probe that went too high: inflight_longterm falls
//! by a factor of 0.7 per probe. Between probes the rate falls by the fraction lost per round, and
//! by the 1 % of the pacing margin, because the rate just delivered never exceeds the pacing rate.
//! So even 0.1 % has a cost where a flight is about a thousand packets. After a tenfold rise of the
//! path's rate, a probe finds the new rate in log2 of the rise rounds, but only when the next probe
//! begins. After a fall, the old maximum remains for up to two probes, and the end of ProbeRTT
//! discards the short-term limits that had compensated for it. A new flow at a standing queue
//! starts slowly: once it has seen the path without that queue (others drain it in ProbeRTT), a
//! window of 2 bdp lets its rate grow by 2*min_rtt/RTT per round, which is not at all with a queue
//! of one bdp; and the first round that loses more than 2 % ends Startup. Probes gain the rest, and
//! such losses end them too: tens of seconds on a long path.
//!
//! **Departures from the draft.**
//! * The draft's pseudocode does not set the gains of the ProbeBW states; its table 5.6.1 does, and
//!   is followed. That table caps Drain by inflight_longterm and `BoundCwndForModel` does not; here
//!   the pseudocode is followed.
//! * `CheckStartupHighLoss` is prose: lost ranges are counted as acknowledgments that revealed
//!   losses, as in Linux's BBRv3, at the end of a round in recovery. That round may have ended the
//!   recovery: the transports here end it when a packet sent after the losses is acknowledged, TCP
//!   only when the retransmitted packets are.
//! * A missing rate sample (a flight shorter than min_rtt) does not count as a round without
//!   growth.
//! * `AdvanceMaxBwFilter` keeps the old maximum if the new cycle has no sample yet, as Linux does:
//!   an idle connection has measured nothing.
//! * The draft leaves probe_rtt_min_delay unset at first: here it is the first sample, and its age
//!   counts from there.
//! * `Inflight` is used with max_bw in DOWN and with bw in Drain, as in the pseudocode.
//! * The state to restore after a spurious loss is saved when recovery starts, as in Linux, and not
//!   by `NoteLoss` as well: a probe that went too high begins a new round among its losses, and the
//!   saved state would be overwritten.
//! * A restart from idle resets the count of extra_acked as well as its interval: otherwise old
//!   bytes would be compared with zero time.
//! * `MarkConnectionAppLimited` is implemented here and not in the transport, because only BBR uses
//!   it.
//! * A precautionary probe (5.3.3.6) ends when there was no space for another segment under
//!   inflight_longterm before the acknowledgment arrived (Linux also tests before it). The window
//!   then equals that limit and is not a whole number of segments, so the flight after an
//!   acknowledgment never reaches it.
//! * `C.is_cwnd_limited` is derived from packets sent, with the precision that 5.3.3.7 needs; the
//!   transport's own flag is meant for growth and is less strict.
//! * The offload budget is that of QUIC, one send quantum (5.5.8.2): the transports here have no
//!   TSO.
//! * Marks (ECN) count as a round with loss, and in a probe as a probe that went too high: the
//!   draft requires a response to marks and defines none (3.7).
//! * A timeout leaves a window of one segment: what was in flight counts as lost `C.inflight + 1`.
//! * The pacing rate is never below one segment per second.

mod congestion;
mod control;
mod estimate;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

use crate::algorithms::model::bbr::signals::{
    AckEpoch, OwnLimit, Rounds, at_least_slowest, nominal_bandwidth, paced,
};
use crate::building_blocks::splitmix::SplitMix64;
use crate::estimators::windowed_max::WindowedMax;
use crate::interface::{Ack, Controller, Loss, LossResponse, LostPacket, Signal, Timeout};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, Setup, code};
use congestion::Undo;
use probe_bw::AckPhase;
use startup::FullPipe;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "bbr3",
    code: code!(
        "algorithms/model/bbr3/mod.rs",
        "algorithms/model/bbr3/startup.rs",
        "algorithms/model/bbr3/probe_bw.rs",
        "algorithms/model/bbr3/probe_rtt.rs",
        "algorithms/model/bbr3/congestion.rs",
        "algorithms/model/bbr3/control.rs",
        "algorithms/model/bbr3/estimate.rs"
    ),
    summary: "BBR version 3: as BBR, and stays below the flight at which more than 2 % was lost",
    citation: "N. Cardwell, I. Swett, J. Beshay, \"BBR Congestion Control\", \
               draft-ietf-ccwg-bbr-06, 2026",
    parameters: &[
        Parameter {
            name: "startup_gain",
            domain: Domain::Number {
                default: 2.77,
                range: (1.25, 4.0),
            },
            meaning: "pacing gain of Startup; 4 ln 2 doubles per round",
        },
        Parameter {
            name: "cwnd_gain",
            domain: Domain::Number {
                default: 2.0,
                range: (1.0, 10.0),
            },
            meaning: "window, bandwidth-delay products; an eighth more while probing",
        },
        Parameter {
            name: "loss_threshold",
            domain: Domain::Number {
                default: 0.02,
                range: (0.0, 0.5),
            },
            meaning: "loss rate above which a flight is too large (LossThresh)",
        },
        Parameter {
            name: "beta",
            domain: Domain::Number {
                default: 0.7,
                range: (0.1, 1.0),
            },
            meaning: "minimum fraction of the model kept after one round or one probe (Beta)",
        },
        Parameter {
            name: "headroom",
            domain: Domain::Number {
                default: 0.15,
                range: (0.0, 0.9),
            },
            meaning: "fraction of the maximum safe flight left to other flows between probes \
                      (Headroom)",
        },
        Parameter {
            name: "probe_rtt",
            domain: Domain::Switch(true),
            meaning: "halve the flight for 200 ms every 5 s to measure the minimum RTT",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Model,
        driven_by: DrivenBy::Path,
        build: |setup, values| {
            let config = Config {
                startup_gain: values.number("startup_gain"),
                cwnd_gain: values.number("cwnd_gain"),
                loss_threshold: values.number("loss_threshold"),
                beta: values.number("beta"),
                headroom: values.number("headroom"),
                probe_rtt: values.switch("probe_rtt"),
            };
            Box::new(Bbr3::new(setup, config))
        },
    },
    look: Look::of(3, 8),
    ..Entry::BLANK
};

/// No limit: `Infinity` of the draft.
const NO_LIMIT: u64 = u64::MAX;
/// No limit of a rate.
const NO_RATE_LIMIT: Rate = Rate::from_bits_per_sec(u64::MAX);

/// The parameters.
#[derive(Debug, Clone, Copy)]
struct Config {
    startup_gain: f64,
    cwnd_gain: f64,
    loss_threshold: f64,
    beta: f64,
    headroom: f64,
    probe_rtt: bool,
}

/// BBR's state `BBR.state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// The information in one acknowledgment `RS`.
#[derive(Debug, Clone, Copy)]
struct Sample {
    now: Time,
    /// `RS.newly_acked`
    acked: u64,
    /// Losses were found with it.
    losses: bool,
    /// `C.inflight`
    in_flight: u64,
    /// The same before the acknowledgment.
    prior_in_flight: u64,
    rtt: Option<Duration>,
    srtt: Duration,
    /// `RS.delivery_rate`, if it was measured.
    rate: Option<Rate>,
    /// `RS.prior_delivered`, if the newest packet is known.
    prior_delivered: Option<u64>,
    /// `RS.delivered`
    delivered: u64,
    /// `RS.lost`
    lost: u64,
    /// `RS.tx_in_flight`
    tx_in_flight: u64,
    app_limited: bool,
}

/// BBR version 3.
#[derive(Debug, Clone)]
pub(crate) struct Bbr3 {
    config: Config,
    random: SplitMix64,
    mss: u64,
    initial_window: u64,
    cwnd: u64,
    prior_cwnd: u64,
    pacing_rate: Rate,
    has_seen_rtt: bool,
    state: State,

    /// `C.delivered` and `C.lost` at the last acknowledgment.
    delivered: u64,
    lost: u64,
    /// The application had no data to send at the last acknowledgment.
    ran_dry: bool,
    own_limit: OwnLimit,
    idle_restart: bool,
    /// Losses are being repaired `InLossRecovery`.
    recovering: bool,
    /// Recovery ended with this acknowledgment.
    recovered: bool,
    /// Bytes declared lost since the last acknowledgment.
    losses: u64,

    rounds: Rounds,
    round_count: u64,
    round_start: bool,
    /// Whether the window was full in this round, and in the previous one.
    window_full: (bool, bool),

    /// Maximum bandwidth of the last cycle of ProbeBW and of this one.
    max_bw: [Rate; 2],
    full_pipe: FullPipe,
    /// `BBR.full_bw_reached`
    full_bw_reached: bool,
    drain_start_round: u64,
    /// Acknowledgments in this round that revealed losses.
    loss_events: u32,

    min_rtt: Option<(Duration, Time)>,
    /// `BBR.probe_rtt_min_delay` and its stamp.
    probe_rtt_min: Option<(Duration, Time)>,
    probe_rtt_expired: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,

    epoch: AckEpoch,
    extra_acked: WindowedMax,

    /// Short-term model; [`NO_LIMIT`] if unset.
    bw_shortterm: Rate,
    inflight_shortterm: u64,
    /// Long-term model.
    inflight_longterm: u64,
    bw_latest: Rate,
    inflight_latest: u64,
    loss_rounds: Rounds,
    loss_round_start: bool,
    is_loss_in_round: bool,
    undo: Undo,

    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: u64,
    probe_up_acked_per_inc: u64,
    rounds_since_probe_up: u64,
    bw_probe_wait: Duration,
    cycle_stamp: Time,
}

impl Bbr3 {
    fn new(setup: &Setup, config: Config) -> Self {
        let mss = setup.mss.get().max(1);
        let cwnd = setup.initial_window.get().max(mss);
        Self {
            config,
            random: SplitMix64::new(setup.seed),
            mss,
            initial_window: cwnd,
            cwnd,
            prior_cwnd: 0,
            pacing_rate: nominal_bandwidth(cwnd, Duration::ZERO).mul_f64(config.startup_gain),
            has_seen_rtt: false,
            state: State::Startup,
            delivered: 0,
            lost: 0,
            ran_dry: false,
            own_limit: OwnLimit::default(),
            idle_restart: false,
            recovering: false,
            recovered: false,
            losses: 0,
            rounds: Rounds::default(),
            round_count: 0,
            round_start: false,
            window_full: (false, false),
            max_bw: [Rate::ZERO; 2],
            full_pipe: FullPipe::default(),
            full_bw_reached: false,
            drain_start_round: 0,
            loss_events: 0,
            min_rtt: None,
            probe_rtt_min: None,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            epoch: AckEpoch::default(),
            extra_acked: WindowedMax::default(),
            bw_shortterm: NO_RATE_LIMIT,
            inflight_shortterm: NO_LIMIT,
            inflight_longterm: NO_LIMIT,
            bw_latest: Rate::ZERO,
            inflight_latest: 0,
            loss_rounds: Rounds::default(),
            loss_round_start: false,
            is_loss_in_round: false,
            undo: Undo::default(),
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            bw_probe_up_rounds: 0,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: NO_LIMIT,
            rounds_since_probe_up: 0,
            bw_probe_wait: Duration::ZERO,
            cycle_stamp: Time::ZERO,
        }
    }

    /// Extracts the information from an acknowledgment.
    fn read(&mut self, ack: &Ack) -> Sample {
        self.delivered = ack.delivered.get();
        self.lost = ack.lost.get();
        self.ran_dry = ack.app_limited;
        let newest = ack.newest;
        let in_flight = ack.in_flight.get();
        let losses = std::mem::take(&mut self.losses);
        Sample {
            now: ack.now,
            acked: ack.acked.get(),
            losses: losses > 0,
            in_flight,
            prior_in_flight: in_flight
                .saturating_add(ack.acked.get())
                .saturating_add(losses),
            rtt: ack.rtt,
            srtt: ack.srtt,
            rate: ack.delivery_rate,
            prior_delivered: newest.map(|n| n.delivered.get()),
            delivered: newest.map_or(0, |n| (ack.delivered - n.delivered).get()),
            lost: newest.map_or(0, |n| (ack.lost - n.lost).get()),
            tx_in_flight: newest.map_or(0, |n| n.in_flight.get()),
            app_limited: newest
                .is_some_and(|n| n.app_limited || self.own_limit.covers(n.delivered.get())),
        }
    }

    /// Saves the state when recovery starts (`OnEnterFastRecovery`, `OnEnterRTO`): with the first
    /// lost packet, which may be reported before its episode and may change the state.
    fn note_start_of_recovery(&mut self) {
        if !self.recovering && self.losses == 0 {
            self.save_state_upon_loss();
        }
    }

    /// `UpdateModelAndState`
    fn update_model_and_state(&mut self, sample: &Sample) {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample);
        self.update_ack_aggregation(sample);
        self.check_full_bw_reached(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample);
        self.update_probe_bw_cycle_phase(sample);
        self.update_min_rtt(sample);
        self.check_probe_rtt(sample);
        self.advance_latest_delivery_signals(sample);
    }

    /// `IsInAProbeBWState`
    fn is_in_probe_bw(&self) -> bool {
        matches!(
            self.state,
            State::Down | State::Cruise | State::Refill | State::Up
        )
    }

    /// `IsProbingBW`
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }
}

impl Controller for Bbr3 {
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        // There is no space for one more segment.
        self.window_full.0 |= in_flight.get().saturating_add(self.mss) > self.cwnd;
        let was_idle = in_flight <= size;
        if was_idle && (self.ran_dry || self.own_limit.covers(self.delivered)) {
            self.restart_from_idle(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let sample = self.read(ack);
        self.update_model_and_state(&sample);
        self.set_pacing_rate(self.pacing_gain(), sample.srtt);
        self.set_cwnd(&sample);
        self.recovered = false;
    }

    fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.note_start_of_recovery();
        self.losses = self.losses.saturating_add(lost.size.get().max(1));
        self.handle_lost_packet(lost);
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        match loss.signal {
            Signal::Loss => {
                self.note_start_of_recovery();
                self.recovering = true;
            }
            Signal::Ecn => self.handle_marks(loss),
        }
        LossResponse::KEPT
    }

    fn on_recovery_end(&mut self, _now: Time) {
        if std::mem::take(&mut self.recovering) {
            self.recovered = true;
            self.restore_cwnd();
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.note_start_of_recovery();
        self.recovering = true;
        self.cwnd = self.mss;
    }

    fn on_spurious(&mut self, _now: Time) {
        self.recovering = false;
        self.handle_spurious_loss();
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.mss = mss.get().max(1);
        self.cwnd = self.cwnd.max(self.mss);
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(at_least_slowest(self.pacing_rate, self.mss))
    }

    fn phase(&self) -> &'static str {
        match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "probe down",
            State::Cruise => "cruise",
            State::Refill => "refill",
            State::Up => "probe up",
            State::ProbeRtt => "probe rtt",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
