//! What the two ends of a connection tell each other in DATAGRAM frames (RFC 9221): the bytes.
//!
//! A DATAGRAM frame holds one message: a byte for its kind, then fields of fixed size, big-endian.
//! Only a train's packet may be longer than its fields; the rest is padding. Bytes that are no
//! message are ignored by the receiver, not answered: DATAGRAM frames need no repair, and later
//! versions may add kinds.
//!
//! | kind | message | from | fields |
//! |---|---|---|---|
//! | 1 | [`Mark`](Message::Mark) | data's sender | number u32 |
//! | 2 | [`Arrived`](Message::Arrived) | receiver | number u32, time ns u64 |
//! | 3 | [`Open`](Message::Open) | sender | priority u8, packet u16 |
//! | 4 | [`Accept`](Message::Accept) | receiver | priority u8, grant |
//! | 5 | [`Train`](Message::Train) | sender | number u32, index u8, count u8, padding |
//! | 6 | [`TrainReport`](Message::TrainReport) | receiver | number u32, measured u8, latest u64, |
//! | | | | grant |
//! | 7 | [`InBurst`](Message::InBurst) | sender | burst u32, index u16, count u16, |
//! | | | | interval us u32 |
//! | 8 | [`Reports`](Message::Reports) | receiver | share, 1 to 4 reports |
//! | 9 | [`Probe`](Message::Probe) | sender | |
//! | 10 | [`ProbeAnswer`](Message::ProbeAnswer) | receiver | |
//!
//! A grant is two rates in bit/s, u64 each. A share is a byte, 0 or 1, and if it is 1: two rates,
//! the fairness u32 in millionths, the adapter i64 in millionths of a packet. A report: burst u32,
//! count u16, received u16, first u16, last u16, span ns u64, held us u32, instants u16.

use bytes::{Buf, BufMut};
use whimbrel_cc::burst_transport::trains::MAX_TRAIN;

/// Maximum number of packets in a burst.
pub(crate) const MAX_PACKETS: u32 = u16::MAX as u32;
/// Reports in one message. A lost message costs nothing if fewer than this many are lost in a row.
pub(crate) const MAX_REPORTS: usize = 4;
/// Minimum size of a packet on the wire that an opening may announce, bytes.
const MIN_PACKET: u16 = 576;
const MILLION: f64 = 1e6;
/// The largest adapter, packets. Its millionths are below 2^52, where floating point numbers are
/// exact enough that what was read is written as the same.
const MOST_ADAPTED: f64 = 1e9;

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// The packet that carries it is the `number`-th with a mark: the sender wants to know when it
    /// arrives.
    Mark { number: u32 },
    /// The packet with the mark `number` arrived at `time`, nanoseconds by the receiver's clock.
    Arrived { number: u32, time: u64 },
    /// The sender wants to send bursts.
    Open {
        /// The priority that it wants, 1 to 8.
        priority: u8,
        /// Size of a full packet on the wire, bytes.
        packet: u16,
    },
    /// The receiver is ready for trains, or for bursts if it knows its bandwidth.
    Accept {
        /// The priority that it grants.
        priority: u8,
        /// Zero: measure first.
        grant: Grant,
    },
    /// A packet of a train: the padding makes it a full one.
    Train { number: u32, index: u8, count: u8 },
    /// A train is over.
    TrainReport {
        /// Its number.
        number: u32,
        /// Trains in the mean so far.
        measured: u8,
        /// What this train alone measured, bit/s.
        latest: u64,
        /// The mean, once there are enough trains; else zero.
        grant: Grant,
    },
    /// The packet that carries it belongs to a burst.
    InBurst {
        /// The burst.
        burst: u32,
        /// Its place in the burst.
        index: u16,
        /// Packets that the burst will have.
        count: u16,
        /// The time over which it is sent, microseconds.
        interval: u32,
    },
    /// Bursts are over.
    Reports {
        /// The flow as its node sees it after the newest of them.
        share: Option<Share>,
        /// The newest last.
        reports: Vec<Report>,
    },
    /// Is the path back?
    Probe,
    /// It is.
    ProbeAnswer,
}

/// Rates that a node grants, bit/s; zero: none yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Grant {
    /// The bandwidth of the path.
    pub bandwidth: u64,
    /// The part of it for this flow.
    pub allocated: u64,
}

/// A flow as its node sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    /// The rate for its priority (Vm), bit/s.
    pub allocated: u64,
    /// The rate at which it arrives (V), bit/s.
    pub delivered: u64,
    /// Weighted fairness (WF), 0 to 1.
    pub fairness: f64,
    /// Packets per burst by which it should change (Delta), at most a billion either way.
    pub adapter: f64,
}

/// What arrived of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// The burst.
    pub burst: u32,
    /// Its announced size.
    pub count: u16,
    /// Packets that arrived, at least 1.
    pub received: u16,
    /// The first packet that arrived, by its index.
    pub first: u16,
    /// The last one.
    pub last: u16,
    /// Between their arrivals, nanoseconds.
    pub span: u64,
    /// From the last one's arrival until this report, microseconds.
    pub held: u32,
    /// Instants at which packets arrived: fewer than `received` if the network delivers them in
    /// lumps.
    pub instants: u16,
}

impl Message {
    /// Appends the message.
    pub fn encode(&self, out: &mut impl BufMut) {
        match *self {
            Self::Mark { number } => {
                out.put_u8(1);
                out.put_u32(number);
            }
            Self::Arrived { number, time } => {
                out.put_u8(2);
                out.put_u32(number);
                out.put_u64(time);
            }
            Self::Open { priority, packet } => {
                out.put_u8(3);
                out.put_u8(priority);
                out.put_u16(packet);
            }
            Self::Accept { priority, grant } => {
                out.put_u8(4);
                out.put_u8(priority);
                put_grant(grant, out);
            }
            Self::Train {
                number,
                index,
                count,
            } => {
                out.put_u8(5);
                out.put_u32(number);
                out.put_u8(index);
                out.put_u8(count);
            }
            Self::TrainReport {
                number,
                measured,
                latest,
                grant,
            } => {
                out.put_u8(6);
                out.put_u32(number);
                out.put_u8(measured);
                out.put_u64(latest);
                put_grant(grant, out);
            }
            Self::InBurst {
                burst,
                index,
                count,
                interval,
            } => {
                out.put_u8(7);
                out.put_u32(burst);
                out.put_u16(index);
                out.put_u16(count);
                out.put_u32(interval);
            }
            Self::Reports { share, ref reports } => {
                out.put_u8(8);
                out.put_u8(share.is_some().into());
                if let Some(share) = share {
                    out.put_u64(share.allocated);
                    out.put_u64(share.delivered);
                    out.put_u32((share.fairness * MILLION).round() as u32);
                    out.put_i64((share.adapter * MILLION).round() as i64);
                }
                for report in reports {
                    put_report(report, out);
                }
            }
            Self::Probe => out.put_u8(9),
            Self::ProbeAnswer => out.put_u8(10),
        }
    }

    /// Reads a message; `None` if the bytes are none.
    pub fn decode(mut from: &[u8]) -> Option<Self> {
        let from = &mut from;
        let message = match from.try_get_u8().ok()? {
            1 => Self::Mark {
                number: from.try_get_u32().ok()?,
            },
            2 => Self::Arrived {
                number: from.try_get_u32().ok()?,
                time: from.try_get_u64().ok()?,
            },
            3 => Self::Open {
                priority: get_priority(from)?,
                packet: from.try_get_u16().ok().filter(|p| *p >= MIN_PACKET)?,
            },
            4 => Self::Accept {
                priority: get_priority(from)?,
                grant: get_grant(from)?,
            },
            5 => {
                let number = from.try_get_u32().ok()?;
                let index = from.try_get_u8().ok()?;
                let count = from.try_get_u8().ok()?;
                from.advance(from.len()); // padding
                ((2..=MAX_TRAIN).contains(&count) && index < count).then_some(Self::Train {
                    number,
                    index,
                    count,
                })?
            }
            6 => Self::TrainReport {
                number: from.try_get_u32().ok()?,
                measured: from.try_get_u8().ok()?,
                latest: from.try_get_u64().ok()?,
                grant: get_grant(from)?,
            },
            7 => {
                let burst = from.try_get_u32().ok()?;
                let index = from.try_get_u16().ok()?;
                let count = from.try_get_u16().ok().filter(|count| index < *count)?;
                let interval = from.try_get_u32().ok()?;
                Self::InBurst {
                    burst,
                    index,
                    count,
                    interval,
                }
            }
            8 => get_reports(from)?,
            9 => Self::Probe,
            10 => Self::ProbeAnswer,
            _ => return None,
        };
        from.is_empty().then_some(message)
    }
}

fn put_grant(grant: Grant, out: &mut impl BufMut) {
    out.put_u64(grant.bandwidth);
    out.put_u64(grant.allocated);
}

fn get_grant(from: &mut &[u8]) -> Option<Grant> {
    Some(Grant {
        bandwidth: from.try_get_u64().ok()?,
        allocated: from.try_get_u64().ok()?,
    })
}

fn get_priority(from: &mut &[u8]) -> Option<u8> {
    from.try_get_u8().ok().filter(|p| (1..=8).contains(p))
}

fn put_report(report: &Report, out: &mut impl BufMut) {
    out.put_u32(report.burst);
    out.put_u16(report.count);
    out.put_u16(report.received);
    out.put_u16(report.first);
    out.put_u16(report.last);
    out.put_u64(report.span);
    out.put_u32(report.held);
    out.put_u16(report.instants);
}

fn get_reports(from: &mut &[u8]) -> Option<Message> {
    let share = match from.try_get_u8().ok()? {
        0 => None,
        1 => Some(Share {
            allocated: from.try_get_u64().ok()?,
            delivered: from.try_get_u64().ok()?,
            fairness: (f64::from(from.try_get_u32().ok()?) / MILLION).min(1.0),
            adapter: (from.try_get_i64().ok()? as f64 / MILLION).clamp(-MOST_ADAPTED, MOST_ADAPTED),
        }),
        _ => return None,
    };
    let mut reports = Vec::new();
    while !from.is_empty() && reports.len() < MAX_REPORTS {
        reports.push(get_report(from)?);
    }
    (!reports.is_empty()).then_some(Message::Reports { share, reports })
}

/// Reads a report. It must be consistent: a report is a peer's word.
fn get_report(from: &mut &[u8]) -> Option<Report> {
    let report = Report {
        burst: from.try_get_u32().ok()?,
        count: from.try_get_u16().ok()?,
        received: from.try_get_u16().ok()?,
        first: from.try_get_u16().ok()?,
        last: from.try_get_u16().ok()?,
        span: from.try_get_u64().ok()?,
        held: from.try_get_u32().ok()?,
        instants: from.try_get_u16().ok()?,
    };
    let between = u32::from(report.last.checked_sub(report.first)?) + 1;
    let whole = report.last < report.count
        && (1..=between).contains(&u32::from(report.received))
        && (1..=report.received).contains(&report.instants);
    whole.then_some(report)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn any_report() -> impl Strategy<Value = Report> {
        (
            any::<u32>(),
            1u16..,
            any::<[u16; 4]>(),
            any::<u64>(),
            any::<u32>(),
        )
            .prop_map(
                |(burst, count, [first, last, received, instants], span, held)| {
                    let last = last % count;
                    let first = first.min(last);
                    let received = received % (last - first).saturating_add(1) + 1;
                    let received = received.min((last - first).saturating_add(1));
                    Report {
                        burst,
                        count,
                        received,
                        first,
                        last,
                        span,
                        held,
                        instants: instants % received + 1,
                    }
                },
            )
    }

    fn any_grant() -> impl Strategy<Value = Grant> {
        any::<(u64, u64)>().prop_map(|(bandwidth, allocated)| Grant {
            bandwidth,
            allocated,
        })
    }

    fn any_share() -> impl Strategy<Value = Share> {
        (any::<u64>(), any::<u64>(), 0u32..=1_000_000, any::<i32>()).prop_map(
            |(allocated, delivered, fairness, adapter)| Share {
                allocated,
                delivered,
                fairness: f64::from(fairness) / MILLION,
                adapter: f64::from(adapter) / MILLION,
            },
        )
    }

    pub(crate) fn any_message() -> impl Strategy<Value = Message> {
        let reports = prop::collection::vec(any_report(), 1..=MAX_REPORTS);
        prop_oneof![
            any::<u32>().prop_map(|number| Message::Mark { number }),
            any::<(u32, u64)>().prop_map(|(number, time)| Message::Arrived { number, time }),
            (1u8..=8, MIN_PACKET..)
                .prop_map(|(priority, packet)| Message::Open { priority, packet }),
            (1u8..=8, any_grant())
                .prop_map(|(priority, grant)| Message::Accept { priority, grant }),
            (any::<u32>(), 2..=MAX_TRAIN, any::<u8>()).prop_map(|(number, count, index)| {
                let index = index % count;
                Message::Train {
                    number,
                    index,
                    count,
                }
            }),
            (any::<(u32, u8, u64)>(), any_grant()).prop_map(
                |((number, measured, latest), grant)| Message::TrainReport {
                    number,
                    measured,
                    latest,
                    grant
                }
            ),
            (any::<(u32, u16, u32)>(), 1u16..).prop_map(|((burst, index, interval), count)| {
                let index = index % count;
                Message::InBurst {
                    burst,
                    index,
                    count,
                    interval,
                }
            }),
            (prop::option::of(any_share()), reports)
                .prop_map(|(share, reports)| Message::Reports { share, reports }),
            Just(Message::Probe),
            Just(Message::ProbeAnswer),
        ]
    }

    proptest! {
        #[test]
        fn a_message_is_read_as_it_was_written(message in any_message()) {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            prop_assert_eq!(Message::decode(&bytes), Some(message.clone()));
            // Nothing shorter is a message, nor anything longer but a train.
            prop_assert_eq!(Message::decode(&bytes[..bytes.len() - 1]), None);
            bytes.push(0);
            let train = matches!(message, Message::Train { .. });
            prop_assert_eq!(Message::decode(&bytes), train.then_some(message));
        }

        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(message) = Message::decode(&bytes) {
                let mut again = Vec::new();
                message.encode(&mut again);
                prop_assert!(Message::decode(&again).is_some());
            }
        }
    }

    #[test]
    fn inconsistent_reports_are_no_message() {
        let good = Report {
            burst: 1,
            count: 10,
            received: 3,
            first: 2,
            last: 8,
            span: 1,
            held: 1,
            instants: 3,
        };
        let read = |report: Report| {
            let mut bytes = Vec::new();
            let reports = vec![report];
            Message::Reports {
                share: None,
                reports,
            }
            .encode(&mut bytes);
            Message::decode(&bytes).is_some()
        };
        assert!(read(good));
        assert!(!read(Report { last: 10, ..good }), "beyond the burst");
        assert!(
            !read(Report { first: 9, ..good }),
            "the first after the last"
        );
        assert!(
            !read(Report {
                received: 8,
                ..good
            }),
            "more than there were"
        );
        assert!(
            !read(Report {
                received: 0,
                instants: 0,
                ..good
            }),
            "nothing"
        );
        assert!(
            !read(Report {
                instants: 0,
                ..good
            }),
            "at no instant"
        );
        assert!(
            !read(Report {
                instants: 4,
                ..good
            }),
            "more instants than packets"
        );
    }
}
