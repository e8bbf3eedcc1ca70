//! BBR: paces at the bandwidth of the path and keeps about two bandwidth-delay products in flight.
//!
//! N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: Congestion-Based
//! Congestion Control", Communications of the ACM 60(2), 2017; version 1 as in Linux 6,
//! net/ipv4/tcp_bbr.c. Names in code type are those of that file. Units: bytes, bits per second,
//! nanoseconds.
//!
//! * `BtlBw = max(delivery rate)` over 10 round trips, `RTprop = min(RTT)` over 10 s (the paper's
//!   section "Characterizing the bottleneck")
//! * `pacing rate = 0.99 * pacing_gain * BtlBw`, `cwnd = cwnd_gain * BtlBw * RTprop + budgets`
//! * STARTUP: both gains 2/ln 2 = 2.885, until three rounds have brought less than 25 % more;
//!   DRAIN: the inverse as pacing gain, until at most BtlBw*RTprop is in flight
//! * PROBE_BW: pacing gains 5/4, 3/4, 1, 1, 1, 1, 1, 1, for one RTprop each; cwnd gain 2
//! * PROBE_RTT: 4 packets for 200 ms and one round trip, when RTprop has not been seen for 10 s
//! * losses: the window is reduced by what was lost, releases one packet per packet acknowledged
//!   for a round trip (`packet_conservation`), and is restored when recovery ends; the rate does
//!   not change, except as in `long_term.rs`
//!
//! **Physics.** While less than a bandwidth-delay product (BDP) is in flight, more in flight means
//! a higher delivery rate and no more delay; above it, more delay and no higher rate. The two sides
//! of this knee cannot be measured at the same time, so BBR measures them in turn. A quarter more
//! for one round trip shows whether there is more bandwidth; if there is not, it builds a queue of
//! a quarter BDP, which the next round trip at three quarters drains. An almost empty pipe every 10
//! s shows the delay without a queue.
//!
//! **When it works.** Up to about 15 % random loss costs only the lost packets; at 20 % loss
//! removes everything that a probe adds, and the rate falls. Deep buffers are left almost empty;
//! the full rate of a path is found in log2(BDP) round trips.
//!
//! **Limits.**
//! * A buffer smaller than the quarter BDP of a probe overflows at each probe, and a buffer much
//!   smaller than a BDP overflows all the time when flows compete: each keeps up to 2 BDP in flight
//!   whatever it loses. Loss-based flows starve there.
//! * A rate that falls is noticed only after 10 rounds: until then a queue grows (or overflows).
//! * A longer RTT after a route change looks like a queue for up to 10 s.
//! * Heavy loss among the first packets looks like a full pipe: STARTUP ends far too early, and
//!   each cycle then adds at most a quarter, minus the losses.
//! * A new flow at a drop-tail queue that others keep full suffers from this. The losses of its
//!   third or fourth round, with several dozen packets in flight, hold its window for a round
//!   (`packet_conservation`), and three rounds without a quarter more end STARTUP at a hundredth of
//!   its share or less. From there it takes ten cycles to grow tenfold: more than half a minute on
//!   long paths. The time of the first loss decides, so runs differ by a factor of a hundred. Linux
//!   shows the same: at 50 to 500 Mbit/s, 260 ms and a buffer of one BDP a third flow had 4 to 55 %
//!   of the link in its first 10 s. Senders that pace packet by packet, as in the simulator, are
//!   worse than Linux, which sends bursts of 1/1024 s: evenly spaced packets take each place in a
//!   full queue as soon as it is free, and those of a new flow find none.
//! * Flows with different RTTs share a bottleneck in favour of the longer RTT, which keeps more in
//!   flight.
//!
//! **Measurements.** All come from the transport ([`Ack::newest`], [`Ack::delivery_rate`]). BBR
//! counts its own rounds, which restart with a recovery and in PROBE_RTT.
//!
//! **Departures from Linux.** Bytes and floating point instead of packets and fixed point of 8
//! bits, so gains are 2.885 and 1/2.885 where Linux rounds to 739/256 and 88/256. The transports
//! here have no TSO and no queue of packets with later departure times below them, so what is in
//! flight is in the network (`bbr_packets_in_net_at_edt`). The budget of three TSO segments that
//! Linux adds to the window is kept, because BBR is known by these windows. It is unknown which RTT
//! samples come from delayed ACKs, so a sample after 10 s counts even then. An aggregation epoch is
//! not cut at 2^20 packets, a limit of Linux's bit fields. A restart from idle is detected by the
//! first packet after an acknowledgment that reported an application limit. The pacing rate is
//! never below one segment per second. Congestion marks are ignored, as in Linux.

mod long_term;
mod model;
pub(crate) mod signals;
#[cfg(test)]
mod tests;
mod window;

use crate::building_blocks::splitmix::SplitMix64;
use crate::estimators::windowed_max::WindowedMax;
use crate::interface::{Ack, Controller, Loss, LossResponse, LostPacket, Signal, Timeout};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, Setup, code};
use long_term::{Counts, LongTerm};
use model::Aggregation;
use signals::{AckEpoch, OwnLimit, Rounds, at_least_slowest, nominal_bandwidth, paced};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "bbr",
    code: code!(
        "algorithms/model/bbr/mod.rs",
        "algorithms/model/bbr/model.rs",
        "algorithms/model/bbr/window.rs",
        "algorithms/model/bbr/signals.rs",
        "algorithms/model/bbr/long_term.rs"
    ),
    summary: "BBR version 1: paces at the maximum measured bandwidth and keeps two bandwidth-delay \
              products in flight",
    citation: "N. Cardwell et al., \"BBR: Congestion-Based Congestion Control\", CACM 60(2), 2017; \
               Linux tcp_bbr.c",
    parameters: &[
        Parameter {
            name: "startup_gain",
            domain: Domain::Number {
                default: 2.885,
                range: (1.25, 4.0),
            },
            meaning: "pacing and window gain of STARTUP, its inverse the pacing gain of DRAIN; \
                      2/ln 2 doubles per round",
        },
        Parameter {
            name: "cwnd_gain",
            domain: Domain::Number {
                default: 2.0,
                range: (1.0, 10.0),
            },
            meaning: "window in PROBE_BW, bandwidth-delay products",
        },
        Parameter {
            name: "min_rtt_window",
            domain: Domain::Number {
                default: 10.0,
                range: (1.0, 600.0),
            },
            meaning: "window of the minimum RTT filter, s",
        },
        Parameter {
            name: "probe_rtt",
            domain: Domain::Switch(true),
            meaning: "drain the pipe for 200 ms when the minimum RTT is too old",
        },
        Parameter {
            name: "long_term",
            domain: Domain::Switch(true),
            meaning: "detect policers: pace at the mean of two lossy intervals of the same rate",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Model,
        driven_by: DrivenBy::Path,
        build: |setup, values| {
            let config = Config {
                startup_gain: values.number("startup_gain"),
                cwnd_gain: values.number("cwnd_gain"),
                min_rtt_window: Duration::from_secs_f64(values.number("min_rtt_window")),
                probe_rtt: values.switch("probe_rtt"),
                long_term: values.switch("long_term"),
            };
            Box::new(Bbr::new(setup, config))
        },
    },
    kernel: Some("bbr"),
    look: Look::of(2, 2),
    ..Entry::BLANK
};

/// Minimum window in segments in normal operation: two that are acknowledged together and two more
/// (bbr_cwnd_min_target).
const MIN_WINDOW: u64 = 4;

/// The parameters.
#[derive(Debug, Clone, Copy)]
struct Config {
    startup_gain: f64,
    cwnd_gain: f64,
    min_rtt_window: Duration,
    probe_rtt: bool,
    long_term: bool,
}

/// BBR's mode `bbr_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    /// The phase of the gain cycle, 0 to 7.
    ProbeBw {
        phase: usize,
    },
    ProbeRtt,
}

/// The transport's loss recovery state `icsk_ca_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    None,
    Recovery,
    Timeout,
}

/// The information in one acknowledgment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    now: Time,
    acked: u64,
    /// Bytes declared lost since the previous acknowledgment.
    losses: u64,
    in_flight: u64,
    delivered: u64,
    lost: u64,
    rtt: Option<Duration>,
    srtt: Duration,
    /// The rate, and the bytes delivered when the packet was sent over which it is measured.
    rate: Option<(Rate, u64)>,
    app_limited: bool,
}

/// BBR version 1.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    config: Config,
    random: SplitMix64,
    mss: u64,
    initial_window: u64,
    cwnd: u64,
    /// Window before recovery or PROBE_RTT reduced it.
    prior_cwnd: u64,
    pacing_rate: Rate,
    /// The first pacing rate was set from an RTT sample.
    has_seen_rtt: bool,
    mode: Mode,
    rounds: Rounds,
    round_count: u64,
    round_start: bool,
    /// BtlBw, bits per second, over round trips.
    max_bw: WindowedMax,
    /// RTprop and when it was measured.
    min_rtt: Option<(Duration, Time)>,
    full_bw: Rate,
    full_bw_count: u32,
    full_bw_reached: bool,
    /// When the current phase of the gain cycle began.
    cycle_stamp: Time,
    /// The end of PROBE_RTT, once few enough packets are in flight.
    probe_rtt_done: Option<Time>,
    /// A round trip has passed with so few.
    probe_rtt_round_done: bool,
    repair: Repair,
    /// The state at the last acknowledgment.
    prior_repair: Repair,
    packet_conservation: bool,
    /// Bytes declared lost since the last acknowledgment.
    losses: u64,
    /// The connection's counts at the last acknowledgment.
    delivered: u64,
    lost: u64,
    /// The application had no data to send at the last acknowledgment.
    ran_dry: bool,
    own_limit: OwnLimit,
    idle_restart: bool,
    epoch: AckEpoch,
    aggregation: Aggregation,
    long_term: LongTerm,
}

impl Bbr {
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
            pacing_rate: paced(nominal_bandwidth(cwnd, Duration::ZERO), config.startup_gain),
            has_seen_rtt: false,
            mode: Mode::Startup,
            rounds: Rounds::default(),
            round_count: 0,
            round_start: false,
            max_bw: WindowedMax::default(),
            min_rtt: None,
            full_bw: Rate::ZERO,
            full_bw_count: 0,
            full_bw_reached: false,
            cycle_stamp: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            repair: Repair::None,
            prior_repair: Repair::None,
            packet_conservation: false,
            losses: 0,
            delivered: 0,
            lost: 0,
            ran_dry: false,
            own_limit: OwnLimit::default(),
            idle_restart: false,
            epoch: AckEpoch::default(),
            aggregation: Aggregation::default(),
            long_term: LongTerm::default(),
        }
    }

    /// Extracts the information from an acknowledgment.
    fn read(&mut self, ack: &Ack) -> Sample {
        self.delivered = ack.delivered.get();
        self.lost = ack.lost.get();
        self.ran_dry = ack.app_limited;
        Sample {
            now: ack.now,
            acked: ack.acked.get(),
            losses: std::mem::take(&mut self.losses),
            in_flight: ack.in_flight.get(),
            delivered: self.delivered,
            lost: self.lost,
            rtt: ack.rtt,
            srtt: ack.srtt,
            rate: ack
                .delivery_rate
                .zip(ack.newest.map(|newest| newest.delivered.get())),
            app_limited: ack
                .newest
                .is_some_and(|n| n.app_limited || self.own_limit.covers(n.delivered.get())),
        }
    }

    /// The maximum recent bandwidth.
    fn max_bw(&self) -> Rate {
        Rate::from_bits_per_sec(self.max_bw.get())
    }

    /// The bandwidth to use: that of a policer, if one is suspected `bbr_bw`.
    fn bw(&self) -> Rate {
        self.long_term.in_use().unwrap_or_else(|| self.max_bw())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => self.config.startup_gain,
            Mode::Drain => 1.0 / self.config.startup_gain,
            Mode::ProbeBw { phase } if self.long_term.in_use().is_none() => match phase {
                0 => 1.25,
                1 => 0.75,
                _ => 1.0,
            },
            Mode::ProbeBw { .. } | Mode::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => self.config.startup_gain,
            Mode::ProbeBw { .. } => self.config.cwnd_gain,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// `bbr_set_pacing_rate` Until the pipe is full the rate only rises: before that, low samples
    /// come from the application.
    fn set_pacing_rate(&mut self, gain: f64, srtt: Duration) {
        let rate = paced(self.bw(), gain);
        if !self.has_seen_rtt && !srtt.is_zero() {
            self.has_seen_rtt = true;
            let nominal = nominal_bandwidth(self.cwnd, srtt);
            self.pacing_rate = paced(nominal, self.config.startup_gain);
        }
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }
}

impl Controller for Bbr {
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        let was_idle = in_flight <= size;
        if !was_idle || !(self.ran_dry || self.own_limit.covers(self.delivered)) {
            return;
        }
        self.idle_restart = true;
        self.epoch.restart(now);
        match self.mode {
            // The queue is empty: the path's rate suffices.
            Mode::ProbeBw { .. } => self.set_pacing_rate(1.0, Duration::ZERO),
            Mode::ProbeRtt => self.check_probe_rtt_done(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let sample = self.read(ack);
        self.update_model(&sample);
        self.set_pacing_rate(self.pacing_gain(), sample.srtt);
        self.set_cwnd(&sample);
    }

    fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.losses = self.losses.saturating_add(lost.size.get());
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        // A new episode after a timeout ends the timeout's recovery.
        if loss.signal == Signal::Loss && self.repair != Repair::Recovery {
            self.save_cwnd();
            self.repair = Repair::Recovery;
        }
        LossResponse::KEPT
    }

    fn on_recovery_end(&mut self, _now: Time) {
        self.repair = Repair::None;
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.save_cwnd();
        self.repair = Repair::Timeout;
        self.prior_repair = Repair::Timeout;
        self.full_bw = Rate::ZERO;
        // Everything in flight counts as lost except the one packet retransmitted (tcp_enter_loss).
        self.losses = 0;
        self.cwnd = self.mss;
        // A timeout ends a round.
        self.round_start = true;
        self.sample_long_term(&Counts {
            now: timeout.now,
            delivered: self.delivered,
            lost: self.lost,
            losses: true,
            round_start: true,
            app_limited: false,
            probing: matches!(self.mode, Mode::ProbeBw { .. }),
        });
    }

    fn on_spurious(&mut self, _now: Time) {
        // The next acknowledgment restores the window, as at the end of recovery.
        self.repair = Repair::None;
        self.full_bw = Rate::ZERO;
        self.full_bw_count = 0;
        self.long_term.reset();
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
        match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw { .. } => "probe bandwidth",
            Mode::ProbeRtt => "probe rtt",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
