//! Decisions between random loss and congestion, compared with the true causes.

#[cfg(test)]
mod tests;
mod text;

pub use text::text;

use crate::controllers::{Choice, chosen};
use crate::runs::run_all;
use crate::{BadInput, Error, Observer};
use std::num::NonZeroUsize;
use whimbrel_cc::Spec;
use whimbrel_experiment::judge::{Judged, Mistake, Plan, PlanError, classifying};
use whimbrel_report::figure::Figure;
use whimbrel_report::figures::heat_maps;
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{Setting, Written};

/// The scenario file of the built-in grid.
pub const BUILT_IN_GRID: &str = include_str!("judge/grid.toml");

/// Whose decisions are judged, and where.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The scenario; its sweep is the grid.
    pub document: &'a Document,
    /// What overrides the scenario.
    pub settings: &'a [Setting],
    /// The algorithms that the judged flows run in turn; empty: their own.
    pub controllers: Vec<Spec>,
    /// The judged flow, by name or number from 0; `None`: those whose controller distinguishes
    /// random loss from congestion.
    pub flow: Option<&'a str>,
    /// Number of threads; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Scenario(error) => error.into(),
            PlanError::Controllers(why) => BadInput::in_argument("controllers", why).into(),
            PlanError::Flow(why) => BadInput::in_argument("flow", why).into(),
        }
    }
}

impl Request<'_> {
    /// Runs the grid.
    ///
    /// # Errors
    /// If the scenario is wrong or has nothing to judge, the observer stops it, or threads cannot
    /// be started.
    pub fn run(&self, observer: &dyn Observer) -> Result<Vec<Judged>, Error> {
        let plan = Plan::new(self.document, self.settings, &self.controllers, self.flow)?;
        Ok(plan.judge(&run_all(&plan.jobs(), self.threads, observer)?))
    }
}

/// The chosen controllers, each once, in order; without a choice those that distinguish random loss
/// from congestion on the built-in grid, and none, which stands for the file's, on another one.
///
/// # Errors
/// If a name is unknown.
pub fn controllers(choices: &[Written<Choice>], is_built_in: bool) -> Result<Vec<Spec>, Error> {
    if choices.is_empty() && is_built_in {
        return Ok(classifying());
    }
    let every: Vec<String> = classifying().iter().map(Spec::to_string).collect();
    let all = chosen(choices, every.iter().map(String::as_str))?;
    Ok(all.into_iter().map(|controller| controller.value).collect())
}

/// The mistakes over the grid, a figure for each kind; `None` if a grid has no axes.
pub fn figures(judged: &[Judged]) -> Option<Vec<Figure>> {
    if judged.iter().all(|one| one.axes.is_empty()) {
        return None;
    }
    let figure = |(mistake, title): &(Mistake, &str)| {
        let maps: Vec<_> = judged.iter().map(|one| one.heat(*mistake)).collect();
        heat_maps(title, "of the losses of this cause", &maps)
    };
    let (random, congestion) = (
        "Random loss mistaken for congestion",
        "Congestion mistaken for random loss",
    );
    let mistakes = [
        (Mistake::RandomForCongestion, random),
        (Mistake::CongestionForRandom, congestion),
    ];
    Some(mistakes.iter().filter_map(figure).collect())
}
