//! Answers events: a thread that reads the ring, feeds each connection's adapter, writes commands
//! and the heartbeat, and records what happened.
//!
//! * `table`: the connections, and what is recorded of each.
//! * `flood`: how many events a second are answered.
//! * `latency`: how long answers took.
//! * `system`: clocks, scheduling, waiting.
//!
//! **Waking.** Waking a thread costs far more than an answer. While events are rare, each wakes the
//! thread; while they come faster than one in [`Options::wake_interval`], the thread sleeps for
//! that time and then answers all of them.

mod flood;
mod known_paths;
mod latency;
mod system;
mod table;

use crate::bpf::ring::Ring;
use crate::clock::monotonic;
use crate::connection::Connection;
use crate::datapath::Datapath;
use crate::error::LinuxError;
use crate::nack::{NackReceiver, NackSender, ReceiverCounters, SenderCounters};
use crate::options::Options;
use crate::recording::Recorder;
use crate::wire::Control;
pub use flood::Flood;
use latency::Latency;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use system::Waker;
use table::Table;
use whimbrel_units::Duration;

/// The heartbeat is renewed at least this often.
const HEARTBEAT: Duration = Duration::from_millis(100);
/// The thread that answers a datapath's events. Dropping it stops the thread.
#[derive(Debug)]
pub struct Agent {
    datapath: Arc<Datapath>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    nack_receiver: Option<NackReceiver>,
}

/// What the thread and the handle share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    stop: AtomicBool,
    waker: Waker,
}

#[derive(Debug)]
struct State {
    table: Table,
    nack_sender: Option<NackSender>,
    latency: Latency,
    recorder: Option<Recorder>,
    cpu: Duration,
    real_time: bool,
    /// The shared counts at the end.
    control: Option<Control>,
}

impl Shared {
    // A panic while the lock was held can leave one connection's counts wrong, no more.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What happened so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentReport {
    /// The connections, in the order in which they began. If there were more than
    /// [`Agent::MAX_CONNECTIONS`], those that ended first are missing.
    pub connections: Vec<Connection>,
    /// Connections in all.
    pub total: u64,
    /// Events that the kernel wrote.
    pub events: u64,
    /// Events lost because the ring was full.
    pub dropped_events: u64,
    /// Connections that went to the fallback algorithm because this process was silent.
    pub fallbacks: u64,
    /// Connections that went to it because too many were controlled already.
    pub refused: u64,
    /// Windows or rates that the kernel's half clamped.
    pub clamped: u64,
    /// Connections of chosen cgroups for which the kernel refused the algorithm.
    pub not_chosen: u64,
    /// Time from an event to its command in shared memory: median.
    pub answer_p50: Duration,
    /// The same, 99th percentile.
    pub answer_p99: Duration,
    /// CPU time of the thread.
    pub cpu: Duration,
    /// Whether the thread has real-time priority.
    pub real_time: bool,
    /// What became of NACKs on the network interfaces, if they are in use.
    pub nacks: Option<NackReport>,
}

/// What the programs on the network interfaces have counted, for all connections of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct NackReport {
    /// The names of the interfaces.
    pub devices: Vec<String>,
    /// As a receiver of data: segments verified, and NACKs sent.
    pub receiver: ReceiverCounters,
    /// As a sender of data: NACKs received.
    pub sender: SenderCounters,
}

impl Agent {
    /// Maximum number of connections in a report.
    pub const MAX_CONNECTIONS: usize = 10_000;

    /// Starts the thread, and NACKs if [`Options::nack`] requests them.
    ///
    /// # Errors
    /// If the thread cannot be started, or NACKs cannot be exchanged.
    pub fn start(datapath: Datapath, options: Options) -> Result<Self, LinuxError> {
        let mut ring = datapath.ring()?;
        let devices = options.nack.as_deref();
        let nack_receiver = devices.map(NackReceiver::attach).transpose()?;
        let nack_sender = devices.map(NackSender::attach).transpose()?;
        let datapath = Arc::new(datapath);
        let record = options.record.as_deref().map(Recorder::create).transpose();
        let recorder = record.map_err(LinuxError::os("creating the file for the events"))?;
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            waker: Waker::new().map_err(LinuxError::os("making an event"))?,
            state: Mutex::new(State {
                table: Table::new(options.clone(), monotonic()),
                nack_sender,
                latency: Latency::default(),
                recorder,
                cpu: Duration::ZERO,
                real_time: false,
                control: None,
            }),
        });
        let thread = std::thread::Builder::new()
            .name("whimbrel-tcp".to_owned())
            .spawn({
                let (datapath, shared) = (Arc::clone(&datapath), Arc::clone(&shared));
                move || run(&datapath, &mut ring, &shared, &options)
            })
            .map_err(LinuxError::os("starting a thread"))?;
        Ok(Self {
            datapath,
            shared,
            thread: Some(thread),
            nack_receiver,
        })
    }

    /// The datapath, to choose more connections.
    pub fn datapath(&self) -> &Datapath {
        &self.datapath
    }

    /// What happened so far, without samples and decisions.
    pub fn report(&self) -> AgentReport {
        self.make_report(false)
    }

    /// The number of connections that still have unacknowledged data.
    pub fn unfinished(&self) -> usize {
        self.shared.state().table.unfinished()
    }

    /// Stops the thread and returns everything, samples included. Connections that are still open
    /// go to the fallback algorithm at their next acknowledgment.
    pub fn finish(mut self) -> AgentReport {
        self.stop();
        self.make_report(true)
    }

    fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed by it; what it recorded is still there.
            let _ = thread.join();
        }
    }

    fn make_report(&self, whole: bool) -> AgentReport {
        let state = self.shared.state();
        let control = state
            .control
            .unwrap_or_else(|| self.datapath.control().read());
        AgentReport {
            connections: state.table.connections(whole),
            total: state.table.total(),
            events: control.events,
            dropped_events: control.dropped,
            fallbacks: control.fallbacks,
            refused: control.refused,
            clamped: control.clamped,
            not_chosen: control.not_chosen,
            answer_p50: state.latency.quantile(0.5),
            answer_p99: state.latency.quantile(0.99),
            cpu: state.cpu,
            real_time: state.real_time,
            nacks: self.nack_report(&state),
        }
    }

    fn nack_report(&self, state: &State) -> Option<NackReport> {
        let (receiver, sender) = (self.nack_receiver.as_ref()?, state.nack_sender.as_ref()?);
        Some(NackReport {
            devices: receiver.devices().to_vec(),
            // The kernel does not refuse to read a map of one's own.
            receiver: receiver.counters().unwrap_or_default(),
            sender: sender.counters().unwrap_or_default(),
        })
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The thread.
fn run(datapath: &Datapath, ring: &mut Ring, shared: &Shared, options: &Options) {
    shared.state().real_time = options.real_time && system::real_time();
    let control = datapath.control();
    let interval = options.wake_interval;
    let mut frequent = false;
    let mut last = monotonic();
    while !shared.stop.load(Ordering::Relaxed) {
        let now = monotonic();
        control.beat(now);
        let taken = answer(datapath, ring, shared);
        frequent = if frequent {
            taken > 1
        } else {
            taken > 0 && now.saturating_sub(last) < interval.as_nanos() / 2
        };
        last = now;
        if frequent {
            system::wait(None, &shared.waker, interval);
        } else {
            control.set_sleeping(true);
            // It returns at once if an event came before the kernel knew.
            system::wait(Some(ring), &shared.waker, HEARTBEAT);
            control.set_sleeping(false);
        }
    }
    answer(datapath, ring, shared);
    // From now on the kernel's half hands connections over without waiting; the report does not
    // count them as its failures.
    shared.state().control = Some(control.read());
    control.beat(0);
}

/// Answers all events in the ring. Returns their number.
fn answer(datapath: &Datapath, ring: &mut Ring, shared: &Shared) -> usize {
    let mut state = shared.state();
    let State {
        table,
        nack_sender,
        latency,
        recorder,
        cpu,
        ..
    } = &mut *state;
    // A NACK must be known before the loss that it excuses.
    if let Some(nacks) = nack_sender {
        nacks.consume(|nack| table.on_nack(nack));
    }
    let taken = ring.consume(|record| {
        if let Some(recorder) = recorder {
            recorder.add(record);
        }
        if let Some((slot, command)) = table.on_record(record) {
            datapath.commands().write(slot, &command);
            latency.add(monotonic().saturating_sub(command.answers));
        }
    });
    if taken > 0 {
        *cpu = system::thread_cpu();
    }
    taken
}
