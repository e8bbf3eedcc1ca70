//! A source of datagrams: constant rate, all the time or in bursts. Cross traffic that asks nobody.

use crate::engine::packet::{Block, Flags, Packet};
use crate::measure::Delays;
use crate::network::UdpFlow;
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Duration, Time};

/// A source of datagrams, and the count of what arrives.
#[derive(Debug)]
pub(crate) struct Datagrams {
    flow: u32,
    spec: UdpFlow,
    interval: Duration,
    /// When the next one leaves.
    next: Time,
    /// When the burst under way ends.
    burst_ends: Time,
    stopped: bool,
    rng: Xoshiro256PlusPlus,
    pub sent: u32,
    pub arrived: u64,
    pub one_way: Delays,
}

impl Datagrams {
    pub fn new(flow: u32, spec: UdpFlow, seed: u64) -> Self {
        Self {
            flow,
            spec,
            interval: spec.rate.time_for(spec.packet).max(Duration::from_nanos(1)),
            next: Time::MAX,
            burst_ends: Time::MAX,
            stopped: false,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            sent: 0,
            arrived: 0,
            one_way: Delays::new(),
        }
    }

    /// When the next datagram leaves.
    pub fn deadline(&self) -> Option<Time> {
        (!self.stopped && self.next != Time::MAX).then_some(self.next)
    }

    /// Begins to send.
    pub fn start(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.next = now;
        self.burst_ends = self
            .spec
            .on_off
            .map_or(Time::MAX, |b| now + self.length(b.on, b.exponential));
        self.on_timer(now, out);
    }

    /// Ends for good.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Sends what is due.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<Packet>) {
        if self.stopped || self.next > now {
            return;
        }
        out.push(Packet {
            at: now,
            sent: now,
            echo: Time::ZERO,
            lane: self.flow,
            seg: self.sent,
            ack: 0,
            size: self.spec.packet.get() as u16,
            hop: 0,
            flags: Flags::DATA,
            sacks: [Block::default(); 3],
        });
        self.sent += 1;
        self.next = now + self.interval;
        if let Some(bursts) = self.spec.on_off
            && self.next >= self.burst_ends
        {
            self.next = self.burst_ends + self.length(bursts.off, bursts.exponential);
            self.burst_ends = self.next + self.length(bursts.on, bursts.exponential);
        }
    }

    /// One arrived intact.
    pub fn on_arrival(&mut self, now: Time, packet: &Packet) {
        self.arrived += 1;
        self.one_way.add(now.since(packet.sent));
    }

    fn length(&mut self, mean: Duration, exponential: bool) -> Duration {
        if exponential {
            let factor: f64 = Exp1.sample(&mut self.rng);
            mean.mul_f64(factor)
        } else {
            mean
        }
    }
}
