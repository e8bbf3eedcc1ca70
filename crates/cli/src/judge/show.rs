//! What `judge` prints.

use std::fmt::Write as _;
use whimbrel_experiment::decisions::{Axis, Cell, Effect, Judged, Mistake, Whose};
use whimbrel_report::{Interval, decimals, plain, short_names};
use whimbrel_sim::Oracle;

/// How many of the worst cells are named.
const WORST: usize = 3;
/// Both kinds, and how sentences call them.
const MISTAKES: [(Mistake, Oracle, &str); 2] = [
    (
        Mistake::RandomForCongestion,
        Oracle::Random,
        "Random loss taken for congestion",
    ),
    (
        Mistake::CongestionForRandom,
        Oracle::Congestion,
        "Congestion taken for random loss",
    ),
];

/// Each law, and all of them beside each other.
pub fn text(judged: &[Judged]) -> String {
    let mut text: String = judged.iter().map(law).collect();
    if judged.len() > 1 {
        text += &summary(judged);
    }
    text
}

fn law(law: &Judged) -> String {
    let Judged {
        controller,
        seeds,
        decisions,
        cells,
        ..
    } = law;
    let mut text = format!(
        "{controller}\n{} x {}: {} verdicts on losses; {} more where nothing had been lost\n\n",
        several(cells.len(), "cell"),
        several(*seeds, "seed"),
        decisions.random() + decisions.congestion(),
        decisions.spurious
    );
    text += &matrix(law);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "right: {}, balanced {}; in the mean of the cells {}, balanced {}\n",
        percent(decisions.accuracy()),
        percent(decisions.balanced_accuracy()),
        percent(law.cell_means.accuracy),
        percent(law.cell_means.balanced_accuracy)
    );
    text += &effects(law);
    text += &costs(law);
    if !law.axes.is_empty() {
        text += &margins(&law.axes);
        text += &worst(law);
    }
    text + "\n"
}

/// Rows: what it was; columns: what it was taken for.
fn matrix(law: &Judged) -> String {
    let (d, means) = (&law.decisions, law.cell_means);
    let heads = [
        "",
        "taken for\nrandom",
        "\n%",
        "mean of\ncells %",
        "taken for\ncongestion",
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

/// What it does as it judges, and what telling it the truth changes.
fn effects(Judged { effects, seeds, .. }: &Judged) -> String {
    let told = [Oracle::Random, Oracle::Congestion, Oracle::Everything];
    let any = |oracle: &Oracle| effects.iter().any(|e| e.told(*oracle).is_some());
    let told: Vec<Oracle> = told.into_iter().filter(any).collect();
    let mut heads = ["", "", "as it judges"].map(str::to_owned).to_vec();
    heads.extend(told.iter().map(|oracle| {
        match oracle {
            Oracle::Random => "told of\nrandom loss",
            Oracle::Congestion => "told of\ncongestion",
            Oracle::Nothing | Oracle::Everything => "told of\nboth",
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
        line.extend(told.iter().map(|oracle| change(effect, *oracle)));
        line
    };
    let lines: Vec<Vec<String>> = effects.iter().map(line).collect();
    let right = [false, false, true, true, true, true];
    let mut text = plain(&heads, &right, &lines);
    if !told.is_empty() {
        text += if *seeds > 1 {
            "means of the cells; what changes ± its 95 % interval, in brackets where nothing is certain\n"
        } else {
            "means of the cells; with one seed nothing is certain about what changes\n"
        };
    }
    text + "\n"
}

/// What each kind of mistake costs, in sentences.
fn costs(law: &Judged) -> String {
    let mut text = String::new();
    for (mistake, oracle, name) in MISTAKES {
        let (could, made) = mistake.count(&law.decisions);
        let costs = match made {
            0 if could == 0 => "there was none to judge".to_owned(),
            0 => format!("never, {could} times judged"),
            _ => match cost(&law.effects, oracle) {
                Some(cost) => cost,
                None => "what it costs is not known".to_owned(),
            },
        };
        let _ = writeln!(text, "{name}: {costs}");
    }
    text + "\n"
}

/// What a mistake does to those whom it harms: the opposite of what telling the truth changes.
fn cost(effects: &[Effect], oracle: Oracle) -> Option<String> {
    let harmed = |effect: &&Effect| (effect.whose == Whose::Judged) == (oracle == Oracle::Random);
    let one = |effect: &Effect| {
        let told = effect.told(oracle)?;
        let Effect {
            quantity,
            unit,
            own,
            ..
        } = effect;
        if !told.is_certain() {
            return Some(format!("{quantity}: nothing certain"));
        }
        let caused = Interval {
            mean: -told.mean,
            ..told
        };
        // A share of a share would be misread.
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
        "taken for\ncongestion %",
        "\ncongestion",
        "taken for\nrandom %",
        "right\n%",
        "balanced\n%",
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
    plain(&heads, &right, &lines) + "shares: means of the cells, in which each counts alike\n\n"
}

/// The cells in which each mistake is made most often.
fn worst(law: &Judged) -> String {
    let mut text = String::new();
    for (mistake, _, name) in MISTAKES {
        let cells = law.worst(mistake);
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

/// All laws beside each other, in the order in which they were judged.
fn summary(judged: &[Judged]) -> String {
    let heads = [
        "",
        "right\n%",
        "balanced\n%",
        "random for\ncongestion %",
        "congestion\nfor random %",
        "goodput\nMbit/s",
        "told of\nrandom loss",
        "told of\ncongestion",
        "told of\nboth",
    ]
    .map(str::to_owned);
    let line = |law: &Judged| {
        let means = law.cell_means;
        let goodput = law.effects.iter().find(|e| e.whose == Whose::Judged);
        let mut line = vec![
            law.controller.clone(),
            number(means.accuracy),
            number(means.balanced_accuracy),
            number(means.random_mistaken),
            number(means.congestion_mistaken),
            goodput.map_or("-".to_owned(), |e| format!("{:.2}", e.own)),
        ];
        for oracle in [Oracle::Random, Oracle::Congestion, Oracle::Everything] {
            line.push(goodput.map_or("-".to_owned(), |e| change(e, oracle)));
        }
        line
    };
    let right = [false, true, true, true, true, true, true, true, true];
    let lines: Vec<Vec<String>> = judged.iter().map(line).collect();
    plain(&heads, &right, &lines) + "shares: means of the cells\n"
}

/// How telling a law so much changes a quantity.
fn change(effect: &Effect, oracle: Oracle) -> String {
    let digits = decimals(effect.own);
    match effect.told(oracle) {
        None => "-".to_owned(),
        Some(told) if told.mean == 0.0 => "0".to_owned(),
        Some(told) if told.is_certain() => signed(told, digits),
        Some(told) => format!("({})", signed(told, digits)),
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

fn several(n: usize, what: &str) -> String {
    if n == 1 {
        format!("1 {what}")
    } else {
        format!("{n} {what}s")
    }
}
