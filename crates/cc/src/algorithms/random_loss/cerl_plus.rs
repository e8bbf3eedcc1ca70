//! TCP CERL+: NewReno that ignores the losses that CERL+'s classifier judges random.
//!
//! After T. Saedi, "Congestion Control Enhancement Over Wireless Networks", MSc thesis, Lakehead
//! University, 2019, chapter 4. `classifiers/cerl_plus.rs` has the equations and the departures
//! from the thesis; `cerl_plus_printed.rs` is the formula as printed in the thesis.

use crate::algorithms::random_loss::cerl::{ONCE_PER_WINDOW, on_newreno};
use crate::classifiers::cerl_plus::{CITATION, CerlPlus, MEAN_QUEUE, MEMORY, POWER};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};

/// The registry entry of CERL+.
pub(crate) static ENTRY: Entry = Entry {
    name: "cerl-plus",
    code: code!(
        "classifiers/cerl_plus.rs",
        "classifiers/cerl.rs",
        "estimators/rtt_stats.rs",
        "algorithms/random_loss/cerl_plus.rs",
        "algorithms/random_loss/cerl.rs",
        "algorithms/loss/newreno.rs"
    ),
    summary: "NewReno that ignores losses while the queue is short, with a threshold from the \
              path's delays",
    citation: CITATION,
    parameters: &[POWER, MEMORY, MEAN_QUEUE, ONCE_PER_WINDOW],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| on_newreno(setup, values, CerlPlus::from(values)),
    },
    look: Look::of(5, 3),
    ..Entry::BLANK
};

#[cfg(test)]
mod tests {
    use crate::testing::{Bottleneck, built};
    use whimbrel_units::{Duration, Rate};

    #[test]
    fn it_shares_a_link_with_newreno_and_the_printed_one_does_not() {
        // 10 Mbit/s x 50 ms and a buffer of one BDP without random loss: an algorithm that backs
        // off as NewReno does shares with it.
        let share = |text: &str| {
            let mut path = Bottleneck::new(Rate::from_bits_per_sec(10_000_000), 62);
            for text in [text, "newreno"] {
                let controller = built(text, 10);
                path.add(controller, Duration::from_millis(50));
            }
            path.run(Duration::from_secs(60));
            let delivered = |flow: usize| path.flows[flow].delivered as f64;
            delivered(1) / (delivered(0) + delivered(1))
        };
        let usable = share("cerl-plus");
        assert!((0.35..0.65).contains(&usable), "{usable}");
        let printed = share("cerl-plus-printed");
        assert!(printed < 0.15, "{printed}");
    }
}
