//! Mistakes in `[run]`, `[sweep]` and the file as a whole.

use super::super::MINIMAL;
use super::{check, flow_key, run_key, sweep_key};

#[test]
fn mistakes_in_run_are_explained() {
    check(&[
        (
            run_key("reestimate = \"2 h\""),
            "scenario.toml:5: run.reestimate: must be from 10 ms to 3600 s, or `off`, not 7200 s",
        ),
        (
            run_key("durations = \"1 s\""),
            "scenario.toml:5: run: unknown key `durations`, did you mean `duration`?",
        ),
        (
            run_key("duration = \"0 s\""),
            "scenario.toml:5: run.duration: must be greater than zero",
        ),
        (
            run_key("seeds = 0"),
            "scenario.toml:5: run.seeds: must be from 1 to 100000, not 0",
        ),
        (
            run_key("seeds = [1, 2, 1]"),
            "scenario.toml:5: run.seeds: seed 1 appears twice: both runs would be the same",
        ),
        (
            run_key("seeds = [1]\nseed = 2"),
            "scenario.toml:5: run.seeds: `seed` cannot be combined with a list of `seeds`",
        ),
        (
            run_key("sample = \"1 us\""),
            "scenario.toml:1: too many samples: 180000000; the maximum is 20000000 with an interval of 1 us; write a longer interval",
        ),
        (
            run_key("seeds = 100000\n[sweep]\n\"link.L.loss\" = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"),
            "scenario.toml:1: too many runs (points times seeds): the maximum is 1000000",
        ),
    ]);
}

#[test]
fn mistakes_in_sweeps_are_explained() {
    check(&[
        (
            sweep_key("\"link.M.loss\" = [\"1 %\"]"),
            "scenario.toml:5: link.M.loss: unknown link `M`; known: `L`",
        ),
        (
            sweep_key("\"link.L.los\" = [\"1 %\"]"),
            "scenario.toml:5: link.L.los: unknown key `los`, did you mean `loss`?",
        ),
        (
            sweep_key("\"link.L.loss.random\" = [\"1 %\"]\n\"link.L.loss\" = [\"2 %\", \"x\"]"),
            "scenario.toml:6: link.L.loss: `x` is not a probability: it must begin with a number; write e.g. `1 %`",
        ),
        (
            sweep_key("\"flow.contoller\" = [\"cubic\"]"),
            "scenario.toml:5: flow.contoller: unknown key or flow `contoller`, did you mean `controller`?",
        ),
        (
            sweep_key("\"flow.1.controller\" = [\"cubic\"]"),
            "scenario.toml:5: flow.1.controller: unknown flow 1; flows are numbered from 0 to 0",
        ),
        (
            sweep_key("\"flow.packet\" = [\"1 kB\"]"),
            "scenario.toml:5: flow.packet: `packet` is not a key of any flow in this file",
        ),
        (
            sweep_key("\"flow.controller.x\" = [1]")
                .replace("route", "controller = \"cubic\"\nroute"),
            "scenario.toml:6: flow.controller.x: `controller` is a string, so it has no `x`",
        ),
        (
            sweep_key("\"run.recoveri\" = [\"sack\"]"),
            "scenario.toml:5: run.recoveri: unknown key `recoveri`, did you mean `recovery`?",
        ),
        (
            sweep_key("\"destination.L.gama\" = [1]"),
            "scenario.toml:5: destination.L.gama: unknown key `gama`, did you mean `gamma`?",
        ),
        (
            sweep_key("\"destination.M.gamma\" = [1]"),
            "scenario.toml:5: destination.M: unknown destination `M`; known: `L`",
        ),
        (
            sweep_key("\"destination.L\" = [1]"),
            "scenario.toml:5: destination.L: a whole destination cannot be set; write e.g. `destination.L.bandwidth`",
        ),
        (
            sweep_key("\"flow.timer\" = [\"1 ms\"]").replace("route", "kind = \"tcp\"\nroute"),
            "scenario.toml:6: flow.timer: `timer` is not a key of any flow in this file",
        ),
        (
            sweep_key("\"lonk.L.loss\" = [0]"),
            "scenario.toml:5: lonk.L.loss: unknown key `lonk`, did you mean `link`?",
        ),
        (
            sweep_key("link.L.loss = [0]"),
            "scenario.toml:5: sweep.link: write the whole key in quotes: `\"link.…\" = […]`",
        ),
        (
            sweep_key("\"link.L.loss\" = []"),
            "scenario.toml:5: sweep.link.L.loss: needs at least one value",
        ),
        (
            sweep_key("\"link.L.loss\" = 0"),
            "scenario.toml:5: sweep.link.L.loss: must be a list of values, not a number",
        ),
        (
            sweep_key("\"flow.controller\" = [\"cubic\",\n\"cerl?B=1\"]"),
            "scenario.toml:6: flow.controller: unknown parameter of `cerl` `B`",
        ),
    ]);
}

#[test]
fn mistakes_in_the_file_as_a_whole_are_explained() {
    check(&[
        (
            "[link.L]\n".to_owned(),
            "scenario.toml:1: no flows: write e.g. [[flow]] with `route = [\"L\"]`",
        ),
        (
            flow_key("count = 0"),
            "scenario.toml:1: no flows: every `count` is 0",
        ),
        (
            format!("flows = 1\n{MINIMAL}"),
            "scenario.toml:1: unknown key `flows`, did you mean `flow`?",
        ),
        ("[link.L\n".to_owned(), "scenario.toml:1: invalid TOML: "),
        (
            MINIMAL.replace("[link.L]", "link = 5"),
            "scenario.toml:1: link: must be a table, not a number",
        ),
    ]);
}

#[test]
fn single_brackets_are_reported_at_the_flow_not_at_the_sweep() {
    check(&[(
        "[link.L]\nrate = \"8 Mbit/s\"\n[flow]\nroute = [\"L\"]\n[sweep]\n\
         \"flow.controller\" = [\"cubic\", \"bbr\"]\n"
            .to_owned(),
        "scenario.toml:3: flow: flows are a list: write [[flow]] with double brackets",
    )]);
}

#[test]
fn a_flow_that_would_start_after_the_end_is_refused() {
    check(&[(
        "[link.L]\nrate = \"8 Mbit/s\"\n[[flow]]\nroute = [\"L\"]\nstart = \"11 s\"\n\
         [run]\nduration = \"10 s\"\n"
            .to_owned(),
        "scenario.toml:5: flow.start: the flow would start at 11 s, but the run ends at 10 s; \
         write a longer `duration` under [run], or an earlier start",
    )]);
}
