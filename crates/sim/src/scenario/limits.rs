//! Limits on the size of a run, so that a typing error in a scenario does not exhaust the memory.

use super::ScenarioError;
use super::flow::MAX_FLOWS;
use super::resolved_flow::ResolvedFlow;
use super::resolved_link::{ResolvedDirection, ResolvedLink};
use super::route::{FlowRoute, Hop};
use super::run::Run;
use super::written::Span;
use crate::engine::world::longest_run;
use whimbrel_net::ServiceSpec;

/// Maximum number of directed links of one run, including copies.
const MAX_LINKS: u64 = 1_000_000;
/// Maximum number of steps of schedules, outages and drops on all links of one run.
const MAX_STEPS: u64 = 20_000_000;
/// Maximum number of streams of all flows of one run.
const MAX_STREAMS: u64 = 1_000_000;
/// Approximate maximum number of messages of one run.
const MAX_MESSAGES: u64 = 10_000_000;
/// Maximum number of samples of one run.
const MAX_SAMPLES: u64 = 20_000_000;

/// Checks one point of a scenario. `whole` is where it was written.
pub(super) fn check(
    links: &[ResolvedLink],
    flows: &[ResolvedFlow],
    run: &Run,
    whole: &Span,
) -> Result<(), ScenarioError> {
    let duration = run.duration.value;
    let count: u64 = flows.iter().map(|f| u64::from(f.count)).sum();
    if count == 0 {
        return Err(whole.fail("no flows: every `count` is 0"));
    }
    if count > MAX_FLOWS {
        return Err(whole.fail(too_many("flows", count, MAX_FLOWS)));
    }
    let routes: u64 = flows
        .iter()
        .map(|f| u64::from(f.count) * f.routes.len() as u64)
        .sum();
    if routes > MAX_FLOWS {
        return Err(whole.fail(too_many("routes", routes, MAX_FLOWS)));
    }
    let copies: u64 = flows
        .iter()
        .map(|f| u64::from(f.count) * own_links(f, links))
        .sum();
    let directed = copies + 2 * links.len() as u64;
    if directed > MAX_LINKS {
        return Err(whole.fail(too_many("links, including copies", directed, MAX_LINKS)));
    }
    let steps: u64 = flows
        .iter()
        .map(|f| u64::from(f.count) * own_steps(f, links))
        .sum();
    if steps > MAX_STEPS {
        return Err(whole.fail(too_many(
            "steps of schedules, outages and drops",
            steps,
            MAX_STEPS,
        )));
    }
    let streams: u64 = flows.iter().map(|f| u64::from(f.count) * f.streams()).sum();
    if streams > MAX_STREAMS {
        return Err(whole.fail(too_many("streams", streams, MAX_STREAMS)));
    }
    let messages = flows
        .iter()
        .map(|f| u64::from(f.count).saturating_mul(f.messages(duration)))
        .fold(0, u64::saturating_add);
    if messages > MAX_MESSAGES {
        return Err(whole.fail(too_many("messages", messages, MAX_MESSAGES)));
    }
    let longest = longest_run(directed as usize, routes as usize);
    if duration > longest {
        return Err(run.duration.fail(format!(
            "must be at most {longest} with {count} flows and {directed} links, not {duration}"
        )));
    }
    if let Some(sample) = run.sample {
        // A multipath connection is sampled in addition to its paths.
        let several = flows.iter().filter(|f| f.routes.len() > 1);
        let sampled = routes + several.map(|f| u64::from(f.count)).sum::<u64>();
        let samples = (duration.as_nanos() / sample.as_nanos()).saturating_mul(sampled + directed);
        if samples > MAX_SAMPLES {
            return Err(whole.fail(format!(
                "{} with an interval of {sample}; write a longer interval",
                too_many("samples", samples, MAX_SAMPLES)
            )));
        }
    }
    Ok(())
}

fn too_many(what: &str, found: u64, max: u64) -> String {
    format!("too many {what}: {found}; the maximum is {max}")
}

/// Number of directed links that each flow has a copy of. A Wi-Fi link counts twice even if only
/// one direction is used.
fn own_links(flow: &ResolvedFlow, links: &[ResolvedLink]) -> u64 {
    let own = |hops: &[Hop], passed: u64| -> u64 {
        let own = hops.iter().filter(|hop| hop.own);
        own.map(|hop| {
            if links[hop.link].wifi.is_some() {
                2
            } else {
                passed
            }
        })
        .sum()
    };
    let of_route = |route: &FlowRoute| match &route.back {
        Some(back) => own(&route.forward, 1) + own(back, 1),
        None => own(&route.forward, 2),
    };
    flow.routes.iter().map(of_route).sum()
}

/// Number of steps of schedules, outages and drops on the links that each flow has a copy of.
fn own_steps(flow: &ResolvedFlow, links: &[ResolvedLink]) -> u64 {
    let steps = |direction: &ResolvedDirection| {
        let spec = &direction.spec;
        let rates = match &spec.service {
            ServiceSpec::Rate(schedule) => schedule.all().len(),
            ServiceSpec::Unlimited | ServiceSpec::Trace(_) | ServiceSpec::Wireless(_) => 0,
        };
        (rates + spec.delay.own_steps()) as u64 + direction.loss.events()
    };
    let of = |link: &ResolvedLink| {
        let drawn = link.generated.as_ref().map_or(0, |path| 2 * path.steps());
        steps(&link.forward) + steps(&link.reverse) + drawn
    };
    let hops = flow.hops().filter(|hop| hop.own);
    hops.map(|hop| of(&links[hop.link])).sum()
}
