//! The families of paths, with the ranges of their knobs, and how a case becomes a scenario file.

use super::draft::Draft;
use super::space::{Case, Family, Knob, Scale};
use std::fmt::Write;

/// Length of a run on a path that stays as it is, and on one that changes, seconds.
const STEADY: f64 = 30.0;
const CHANGING: f64 = 60.0;
/// Packets in a burst of losses.
const BURST: f64 = 8.0;
/// Words of algorithms that others use.
const OTHERS: &[&str] = &["cubic", "bbr", "newreno"];

impl Family {
    /// The family with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }
}

const fn knob(name: &'static str, unit: &'static str, scale: Scale, plain: f64) -> Knob {
    Knob {
        name,
        unit,
        scale,
        optional: false,
        plain,
    }
}

const fn option(name: &'static str, unit: &'static str, scale: Scale, plain: f64) -> Knob {
    Knob {
        name,
        unit,
        scale,
        optional: true,
        plain,
    }
}

const RATE: Knob = knob("rate", " Mbit/s", Scale::Log(1.0, 100.0), 10.0);
const RTT: Knob = knob("RTT", " ms", Scale::Log(5.0, 500.0), 50.0);
const BUFFER: Knob = knob("buffer", " BDP", Scale::Log(0.1, 10.0), 1.0);
const PACKETS: Knob = knob("buffer", " packets", Scale::Log(20.0, 2000.0), 200.0);
const LOSS: Knob = option("loss", " %", Scale::Log(0.01, 5.0), 1.0);
const AQM: Knob = option("AQM", "", Scale::Word(&["codel", "fq-codel", "red"]), 0.0);

/// All families.
pub static FAMILIES: &[Family] = &[
    Family {
        name: "bottleneck",
        summary: "one flow over one bottleneck",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            LOSS,
            option("bursty loss", " %", Scale::Log(0.05, 3.0), 1.0),
            option("jitter", " ms", Scale::Log(0.5, 30.0), 5.0),
            option("reordering", "", Scale::Word(&["by jitter"]), 0.0),
            AQM,
        ],
        draft: bottleneck,
    },
    Family {
        name: "several-bottlenecks",
        summary: "one flow over 2 to 4 bottlenecks, others across each",
        knobs: &[
            RATE,
            knob("links", "", Scale::Count(2.0, 4.0), 2.0),
            knob("RTT of a link", " ms", Scale::Log(3.0, 100.0), 20.0),
            BUFFER,
            option("flows across", "", Scale::Word(OTHERS), 0.0),
            knob("flows across a link", "", Scale::Count(1.0, 4.0), 1.0),
        ],
        draft: several_bottlenecks,
    },
    Family {
        name: "way-back",
        summary: "a way back that is slow, loses, pauses or carries uploads",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            knob("way back", " of the rate", Scale::Log(0.02, 1.0), 1.0),
            knob("its buffer", " packets", Scale::Log(10.0, 1000.0), 100.0),
            option("uploads", "", Scale::Count(1.0, 4.0), 1.0),
            option("its loss", " %", Scale::Log(0.1, 10.0), 1.0),
            option("its batches", " ms", Scale::Log(2.0, 100.0), 20.0),
            option("its pause", " s", Scale::Log(0.2, 5.0), 3.0),
        ],
        draft: way_back,
    },
    Family {
        name: "cellular",
        summary: "a generated cellular path, both ways",
        knobs: &[
            knob("rate", " Mbit/s", Scale::Log(1.0, 50.0), 12.0),
            knob("RTT", " ms", Scale::Log(10.0, 200.0), 50.0),
            knob("buffer", " packets", Scale::Log(30.0, 3000.0), 1000.0),
            knob("way back", " of the rate", Scale::Log(0.05, 1.0), 0.5),
            knob("fading", "", Scale::Linear(0.1, 1.2), 0.6),
            knob("grants every", " ms", Scale::Log(1.0, 40.0), 5.0),
            option("stalls every", " s", Scale::Log(3.0, 60.0), 7.0),
            option("hand-overs every", " s", Scale::Log(5.0, 100.0), 40.0),
            LOSS,
        ],
        draft: cellular,
    },
    Family {
        name: "wifi",
        summary: "Wi-Fi as the first hop",
        knobs: &[
            knob(
                "Wi-Fi",
                " Mbit/s",
                Scale::Word(&["6.5", "13", "26", "39", "52", "65"]),
                5.0,
            ),
            RTT,
            PACKETS,
            LOSS,
            option("jitter", " ms", Scale::Log(0.5, 30.0), 5.0),
            option("behind it", " Mbit/s", Scale::Log(1.0, 50.0), 10.0),
        ],
        draft: wifi,
    },
    Family {
        name: "churn",
        summary: "one flow beside short flows that come and go",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            knob("short flows of", " kB", Scale::Log(10.0, 1000.0), 100.0),
            knob("their load", " %", Scale::Linear(5.0, 70.0), 30.0),
            knob("their algorithm", "", Scale::Word(OTHERS), 0.0),
        ],
        draft: churn,
    },
    Family {
        name: "own-kind",
        summary: "2 to 30 flows of the algorithm alone",
        knobs: &[
            knob("rate", " Mbit/s", Scale::Log(5.0, 200.0), 50.0),
            RTT,
            BUFFER,
            knob("flows", "", Scale::Count(2.0, 30.0), 4.0),
            option(
                "half of them with RTTs",
                " times as long",
                Scale::Log(1.5, 8.0),
                4.0,
            ),
            option("starts within", " s", Scale::Log(1.0, 15.0), 5.0),
        ],
        draft: own_kind,
    },
    Family {
        name: "mixture",
        summary: "flows of the algorithm beside flows of others",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            knob("flows", "", Scale::Count(1.0, 4.0), 1.0),
            option("cubic flows", "", Scale::Count(1.0, 6.0), 1.0),
            option("bbr flows", "", Scale::Count(1.0, 4.0), 1.0),
            option("newreno flows", "", Scale::Count(1.0, 6.0), 1.0),
            AQM,
        ],
        draft: mixture,
    },
    Family {
        name: "changes",
        summary: "a rate or delay that steps, and outages",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            option("rate falls to", " of itself", Scale::Log(0.05, 0.8), 0.5),
            knob("half a period", " s", Scale::Log(0.2, 15.0), 5.0),
            option("RTT rises to", " times itself", Scale::Log(1.2, 5.0), 2.0),
            option("outages", "", Scale::Count(1.0, 60.0), 5.0),
            knob("of", " s", Scale::Log(0.05, 0.8), 0.2),
        ],
        draft: changes,
    },
    Family {
        name: "short",
        summary: "a short transfer, alone or beside a long flow",
        knobs: &[
            RATE,
            RTT,
            BUFFER,
            knob("transfer of", " kB", Scale::Log(20.0, 5000.0), 500.0),
            option("beside", "", Scale::Word(OTHERS), 0.0),
            LOSS,
        ],
        draft: short,
    },
];

/// One flow under test that should fill its path. `lost` is the part that the path itself loses.
fn fill(class: &'static str, rtt: f64, queue: f64, lost: f64) -> Draft {
    let queue = super::space::rounded(queue.clamp(0.05, 100.0), 3);
    Draft {
        class,
        score: "fill",
        rtt,
        scored: format!("goal = 0.95\nqueue = {queue}\nlost = {lost:.6}\n"),
        tested: &["t"],
        duration: STEADY,
        ..Draft::default()
    }
}

/// `[link.NAME]` with these lines.
fn link(name: &str, lines: &str) -> String {
    format!("[link.{name}]\n{lines}\n")
}

/// `[[flow]]` with these lines.
fn flow(name: &str, route: &str, more: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nroute = [{route}]\n{more}\n")
}

/// Lines of rate, half of the RTT as delay, and buffer.
fn pipe(case: &Case) -> String {
    let (rate, delay, buffer) = (case.of("rate"), case.of("RTT") / 2.0, case.of("buffer"));
    format!("rate = \"{rate} Mbit/s\"\ndelay = \"{delay} ms\"\nqueue = \"{buffer} bdp\"\n")
}

/// Lines of losses and queue management, as far as the case has them.
fn impaired(case: &Case) -> String {
    let mut lines = String::new();
    if let Some(aqm) = case.word("AQM") {
        // Writing to a text cannot fail.
        let _ = writeln!(lines, "aqm = \"{aqm}\"");
    }
    let random = case
        .get("loss")
        .map(|loss| format!("random = \"{loss} %\""));
    let bursts = case.get("bursty loss").map(|percent| {
        let (lost, r) = (percent / 100.0, 1.0 / BURST);
        let p = super::space::rounded(lost * r / (1.0 - lost), 4);
        format!("gilbert-elliott = {{ p = {p:.7}, r = {r} }}")
    });
    let losses: Vec<String> = random.into_iter().chain(bursts).collect();
    if !losses.is_empty() {
        let _ = writeln!(lines, "loss = {{ {} }}", losses.join(", "));
    }
    lines
}

/// The part of the packets that the path loses.
fn lost(case: &Case) -> f64 {
    let part = |name| case.get(name).unwrap_or(0.0) / 100.0;
    1.0 - (1.0 - part("loss")) * (1.0 - part("bursty loss"))
}

fn bottleneck(case: &Case) -> Draft {
    let (rate, rtt) = (case.of("rate"), case.of("RTT"));
    let mut lines = format!(
        "rate = \"{rate} Mbit/s\"\nqueue = \"{} bdp\"\n{}",
        case.of("buffer"),
        impaired(case)
    );
    let delay = rtt / 2.0;
    // The 95th percentile of the noise is three times its mean.
    let mut queue = 0.5;
    match case.get("jitter") {
        None => lines += &format!("delay = \"{delay} ms\"\n"),
        Some(jitter) => {
            queue += 3.0 * jitter / rtt;
            lines += &format!("delay = {{ base = \"{delay} ms\", jitter = \"{jitter} ms\" }}\n");
            lines += &format!("keep_order = {}\n", case.get("reordering").is_none());
            lines += &format!("reverse = {{ delay = \"{delay} ms\" }}\n");
        }
    }
    let mut draft = fill("A", rtt, queue, lost(case));
    draft.body = link("L", &lines) + &flow("t", "\"L\"", "");
    draft
}

fn several_bottlenecks(case: &Case) -> Draft {
    let links = case.of("links") as usize;
    let rtt = case.of("RTT of a link");
    let (rate, buffer) = (case.of("rate"), case.of("buffer"));
    let mut body = String::new();
    for i in 1..=links {
        let lines = format!(
            "rate = \"{rate} Mbit/s\"\ndelay = \"{} ms\"\nqueue = \"{buffer} bdp\"\n",
            rtt / 2.0
        );
        body += &link(&format!("L{i}"), &lines);
    }
    let names: Vec<String> = (1..=links).map(|i| format!("\"L{i}\"")).collect();
    body += &flow("t", &names.join(", "), "");
    let whole = super::space::rounded(rtt * links as f64, 4);
    match case.word("flows across") {
        None => Draft {
            body,
            ..fill("C", whole, 0.5, 0.0)
        },
        Some(others) => {
            let count = case.of("flows across a link");
            for i in 1..=links {
                let more =
                    format!("controller = \"{others}\"\ncount = {count}\nstart = \"0 s .. 2 s\"\n");
                body += &flow(&format!("across{i}"), &format!("\"L{i}\""), &more);
            }
            Draft {
                class: "D",
                score: "share",
                rtt: whole,
                scored: "goal = 0.9\n".to_owned(),
                tested: &["t"],
                body,
                duration: CHANGING,
                ..Draft::default()
            }
        }
    }
}

fn way_back(case: &Case) -> Draft {
    let (rate, rtt) = (case.of("rate"), case.of("RTT"));
    let back = super::space::rounded(rate * case.of("way back"), 3);
    let delay = rtt / 2.0;
    let mut lines = match case.get("its pause") {
        None => format!("rate = \"{back} Mbit/s\"\n"),
        Some(pause) => format!(
            "rate = [[\"0 s\", \"{back} Mbit/s\"], [\"10 s\", \"1 kbit/s\"], \
             [\"{} s\", \"{back} Mbit/s\"]]\n",
            10.0 + pause
        ),
    };
    lines += &match case.get("its batches") {
        None => format!("delay = \"{delay} ms\"\n"),
        Some(batch) => format!("delay = {{ base = \"{delay} ms\", batch = \"{batch} ms\" }}\n"),
    };
    lines += &format!("queue = \"{} packets\"\n", case.of("its buffer").round());
    if let Some(loss) = case.get("its loss") {
        lines += &format!("loss = \"{loss} %\"\n");
    }
    let mut body = link("down", &pipe(case)) + &link("up", &lines);
    body += &flow("t", "\"down\"", "back = [\"up\"]\n");
    if let Some(uploads) = case.get("uploads") {
        let more = format!(
            "back = [\"down\"]\ncontroller = \"cubic\"\ncount = {uploads}\nstart = \"2 s\"\n"
        );
        body += &flow("upload", "\"up\"", &more);
    }
    Draft {
        body,
        duration: if case.get("its pause").is_some() {
            40.0
        } else {
            STEADY
        },
        ..fill("A", rtt, 0.5, 0.0)
    }
}

fn cellular(case: &Case) -> Draft {
    let (rate, rtt) = (case.of("rate"), case.of("RTT"));
    let every = |name| {
        case.get(name)
            .map_or("1 h".to_owned(), |s| format!("{s} s"))
    };
    let lines = format!(
        "delay = \"{} ms\"\nqueue = \"{} packets\"\n{}[link.L.cellular]\nrate = \"{rate} Mbit/s\"\n\
         reverse_rate = \"{} Mbit/s\"\nfading = {}\nreverse_slot = \"{} ms\"\n\
         stall_interval = \"{}\"\nhandover_interval = \"{}\"\n",
        rtt / 2.0,
        case.of("buffer").round(),
        impaired(case),
        super::space::rounded(rate * case.of("way back"), 3),
        case.of("fading"),
        case.of("grants every"),
        every("stalls every"),
        every("hand-overs every"),
    );
    Draft {
        body: link("L", &lines) + &flow("t", "\"L\"", ""),
        duration: CHANGING,
        ..fill("C", rtt, 1.0, lost(case))
    }
}

fn wifi(case: &Case) -> Draft {
    let rtt = case.of("RTT");
    let rate = case.word("Wi-Fi").unwrap_or("65");
    let first = format!(
        "wifi = \"{rate} Mbit/s\"\nqueue = \"{} packets\"\n",
        case.of("buffer").round()
    );
    let mut rest = impaired(case);
    if let Some(rate) = case.get("behind it") {
        rest += &format!("rate = \"{rate} Mbit/s\"\nqueue = \"1 bdp\"\n");
    }
    let delay = rtt / 2.0;
    let jitter = case.get("jitter");
    rest += &match jitter {
        None => format!("delay = \"{delay} ms\"\n"),
        Some(jitter) => format!("delay = {{ base = \"{delay} ms\", jitter = \"{jitter} ms\" }}\n"),
    };
    let queue = 0.5 + 3.0 * jitter.unwrap_or(0.0) / rtt;
    let mut body = link("W", &first) + &link("B", &rest);
    body += &flow("t", "\"W\", \"B\"", "");
    Draft {
        body,
        ..fill("F", rtt, queue, lost(case))
    }
}

fn churn(case: &Case) -> Draft {
    let (rate, load) = (case.of("rate"), case.of("their load") / 100.0);
    let size = case.of("short flows of");
    let taken = rate * load;
    // 8 kbit in a kB.
    let count = (taken * 1e3 * STEADY / (8.0 * size))
        .round()
        .clamp(1.0, 3000.0);
    let others = case.word("their algorithm").unwrap_or("cubic");
    let more = format!(
        "controller = \"{others}\"\ncount = {count}\nsize = \"{size} kB\"\n\
         start = \"0 s .. {STEADY} s\"\n"
    );
    let taken = super::space::rounded(count * size * 8e-3 / STEADY, 3).min(rate * 0.9);
    let mut draft = fill("D", case.of("RTT"), 1.0, 0.0);
    draft.scored += &format!("taken = \"{taken} Mbit/s\"\n");
    draft.body = link("L", &pipe(case)) + &flow("t", "\"L\"", "") + &flow("short", "\"L\"", &more);
    draft
}

fn own_kind(case: &Case) -> Draft {
    let (flows, rtt) = (case.of("flows"), case.of("RTT"));
    let starts = case.get("starts within").unwrap_or(0.5);
    let of = |count: f64| format!("count = {count}\nstart = \"0 s .. {starts} s\"\n");
    let mut body = link("L", &pipe(case));
    let mut tested: &[&str] = &["t"];
    match case.get("half of them with RTTs") {
        None => body += &flow("t", "\"L\"", &of(flows)),
        Some(times) => {
            let far = super::space::rounded((times - 1.0) * rtt / 2.0, 3);
            body += &link("far", &format!("delay = \"{far} ms\"\n"));
            body += &flow("t", "\"L\"", &of((flows / 2.0).ceil()));
            body += &flow("u", "\"far\", \"L\"", &of((flows / 2.0).floor()));
            tested = &["t", "u"];
        }
    }
    Draft {
        class: "D",
        score: "own",
        rtt,
        scored: "goal = 0.9\nqueue = 0.5\n".to_owned(),
        tested,
        body,
        duration: CHANGING,
        run: "sample = \"1 s\"\n",
    }
}

fn mixture(case: &Case) -> Draft {
    let start = "start = \"0 s .. 2 s\"\n";
    let mut body = link("L", &(pipe(case) + &impaired(case)));
    body += &flow(
        "t",
        "\"L\"",
        &format!("count = {}\n{start}", case.of("flows")),
    );
    let mut others = 0;
    for name in ["cubic", "bbr", "newreno"] {
        if let Some(count) = case.get(&format!("{name} flows")) {
            let more = format!("controller = \"{name}\"\ncount = {count}\n{start}");
            body += &flow(&format!("others-{name}"), "\"L\"", &more);
            others += 1;
        }
    }
    if others == 0 {
        body += &flow(
            "others",
            "\"L\"",
            &format!("controller = \"cubic\"\n{start}"),
        );
    }
    Draft {
        class: "D",
        score: "share",
        rtt: case.of("RTT"),
        scored: "goal = 0.9\n".to_owned(),
        tested: &["t"],
        body,
        duration: CHANGING,
        ..Draft::default()
    }
}

fn changes(case: &Case) -> Draft {
    let (rate, rtt, half) = (case.of("rate"), case.of("RTT"), case.of("half a period"));
    let steps = (CHANGING / half).ceil() as usize;
    let mut lines = format!("queue = \"{} bdp\"\n", case.of("buffer"));
    lines += &match case.get("rate falls to") {
        None => format!("rate = \"{rate} Mbit/s\"\n"),
        Some(part) => {
            let low = super::space::rounded(rate * part, 3);
            let step = |i: usize| {
                let rate = if i.is_multiple_of(2) { rate } else { low };
                let at = super::space::rounded(i as f64 * half, 6);
                format!("[\"{at} s\", \"{rate} Mbit/s\"]")
            };
            let all: Vec<String> = (0..steps).map(step).collect();
            format!("rate = [{}]\n", all.join(", "))
        }
    };
    let delay = rtt / 2.0;
    lines += &match case.get("RTT rises to") {
        None => format!("delay = \"{delay} ms\"\n"),
        Some(times) => format!(
            "delay = {{ every = \"{half} s\", steps = [\"{delay} ms\", \"{} ms\"] }}\n",
            super::space::rounded(delay * times, 4)
        ),
    };
    if let Some(count) = case.get("outages") {
        let length = case.of("of");
        lines += &format!(
            "loss = {{ random_outages = {{ count = {count}, length = \"{length} s\" }} }}\n"
        );
    }
    Draft {
        body: link("L", &lines) + &flow("t", "\"L\"", ""),
        duration: CHANGING,
        ..fill("C", rtt, 0.5, 0.0)
    }
}

fn short(case: &Case) -> Draft {
    let size = case.of("transfer of");
    let mut body = link("L", &(pipe(case) + &impaired(case)));
    let mut start = "";
    if let Some(others) = case.word("beside") {
        start = "start = \"5 s .. 7 s\"\n";
        body += &flow("long", "\"L\"", &format!("controller = \"{others}\"\n"));
    }
    body += &flow("t", "\"L\"", &format!("size = \"{size} kB\"\n{start}"));
    Draft {
        class: "G",
        score: "completion",
        rtt: case.of("RTT"),
        scored: String::new(),
        tested: &["t"],
        body,
        duration: CHANGING,
        ..Draft::default()
    }
}
