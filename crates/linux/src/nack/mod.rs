//! Negative acknowledgments (NACKs) on real devices: the receiver of a corrupted segment names it,
//! and the sender does not take it for a sign of congestion. `docs/tcp-nack.md` states the protocol
//! and compares it with the paper.
//!
//! ```text
//!  receiver:  device -> XDP: nack_receiver.bpf.c -> TCP
//!                        |  a corrupted segment becomes a NACK
//!  sender:    device -> traffic control: nack_sender.bpf.c -> TCP
//!                        |  a NACK goes into a ring
//!                        v
//!                      Nacks: rules of one connection -> its losses are excused
//! ```
//!
//! * [`NackReceiver`] and [`NackSender`] attach the programs to network interfaces, until they are
//!   dropped or the process ends.
//! * [`Nacks`] is pure: it judges NACKs and losses by the events of the connection.
//!
//! `bpf/nack.h` describes a NACK as a packet. TCP at an end without these programs ignores it.

mod counters;
mod devices;
mod rules;
mod sent;

pub use counters::{ReceiverCounters, SenderCounters};
pub use rules::{NackCounts, Nacks};

use crate::bpf::link::Link;
use crate::bpf::object::{Kind, Object, Program};
use crate::bpf::ring::Ring;
use crate::error::LinuxError;
use crate::privileges::{self, Capability};
use crate::wire::Nack;
use devices::Device;
use std::os::fd::{AsFd, BorrowedFd};

/// The compiled `bpf/nack_receiver.bpf.c`.
const RECEIVER: &[u8] = include_bytes!("../../bpf/objects/nack_receiver.bpf.o");
/// The compiled `bpf/nack_sender.bpf.c`.
const SENDER: &[u8] = include_bytes!("../../bpf/objects/nack_sender.bpf.o");

/// Whether sequence number `a` is before `b`.
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Answers corrupted segments that arrive at network interfaces, until it is dropped.
#[derive(Debug)]
pub struct NackReceiver {
    // Dropped first.
    _links: Vec<Link>,
    object: Object,
    devices: Vec<String>,
}

impl NackReceiver {
    /// Attaches to the devices with these names; without names, to all that are up but the
    /// loopback.
    ///
    /// # Errors
    /// If a device does not exist or has another XDP program, or a privilege or an option of the
    /// kernel is missing.
    pub fn attach(devices: &[String]) -> Result<Self, LinuxError> {
        privileges::check(&Capability::ATTACH)?;
        let devices = devices::find(devices)?;
        let object = Object::load(RECEIVER, &[])?;
        let load = |needed: bool, name| {
            let wanted = needed.then(|| object.program(name, Kind::Xdp));
            wanted.transpose()
        };
        let is_ethernet = |device: &Device| device.ethernet;
        let ethernet = load(devices.iter().any(is_ethernet), "nack_ethernet")?;
        let ip = load(!devices.iter().all(is_ethernet), "nack_ip")?;
        let attach = |device: &Device| {
            let program: Option<&Program> = if device.ethernet { &ethernet } else { &ip }.as_ref();
            program.map(|program| {
                Link::xdp(program, device.index).map_err(|error| in_use(error, &device.name))
            })
        };
        let links = devices
            .iter()
            .filter_map(attach)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            _links: links,
            object,
            devices: names(devices),
        })
    }

    /// What the program has counted.
    ///
    /// # Errors
    /// If the kernel refuses to tell.
    pub fn counters(&self) -> Result<ReceiverCounters, LinuxError> {
        ReceiverCounters::read(&self.object)
    }

    /// The names of the devices.
    pub fn devices(&self) -> &[String] {
        &self.devices
    }
}

/// Takes NACKs that arrive at network interfaces away from TCP, until it is dropped.
#[derive(Debug)]
pub struct NackSender {
    // Dropped first.
    _links: Vec<Link>,
    ring: Ring,
    object: Object,
    devices: Vec<String>,
}

impl NackSender {
    /// Attaches to the devices with these names; without names, to all that are up but the
    /// loopback.
    ///
    /// # Errors
    /// If a device does not exist, or a privilege or an option of the kernel is missing.
    pub fn attach(devices: &[String]) -> Result<Self, LinuxError> {
        privileges::check(&Capability::ATTACH)?;
        let devices = devices::find(devices)?;
        let object = Object::load(SENDER, &[])?;
        let ring = Ring::new(object.map("nacks")?)?;
        let program = object.program("nack_sender", Kind::Classifier)?;
        let links = devices
            .iter()
            .map(|device| Link::ingress(&program, device.index))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            _links: links,
            ring,
            object,
            devices: names(devices),
        })
    }

    /// Passes each NACK that has arrived to `take`, oldest first, and returns their number. To be
    /// called before the connections' events are read: a NACK must be known when the loss that it
    /// excuses is.
    pub fn consume(&mut self, mut take: impl FnMut(&Nack)) -> usize {
        self.ring.consume(|record| {
            if let Some(nack) = parse(record) {
                take(&nack);
            }
        })
    }

    /// What the program has counted.
    ///
    /// # Errors
    /// If the kernel refuses to tell.
    pub fn counters(&self) -> Result<SenderCounters, LinuxError> {
        SenderCounters::read(&self.object)
    }

    /// The names of the devices.
    pub fn devices(&self) -> &[String] {
        &self.devices
    }
}

/// Readable when NACKs wait.
impl AsFd for NackSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

fn names(devices: Vec<Device>) -> Vec<String> {
    devices.into_iter().map(|device| device.name).collect()
}

/// A device has one XDP program.
fn in_use(error: LinuxError, device: &str) -> LinuxError {
    match error {
        LinuxError::Os { error, .. } if error.raw_os_error() == Some(libc::EBUSY) => {
            LinuxError::System(format!(
                "the network interface `{device}` has another XDP program already: \
                 `ip link show {device}` names it"
            ))
        }
        other => other,
    }
}

/// A record of the ring.
fn parse(record: &[u8]) -> Option<Nack> {
    let bytes = record.get(..size_of::<Nack>())?;
    let (time, bytes) = bytes.split_first_chunk()?;
    let (local, bytes) = bytes.split_first_chunk()?;
    let (remote, bytes) = bytes.split_first_chunk()?;
    let (local_port, bytes) = bytes.split_first_chunk()?;
    let (remote_port, bytes) = bytes.split_first_chunk()?;
    let (seq, bytes) = bytes.split_first_chunk()?;
    let (echo, bytes) = bytes.split_first_chunk()?;
    let (timestamps, _) = bytes.split_first_chunk()?;
    Some(Nack {
        time: u64::from_ne_bytes(*time),
        local: *local,
        remote: *remote,
        local_port: u16::from_ne_bytes(*local_port),
        remote_port: u16::from_ne_bytes(*remote_port),
        seq: u32::from_ne_bytes(*seq),
        echo: u32::from_ne_bytes(*echo),
        timestamps: u32::from_ne_bytes(*timestamps),
    })
}

#[cfg(test)]
mod programs;
