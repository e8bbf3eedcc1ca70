//! Formulas for throughput under random loss, and the simulator on the same path.

mod text;

pub use text::{figure, text};

use crate::runs::run_all;
use crate::{BadInput, Error, Observer};
use serde::Serialize;
use std::num::NonZeroUsize;
use whimbrel_cc::Spec;
pub use whimbrel_model::MODELLED;
use whimbrel_model::{
    Acks, Formula, Losses, ModelError, ModelPath, Modelled, Sender, mathis, pftk,
};
use whimbrel_net::{Queue, QueueLimit};
use whimbrel_sim::Recovery;
use whimbrel_sim::scenario::document::Value;
use whimbrel_sim::scenario::{
    Axis, Direction, Flow, Link, Loss, Run as RunSpec, Scenario, ScenarioSpec, Settings, Written,
    constant_rate, half_of,
};
use whimbrel_sim::sweep::{self, Run};
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// A path, and the packet error probabilities at which it is computed and simulated.
#[derive(Debug, Clone)]
pub struct Request {
    /// Rate of the link.
    pub rate: Written<Rate>,
    /// Round-trip propagation delay, without the transmission time of a packet.
    pub rtt: Written<Duration>,
    /// Payload of a packet.
    pub mss: Bytes,
    /// Headers of a packet.
    pub header: Bytes,
    /// Buffer size in packets; `None`: as many as the link holds.
    pub buffer: Option<u64>,
    /// Minimum retransmission timeout, which is the first timeout in PFTK.
    pub min_rto: Duration,
    /// Minimum packet error probability.
    pub from: Probability,
    /// Maximum packet error probability.
    pub to: Probability,
    /// Number of probabilities, spaced by a constant factor.
    pub points: u32,
    /// Number of simulated runs of each point; 0: formulas only.
    pub seeds: u32,
    /// Length of a run.
    pub duration: Written<Duration>,
    /// How the simulated senders detect lost data.
    pub recovery: Recovery,
    /// Number of threads; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
}

/// All results.
#[derive(Debug, Clone, Serialize)]
pub struct Results {
    /// The path.
    pub path: PathFacts,
    /// Each controller at each packet error probability.
    pub points: Vec<Point>,
}

/// The path, in base units.
#[derive(Debug, Clone, Serialize)]
pub struct PathFacts {
    /// Rate of the link.
    pub rate_bps: u64,
    /// Base RTT with the transmission time of a packet.
    pub rtt_s: f64,
    /// Size of a packet.
    pub packet_bytes: u64,
    /// Payload that the link carries.
    pub payload_bps: f64,
    /// Packets that the link holds.
    pub pipe_packets: u64,
    /// Packets that its buffer holds.
    pub buffer_packets: u64,
    /// Minimum retransmission timeout.
    pub min_rto_s: f64,
    /// How the simulated senders detect lost data.
    pub recovery: &'static str,
    /// Length of a run.
    pub duration_s: f64,
}

/// One controller at one packet error probability; fractions of the capacity of the link.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    /// The controller.
    pub controller: &'static str,
    /// The packet error probability.
    pub packet_error: f64,
    /// One value for each seed.
    pub simulated: Vec<f64>,
    /// Long-run delivery of the chain.
    pub chain: f64,
    /// The same with the data that was in flight after lost packets.
    pub with_flight: f64,
    /// Equation (15) or (16).
    pub equation: f64,
    /// Padhye and others; only for Reno without NACK.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pftk: Option<f64>,
    /// Mathis and others; only for Reno without NACK.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mathis: Option<f64>,
}

impl Request {
    /// Computes all models, and runs the simulator.
    ///
    /// # Errors
    /// If the path is outside the models, the observer stops it, or threads cannot be started.
    pub fn run(&self, observer: &dyn Observer) -> Result<Results, Error> {
        let errors = self.errors()?;
        let packet = self.packet();
        let path = ModelPath::new(self.rate.value, self.rtt.value, packet, self.buffer());
        let path = path.map_err(BadInput::new)?;
        let mut points = Vec::new();
        observer.begin((MODELLED.len() * errors.len()) as f64, "solved");
        for modelled in &MODELLED {
            for error in &errors {
                let point = self.predict(&path, modelled, error.value);
                points.push(point.map_err(BadInput::new)?);
                if observer.done(1.0).is_break() {
                    return Err(Error::Stopped);
                }
            }
        }
        if self.seeds > 0 {
            self.simulate(&mut points, observer)?;
        }
        let rate = self.rate.value.as_bits_per_sec();
        let path = PathFacts {
            rate_bps: rate,
            rtt_s: path.rtt(),
            packet_bytes: packet.get(),
            payload_bps: rate as f64 * self.mss.get() as f64 / packet.get() as f64,
            pipe_packets: path.pipe(),
            buffer_packets: self.buffer(),
            min_rto_s: self.min_rto.as_secs_f64(),
            recovery: self.recovery.name(),
            duration_s: self.duration.value.as_secs_f64(),
        };
        Ok(Results { path, points })
    }

    /// The scenario of the simulation.
    ///
    /// # Errors
    /// If a value is wrong.
    pub fn scenario(&self) -> Result<ScenarioSpec, Error> {
        let mut link = Link::new("L");
        let buffer = u32::try_from(self.buffer()).unwrap_or(u32::MAX);
        let buffer = Queue::Fixed(QueueLimit::Packets(buffer));
        let none = Value::table([("corrupt", "0 %".into())]);
        link.forward = Direction {
            rate: Some(constant_rate(&self.rate)?),
            delay: Some(half_of(&self.rtt)),
            queue: Some(Written::of("buffer", buffer)),
            aqm: None,
            loss: Some(Written::new("from", Loss::default(), none)),
        };
        let mut settings = Settings::default();
        settings.tcp.recovery = self.recovery;
        settings.tcp.mss = self.mss;
        settings.tcp.header = self.header;
        settings.tcp.min_rto = self.min_rto;
        // As in the models.
        settings.tcp.ack_every = 1;
        let run = RunSpec {
            duration: self.duration.clone(),
            // Formulas alone need no seeds, but a scenario does.
            seeds: RunSpec::seeds(&Written::of("seeds", self.seeds.max(1)))?,
            settings,
            ..RunSpec::default()
        };
        let controllers = MODELLED.map(|one| Written::parse("controller", one.controller));
        let controllers: Vec<Written<Spec>> = controllers.into_iter().collect::<Result<_, _>>()?;
        let flow = Flow::new(controllers[0].clone());
        let mut spec = ScenarioSpec::on(link, vec![flow], run);
        spec.sweep.push(Axis::new(
            "flow.controller",
            &controllers,
            |spec, controller| {
                if let Some(data) = spec.flows.first_mut().and_then(Flow::data_mut) {
                    data.controller = controller;
                }
            },
        ));
        let errors = self.errors()?;
        spec.sweep
            .push(Axis::new("link.L.loss.corrupt", &errors, |spec, error| {
                let corrupt = Loss {
                    corrupt: error.value,
                    ..Loss::default()
                };
                spec.links[0].forward.loss = Some(error.with(corrupt));
            }));
        Ok(spec)
    }

    fn packet(&self) -> Bytes {
        self.mss.saturating_add(self.header)
    }

    /// The buffer size in packets; by default, as many as the link holds.
    fn buffer(&self) -> u64 {
        self.buffer.unwrap_or_else(|| {
            let under_way = self.rate.value.bytes_in(self.rtt.value).get();
            under_way / self.packet().get().max(1) + 1
        })
    }

    /// The probabilities, rounded to three digits so that the printed values are the simulated
    /// ones.
    fn errors(&self) -> Result<Vec<Written<Probability>>, BadInput> {
        let (from, to) = (self.from.get(), self.to.get());
        if from <= 0.0 || to >= 1.0 || from > to {
            return Err(BadInput::new(
                "packet error probabilities must be between 0 % and 100 %, and the first one not \
                 above the last one",
            ));
        }
        let steps = f64::from(self.points.max(2) - 1);
        let share = |i: u32| from * (to / from).powf(f64::from(i) / steps);
        let rounded = |i| format!("{:.2e}", share(i)).parse::<f64>();
        let rounded = (0..self.points).filter_map(|i| rounded(i).ok());
        let written = |share| {
            let error = Probability::new(share).map_err(BadInput::new)?;
            Ok(Written::new("from", error, error.to_string()))
        };
        rounded.map(written).collect()
    }

    /// Goodput as a fraction of the payload that the link carries, for each seed.
    fn simulate(&self, points: &mut [Point], observer: &dyn Observer) -> Result<(), Error> {
        let scenario = Scenario::new(&self.scenario()?)?;
        let runs = run_all(&sweep::jobs(scenario.points()), self.threads, observer)?;
        let payload = self.mss.get() as f64 / self.packet().get() as f64;
        let capacity = self.rate.value.as_bits_per_sec() as f64 * payload;
        let share = |run: &Run<'_>| run.outcome.goodput().as_bits_per_sec() as f64 / capacity;
        // Both are in the order of the sweep, where the last key varies fastest.
        for (point, runs) in points.iter_mut().zip(runs.chunks(self.seeds as usize)) {
            point.simulated = runs.iter().map(share).collect();
        }
        Ok(())
    }

    fn predict(
        &self,
        path: &ModelPath,
        modelled: &Modelled,
        p: Probability,
    ) -> Result<Point, ModelError> {
        // The probability that a changed bit is in the headers is their fraction of the packet.
        let struck = self.header.get() as f64 / self.packet().get() as f64;
        let struck = Probability::new(struck).unwrap_or_default();
        let solve = |unreported| modelled.solve(path, unreported, p);
        let equation = solve(Probability::ZERO)?.mean_of_cycles;
        let solution = solve(struck)?;
        let of_reno = modelled.formula == Formula::Reno && !modelled.nacks;
        let share = |rate: f64| (rate / path.packets_per_second()).min(1.0);
        let sender = Sender {
            rtt: path.rtt(),
            first_timeout: self.min_rto.as_secs_f64(),
            packets_per_ack: 1.0,
            max_window: path.max_window() as f64,
        };
        let mathis = || mathis(path.rtt(), p, Acks::Every, Losses::Random);
        Ok(Point {
            controller: modelled.controller,
            packet_error: p.get(),
            simulated: Vec::new(),
            chain: solution.long_run,
            with_flight: solution.with_flight,
            equation,
            pftk: of_reno.then(|| share(pftk(&sender, p))),
            mathis: of_reno.then(|| share(mathis())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;

    /// The point of a controller at 1 % with so many bytes of headers in packets of 1500.
    fn point(controller: &str, header: u64) -> Point {
        let one = Probability::new(0.01).expect("a probability");
        let request = Request {
            rate: Written::of("rate", Rate::from_bits_per_sec(5_000_000)),
            rtt: Written::of("rtt", Duration::from_millis(70)),
            mss: Bytes::new(1500 - header),
            header: Bytes::new(header),
            buffer: None,
            min_rto: Duration::from_millis(200),
            from: one,
            to: one,
            points: 1,
            seeds: 0,
            duration: Written::of("time", Duration::from_secs(1)),
            recovery: Settings::default().tcp.recovery,
            threads: None,
        };
        let results = request.run(&Unobserved).expect("results");
        assert_eq!(
            (results.path.packet_bytes, results.path.pipe_packets),
            (1500, 30)
        );
        let mut points = results.points.into_iter();
        points
            .find(|point| point.controller == controller)
            .expect(controller)
    }

    #[test]
    fn no_nack_can_be_sent_for_a_packet_whose_headers_are_corrupted() {
        let (few, many) = (point("tcp-nack", 40), point("tcp-nack", 400));
        assert!(
            many.chain < 0.95 * few.chain,
            "{} {}",
            many.chain,
            few.chain
        );
        // The paper's equation does not know of it, and without NACKs it makes no difference.
        assert_eq!(many.equation, few.equation);
        assert_eq!(point("reno", 40).chain, point("reno", 400).chain);
        assert!(few.pftk.is_none() && point("reno", 40).pftk.is_some());
    }
}
