//! The table of all algorithms and loss classifiers.

use crate::after_recovery::layer as ccafr;
use crate::algorithms::adaptive::rta;
use crate::algorithms::bandwidth::{dtcp, westwood, westwood_plus};
use crate::algorithms::burst::aatp;
use crate::algorithms::delay::{
    compound, fast, illinois, ledbat_plus_plus, santa_cruz, vegas, yeah,
};
use crate::algorithms::loss::{
    bic, cubic, dcr, highspeed, hybla, lia, newreno, reno, scalable, sctp, tahoe,
};
use crate::algorithms::model::{bbr, bbr3, copa, indigo, pcc, verus, whimbrel};
use crate::algorithms::random_loss::{
    cerl, cerl_plus, cerl_plus_printed, jersey, jtcp, mveno, newjersey, newjersey_plus, tcp_nack,
    veno,
};
use crate::classifiers;
use crate::registry::entry::{ClassifierEntry, Entry, LayerEntry};

/// All algorithms, in the order in which they are shown: family by family, the standards first.
/// Within a family the oldest is first, and its successors follow it.
pub static CONTROLLERS: &[&Entry] = &[
    // Loss: the standards.
    &tahoe::ENTRY,
    &reno::ENTRY,
    &newreno::ENTRY,
    &dcr::ENTRY,
    &sctp::ENTRY,
    &cubic::ENTRY,
    &lia::ENTRY,
    // Loss: for long paths and large windows.
    &highspeed::ENTRY,
    &scalable::ENTRY,
    &bic::ENTRY,
    &hybla::ENTRY,
    // Adaptive.
    &rta::NEWRENO,
    &rta::HYBLA,
    &rta::ENTRY,
    &rta::PLUS,
    // Delay.
    &vegas::ENTRY,
    &santa_cruz::ENTRY,
    &fast::ENTRY,
    &fast::MFAST,
    &fast::EMFAST,
    &compound::ENTRY,
    &yeah::ENTRY,
    &illinois::ENTRY,
    &ledbat_plus_plus::ENTRY,
    // Bandwidth.
    &westwood::ENTRY,
    &westwood_plus::ENTRY,
    &dtcp::ENTRY,
    // Random loss: the sender estimates which losses are random.
    &veno::ENTRY,
    &mveno::ENTRY,
    &jtcp::ENTRY,
    &jersey::ENTRY,
    &newjersey::ENTRY,
    &newjersey_plus::ENTRY,
    &cerl::ENTRY,
    &cerl_plus::ENTRY,
    &cerl_plus_printed::ENTRY,
    // Random loss: the receiver reports which packets arrived corrupted.
    &tcp_nack::RENO,
    &tcp_nack::WESTWOOD,
    // Model.
    &verus::ENTRY,
    &pcc::ALLEGRO,
    &pcc::VIVACE,
    &bbr::ENTRY,
    &bbr3::ENTRY,
    &copa::ENTRY,
    &indigo::ENTRY,
    &whimbrel::ENTRY,
    // Burst.
    &aatp::ORIGINAL,
    &aatp::ENHANCED,
];

/// All loss classifiers that can be put on an algorithm, in the order in which they are shown.
pub static CLASSIFIERS: &[&ClassifierEntry] = &[
    &classifiers::cerl::ENTRY,
    &classifiers::cerl_plus::ENTRY,
    &classifiers::jitter::LTD,
    &classifiers::jitter::JITTER_OR_LEVEL,
    &classifiers::eln::ENTRY,
];

/// All layers that can be put on an algorithm with a window, in the order in which they are shown.
pub static LAYERS: &[&LayerEntry] = &[&ccafr::ENTRY];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::entry::{Domain, Setup};
    use crate::registry::spec::{Spec, parse_controller};
    use std::collections::HashSet;
    use whimbrel_units::Bytes;

    #[test]
    fn every_default_is_in_its_range_and_every_name_is_unique() {
        for (i, entry) in CONTROLLERS.iter().enumerate() {
            let name = entry.name;
            assert!(CONTROLLERS[..i].iter().all(|e| e.name != name), "{name}");
            assert!(!entry.citation.is_empty() && !entry.summary.is_empty());
            for p in entry.parameters {
                match &p.domain {
                    Domain::Number { default, range } => {
                        let (min, max) = *range;
                        assert!((min..=max).contains(default), "{name}?{}", p.name);
                    }
                    Domain::Text(text) => {
                        let checked = text.with(text.as_str(), parse_controller);
                        assert_eq!(checked.err(), None, "{name}?{}", p.name);
                    }
                    Domain::Switch(_) => {}
                }
            }
            let setup = Setup {
                mss: Bytes::new(1460),
                initial_window: Bytes::new(14600),
                paced: false,
                ssthresh: None,
                growth: Default::default(),
                seed: 1,
                time_of_day: Default::default(),
                saved: None,
            };
            let spec: Spec = name.parse().expect("in the table");
            let cwnd = spec
                .build(&setup)
                .map(|controller| controller.cwnd())
                .or_else(|| Some(spec.build_for_bursts(&setup)?.flight()));
            assert_eq!(cwnd, Some(Bytes::new(14600)), "{name}");
        }
    }

    #[test]
    fn the_table_lists_one_family_after_the_other() {
        let mut families: Vec<&str> = CONTROLLERS.iter().map(|entry| entry.family()).collect();
        families.dedup();
        let different: HashSet<&str> = families.iter().copied().collect();
        assert_eq!(families.len(), different.len(), "{families:?}");
    }

    #[test]
    fn an_algorithm_lies_in_the_folder_of_its_family() {
        for entry in CONTROLLERS {
            let folder = format!("crates/cc/src/algorithms/{}/", entry.family());
            let shown: HashSet<bool> = entry
                .code
                .iter()
                .map(|code| code.path.starts_with(&folder))
                .collect();
            assert!(shown.contains(&true), "{}", entry.name);
        }
    }

    #[test]
    fn an_entry_says_what_an_algorithm_does_without_the_clock_it_uses() {
        for entry in CONTROLLERS {
            let spec: Spec = entry.name.parse().expect("in the table");
            let uses = spec.transport_features().receiver_times;
            assert_eq!(uses, entry.without_receiver_clock.is_some(), "{spec}");
        }
        for entry in CLASSIFIERS {
            let spec: Spec = format!("cubic+{}", entry.name).parse().expect("combined");
            let uses = spec.transport_features().receiver_times;
            assert_eq!(uses, entry.without_receiver_clock.is_some(), "{spec}");
        }
    }

    #[test]
    fn ranks_of_looks_are_consecutive() {
        let looks = CONTROLLERS.iter().filter_map(|entry| entry.look);
        let mut ranks: Vec<usize> = looks.map(|look| look.rank).collect();
        ranks.sort_unstable();
        let expected: Vec<usize> = (0..ranks.len()).collect();
        assert_eq!(ranks, expected);
    }

    #[test]
    fn an_old_name_is_no_other_algorithms_name() {
        for entry in CONTROLLERS {
            for name in [Some(entry.name), entry.old_name].into_iter().flatten() {
                let called = CONTROLLERS.iter().filter(|other| other.is_called(name));
                assert_eq!(called.count(), 1, "{name}");
            }
        }
    }
}
