//! When a datagram source sends, and what it counts.

use crate::measure::Delays;
use crate::network::UdpFlow;
use crate::outcome::LossCounts;
use crate::packet::{Flags, Packet};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Bytes, Duration, Time};

/// A source of datagrams, and the count of those that arrive.
#[derive(Debug)]
pub(crate) struct Source {
    path_id: u32,
    spec: UdpFlow,
    interval: Duration,
    /// When the next datagram leaves; [`Time::MAX`] before the start.
    next: Time,
    /// When the current burst ends.
    burst_ends: Time,
    stopped: bool,
    rng: Xoshiro256PlusPlus,
    /// Datagrams sent.
    pub sent: u32,
    /// Datagrams that arrived.
    pub arrived: u64,
    /// Datagrams that were lost.
    pub lost: LossCounts,
    /// One-way delays of those that arrived.
    pub one_way: Delays,
}

impl Source {
    /// The source of the flow whose path has this number. `seed` is for the lengths of its bursts.
    pub fn new(path_id: u32, spec: UdpFlow, seed: u64) -> Self {
        Self {
            path_id,
            spec,
            interval: spec.rate.time_for(spec.packet).max(Duration::from_nanos(1)),
            next: Time::MAX,
            burst_ends: Time::MAX,
            stopped: false,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            sent: 0,
            arrived: 0,
            lost: LossCounts::default(),
            one_way: Delays::new(),
        }
    }

    /// Size of each datagram on the wire.
    pub fn packet(&self) -> Bytes {
        self.spec.packet
    }

    /// When the next datagram leaves.
    pub fn next(&self) -> Option<Time> {
        (!self.stopped && self.next != Time::MAX).then_some(self.next)
    }

    /// Starts: the first datagram and the first burst are due now.
    pub fn begin(&mut self, now: Time) {
        self.next = now;
        self.burst_ends = self
            .spec
            .on_off
            .map_or(Time::MAX, |b| now + self.length(b.on, b.exponential));
    }

    /// Sends nothing from now on.
    pub fn end(&mut self) {
        self.stopped = true;
    }

    /// Sends the next datagram if it is due.
    pub fn send_due(&mut self, now: Time, out: &mut Vec<Packet>) {
        if self.stopped || self.next > now {
            return;
        }
        let mut packet = Packet::new(
            now,
            self.path_id,
            self.spec.packet.get() as u16,
            Flags::DATA,
        );
        packet.seg = self.sent;
        out.push(packet);
        self.sent += 1;
        self.next = now + self.interval;
        if let Some(bursts) = self.spec.on_off
            && self.next >= self.burst_ends
        {
            self.next = self.burst_ends + self.length(bursts.off, bursts.exponential);
            self.burst_ends = self.next + self.length(bursts.on, bursts.exponential);
        }
    }

    /// Counts a datagram that arrived intact.
    pub fn count_arrival(&mut self, now: Time, packet: &Packet) {
        self.arrived += 1;
        self.one_way.add(now.since(packet.sent));
    }

    /// The length of a burst or of a silence.
    fn length(&mut self, mean: Duration, exponential: bool) -> Duration {
        if exponential {
            let factor: f64 = Exp1.sample(&mut self.rng);
            mean.mul_f64(factor)
        } else {
            mean
        }
    }
}
