//! Opening, packet trains, and closing.

use super::{Phase, Source};
use crate::aatp::outbox::Outbox;
use crate::aatp::wire::{Message, Open, Train, TrainReport};
use whimbrel_cc::Bandwidth;
use whimbrel_cc::burst_transport::trains::{self, TRAINS};
use whimbrel_cc::burst_transport::{Granted, bounded_rate};
use whimbrel_units::{Duration, Rate, Time};

/// Retransmission interval of an opening; it doubles with each try up to `LONGEST_RETRY`.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

impl Source {
    pub(super) fn open(&mut self, now: Time, tries: u32, out: &mut Outbox<'_>) {
        let open = Open {
            priority: self.priority,
            packet: self.settings.packet.get() as u16,
            packets: self.total,
        };
        self.heard = now;
        self.writer.send(now, Message::Open(open), out);
        self.phase = Phase::Opening {
            tries: tries + 1,
            retry_at: now + retry(FIRST_RETRY, tries),
        };
    }

    pub(super) fn send_train(&mut self, now: Time, step: u8, tries: u32, out: &mut Outbox<'_>) {
        self.put_train(now, trains::packets(step), out);
        let patience = self.estimator.rto() + trains::PATIENCE * 2;
        self.phase = Phase::Measuring {
            step,
            tries: tries + 1,
            retry_at: now + retry(patience, tries),
        };
    }

    /// Sends the packets of a train back to back.
    pub(super) fn put_train(&mut self, now: Time, count: u8, out: &mut Outbox<'_>) {
        let number = self.next_train;
        self.next_train = self.next_train.wrapping_add(1);
        let size = self.settings.packet.get() as u32;
        for index in 0..count {
            let train = Message::Train(Train {
                number,
                index,
                count,
            });
            self.writer.send_padded(now, train, size, out);
        }
    }

    pub(super) fn on_train_report(&mut self, now: Time, report: TrainReport, out: &mut Outbox<'_>) {
        if report.number.wrapping_add(1) != self.next_train {
            return; // Of a train that was given up.
        }
        match self.phase {
            Phase::Measuring { step, .. } if step + 1 < TRAINS => {
                self.send_train(now, step + 1, 0, out);
            }
            Phase::Measuring { .. } => {
                if let Some(granted) = report.granted {
                    self.begin(now, granted, out);
                }
            }
            Phase::Sending => {
                if let Some(granted) = report.granted {
                    self.notify_bandwidth(now, granted, false);
                }
            }
            _ => {}
        }
    }

    /// The bandwidth is known: data flows.
    pub(super) fn begin(&mut self, now: Time, granted: Granted, out: &mut Outbox<'_>) {
        self.account.known_at.get_or_insert(now);
        self.notify_bandwidth(now, granted, true);
        self.phase = Phase::Sending;
        self.next_at = now;
        self.reestimate_at = self.settings.reestimate.map(|every| now + every);
        // After a halt everything unreported is retransmitted.
        self.give_up_all();
        self.on_send_timer(now, out);
    }

    fn notify_bandwidth(&mut self, now: Time, granted: Granted, restart: bool) {
        let rate = bounded_rate(granted.bandwidth.as_bits_per_sec());
        let allocated = bounded_rate(granted.allocated.as_bits_per_sec());
        self.account.bandwidth = rate;
        self.controller.on_bandwidth(&Bandwidth {
            now,
            rate,
            packet: self.settings.packet,
            allocated: Some(allocated).filter(|rate| *rate > Rate::ZERO),
            restart,
            exact: true,
        });
    }

    pub(super) fn close(&mut self, now: Time, tries: u32, out: &mut Outbox<'_>) {
        /// The user timeout of RFC 9293 is minutes. A receiver that misses the closing drops the
        /// flow when it is silent.
        const TRIES: u32 = 8;
        if tries == TRIES {
            self.phase = Phase::Done;
            return;
        }
        self.writer.send(now, Message::Close, out);
        self.phase = Phase::Closing {
            tries: tries + 1,
            retry_at: now + retry(self.estimator.rto(), tries),
        };
    }
}

/// The wait before the next try, after this many earlier ones.
fn retry(first: Duration, tries: u32) -> Duration {
    (first * (1 << tries.min(10))).min(first.max(LONGEST_RETRY))
}
