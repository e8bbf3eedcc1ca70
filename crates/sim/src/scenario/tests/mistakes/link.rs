//! Mistakes in `[link.NAME]`.

use super::super::MINIMAL;
use super::{check, link_key};

#[test]
fn mistakes_in_rates_and_delays_are_explained() {
    check(&[
        (
            link_key("keep_order = \"yes\""),
            "scenario.toml:3: link.L.keep_order: must be true or false, not a string",
        ),
        (
            link_key("delay = { every = \"15 s\" }"),
            "scenario.toml:3: link.L.delay: needs either `steps` that repeat, e.g. `{ every = \"15 s\", steps = [\"25 ms\", \"40 ms\"] }`, \
             or a recorded `trace`, e.g. `{ every = \"10 ms\", trace = \"delay.txt\" }`",
        ),
        (
            link_key("delay = { steps = [\"15 ms\"] }"),
            "scenario.toml:3: link.L.delay: `every` is missing; write e.g. `every = \"10 ms\"`",
        ),
        (
            link_key("delay = { every = \"15 s\", steps = [] }"),
            "scenario.toml:3: link.L.delay.steps: needs at least one delay",
        ),
        (
            link_key("delay = { every = \"15 s\", steps = [\"5\"] }"),
            "scenario.toml:3: link.L.delay.steps: `5` is not a time: its unit is missing; write e.g. `50 ms`",
        ),
        (
            link_key("delay = 50"),
            "scenario.toml:3: link.L.delay: `50` is not a time: its unit is missing; write e.g. `50 ms`",
        ),
        (
            link_key("delay = [[\"1 s\", \"5 ms\"]]"),
            "scenario.toml:3: link.L.delay: the first step of a schedule must begin at 0 s",
        ),
        (
            link_key("delay = [[\"0 s\"]]"),
            "scenario.toml:3: link.L.delay: must be a pair, not a list of 1; write e.g. `[\"5 s\", \"50 ms\"]`",
        ),
        (
            link_key("delay = []"),
            "scenario.toml:3: link.L.delay: a schedule needs at least one step",
        ),
        (
            MINIMAL.replace("[link.L]", "[link.L]\nrate = { trac = \"t\" }"),
            "scenario.toml:2: link.L.rate: unknown key `trac`, did you mean `trace`?",
        ),
    ]);
}

#[test]
fn mistakes_in_queues_and_aqm_are_explained() {
    check(&[
        (
            link_key("aqm = \"codle\""),
            "scenario.toml:3: link.L.aqm: unknown queue management `codle`, did you mean `codel`?",
        ),
        (
            link_key("aqm = { kind = \"rad\" }"),
            "scenario.toml:3: link.L.aqm.kind: unknown queue management `rad`, did you mean `red`?",
        ),
        (
            link_key("aqm = { min = \"5 packets\" }"),
            "scenario.toml:3: link.L.aqm: `kind` is missing; write e.g. `kind = \"red\"`",
        ),
        (
            link_key("aqm = { kind = \"red\", weigth = 1 }"),
            "scenario.toml:3: link.L.aqm: unknown key `weigth`, did you mean `weight`?",
        ),
        (
            link_key("aqm = { kind = \"red\", gentle = 1 }"),
            "scenario.toml:3: link.L.aqm.gentle: must be true or false, not `1`",
        ),
        (
            link_key("aqm = { kind = \"red\", min = \"5\" }"),
            "scenario.toml:3: link.L.aqm.min: `5` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            link_key("aqm = { kind = \"red\", min = \"5 packets\", max = \"9 kB\" }"),
            "scenario.toml:3: link.L.aqm: `min` and `max` must both be in packets, or both in bytes or `bdp`",
        ),
        (
            MINIMAL.replace("[link.L]", "[link.L]\naqm = \"mark?threshold=1 bdp\""),
            "scenario.toml:2: link.L.aqm: a threshold in `bdp` needs the link's `rate`; write one, or the threshold in packets or bytes",
        ),
        (
            link_key("queue = \"50 pakets\""),
            "scenario.toml:3: link.L.queue: `50 pakets` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            link_key("queue = \"1.5 packets\""),
            "scenario.toml:3: link.L.queue: `1.5 packets` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            link_key("queue = \"-1 bdp\""),
            "scenario.toml:3: link.L.queue: `-1 bdp` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            link_key("queue = 50"),
            "scenario.toml:3: link.L.queue: `50` is not a queue; write e.g. `50 packets`, `64 kB`, `1 bdp` or `unlimited`",
        ),
        (
            MINIMAL.replace("[link.L]", "[link.L]\nqueue = \"1 bdp\""),
            "scenario.toml:2: link.L.queue: a queue in `bdp` needs a `rate` of the link; add it, or write the queue in packets or bytes",
        ),
    ]);
}

#[test]
fn mistakes_in_wifi_links_are_explained() {
    check(&[
        (
            MINIMAL.replace(
                "[link.L]",
                "[link.L]\nwifi = \"65 Mbit/s\"\naqm = \"codel\"",
            ),
            "scenario.toml:3: link.L.aqm: a Wi-Fi link has DropTail queues; write `aqm` on a link with a `rate`, e.g. the next one",
        ),
        (
            MINIMAL.replace(
                "[link.L]",
                "[link.L]\nwifi = \"65 Mbit/s\"\nreverse = { aqm = \"red\" }",
            ),
            "scenario.toml:3: link.L.reverse.aqm: a Wi-Fi link has DropTail queues; write `aqm` on a link with a `rate`, e.g. the next one",
        ),
        (
            link_key("wifi = \"65 Mbit/s\""),
            "scenario.toml:2: link.L.rate: cannot be combined with `wifi`, which sets the rate",
        ),
        (
            MINIMAL.replace(
                "[link.L]",
                "[link.L]\nwifi = \"6.5 Mbit/s\"\nreverse = { rate = \"1 Mbit/s\" }",
            ),
            "scenario.toml:3: link.L.reverse.rate: both directions of a Wi-Fi link share one channel; set its rate in `wifi`",
        ),
        (
            MINIMAL.replace("[link.L]", "[link.L]\nwifi = \"0 bit/s\""),
            "scenario.toml:2: link.L.wifi: 802.11n has no rate of 0 bit/s; the nearest are 6.5 Mbit/s",
        ),
        (
            MINIMAL.replace(
                "[link.L]",
                "[link.L]\nwifi = { rate = \"65 Mbit/s\", cw_max = 7 }",
            ),
            "scenario.toml:2: link.L.wifi: `cw_max` (7) must be at least `cw_min` (15)",
        ),
        (
            MINIMAL.replace(
                "[link.L]",
                "[link.L]\nwifi = { rate = \"65 Mbit/s\", aggregation = 3 }",
            ),
            "scenario.toml:2: link.L.wifi.aggregation: must be true, false or a table, not a number; write e.g. `{ frames = 16 }`",
        ),
        (
            MINIMAL.replace(
                "[link.L]",
                "[link.L]\nwifi = { rate = \"65 Mbit/s\", aggregation = { frames = 65 } }",
            ),
            "scenario.toml:2: link.L.wifi.aggregation.frames: must be from 1 to 64, not 65",
        ),
        (
            MINIMAL.replace(
                "[link.L]",
                "[link.L]\nwifi = { rate = \"65 Mbit/s\", longest = \"1 s\" }",
            ),
            "scenario.toml:2: link.L.wifi.longest: must be from 100 us to 10 ms, not 1 s",
        ),
        (
            MINIMAL.replace("[link.L]", "[link.L]\nwifi = { frame_loss = \"1 %\" }"),
            "scenario.toml:2: link.L.wifi: `rate` is missing; write e.g. `rate = \"65 Mbit/s\"`",
        ),
        (
            MINIMAL.replace("[link.L]", "[link.L]\nwifi = { rat = 1 }"),
            "scenario.toml:2: link.L.wifi: unknown key `rat`, did you mean `rate`?",
        ),
    ]);
}
