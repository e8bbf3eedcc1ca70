//! A ranking as a page, with a heat map for each class.

use super::{Ranking, measured};
use whimbrel_rank::{Class, League, Library, MatrixPoint};
use whimbrel_report::figure::{Axis, Categories, Figure, Heat, Plot};
use whimbrel_report::page::{Column, Fact, Page, Section, Source, Table};

impl Ranking {
    /// The page, with sections of [curves](Self::curves) at its end; `made` says how the results
    /// were made.
    pub fn page(&self, curves: Vec<Section>, made: Vec<Fact>) -> Page {
        let (library, league) = (&self.library, &self.league);
        let mut sections = vec![ranking(library, league)];
        for class in Class::ALL {
            let points = library.points.iter().filter(|point| point.class == class);
            let points: Vec<&MatrixPoint> = points.collect();
            if !points.is_empty() {
                sections.push(of_class(class, &points, league));
            }
        }
        sections.extend(curves);
        let best = league.table.first();
        Page {
            title: "Which algorithm for which path".to_owned(),
            summary: best.map_or(String::new(), |best| {
                format!(
                    "Best of {} algorithms at {} points: {}, with {:.3} of 1 (1: every goal met).",
                    league.table.len(),
                    library.points.len(),
                    best.controller,
                    best.all.mean
                )
            }),
            made,
            sections,
        }
    }
}

fn column(name: &str, number: bool) -> Column {
    Column {
        name: name.to_owned(),
        number,
    }
}

/// The league table and the map of classes.
fn ranking(library: &Library, league: &League) -> Section {
    let classes: Vec<Class> = Class::ALL
        .into_iter()
        .filter(|class| library.points.iter().any(|point| point.class == *class))
        .collect();
    let mut columns = vec![
        column("algorithm", false),
        column("all", true),
        column("±", true),
    ];
    columns.extend(classes.iter().map(|class| column(class.letter(), true)));
    let row =
        |standing: &whimbrel_rank::Standing| {
            let half = standing.all.half_width;
            let mut row = vec![
                standing.controller.clone(),
                format!("{:.3}", standing.all.mean),
                half.map_or("-".to_owned(), |half| format!("{half:.3}")),
            ];
            let of = |class| standing.classes.get(class);
            row.extend(classes.iter().map(|class| {
                of(class).map_or("-".to_owned(), |score| format!("{:.3}", score.mean))
            }));
            row
        };
    let names: Vec<&str> = league.table.iter().map(|s| s.controller.as_str()).collect();
    let cell = |name: &str, class: usize| {
        let standing = league.table.iter().find(|s| s.controller == name)?;
        standing
            .classes
            .get(&classes[class])
            .map(|score| score.mean)
    };
    let subjects = classes
        .iter()
        .map(|class| format!("{class} {}", class.subject()));
    Section {
        id: "ranking".to_owned(),
        title: "Ranking".to_owned(),
        text: vec![
            "A score is from 0 to 1; 1 means that the goal is met. The score of a class is the \
             mean over its points, the score in all the mean over the classes. ± is the 95 % \
             confidence interval over the seeds."
                .to_owned(),
        ],
        facts: vec![
            Fact::new("matrix version", library.version.clone()),
            Fact::new("points", library.points.len().to_string()),
        ],
        tables: vec![Table {
            caption: "Scores by class, best first".to_owned(),
            columns,
            rows: league.table.iter().map(row).collect(),
        }],
        figures: vec![heat(
            "ranking/classes",
            "Scores by class",
            subjects.collect(),
            &names,
            cell,
        )],
        ..Section::default()
    }
}

/// A heat map; `cell` gives the score of an algorithm in a column.
fn heat(
    id: &str,
    title: &str,
    columns: Vec<String>,
    names: &[&str],
    cell: impl Fn(&str, usize) -> Option<f64>,
) -> Figure {
    // Rows are drawn from bottom to top: the best is at the top.
    let rows: Vec<&str> = names.iter().rev().copied().collect();
    let cells = rows
        .iter()
        .flat_map(|name| (0..columns.len()).map(|i| cell(name, i)));
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: "Score of each algorithm (rows, best at the top), from 0 to 1: the goal is met."
            .to_owned(),
        plot: Plot::Heat {
            value: Axis::new("score", ""),
            maps: vec![Heat {
                protocol: None,
                label: title.to_owned(),
                cells: cells.collect(),
            }],
            x: Categories {
                label: String::new(),
                values: columns,
            },
            y: Categories {
                label: "algorithm".to_owned(),
                values: rows.iter().map(|name| (*name).to_owned()).collect(),
            },
        },
    }
}

fn of_class(class: Class, points: &[&MatrixPoint], league: &League) -> Section {
    let score = |standing: &&whimbrel_rank::Standing| {
        standing.classes.get(&class).map_or(0.0, |score| score.mean)
    };
    let mut order: Vec<&whimbrel_rank::Standing> = league.table.iter().collect();
    order.sort_by(|a, b| score(b).total_cmp(&score(a)));
    let names: Vec<&str> = order
        .iter()
        .map(|standing| standing.controller.as_str())
        .collect();
    let cell = |name: &str, i: usize| Some(league.cell(name, &points[i].id)?.interval().mean);
    let ids: Vec<String> = points.iter().map(|point| point.id.clone()).collect();
    let claims = points
        .iter()
        .map(|point| vec![point.id.clone(), point.claim.clone()]);
    let measured = points.iter().flat_map(|point| {
        names.iter().filter_map(|name| {
            let cell = league.cell(name, &point.id)?;
            let interval = cell.interval();
            let half = interval.half_width;
            Some(vec![
                point.id.clone(),
                (*name).to_owned(),
                format!("{:.3}", interval.mean),
                half.map_or("-".to_owned(), |half| format!("{half:.3}")),
                measured(cell, &point.aim),
            ])
        })
    });
    Section {
        id: format!("class-{class}"),
        title: format!("{class}: {}", class.subject()),
        group: "Classes".to_owned(),
        tables: vec![
            Table {
                caption: "The points".to_owned(),
                columns: vec![column("point", false), column("a good algorithm", false)],
                rows: claims.collect(),
            },
            Table {
                caption: "What was measured, mean over the seeds".to_owned(),
                columns: vec![
                    column("point", false),
                    column("algorithm", false),
                    column("score", true),
                    column("±", true),
                    column("measured", false),
                ],
                rows: measured.collect(),
            },
        ],
        figures: vec![heat(
            &format!("class-{class}/points"),
            &format!("Scores in class {class}, {}", class.subject()),
            ids,
            &names,
            cell,
        )],
        sources: points
            .iter()
            .map(|point| Source {
                title: point.id.clone(),
                path: point.path.display().to_string(),
                text: point.text.clone(),
            })
            .collect(),
        ..Section::default()
    }
}
