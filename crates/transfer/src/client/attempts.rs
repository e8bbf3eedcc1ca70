//! Runs a transfer over as many connections as it takes.

use super::connect::MakeFactory;
use super::interval_statistics::{Earlier, IntervalStatistics};
use super::options::{ClientOptions, Measurement};
use super::paths::{PathSummary, Unanswered};
use super::retry::{BackOff, random};
use super::session::ClientSession;
use super::summary::PathUse;
use super::update::Update;
use crate::connection::key_exchange::KeyExchange;
use crate::connection::over_tcp::Transport;
use crate::connection::parameters;
use crate::error::Error;
use futures::future::BoxFuture;
use noq_proto::PathId;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{self, Instant, sleep};
use whimbrel_cc::SavedPath;
use whimbrel_quic::{Monitor, PacketLog};
use whimbrel_units::Duration as Span;

/// Time between calls with the progress.
const TICK: Duration = Duration::from_millis(100);

/// What is done over a connection, and again over the next one if it fails.
pub(crate) trait Task {
    /// The result.
    type Done;

    /// One attempt. In a box, as all long futures that the generic functions of this crate await:
    /// their code is compiled here, and not in each crate that calls.
    fn attempt<'a>(
        &'a mut self,
        session: &'a ClientSession,
    ) -> BoxFuture<'a, Result<Self::Done, Error>>;

    /// The connection of an attempt has ended; `datagrams`: the bytes of all UDP datagrams that it
    /// sent, without those that were lost. Of interest to a task that counts what it sends.
    fn ended(&mut self, datagrams: u64) {
        let _ = datagrams;
    }
}

/// What all connections of a transfer did.
pub(crate) struct Attempts {
    /// The controller of the last connection.
    pub monitor: Monitor,
    /// What those of earlier connections counted.
    pub earlier: Earlier,
    /// Attempts after the first.
    pub retries: u32,
    /// Time until the first connection was there.
    pub connecting: Duration,
    /// Time from then to the end.
    pub took: Duration,
    /// QUIC packets that the last connection declared lost.
    lost_now: u64,
    /// QUIC packets sent.
    pub sent_packets: u64,
    /// Bytes of the UDP datagrams that the last connection sent, without those that were lost.
    datagrams: u64,
    /// Path MTU of the last connection.
    pub mtu: u16,
    /// What all connections did on each path.
    paths: Vec<PathSummary>,
    /// What carried the last connection; `None` if there was none.
    pub transport: Option<Transport>,
    /// How its keys were agreed on; `None` if there was none.
    pub key_exchange: Option<KeyExchange>,
    /// What was known of the path when the last connection began.
    pub saved: Option<SavedPath>,
    pub intervals: IntervalStatistics,
    /// Time between their samples.
    interval: Option<Span>,
}

impl Attempts {
    /// QUIC packets declared lost on all connections that have ended.
    pub fn lost_packets(&self) -> u64 {
        self.earlier.lost_packets + self.lost_now
    }

    /// How all connections used the path, for `bytes` of files.
    pub fn path_use(&self, options: &ClientOptions, bytes: u64) -> PathUse {
        let transport = self.transport.clone().unwrap_or_default();
        let (quic, controller) = match &transport {
            Transport::Quic => (true, options.controller.to_string()),
            Transport::Tls(control) => (false, control.to_string()),
        };
        PathUse {
            bytes,
            controller,
            lost_packets: if quic { self.lost_packets() } else { 0 },
            sent_packets: if quic { self.sent_packets } else { 0 },
            min_rtt_ms: self.monitor.snapshot().state.min_rtt.as_millis_f64(),
            mtu_bytes: if quic { self.mtu } else { 0 },
            intervals: self.intervals.samples(),
        }
    }

    /// What all connections over QUIC did on each path.
    pub fn paths(&self) -> Vec<PathSummary> {
        match &self.transport {
            Some(Transport::Quic) => self.paths.clone(),
            _ => Vec::new(),
        }
    }

    /// Nothing was done yet.
    fn begun(interval: Option<Span>, now: Instant) -> Self {
        Self {
            monitor: Monitor::default(),
            earlier: Earlier::default(),
            retries: 0,
            connecting: Duration::ZERO,
            took: Duration::ZERO,
            lost_now: 0,
            sent_packets: 0,
            datagrams: 0,
            mtu: 0,
            paths: Vec::new(),
            transport: None,
            key_exchange: None,
            saved: None,
            intervals: IntervalStatistics::new(None, now),
            interval,
        }
    }

    /// Adds the last connection to the earlier ones.
    fn leave(&mut self) {
        let last = std::mem::take(&mut self.monitor).snapshot();
        self.earlier.delivered += last.state.delivered.get();
        self.earlier.lost_packets += std::mem::take(&mut self.lost_now);
        self.earlier.episodes += last.episodes.episodes;
        self.earlier.reductions += last.episodes.reductions;
        self.earlier.timeouts += last.episodes.timeouts;
        self.earlier.spurious += last.episodes.spurious;
    }

    /// Runs `task` on a connection; again on a new one, as the options say, if it failed for a
    /// reason that may pass. `news` gets the bytes that were acknowledged in this attempt.
    pub async fn run<T: Task>(
        options: &ClientOptions,
        measurement: &Measurement,
        task: &mut T,
        news: impl Fn(u64) -> Vec<Update>,
        on_update: &mut impl FnMut(Update),
        stop: impl Future<Output = ()>,
    ) -> (Self, Result<T::Done, Error>) {
        let started = Instant::now();
        let mut this = Self::begun(measurement.interval, started);
        let log = match &measurement.packet_log {
            Some(path) => match PacketLog::create(path) {
                Ok(log) => Some(log),
                Err(e) => return (this, Err(Error::file(path, "create")(e))),
            },
            None => None,
        };
        let factory = || {
            let mut factory = options.factory();
            if let Some(interval) = measurement.trace {
                factory = factory.sampling(interval);
            }
            match &log {
                Some(log) => factory.logging(log.clone()),
                None => factory,
            }
        };
        tokio::pin!(stop);
        let mut back_off = BackOff::default();
        let mut connected: Option<Instant> = None;
        let mut worked = started;
        let result = loop {
            this.leave();
            let before = this.earlier.delivered;
            let once = this.once(
                options,
                &factory,
                &mut *task,
                &news,
                on_update,
                &mut connected,
            );
            let result = tokio::select! {
                result = once => result,
                () = &mut stop => Err(Error::Stopped),
            };
            task.ended(std::mem::take(&mut this.datagrams));
            if let Err(Error::Stopped) = result {
                // The connection is closed now; let the server know before the process ends.
                sleep(CLOSING).await;
                break result;
            }
            let error = match result {
                Ok(done) => break Ok(done),
                Err(error) => error,
            };
            let delivered = this.earlier.delivered + this.monitor.snapshot().state.delivered.get();
            if delivered > before + MADE_PROGRESS {
                back_off.reset();
                worked = Instant::now();
            }
            let Some(retry) = options
                .retry
                .filter(|retry| error.is_temporary() && (connected.is_some() || retry.from_start))
            else {
                break Err(error);
            };
            let wait = back_off.next(random());
            if retry
                .limit
                .is_some_and(|limit| Span::from(worked.elapsed() + wait) > limit)
            {
                break Err(error);
            }
            on_update(Update::Interrupted {
                reason: error.to_string(),
                wait: wait.into(),
            });
            tokio::select! {
                () = sleep(wait) => {}
                () = &mut stop => break Err(Error::Stopped),
            }
            this.retries += 1;
        };
        if result.is_err() {
            this.took = connected.map_or(Duration::ZERO, |at| at.elapsed());
        }
        if let (Some(log), Some(path)) = (log, &measurement.packet_log)
            && let Err(e) = log.finish()
        {
            return (this, result.and(Err(Error::file(path, "write")(e))));
        }
        (this, result)
    }

    /// One connection.
    async fn once<T: Task>(
        &mut self,
        options: &ClientOptions,
        factory: &MakeFactory<'_>,
        task: &mut T,
        news: &impl Fn(u64) -> Vec<Update>,
        on_update: &mut impl FnMut(Update),
        connected: &mut Option<Instant>,
    ) -> Result<T::Done, Error> {
        let begun = Instant::now();
        let parameters = parameters::client(options.idle);
        let session = ClientSession::open(options, parameters, factory).await?;
        self.monitor = session.monitor.clone();
        if let Transport::Tls(control) = &session.transport
            && self.transport.as_ref() != Some(&session.transport)
        {
            on_update(Update::OverTcp(control.clone()));
        }
        if session.has_one_path_only() {
            on_update(Update::OnePath);
        }
        self.transport = Some(session.transport.clone());
        self.key_exchange = session.key_exchange;
        self.saved = session.saved;
        if connected.is_none() {
            let now = Instant::now();
            *connected = Some(now);
            self.connecting = now - begun;
            self.intervals = IntervalStatistics::new(self.interval, now);
        }
        // However the attempt ends, its packets count.
        let counted = Counted {
            attempts: self,
            session: &session,
        };
        let work = session.run(task.attempt(&session));
        tokio::pin!(work);
        let mut tick = time::interval(TICK);
        let mut second = time::interval(SECOND);
        let mut unanswered = Unanswered::default();
        let mut queued = 0;
        let result = loop {
            let this = &mut *counted.attempts;
            tokio::select! {
                result = &mut work => break result,
                () = this.intervals.due() => {
                    let paths = several_paths(&session, &this.paths);
                    let (monitor, earlier) = (&this.monitor, &this.earlier);
                    this.intervals.take(&session.connection, monitor, earlier, paths);
                }
                _ = second.tick() => {
                    let paths = several_paths(&session, &this.paths);
                    for via in unanswered.new_ones(&paths) {
                        on_update(Update::NoAnswer(via));
                    }
                    if !paths.is_empty() {
                        on_update(Update::Paths(paths));
                    }
                }
                _ = tick.tick() => {
                    let delivered = this.monitor.snapshot().state.delivered.get();
                    news(delivered).into_iter().for_each(&mut *on_update);
                    let position = session.queued.load(Ordering::Relaxed);
                    if std::mem::replace(&mut queued, position) != position && position > 0 {
                        on_update(Update::Queued(position));
                    }
                }
            }
        };
        if result.is_ok() {
            let this = &mut *counted.attempts;
            this.took = connected.map_or(Duration::ZERO, |at| at.elapsed());
            let paths = several_paths(&session, &this.paths);
            let (monitor, earlier) = (&this.monitor, &this.earlier);
            this.intervals
                .end(&session.connection, monitor, earlier, paths);
        }
        drop(counted);
        session.close().await;
        result
    }
}

/// What this connection and the `earlier` ones did on each of several paths; empty if there is one.
fn several_paths(session: &ClientSession, earlier: &[PathSummary]) -> Vec<PathSummary> {
    if !session.has_several_paths() {
        return Vec::new();
    }
    let mut paths = session.paths();
    PathSummary::add_earlier(&mut paths, earlier);
    paths
}

/// Time between two reports on paths.
const SECOND: Duration = Duration::from_secs(1);
/// Time for the last packet of a stopped transfer to leave.
const CLOSING: Duration = Duration::from_millis(50);
/// An attempt that delivered so much made progress, bytes.
const MADE_PROGRESS: u64 = 16 << 10;

/// Adds up the packets of a connection when it is dropped.
struct Counted<'a> {
    attempts: &'a mut Attempts,
    session: &'a ClientSession,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let stats = self.session.connection.stats();
        self.attempts.lost_now = stats.lost_packets;
        self.attempts.sent_packets += stats.sent_packets;
        // What the transport repeated is no data of the file sent twice.
        self.attempts.datagrams = stats.udp_tx.bytes.saturating_sub(stats.lost_bytes);
        if let Some(path) = self.session.connection.path_stats(PathId::ZERO) {
            self.attempts.mtu = path.current_mtu;
        }
        let mut paths = self.session.paths();
        PathSummary::add_earlier(&mut paths, &self.attempts.paths);
        self.attempts.paths = paths;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_packets_of_a_connection_count_once() {
        let mut attempts = Attempts::begun(None, Instant::now());
        attempts.lost_now = 7;
        assert_eq!(attempts.lost_packets(), 7);
        attempts.leave();
        // The next attempt does not connect.
        attempts.leave();
        assert_eq!(attempts.lost_packets(), 7);
    }
}
