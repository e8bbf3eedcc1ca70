//! Mistakes in `[[flow]]` and its routes.

use super::super::MINIMAL;
use super::{check, flow_key, flow_keys};

#[test]
fn mistakes_in_flows_are_explained() {
    check(&[
        (
            MINIMAL.replace("[[flow]]", "[flow]"),
            "scenario.toml:2: flow: flows are a list: write [[flow]] with double brackets",
        ),
        (
            "[link.L]\n[[flow]]\n".to_owned(),
            "scenario.toml:2: flow: `route` is missing; write e.g. `route = [\"L\"]`",
        ),
        (
            flow_key("controller = \"cubik\""),
            "scenario.toml:4: flow.controller: unknown controller `cubik`, did you mean `cubic`?",
        ),
        (
            flow_key("controller = [\"cubic\", \"cerl\"]"),
            "scenario.toml:4: flow.controller: must be a string, not a list; to try several values, write `\"flow.controller\" = [\"cubic\", \"cerl\"]` under [sweep]",
        ),
        (
            flow_key("start = \"5 s .. 1 s\""),
            "scenario.toml:4: flow.start: the range 5 s .. 1 s ends before it begins",
        ),
        (
            flow_key("start = \"0 s .. 5 s\"\nstop = \"3 s\""),
            "scenario.toml:2: flow: the flow could stop (3 s) before it starts (5 s)",
        ),
        (
            flow_key("size = \"0 B\""),
            "scenario.toml:4: flow.size: must be greater than zero; omit `size` for endless data",
        ),
        (
            flow_key("size = \"8000 TB\""),
            "scenario.toml:4: flow.size: 8000000 GB is more than 2^31 segments of 1.448 kB; write a smaller `size` or a larger `mss`",
        ),
        (
            flow_key("count = 100001"),
            "scenario.toml:4: flow.count: must be from 0 to 100000, not 100001",
        ),
        (
            flow_key("count = 1.5"),
            "scenario.toml:4: flow.count: must be a whole number from 0 to 100000, not 1.5",
        ),
        (
            flow_key("timer = \"0 s\""),
            "scenario.toml:4: flow.timer: must be from 1 us to 10 s, not 0 s",
        ),
        (
            flow_key("circuit_breaker = \"1 ms\""),
            "scenario.toml:4: flow.circuit_breaker: must be from 10 ms to 3600 s, or `off`, not 1 ms",
        ),
        (
            flow_key("recovery = \"rac\""),
            "scenario.toml:4: flow.recovery: unknown recovery `rac`, did you mean `rack`?",
        ),
        (
            flow_key("mss = \"10 B\""),
            "scenario.toml:4: flow.mss: must be from 64 B to 64 kB, not 10 B",
        ),
        (
            flow_key("min_rto = \"2 min\""),
            "scenario.toml:2: flow: `min_rto` (120 s) must be greater than zero and at most `max_rto` (60 s)",
        ),
        (
            flow_key("name = \"count\""),
            "scenario.toml:2: flow: `count` is not a valid flow name: a sweep would read it as a key",
        ),
    ]);
}

#[test]
fn mistakes_in_routes_are_explained() {
    check(&[
        (
            flow_keys("routes = [[\"L\"], [\"L\"]]\ntwo_way = true"),
            "scenario.toml:4: flow.two_way: cannot be combined with `routes`",
        ),
        (
            flow_keys("routes = [[\"L\"], [\"L\"]]\nroute = [\"L\"]"),
            "scenario.toml:4: flow.route: cannot be combined with `routes`",
        ),
        (
            flow_keys("routes = [[\"L\"], [\"L\"]]\ncontroller = \"enhanced-aatp\""),
            "scenario.toml:3: flow.routes: only `tcp` flows can have `routes`; this is a flow of kind `aatp`: write `route`",
        ),
        (
            flow_keys("routes = [[\"L\"], [\"L\"]]\nkind = \"udp\"\nrate = \"1 Mbit/s\""),
            "scenario.toml:3: flow.routes: only `tcp` flows can have `routes`; this is a flow of kind `udp`: write `route`",
        ),
        (
            flow_keys("routes = [\"L\"]"),
            "scenario.toml:3: flow.routes: must be a list, not a string",
        ),
        (
            flow_keys("routes = []"),
            "scenario.toml:3: flow.routes: must have 1 to 8 routes, not 0",
        ),
        (
            flow_keys("routes = [[\"L\"], [\"M\"]]"),
            "scenario.toml:3: flow.routes: unknown link `M`; known: `L`",
        ),
        (
            flow_keys("routes = [[\"L\"], [\"L\"]]\nback = [[\"L\"]]"),
            "scenario.toml:4: flow.back: must have one entry for each of the 2 `routes`, not 1",
        ),
        (
            MINIMAL.replace("\"L\"", "\"M\""),
            "scenario.toml:3: flow.route: unknown link `M`; known: `L`",
        ),
        (
            MINIMAL.replace("[\"L\"]", "[]"),
            "scenario.toml:3: flow.route: must have 1 to 64 links, not 0",
        ),
    ]);
}
