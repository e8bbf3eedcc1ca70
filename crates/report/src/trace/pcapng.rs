//! A capture of a simulated run, as it would be taken at one of the ends.
//!
//! pcapng (draft-ietf-opsawg-pcapng): one section, one interface with raw IP packets
//! (LINKTYPE_RAW), times in nanoseconds of the run, packets truncated after their headers with
//! their original length. Hosts have the addresses of [`address`](super::address), packets the
//! contents of [`wire`](super::wire).
//!
//! The truth is in comments (opt_comment) on packets:
//!
//! * `dropped on L: queue overflow` (or `early drop`, `random loss`, `outage`, `contention`),
//!   `corrupted on the way: …`
//! * `declared lost at 1.234567890 s by RACK` (or `duplicate acknowledgments`, `the retransmission
//!   timer`)
//! * `judged: random (truth: congestion), window kept`: a controller's decision on the loss episode
//!   that begins with this packet
//!
//! Packets that are lost before this end are not captured, and neither are corrupted ones, which a
//! network card drops.

use super::address::{MOST_FLOWS, address, has_room};
use super::wire::Wire;
use super::{TraceError, Vantage, fate, finding_word, truth_word};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;
use whimbrel_cc::Verdict;
use whimbrel_sim::observe::{End, Event, Fate, Judged, Lost, Observer, What};
use whimbrel_sim::{Network, Traffic, run_observed};
use whimbrel_units::Time;

/// Maximum number of packets of a capture, which has a few gigabytes then.
pub const MOST_PACKETS: u64 = 20_000_000;
/// Maximum length of a comment: that of an option, with a margin.
const LONGEST_COMMENT: usize = 65_000;
/// Nanoseconds, as a power of ten.
const NANOSECONDS: u8 = 9;
/// Directions of epb_flags.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Runs a network twice and writes the packets at one end of its flows.
///
/// # Errors
/// If `out` cannot be written, the run has more flows than addresses, or more than [`MOST_PACKETS`]
/// packets.
pub fn pcapng(network: &Network, vantage: Vantage, out: &mut dyn Write) -> Result<(), TraceError> {
    capture(network, vantage, MOST_PACKETS, out)
}

/// The same with another maximum.
fn capture(
    network: &Network,
    vantage: Vantage,
    most: u64,
    out: &mut dyn Write,
) -> Result<(), TraceError> {
    if !has_room(network) {
        return Err(TraceError::TooManyFlows {
            flows: network.flows.len(),
            what: "a capture",
            most: MOST_FLOWS,
        });
    }
    let mut remarks = Remarks {
        vantage,
        packets: 0,
        of: HashMap::new(),
    };
    run_observed(network, &mut remarks);
    if remarks.packets > most {
        let packets = remarks.packets;
        return Err(TraceError::TooLong { packets, most });
    }
    let mut capture = Capture::new(network, remarks, out)?;
    run_observed(network, &mut capture);
    match capture.failed {
        Some(error) => Err(error.into()),
        None => Ok(capture.writer.into_inner().flush()?),
    }
}

/// A comment on a packet.
#[derive(Debug, Clone, Copy)]
enum Remark {
    Fate(Fate),
    Lost(Time, Lost),
    Judged(Judged),
}

impl Remark {
    fn text(self, network: &Network) -> String {
        match self {
            Self::Fate(what) => fate(network, what),
            Self::Lost(at, lost) => {
                format!(
                    "declared lost at {} s by {}",
                    seconds(at),
                    finding_word(lost.by)
                )
            }
            Self::Judged(judged) => {
                let verdict = match judged.verdict {
                    Some(Verdict::Congestion) => "judged: congestion ",
                    Some(Verdict::Random) => "judged: random ",
                    None => "not judged ",
                };
                let window = if judged.reduced { "reduced" } else { "kept" };
                let truth = truth_word(judged.truth);
                format!("{verdict}(truth: {truth}), window {window}")
            }
        }
    }
}

/// Seconds with nine decimals.
fn seconds(at: Time) -> String {
    let ns = at.as_nanos();
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// The first run: collects the comments on packets and counts the packets.
struct Remarks {
    vantage: Vantage,
    packets: u64,
    /// The comments by packet number; few packets have one.
    of: HashMap<u64, Vec<Remark>>,
}

impl Observer for Remarks {
    fn on_event(&mut self, event: &Event) {
        self.packets += u64::from(self.vantage.sees(event).is_some());
        let (id, remark) = match &event.what {
            What::Dropped(packet, fate) => (Some(packet.id), Remark::Fate(*fate)),
            What::Lost(lost) => (lost.id, Remark::Lost(event.at, *lost)),
            What::Judged(judged) => (judged.id, Remark::Judged(*judged)),
            _ => return,
        };
        if let Some(id) = id {
            self.of.entry(id).or_default().push(remark);
        }
    }
}

/// The second run: writes the capture.
struct Capture<'n, 'o> {
    network: &'n Network,
    remarks: Remarks,
    wire: Wire,
    writer: PcapNgWriter<&'o mut dyn Write>,
    bytes: Vec<u8>,
    /// The first error; nothing is written after it.
    failed: Option<io::Error>,
}

impl<'n, 'o> Capture<'n, 'o> {
    fn new(network: &'n Network, remarks: Remarks, out: &'o mut dyn Write) -> io::Result<Self> {
        let name = remarks.vantage.name();
        let section = SectionHeaderBlock {
            // The same bytes on all machines.
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(flow_list(network))),
                SectionHeaderOption::UserApplication(Cow::Borrowed("whimbrel")),
            ],
            ..SectionHeaderBlock::default()
        };
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfDescription(Cow::Owned(format!(
                    "simulated: at the {name} of each flow"
                ))),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        let mut writer = PcapNgWriter::with_section_header(out, section).map_err(io_error)?;
        writer.write_pcapng_block(interface).map_err(io_error)?;
        Ok(Self {
            wire: Wire::new(network),
            network,
            remarks,
            writer,
            bytes: Vec::new(),
            failed: None,
        })
    }

    fn capture(&mut self, event: &Event) -> Result<(), PcapError> {
        self.wire.note(event);
        let vantage = self.remarks.vantage;
        let Some(packet) = vantage.sees(event) else {
            return Ok(());
        };
        let original_len = self.wire.write(event, packet, &mut self.bytes);
        let out = packet.from == vantage.end();
        let direction = if out { OUTBOUND } else { INBOUND };
        let mut options = vec![EnhancedPacketOption::Flags(direction)];
        let remarks = self.remarks.of.get(&packet.id).into_iter().flatten();
        options
            .extend(remarks.map(|remark| {
                EnhancedPacketOption::Comment(Cow::Owned(remark.text(self.network)))
            }));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(event.at.as_nanos()),
            original_len,
            data: Cow::Borrowed(&self.bytes),
            options,
        };
        self.writer.write_block(&block.into_block()).map(|_| ())
    }
}

impl Observer for Capture<'_, '_> {
    fn on_event(&mut self, event: &Event) {
        if self.failed.is_none()
            && let Err(error) = self.capture(event)
        {
            self.failed = Some(io_error(error));
        }
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// A list of the flows for the head of the file, a line for each, as far as they fit.
fn flow_list(network: &Network) -> String {
    let mut text = format!(
        "A simulated run, seed {}. Times are seconds since it began.",
        network.seed
    );
    for (index, flow) in network.flows.iter().enumerate() {
        let kind = match &flow.traffic {
            Traffic::Tcp(tcp) => format!("TCP under {}", tcp.controller),
            Traffic::Aatp(aatp) => format!("AATP under {} over UDP", aatp.controller),
            Traffic::Udp(_) => "UDP".to_owned(),
        };
        for path in 0..flow.routes.len() {
            let near = address(index, path, End::Near);
            let far = address(index, path, End::Far);
            let line = format!(
                "\nflow {} ({}): {near} > {far}, {kind}",
                index + 1,
                flow.name
            );
            if text.len() + line.len() > LONGEST_COMMENT {
                text.push_str("\n...");
                return text;
            }
            text.push_str(&line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use whimbrel_sim::scenario::Scenario;

    fn network(flows: usize) -> Network {
        let text = format!(
            "[link.L]\nrate = \"1 Mbit/s\"\n[[flow]]\ncontroller = \"reno\"\nroute = [\"L\"]\ncount = {flows}\n\
             size = \"5 kB\"\n[run]\nduration = \"1 s\"\n"
        );
        let scenario = Scenario::parse(&text, Path::new("test")).expect("a scenario");
        scenario.points()[0].network(1)
    }

    #[test]
    fn a_run_with_too_many_packets_is_refused_before_writing() {
        // SYN and SYN-ACK, four segments, and acknowledgments of every second segment and of the
        // last.
        let mut bytes = Vec::new();
        let error = capture(&network(1), Vantage::Receiver, 7, &mut bytes).expect_err("eight");
        assert!(
            matches!(
                error,
                TraceError::TooLong {
                    packets: 8,
                    most: 7
                }
            ),
            "{error}"
        );
        assert!(bytes.is_empty());
        capture(&network(1), Vantage::Receiver, 8, &mut bytes).expect("no more than that");
        assert!(!bytes.is_empty());
    }

    #[test]
    fn a_full_disk_is_an_error() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self
                    .0
                    .checked_sub(bytes.len())
                    .ok_or(io::ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for room in [0, 100, 700] {
            let error =
                pcapng(&network(1), Vantage::Sender, &mut Full(room)).expect_err("it is full");
            assert!(matches!(error, TraceError::Write(_)), "{error}");
        }
    }

    #[test]
    fn flows_without_addresses_are_refused() {
        let mut network = network(1);
        network.flows = vec![network.flows[0].clone(); MOST_FLOWS + 1];
        let error = pcapng(&network, Vantage::Sender, &mut Vec::new()).expect_err("no addresses");
        assert!(error.to_string().contains("65536 flows"), "{error}");
    }
}
