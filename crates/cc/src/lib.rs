//! Congestion control algorithms. No I/O, no clock, no randomness, nothing allocated per packet:
//! each is told what happened on one path and answers with a window, and a rate if it has one.
//!
//! * [`Controller`] is what an algorithm is: one flow's (or one path's) window law.
//! * [`LossDiscriminator`] is what tells a random loss from congestion; [`Discriminate`] puts one on
//!   any window law.
//! * [`registry`] is the table of all of them: name, citation, parameters, constructor.
//!
//! The transport owns recovery: which packet to resend, when an episode of loss begins and ends, how
//! many packets are in flight. No algorithm counts duplicate ACKs.
//!
//! To add an algorithm: one file with its citation, its equations and an
//! [`Entry`](registry::Entry), and one line in [`registry::ALL`].

mod aatp;
mod aimd;
mod bbr;
mod bbr3;
mod bic;
mod burst;
mod cerl;
mod cerl_plus;
mod cerl_plus_printed;
mod code;
mod compound;
mod controller;
mod copa;
mod cubic;
mod delivered_rate;
pub mod delivery_rate;
mod discriminator;
mod dtcp;
mod event;
pub mod fairness;
mod fast;
mod highspeed;
mod hybla;
mod hystart;
mod illinois;
mod jitter;
mod jtcp;
mod lia;
mod mveno;
mod newjersey;
mod newjersey_plus;
mod newreno;
mod path_change;
pub mod registry;
mod reno;
mod round_rtt;
mod rta;
mod rtt_samples;
mod rtt_step;
mod rule;
mod scalable;
mod sctp;
mod splitmix;
mod tahoe;
mod tcp_nack;
#[cfg(test)]
mod testing;
mod three_samples;
mod vegas;
mod veno;
mod verus;
mod westwood;
mod westwood_plus;
mod window;
mod windowed;
mod yeah;

pub use burst::{Bandwidth, BurstPlan, BurstReport, Share, Spans};
pub use cerl::Cerl;
pub use controller::{Asks, Controller, FastRecovery, LossResponse};
pub use copa::Copa;
pub use cubic::{Cubic, CubicConfig};
pub use discriminator::{Discriminate, LossDiscriminator, Verdict};
pub use event::{Ack, AtSending, Loss, LostPacket, Sibling, Signal, Timeout};
pub use registry::{Setup, Spec};
