//! Words shared by the tests.
#![allow(dead_code)]

use whimbrel_net::{Fate, Link, LinkSpec, Schedule, ServiceSpec};
use whimbrel_units::{Probability, Rate, Time};

pub fn us(n: u64) -> Time {
    Time::from_nanos(n * 1_000)
}

pub fn ms(n: u64) -> Time {
    us(n * 1_000)
}

pub fn mbit(n: u64) -> Rate {
    Rate::from_bits_per_sec(n * 1_000_000)
}

pub fn percent(n: f64) -> Probability {
    Probability::new(n / 100.0).expect("a percentage")
}

/// A link that only serves: no delay, no loss, no limit to its queue.
pub fn serving(service: ServiceSpec) -> LinkSpec {
    LinkSpec {
        service,
        ..LinkSpec::default()
    }
}

pub fn at_rate(rate: Rate) -> LinkSpec {
    serving(ServiceSpec::Rate(Schedule::constant(rate)))
}

/// When the packet comes out; fails the test if it does not.
pub fn delivered(link: &mut Link, now: Time, size: u32) -> Time {
    match link.offer(now, size, true) {
        Fate::Delivered { at, .. } => at,
        Fate::Dropped(cause) => panic!("dropped: {cause:?}"),
    }
}
