//! TCP New Jersey: routers signal congestion; a loss without a signal is attributed to the channel.
//!
//! K. Xu, Y. Tian, N. Ansari, "TCP-Jersey for Wireless IP Communications", IEEE JSAC 22(4), 2004:
//! rate control and congestion warning; the same authors, "Improving TCP performance in integrated
//! wireless communications networks", Computer Networks 47(2), 2005: New Jersey, which uses
//! receiver times. Only the abstracts of both were available. The code follows T. Saedi,
//! "Congestion Control Enhancement Over Wireless Networks", MSc thesis, Lakehead University, 2019,
//! sections 2.2.8 and 2.2.9, with an implementation of TCP-Jersey for ns-3 (V. Jain, S. Jain, M.
//! Tahiliani, NITK, 2017) for comparison.
//!
//! * bandwidth: `R_n = (RTT*R_{n-1} + L_n)/((t_n - t_{n-1}) + RTT)` (2.6), L_n the bytes that ACK n
//!   reports, t_n the arrival time of the data by the receiver's clock
//! * optimal window: `ownd_n = R_n*RTT` (2.7)
//! * congestion warning: a router marks every packet while its average queue exceeds a threshold,
//!   and the receiver echoes the marks
//! * rate control: `ssthresh = ownd`, `cwnd = min(cwnd, ownd)`
//! * ACK with a mark: rate control, once per round trip; without a mark: Reno's growth
//! * loss with a mark: rate control; without a mark: retransmission only
//! * timeout: `ssthresh = ownd`; with a mark on the last ACK `cwnd = 1 segment`, otherwise `cwnd =
//!   (ownd_n + ownd_{n-1})/2`
//!
//! Units: bytes, seconds.
//!
//! **Physics.** R_n is the mean rate over about the last RTT, with decreasing weight for older
//! data. It accepts ACKs in bunches: an ACK with no time since the last adds L_n/RTT, and a pause
//! divides. With the receiver's clock the effect of the return path on ACKs does not matter either.
//! R_n*RTT is then the data delivered in the last round trip: rate control stops the growth and
//! removes the data that has not arrived. A router that marks all packets, and not some, leaves no
//! doubt about a loss: a loss without a mark was not caused by a long queue.
//!
//! **When it works.** All bottlenecks mark, well before they overflow, and faster than a queue can
//! fill.
//!
//! **Limits.**
//! * Where routers do not mark, no loss ever reduces the window: it grows until the timer fires. A
//!   drop-tail queue stays full and keeps dropping, packets of other flows too. With a recovery
//!   that detects lost retransmissions (RACK) the timer hardly ever fires, and soon the link
//!   carries little but retransmissions.
//! * Also, random losses without marks do not end slow start: only a timeout sets ssthresh.
//! * RTT includes the queue, so ownd does not drain a queue: marks hold it at the router's
//!   threshold (a test below).
//! * An unmarked timeout leaves almost the whole window, although everything in flight was just
//!   found lost: a burst, on a path that may be gone.
//!
//! **Choices where the source is silent or contradicts itself.**
//! * RTT is the sender's smoothed RTT in both equations; ns-3 uses the latest sample, and neither
//!   the minimum.
//! * R_0 is 0; the thesis's listing has 1, without a unit. The first ACK only sets t_0, because the
//!   time over which its data arrived is unknown. Before R is known, ownd is the minimum ssthresh,
//!   two segments.
//! * For the window after a timeout the listing has `(ownd_n + ownd_{n-1})/2` and the text
//!   `(ownd_n + cwnd_{n-1})/2`, also for New Jersey; the code follows the listing, and with
//!   `keeps=window` the text. `keeps=segment` leaves one segment, as every other algorithm does: it
//!   shows how much of New Jersey's gain is its timeout. A repeated timeout for the same data
//!   leaves one segment: the estimate is then older than the silence (RFC 5681 section 3.1).
//! * A mark, a loss or a timeout never raises the window: where ownd is greater, slow start raises
//!   it to ownd.
//! * Without receiver times t_n is the arrival time of the ACK: TCP-Jersey's estimate.
//! * Every byte counts once ([`Ack::acked`]): with SACK each duplicate ACK counts what it
//!   delivered; without SACK the cumulative ACK counts everything that arrived since the last one.
//!   For R_n the result is the same after one RTT, because it is linear.

use crate::building_blocks::rule::{Rule, WindowController, grow_as_reno};
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Loss, LossResponse, Signal, Timeout, TransportFeatures, Verdict};
use crate::registry::entry::{
    Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, ParseController, Text, Values, code,
};
use whimbrel_units::{Bytes, Duration, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "newjersey",
    code: code!("algorithms/random_loss/newjersey.rs"),
    summary: "Reno that reduces the window only on ECN marks, to the data that arrived in a round \
              trip",
    citation: "K. Xu, Y. Tian, N. Ansari, \"Improving TCP performance in integrated wireless \
               communications networks\", Computer Networks 47(2), 2005",
    parameters: &[KEEPS],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::LossesAndRate,
        build: |setup, values| {
            Box::new(
                WindowController::new(setup, NewJersey::new(Keeps::of(values)))
                    .with_transport_features(
                        TransportFeatures::MARKS.union(TransportFeatures::RECEIVER_TIMES),
                    ),
            )
        },
    },
    look: Look::of(23, 9),
    without_receiver_clock: Some("it measured rates by the arrival of acknowledgments"),
    ..Entry::BLANK
};

/// The parameter of New Jersey and New Jersey+.
pub(crate) const KEEPS: Parameter = Parameter {
    name: "keeps",
    domain: Domain::Text(Text::new("estimates", Keeps::check)),
    meaning: "window after a timeout without a mark: `estimates` (the mean of the last two \
              estimates), `window` (the mean of the estimate and the window) or `segment` (one)",
};

/// The window that a timeout without a mark leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// `(ownd_n + ownd_{n-1})/2`: the thesis's listing.
    Estimates,
    /// `(ownd_n + cwnd)/2`: the thesis's text.
    Window,
    /// One segment.
    Segment,
}

impl Keeps {
    const ALL: [(&'static str, Self); 3] = [
        ("estimates", Self::Estimates),
        ("window", Self::Window),
        ("segment", Self::Segment),
    ];

    fn named(text: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, keeps)| keeps)
    }

    fn check(text: &str, _: ParseController) -> Result<(), String> {
        match Self::named(text) {
            Some(_) => Ok(()),
            None => Err(format!("`estimates`, `window` or `segment`, not `{text}`")),
        }
    }

    /// The value of [`KEEPS`].
    pub fn of(values: &Values) -> Self {
        Self::named(&values.text("keeps")).unwrap_or(Self::Estimates)
    }
}

/// The response to a loss without a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unwarned {
    /// Retransmission only: New Jersey.
    Keep,
    /// `ssthresh = ownd`, and growth by one segment: New Jersey+.
    Push,
}

/// The rule of New Jersey and New Jersey+.
#[derive(Debug, Clone)]
pub(crate) struct NewJersey {
    /// The estimate by the receiver's clock, or by the sender's.
    at_receiver: Abe,
    /// The receiver's clock is not used: TCP-Jersey.
    sender_only: bool,
    /// The estimate by the sender's clock, if the greater of the two is used: New Jersey+.
    at_sender: Option<Abe>,
    unwarned: Unwarned,
    keeps: Keeps,
    /// ownd_n and ownd_{n-1}, bytes.
    ownd: [f64; 2],
    /// The last ACK had a mark.
    warned: bool,
    /// The next ACK that may let the window grow adds a segment.
    push: bool,
}

impl NewJersey {
    pub fn new(keeps: Keeps) -> Self {
        Self {
            at_receiver: Abe::default(),
            sender_only: false,
            at_sender: None,
            unwarned: Unwarned::Keep,
            keeps,
            ownd: [0.0; 2],
            warned: false,
            push: false,
        }
    }

    /// TCP-Jersey (`jersey.rs`).
    pub fn jersey() -> Self {
        Self {
            sender_only: true,
            ..Self::new(Keeps::Segment)
        }
    }

    /// New Jersey+ (`newjersey_plus.rs`).
    pub fn plus(keeps: Keeps) -> Self {
        Self {
            at_sender: Some(Abe::default()),
            unwarned: Unwarned::Push,
            ..Self::new(keeps)
        }
    }

    /// ownd_n, bytes.
    fn ownd(&self) -> u64 {
        self.ownd[0] as u64
    }

    /// Equations 2.6 and 2.7.
    fn estimate(&mut self, ack: &Ack) {
        let by_receiver = ack.receiver_time.filter(|_| !self.sender_only);
        let arrived = by_receiver.unwrap_or(ack.now);
        let mut bandwidth = self.at_receiver.on_ack(arrived, ack.acked, ack.srtt);
        if let Some(at_sender) = &mut self.at_sender {
            bandwidth = bandwidth.max(at_sender.on_ack(ack.now, ack.acked, ack.srtt));
        }
        self.ownd = [bandwidth * ack.srtt.as_secs_f64(), self.ownd[0]];
    }
}

impl Rule for NewJersey {
    const CLASSIFIES_LOSSES: bool = true;

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.estimate(ack);
        self.warned = ack.ece;
        if self.warned {
            return; // The response to the mark follows as an episode.
        }
        if self.push && Window::may_grow(ack) {
            window.cwnd = window.cwnd.saturating_add(window.mss);
            self.push = false;
        }
        grow_as_reno(window, ack, SLOW_START_LIMIT);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        let verdict = match (loss.signal, loss.ece) {
            (Signal::Ecn, _) => Verdict::Congestion,
            (Signal::Loss, true) => loss.verdict(Verdict::Congestion),
            (Signal::Loss, false) => loss.verdict(Verdict::Random),
        };
        match (verdict, self.unwarned) {
            (Verdict::Congestion, _) => {
                self.push = false;
                window.reduce_to(self.ownd());
            }
            (Verdict::Random, Unwarned::Keep) => {}
            (Verdict::Random, Unwarned::Push) => {
                self.push = true;
                window.set_ssthresh(self.ownd());
            }
        }
        LossResponse {
            reduced: verdict == Verdict::Congestion,
            verdict: Some(verdict),
            confidence: None,
        }
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Timeout) {
        self.push = false;
        if self.warned || self.keeps == Keeps::Segment {
            window.collapse(Some(self.ownd()));
        } else {
            let cwnd = window.cwnd;
            let other = match self.keeps {
                Keeps::Window => cwnd as f64,
                Keeps::Estimates | Keeps::Segment => self.ownd[1],
            };
            let mean = (self.ownd[0] + other) / 2.0;
            window.reduce_to(self.ownd());
            window.cwnd = cwnd.min((mean as u64).max(window.mss));
        }
    }
}

/// Available bandwidth by one clock (equation 2.6).
#[derive(Debug, Clone, Copy, Default)]
struct Abe {
    /// R_n, bytes per second.
    bandwidth: f64,
    /// t_n.
    last: Option<Time>,
}

impl Abe {
    /// R_n, after data that arrived at `arrived` on a clock of which only differences have a
    /// meaning.
    fn on_ack(&mut self, arrived: Time, acked: Bytes, rtt: Duration) -> f64 {
        if let Some(last) = self.last.replace(arrived) {
            let rtt = rtt.as_secs_f64();
            let over = arrived.since(last).as_secs_f64() + rtt;
            if over > 0.0 {
                self.bandwidth = (rtt * self.bandwidth + acked.get() as f64) / over;
            }
        }
        self.bandwidth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::testing::{ACK, Bottleneck, MSS, Path, loss, newreno, segments, setup, timeout};
    use whimbrel_units::Rate;

    const RTT: Duration = Duration::from_millis(100);

    /// An ACK of `segments` segments at `ms` milliseconds, for data that arrived at `arrived` by
    /// the receiver's clock.
    fn ack(ms: u64, arrived: Option<u64>, segments: u64) -> Ack {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        Ack {
            now: at(ms),
            receiver_time: arrived.map(at),
            acked: Bytes::new(segments * MSS),
            cwnd_limited: false,
            ..ACK
        }
    }

    fn newjersey(segments: u64) -> WindowController<NewJersey> {
        keeping(segments, Keeps::Estimates)
    }

    fn keeping(segments: u64, keeps: Keeps) -> WindowController<NewJersey> {
        WindowController::new(&setup(segments), NewJersey::new(keeps))
    }

    /// Sends `controller` 200 segments per second for a long time: with an RTT of 100 ms, ownd is
    /// 20 segments.
    fn measuring(mut controller: WindowController<NewJersey>) -> WindowController<NewJersey> {
        for i in 0..2000 {
            controller.on_ack(&ack(5 * i, Some(777 + 5 * i), 1));
        }
        assert!((controller.rule.ownd() as f64 / 20_000.0 - 1.0).abs() < 1e-3);
        controller
    }

    fn lose(controller: &mut WindowController<NewJersey>, ece: bool) -> LossResponse {
        controller.on_loss(&Loss {
            ece,
            ..loss(controller, Time::ZERO)
        })
    }

    #[test]
    fn the_estimate_matches_a_computation_by_hand() {
        // RTT 0.1 s, 1000 bytes. R_1 after 0.1 s: 1000/0.2 = 5000. R_2 with the same t: (500 +
        // 1000)/0.1 = 15,000. R_3 after 0.3 s, of three segments: (1500 + 3000)/0.4 = 11,250; ownd
        // = 1125 bytes.
        let mut abe = Abe::default();
        let mut on_ack = |ms, segments| {
            let at = Time::ZERO + Duration::from_millis(ms);
            abe.on_ack(at, Bytes::new(segments * MSS), RTT)
        };
        assert_eq!(
            on_ack(40, 7),
            0.0,
            "the time over which they arrived is unknown"
        );
        for (ms, segments, expected) in [(140, 1, 5000.0), (140, 1, 15_000.0), (440, 3, 11_250.0)] {
            let bandwidth = on_ack(ms, segments);
            assert!((bandwidth - expected).abs() < 1e-6, "{bandwidth}");
        }
        let mut controller = newjersey(10);
        for (ms, segments) in [(40, 7), (140, 1), (140, 1), (440, 3)] {
            controller.on_ack(&ack(ms, None, segments));
        }
        assert_eq!(controller.rule.ownd(), 1125);
    }

    #[test]
    fn compressed_acks_are_measured_by_receiver_times() {
        // Ten ACKs arrive at once every 50 ms, for data that arrived every 5 ms: ownd is 20
        // segments. By the times of the ACKs it oscillates around that. Just after ten at once: x =
        // (x + L)/1.5 + 9*L with x in bytes per RTT, so x = (9 + 2/3)*3*L = 29 segments.
        let (mut by_receiver, mut by_sender) = (newjersey(10), newjersey(10));
        for i in 0..2000 {
            by_receiver.on_ack(&ack(i / 10 * 50, Some(5 * i), 1));
            by_sender.on_ack(&ack(i / 10 * 50, None, 1));
        }
        let (receiver, sender) = (by_receiver.rule.ownd(), by_sender.rule.ownd());
        assert!((19_900..=20_100).contains(&receiver), "{receiver}");
        assert!((28_900..=29_100).contains(&sender), "{sender}");
    }

    #[test]
    fn a_cumulative_ack_counts_as_much_as_its_duplicates() {
        // 20 segments in 100 ms: (0.1*R + 20 L)/0.2 for R = 200 L is again 200 L.
        let mut controller = measuring(newjersey(40));
        controller.on_ack(&ack(5 * 1999 + 100, Some(777 + 5 * 1999 + 100), 20));
        assert!((controller.rule.ownd() as f64 / 20_000.0 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_loss_with_a_mark_leaves_the_data_of_a_round_trip() {
        let mut controller = measuring(newjersey(40));
        let response = lose(&mut controller, true);
        assert!(response.reduced);
        assert_eq!(response.verdict, Some(Verdict::Congestion));
        assert!(
            (segments(&controller) - 20.0).abs() < 0.02,
            "{}",
            segments(&controller)
        );
        controller.on_spurious(Time::ZERO);
        assert_eq!((segments(&controller), controller.ssthresh()), (40.0, None));
    }

    #[test]
    fn a_loss_without_a_mark_is_random_and_changes_nothing() {
        let mut controller = measuring(newjersey(40));
        let response = lose(&mut controller, false);
        assert_eq!(
            (response.reduced, response.verdict),
            (false, Some(Verdict::Random))
        );
        assert_eq!((segments(&controller), controller.ssthresh()), (40.0, None));
        // A loss that cost nothing restores nothing, not even an earlier reduction.
        lose(&mut controller, true);
        lose(&mut controller, false);
        controller.on_spurious(Time::ZERO);
        assert!(segments(&controller) < 21.0);
    }

    #[test]
    fn a_known_cause_is_used_and_marks_are_congestion() {
        let mut controller = measuring(newjersey(40));
        for (ece, truth) in [(true, Verdict::Random), (false, Verdict::Congestion)] {
            let event = Loss {
                ece,
                truth: Some(truth),
                ..loss(&controller, Time::ZERO)
            };
            assert_eq!(controller.on_loss(&event).verdict, Some(truth));
        }
        let mark = Loss {
            signal: Signal::Ecn,
            truth: Some(Verdict::Random),
            ..loss(&controller, Time::ZERO)
        };
        assert_eq!(controller.on_loss(&mark).verdict, Some(Verdict::Congestion));
    }

    #[test]
    fn the_window_does_not_grow_while_routers_mark() {
        let mut controller = newjersey(10);
        controller.on_ack(&Ack { ece: true, ..ACK });
        assert_eq!(segments(&controller), 10.0);
        controller.on_ack(&ACK);
        assert_eq!(segments(&controller), 11.0);
    }

    #[test]
    fn without_marks_it_grows_as_reno() {
        let (mut controller, mut reno) = (newjersey(10), newreno(10));
        let (mut own, mut renos) = (Path::new(RTT), Path::new(RTT));
        own.rounds_for(&mut controller, RTT * 4);
        renos.rounds_for(&mut reno, RTT * 4);
        assert_eq!(segments(&controller), 160.0);
        assert_eq!(controller.cwnd(), reno.cwnd());
    }

    #[test]
    fn a_marked_timeout_leaves_one_segment() {
        let mut unwarned = measuring(newjersey(40));
        unwarned.on_timeout(&timeout(&unwarned, Time::ZERO));
        assert!((segments(&unwarned) - 20.0).abs() < 0.02);
        let again = Timeout {
            repeated: true,
            ..timeout(&unwarned, Time::ZERO)
        };
        unwarned.on_timeout(&again);
        assert_eq!(segments(&unwarned), 1.0, "the path may be gone");

        let mut warned = measuring(newjersey(40));
        warned.on_ack(&Ack {
            ece: true,
            ..ack(10_000, Some(10_777), 1)
        });
        warned.on_timeout(&timeout(&warned, Time::ZERO));
        assert_eq!(segments(&warned), 1.0);
        let ssthresh = warned.ssthresh().expect("set").get();
        assert!((19_900..=20_100).contains(&ssthresh), "{ssthresh}");
    }

    #[test]
    fn an_unmarked_timeout_leaves_the_mean_of_two_estimates() {
        // Ten times the numbers of the computation by hand: ownd is 5000, 15,000, 11,250 bytes.
        let mut controller = newjersey(40);
        for (ms, segments) in [(40, 70), (140, 10), (140, 10)] {
            controller.on_ack(&ack(ms, None, segments));
        }
        let mut falling = controller.clone();
        falling.on_ack(&ack(440, None, 30));
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        let bytes = |bytes| Some(Bytes::new(bytes));
        assert_eq!(
            (Some(controller.cwnd()), controller.ssthresh()),
            (bytes(10_000), bytes(15_000))
        );
        falling.on_timeout(&timeout(&falling, Time::ZERO));
        assert_eq!(
            (Some(falling.cwnd()), falling.ssthresh()),
            (bytes(13_125), bytes(11_250))
        );
    }

    #[test]
    fn what_a_timeout_keeps_can_be_chosen() {
        // ownd is 20 segments and the window 40: (20 + 40)/2.
        let after = |keeps| {
            let mut controller = measuring(keeping(40, keeps));
            controller.on_timeout(&timeout(&controller, Time::ZERO));
            segments(&controller)
        };
        assert!((after(Keeps::Window) - 30.0).abs() < 0.02);
        assert_eq!(after(Keeps::Segment), 1.0);
    }

    /// 8 Mbit/s and 100 ms: 1000 segments per second and 100 in flight, with a buffer of 100.
    fn path(random: f64, mark: Option<usize>) -> Bottleneck {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(8_000_000), 100);
        path.loss = random;
        path.mark = mark;
        path.add(Box::new(newjersey(10)), RTT);
        path
    }

    #[test]
    fn with_marks_random_losses_cost_no_rate() {
        let mut path = path(0.01, Some(20));
        path.run(Duration::from_secs(20));
        let before = path.flows[0].delivered;
        let (queue, _) = path.run(Duration::from_secs(60));
        let rate = (path.flows[0].delivered - before) / MSS / 60;
        assert!(rate >= 990, "{rate}");
        assert!((10.0..30.0).contains(&queue), "{queue}");
    }

    #[test]
    fn without_marks_the_queue_overflows_forever() {
        let mut path = path(0.0, None);
        path.run(Duration::from_secs(20));
        let lost = path.flows[0].lost;
        let (queue, _) = path.run(Duration::from_secs(60));
        assert!(queue > 80.0, "{queue}");
        assert!(path.flows[0].lost - lost > 1000 * MSS);
    }
}
