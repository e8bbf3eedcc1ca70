//! Whimbrel's congestion control algorithms on Linux TCP, without a kernel module.
//!
//! One generic congestion control, written for eBPF (`bpf/whimbrel.bpf.c`), is registered with the
//! kernel's TCP. It reports every acknowledgment, loss, timeout and undo to this process through a
//! ring buffer. A [`Controller`](whimbrel_cc::Controller) of `whimbrel-cc` answers each with a
//! window and a pacing rate, which lie in shared memory and take effect at the next
//! acknowledgment. Loss detection, retransmission and RTT measurement remain the kernel's.
//!
//! ```text
//!  kernel:  TCP -> whimbrel.bpf.c -> ring of events ---+
//!              ^                                       v
//!              +---- commands (shared memory) <- agent: one adapter and controller per connection
//! ```
//!
//! * [`Datapath`] loads the programs, registers the algorithm and chooses the connections.
//! * [`Agent`] answers events in a thread of its own, and reports what happened.
//! * [`adapter`] is the pure part: events in, commands out.
//! * [`session`] is one use from start to end, for which [`command`] runs a program. [`status`]
//!   lets other processes see the connections of running instances, and [`values`] reads what users
//!   write.
//! * [`nack`] lets the receiver of a corrupted segment say so, at both ends of a connection.
//! * [`wire`] is what kernel and process exchange; `bpf/wire.h` mirrors it.
//!
//! # What it needs
//! Linux 6.10 or newer (`cong_control` receives the acknowledgment's flags since then) with
//! CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF; CONFIG_CGROUP_BPF and a mounted
//! cgroup2 to choose connections by cgroup. The least privileges, in the initial user namespace:
//!
//! | to | capabilities |
//! |---|---|
//! | register the algorithm; any user may then choose it by `TCP_CONGESTION` | CAP_BPF, CAP_PERFMON |
//! | choose the connections of an existing cgroup; exchange NACKs | CAP_NET_ADMIN too |
//! | run a command in a new cgroup | and the right to make one, which root has |
//!
//! One clear line names what is missing and what to do.
//!
//! # Safety
//! If this process is silent for [`Options::silence`], each connection moves to the kernel's
//! algorithm [`Options::fallback`] at its next acknowledgment, and the report counts it. Everything
//! in the kernel belongs to file descriptors of this process and disappears with it, however it
//! ends. Windows and rates are clamped by the kernel's half.
//!
//! # What is not exact
//! * A window or a pacing rate applies at the next acknowledgment, not at once.
//! * If one acknowledgment reveals several losses, only the first one is located.
//! * `on_sent` is called when the next event arrives, not when the packet leaves.
//! * Algorithms that are fed bursts cannot run on TCP.

pub mod adapter;
mod agent;
mod bpf;
mod cgroup;
mod clock;
pub mod command;
mod connection;
mod datapath;
mod error;
#[cfg(test)]
mod function_tests;
#[cfg(test)]
mod hold_tests;
#[cfg(test)]
mod hostile_tests;
mod kernel_algorithms;
pub mod nack;
mod options;
mod privileges;
#[cfg(test)]
mod prr_tests;
mod record;
pub mod recording;
pub mod session;
pub mod status;
#[doc(hidden)]
pub mod testing;
pub mod values;
pub mod wire;

pub use agent::{Agent, AgentReport, Flood, NackReport};
pub use connection::{Addresses, Connection, End, MAX_DECISIONS, ReceiverClock, Sample, TcpState};
pub use datapath::{Chosen, Datapath};
pub use error::LinuxError;
pub use kernel_algorithms::kernel_algorithms;
pub use options::{Cgroup, MAX_RULES, Network, Options, Selection, Truth};
pub use record::{ClockRecord, ClockState, ConnectionRecord, Ended, TruthRecord, VerdictsRecord};
