//! The picture of `--plot`: some flows over time, and how a destination's flows shared it.

use super::over_time::{Look, panels_over_time};
use super::setting::{Setting, settings};
use super::shares::node_shares;
use super::shown::{first_of_each_point, shown};
use crate::figure::Figure;
use whimbrel_sim::sweep::Run;

/// What these sampled runs show. Of a sweep over several controllers this is its first setting; if
/// all flows have the same controller, the first flow of each point. `title` goes in front of the
/// setting. Empty if nothing was sampled.
pub fn plot(title: &str, runs: &[Run<'_>], looks: &[Look]) -> Vec<Figure> {
    let runs: Vec<&Run<'_>> = runs.iter().collect();
    let all = Setting {
        at: String::new(),
        runs: runs.clone(),
        flows: None,
    };
    let points: Vec<&Run<'_>> = all.firsts().collect();
    let mut first = settings(&runs).into_iter();
    let mut setting = first.next();
    if first.next().is_some() && same_controller(&points) {
        setting = None;
    }
    let (at, shown) = match &setting {
        Some(setting) => (setting.at.as_str(), shown(setting)),
        None => ("", first_of_each_point(&points)),
    };
    let title = [title, at].into_iter().filter(|text| !text.is_empty());
    let title = title.collect::<Vec<_>>().join(", ");
    let title = if title.is_empty() {
        "Over time"
    } else {
        &title
    };
    let over_time = shown.and_then(|shown| panels_over_time(&shown, title.to_owned(), looks));
    over_time.into_iter().chain(node_shares(&points)).collect()
}

/// Whether all flows of these runs that have a controller have the same one.
fn same_controller(runs: &[&Run<'_>]) -> bool {
    let flows = runs.iter().flat_map(|run| &run.outcome.flows);
    let mut names = flows.filter_map(|flow| flow.controller.as_deref());
    let first = names.next();
    names.all(|name| Some(name) == first)
}
