//! The model of a link: rate, queue, loss, corruption, outages and delay.
//!
//! There are three kinds of link. None depends on a simulator or on sockets: the same code runs in
//! virtual time (the simulator) and in real time (the link emulator). Each drop carries its
//! [`DropCause`], so that a loss classifier can be judged against it.
//!
//! A [`Link`] is one direction. Given the time and a packet's size, it returns at once when the
//! packet comes out at the far end, or why it is lost. A packet passes, in this order:
//! 1. the **queue**: the packet is dropped on arrival if the queue is full; queue management
//!    ([`Aqm`]) may drop or mark it earlier
//! 2. the **service**: first in, first out, at the link's rate, by the opportunities of a trace, or
//!    by a radio ([`Wireless`]), which may also lose or corrupt the packet
//! 3. **outages** and **random loss**: independent, in bursts ([`GilbertElliott`]), or at set
//!    instants. A packet lost here has used the link's capacity.
//! 4. **corruption**: the packet is delivered with the number of its first changed bit; the
//!    receiver decides what to do
//! 5. the [`Delay`] in force when its last bit left: propagation, which may let packets overtake
//!    each other
//!
//! A [`CodelLink`] is the same with a queue managed by CoDel. There a packet's fate depends on
//! later arrivals, so the link reports it afterwards. A [`FqCodelLink`] has such a queue for each
//! flow.
//!
//! A [`Wifi`] is both directions of an IEEE 802.11n link, whose two stations share one channel.
//! Each station has a queue. When a packet leaves depends on what the other station sends, so the
//! link reports it afterwards, as a [`Departure`]. Frames that collide, are lost on the air or fall
//! into an outage are retransmitted until the retry limit. Packets that pass meet random loss,
//! corruption and delay as above.
//!
//! [`RandomOutages`] draws outages at random times for all kinds. [`LowOrbit`] draws rate and delay
//! of a path over low-orbit satellites, and [`PathStatistics`] computes the statistics of such a
//! path. [`Cellular`] draws the capacity of a cellular path in both directions;
//! [`Trace::statistics`] says what a capacity trace is like.

mod aqm;
mod bit_errors;
mod cellular;
mod chance;
mod codel_link;
mod counters;
mod delay;
mod exit;
mod fq_codel_link;
mod gilbert_elliott;
mod impairment;
mod link;
mod low_orbit;
mod noise;
mod outages;
mod path_statistics;
mod queue;
mod ring;
mod schedule;
mod served;
mod service;
mod spec;
mod streams;
mod trace;
mod wifi;
mod wireless;

pub use aqm::{Aqm, AqmSetting, CoDel, FqCodel, Mark, Policer, QueueUnit, Red};
pub use cellular::{Cellular, CellularPath};
pub use codel_link::CodelLink;
pub use counters::{Backlog, Counters, Fate};
pub use delay::{Delay, DelayTrace};
pub use fq_codel_link::{FlowFate, FqCodelLink};
pub use gilbert_elliott::GilbertElliott;
pub use link::Link;
pub use low_orbit::{LowOrbit, LowOrbitDirection, LowOrbitPath};
pub use noise::{Distribution as JitterDistribution, Noise};
pub use outages::{RandomOutages, RandomOutagesError};
pub use path_statistics::{PathStatistics, Quantiles};
pub use queue::Queue;
pub use ring::Ring;
pub use schedule::Schedule;
pub use spec::{DropCause, LinkSpec, LossSpec, Outage, QueueLimit, ServiceSpec};
pub use trace::{STALL, Trace, TraceError, TraceFormat, TraceStatistics, WINDOW};
pub use wifi::{Aggregation, AirCounters, Departure, HtMode, NoSuchRate, Side, Wifi, WifiSpec};
pub use wireless::{AckTimeout, Channelization, Mode, RadioRate, Standard, Wireless, WirelessSpec};
