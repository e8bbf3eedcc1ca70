//! A path as the families describe it: links, flows, and what the flows under test should achieve.

use whimbrel_net::{Schedule, ServiceSpec};
use whimbrel_rank::{Aim, Class, MatrixPoint};
use whimbrel_sim::scenario::document::Value;
use whimbrel_sim::scenario::{
    DrawnTime, Flow, FlowRoute, Link, Run, ScenarioError, ScenarioSpec, Span, Written,
};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

/// The algorithm that files name for flows under test, which take the one that is scored.
const PLACEHOLDER: &str = "cubic";

/// A point without its name and claim.
#[derive(Debug)]
pub struct Draft {
    pub class: Class,
    pub aim: Aim,
    /// The base RTT.
    pub rtt: Duration,
    pub links: Vec<Link>,
    pub groups: Vec<Group>,
    /// Of a run.
    pub duration: Duration,
    /// The interval of time series, where the score needs them.
    pub sample: Option<Duration>,
}

/// Equal flows.
#[derive(Debug)]
pub struct Group {
    /// Their name in the file.
    pub name: String,
    /// `None`: they are under test.
    pub controller: Option<&'static str>,
    /// Their number.
    pub count: f64,
    /// The links that data passes, by their indices.
    pub route: Vec<usize>,
    /// Those that acknowledgments pass; `None`: the mirrored route.
    pub back: Option<Vec<usize>>,
    /// `None`: they start at once.
    pub start: Option<DrawnTime>,
    /// `None`: they are endless.
    pub size: Option<Bytes>,
}

impl Draft {
    /// The point.
    ///
    /// # Errors
    /// If the scenario has a mistake.
    pub fn point(&self, id: &str, claim: &str) -> Result<MatrixPoint, ScenarioError> {
        let tested = self.groups.iter().filter(|one| one.controller.is_none());
        let tested: Vec<&str> = tested.map(|one| one.name.as_str()).collect();
        let flows = self.groups.iter().map(Group::flow);
        let run = Run {
            duration: Written::of("duration", self.duration),
            sample: self.sample,
            ..Run::default()
        };
        let flows = flows.collect::<Result<_, _>>()?;
        let spec = ScenarioSpec::new(self.links.clone(), flows, run);
        let rtt = Written::of("rtt", self.rtt);
        MatrixPoint::new(id, self.class, claim, self.aim, &rtt, &tested, spec)
    }
}

impl Group {
    /// One endless flow under test.
    pub fn tested(route: Vec<usize>) -> Self {
        Self {
            name: "t".to_owned(),
            controller: None,
            count: 1.0,
            route,
            back: None,
            start: None,
            size: None,
        }
    }

    /// One endless flow of another algorithm.
    pub fn other(name: impl Into<String>, controller: &'static str, route: Vec<usize>) -> Self {
        Self {
            name: name.into(),
            controller: Some(controller),
            ..Self::tested(route)
        }
    }

    fn flow(&self) -> Result<Flow, ScenarioError> {
        let controller = self.controller.unwrap_or(PLACEHOLDER);
        let mut flow = Flow::new(Written::parse("controller", controller)?);
        flow.name = Some(self.name.clone());
        flow.count = Written::of("count", self.count as u32);
        let through = |links: &Vec<usize>| FlowRoute::through(links.iter().copied());
        let route = FlowRoute {
            back: self.back.as_ref().map(|links| through(links).forward),
            ..through(&self.route)
        };
        flow.routes = flow.routes.with(vec![route]);
        flow.start = self.start.map(|start| Written::of("start", start));
        if let Some(data) = flow.data_mut() {
            data.size = self.size.map(|size| Written::of("size", size));
        }
        Ok(flow)
    }
}

/// A rate in Mbit/s, to the bit.
pub fn mbps(rate: f64) -> Rate {
    Rate::from_bits_per_sec((rate * 1e6).round() as u64)
}

/// A time in milliseconds, to the nanosecond.
pub fn ms(time: f64) -> Duration {
    Duration::from_nanos((time * 1e6).round() as u64)
}

/// A time in seconds, to the nanosecond.
pub fn seconds(time: f64) -> Duration {
    Duration::from_secs_f64(time)
}

/// An amount of data in kB, to the byte.
pub fn kilobytes(size: f64) -> Bytes {
    Bytes::new((size * 1e3).round() as u64)
}

/// A fraction in percent.
pub fn percent(part: f64) -> Probability {
    Probability::new(part / 100.0).unwrap_or_default()
}

/// A constant rate of a link.
pub fn constant(rate: Rate) -> Written<ServiceSpec> {
    Written::of("rate", rate).with(ServiceSpec::Rate(Schedule::constant(rate)))
}

/// A rate of a link in steps: when each begins, and its rate.
pub fn in_steps(steps: Vec<(Duration, Rate)>) -> Result<Written<ServiceSpec>, ScenarioError> {
    let steps = steps.into_iter();
    let steps = steps.map(|(begin, rate)| (Time::ZERO + begin, rate));
    let schedule = Schedule::steps(steps.collect());
    let schedule = schedule.map_err(|why| Span::named("rate").fail(why))?;
    let source = Value::from(&schedule);
    Ok(Written::new("rate", ServiceSpec::Rate(schedule), source))
}
