//! Runs of senders on paths, and what they showed.
//!
//! A path is a point of the matrix of `whimbrel rank`, or one made from flags in the same form. A
//! run is the point's scenario in which the flows under test are carried by the sender's stack.

use crate::application::Application;
use crate::catalog::Sender;
use crate::host::StackHost;
use crate::virtual_os;
use serde::Serialize;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use whimbrel_rank::{MatrixPoint, Measures};
use whimbrel_sim::scenario::{Point, ScenarioError};
use whimbrel_sim::{FlowOutcome, FlowSample, Network, Outcome};
use whimbrel_units::Duration;

/// The controller of the simulator's own flows under test while the scenario is read; a stack
/// replaces them.
const PLACEHOLDER: &str = "cubic";

/// One sender on one path with one seed.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    /// The path.
    pub point: &'a MatrixPoint,
    /// The sender.
    pub sender: Sender,
    /// The seed of the path, and of the stack.
    pub seed: u64,
    /// What the application writes. The simulator's own transport always has data.
    pub application: Application,
    /// The interval at which windows are recorded, if they are.
    pub sample: Option<Duration>,
}

/// What a run showed. Fields that a stack does not report are `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Run {
    /// The stack.
    pub stack: String,
    /// Its version.
    pub version: String,
    /// The controller.
    pub controller: String,
    /// The point of the matrix, or `path`.
    pub point: String,
    /// The seed.
    pub seed: u64,
    /// Data that the flows under test delivered per second of the run, bit/s.
    pub goodput_bps: f64,
    /// The same over what an ideal sender delivers on this path.
    pub efficiency: f64,
    /// Mean wait in queues, summed over the links, milliseconds.
    pub queue_ms: f64,
    /// 95th percentile of the one-way delay above its minimum, milliseconds.
    pub delay_p95_ms: f64,
    /// Packets that the senders under test sent.
    pub packets_sent: u64,
    /// Their mean size on the wire, with all headers, bytes.
    pub packet_bytes: f64,
    /// Data delivered for each of them that arrived, bytes: what headers and repetitions leave.
    pub payload_bytes: f64,
    /// Those of them that links lost, for whatever cause.
    pub packets_lost: u64,
    /// Those of them that queues dropped.
    pub packets_dropped: u64,
    /// Packets that the senders took for lost, or segments that they retransmitted.
    pub taken_for_lost: Option<u64>,
    /// Those that no link had lost, at least: spurious retransmissions.
    pub spurious: Option<u64>,
    /// Time from the start to the end of the handshake at the sender, milliseconds.
    pub handshake_ms: Option<f64>,
    /// Time that the transfer took, seconds; `None` if it is endless or did not complete.
    pub completion_s: Option<f64>,
    /// A connection ended before its time.
    pub failed: bool,
    /// The code of the stack panicked; all other numbers are zero.
    pub panicked: bool,
    /// CPU time of both ends, encryption included, and of the simulator, microseconds per packet
    /// sent. The only number that differs between two runs with the same seed.
    pub cpu_us_per_packet: f64,
}

/// A run with what is not printed.
#[derive(Debug, Clone)]
pub struct Played {
    /// What it showed.
    pub run: Run,
    /// The same, as the matrix scores it; `None` after a panic.
    pub measures: Option<Measures>,
    /// The state of the first flow under test over time, if it was recorded.
    pub samples: Vec<FlowSample>,
}

impl Task<'_> {
    /// Plays the run.
    ///
    /// # Errors
    /// If the controller cannot run on this path.
    pub fn run(&self) -> Result<Played, ScenarioError> {
        let own = self.sender.is_simulated();
        let controller = if own {
            &self.sender.controller
        } else {
            PLACEHOLDER
        };
        let seeds = u32::try_from(self.seed).unwrap_or(u32::MAX);
        let mut scenario = self.point.scenario(controller, seeds)?;
        if let Some(sample) = self.sample {
            scenario.set_sample(sample);
        }
        let points = scenario.points();
        let [point] = points else {
            // A point of the matrix is one path; its reader refuses others.
            return Ok(self.panicked());
        };
        let mut network = point.network(self.seed);
        let tested = self.point.under_test(point);
        if !own {
            self.host(&mut network, &tested);
        }
        let outcome = virtual_os::isolated(self.seed, || {
            let before = virtual_os::cpu_time();
            let outcome = whimbrel_sim::run(&network);
            (outcome, virtual_os::cpu_time().saturating_sub(before))
        });
        Ok(match outcome {
            None => self.panicked(),
            Some((outcome, cpu)) => self.played(point, &network, &outcome, &tested, cpu),
        })
    }

    /// Lets the stack carry the flows under test.
    fn host(&self, network: &mut Network, tested: &[bool]) {
        let host: Arc<StackHost> = Arc::new(StackHost {
            sender: self.sender.clone(),
            application: self.application,
        });
        for (flow, tested) in network.flows.iter_mut().zip(tested) {
            if *tested {
                flow.host = Some(host.clone());
            }
        }
    }

    fn played(
        &self,
        point: &Point,
        network: &Network,
        outcome: &Outcome,
        tested: &[bool],
        cpu: std::time::Duration,
    ) -> Played {
        let measures = Measures::of(self.point, point, network, outcome, self.seed);
        let flows = outcome.flows.iter().zip(tested);
        let flows: Vec<&FlowOutcome> = flows.filter(|(_, is)| **is).map(|(flow, _)| flow).collect();
        let sum = |count: fn(&FlowOutcome) -> u64| flows.iter().map(|flow| count(flow)).sum();
        let hosted = |get: fn(&whimbrel_sim::HostOutcome) -> Option<u64>| -> Option<u64> {
            let each = flows.iter().map(|flow| get(flow.hosted.as_ref()?));
            each.sum()
        };
        let packets_sent: u64 = sum(|flow| flow.packets_sent);
        let sent_bytes: u64 = sum(|flow| flow.sent_on_wire.get());
        let delivered: u64 = sum(|flow| flow.delivered.get());
        let own = self.sender.is_simulated();
        let taken_for_lost = match own {
            true => Some(sum(|flow| flow.retransmits)),
            false => hosted(|hosted| hosted.lost),
        };
        let packets_lost: u64 = sum(|flow| flow.lost.total());
        let rtt_ms = self.point.rtt.as_secs_f64() * 1e3;
        let handshakes = flows.iter().filter_map(|flow| flow.hosted?.handshake);
        let handshake = handshakes.map(|time| time.as_secs_f64() * 1e3);
        let completions: Option<Vec<f64>> = flows
            .iter()
            .map(|flow| flow.completion.map(|time| time.as_secs_f64()))
            .collect();
        let completion_s = completions
            .filter(|all| !all.is_empty())
            .map(|all| all.iter().sum::<f64>() / all.len() as f64);
        let all_sent: u64 = outcome.flows.iter().map(|flow| flow.packets_sent).sum();
        let run = Run {
            goodput_bps: measures.rate,
            efficiency: measures.efficiency,
            queue_ms: measures.wait * rtt_ms,
            delay_p95_ms: measures.delay * rtt_ms,
            packets_sent,
            packet_bytes: sent_bytes as f64 / packets_sent.max(1) as f64,
            payload_bytes: delivered as f64
                / packets_sent.saturating_sub(packets_lost).max(1) as f64,
            packets_lost,
            packets_dropped: sum(|flow| flow.lost.congestion()),
            taken_for_lost,
            spurious: match own {
                true => Some(taken_for_lost.unwrap_or(0).saturating_sub(packets_lost)),
                false => hosted(|hosted| hosted.needless),
            },
            handshake_ms: handshake.reduce(f64::max),
            completion_s,
            failed: flows
                .iter()
                .any(|flow| flow.hosted.is_some_and(|hosted| hosted.failed)),
            cpu_us_per_packet: cpu.as_secs_f64() * 1e6 / all_sent.max(1) as f64,
            ..self.nothing()
        };
        let samples = flows.first().map(|flow| flow.samples.clone());
        Played {
            run,
            measures: Some(measures),
            samples: samples.unwrap_or_default(),
        }
    }

    /// A run that showed nothing.
    fn nothing(&self) -> Run {
        let stack = self.sender.stack();
        Run {
            stack: stack.name.to_owned(),
            version: stack.version.to_owned(),
            controller: self.sender.controller.clone(),
            point: self.point.id.clone(),
            seed: self.seed,
            ..Run::default()
        }
    }

    fn panicked(&self) -> Played {
        Played {
            run: Run {
                panicked: true,
                failed: true,
                ..self.nothing()
            },
            measures: None,
            samples: Vec::new(),
        }
    }
}

/// Plays all tasks on this many threads. The results are in the order of the tasks. `done` is
/// called after each, from any thread.
///
/// # Errors
/// The first that occurred.
pub fn run_tasks(
    tasks: &[Task<'_>],
    threads: usize,
    done: impl Fn(&Played) + Sync,
) -> Result<Vec<Played>, ScenarioError> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Played, ScenarioError>>>> =
        tasks.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let index = || next.fetch_add(1, Ordering::Relaxed);
                while let Some((task, place)) = {
                    let index = index();
                    tasks.get(index).zip(results.get(index))
                } {
                    let result = task.run();
                    if let Ok(played) = &result {
                        done(played);
                    }
                    if let Ok(mut place) = place.lock() {
                        *place = Some(result);
                    }
                }
            });
        }
    });
    let all = results.into_iter();
    all.filter_map(|place| place.into_inner().ok().flatten())
        .collect()
}
