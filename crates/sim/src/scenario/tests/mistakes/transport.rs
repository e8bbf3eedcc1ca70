//! Keys that do not fit the transport of a flow, and mistakes in `[destination.NAME]`.

use super::{check, flow_key};

#[test]
fn mistakes_in_the_choice_of_transport_are_explained() {
    check(&[
        (
            flow_key("qqq = 1"),
            "scenario.toml:4: flow: unknown key `qqq`; of ",
        ),
        (
            flow_key("kind = \"udp4\""),
            "scenario.toml:4: flow.kind: unknown kind of flow `udp4`, did you mean `udp`?",
        ),
        (
            flow_key("rate = \"1 Mbit/s\""),
            "scenario.toml:4: flow.rate: a flow of kind `tcp` has no `rate`: it is a key of kind `udp`",
        ),
        (
            flow_key("kind = \"tcp\"\ncontroller = \"enhanced-aatp\""),
            "scenario.toml:5: flow.controller: `enhanced-aatp` needs reports about bursts: write `kind = \"aatp\"`, or omit `kind`",
        ),
        (
            flow_key("kind = \"aatp\"\ncontroller = \"cubic\""),
            "scenario.toml:5: flow.controller: `cubic` needs acknowledgments: write `kind = \"tcp\"`, or omit `kind`",
        ),
        (
            flow_key("kind = \"tcp\"\npriority = 2"),
            "scenario.toml:5: flow.priority: a flow of kind `tcp` has no `priority`: it is a key of kind `aatp`",
        ),
        (
            flow_key("kind = \"aatp\"\nrecovery = \"sack\""),
            "scenario.toml:5: flow.recovery: a flow of kind `aatp` has no `recovery`: it is a key of kind `tcp`",
        ),
        (
            flow_key("kind = \"udp\"\nrate = \"1 Mbit/s\"\ndestination = \"L\""),
            "scenario.toml:6: flow.destination: a flow of kind `udp` has no `destination`: it is a key of kind `aatp`",
        ),
        (
            flow_key("controller = \"enhanced-aatp\"\nrate = \"1 Mbit/s\""),
            "scenario.toml:5: flow.rate: a flow of kind `aatp` has no `rate`: it is a key of kind `udp`",
        ),
        (
            flow_key("controller = \"enhanced-aatp\"\ntwo_way = true"),
            "scenario.toml:5: flow.two_way: `enhanced-aatp` runs over AATP, which sends one way only",
        ),
        (
            flow_key("controller = \"enhanced-aatp\"\nmss = \"64 B\""),
            "scenario.toml:2: flow: an AATP packet (`mss` plus `header`) must be at least 128 B, not 116 B",
        ),
        (
            flow_key("kind = \"aatp\"\nsize = \"8000 TB\""),
            "scenario.toml:5: flow.size: 8000000 GB is more than 2^31 segments of 1.429 kB; write a smaller `size` or a larger `mss`",
        ),
        (
            flow_key("kind = \"atp\""),
            "scenario.toml:4: flow.kind: unknown kind of flow `atp`, did you mean `aatp`?",
        ),
        (
            flow_key("priority = 9"),
            "scenario.toml:4: flow.priority: must be from 1 to 8, not 9",
        ),
        (
            flow_key("kind = \"aatp\"\npriorty = 2"),
            "scenario.toml:5: flow: unknown key `priorty`, did you mean `priority`?",
        ),
        (
            flow_key("destination = \"L*\""),
            "scenario.toml:4: flow.destination: must not be empty or end in `*`, which marks per-flow copies",
        ),
        (
            flow_key("destination = \"client\"\n[destination.clint]"),
            "scenario.toml:5: destination.clint: unknown destination `clint`, did you mean `client`?",
        ),
        (
            flow_key("kind = \"tcp\"\n[destination.L]"),
            "scenario.toml:5: destination.L: unknown destination `L`: no destination is defined",
        ),
        (
            flow_key("[destination.L]\ngama = 5"),
            "scenario.toml:5: destination.L: unknown key `gama`, did you mean `gamma`?",
        ),
        (
            flow_key("[destination.L]\nbeta = -1"),
            "scenario.toml:5: destination.L.beta: must be from 0 to 1, not -1",
        ),
        (
            flow_key("[destination.L]\nbandwidth = \"0 bit/s\""),
            "scenario.toml:5: destination.L.bandwidth: must be greater than zero; omit `bandwidth` to have it estimated",
        ),
        (
            flow_key("kind = \"udp\"\nmss = \"1 kB\""),
            "scenario.toml:5: flow.mss: a flow of kind `udp` has no `mss`: it is a key of kind `tcp`",
        ),
        (
            flow_key("kind = \"udp\""),
            "scenario.toml:2: flow: `rate` is missing; write e.g. `rate = \"1 Mbit/s\"`",
        ),
        (
            flow_key("kind = \"udp\"\nrate = \"1 Mbit/s\"\non = \"1 s\""),
            "scenario.toml:2: flow: a flow that sends in bursts needs both `on` and `off`",
        ),
    ]);
}
