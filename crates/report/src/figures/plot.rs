//! The picture of `--plot`: some flows over time, and how a destination's flows shared it.

use super::over_time::{Look, panels_over_time};
use super::setting::{Setting, evenly, settings};
use super::shares::node_shares;
use super::shown::{first_of_each_point, shown};
use crate::figure::Figure;
use whimbrel_sim::sweep::Run;

/// At most this many settings of a sweep are drawn.
const DRAWN: usize = 8;

/// What these sampled runs show. Of a sweep over several controllers each setting has a figure; of
/// many settings, some that are spread evenly over all. If all flows have the same controller, one
/// figure has the first flow of each point. `title` goes in front of the setting. Empty if nothing
/// was sampled.
pub fn plot(title: &str, runs: &[Run<'_>], looks: &[Look]) -> Vec<Figure> {
    let runs: Vec<&Run<'_>> = runs.iter().collect();
    let all = Setting {
        at: String::new(),
        runs: runs.clone(),
        flows: None,
    };
    let points: Vec<&Run<'_>> = all.firsts().collect();
    let settings = settings(&runs);
    let titled = |at: &str| {
        let title = [title, at].into_iter().filter(|text| !text.is_empty());
        let title = title.collect::<Vec<_>>().join(", ");
        match title.is_empty() {
            true => "Over time".to_owned(),
            false => title,
        }
    };
    let alike = settings.is_empty() || settings.len() > 1 && same_controller(&points);
    let mut figures: Vec<Figure> = if alike {
        let shown = first_of_each_point(&points);
        shown
            .and_then(|shown| panels_over_time(&shown, titled(""), looks))
            .into_iter()
            .collect()
    } else {
        let drawn = evenly(settings, DRAWN);
        let drawn = drawn
            .iter()
            .filter_map(|setting| panels_over_time(&shown(setting)?, titled(&setting.at), looks));
        drawn.collect()
    };
    figures.extend(node_shares(&points));
    figures
}

/// Whether all flows of these runs that have a controller have the same one.
fn same_controller(runs: &[&Run<'_>]) -> bool {
    let flows = runs.iter().flat_map(|run| &run.outcome.flows);
    let mut names = flows.filter_map(|flow| flow.controller.as_deref());
    let first = names.next();
    names.all(|name| Some(name) == first)
}
