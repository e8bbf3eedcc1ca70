//! What `judge` prints.

use std::fmt::Write as _;
use whimbrel_experiment::decisions::{Axis, Cell, Effect, Judged, Mistake, Whose};
use whimbrel_report::{Interval, decimals, plain, short_names};
use whimbrel_sim::{Confusion, Oracle};

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
    text += &matrix(decisions);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "right: {}; balanced: {}; right in the mean over the cells: {}\n",
        percent(decisions.accuracy()),
        percent(decisions.balanced_accuracy()),
        percent(law.cell_accuracy)
    );
    text += &effects(&law.effects);
    text += &costs(law);
    if !law.axes.is_empty() {
        text += &margins(&law.axes);
        text += &worst(law);
    }
    text + "\n"
}

fn matrix(d: &Confusion) -> String {
    let heads = ["", "taken for random", "%", "taken for congestion", "%"].map(str::to_owned);
    let line = |truth: &str, random: u64, congestion: u64| {
        let all = random + congestion;
        let share = |n: u64| match all {
            0 => "-".to_owned(),
            all => format!("{:.1}", 100.0 * n as f64 / all as f64),
        };
        vec![
            truth.to_owned(),
            random.to_string(),
            share(random),
            congestion.to_string(),
            share(congestion),
        ]
    };
    let lines = [
        line("random loss", d.random_as_random, d.random_as_congestion),
        line(
            "congestion",
            d.congestion_as_random,
            d.congestion_as_congestion,
        ),
    ];
    plain(&heads, &[false, true, true, true, true], &lines)
}

fn effects(effects: &[Effect]) -> String {
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
        text += "means over the cells; what changes ± its 95 % interval, in brackets where nothing is certain\n";
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
            let d = &value.decisions;
            lines.push(vec![
                if i == 0 {
                    axis.name.clone()
                } else {
                    String::new()
                },
                value.value.clone(),
                d.random().to_string(),
                number(d.random_mistaken()),
                d.congestion().to_string(),
                number(d.congestion_mistaken()),
                number(d.accuracy()),
                number(d.balanced_accuracy()),
            ]);
        }
    }
    let right = [false, true, true, true, true, true, true, true];
    plain(&heads, &right, &lines) + "\n"
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
        "random taken for\ncongestion %",
        "congestion taken\nfor random %",
        "goodput as it\njudges, Mbit/s",
        "told of\nrandom loss",
        "told of\ncongestion",
        "told of\nboth",
    ]
    .map(str::to_owned);
    let line = |law: &Judged| {
        let d = &law.decisions;
        let goodput = law.effects.iter().find(|e| e.whose == Whose::Judged);
        let mut line = vec![
            law.controller.clone(),
            number(d.accuracy()),
            number(d.balanced_accuracy()),
            number(d.random_mistaken()),
            number(d.congestion_mistaken()),
            goodput.map_or("-".to_owned(), |e| format!("{:.2}", e.own)),
        ];
        for oracle in [Oracle::Random, Oracle::Congestion, Oracle::Everything] {
            line.push(goodput.map_or("-".to_owned(), |e| change(e, oracle)));
        }
        line
    };
    let right = [false, true, true, true, true, true, true, true, true];
    plain(&heads, &right, &judged.iter().map(line).collect::<Vec<_>>())
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
