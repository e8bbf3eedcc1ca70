//! TCP Santa Cruz: keeps n packets in the queue of the way there, counted by how much later packets
//! arrive than they were sent.
//!
//! C. Parsa, J. J. Garcia-Luna-Aceves, "Improving TCP Congestion Control over Internets with
//! Heterogeneous Transmission Media", IEEE ICNP 1999. The congestion control follows the authors'
//! pages (`cse.ucsc.edu/~chris/sctcp`): relative delay, equations 2 and 3, "translating the relative
//! delay" and "adjusting the window". Their sections on the start and on errors were not available.
//!
//! * relative delay of two packets: `D = R - S`, R the time between their arrivals by the
//!   receiver's clock, S the time between their sendings
//! * packets queued over a window of data: `M = sum(D)/pktS`, pktS the mean time to serve a packet,
//!   the time between two arrivals per packet received
//! * queued since the beginning (equation 3): `N = N + M`
//! * after each window: below `n - delta` the window grows by a segment during the next one, above
//!   `n + delta` it shrinks by a segment, in between it stays (equation 2: N = n)
//!
//! Units: windows in bytes, N and n in packets, times in seconds.
//!
//! **Physics.** The sum of relative delays since the first packet is the change of the one-way delay
//! since then. Divided by the time that the bottleneck takes for one of the flow's packets it is the
//! number of its own packets that wait there. The way back does not matter, however slow, and
//! neither does when acknowledgments come.
//!
//! **When it works.** Asymmetric paths, lost and delayed acknowledgments, any buffer above n.
//!
//! **Limits.** Those of Vegas: it gives way to loss-based flows, random losses halve it, a longer
//! path looks like a queue for ever, and so do clocks that drift: 20 ppm are 1.2 ms in a minute. A
//! flow that begins while others queue counts their queue as empty. N is known once in a window, so
//! slow start may overflow a short buffer as Reno's does, and what it leaves in the queue goes by a
//! segment per round trip.
//!
//! **Choices where the source is silent.** n is 4 and delta a half: the paper's pages say "some
//! fraction of a packet". The start is Reno's slow start until N exceeds n. Losses and timeouts are
//! Reno's, and N is kept: it belongs to the path, and is measured anew in each window from the
//! first packet's delay, so that rounding of pktS does not add up. The delay of the window is that
//! of its last packet. Without the receiver's clock RTTs are used, which count both ways. Once its
//! clock is known, only acknowledgments that show it count: on QUIC not each does, and its zero is
//! not the sender's.

use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Loss, LossResponse, Timeout, TransportFeatures};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};
use whimbrel_units::Time;

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "santa-cruz",
    code: code!("algorithms/delay/santa_cruz.rs"),
    summary: "Keeps a few packets in the queue of the way there, by the receiver's clock",
    citation: "C. Parsa, J. J. Garcia-Luna-Aceves, \"Improving TCP Congestion Control over \
               Internets with Heterogeneous Transmission Media\", IEEE ICNP 1999",
    parameters: &[
        Parameter {
            name: "n",
            domain: Domain::Number {
                default: 4.0,
                range: (0.0, 100_000.0),
            },
            meaning: "packets to keep in the queue",
        },
        Parameter {
            name: "delta",
            domain: Domain::Number {
                default: 0.5,
                range: (0.0, 1000.0),
            },
            meaning: "packets by which the queue may differ from n",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Delay,
        driven_by: DrivenBy::LossesAndDelays,
        build: |setup, values| {
            let rule = SantaCruz {
                n: values.number("n"),
                delta: values.number("delta"),
                by_receiver: false,
                first: None,
                window_began: None,
                round_ended: false,
                direction: Direction::Up,
            };
            Box::new(
                WindowController::new(setup, rule)
                    .with_transport_features(TransportFeatures::RECEIVER_TIMES),
            )
        },
    },
    look: Look::of(44, 11),
    without_receiver_clock: Some("it counted the queue of the way back too"),
    ..Entry::BLANK
};

/// The rule of TCP Santa Cruz.
#[derive(Debug, Clone)]
struct SantaCruz {
    n: f64,
    delta: f64,
    /// Arrivals are by the receiver's clock.
    by_receiver: bool,
    /// The smallest arrival less sending so far, seconds: with an empty queue.
    first: Option<f64>,
    /// Arrival of the newest packet when the present window began, and the bytes delivered until
    /// then.
    window_began: Option<(f64, u64)>,
    /// A round trip has ended, and no acknowledgment with a time has come since.
    round_ended: bool,
    direction: Direction,
}

/// How the window changes during the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Stay,
    Down,
}

impl SantaCruz {
    /// N at the end of a window: the change of the delay over the time to serve a packet.
    fn queued(&mut self, window: &Window, ack: &Ack) -> Option<f64> {
        self.round_ended |= ack.round_start;
        let newest = ack.newest.filter(|packet| !packet.retransmitted)?;
        let sent = newest.sent.since(Time::ZERO).as_secs_f64();
        if ack.receiver_time.is_some() && !self.by_receiver {
            self.by_receiver = true;
            self.first = None;
            self.window_began = None;
        }
        let arrived = match (ack.receiver_time, ack.rtt) {
            (Some(at), _) => at.since(Time::ZERO).as_secs_f64(),
            (None, Some(rtt)) if !self.by_receiver => sent + rtt.as_secs_f64(),
            (None, _) => return None,
        };
        let delay = arrived - sent;
        let first = self.first.map_or(delay, |first| first.min(delay));
        self.first = Some(first);
        let delivered = ack.delivered.get();
        let Some((began, at)) = self.window_began else {
            self.window_began = Some((arrived, delivered));
            self.round_ended = false;
            return None;
        };
        if !self.round_ended {
            return None;
        }
        self.round_ended = false;
        self.window_began = Some((arrived, delivered));
        let packets = delivered.saturating_sub(at) as f64 / window.mss as f64;
        let service = (arrived - began) / packets;
        let queued = (delay - first) / service;
        (service > 0.0 && queued.is_finite()).then_some(queued)
    }
}

impl Rule for SantaCruz {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let queued = self.queued(window, ack);
        if let Some(queued) = queued {
            self.direction = match queued {
                low if low < self.n - self.delta => Direction::Up,
                high if high > self.n + self.delta => Direction::Down,
                _ => Direction::Stay,
            };
        }
        if !Window::may_grow(ack) {
            return;
        }
        if window.in_slow_start() {
            if queued.is_some_and(|queued| queued > self.n) {
                window.end_slow_start();
            } else {
                slow_start(window, ack);
                return;
            }
        }
        match self.direction {
            Direction::Up => window.grow(ack.acked.get(), 1.0),
            // A segment for the whole window, at once: the queue is too long already.
            Direction::Down if queued.is_some() => {
                window.reduce_to(window.cwnd.saturating_sub(window.mss));
            }
            Direction::Stay | Direction::Down => {}
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        window.reduce_to(half(window, loss.in_flight));
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.window_began = None;
        window.collapse(Some(half(window, timeout.in_flight)));
    }

    fn phase(&self, _: &Window) -> &'static str {
        match self.direction {
            Direction::Up => "below the operating point",
            Direction::Stay => "at the operating point",
            Direction::Down => "above the operating point",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{AtSending, Controller};
    use crate::testing::{ACK, Bottleneck, MSS, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Duration, Rate};

    const MS: Duration = Duration::from_millis(1);

    /// The counts of a packet that left after so many milliseconds.
    fn sent_at(after: u64) -> AtSending {
        AtSending {
            sent: Time::ZERO + MS * after,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
            retransmitted: false,
        }
    }

    /// A window of 20 segments, which arrive a packet each 5 ms, `delay` ms after they were sent by
    /// the receiver's clock; the acknowledgments take any time.
    fn window(controller: &mut dyn Controller, number: u64, delay: u64) {
        for i in 0..20 {
            let sent = 100 * number + 5 * i;
            let at = sent_at(sent);
            controller.on_ack(&Ack {
                now: Time::ZERO + MS * (sent + 1000),
                rtt: Some(MS * 777 * (1 + i % 3)),
                receiver_time: Some(Time::ZERO + MS * (5000 + sent + delay)),
                newest: Some(at),
                delivered: Bytes::new((20 * number + i + 1) * MSS),
                round_start: i == 0,
                ..ACK
            });
        }
    }

    fn avoiding() -> Box<dyn Controller> {
        let mut controller = built("santa-cruz", 40);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller
    }

    #[test]
    fn the_window_follows_the_number_of_packets_queued() {
        // pktS is 5 ms: 4 packets are 20 ms. Three are below 3.5, five above 4.5. A window decides for
        // the next one.
        for (delay, expected) in [(15, 1.0), (20, 0.0), (25, -1.0)] {
            let mut controller = avoiding();
            window(&mut *controller, 0, 0);
            window(&mut *controller, 1, delay);
            let before = segments(&*controller);
            window(&mut *controller, 2, delay);
            let changed = segments(&*controller) - before;
            assert!((changed - expected).abs() < 0.15, "{delay} ms: {changed}");
        }
    }

    #[test]
    fn acknowledgments_without_the_receivers_clock_do_not_count_once_it_is_known() {
        let mut controller = avoiding();
        for number in 0..6 {
            window(&mut *controller, number, 0);
            let at = sent_at(100 * number + 99);
            controller.on_ack(&Ack {
                now: Time::ZERO + MS * (100 * number + 1099),
                rtt: Some(MS * 777),
                newest: Some(at),
                delivered: Bytes::new(20 * (number + 1) * MSS),
                ..ACK
            });
        }
        assert!(segments(&*controller) > 24.0, "{}", segments(&*controller));
    }

    #[test]
    fn the_empty_queue_is_measured_anew_when_the_receivers_clock_is_known() {
        let mut controller = avoiding();
        // RTTs of 50 ms, and then a clock that is 5 s ahead.
        for i in 0..20 {
            controller.on_ack(&Ack {
                now: Time::ZERO + MS * (5 * i + 50),
                rtt: Some(MS * 50),
                newest: Some(sent_at(5 * i)),
                delivered: Bytes::new((i + 1) * MSS),
                round_start: i == 0,
                ..ACK
            });
        }
        let before = segments(&*controller);
        for number in 1..5 {
            window(&mut *controller, number, 0);
        }
        let changed = segments(&*controller) - before;
        assert!(changed > 2.0, "{changed}");
    }

    #[test]
    fn losses_and_timeouts_are_those_of_reno() {
        let mut controller = avoiding();
        assert_eq!(segments(&*controller), 20.0);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 1.0);
    }

    #[test]
    fn a_single_flow_keeps_about_n_packets_in_the_queue_after_its_start() {
        let rate = Rate::from_bits_per_sec(8_000_000);
        let mut path = Bottleneck::new(rate, 100);
        path.add(built("santa-cruz", 10), MS * 100);
        path.run(Duration::from_secs(30));
        let (before, lost) = (path.flows[0].delivered, path.flows[0].lost);
        let (mean, most) = path.run(Duration::from_secs(30));
        assert!((2.5..=7.0).contains(&mean), "{mean}");
        assert!(most <= 12, "{most}");
        let got = path.flows[0].rate_since(before, Duration::from_secs(30));
        assert!(got.as_bits_per_sec() as f64 > 0.99 * 8e6);
        assert_eq!(
            path.flows[0].lost, lost,
            "the start alone overflows the queue"
        );
    }
}
