//! A log of packets and decisions, for comparison with what the path did to the packets.
//!
//! CSV with the columns `time_ns` (since the log was opened), `event`, `packet` (QUIC's number),
//! `burst`, `size_bytes` (of the UDP payload), `fingerprint` and `verdict`. Events:
//!
//! * `sent`: a packet left; `burst` is its burst, if it belongs to one. The fingerprint is bytes 1
//!   to 16 of the UDP payload, in hexadecimal digits: ciphertext, which an observer on the path
//!   sees too.
//! * `lost`: QUIC declared the packet lost.
//! * `decision`: the algorithm classified a loss as `congestion` or `random`: the losses in `burst`
//!   and in earlier bursts that had no decision, or without a burst, all packets declared lost
//!   since the last decision.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use whimbrel_cc::{LossResponse, Verdict};

/// The bytes of the UDP payload that identify a packet.
const FINGERPRINT: std::ops::Range<usize> = 1..17;

/// The log of one connection. Clones share it. An error of the file ends the log, not the
/// connection.
#[derive(Debug, Clone)]
pub struct PacketLog(Arc<Mutex<Out>>);

#[derive(Debug)]
struct Out {
    origin: Instant,
    file: Option<BufWriter<File>>,
    failed: Option<io::Error>,
    /// The packet that was built last, until its bytes are known.
    built: Option<u64>,
}

impl PacketLog {
    /// Creates the file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut out = Out {
            origin: Instant::now(),
            file: Some(file),
            failed: None,
            built: None,
        };
        out.write("time_ns,event,packet,burst,size_bytes,fingerprint,verdict\n");
        Ok(Self(Arc::new(Mutex::new(out))))
    }

    /// Completes the file. Nothing is logged after that.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn finish(&self) -> io::Result<()> {
        let mut out = self.lock();
        match (out.failed.take(), out.file.take()) {
            (Some(error), _) => Err(error),
            (None, Some(mut file)) => file.flush(),
            (None, None) => Ok(()),
        }
    }

    /// QUIC built a packet with this number.
    pub(crate) fn built(&self, packet: u64) {
        self.lock().built = Some(packet);
    }

    /// The packet that was built last left in this datagram. A datagram without a new packet that
    /// counts as in flight, such as an acknowledgment, is not logged.
    pub(crate) fn sent(&self, now: Instant, burst: Option<u32>, datagram: &[u8]) {
        let mut out = self.lock();
        let Some(packet) = out.built.take() else {
            return;
        };
        let burst = burst.map_or_else(String::new, |burst| burst.to_string());
        let time = out.time(now);
        let mut line = format!("{time},sent,{packet},{burst},{},", datagram.len());
        for byte in datagram
            .iter()
            .take(FINGERPRINT.end)
            .skip(FINGERPRINT.start)
        {
            // Writing to a string cannot fail.
            let _ = write!(line, "{byte:02x}");
        }
        line.push_str(",\n");
        out.write(&line);
    }

    /// QUIC declared a packet lost.
    pub(crate) fn lost(&self, now: Instant, packet: u64) {
        let mut out = self.lock();
        let line = format!("{},lost,{packet},,,,\n", out.time(now));
        out.write(&line);
    }

    /// The algorithm answered a loss. Nothing is logged if it does not classify losses.
    pub(crate) fn decision(&self, now: Instant, burst: Option<u32>, response: LossResponse) {
        let verdict = match response.verdict {
            Some(Verdict::Congestion) => "congestion",
            Some(Verdict::Random) => "random",
            None => return,
        };
        let burst = burst.map_or_else(String::new, |burst| burst.to_string());
        let mut out = self.lock();
        let line = format!("{},decision,,{burst},,,{verdict}\n", out.time(now));
        out.write(&line);
    }

    /// A panic while the lock was held can have lost a line at most.
    fn lock(&self) -> MutexGuard<'_, Out> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Out {
    fn time(&self, now: Instant) -> u128 {
        now.saturating_duration_since(self.origin).as_nanos()
    }

    fn write(&mut self, line: &str) {
        if let Some(file) = self.file.as_mut().filter(|_| self.failed.is_none()) {
            self.failed = file.write_all(line.as_bytes()).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_packets_losses_and_decisions() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let log = PacketLog::create(file.path()).expect("created");
        let now = log.lock().origin + std::time::Duration::from_nanos(1500);
        let datagram: Vec<u8> = (0..100).collect();
        log.sent(now, None, &datagram);
        log.built(7);
        log.sent(now, Some(3), &datagram);
        log.sent(now, Some(3), &datagram);
        log.lost(now, 7);
        for verdict in [Some(Verdict::Congestion), None, Some(Verdict::Random)] {
            let response = LossResponse {
                reduced: false,
                verdict,
                confidence: None,
            };
            log.decision(now, Some(3), response);
        }
        log.finish().expect("written");
        log.lost(now, 8);
        log.finish().expect("nothing more");
        let text = std::fs::read_to_string(file.path()).expect("a file");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "time_ns,event,packet,burst,size_bytes,fingerprint,verdict",
                "1500,sent,7,3,100,0102030405060708090a0b0c0d0e0f10,",
                "1500,lost,7,,,,",
                "1500,decision,,3,,,congestion",
                "1500,decision,,3,,,random",
            ]
        );
    }
}
