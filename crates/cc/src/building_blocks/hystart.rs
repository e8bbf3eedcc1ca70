//! HyStart++: ends slow start when the round-trip time rises, before the queue overflows.
//!
//! P. Balasubramanian, Y. Huang, M. Olson, "HyStart++: Modified Slow Start for TCP", RFC 9406,
//! 2023.
//!
//! A round is one round trip ([`Ack::round_start`]). With the minimum RTT of this round and of the
//! last one:
//!
//! * slow start: `cwnd += min(N, L*SMSS)`; when the round has 8 samples and its minimum RTT exceeds
//!   the last round's by `RttThresh = clamp(last/8, 4 ms, 16 ms)`, conservative slow start (CSS)
//!   begins
//! * CSS: `cwnd += min(N, L*SMSS)/4`; if a round's minimum RTT falls below that of the round that
//!   began CSS, the rise was jitter and slow start resumes; after 5 rounds, including the one in
//!   which CSS began, `ssthresh = cwnd`
//!
//! It applies to the initial slow start only: later ones have an ssthresh (section 4.3). L is 8,
//! the RFC's value for a sender that does not pace, and infinite for one that does
//! ([`Setup::paced`](crate::Setup)).
//!
//! **The physics.** In slow start a window leaves in one burst at twice the link's rate. The next
//! one begins with an empty link, as long as a window is less than the bandwidth-delay product
//! (BDP). Each round's first packets then meet no queue, and the minimum RTT does not rise.
//!
//! **When not.** On long paths without pacing the rise comes too late. A window just below one BDP
//! shows none; the next one, of two BDP, is sent before its rise is known; and of the third, of
//! four BDP, all but one round trip's growth has left when the first samples of the risen RTT
//! arrive. With a buffer of one BDP (two BDP in all) CSS begins with nearly four BDP in flight,
//! some milliseconds before the sender detects the first loss: HyStart++ prevents nothing. (1
//! Gbit/s, 260 ms, buffer of one BDP, 21,667 packets: the window goes 20,480, 40,960, 82,000;
//! 40,000 packets are lost.) It prevents losses where the windows happen to fall otherwise, with a
//! deeper buffer, or with pacing. Linux's HyStart of 2008 also ends slow start when the
//! acknowledgments of one window span half of the minimum RTT, and does not overshoot there; RFC
//! 9406 left that out.
//!
//! No departures. Where the RFC is silent: rounds and samples are counted even while the window may
//! not grow.

use crate::building_blocks::window::Window;
use crate::interface::Ack;
use whimbrel_units::Duration;

/// Minimum rise of the RTT that counts (section 4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// A rise of the RTT that always counts (section 4.3).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// The rise that counts is the last round's minimum RTT divided by this (section 4.3).
const MIN_RTT_DIVISOR: u64 = 8;
/// RTT samples that a round must have before it is judged (section 4.3).
const N_RTT_SAMPLE: u32 = 8;
/// The divisor of growth in CSS against slow start (section 4.3).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Rounds of CSS after which slow start ends (section 4.3).
const CSS_ROUNDS: u32 = 5;
/// Maximum growth per ACK, segments: L without pacing (section 4.3).
const L: u64 = 8;

/// Slow start: by HyStart++ in the initial one if it is enabled, else by RFC 3465.
#[derive(Debug, Clone)]
pub(crate) struct SlowStart {
    /// L of RFC 3465, segments.
    limit: u64,
    hystart: Option<HyStart>,
}

impl SlowStart {
    /// `limit` is L of RFC 3465, 1 or 2 segments; it applies wherever HyStart++ does not.
    pub fn new(limit: u64, hystart: bool) -> Self {
        Self {
            limit,
            hystart: hystart.then(HyStart::default),
        }
    }

    /// Processes one ACK while `window` is in slow start. Returns the bytes left for congestion
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

    /// The name of the phase while `window` is in slow start, for traces.
    pub fn phase(&self, window: &Window) -> &'static str {
        match self.hystart {
            Some(HyStart { css: Some(_), .. }) if window.in_initial_slow_start() => {
                "conservative slow start"
            }
            _ => "slow start",
        }
    }
}

/// The state of RFC 9406 section 4.2. `None` is the RFC's infinity.
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
    /// `cssBaselineMinRtt`: the minimum RTT of the round in which CSS began.
    baseline: Duration,
    /// Rounds completed in CSS, including the partial first one.
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
        // ssthresh is still infinite: nothing is left over.
        window.slow_start(grow, L);
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        0
    }

    /// Ends a round and begins the next. Returns whether slow start ends.
    fn next_round(&mut self) -> bool {
        self.last_round = self.this_round.take();
        self.samples = 0;
        self.css.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= CSS_ROUNDS
        })
    }

    fn sample(&mut self, rtt: Duration) {
        let min = self.this_round.map_or(rtt, |min| min.min(rtt));
        self.this_round = Some(min);
        self.samples = self.samples.saturating_add(1);
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match (&self.css, self.last_round) {
            (Some(css), _) if min < css.baseline => self.css = None,
            (None, Some(last)) if min >= last.saturating_add(threshold(last)) => {
                self.css = Some(Css {
                    baseline: min,
                    rounds: 0,
                });
            }
            _ => {}
        }
    }
}

/// `RttThresh`: by how much the minimum RTT of a round must exceed `last`, the previous round's, to
/// show a queue.
pub(crate) fn threshold(last: Duration) -> Duration {
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
        // RTT of the first round, and the minimum RTT of the second one that begins CSS.
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
    fn a_round_is_judged_from_eight_samples_on() {
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
    fn one_low_sample_in_a_round_shows_an_empty_queue() {
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
    fn slow_start_ends_after_five_rounds_of_css_with_the_partial_first() {
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
        // HyStart++ continues: a rise from 149 ms begins CSS again.
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
