//! The scenario that the flags of `compare` stand for.

use super::{CompareArgs, EVERY};
use crate::transports::Transport;
use std::fmt::{Display, Write as _};
use whimbrel_cc::registry::{self, Feed};

/// The scenario as a file, with senders that behave like this transport.
pub fn scenario(args: &CompareArgs, transport: Transport) -> String {
    let mut link = String::new();
    let mut sweep = String::new();
    let keys = [
        ("rate", &args.rate),
        ("delay", &args.rtt),
        ("queue", &args.queue),
        ("loss", &args.loss),
    ];
    for (key, values) in keys {
        let note = if key == "delay" { "    # each way" } else { "" };
        match values.as_slice() {
            [one] => line(&mut link, key, format!("{one:?}{note}")),
            several => line(
                &mut sweep,
                &format!("\"link.L.{key}\""),
                format!("{several:?}"),
            ),
        }
    }
    let mut controllers: Vec<&str> = Vec::new();
    for choice in &args.controllers {
        match choice.as_str() {
            EVERY => controllers.extend(every(args).map(|entry| entry.name)),
            one => controllers.push(one),
        }
    }
    line(
        &mut sweep,
        "\"flow.controller\"",
        format!("{controllers:?}"),
    );
    let mut flow = String::new();
    if args.flows != 1 {
        line(&mut flow, "count", args.flows);
        line(
            &mut flow,
            "start",
            "\"0 s .. 1 s\"    # uniformly distributed, so that flows are not in step",
        );
    }
    let streams: Vec<String> = args.streams.iter().map(u32::to_string).collect();
    let messages: Vec<String> = args.messages.iter().map(|m| format!("{m:?}")).collect();
    for (key, values) in [("streams", streams), ("messages", messages)] {
        match values.as_slice() {
            [] => {}
            [one] => line(&mut flow, key, one),
            several => line(
                &mut sweep,
                &format!("\"flow.{key}\""),
                format!("[{}]", several.join(", ")),
            ),
        }
    }
    let CompareArgs {
        duration,
        seeds,
        recovery,
        ..
    } = args;
    let settings = transport.settings();
    format!(
        "[link.L]\n{link}\n[[flow]]\n{flow}route = [\"L\"]\n\n\
         [run]\nduration = {duration:?}\nseeds = {seeds}\nrecovery = {recovery:?}\n{settings}\n\
         [sweep]\n{sweep}"
    )
}

/// All algorithms; with streams or messages, those that TCP carries.
fn every(args: &CompareArgs) -> impl Iterator<Item = &'static registry::Entry> {
    let tcp = !args.streams.is_empty() || !args.messages.is_empty();
    registry::controllers()
        .into_iter()
        .filter(move |entry| !tcp || entry.feed == Feed::Acknowledgments)
}

fn line(text: &mut String, key: &str, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{key} = {value}");
}
