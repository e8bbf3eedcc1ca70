//! HyStart++: leaves slow start when the round-trip time rises, before the queue overflows.
//!
//! P. Balasubramanian, Y. Huang, M. Olson, "HyStart++: Modified Slow Start for TCP", RFC 9406, 2023.
//!
//! A round is one round trip ([`Ack::round_start`]). With the least RTT of this round and of the last:
//!
//! * slow start: `cwnd += min(N, L*SMSS)`; once the round has 8 samples and its least RTT is
//!   `RttThresh = clamp(last/8, 4 ms, 16 ms)` above the last round's, conservative slow start (CSS) begins
//! * CSS: `cwnd += min(N, L*SMSS)/4`; if a round's least RTT falls below the one that began it, the rise was
//!   jitter and slow start resumes; after 5 rounds, the one it began in included, `ssthresh = cwnd`
//!
//! Only in the initial slow start: later ones know where to stop (section 4.3). L is 8, the RFC's value for
//! a sender that does not pace, and without bound for one that does ([`Setup::paced`](crate::Setup)).
//!
//! **The physics.** In slow start a window leaves in one burst at twice the link's rate, and the next begins with an
//! empty link, as long as a window is less than the bandwidth-delay product (BDP). Each round's first packets meet no
//! queue then, and the least RTT does not rise.
//!
//! **When not.** On long paths without pacing the rise comes late: a window just below a BDP shows none, the next, of two,
//! is sent before that is known, and of the third, of four, all but what one round trip brought has left when the
//! first samples of the risen RTT arrive. With a queue of one BDP, which holds two in all, CSS begins with nearly four in
//! flight, some milliseconds before the first loss is noticed: HyStart++ saves nothing. (1 Gbit/s, 260 ms, queue of a
//! BDP, 21,667 packets: the window goes 20,480, 40,960, 82,000; 40,000 packets are lost.) Where the windows happen to fall
//! otherwise, or with a deeper queue or a pace, it does. Linux' HyStart of 2008 also ends slow start when
//! the acknowledgments of a window take half of the least RTT, and does not overshoot there: RFC 9406 left that out.
//!
//! Departs in nothing. Where the RFC is silent: rounds and samples are counted even while the window
//! may not grow.

use crate::building_blocks::window::Window;
use crate::interface::Ack;
use whimbrel_units::Duration;

/// Least rise of the RTT that counts (section 4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// Rise of the RTT that always counts (section 4.3).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// The rise that counts, as a divisor of the last round's least RTT (section 4.3).
const MIN_RTT_DIVISOR: u64 = 8;
/// RTT samples a round must have before it is judged (section 4.3).
const N_RTT_SAMPLE: u32 = 8;
/// How much slower than slow start CSS grows (section 4.3).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Rounds of CSS before slow start is over (section 4.3).
const CSS_ROUNDS: u32 = 5;
/// Most segments the window grows by per ACK: L without pacing (section 4.3).
const L: u64 = 8;

/// How a law does its slow start: by HyStart++ in the initial one if it is on, else by RFC 3465.
#[derive(Debug, Clone)]
pub(crate) struct SlowStart {
    /// L of RFC 3465, segments.
    limit: u64,
    hystart: Option<HyStart>,
}

impl SlowStart {
    /// `limit` is L of RFC 3465, 1 or 2 segments; it rules wherever HyStart++ does not.
    pub fn new(limit: u64, hystart: bool) -> Self {
        Self {
            limit,
            hystart: hystart.then(HyStart::default),
        }
    }

    /// Takes in one ACK while `window` is in slow start. Returns the bytes left over for congestion
    /// avoidance.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) -> u64 {
        let acked = if Window::may_grow(ack) {
            ack.acked.get()
        } else {
            0
        };
        match &mut self.hystart {
            Some(hystart) if window.in_initial_slow_start() => hystart.on_ack(window, ack, acked),
            _ => window.slow_start(acked, self.limit),
        }
    }

    /// The phase while `window` is in slow start, for a trace.
    pub fn phase(&self, window: &Window) -> &'static str {
        match self.hystart {
            Some(HyStart { css: Some(_), .. }) if window.in_initial_slow_start() => {
                "conservative slow start"
            }
            _ => "slow start",
        }
    }
}

/// The state of RFC 9406 section 4.2. No sample is the RFC's infinity.
#[derive(Debug, Clone, Default)]
struct HyStart {
    /// `lastRoundMinRTT`.
    last_round: Option<Duration>,
    /// `currentRoundMinRTT`.
    this_round: Option<Duration>,
    /// `rttSampleCount`.
    samples: u32,
    css: Option<Css>,
}

/// Conservative slow start.
#[derive(Debug, Clone)]
struct Css {
    /// `cssBaselineMinRtt`: the least RTT of the round that began it.
    baseline: Duration,
    /// Rounds completed in it, the partial first one included.
    rounds: u32,
}

impl HyStart {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, acked: u64) -> u64 {
        if ack.round_start && self.next_round() {
            window.end_slow_start();
            return if window.in_slow_start() { 0 } else { acked };
        }
        let grow = match self.css {
            None => acked,
            Some(_) => window.limited(acked, L) / CSS_GROWTH_DIVISOR,
        };
        // ssthresh is still without bound: nothing is left over.
        window.slow_start(grow, L);
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        0
    }

    /// A round ends and the next begins. Whether slow start is over.
    fn next_round(&mut self) -> bool {
        self.last_round = self.this_round.take();
        self.samples = 0;
        self.css.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= CSS_ROUNDS
        })
    }

    fn sample(&mut self, rtt: Duration) {
        let least = self.this_round.map_or(rtt, |least| least.min(rtt));
        self.this_round = Some(least);
        self.samples = self.samples.saturating_add(1);
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match (&self.css, self.last_round) {
            (Some(css), _) if least < css.baseline => self.css = None,
            (None, Some(last)) if least >= last.saturating_add(threshold(last)) => {
                self.css = Some(Css {
                    baseline: least,
                    rounds: 0,
                });
            }
            _ => {}
        }
    }
}

/// `RttThresh`, by how much the least RTT of a round must rise above `last`, the previous round's.
fn threshold(last: Duration) -> Duration {
    (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, MSS, setup};
    use whimbrel_units::Bytes;

    /// Slow start from ten segments with HyStart++.
    fn begin() -> (SlowStart, Window) {
        (SlowStart::new(2, true), Window::new(&setup(10)))
    }

    /// A round of `acks` ACKs of one segment, all with the same RTT in milliseconds.
    fn round(slow_start: &mut SlowStart, window: &mut Window, rtt_ms: u64, acks: u64) {
        for i in 0..acks {
            let rtt = Some(Duration::from_millis(rtt_ms));
            slow_start.on_ack(
                window,
                &Ack {
                    rtt,
                    round_start: i == 0,
                    ..ACK
                },
            );
        }
    }

    fn in_css(slow_start: &SlowStart, window: &Window) -> bool {
        slow_start.phase(window) == "conservative slow start"
    }

    #[test]
    fn a_rise_of_an_eighth_of_the_rtt_within_4_and_16_ms_begins_css() {
        // RTT of the first round, least RTT of the second that begins CSS.
        for (before, enough) in [(8, 12), (32, 36), (80, 90), (128, 144), (400, 416)] {
            let (mut ss, mut window) = begin();
            round(&mut ss, &mut window, before, 10);
            round(&mut ss, &mut window, enough - 1, 20);
            assert!(!in_css(&ss, &window), "{before} ms to {} ms", enough - 1);

            let (mut ss, mut window) = begin();
            round(&mut ss, &mut window, before, 10);
            round(&mut ss, &mut window, enough, 20);
            assert!(in_css(&ss, &window), "{before} ms to {enough} ms");
        }
    }

    #[test]
    fn seven_samples_are_too_few_and_eight_are_enough() {
        let (mut ss, mut window) = begin();
        round(&mut ss, &mut window, 100, 10);
        round(&mut ss, &mut window, 150, 7);
        assert!(!in_css(&ss, &window));
        ss.on_ack(&mut window, &Ack { rtt: None, ..ACK });
        assert!(
            !in_css(&ss, &window),
            "an ACK without a sample is no sample"
        );
        let late = Some(Duration::from_millis(150));
        ss.on_ack(&mut window, &Ack { rtt: late, ..ACK });
        assert!(in_css(&ss, &window));
    }

    #[test]
    fn one_low_sample_in_a_round_says_there_is_no_queue() {
        let (mut ss, mut window) = begin();
        round(&mut ss, &mut window, 100, 10);
        let low = Some(Duration::from_millis(101));
        ss.on_ack(
            &mut window,
            &Ack {
                rtt: low,
                round_start: true,
                ..ACK
            },
        );
        for _ in 0..20 {
            let high = Some(Duration::from_millis(200));
            ss.on_ack(&mut window, &Ack { rtt: high, ..ACK });
        }
        assert!(!in_css(&ss, &window));
    }

    #[test]
    fn css_grows_by_a_quarter_of_slow_start() {
        let (mut ss, mut window) = begin();
        round(&mut ss, &mut window, 100, 10);
        assert_eq!(window.cwnd, 20 * MSS, "slow start doubles");
        round(&mut ss, &mut window, 150, 8);
        assert_eq!(window.cwnd, 28 * MSS);
        assert!(in_css(&ss, &window));
        round(&mut ss, &mut window, 150, 28);
        assert_eq!(window.cwnd, 35 * MSS, "a quarter of 28 segments more");
    }

    #[test]
    fn an_ack_grows_the_window_by_at_most_eight_segments() {
        let (mut ss, mut window) = begin();
        ss.on_ack(
            &mut window,
            &Ack {
                acked: Bytes::new(100 * MSS),
                ..ACK
            },
        );
        assert_eq!(window.cwnd, 18 * MSS);
        round(&mut ss, &mut window, 100, 10);
        round(&mut ss, &mut window, 150, 8);
        let before = window.cwnd;
        ss.on_ack(
            &mut window,
            &Ack {
                acked: Bytes::new(100 * MSS),
                ..ACK
            },
        );
        assert_eq!(window.cwnd - before, 2 * MSS);
    }

    #[test]
    fn slow_start_is_over_after_five_rounds_of_css_the_partial_first_included() {
        let (mut ss, mut window) = begin();
        round(&mut ss, &mut window, 100, 10);
        // The first round of CSS begins with the eighth sample of this one.
        for _ in 0..5 {
            round(&mut ss, &mut window, 150, 10);
            assert!(window.in_slow_start());
        }
        let before = window.cwnd;
        let leftover = ss.on_ack(
            &mut window,
            &Ack {
                round_start: true,
                ..ACK
            },
        );
        assert_eq!((window.cwnd, window.ssthresh), (before, before));
        assert_eq!(
            leftover, MSS,
            "the ACK that ends it counts in congestion avoidance"
        );
    }

    #[test]
    fn slow_start_resumes_when_the_rtt_falls_back() {
        let (mut ss, mut window) = begin();
        round(&mut ss, &mut window, 100, 10);
        round(&mut ss, &mut window, 150, 10);
        assert!(in_css(&ss, &window));
        round(&mut ss, &mut window, 149, 7);
        assert!(in_css(&ss, &window), "seven samples do not decide");
        round(&mut ss, &mut window, 149, 8);
        assert!(!in_css(&ss, &window));
        let before = window.cwnd;
        ss.on_ack(&mut window, &ACK);
        assert_eq!(window.cwnd - before, MSS, "full speed again");
        // and HyStart++ goes on: a rise from 149 ms begins CSS anew.
        round(&mut ss, &mut window, 165, 8);
        assert!(in_css(&ss, &window));
    }

    #[test]
    fn later_slow_starts_are_standard_ones() {
        let (mut ss, mut window) = begin();
        window.collapse(Some(100 * MSS));
        round(&mut ss, &mut window, 100, 10);
        round(&mut ss, &mut window, 200, 20);
        assert_eq!(ss.phase(&window), "slow start");
        assert_eq!(window.cwnd, 31 * MSS);
    }
}
