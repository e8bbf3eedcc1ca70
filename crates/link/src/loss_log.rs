//! A log of every lost UDP datagram with the cause of its loss, as CSV.
//!
//! The packets of QUIC are encrypted, and only their sender knows their numbers. What sender and
//! path both see is the ciphertext: a fingerprint of 16 bytes identifies a packet, so a log of the
//! sender can be joined with this file. The first byte of the payload is left out, because it has
//! few values.

use crate::log_file::LogFile;
use crate::{LossCause, Observer};
use etherparse::{SlicedPacket, TransportSlice};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Mutex, PoisonError};
use whimbrel_net::{DropCause, Side};
use whimbrel_units::Time;

/// The first line of the file.
const HEADER: &str = "time_ns,direction,cause,size_bytes,fingerprint\n";
/// The bytes of the UDP payload that identify a packet.
const FINGERPRINT: std::ops::Range<usize> = 1..17;

/// Writes lost datagrams to a file.
#[derive(Debug)]
pub struct LossLog(Mutex<LogFile<BufWriter<File>>>);

impl LossLog {
    /// Writes to this file, which is empty.
    pub fn new(file: File) -> Self {
        let mut out = LogFile::new(BufWriter::with_capacity(1 << 20, file));
        out.write(|file| file.write_all(HEADER.as_bytes()));
        Self(Mutex::new(out))
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn finish(&self) -> io::Result<()> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.finish(Write::flush)
    }
}

impl Observer for LossLog {
    fn lost(&self, at: Time, side: Side, packet: &[u8], cause: LossCause) {
        if let Some(line) = line(at, side, packet, cause) {
            let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            out.write(|file| file.write_all(line.as_bytes()));
        }
    }
}

/// The line of a lost packet; `None` if it is no UDP datagram.
fn line(at: Time, side: Side, packet: &[u8], cause: LossCause) -> Option<String> {
    let packet = SlicedPacket::from_ip(packet).ok()?;
    let Some(TransportSlice::Udp(udp)) = packet.transport else {
        return None;
    };
    let payload = udp.payload();
    let direction = match side {
        Side::Forward => "forward",
        Side::Reverse => "backward",
    };
    // The names of `--json`.
    let cause = match cause {
        LossCause::Corrupted => "corrupted",
        LossCause::Dropped(DropCause::QueueOverflow) => "queue",
        LossCause::Dropped(DropCause::Early) => "early",
        LossCause::Dropped(DropCause::Random) => "random",
        LossCause::Dropped(DropCause::Outage) => "outage",
        LossCause::Dropped(DropCause::Contention) => "contention",
    };
    let mut line = format!("{},{direction},{cause},{},", at.as_nanos(), payload.len());
    for byte in payload.iter().take(FINGERPRINT.end).skip(FINGERPRINT.start) {
        write!(line, "{byte:02x}").ok()?;
    }
    line.push('\n');
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Observers;
    use etherparse::PacketBuilder;
    use std::sync::Arc;

    fn datagram(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64)
            .udp(40_000, 4440)
            .write(&mut bytes, payload)
            .expect("a packet");
        bytes
    }

    #[test]
    fn a_line_has_time_direction_cause_size_and_the_ciphertext() {
        let payload: Vec<u8> = (0..100).collect();
        let full = LossCause::Dropped(DropCause::QueueOverflow);
        let found = line(
            Time::from_nanos(1_500),
            Side::Forward,
            &datagram(&payload),
            full,
        );
        let expected = "1500,forward,queue,100,0102030405060708090a0b0c0d0e0f10\n";
        assert_eq!(found.as_deref(), Some(expected));
        let short = line(
            Time::ZERO,
            Side::Reverse,
            &datagram(&[9, 0xab]),
            LossCause::Corrupted,
        );
        assert_eq!(short.as_deref(), Some("0,backward,corrupted,2,ab\n"));
    }

    #[test]
    fn what_is_no_datagram_is_not_logged() {
        let cause = LossCause::Corrupted;
        for bytes in [&[][..], &[0x45; 3], &[0xff; 40]] {
            assert_eq!(line(Time::ZERO, Side::Forward, bytes, cause), None);
        }
        let mut tcp = Vec::new();
        PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64)
            .tcp(1, 2, 3, 1000)
            .write(&mut tcp, &[0; 10])
            .expect("a packet");
        assert_eq!(line(Time::ZERO, Side::Forward, &tcp, cause), None);
    }

    #[test]
    fn the_file_is_complete_after_the_end() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let log = Arc::new(LossLog::new(file.reopen().expect("the same file")));
        let both = [Arc::clone(&log) as _, Arc::clone(&log) as _];
        let both = Observers::of(&both).expect("two");
        let noise = LossCause::Dropped(DropCause::Random);
        both.lost(Time::ZERO, Side::Forward, &datagram(&[1, 2]), noise);
        log.finish().expect("written");
        let text = std::fs::read_to_string(file.path()).expect("a file");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "time_ns,direction,cause,size_bytes,fingerprint",
                "0,forward,random,2,02",
                "0,forward,random,2,02"
            ]
        );
    }
}
