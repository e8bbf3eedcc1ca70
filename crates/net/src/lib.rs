//! What happens to packets on a link: rate, queue, loss, corruption, outage, delay; and on Wi-Fi the other direction.
//!
//! There are three kinds of link, and none knows a simulator or sockets. The same code serves virtual time (the
//! simulator) and real time (the link emulator). The [`DropCause`] travels with each drop, so that whoever guesses
//! the cause can be judged against the truth.
//!
//! A [`Link`] is one direction by itself. It is told the time and a packet's size, and says at once when the packet
//! comes out at the far end, or why it does not. A packet goes through, in this order:
//! 1. the **queue**: dropped on arrival if the packets that wait leave no room; if it is managed ([`Aqm`]), perhaps dropped
//!    or marked before that;
//! 2. the **service**: first in, first out, at the link's rate, by the opportunities of a trace, or by a radio ([`Wireless`]), which
//!    also loses or corrupts;
//! 3. the **outages** and **random loss**, singly, in the bursts of a [`GilbertElliott`] channel, or at set instants: a packet
//!    lost here has used the link's capacity, as one that a radio sent and nobody understood;
//! 4. **corruption**: marked, not dropped, with the first bit that was changed; what a receiver makes of it is the
//!    receiver's business;
//! 5. the [`Delay`] in force when its last bit left: propagation, which may let packets overtake each other.
//!
//! A [`CodelLink`] is the same with a queue that CoDel manages. What becomes of a packet there depends on what arrives after
//! it, so it says so afterwards.
//!
//! A [`Wifi`] is both directions of an IEEE 802.11n link, whose two stations share one channel: each has a queue,
//! but when a packet leaves it depends on what the other one sends, so it says so afterwards, as a [`Departure`].
//! Frames that collide, are lost on the air or fall into an outage are sent again until their tries are used up.
//! What passes meets random loss, corruption and delay as above.
//!
//! [`RandomOutages`] draws outages at random times for either.

mod aqm;
mod bit_errors;
mod codel_link;
mod delay;
mod exit;
mod gilbert_elliott;
mod impairment;
mod link;
mod low_orbit;
mod outages;
mod path_statistics;
mod queue;
mod schedule;
mod service;
mod spec;
mod trace;
mod wifi;
mod wireless;

pub use aqm::{Aqm, AqmSetting, CoDel, Mark, QueueUnit, Red};
pub use codel_link::CodelLink;
pub use delay::{Delay, DelayTrace};
pub use gilbert_elliott::GilbertElliott;
pub use link::{Backlog, Counters, Fate, Link};
pub use low_orbit::{LowOrbit, LowOrbitDirection, LowOrbitPath};
pub use outages::{RandomOutages, RandomOutagesError};
pub use path_statistics::{PathStatistics, Quantiles};
pub use queue::Queue;
pub use schedule::Schedule;
pub use spec::{DropCause, LinkSpec, LossSpec, Outage, QueueLimit, ServiceSpec};
pub use trace::{Trace, TraceError};
pub use wifi::{Aggregation, AirCounters, Departure, HtMode, NoSuchRate, Side, Wifi, WifiSpec};
pub use wireless::{AckTimeout, Channelization, Mode, RadioRate, Standard, Wireless, WirelessSpec};
