//! BBR: pace at the bandwidth of the path, keep about two bandwidth-delay products in flight.
//!
//! N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control",
//! Communications of the ACM 60(2), 2017; version 1 as Linux 6 has it, net/ipv4/tcp_bbr.c. Names in code type are that
//! file's. Units: bytes, bits per second, nanoseconds.
//!
//! * `BtlBw = max(delivery rate)` over 10 round trips, `RTprop = min(RTT)` over 10 s (the paper's section
//!   "Characterizing the bottleneck")
//! * `pacing rate = 0.99 * pacing_gain * BtlBw`, `cwnd = cwnd_gain * BtlBw * RTprop + budgets`
//! * STARTUP: both gains 2/ln 2 = 2.885, until three rounds brought less than 25 % more; DRAIN: pacing gain its inverse,
//!   until no more than BtlBw*RTprop is in flight
//! * PROBE_BW: pacing gains 5/4, 3/4, 1, 1, 1, 1, 1, 1, an RTprop each, cwnd gain 2
//! * PROBE_RTT: 4 packets for 200 ms and a round trip, when RTprop was not seen for 10 s
//! * losses: the window gives up what was lost, sends one for one acknowledged for a round trip (`packet_conservation`)
//!   and is what it was when recovery ends; the rate does not change, but see `long_term.rs`
//!
//! **The physics.** While less than a bandwidth-delay product (BDP) is in flight, more in flight means more delivered and no
//! more delay; beyond it, more delay and no more delivered. The two sides of that knee cannot be measured at the same time,
//! so BBR measures them in turn: a quarter more for a round trip shows whether there is more bandwidth (and builds a queue of
//! a quarter BDP if there is not, which the next round trip at three quarters drains), and a nearly empty pipe every 10 s
//! shows the delay without a queue.
//!
//! **When it works.** Random loss costs it nothing but the lost packets themselves up to about 15 %; at 20 % it takes all
//! that a probe adds, and the rate falls. Deep buffers are left nearly empty; a path's full rate is found in log2(BDP)
//! round trips.
//!
//! **When not.**
//! * A buffer smaller than the quarter BDP of a probe overflows at each, and one much smaller than a BDP all the time when
//!   flows compete: each keeps up to 2 BDP in flight whatever it loses. Loss-based flows there starve.
//! * A rate that falls is noticed only when the 10 rounds have passed: until then a queue grows (or overflows).
//! * An RTT that rises by a new route looks like a queue for up to 10 s.
//! * Heavy loss among the first few packets looks like a full pipe: STARTUP ends far too early, and each cycle then adds
//!   no more than a quarter, less what is lost.
//! * Such is a newcomer's lot where others keep a drop-tail queue full: the losses of its third or fourth round, when it has some
//!   dozens of packets in flight, hold its window for a round (`packet_conservation`), and three rounds without a quarter
//!   more end STARTUP at a hundredth of its share or less. From there it takes ten cycles to grow tenfold: on long paths
//!   more than half a minute. How soon the first loss comes decides, so runs differ by a factor of a hundred. So do
//!   Linux' own: at 50 to 500 Mbit/s, 260 ms and a queue of a BDP a third flow had 4 to 55 % of the link in its first 10 s.
//!   Senders that pace packet by packet, as the simulator's, make it worse than Linux, which sends bursts of 1/1024 s: evenly
//!   spaced packets take each place in a full queue as soon as it is free, and a newcomer's find none.
//! * Flows of different RTT share a bottleneck in favour of the longer, which keeps more in flight.
//!
//! **What is measured.** All from the transport ([`Ack::newest`], [`Ack::delivery_rate`]); rounds are BBR's own and begin
//! anew with a recovery and in PROBE_RTT.
//!
//! **Where it departs from Linux, and why.** Bytes and floating point instead of packets and fixed point of 8 bits, so
//! gains are 2.885 and 1/2.885 where Linux rounds to 739/256 and 88/256. There is no TSO and no queue of packets with
//! later departure times below the transports here, so what is in flight is in the network
//! (`bbr_packets_in_net_at_edt`); the budget of three TSO segments that Linux adds to the window is kept, because its
//! windows are what people know BBR by. Nobody says which RTT samples come from delayed ACKs, so a sample after 10 s
//! counts even then. An aggregation epoch is not cut at 2^20 packets, a limit of Linux' bit fields. A restart from idle is
//! seen by the first packet after one that said the application had run dry. No pacing rate is below one segment a
//! second. Congestion marks are ignored, as in Linux.

mod long_term;
mod model;
pub(crate) mod signals;
#[cfg(test)]
mod tests;
mod window;

use crate::building_blocks::splitmix::SplitMix64;
use crate::estimators::windowed_max::WindowedMax;
use crate::interface::{Ack, Controller, Loss, LossResponse, LostPacket, Signal, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Setup, Value, code};
use long_term::{Counts, LongTerm};
use model::Aggregation;
use signals::{AckEpoch, OwnLimit, Rounds, at_least_slowest, nominal_bandwidth, paced};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "bbr",
    code: code!(
        "algorithms/model/bbr/mod.rs",
        "algorithms/model/bbr/model.rs",
        "algorithms/model/bbr/window.rs",
        "algorithms/model/bbr/signals.rs",
        "algorithms/model/bbr/long_term.rs"
    ),
    summary: "BBR version 1: paces at the greatest bandwidth seen and keeps two bandwidth-delay products in flight",
    citation: "N. Cardwell et al., \"BBR: Congestion-Based Congestion Control\", CACM 60(2), 2017; Linux tcp_bbr.c",
    family: Family::Model,
    driven_by: DrivenBy::Path,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "startup_gain",
            default: Value::Number(2.885),
            range: (1.25, 4.0),
            meaning: "pacing and window gain of STARTUP, its inverse the pacing gain of DRAIN; 2/ln 2 doubles a round",
        },
        Parameter {
            name: "cwnd_gain",
            default: Value::Number(2.0),
            range: (1.0, 10.0),
            meaning: "window in bandwidth-delay products in PROBE_BW",
        },
        Parameter {
            name: "min_rtt_window",
            default: Value::Number(10.0),
            range: (1.0, 600.0),
            meaning: "how long the least round-trip time is believed, s",
        },
        Parameter {
            name: "probe_rtt",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "empty the pipe for 200 ms when the least round-trip time is too old",
        },
        Parameter {
            name: "long_term",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "look for policers: pace at the mean of two lossy intervals of the same rate",
        },
    ],
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
};

/// Least window in segments when all goes well: two that are acknowledged together and two more (bbr_cwnd_min_target).
const LEAST_WINDOW: u64 = 4;

/// What can be turned.
#[derive(Debug, Clone, Copy)]
struct Config {
    startup_gain: f64,
    cwnd_gain: f64,
    min_rtt_window: Duration,
    probe_rtt: bool,
    long_term: bool,
}

/// What BBR is doing `bbr_mode`.
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

/// What the transport is doing about losses `icsk_ca_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    None,
    Recovery,
    Timeout,
}

/// What one acknowledgment says.
#[derive(Debug, Clone, Copy)]
struct Sample {
    now: Time,
    acked: u64,
    /// Bytes found lost since the acknowledgment before it.
    losses: u64,
    in_flight: u64,
    delivered: u64,
    lost: u64,
    rtt: Option<Duration>,
    srtt: Duration,
    /// The rate and what had been delivered when the packet was sent that it is measured over.
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
    /// Window before recovery or PROBE_RTT cut it.
    prior_cwnd: u64,
    pacing_rate: Rate,
    /// The first pacing rate was set from a round-trip time.
    has_seen_rtt: bool,
    mode: Mode,
    rounds: Rounds,
    round_count: u64,
    round_start: bool,
    /// BtlBw, bits per second over round trips.
    max_bw: WindowedMax,
    /// RTprop and when it was seen.
    min_rtt: Option<(Duration, Time)>,
    full_bw: Rate,
    full_bw_count: u32,
    full_bw_reached: bool,
    /// When the phase of the gain cycle began.
    cycle_stamp: Time,
    /// PROBE_RTT has few enough packets in flight, and lasts until then.
    probe_rtt_done: Option<Time>,
    /// A round trip has passed with so few.
    probe_rtt_round_done: bool,
    repair: Repair,
    /// As it was at the last acknowledgment.
    prior_repair: Repair,
    packet_conservation: bool,
    /// Bytes found lost since the last acknowledgment.
    losses: u64,
    /// The connection's counts at the last acknowledgment.
    delivered: u64,
    lost: u64,
    /// The application had nothing to send at the last acknowledgment.
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

    /// Reads an acknowledgment.
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

    /// The greatest recent bandwidth.
    fn max_bw(&self) -> Rate {
        Rate::from_bits_per_sec(self.max_bw.get())
    }

    /// The bandwidth to go by: a policer's, if there seems to be one `bbr_bw`.
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

    /// `bbr_set_pacing_rate` Until the pipe is full the rate only rises: before that, low samples are the application's.
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
            // Nothing is queued: no more than the path's rate is needed.
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
        // A new episode after a timeout: what the timeout left to do is done.
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
        // All that was in flight is taken for lost: what is left is the one packet sent again (tcp_enter_loss).
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
        // What recovery cut is restored with the next acknowledgment, as when it ends.
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
