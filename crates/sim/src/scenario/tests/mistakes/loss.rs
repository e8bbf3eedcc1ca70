//! Mistakes in `loss` of a link.

use super::super::MINIMAL;
use super::{check, link_key};

#[test]
fn mistakes_in_losses_are_explained() {
    check(&[
        (
            link_key("los = \"1 %\""),
            "scenario.toml:3: link.L: unknown key `los`, did you mean `loss`?",
        ),
        (
            link_key("loss = \"1 percent\""),
            "scenario.toml:3: link.L.loss: `1 percent` is not a probability: unknown unit `percent`, the units are %; write e.g. `1 %`",
        ),
        (
            link_key("loss = { gilbert-eliott = {} }"),
            "scenario.toml:3: link.L.loss: unknown key `gilbert-eliott`, did you mean `gilbert-elliott`?",
        ),
        (
            link_key("loss = { gilbert-elliott = { god = \"1 s\" } }"),
            "scenario.toml:3: link.L.loss.gilbert-elliott: unknown key `god`, did you mean `good`?",
        ),
        (
            link_key("loss = { gilbert-elliott = { good = \"1 s\", r = 0.2 } }"),
            "scenario.toml:3: link.L.loss.gilbert-elliott: needs either the mean durations `good` and `bad` of the two states, e.g. `{ good = \"10 s\", bad = \"0.5 s\" }`, or the probabilities per packet `p` (good to bad) and `r` (bad to good), e.g. `{ p = \"1 %\", r = \"20 %\" }`",
        ),
        (
            link_key("loss = { gilbert-elliott = { p = \"1 %\", r = 2 } }"),
            "scenario.toml:3: link.L.loss.gilbert-elliott.r: 2 is not a probability: it must be from 0 to 1 (0 % to 100 %)",
        ),
        (
            link_key("loss = { random_outages = { count = 3 } }"),
            "scenario.toml:3: link.L.loss.random_outages: `length` is missing; write e.g. `length = \"0.5 s\"`",
        ),
        (
            link_key("loss = { random_outages = { count = 61, length = \"1 s\" } }"),
            "scenario.toml:3: link.L.loss.random_outages: 61 outages of 1 s do not fit into 60 s",
        ),
        (
            link_key(
                "loss = { random_outages = { count = 1, length = \"1 s\", within = [\"9 s\", \"9 s\"] } }",
            ),
            "scenario.toml:3: link.L.loss.random_outages: 1 outages of 1 s do not fit into 0 s",
        ),
        (
            link_key(
                "loss = { random_outages = { count = 1, length = \"1 s\", within = \"9 s\" } }",
            ),
            "scenario.toml:3: link.L.loss.random_outages.within: must be a list, not a string",
        ),
        (
            link_key("loss = { random_outages = { count = 1, length = \"0 s\" } }"),
            "scenario.toml:3: link.L.loss.random_outages: outages must be longer than zero",
        ),
        (
            link_key("loss = { random_outages = { count = -1, length = \"1 s\" } }"),
            "scenario.toml:3: link.L.loss.random_outages.count: must be from 0 to 100000, not -1",
        ),
        (
            link_key("loss = { outages = [[\"5 s\", \"4 s\"]] }"),
            "scenario.toml:3: link.L.loss.outages: the outage from 5 s to 4 s must end after it begins",
        ),
        (
            link_key("loss = { outages = [[\"1 s\", \"4 s\"], [\"3 s\", \"5 s\"]] }"),
            "scenario.toml:3: link.L.loss.outages: outages must be in time order and must not overlap",
        ),
        (
            link_key("loss = { drops = [\"5 s\", \"5 s\"] }"),
            "scenario.toml:3: link.L.loss.drops: drops must be in time order, each later than the one before",
        ),
        (
            link_key("loss = { drops = \"5 s\" }"),
            "scenario.toml:3: link.L.loss.drops: must be a list, not a string",
        ),
        (
            link_key("loss = { drop = [\"5 s\"] }"),
            "scenario.toml:3: link.L.loss: unknown key `drop`, did you mean `drops`?",
        ),
        (
            link_key("reverse = { los = 0 }"),
            "scenario.toml:3: link.L.reverse: unknown key `los`, did you mean `loss`?",
        ),
        (
            MINIMAL.replace("[link.L]", "[link.L]\nrate = \"0 bit/s\""),
            "scenario.toml:2: link.L.rate: must be greater than zero; for a link that is down for a while write e.g. `loss = { outages = [[\"4 s\", \"5 s\"]] }`",
        ),
    ]);
}
