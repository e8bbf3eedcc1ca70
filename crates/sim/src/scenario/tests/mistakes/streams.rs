//! Mistakes in `streams`, `messages` and `interleave` of a flow.

use super::{check, flow_key, flow_keys};

#[test]
fn mistakes_in_streams_and_messages_are_explained() {
    check(&[
        (
            flow_key("stream = 8"),
            "scenario.toml:4: flow: unknown key `stream`, did you mean `streams`?",
        ),
        (
            flow_key("streams = 0"),
            "scenario.toml:4: flow.streams: must be from 1 to 65535, not 0",
        ),
        (
            flow_keys("routes = [[\"L\"], [\"L\"]]\nstreams = 2"),
            "scenario.toml:4: flow.streams: a flow with several `routes` or with `two_way` has one stream; omit one of these keys",
        ),
        (
            flow_key("two_way = true\nstreams = 2"),
            "scenario.toml:5: flow.streams: a flow with several `routes` or with `two_way` has one stream; omit one of these keys",
        ),
        (
            flow_key("two_way = true\nmessages = \"1 kB every 1 s\""),
            "scenario.toml:4: flow.two_way: cannot be combined with `messages`",
        ),
        (
            flow_key("size = \"1 MB\"\nmessages = \"1 kB every 1 s\""),
            "scenario.toml:5: flow.messages: cannot be combined with `size`",
        ),
        (
            flow_key("streams = 2\ninterleave = false"),
            "scenario.toml:5: flow.interleave: `interleave = false` needs `messages`",
        ),
        (
            flow_key("messages = \"1 kB\""),
            "scenario.toml:4: flow.messages: `1 kB` does not describe messages; write e.g. `20 kB every 10 ms`, or a table with `size` and `every`",
        ),
        (
            flow_key("messages = \"2 kB .. 1 kB every 1 s\""),
            "scenario.toml:4: flow.messages: the range 2 kB .. 1 kB ends before it begins",
        ),
        (
            flow_key("messages = { size = \"0 B .. 1 kB\", every = \"1 s\" }"),
            "scenario.toml:4: flow.messages: a message must have at least 1 B",
        ),
        (
            flow_key("messages = { size = \"1 kB\" }"),
            "scenario.toml:4: flow.messages: `every` is missing; write e.g. `every = \"10 ms\"`",
        ),
        (
            flow_key("messages = { size = \"1 kB\", every = \"0 s\" }"),
            "scenario.toml:4: flow.messages: the time between messages must be greater than zero",
        ),
        (
            flow_key("messages = { size = \"1 kB\", every = \"1 s\", exponentially = true }"),
            "scenario.toml:4: flow.messages: unknown key `exponentially`, did you mean `exponential`?",
        ),
        (
            flow_key("messages = { size = \"4 GB\", every = \"1 s\", count = 1000 }"),
            "scenario.toml:4: flow.messages: 1000 messages of 4 GB could be more than 2^31 segments of 1.448 kB",
        ),
        (
            flow_key("messages = \"1 B every 1 ns\""),
            "scenario.toml:1: too many messages: 60000000001; the maximum is 10000000",
        ),
        (
            flow_key("count = 100\nstreams = 65535"),
            "scenario.toml:1: too many streams: 6553500; the maximum is 1000000",
        ),
        (
            flow_key("controller = \"enhanced-aatp\"\nmessages = \"1 kB every 1 s\""),
            "scenario.toml:5: flow.messages: `enhanced-aatp` runs over AATP, which has one stream of bulk data",
        ),
        (
            flow_key("controller = \"enhanced-aatp\"\nstreams = 3"),
            "scenario.toml:5: flow.streams: `enhanced-aatp` runs over AATP, which has one stream of bulk data",
        ),
        (
            flow_keys("kind = \"udp\"\nrate = \"1 Mbit/s\"\nroute = [\"L\"]\nstreams = 2"),
            "scenario.toml:6: flow.streams: a flow of kind `udp` has no `streams`: it is a key of kind `tcp`",
        ),
    ]);
}
