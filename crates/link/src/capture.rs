//! A capture of both ends as pcapng (draft-ietf-opsawg-pcapng): what `tcpdump` at each end would
//! see, with one clock for both.

use crate::log_file::LogFile;
use crate::{LossCause, MTU, Observer};
use pcap_file::pcapng::PcapNgBlock;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use whimbrel_net::Side;
use whimbrel_units::Time;

/// Time stamps in nanoseconds.
const NANOSECONDS: u8 = 9;
/// Directions of the option `epb_flags`.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// The interfaces, in their order.
const ENDS: [&str; 2] = ["near", "far"];

/// Writes each packet that an end sends or gets to a file.
pub struct Capture {
    /// When the path began, since 1970.
    began: std::time::Duration,
    out: Mutex<LogFile<PcapNgWriter<BufWriter<File>>>>,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").finish_non_exhaustive()
    }
}

impl Capture {
    /// Writes to this file, which is empty.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(file: File) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, file);
        let mut writer = PcapNgWriter::new(file).map_err(io_error)?;
        for end in ENDS {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::RAW,
                snaplen: MTU,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(end)),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            };
            writer.write_pcapng_block(interface).map_err(io_error)?;
        }
        let out = Mutex::new(LogFile::new(writer));
        let began = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Self {
            began: began.unwrap_or_default(),
            out,
        })
    }

    fn write(&self, at: Time, end: usize, flag: u32, packet: &[u8]) {
        let block = EnhancedPacketBlock {
            interface_id: end as u32,
            timestamp: self.began + at.since(Time::ZERO).into(),
            original_len: packet.len() as u32,
            data: Cow::Borrowed(packet),
            options: vec![EnhancedPacketOption::Flags(flag)],
        };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.write(|file| {
            let written = file.write_block(&block.into_block());
            written.map(|_| ()).map_err(io_error)
        });
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn finish(&self) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.finish(|file| file.get_mut().flush())
    }
}

impl Observer for Capture {
    fn lost(&self, _: Time, _: Side, _: &[u8], _: LossCause) {}

    fn sees_packets(&self) -> bool {
        true
    }

    fn sent(&self, at: Time, side: Side, packet: &[u8]) {
        self.write(at, side as usize, OUTBOUND, packet);
    }

    fn arrived(&self, at: Time, side: Side, packet: &[u8]) {
        self.write(at, 1 - side as usize, INBOUND, packet);
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcap_file::pcapng::{Block, PcapNgReader};
    use whimbrel_units::Duration;

    #[test]
    fn each_end_sees_what_it_sends_and_gets() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let capture = Capture::new(file.reopen().expect("open")).expect("written");
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        capture.sent(at(1), Side::Forward, b"to far");
        capture.arrived(at(31), Side::Forward, b"to far");
        capture.sent(at(40), Side::Reverse, b"to near");
        capture.finish().expect("written");
        let read = File::open(file.path()).expect("open");
        let mut reader = PcapNgReader::new(read).expect("pcapng");
        let mut seen = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.expect("valid") {
                let since = packet.timestamp - capture.began;
                seen.push((packet.interface_id, since.as_millis(), packet.data.len()));
            }
        }
        assert_eq!(seen, [(0, 1, 6), (1, 31, 6), (1, 40, 7)]);
    }
}
