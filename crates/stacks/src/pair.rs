//! Both ends of a connection and their applications, as the simulator's engine drives them.

use crate::application::Writer;
use crate::endpoint::{Ecn, Endpoint, Transmit};
use crate::virtual_os::Clock;
use whimbrel_sim::observe::End;
use whimbrel_sim::{Connection, HostCounters, HostState};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The most that the application writes at once, bytes: a stack that buffers without a limit gets
/// no more than it can send in a while.
const WRITE: u64 = 1 << 20;

/// Makes the near end and the far end of a connection. It is called when the flow starts.
pub(crate) type Open = Box<dyn FnOnce() -> [Box<dyn Endpoint>; 2] + Send>;

/// A connection that sends in one direction.
pub(crate) struct Pair {
    /// `None` before the start.
    ends: Option<[Box<dyn Endpoint>; 2]>,
    open: Option<Open>,
    clock: Clock,
    make_writer: Box<dyn Fn(Time) -> Writer + Send>,
    writer: Option<Writer>,
    due: [Option<Time>; 2],
    started: Time,
    connected: Option<Time>,
    finished: bool,
    delivered: u64,
    failed: bool,
}

impl Pair {
    /// A connection that `open` makes when the flow starts, with an application that then starts.
    pub fn new(open: Open, make_writer: impl Fn(Time) -> Writer + Send + 'static) -> Self {
        Self {
            ends: None,
            open: Some(open),
            clock: Clock::new(),
            make_writer: Box::new(make_writer),
            writer: None,
            due: [None; 2],
            started: Time::ZERO,
            connected: None,
            finished: false,
            delivered: 0,
            failed: false,
        }
    }

    /// The application of an end does what it can.
    fn act(&mut self, now: Time, end: End) {
        let at = self.clock.set(now);
        let (Some([near, far]), Some(writer)) = (&mut self.ends, &mut self.writer) else {
            return;
        };
        if end == End::Far {
            self.delivered += far.read(at);
            return;
        }
        if near.is_closed() && !writer.is_done() {
            self.failed = true;
        }
        if !near.is_connected() {
            return;
        }
        self.connected.get_or_insert(now);
        while let wants @ 1.. = writer.wants(now).min(WRITE) {
            let taken = near.write(wants as usize) as u64;
            writer.wrote(taken);
            if taken < wants {
                break;
            }
        }
        if writer.is_done() && !self.finished {
            self.finished = true;
            near.finish();
        }
    }

    fn end(&mut self, end: End) -> Option<&mut Box<dyn Endpoint>> {
        self.ends.as_mut().map(|ends| &mut ends[index(end)])
    }
}

const fn index(end: End) -> usize {
    match end {
        End::Near => 0,
        End::Far => 1,
    }
}

impl Connection for Pair {
    fn start(&mut self, now: Time) {
        self.clock.set(now);
        self.started = now;
        self.writer = Some((self.make_writer)(now));
        self.ends = self.open.take().map(|open| open());
    }

    fn stop(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.stop();
        }
    }

    fn receive(&mut self, now: Time, end: End, datagram: &mut [u8], ecn: Ecn) {
        let at = self.clock.set(now);
        if let Some(endpoint) = self.end(end) {
            endpoint.receive(at, datagram, ecn);
        }
    }

    fn expire(&mut self, now: Time, end: End) {
        let at = self.clock.set(now);
        // It may be the application's time only; a stack checks its own timers.
        if let Some(endpoint) = self.end(end) {
            endpoint.expire(at);
        }
    }

    fn transmit(&mut self, now: Time, end: End, datagram: &mut Vec<u8>) -> Option<Transmit> {
        self.act(now, end);
        let at = self.clock.set(now);
        let clock = self.clock;
        let endpoint = self.end(end)?;
        datagram.clear();
        let transmit = endpoint.transmit(at, datagram);
        if transmit.is_none() {
            let stack = endpoint.deadline().map(|due| clock.time(due));
            let writer = self.writer.as_ref().filter(|_| end == End::Near);
            let writer = writer.and_then(|writer| writer.deadline(now));
            self.due[index(end)] = stack.into_iter().chain(writer).min();
        }
        transmit
    }

    fn deadline(&self, end: End) -> Option<Time> {
        self.due[index(end)]
    }

    fn delivered(&self) -> Bytes {
        Bytes::new(self.delivered)
    }

    fn state(&mut self) -> HostState {
        let Some([near, _]) = &mut self.ends else {
            return HostState::default();
        };
        let report = near.report();
        HostState {
            cwnd: Bytes::new(report.cwnd.unwrap_or(0)),
            ssthresh: report.ssthresh.map(Bytes::new),
            in_flight: report.in_flight.map(Bytes::new),
            srtt: report.srtt.map_or(Duration::ZERO, Duration::from),
            pacing_rate: report.pacing_rate.map(Rate::from_bits_per_sec),
        }
    }

    fn counters(&mut self) -> HostCounters {
        let report = self.ends.as_mut().map(|[near, _]| near.report());
        let report = report.unwrap_or_default();
        HostCounters {
            handshake: self.connected.map(|at| at.since(self.started)),
            lost: report.lost,
            timeouts: report.timeouts,
            loss_episodes: report.episodes,
            failed: self.failed,
        }
    }
}
