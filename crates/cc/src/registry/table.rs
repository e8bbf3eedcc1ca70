//! The table of all algorithms and loss classifiers.

use crate::algorithms::adaptive::rta;
use crate::algorithms::bandwidth::{dtcp, westwood, westwood_plus};
use crate::algorithms::burst::aatp;
use crate::algorithms::delay::{compound, fast, illinois, vegas, yeah};
use crate::algorithms::loss::{
    bic, cubic, highspeed, hybla, lia, newreno, reno, scalable, sctp, tahoe,
};
use crate::algorithms::model::{bbr, bbr3, copa, indigo, verus, whimbrel};
use crate::algorithms::random_loss::{
    cerl, cerl_plus, cerl_plus_printed, jtcp, mveno, newjersey, newjersey_plus, tcp_nack, veno,
};
use crate::classifiers;
use crate::registry::entry::{ClassifierEntry, Entry};

/// All algorithms, in the order in which they are shown: family by family, the standards first.
/// Within a family the oldest is first, and its successors follow it.
pub static CONTROLLERS: &[&Entry] = &[
    // Loss: the standards.
    &tahoe::ENTRY,
    &reno::ENTRY,
    &newreno::ENTRY,
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
    &fast::ENTRY,
    &fast::MFAST,
    &fast::EMFAST,
    &compound::ENTRY,
    &yeah::ENTRY,
    &illinois::ENTRY,
    // Bandwidth.
    &westwood::ENTRY,
    &westwood_plus::ENTRY,
    &dtcp::ENTRY,
    // Random loss: the sender estimates which losses are random.
    &veno::ENTRY,
    &mveno::ENTRY,
    &jtcp::ENTRY,
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
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::entry::{Family, Feed, Setup, Value};
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
                match &p.default {
                    Value::Number(n) => {
                        let (min, max) = p.range;
                        assert!((min..=max).contains(n), "{name}?{}", p.name);
                    }
                    Value::Text(text) => {
                        let checked = text.with(text.as_str(), parse_controller);
                        assert_eq!(checked.err(), None, "{name}?{}", p.name);
                    }
                    Value::Switch(_) => {}
                }
            }
            let setup = Setup {
                mss: Bytes::new(1460),
                initial_window: Bytes::new(14600),
                paced: false,
                ssthresh: None,
                growth: Default::default(),
                seed: 1,
                utc: whimbrel_units::Duration::ZERO,
            };
            let spec: Spec = name.parse().expect("in the table");
            assert_eq!(spec.build(&setup).cwnd(), Bytes::new(14600), "{name}");
        }
    }

    #[test]
    fn the_table_lists_one_family_after_the_other() {
        let mut families: Vec<Family> = CONTROLLERS.iter().map(|entry| entry.family).collect();
        families.dedup();
        assert_eq!(families, Family::ALL);
    }

    #[test]
    fn an_algorithm_lies_in_the_folder_of_its_family() {
        for entry in CONTROLLERS {
            let folder = format!("crates/cc/src/algorithms/{}/", entry.family.name());
            let shown: HashSet<bool> = entry
                .code
                .iter()
                .map(|code| code.path.starts_with(&folder))
                .collect();
            assert!(shown.contains(&true), "{}", entry.name);
        }
    }

    #[test]
    fn exactly_the_burst_family_is_fed_bursts() {
        for entry in CONTROLLERS {
            let bursts = entry.feed == Feed::Bursts;
            assert_eq!(bursts, entry.family == Family::Burst, "{}", entry.name);
        }
    }
}
