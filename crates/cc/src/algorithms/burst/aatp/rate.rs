//! The rules of the sending rate that AATP and Enhanced-AATP share: equations (7) to (9), (15) to
//! (19) and (26) to (28) of Briones et al., Electronics 2021, 10, 987.
//!
//! * in bit/s: `V = SR * P * 8` (19)
//! * increase: `SR += (Inc + Delta) / T_burst` (7) (26)
//! * `Inc = 10^(log(Vm - V) - M)` packets per burst (8) (27), logarithm to base 10: `(Vm - V) /
//!   10^M`
//! * `M = 7` while V/Vm < 0.8, then `10*V/Vm - 1` (9) (28)
//! * decrease: `SR /= 1 + 0.125 * V/Vm` (7) (18) ("RW" in (7) is BW)
//!
//! Vm is the rate allocated to the flow; for a single flow, and in AATP, it is the estimated
//! bandwidth BW.
//!
//! Units: SR in packets per second, a fraction; V, Vm in bit/s; P in bytes; T_burst in seconds; Inc
//! and Delta in packets per burst.
//!
//! **Physics.** With u = 1 - V/Vm and k = 8P/T_burst^2, growth above 80 % is `du/dt = -k * u *
//! 10^(10u - 9)`, which does not contain the bandwidth: every link is filled on the same curve, as
//! the paper states, and only T_burst matters, squared. A decrease adds 1/8 to Vm/V, so eight of
//! them halve a rate that filled the link, and eight more leave a third.
//!
//! **When it works.** T_burst of about 2 ms (packets of 1500 bytes) to 100 ms.
//!
//! **Limits.** On a longer path growth almost stops above 90 %: at 200 ms it is a hundred times
//! slower than at 20 ms. On a shorter path a single Inc exceeds the missing rate: `8P / (10^7 *
//! T_burst) > 1` below 1.2 ms.
//!
//! **Departures.**
//! * Inc is 0 for V >= Vm, where the printed logarithm is undefined.
//! * **No step goes past Vm**, up or down, nor further away from it. Both Inc and Delta aim at Vm,
//!   and both may be far too large for the burst they are added to: Inc on a short path as above,
//!   and Delta anywhere. In the paper's own case, priorities 1 and 8 on OC-3 at 20 ms, the first
//!   flow holds nine times its share when the second starts at 80 % of its own: WF is 0.59, A 81
//!   packets and Delta -256, of 248 in the burst. Without the bound the rate falls to one packet
//!   and, with a positive Delta then, returns to the whole link within four bursts.
//! * A decrease stops at one packet per interval: a rate without bursts could never be evaluated
//!   again.

use crate::interface::{Bandwidth, BurstPlan};
use whimbrel_units::{Bytes, Duration, Rate};

/// M of the cautious increase (16): the value of (9) at V = Vm.
pub(super) const CAUTIOUS: f64 = 9.0;

/// The constant of (7) and (18).
const DECREASE: f64 = 0.125;

/// SR with its reference values.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendingRate {
    /// SR, packets/s.
    packets_per_sec: f64,
    /// Size of a packet with headers, at least 1.
    packet: Bytes,
    /// BW.
    bandwidth: Rate,
    /// Vm, bit/s, at least 1.
    target: f64,
    /// Inc of the last decision, packets per burst.
    increase: f64,
    /// T_burst of the last report.
    interval: Option<Duration>,
}

impl SendingRate {
    /// Starts at the fraction `share` of the target; the packet size is that of the estimate.
    pub fn new(bandwidth: &Bandwidth, target: Rate, share: f64) -> Self {
        let mut new = Self {
            packets_per_sec: 0.0,
            packet: bandwidth.packet,
            bandwidth: bandwidth.rate,
            target: bits(target),
            increase: 0.0,
            interval: None,
        };
        new.packets_per_sec = share * new.target / new.packet_bits();
        new
    }

    /// Applies a new estimate during a transfer: the rate in bit/s does not change.
    pub fn renew(&mut self, bandwidth: &Bandwidth, target: Rate) {
        let v = self.bits_per_sec();
        self.packet = bandwidth.packet;
        self.packets_per_sec = v / self.packet_bits();
        self.bandwidth = bandwidth.rate;
        self.target = bits(target);
    }

    /// Sets Vm to the rate allocated to the flow, or to BW without one.
    pub fn aim(&mut self, allocated: Option<Rate>) {
        self.target = bits(allocated.unwrap_or(self.bandwidth));
    }

    /// V (19), bit/s.
    fn bits_per_sec(&self) -> f64 {
        self.packets_per_sec * self.packet_bits()
    }

    /// V/Vm, or V/BW.
    fn efficiency(&self) -> f64 {
        self.bits_per_sec() / self.target
    }

    fn packet_bits(&self) -> f64 {
        self.packet.get().max(1) as f64 * 8.0
    }

    /// M (9) (28).
    pub fn magnitude(&self) -> f64 {
        let r = self.efficiency();
        if r < 0.8 { 7.0 } else { 10.0 * r - 1.0 }
    }

    /// A decision to continue: Inc with `magnitude`, or none (17), and Delta (26), for bursts of
    /// `interval`.
    pub fn step(&mut self, magnitude: Option<f64>, delta: f64, interval: Duration) {
        self.interval = Some(interval);
        self.increase = 0.0;
        let seconds = interval.as_secs_f64();
        if seconds <= 0.0 || delta.is_nan() {
            return;
        }
        let goal = self.target / self.packet_bits();
        let missing = (goal - self.packets_per_sec).max(0.0);
        if let Some(magnitude) = magnitude {
            let inc = missing * self.packet_bits() / 10f64.powf(magnitude);
            self.increase = inc.min(missing * seconds);
        }
        let before = self.packets_per_sec;
        let moved = before + (self.increase + delta) / seconds;
        self.packets_per_sec = if moved > before {
            moved.min(goal.max(before))
        } else {
            moved.max(goal.min(before))
        };
    }

    /// Reduces the rate to the target at once.
    pub fn reduce_to_target(&mut self) {
        let goal = self.target / self.packet_bits();
        self.packets_per_sec = self.packets_per_sec.min(goal);
    }

    /// A decision to slow down (7) (18).
    pub fn decrease(&mut self, interval: Duration) {
        self.interval = Some(interval);
        self.increase = 0.0;
        let seconds = interval.as_secs_f64();
        let one_per_interval = if seconds > 0.0 { 1.0 / seconds } else { 0.0 };
        let before = self.packets_per_sec;
        let min = before.min(one_per_interval);
        self.packets_per_sec = (before / (1.0 + DECREASE * self.efficiency())).max(min);
    }

    /// The plan of the next burst.
    pub fn plan(&self) -> BurstPlan {
        BurstPlan {
            rate: Rate::from_bits_per_sec((self.bits_per_sec().round() as u64).max(1)),
            increase: self.increase,
        }
    }

    /// The bytes of two intervals, at least one packet; `None` before the first report.
    pub fn two_intervals(&self) -> Option<Bytes> {
        let seconds = self.interval?.as_secs_f64();
        let bytes = self.bits_per_sec() / 8.0 * 2.0 * seconds;
        Some(Bytes::new(bytes as u64).max(self.packet))
    }
}

/// The rate in bit/s, at least 1, because it is a divisor.
fn bits(rate: Rate) -> f64 {
    (rate.as_bits_per_sec() as f64).max(1.0)
}
