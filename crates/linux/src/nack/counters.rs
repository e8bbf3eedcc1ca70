//! What the programs at both ends have counted.

use crate::bpf::object::Object;
use crate::error::LinuxError;
use serde::Serialize;

/// What the receiver's program has counted, TCP segments all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ReceiverCounters {
    /// With the right checksum.
    pub intact: u64,
    /// With a wrong one. The following ones but `offloaded` and `unverified` are parts of it.
    pub corrupted: u64,
    /// Whose checksum is not computed yet (a veth device's peer with checksum offload), or no
    /// longer there (merged by GRO). If nearly all are, NACKs do nothing on this device.
    pub offloaded: u64,
    /// That cannot be verified: options of IPv4, fragments, larger than a jumbo frame.
    pub unverified: u64,
    /// Corrupted packets without data, or that open, close or reset a connection.
    pub no_data: u64,
    /// Corrupted segments of no connection of this host.
    pub unknown: u64,
    /// Corrupted segments whose headers do not agree with the connection.
    pub implausible: u64,
    /// Corrupted segments that exceeded the allowance.
    pub limited: u64,
    /// Corrupted segments that were answered with a NACK.
    pub nacked: u64,
}

/// What the sender's program has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SenderCounters {
    /// NACKs that were passed on to the connection's rules.
    pub passed_on: u64,
    /// NACKs with a wrong checksum, or without the connection's timestamps.
    pub malformed: u64,
    /// NACKs that the kernel's state of the connection refutes.
    pub refuted: u64,
    /// NACKs that exceeded the allowance.
    pub limited: u64,
    /// NACKs that were lost because this process did not read them in time.
    pub lost: u64,
    /// NACKs of no connection of this host; they were left alone.
    pub transit: u64,
}

impl ReceiverCounters {
    pub(super) fn read(object: &Object) -> Result<Self, LinuxError> {
        let [
            intact,
            corrupted,
            offloaded,
            unverified,
            no_data,
            unknown,
            implausible,
            limited,
            nacked,
        ] = read(object)?;
        Ok(Self {
            intact,
            corrupted,
            offloaded,
            unverified,
            no_data,
            unknown,
            implausible,
            limited,
            nacked,
        })
    }

    /// Whether nearly no segment has a checksum to verify: then the sender's device, or a device on
    /// the way, leaves checksums to the hardware, and no NACK can be sent.
    pub fn nothing_to_verify(&self) -> bool {
        self.offloaded > 100 && self.offloaded / 20 > self.intact + self.corrupted
    }
}

impl SenderCounters {
    pub(super) fn read(object: &Object) -> Result<Self, LinuxError> {
        let [passed_on, malformed, refuted, limited, lost, transit] = read(object)?;
        Ok(Self {
            passed_on,
            malformed,
            refuted,
            limited,
            lost,
            transit,
        })
    }
}

/// Reads the map `counters`, which has `N` elements.
fn read<const N: usize>(object: &Object) -> Result<[u64; N], LinuxError> {
    let map = object.map("counters")?;
    let mut values = [0; N];
    for (index, value) in (0..).zip(&mut values) {
        let bytes = map
            .get(index)
            .map_err(LinuxError::os("reading the counters of NACKs"))?;
        *value = bytes
            .first_chunk()
            .map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    }
    Ok(values)
}
