//! The connections: which adapter has which slot, and what is recorded of each.

use super::known_paths::KnownPaths;
use crate::adapter::{Adapter, Judged};
use crate::clock::time_of_day_at;
use crate::connection::{Addresses, Connection, End, MAX_DECISIONS, Sample};
use crate::options::Options;
use crate::wire::{Command, Event, Nack, SLOTS, Start, flag, kind};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use whimbrel_cc::connection::Decision;
use whimbrel_units::{Duration, Rate, Time};

/// Samples of all connections together. Beyond that, every time line becomes half as dense.
const MAX_SAMPLES: usize = 1_000_000;

/// The connections of one instance.
#[derive(Debug)]
pub(super) struct Table {
    options: Options,
    /// The kernel's time when the agent started, nanoseconds.
    origin: u64,
    live: Vec<Option<Box<Live>>>,
    /// The slots of connections that accept NACKs.
    by_addresses: HashMap<Addresses, u32>,
    ended: VecDeque<Connection>,
    /// What is saved of paths, with [`Options::resume_rate`].
    paths: KnownPaths,
    total: u64,
    samples: usize,
    interval: Option<Duration>,
}

/// A connection under control.
#[derive(Debug)]
struct Live {
    adapter: Adapter,
    addresses: Addresses,
    began: Time,
    decisions: Vec<Decision>,
    samples: Vec<Sample>,
    next_sample: Time,
}

impl Table {
    pub fn new(options: Options, now: u64) -> Self {
        Self {
            interval: options.sampling.map(|i| i.max(Duration::from_millis(1))),
            options,
            origin: now,
            live: std::iter::repeat_with(|| None).take(SLOTS).collect(),
            by_addresses: HashMap::new(),
            ended: VecDeque::new(),
            paths: KnownPaths::default(),
            total: 0,
            samples: 0,
        }
    }

    /// Takes a record of the ring. Returns the slot and the command that it must have now.
    pub fn on_record(&mut self, record: &[u8]) -> Option<(u32, Command)> {
        let event = Event::read(record)?;
        if event.kind == kind::START {
            self.start(&Start::read(record)?)?;
        }
        let slot = self.live.get_mut(event.slot as usize)?;
        // An event of another connection that had the slot before is late: its start was lost.
        let live = slot
            .as_mut()
            .filter(|live| live.adapter.generation() == event.generation)?;
        if event.kind != kind::START {
            let judged = live.adapter.on_event(&event);
            if let Some(judged) = judged {
                live.decide(judged, &self.options);
            }
            if let Some(interval) = self.interval {
                self.samples += live.sample(interval, event.kind == kind::END);
            }
        }
        if event.kind == kind::END {
            let live = slot.take()?;
            if let Some((path, alone)) = live.adapter.path() {
                let now = Time::from_nanos(event.time);
                self.paths.save(&live.addresses, path, alone, now);
            }
            self.forget_addresses(&live.addresses, event.slot);
            let end = if event.flags & flag::FALLBACK != 0 {
                End::Fallback
            } else {
                End::Closed
            };
            self.keep(live.into_connection(end));
            return None;
        }
        let command = live.adapter.command();
        if self.samples > MAX_SAMPLES {
            self.thin();
        }
        Some((event.slot, command))
    }

    /// A NACK has arrived. One of a connection that is not controlled is of no use.
    pub fn on_nack(&mut self, nack: &Nack) {
        let slot = self.by_addresses.get(&nack.addresses());
        let live = slot.and_then(|slot| self.live.get_mut(*slot as usize)?.as_mut());
        if let Some(live) = live {
            live.adapter.on_nack(nack);
        }
    }

    /// Connections so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Connections with unacknowledged data.
    pub fn unfinished(&self) -> usize {
        let live = self.live.iter().flatten();
        live.filter(|live| live.adapter.is_unfinished()).count()
    }

    /// All connections, in the order in which they began. `whole`: with samples and decisions.
    pub fn connections(&self, whole: bool) -> Vec<Connection> {
        let ended = self.ended.iter().map(|connection| {
            if whole {
                connection.clone()
            } else {
                connection.without_series()
            }
        });
        let live = self.live.iter().flatten();
        let live = live.map(|live| live.connection(End::StillOpen, whole));
        let mut all: Vec<_> = ended.chain(live).collect();
        all.sort_by_key(|connection| connection.began);
        all
    }

    fn start(&mut self, start: &Start) -> Option<()> {
        let slot = self.live.get_mut(start.event.slot as usize)?;
        self.total += 1;
        let seed = self
            .options
            .seed
            .wrapping_add(self.total.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let time_of_day = time_of_day_at(start.event.time);
        let addresses = start.addresses();
        let spec = &self.options.controller;
        let adapter = if self.options.resume_rate {
            let now = Time::from_nanos(start.event.time);
            let saved = self.paths.get(&addresses, now);
            Adapter::resuming(spec, start, seed, time_of_day, saved)
        } else {
            Adapter::new(spec, start, seed, time_of_day)
        };
        let mut live = Live {
            adapter,
            addresses,
            began: Time::from_nanos(start.event.time.saturating_sub(self.origin)),
            decisions: Vec::new(),
            samples: Vec::new(),
            next_sample: Time::ZERO,
        };
        let index = start.event.slot;
        if self.options.nack.is_some() {
            live.adapter.accept_nacks(start);
        }
        // The end of the connection that had the slot before did not arrive.
        if let Some(before) = slot.replace(Box::new(live)) {
            self.forget_addresses(&before.addresses, index);
            self.keep(before.into_connection(End::Closed));
        }
        if self.options.nack.is_some() {
            self.by_addresses.insert(addresses, index);
        }
        Some(())
    }

    /// The connection in this slot has ended. Another one between the same ends may have begun
    /// already, in another slot.
    fn forget_addresses(&mut self, addresses: &Addresses, slot: u32) {
        if self.by_addresses.get(addresses) == Some(&slot) {
            self.by_addresses.remove(addresses);
        }
    }

    fn keep(&mut self, connection: Connection) {
        if self.ended.len() >= super::Agent::MAX_CONNECTIONS
            && let Some(oldest) = self.ended.pop_front()
        {
            self.samples = self.samples.saturating_sub(oldest.samples.len());
        }
        self.ended.push_back(connection);
    }

    /// Makes every time line half as dense.
    fn thin(&mut self) {
        let live = self.live.iter_mut().flatten().map(|live| &mut live.samples);
        let ended = self.ended.iter_mut().map(|ended| &mut ended.samples);
        self.samples = 0;
        for samples in live.chain(ended) {
            let mut keep = false;
            samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.samples += samples.len();
        }
        self.interval = self.interval.map(|interval| interval * 2);
    }
}

impl Live {
    /// Records a decision of the loss classifier, with the truth if the path knows it.
    fn decide(&mut self, judged: Judged, options: &Options) {
        let truth = options.truth.as_ref();
        let actual = truth.and_then(|t| t.cause(&self.addresses, judged.seq, judged.end));
        if let Some(actual) = actual {
            self.adapter.count_truth(judged.verdict, actual);
        }
        if self.decisions.len() < MAX_DECISIONS {
            self.decisions.push(Decision {
                time: judged.time,
                sequence: judged.seq,
                judged: judged.verdict,
                actual,
            });
        }
    }

    /// Records a sample if one is due, or if it is the last. Returns how many were added.
    fn sample(&mut self, interval: Duration, last: bool) -> usize {
        let state = self.adapter.state();
        if state.state.time < self.next_sample && !last {
            return 0;
        }
        self.next_sample = state.state.time + interval;
        self.samples.push(Sample {
            state: state.state,
            lost_packets: state.lost_packets,
            retransmits: state.retransmits,
        });
        1
    }

    fn connection(&self, end: End, whole: bool) -> Connection {
        let state = *self.adapter.state();
        let active = self.adapter.active();
        Connection {
            addresses: self.addresses,
            began: self.began,
            last: state,
            active,
            goodput: if active.is_zero() {
                Rate::from_bits_per_sec(0)
            } else {
                Rate::over(state.state.delivered, active)
            },
            end,
            dropped_events: self.adapter.dropped_events(),
            decisions: if whole {
                self.decisions.clone()
            } else {
                Vec::new()
            },
            samples: if whole {
                self.samples.clone()
            } else {
                Vec::new()
            },
        }
    }

    fn into_connection(mut self, end: End) -> Connection {
        let decisions = std::mem::take(&mut self.decisions);
        let samples = std::mem::take(&mut self.samples);
        Connection {
            decisions,
            samples,
            ..self.connection(end, false)
        }
    }
}

impl Start {
    /// Both ends. An IPv4 address is shown as one.
    fn addresses(&self) -> Addresses {
        Addresses {
            local: socket(self.local, self.local_port),
            remote: socket(self.remote, self.remote_port),
        }
    }
}

impl Nack {
    /// Both ends, in the same form.
    fn addresses(&self) -> Addresses {
        Addresses {
            local: socket(self.local, self.local_port),
            remote: socket(self.remote, self.remote_port),
        }
    }
}

fn socket(address: [u8; 16], port: u16) -> SocketAddr {
    let address = IpAddr::V6(Ipv6Addr::from(address)).to_canonical();
    SocketAddr::new(address, port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::records;

    /// A transfer of 4 s over 4 Mbit/s and 60 ms.
    const RECORDING: &[u8] = include_bytes!("../../tests/data/cubic.events");

    /// The phase in which a connection begins after an earlier one between the same addresses, and
    /// what is known of their path.
    fn second_connection(resume_rate: bool) -> (&'static str, Option<(f64, f64)>) {
        let options = Options {
            resume_rate,
            ..Options::new("newreno".parse().expect("an algorithm"))
        };
        let mut table = Table::new(options, 0);
        for record in records(RECORDING) {
            table.on_record(record);
        }
        let start = records(RECORDING).next().expect("a start");
        table.on_record(start);
        let start = Start::read(start).expect("a start");
        let live = table.live[start.event.slot as usize].as_ref();
        let phase = live.expect("a connection").adapter.state().state.phase;
        let now = Time::from_nanos(start.event.time);
        let known = table.paths.get(&start.addresses(), now);
        let known = known.map(|path| (path.cwnd.get() as f64, path.rtt.as_secs_f64()));
        (phase, known)
    }

    fn start(slot: u32, generation: u32, port: u16) -> Vec<u8> {
        let start = Start {
            event: Event {
                slot,
                generation,
                kind: kind::START,
                mss: 1448,
                cwnd: 10,
                ..Event::default()
            },
            remote_port: port,
            ..Start::default()
        };
        start.bytes().to_vec()
    }

    fn end(slot: u32, generation: u32) -> Vec<u8> {
        let mut end = start(slot, generation, 0);
        // An end is an event alone: the rest of a start is not read.
        let kind_at = std::mem::offset_of!(Event, kind);
        end[kind_at] = kind::END;
        end
    }

    #[test]
    fn nacks_find_the_connection_that_has_the_addresses_now() {
        let options = Options {
            nack: Some(Vec::new()),
            ..Options::new("newreno".parse().expect("an algorithm"))
        };
        let addresses = Start {
            remote_port: 443,
            ..Start::default()
        }
        .addresses();
        // The earlier connection between the same ends ends late, or its end is lost and another
        // connection takes its slot.
        for last in [end(1, 1), start(1, 3, 80)] {
            let mut table = Table::new(options.clone(), 0);
            table.on_record(&start(1, 1, 443));
            table.on_record(&start(2, 2, 443));
            table.on_record(&last);
            assert_eq!(table.by_addresses.get(&addresses), Some(&2));
        }
        let mut table = Table::new(options, 0);
        table.on_record(&start(1, 1, 443));
        table.on_record(&end(1, 1));
        assert!(table.by_addresses.is_empty());
    }

    #[test]
    fn samples_of_connections_that_are_forgotten_do_not_count() {
        let options = Options {
            sampling: Some(Duration::from_millis(1)),
            ..Options::new("newreno".parse().expect("an algorithm"))
        };
        let mut table = Table::new(options, 0);
        let most = super::super::Agent::MAX_CONNECTIONS;
        for generation in 1..=most as u32 + 100 {
            table.on_record(&start(1, generation, 443));
            table.on_record(&end(1, generation));
        }
        assert_eq!((table.ended.len(), table.samples), (most, most));
    }

    #[test]
    fn a_connection_begins_with_what_an_earlier_one_found_if_that_is_wanted() {
        let (phase, known) = second_connection(true);
        assert_eq!(phase, "reconnaissance");
        let (cwnd, rtt) = known.expect("a path");
        // 30 kB are in flight at 4 Mbit/s and 60 ms; 3 % of the packets are lost.
        assert!((10_000.0..32_000.0).contains(&cwnd), "{cwnd}");
        assert!((0.060..0.070).contains(&rtt), "{rtt}");
        let (phase, known) = second_connection(false);
        assert_ne!(phase, "reconnaissance");
        assert_eq!(known, None);
    }
}
