//! The parameters, as the registry sets them.

use crate::registry::entry::{Domain, Parameter, Values};

/// A parameter that is a number.
const fn number(
    name: &'static str,
    default: f64,
    range: (f64, f64),
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        domain: Domain::Number { default, range },
        meaning,
    }
}

/// A sense that can be switched off, to measure what it is worth.
const fn sense(name: &'static str, meaning: &'static str) -> Parameter {
    Parameter {
        name,
        domain: Domain::Switch(true),
        meaning,
    }
}

/// All of them.
pub(super) const PARAMETERS: &[Parameter] = &[
    number(
        "priority",
        1.0,
        (0.01, 100.0),
        "weight of the rate among flows of this algorithm",
    ),
    number(
        "a",
        0.1,
        (0.001, 10.0),
        "queue at the fixed point: rate * delay^2 = a^2, square root of packets times seconds",
    ),
    number(
        "gain",
        0.5,
        (0.05, 1.0),
        "fraction of the way to the target window that a round trip covers",
    ),
    number(
        "drain_after",
        5.0,
        (0.5, 600.0),
        "time from one drain of the queue, which measures the base RTT, to the next, s",
    ),
    number(
        "noise_times",
        6.0,
        (0.0, 100.0),
        "a delay that the noise of the RTT may explain, times that noise",
    ),
    number(
        "own_flows",
        15.0,
        (1.0, 10_000.0),
        "flows of this algorithm that a queue may come from",
    ),
    number(
        "withstand",
        7.0,
        (1.0, 1000.0),
        "round trips after which a queue that does not yield is somebody else's",
    ),
    number(
        "clock_error",
        0.0,
        (0.0, 3600.0),
        "error of this host's clock, up to this by the connection's seed, s; above 0.1: no clock",
    ),
    sense(
        "clock",
        "drain at the same time of day as all other hosts; off: after the lowest RTT",
    ),
    sense("drain", "drain the queue to measure the base RTT"),
    sense("classify", "estimate whether a loss is congestion"),
    sense("elasticity", "compete with flows that do not yield"),
    sense("path", "take a longer path for what it is, not for a queue"),
    sense(
        "forward",
        "measure queues on the way to the receiver only, by its clock",
    ),
    sense("noise", "let the queue grow with the noise of the RTT"),
];

/// Their values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Config {
    /// a of the fixed point, weighted: the square root of packets times seconds.
    pub a: f64,
    pub gain: f64,
    pub drain_after: f64,
    /// Delay that noise may explain, as a multiple of the noise.
    pub noise_times: f64,
    /// The square root of the number of own flows that a queue may come from.
    pub own_flows: f64,
    /// Round trips.
    pub withstand: u32,
    /// Seconds.
    pub clock_error: f64,
    pub clock: bool,
    pub drain: bool,
    pub classify: bool,
    pub elasticity: bool,
    pub path: bool,
    pub noise: bool,
    pub forward: bool,
}

impl Config {
    pub fn from_values(values: &Values) -> Self {
        Self {
            a: values.number("a") * values.number("priority").sqrt(),
            gain: values.number("gain"),
            drain_after: values.number("drain_after"),
            noise_times: values.number("noise_times"),
            own_flows: values.number("own_flows").sqrt(),
            withstand: values.number("withstand") as u32,
            clock_error: values.number("clock_error"),
            clock: values.switch("clock"),
            drain: values.switch("drain"),
            classify: values.switch("classify"),
            elasticity: values.switch("elasticity"),
            path: values.switch("path"),
            noise: values.switch("noise"),
            forward: values.switch("forward"),
        }
    }
}
