//! A report with every kind of plot, with invented numbers.

use whimbrel_report::figure::*;
use whimbrel_report::page::*;

/// Deterministic noise: a Weyl sequence.
fn noise(i: usize) -> f64 {
    (i as f64 * 0.618_033_988_749_895).fract()
}

pub fn series(protocol: Option<&str>, label: &str, form: Form, points: Vec<[f64; 2]>) -> Series {
    Series {
        protocol: protocol.map(str::to_owned),
        label: label.to_owned(),
        form,
        points,
        spread: Vec::new(),
        notes: Vec::new(),
    }
}

fn figure(id: &str, title: &str, caption: &str, plot: Plot) -> Figure {
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.to_owned(),
        plot,
    }
}

/// Windows, goodput, queue and round-trip time of three flows over a minute.
fn over_time() -> Figure {
    let laws = [
        ("newreno", 0.9, 60),
        ("cubic", 1.2, 90),
        ("cerl?A=0.6", 1.6, 140),
    ];
    let window = |height: f64, period: usize| -> Vec<[f64; 2]> {
        (0..600)
            .map(|i| {
                [
                    i as f64 / 10.0,
                    1500.0 * (20.0 + height * (i % period) as f64),
                ]
            })
            .collect()
    };
    let rate = |height: f64, shift: usize| -> Vec<[f64; 2]> {
        (0..60)
            .map(|i| [i as f64, 1e6 * height * (2.0 + noise(i + shift))])
            .collect()
    };
    let mut cwnd: Vec<Series> = laws
        .iter()
        .map(|(law, height, period)| series(Some(law), law, Form::Line, window(*height, *period)))
        .collect();
    let losses = (1..7)
        .map(|i| [9.0 * f64::from(i), 1500.0 * 125.0])
        .collect();
    let mut marks = series(Some("cubic"), "cubic, loss", Form::Marks, losses);
    marks.notes = (1..7).map(|_| "window reduced".to_owned()).collect();
    cwnd.push(marks);
    let mut rates = vec![series(
        None,
        "capacity",
        Form::Shade,
        vec![[0.0, 5e6], [30.0, 3.5e6], [60.0, 5e6]],
    )];
    rates.extend(
        laws.iter()
            .enumerate()
            .map(|(i, (law, height, _))| series(Some(law), law, Form::Steps, rate(*height, 7 * i))),
    );
    rates.push(series(
        Some("cubic"),
        "cubic, its own rate",
        Form::Dashed,
        (0..60).map(|i| [f64::from(i), 3.3e6]).collect(),
    ));
    let queue = |shift: usize| {
        (0..600)
            .map(|i| [i as f64 / 10.0, (40.0 * noise(i + shift)).floor()])
            .collect()
    };
    let queues = vec![
        series(Some("newreno"), "newreno", Form::Line, queue(1)),
        series(Some("cubic"), "cubic", Form::Line, queue(3)),
    ];
    figure(
        "demo/over-time",
        "Window, goodput and queue",
        "The first flow of each protocol with the first seed; goodput per second, the link's capacity behind it.",
        Plot::Panels {
            x: Axis::new("time", "s"),
            panels: vec![
                Panel {
                    y: Axis::new("congestion window", "B"),
                    series: cwnd,
                },
                Panel {
                    y: Axis::new("goodput", "bit/s"),
                    series: rates,
                },
                Panel {
                    y: Axis::new("queue", "packets"),
                    series: queues,
                },
            ],
        },
    )
}

const MANY: [&str; 10] = [
    "newreno",
    "cubic",
    "bbr",
    "bbr3",
    "cerl",
    "cerl-plus",
    "rta",
    "vegas",
    "westwood-plus",
    "copa",
];

/// Goodput over loss, with error bars: few enough lines for one panel, even with one more.
fn over_loss() -> Figure {
    over_loss_of("demo/over-loss", "Goodput over random loss", &MANY[..7])
}

/// The same of so many that each has a small panel.
fn small_multiples() -> Figure {
    over_loss_of("demo/small", "Goodput of ten protocols", &MANY)
}

fn over_loss_of(id: &str, title: &str, protocols: &[&str]) -> Figure {
    let of = |(k, law): (usize, &&str)| {
        let points: Vec<[f64; 2]> = (0..9)
            .map(|i| {
                [
                    1e-4 * 3f64.powi(i),
                    10.0 / (1.0 + f64::from(i) * (0.2 + 0.12 * k as f64)),
                ]
            })
            .collect();
        let mut made = series(Some(law), law, Form::MarkedLine, points);
        made.spread = (0..9).map(|i| 0.1 + 0.3 * noise(i + k)).collect();
        made
    };
    let x = Axis {
        log: true,
        ..Axis::new("packet loss", "")
    };
    figure(
        id,
        title,
        "Mean over five seeds, with its standard deviation.",
        Plot::Panels {
            x,
            panels: vec![Panel {
                y: Axis::new("goodput", "Mbit/s"),
                series: protocols.iter().enumerate().map(of).collect(),
            }],
        },
    )
}

/// Throughput over delay as in Pantheon's reports.
fn pareto() -> Figure {
    let laws = ["cubic", "bbr", "vegas", "copa", "cubic+cerl"];
    let mut all = Vec::new();
    for (k, law) in laws.iter().enumerate() {
        let (x, y) = (30.0 * 1.8f64.powi(k as i32), 4.0 + 1.1 * k as f64);
        let outline = (0..24).map(|i| {
            let turn = f64::from(i) / 24.0 * std::f64::consts::TAU;
            [x * (0.28 * turn.cos()).exp(), y + 0.9 * turn.sin()]
        });
        all.push(series(Some(law), law, Form::Outline, outline.collect()));
        let runs = (0..12).map(|i| {
            [
                x * (0.5 * (noise(i + k) - 0.5)).exp(),
                y + 1.4 * (noise(3 * i + k) - 0.5),
            ]
        });
        let mut marks = series(Some(law), law, Form::Marks, runs.collect());
        marks.notes = (0..12).map(|i| format!("seed {i}")).collect();
        all.push(marks);
    }
    let x = Axis {
        log: true,
        inverse: true,
        ..Axis::new("95th percentile of the delay", "ms")
    };
    figure(
        "demo/pareto",
        "Throughput over delay",
        "A mark for each run, an outline for each protocol. Up and to the right is better.",
        Plot::Panels {
            x,
            panels: vec![Panel {
                y: Axis::new("throughput", "Mbit/s"),
                series: all,
            }],
        },
    )
}

/// Shares of four flows on a link.
fn shares() -> Figure {
    let part = |k: usize, i: usize| 0.15 + 0.1 * ((i + 5 * k) as f64 / 6.0).sin().abs();
    let all = |i: usize| (0..4).map(|k| part(k, i)).sum::<f64>();
    let names = ["flow 1", "flow 2", "flow 3", "flow 4"];
    let stack = names.iter().enumerate().map(|(k, name)| {
        let points = (0..40)
            .map(|i| [i as f64, 100.0 * part(k, i) / all(i)])
            .collect();
        series(Some("enhanced-aatp"), name, Form::Stack, points)
    });
    figure(
        "demo/shares",
        "Shares of the link",
        "Each flow's part of what all delivered.",
        Plot::Panels {
            x: Axis::new("time", "s"),
            panels: vec![Panel {
                y: Axis::new("share", "%"),
                series: stack.collect(),
            }],
        },
    )
}

/// Distributions of delays.
fn distribution() -> Figure {
    let of = |(k, law): (usize, &&str)| {
        let points = (0..=100)
            .map(|i| {
                [
                    0.02 * (1.0 + 0.4 * k as f64) * (1.0 + (f64::from(i) / 30.0).exp() / 8.0),
                    f64::from(i) / 100.0,
                ]
            })
            .collect();
        series(Some(law), law, Form::Line, points)
    };
    figure(
        "demo/delays",
        "Delay of packets",
        "The part of all packets that waited no longer.",
        Plot::Panels {
            x: Axis::new("one-way delay", "s"),
            panels: vec![Panel {
                y: Axis::new("share of packets", ""),
                series: ["cubic", "bbr3", "vegas"]
                    .iter()
                    .enumerate()
                    .map(of)
                    .collect(),
            }],
        },
    )
}

fn heat() -> Figure {
    let map = |(k, law): (usize, &&str)| Heat {
        protocol: Some((*law).to_owned()),
        label: (*law).to_owned(),
        cells: (0..30)
            .map(|i| {
                (i != 7).then(|| {
                    10.0 / (1.0 + (i % 6) as f64 * 0.4 * (k + 1) as f64) + 0.2 * (i / 6) as f64
                })
            })
            .collect(),
    };
    let words =
        |unit: &str, values: &[&str]| values.iter().map(|v| format!("{v} {unit}")).collect();
    figure(
        "demo/heat",
        "Goodput over loss and delay",
        "Mean over five seeds; one scale for all maps.",
        Plot::Heat {
            x: Categories {
                label: "loss".to_owned(),
                values: words("%", &["0", "0.1", "0.5", "1", "2", "5"]),
            },
            y: Categories {
                label: "delay".to_owned(),
                values: words("ms", &["10", "25", "50", "100", "300"]),
            },
            value: Axis::new("goodput", "Mbit/s"),
            maps: ["newreno", "cubic", "cerl"]
                .iter()
                .enumerate()
                .map(map)
                .collect(),
        },
    )
}

fn confusion() -> Figure {
    let matrix = |(k, law): (u64, &str)| Matrix {
        protocol: law.to_owned(),
        label: law.to_owned(),
        congestion_as_congestion: 120 + 40 * k,
        congestion_as_random: 8 + 30 * k,
        random_as_congestion: 35,
        random_as_random: 1465,
        spurious: 3,
        brier: Some(0.0267 + 0.0125 * k as f64),
    };
    figure(
        "demo/decisions",
        "Losses, and what they were taken for",
        "All episodes of loss of all runs.",
        Plot::Confusion {
            matrices: [(0, "cerl"), (1, "cubic+cerl"), (2, "veno"), (3, "jtcp")]
                .into_iter()
                .map(matrix)
                .collect(),
        },
    )
}

/// Label, protocol, the paper's number, our number and its standard deviation.
type Row<'a> = (
    &'a str,
    Option<&'a str>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
);

fn beside(id: &str, unit: &str, rows: &[Row<'_>]) -> Figure {
    let row = |(label, protocol, paper, measured, spread): &Row<'_>| BesideRow {
        label: (*label).to_owned(),
        protocol: protocol.map(str::to_owned),
        paper: *paper,
        measured: *measured,
        spread: *spread,
        expected: [None, None],
        right: None,
    };
    figure(
        id,
        "The paper's numbers and ours",
        "",
        Plot::Beside {
            value: Axis::new("goodput", unit),
            rows: rows.iter().map(row).collect(),
        },
    )
}

/// Expects 7.5 to 12.5 of mVeno's number, which is not so.
fn expect_of_mveno(figure: &mut Figure) {
    let Plot::Beside { rows, .. } = &mut figure.plot else {
        unreachable!("numbers beside a paper's")
    };
    rows[1].expected = [Some(7.5), Some(12.5)];
    rows[1].right = Some(false);
}

/// Every kind of plot, with findings, tables and sources.
pub fn report() -> Page {
    let code = Source {
        title: "algorithm cerl".to_owned(),
        path: "crates/cc/src/cerl.rs".to_owned(),
        text: "//! CERL <T & co>.\n\nfn main() {\n    println!(\"\u{2028}</script>\");\n}\n"
            .to_owned(),
    };
    let scenario = |name: &str| Source {
        title: "scenario".to_owned(),
        path: format!("experiments/demo/{name}.toml"),
        text: format!("# {name}\n[run]\nseeds = 5\n"),
    };
    let mut gains = beside(
        "demo/gains",
        "%",
        &[
            (
                "CERL over New Jersey+, queue of 50 packets",
                Some("newjersey-plus"),
                Some(13.0),
                Some(11.2),
                Some(2.1),
            ),
            (
                "CERL over mVeno, queue of 50 packets",
                Some("mveno"),
                Some(10.0),
                Some(-3.4),
                Some(1.0),
            ),
            (
                "CERL over Westwood+, queue of 50 packets",
                Some("westwood-plus"),
                Some(23.0),
                Some(27.0),
                Some(4.0),
            ),
            (
                "CERL over CUBIC, queue of 50 packets",
                Some("cubic"),
                Some(46.0),
                Some(52.0),
                Some(5.5),
            ),
            (
                "CERL over NewReno, queue of 50 packets",
                Some("newreno"),
                Some(83.0),
                None,
                None,
            ),
        ],
    );
    expect_of_mveno(&mut gains);
    let sizes = beside(
        "demo/sizes",
        "Mbit/s",
        &[
            ("a modem", None, Some(0.05), Some(0.048), Some(0.002)),
            ("Wi-Fi", None, Some(22.0), Some(25.0), Some(1.0)),
            ("a backbone", None, Some(9400.0), Some(8100.0), Some(300.0)),
        ],
    );
    let mixed = beside(
        "demo/mixed",
        "",
        &[
            (
                "gain in points",
                Some("cubic"),
                Some(-0.4),
                Some(-0.1),
                Some(0.1),
            ),
            (
                "packets",
                Some("cubic"),
                Some(5200.0),
                Some(4900.0),
                Some(120.0),
            ),
        ],
    );
    let section = |id: &str,
                   title: &str,
                   group: &str,
                   finding: Option<(&str, &str)>,
                   figures,
                   sources| Section {
        id: id.to_owned(),
        title: title.to_owned(),
        group: group.to_owned(),
        text: vec![
            "The thesis does not give the queues of its routers; 50 packets are ns-2's default."
                .to_owned(),
        ],
        facts: vec![Fact::new("seeds", "1 to 5"), Fact::new("run", "60 s")],
        finding: finding.map(|(verdict, reason)| Finding {
            place: "Fig 3.5, section 3.2.1.1".to_owned(),
            claim:
                "With 0 to 20 % random loss CERL gains 13 % over New Jersey+ and 83 % over NewReno"
                    .to_owned(),
            verdict: verdict.to_owned(),
            reason: reason.to_owned(),
        }),
        tables: vec![Table {
            caption: "Results".to_owned(),
            columns: vec![
                Column {
                    name: "controller".to_owned(),
                    number: false,
                },
                Column {
                    name: "goodput (Mbit/s)".to_owned(),
                    number: true,
                },
            ],
            rows: vec![
                vec!["cubic".to_owned(), "3.21 ± 0.10".to_owned()],
                vec!["cerl".to_owned(), "4.87 ± 0.07".to_owned()],
            ],
        }],
        figures,
        sources,
    };
    let cerl = "T. Saedi, “Congestion Control Enhancement Over Wireless Networks”, 2019";
    Page {
        title: "CERL and its neighbours".to_owned(),
        summary: "Three experiments with every kind of figure: what the papers claim, and what our runs say.".to_owned(),
        made: vec![
            Fact::new("command", "whimbrel reproduce cerl --report out"),
            Fact::new("version", "0.1.0"),
        ],
        sections: vec![
            section("demo/fig-1", "Goodput under random loss", cerl, Some(("holds", "5 of 5 rows within 25 %")),
                vec![over_time(), over_loss(), gains], vec![scenario("fig-1"), code.clone()]),
            section("demo/fig-2", "Throughput and delay", cerl, Some(("in part", "1 of 3 rows outside 25 %: CERL over mVeno")),
                vec![pareto(), shares(), distribution(), sizes], vec![scenario("fig-2"), code.clone()]),
            section("demo/fig-3", "Decisions", "TCP-RTA, 2022", Some(("does not hold", "0 of 2 rows")),
                vec![heat(), confusion(), mixed, small_multiples()], vec![scenario("fig-3"), code]),
        ],
    }
}
