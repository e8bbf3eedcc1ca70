//! What was found, as a page: the families, and each find with its scenario, and windows, rates,
//! round-trip times and queues over time.

use super::goal::Detail;
use super::text::nothing;
use super::{Find, Hunt, Target, lines, sentences};
use crate::runs::{first_seeds, run_all, sampled};
use crate::{Error, Observer};
use std::num::NonZeroUsize;
use whimbrel_report::figure::Figure;
use whimbrel_report::figures::{Look, Setting, over_time};
use whimbrel_report::page::{Column, Fact, Page, Section, Source, Table};
use whimbrel_sim::scenario::Scenario;

impl Hunt {
    /// A figure for each find: the algorithm and the best other over time, with the first fresh
    /// seed.
    ///
    /// # Errors
    /// If the observer stops it, or threads cannot be started.
    pub fn figures(
        &self,
        threads: Option<NonZeroUsize>,
        observer: &dyn Observer,
    ) -> Result<Vec<Option<Figure>>, Error> {
        let of_find = |find: &Find| -> Result<Option<Figure>, Error> {
            let names: Vec<&str> = match (&self.target, &find.measured.detail) {
                (_, Detail::Scores { subject, best, .. }) => {
                    vec![&subject.controller, &best.controller]
                }
                (Target::Classifier { controller, .. }, _) => vec![controller],
                (Target::Algorithm { name, .. }, _) => vec![name],
            };
            let seeds = || vec![super::FIRST_FRESH];
            let scenarios = names.iter().map(|name| {
                let scenario = find.point.scenario_with(name, seeds());
                Ok(sampled(&scenario?))
            });
            let scenarios: Vec<Scenario> = scenarios.collect::<Result<_, Error>>()?;
            let jobs: Vec<_> = scenarios.iter().flat_map(first_seeds).collect();
            let runs = run_all(&jobs, threads, observer)?;
            let setting = Setting {
                at: String::new(),
                runs: runs.iter().collect(),
                flows: find.point.flows.first().cloned(),
            };
            Ok(over_time(&setting, &Look::USUAL).map(|mut figure| {
                figure.id = format!("find/{}/time", find.point.id);
                figure.title = format!("{} over time", find.point.id);
                figure
            }))
        };
        self.finds.iter().map(of_find).collect()
    }

    /// The page, with the [figures](Self::figures) of the finds; `made` says how it was made.
    pub fn page(&self, figures: Vec<Option<Figure>>, made: Vec<Fact>) -> Page {
        let name = self.target.name();
        let mut sections = vec![self.families()];
        let finds = self.finds.iter().zip(figures);
        sections.extend(finds.map(|(find, figure)| self.section(find, figure)));
        let summary = match self.finds.first() {
            Some(find) => sentences(&self.target, find).join(" "),
            None => nothing(self).unwrap_or_default(),
        };
        Page {
            title: format!("Where {name} does worst"),
            summary,
            made,
            sections,
        }
    }

    fn families(&self) -> Section {
        let column = |name: &str, number| Column {
            name: name.to_owned(),
            number,
        };
        let rows = self.families.iter().zip(lines(self));
        let rows = rows.map(|(one, line)| {
            let mut row = line.to_vec();
            row.push(one.case.words());
            row
        });
        Section {
            id: "families".to_owned(),
            title: "Families of paths".to_owned(),
            text: vec![format!(
                "The search tried {} paths. The ratio is the score over that of the best other, or \
                 the balanced accuracy of a loss classifier; that of the search is partly luck.",
                self.evaluations
            )],
            tables: vec![Table {
                caption: "The worst path of each family, with fresh seeds (95 % interval)"
                    .to_owned(),
                columns: vec![
                    column("family", false),
                    column("paths", true),
                    column("searched", true),
                    column("ratio", true),
                    column("best other", false),
                    column("path", false),
                ],
                rows: rows.collect(),
            }],
            ..Section::default()
        }
    }

    fn section(&self, find: &Find, figure: Option<Figure>) -> Section {
        Section {
            id: format!("find/{}", find.point.id),
            title: find.point.id.clone(),
            group: "Finds".to_owned(),
            text: sentences(&self.target, find).to_vec(),
            facts: vec![Fact::new("found as", find.from.words())],
            figures: figure.into_iter().collect(),
            sources: vec![Source {
                title: find.point.id.clone(),
                path: format!("{}.toml", find.point.id),
                text: find.point.text.clone(),
            }],
            ..Section::default()
        }
    }
}
