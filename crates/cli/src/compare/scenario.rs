//! The scenario that the flags of `compare` stand for.

use super::{CompareArgs, EVERY};
use crate::neighbours::Neighbours;
use crate::tested::FLOWS;
use crate::transports::Transport;
use std::fmt::{Display, Write as _};
use whimbrel_cc::registry::{self};

/// When flows start if there are several.
const START: &str = "\"0 s .. 1 s\"    # uniformly distributed, so that flows are not in step";

/// The scenario as a file, with senders that behave like this transport.
pub fn scenario(args: &CompareArgs, transport: Transport) -> String {
    let mut link = String::new();
    let mut sweep = String::new();
    if let Some(file) = &args.rate_trace {
        let file = file.display().to_string();
        line(&mut link, "rate", format!("{{ trace = {file:?} }}"));
    }
    let rates = args.rate_trace.is_none().then_some(("rate", &args.rate));
    let keys = [
        ("delay", &args.rtt),
        ("queue", &args.queue),
        ("loss", &args.loss),
    ];
    for (key, values) in rates.into_iter().chain(keys) {
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
    let tested = args.tested();
    let mut controllers: Vec<&str> = Vec::new();
    for choice in &args.controllers {
        match choice.as_str() {
            EVERY => controllers.extend(every(args).map(|entry| entry.name)),
            one => controllers.push(one),
        }
    }
    let reference = tested
        .as_ref()
        .and_then(|tested| tested.reference.as_deref());
    controllers.extend(reference.filter(|own| !controllers.contains(own)));
    // What is swept of the flows under test, not of their neighbours.
    let swept = tested
        .as_ref()
        .map_or("flow".to_owned(), |_| format!("flow.{FLOWS}"));
    line(
        &mut sweep,
        &format!("\"{swept}.controller\""),
        format!("{controllers:?}"),
    );
    let mut flow = String::new();
    if tested.is_some() {
        line(&mut flow, "name", format!("{FLOWS:?}"));
    }
    if args.flows != 1 {
        line(&mut flow, "count", args.flows);
    }
    if args.flows != 1 || tested.is_some() {
        line(&mut flow, "start", START);
    }
    let neighbours: String = args.neighbours.iter().map(neighbour).collect();
    let streams: Vec<String> = args.streams.iter().map(u32::to_string).collect();
    let messages: Vec<String> = args.messages.iter().map(|m| format!("{m:?}")).collect();
    for (key, values) in [("streams", streams), ("messages", messages)] {
        match values.as_slice() {
            [] => {}
            [one] => line(&mut flow, key, one),
            several => line(
                &mut sweep,
                &format!("\"{swept}.{key}\""),
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
        "[link.L]\n{link}\n[[flow]]\n{flow}route = [\"L\"]\n{neighbours}\n\
         [run]\nduration = {duration:?}\nseeds = {seeds}\nrecovery = {recovery:?}\n{settings}\n\
         [sweep]\n{sweep}"
    )
}

/// All algorithms; with streams or messages, those that TCP carries.
fn every(args: &CompareArgs) -> impl Iterator<Item = &'static registry::Entry> {
    let tcp = !args.streams.is_empty() || !args.messages.is_empty();
    registry::controllers()
        .into_iter()
        .filter(move |entry| !tcp || !entry.is_fed_bursts())
}

/// Flows beside those under test.
fn neighbour(Neighbours { controller, count }: &Neighbours) -> String {
    let controller = controller.to_string();
    let mut flow = "\n[[flow]]\n".to_owned();
    line(&mut flow, "controller", format!("{controller:?}"));
    line(&mut flow, "count", count);
    line(&mut flow, "start", START);
    flow + "route = [\"L\"]\n"
}

fn line(text: &mut String, key: &str, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{key} = {value}");
}
