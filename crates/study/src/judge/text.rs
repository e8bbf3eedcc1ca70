//! The decisions on losses and what mistakes cost, as text.

use crate::count;
use std::fmt::Write as _;
use whimbrel_experiment::judge::{Axis, Cell, Effect, Judged, Mistake, Scope};
use whimbrel_report::{Interval, decimals, fill, plain, plain_without, short_names};
use whimbrel_sim::Oracle;

/// Heads of columns that narrow terminals do without.
const BOTH: &str = "with oracle:\nboth";
const BALANCED: &str = "balanced\n%";
/// Maximum number of the worst cells to list.
const WORST: usize = 3;
/// Both kinds of mistakes, the oracle that corrects each, and their names.
const MISTAKES: [(Mistake, Oracle, &str); 2] = [
    (
        Mistake::RandomForCongestion,
        Oracle::Random,
        "Random loss mistaken for congestion",
    ),
    (
        Mistake::CongestionForRandom,
        Oracle::Congestion,
        "Congestion mistaken for random loss",
    ),
];

/// The results of each controller, and a comparison of all.
pub fn text(judged: &[Judged]) -> String {
    let mut text: String = judged.iter().map(one).collect();
    if judged.len() > 1 {
        text += &summary(judged);
    }
    text
}

fn one(judged: &Judged) -> String {
    let Judged {
        controller,
        seeds,
        decisions,
        cells,
        ..
    } = judged;
    let mut text = format!(
        "{controller}\n{} x {}: {} decisions on losses, and {} where no packet was lost\n\n",
        count(cells.len() as u64, "cell"),
        count(*seeds as u64, "seed"),
        decisions.random() + decisions.congestion(),
        decisions.spurious
    );
    text += &matrix(judged);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "right: {}, balanced {}, Brier {}\n\
         mean of the cells: right {}, balanced {}, Brier {}\n",
        percent(decisions.accuracy()),
        percent(decisions.balanced_accuracy()),
        score(decisions.brier()),
        percent(judged.cell_means.accuracy),
        percent(judged.cell_means.balanced_accuracy),
        score(judged.cell_means.brier)
    );
    text += &effects(judged);
    text += &costs(judged);
    if !judged.axes.is_empty() {
        text += &margins(&judged.axes);
        text += &worst(judged);
    }
    text + "\n"
}

/// The confusion matrix. Rows: the true cause; columns: the decision.
fn matrix(judged: &Judged) -> String {
    let (d, means) = (&judged.decisions, judged.cell_means);
    let heads = [
        "",
        "decided\nrandom",
        "\n%",
        "mean of\ncells %",
        "decided\ncongestion",
        "\n%",
        "mean of\ncells %",
    ]
    .map(str::to_owned);
    let right = |mistaken: Option<f64>| mistaken.map(|mistaken| 1.0 - mistaken);
    let (random, congestion) = (d.random_mistaken(), d.congestion_mistaken());
    let lines = [
        vec![
            "random loss".to_owned(),
            d.random_as_random.to_string(),
            number(right(random)),
            number(right(means.random_mistaken)),
            d.random_as_congestion.to_string(),
            number(random),
            number(means.random_mistaken),
        ],
        vec![
            "congestion".to_owned(),
            d.congestion_as_random.to_string(),
            number(congestion),
            number(means.congestion_mistaken),
            d.congestion_as_congestion.to_string(),
            number(right(congestion)),
            number(right(means.congestion_mistaken)),
        ],
    ];
    plain(&heads, &[false, true, true, true, true, true, true], &lines)
}

/// The quantities with the controller's own decisions, and what each oracle changes.
fn effects(Judged { effects, seeds, .. }: &Judged) -> String {
    let oracles = [Oracle::Random, Oracle::Congestion, Oracle::Everything];
    let any = |oracle: &Oracle| effects.iter().any(|e| e.increase(*oracle).is_some());
    let oracles: Vec<Oracle> = oracles.into_iter().filter(any).collect();
    let mut heads = ["", "", "own\ndecisions"].map(str::to_owned).to_vec();
    heads.extend(oracles.iter().map(|oracle| {
        match oracle {
            Oracle::Random => "with oracle:\nrandom loss",
            Oracle::Congestion => "with oracle:\ncongestion",
            Oracle::Nothing | Oracle::Everything => BOTH,
        }
        .to_owned()
    }));
    let line = |effect: &Effect| {
        let digits = decimals(effect.own);
        let mut line = vec![
            effect.quantity.to_owned(),
            effect.unit.to_owned(),
            format!("{:.digits$}", effect.own),
        ];
        line.extend(oracles.iter().map(|oracle| change(effect, *oracle)));
        line
    };
    let lines: Vec<Vec<String>> = effects.iter().map(line).collect();
    let right = [false, false, true, true, true, true];
    let mut text = plain_without(&[BOTH], &heads, &right, &lines);
    if !oracles.is_empty() {
        text += if *seeds > 1 {
            "means of the cells; changes with 95 % intervals, in brackets if not significant\n"
        } else {
            "means of the cells; one seed does not show whether changes are significant\n"
        };
    }
    text + "\n"
}

/// The costs of each kind of mistake, in sentences.
fn costs(judged: &Judged) -> String {
    let mut text = String::new();
    for (mistake, oracle, name) in MISTAKES {
        let (could, made) = mistake.count(&judged.decisions);
        let costs = match made {
            0 if could == 0 => "no such decisions".to_owned(),
            0 => format!("never in {could} decisions"),
            _ => match cost(&judged.effects, oracle) {
                Some(cost) => cost,
                None => "costs not measured".to_owned(),
            },
        };
        let _ = writeln!(text, "{}", fill(&format!("{name}: {costs}"), " "));
    }
    text + "\n"
}

/// The cost of a mistake for the flows that it harms: the opposite of what the oracle changes.
fn cost(effects: &[Effect], oracle: Oracle) -> Option<String> {
    let harmed = |effect: &&Effect| (effect.scope == Scope::Judged) == (oracle == Oracle::Random);
    let one = |effect: &Effect| {
        let increase = effect.increase(oracle)?;
        let Effect {
            quantity,
            unit,
            own,
            ..
        } = effect;
        if !increase.is_certain() {
            return Some(format!("{quantity}: not significant"));
        }
        let caused = Interval {
            mean: -increase.mean,
            ..increase
        };
        // A percentage of a percentage would be misread.
        let relative = if *own > 0.0 && *unit != "%" {
            format!(" ({:+.0} %)", 100.0 * caused.mean / own)
        } else {
            String::new()
        };
        let caused = signed(caused, decimals(*own));
        Some(format!("{quantity} {caused} {unit}{relative}"))
    };
    let all: Option<Vec<String>> = effects.iter().filter(harmed).map(one).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.join("; "))
}

/// The decisions by each value of each axis.
fn margins(axes: &[Axis]) -> String {
    let heads = [
        "",
        "",
        "random\nlosses",
        "mistaken for\ncongestion %",
        "\ncongestion",
        "mistaken for\nrandom %",
        "right\n%",
        BALANCED,
    ]
    .map(str::to_owned);
    let mut lines = Vec::new();
    for axis in axes {
        for (i, value) in axis.values.iter().enumerate() {
            let (d, means) = (&value.decisions, value.cell_means);
            lines.push(vec![
                if i == 0 {
                    axis.name.clone()
                } else {
                    String::new()
                },
                value.value.clone(),
                d.random().to_string(),
                number(means.random_mistaken),
                d.congestion().to_string(),
                number(means.congestion_mistaken),
                number(means.accuracy),
                number(means.balanced_accuracy),
            ]);
        }
    }
    let right = [false, true, true, true, true, true, true, true];
    plain_without(&[BALANCED], &heads, &right, &lines)
        + "percentages: means of the cells, with equal weight for each\n\n"
}

/// The cells in which each mistake is made most often.
fn worst(judged: &Judged) -> String {
    let mut text = String::new();
    for (mistake, _, name) in MISTAKES {
        let cells = judged.worst(mistake);
        if cells.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{name}, most often at");
        for cell in cells.iter().take(WORST) {
            let (could, made) = mistake.count(&cell.decisions);
            let share = percent(mistake.share(&cell.decisions));
            let _ = writeln!(text, "  {}: {share} ({made} of {could})", place(cell));
        }
    }
    text
}

/// `loss 1 %, queue 4 bdp`.
fn place(cell: &Cell) -> String {
    let keys: Vec<&str> = cell.parameters.iter().map(|p| p.key.as_str()).collect();
    let named = short_names(&keys).into_iter().zip(&cell.parameters);
    let all: Vec<String> = named
        .map(|(name, p)| format!("{name} {}", p.value))
        .collect();
    all.join(", ")
}

/// A comparison of all controllers, in the order in which they were judged.
fn summary(judged: &[Judged]) -> String {
    let heads = [
        "",
        "right\n%",
        BALANCED,
        "Brier\n",
        "random for\ncongestion %",
        "congestion\nfor random %",
        "goodput\nMbit/s",
        "with oracle:\nrandom loss",
        "with oracle:\ncongestion",
        BOTH,
    ]
    .map(str::to_owned);
    let line = |one: &Judged| {
        let means = one.cell_means;
        let goodput = one.effects.iter().find(|e| e.scope == Scope::Judged);
        let mut line = vec![
            one.controller.clone(),
            number(means.accuracy),
            number(means.balanced_accuracy),
            score(means.brier),
            number(means.random_mistaken),
            number(means.congestion_mistaken),
            goodput.map_or("-".to_owned(), |e| format!("{:.2}", e.own)),
        ];
        for oracle in [Oracle::Random, Oracle::Congestion, Oracle::Everything] {
            line.push(goodput.map_or("-".to_owned(), |e| change(e, oracle)));
        }
        line
    };
    let right = [false, true, true, true, true, true, true, true, true, true];
    let lines: Vec<Vec<String>> = judged.iter().map(line).collect();
    plain_without(
        &[
            BALANCED,
            BOTH,
            "with oracle:\ncongestion",
            "with oracle:\nrandom loss",
        ],
        &heads,
        &right,
        &lines,
    ) + "percentages: means of the cells\n"
}

/// How an oracle changes a quantity; in brackets if that is not significant.
fn change(effect: &Effect, oracle: Oracle) -> String {
    let digits = decimals(effect.own);
    match effect.increase(oracle) {
        None => "-".to_owned(),
        Some(increase) if increase.mean == 0.0 => "0".to_owned(),
        Some(increase) if increase.is_certain() => signed(increase, digits),
        Some(increase) => format!("({})", signed(increase, digits)),
    }
}

fn signed(change: Interval, digits: usize) -> String {
    match change.half_width {
        Some(half) => format!("{:+.digits$} ± {half:.digits$}", change.mean),
        None => format!("{:+.digits$}", change.mean),
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

fn number(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share))
}

/// A Brier score.
fn score(score: Option<f64>) -> String {
    score.map_or("-".to_owned(), |score| format!("{score:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_costs_the_opposite_of_what_its_oracle_changes() {
        let mut effect = Effect {
            quantity: "goodput",
            unit: "Mbit/s",
            scope: Scope::Judged,
            own: 10.0,
            told_random: Some(Interval {
                mean: 2.0,
                half_width: Some(0.5),
            }),
            told_congestion: None,
            told_everything: None,
        };
        let cost = |effect: &Effect| cost(std::slice::from_ref(effect), Oracle::Random);
        assert_eq!(
            cost(&effect).as_deref(),
            Some("goodput -2.0 ± 0.5 Mbit/s (-20 %)")
        );
        effect.unit = "%";
        assert_eq!(cost(&effect).as_deref(), Some("goodput -2.0 ± 0.5 %"));
        effect.told_random = Some(Interval {
            mean: 2.0,
            half_width: Some(2.5),
        });
        assert_eq!(cost(&effect).as_deref(), Some("goodput: not significant"));
    }
}
