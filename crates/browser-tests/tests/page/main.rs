//! The report's page in a real browser: drawing, pointer, keys, links, printing.

mod report;

use std::path::PathBuf;
use whimbrel_browser_tests::Chromium;
use whimbrel_report::figure::{
    Axis, BesideRow, Categories, Figure, Form, Heat, Panel, Plot, Series,
};
use whimbrel_report::page::{Column, Fact, Page, Source, Table};

const DESK: (u32, u32) = (1280, 900);

/// A report, written to a file.
struct File {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn written(report: &Page) -> File {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.html");
    let file = std::fs::File::create(&path).expect("a file");
    whimbrel_report::html(report, file).expect("a page");
    File {
        path,
        _folder: folder,
    }
}

async fn opened(report: &Page) -> (Chromium, File) {
    let file = written(report);
    (Chromium::open(&file.path, DESK).await, file)
}

/// Ends a test; the page must have reported no error.
async fn done(mut chromium: Chromium) {
    assert_eq!(chromium.complaints().await, Vec::<String>::new());
    chromium.close().await;
}

const CUBIC: &str = "rgb(255, 93, 16)";
const DARK_CUBIC: &str = "rgb(239, 111, 22)";
const NEWRENO: &str = "rgb(1, 38, 172)";

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_is_drawn_and_nothing_but_the_page_is_fetched() {
    let report = report::report();
    let (mut chromium, file) = opened(&report).await;
    let ids: Vec<String> = chromium.value("whimbrel.figures()").await;
    let expected: Vec<&str> = report
        .sections
        .iter()
        .flat_map(|s| s.figures.iter().map(|f| f.id.as_str()))
        .collect();
    assert_eq!(ids, expected);
    for id in ids {
        let marks: usize = chromium
            .value(&format!(
                "document.getElementById('{id}').querySelectorAll('.plot.wide :is(path, rect, polygon, text)').length"
            ))
            .await;
        assert!(marks > 15, "{id} has {marks} marks");
        // No coordinate is invalid.
        let broken: usize = chromium
            .value(&format!("(document.getElementById('{id}').querySelector('.chart').innerHTML.match(/NaN|Infinity|undefined/g) ?? []).length"))
            .await;
        assert_eq!(broken, 0, "{id}");
    }
    let fetched = chromium.fetched().await;
    assert_eq!(fetched, [format!("file://{}", file.path.display())]);
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_plots_are_on_the_page_once_and_drawn_twice() {
    let mut report = report::report();
    let mut again = report.sections[0].figures[0].clone();
    again.id = "again".to_owned();
    again.title = "The same again".to_owned();
    let point = serde_json::to_string(&again.plot).expect("JSON");
    report.sections[0].figures.push(again);
    let mut page = Vec::new();
    whimbrel_report::html(&report, &mut page).expect("written to memory");
    let page = String::from_utf8(page).expect("UTF-8");
    assert_eq!(page.matches(&point.replace('<', "\\u003c")).count(), 1);
    let (chromium, _file) = opened(&report).await;
    let first = &report.sections[0].figures[0].id;
    let rows = |id: &str| format!("whimbrel.csv('{id}')");
    let data: String = chromium.value(&rows("again")).await;
    assert_eq!(data, chromium.value::<String>(&rows(first)).await);
    let svg: String = chromium.value("whimbrel.svg('again')").await;
    assert!(svg.contains("The same again") && svg.matches("<path").count() > 5);
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_blocks_other_pictures_and_scripts() {
    let (mut chromium, _file) = opened(&report::report()).await;
    let refused: String = chromium
        .value(
            "new Promise((resolve) => {
                document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
                const script = document.createElement('script');
                script.textContent = 'window.let_in = true';
                document.body.append(script);
            })",
        )
        .await;
    assert_eq!(refused, "script-src-elem");
    let let_in: bool = chromium.value("window.let_in === true").await;
    assert!(!let_in);
    assert_eq!(chromium.complaints().await.len(), 1, "the refusal itself");
    chromium.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pointing_at_a_figure_shows_exact_values_with_units() {
    let (chromium, _file) = opened(&report::report()).await;
    // At 30.5 s NewReno is at step 5 of 60: 1500 (20 + 0.9 * 5) = 36 750 bytes, CUBIC at step 35 of
    // 90: 1500 (20 + 1.2 * 35) = 93 000 bytes; the capacity is 3.5 Mbit/s from 30 s.
    let at = chromium.place("demo/over-time", 0, [30.5, 100_000.0]).await;
    chromium.point(at).await;
    let tip = chromium.tip().await;
    for part in [
        "time: 30.5 s",
        "newreno 36.75 kB",
        "cubic 93 kB",
        "capacity 3.5 Mbit/s",
        "cubic, its own rate 3.3 Mbit/s",
        "packets",
    ] {
        assert!(tip.contains(part), "no {part} in {tip}");
    }
    // The mark of a loss.
    let at = chromium.place("demo/over-time", 0, [27.0, 187_500.0]).await;
    chromium.point(at).await;
    let tip = chromium.tip().await;
    assert!(tip.contains("cubic, loss 187.5 kB window reduced"), "{tip}");
    // NewReno's first point over loss is 10 / (1 + 0).
    let at = chromium.place("demo/over-loss", 0, [1e-4, 8.0]).await;
    chromium.point(at).await;
    let tip = chromium.tip().await;
    assert!(tip.contains("packet loss: 0.0001"), "{tip}");
    assert!(tip.contains("newreno 10 Mbit/s ± 0.1"), "{tip}");
    // On an inverse logarithmic axis, CUBIC's seed 0 is at 30 exp(0.5 (0 - 0.5)) = 23.36 ms and
    // 4 + 1.4 (0 - 0.5) = 3.3.
    let at = chromium.place("demo/pareto", 0, [23.364, 3.3]).await;
    chromium.point(at).await;
    let tip = chromium.tip().await;
    for part in [
        "cubic seed 0",
        "throughput 3.3 Mbit/s",
        "95th percentile of the delay 23.364 ms",
    ] {
        assert!(tip.contains(part), "no {part} in {tip}");
    }
    let at = chromium.text("demo/decisions", "97.7\u{202f}%", 0).await;
    chromium.point(at).await;
    let tip = chromium.tip().await;
    assert!(tip.contains("random loss, classified as random"), "{tip}");
    assert!(tip.contains("episodes 1 465"), "{tip}");
    chromium
        .text("demo/decisions", "Brier score 0.027", 0)
        .await;
    let at = chromium
        .text("demo/gains", "CERL over CUBIC, queue of 50 packets", 0)
        .await;
    chromium.point(at).await;
    let tip = chromium.tip().await;
    assert!(
        tip.contains("paper 46 %") && tip.contains("ours 52 % ± 5.5"),
        "{tip}"
    );
    // The first cell of the top row: 10 / 1 + 0.2 * 4. The scale above the maps has the same number
    // at its end; the cell is below it.
    let at = chromium.text("demo/heat", "10.8", 1).await;
    chromium.point(at).await;
    let tip = chromium.tip().await;
    assert!(
        tip.contains("loss 0 %, delay 300 ms") && tip.contains("10.8 Mbit/s"),
        "{tip}"
    );
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_more_than_eight_lines_each_has_a_small_panel() {
    let (chromium, _file) = opened(&report::report()).await;
    chromium.show("demo/small").await;
    // CUBIC's line in its own panel, and a name above each of the ten.
    assert!(chromium.drawn_in("demo/small", CUBIC).await > 0);
    let names = "[...document.getElementById('demo/small').querySelectorAll('.plot.wide .item:not(.off)')].map((item) => item.dataset.p)";
    let shown: Vec<String> = chromium.value(names).await;
    assert_eq!(shown.len(), 10, "{shown:?}");
    // NewReno's first point, in its own panel, is 10 / (1 + 0). The tip has no other line.
    let at = chromium.place("demo/small", 0, [1e-4, 10.0]).await;
    chromium.point([at[0] + 2.0, at[1] + 2.0]).await;
    let tip = chromium.tip().await;
    assert!(
        tip.contains("newreno 10 Mbit/s") && !tip.contains("cubic"),
        "{tip}"
    );
    chromium
        .run("document.querySelector('#filter input[value=\"newreno\"]').click()")
        .await;
    let shown: Vec<String> = chromium.value(names).await;
    assert_eq!(shown.len(), 9, "{shown:?}");
    // At 400 pixels there are two in a row, and nothing is wider than the page.
    chromium
        .run("document.getElementById('main').style.width = '400px'")
        .await;
    chromium
        .wait("document.getElementById('demo/small').querySelector('.plot.narrow').getBoundingClientRect().width > 300")
        .await;
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_filter_hides_and_shows_a_protocol_in_all_figures() {
    let (chromium, _file) = opened(&report::report()).await;
    let figures = [
        "demo/over-time",
        "demo/over-loss",
        "demo/pareto",
        "demo/gains",
    ];
    for figure in figures {
        chromium.show(figure).await;
        assert!(chromium.drawn_in(figure, CUBIC).await > 0, "{figure}");
    }
    let all: usize = chromium
        .value("document.querySelectorAll('#filter input').length")
        .await;
    assert!(all > 10);
    chromium
        .run("document.querySelector('#filter input[value=\"cubic\"]').click()")
        .await;
    for figure in figures {
        assert_eq!(chromium.drawn_in(figure, CUBIC).await, 0, "{figure}");
    }
    assert!(chromium.drawn_in("demo/over-loss", NEWRENO).await > 0);
    // CUBIC's other variant is still shown; the box of the algorithm is half checked, and switches
    // both.
    let part: bool = chromium
        .value("document.querySelector('#filter input[value=\"all of cubic\"]').indeterminate")
        .await;
    assert!(part);
    let variant = "document.getElementById('demo/pareto').querySelectorAll('.plot.wide .series[data-p=\"cubic+cerl\"]:not(.off)').length";
    assert_eq!(chromium.value::<usize>(variant).await, 2);
    chromium
        .run("document.querySelector('#filter input[value=\"all of cubic\"]').click()")
        .await;
    assert_eq!(chromium.value::<usize>(variant).await, 0);
    // `none` hides all protocols and `all` shows them.
    chromium
        .run("document.querySelector('#filter button[value=none]').click()")
        .await;
    assert_eq!(chromium.drawn_in("demo/over-loss", NEWRENO).await, 0);
    chromium
        .run("document.querySelector('#filter button[value=all]').click()")
        .await;
    for figure in figures {
        assert!(chromium.drawn_in(figure, CUBIC).await > 0, "{figure}");
    }
    // A click in a legend hides a protocol, and a second one shows it again.
    for shown in [0, 1] {
        let at = chromium.text("demo/over-loss", "cubic", 0).await;
        chromium.drag(&[at, at]).await;
        let now = chromium.drawn_in("demo/over-loss", CUBIC).await;
        assert_eq!(now.min(1), shown);
    }
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_lead_from_a_verdict_to_the_figure_the_scenario_and_the_code() {
    let (chromium, _file) = opened(&report::report()).await;
    let counts: String = chromium
        .value("document.querySelector('.counts').textContent")
        .await;
    assert_eq!(counts, "1 holds, 1 in part, 0 do not hold");
    let row: String = chromium
        .value("document.querySelector('.verdicts tbody tr').innerText.replace(/\\s+/g, ' ')")
        .await;
    for part in [
        "✓ holds",
        "demo/fig-1",
        "Fig 3.5",
        "83 % over NewReno",
        "5 of 5 rows",
    ] {
        assert!(row.contains(part), "no {part} in {row}");
    }
    chromium
        .run("document.querySelector('.verdicts a[href=\"#demo/fig-1\"]').click()")
        .await;
    let in_view = |id: &str| {
        format!(
            "(() => {{ const box = document.getElementById('{id}').getBoundingClientRect(); return box.top >= 0 && box.top < innerHeight; }})()"
        )
    };
    chromium.wait(&in_view("demo/fig-1")).await;
    for (source, text) in [
        ("source/experiments/demo/fig-1.toml", "seeds = 5"),
        ("source/crates/cc/src/cerl.rs", "println!"),
    ] {
        chromium.run("location.hash = '#demo/fig-1'").await;
        chromium
            .run(&format!("document.querySelector('section[aria-labelledby=\"demo/fig-1\"] .from a[href=\"#{source}\"]').click()"))
            .await;
        chromium
            .wait(&format!("document.getElementById('{source}').open"))
            .await;
        chromium.wait(&in_view(source)).await;
        let shown: String = chromium
            .value(&format!(
                "document.getElementById('{source}').querySelector('pre code').innerText"
            ))
            .await;
        assert!(shown.contains(text), "{shown}");
    }
    // Equal code is kept once and lists the sections that use it.
    let kept: usize = chromium
        .value("document.querySelectorAll('.sources details').length")
        .await;
    assert_eq!(kept, 4);
    let used: usize = chromium.value("document.getElementById('source/crates/cc/src/cerl.rs').querySelectorAll('.used a').length").await;
    assert_eq!(used, 3);
    // Every link has a target.
    let dead: Vec<String> = chromium
        .value("[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.getAttribute('href')).filter((h) => !document.getElementById(h.slice(1)))")
        .await;
    assert_eq!(dead, Vec::<String>::new());
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_reach_the_filter_and_a_figure_and_announce_its_values() {
    let (chromium, _file) = opened(&report::report()).await;
    chromium
        .run("document.getElementById('demo/over-time').scrollIntoView()")
        .await;
    chromium
        .run("document.activeElement.blur(); window.scrollTo(0, 0)")
        .await;
    let mut reached = Vec::new();
    for _ in 0..200 {
        chromium.key("Tab").await;
        let at: String = chromium
            .value("document.activeElement.value || document.activeElement.className || document.activeElement.textContent")
            .await;
        reached.push(at.clone());
        if at == "newreno" {
            chromium.key(" ").await;
            chromium
                .wait("!document.querySelector('#filter input[value=\"newreno\"]').checked")
                .await;
            chromium.key(" ").await;
            chromium
                .wait("document.querySelector('#filter input[value=\"newreno\"]').checked")
                .await;
        }
        if at == "chart" {
            break;
        }
    }
    assert_eq!(reached.first().map(String::as_str), Some("skip"));
    assert!(reached.iter().any(|at| at == "newreno"), "{reached:?}");
    assert_eq!(
        reached.last().map(String::as_str),
        Some("chart"),
        "{reached:?}"
    );
    let outlined: String = chromium
        .value("getComputedStyle(document.activeElement).outlineStyle")
        .await;
    assert_eq!(outlined, "solid", "one sees where one is");
    let said = "document.getElementById('announce').textContent";
    for (key, expected) in [
        ("ArrowRight", "newreno: congestion window 30 kB at time 0 s"),
        (
            "ArrowRight",
            "newreno: congestion window 31.35 kB at time 0.1 s",
        ),
        (
            "ArrowDown",
            "cubic: congestion window 31.8 kB at time 0.1 s",
        ),
        ("End", "cubic: congestion window 136.2 kB at time 59.9 s"),
        ("Home", "cubic: congestion window 30 kB at time 0 s"),
    ] {
        chromium.key(key).await;
        chromium
            .wait(&format!(
                "{said} === '{expected}' || (console.log({said}), false)"
            ))
            .await;
    }
    let tip = chromium.tip().await;
    assert!(tip.contains("30 kB"), "{tip}");
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heading_sorts_its_table_both_ways_and_says_so() {
    let mut report = report::report();
    let column = |name: &str, number| Column {
        name: name.to_owned(),
        number,
    };
    let table = Table {
        caption: "Scores".to_owned(),
        columns: vec![column("algorithm", false), column("score", true)],
        rows: [
            ("reno", "0.5"),
            ("bbr", "12"),
            ("cubic", "−3"),
            ("copa", "–"),
        ]
        .map(|(name, score)| vec![name.to_owned(), score.to_owned()])
        .to_vec(),
    };
    report.sections[0].tables.push(table);
    let (chromium, _file) = opened(&report).await;
    const TABLE: &str = "[...document.querySelectorAll('table.data')]\
                         .find((t) => t.caption.textContent === 'Scores')";
    let order = async || -> String {
        let names =
            format!("[...{TABLE}.tBodies[0].rows].map((r) => r.cells[0].textContent).join(' ')");
        chromium.value(&names).await
    };
    let press = async |column: usize| {
        let button = format!("{TABLE}.tHead.rows[0].cells[{column}].querySelector('button')");
        chromium
            .run(&format!("{button}.focus(); {button}.click()"))
            .await;
        let states =
            format!("[...{TABLE}.tHead.rows[0].cells].map((c) => c.ariaSort ?? 'none').join(' ')");
        chromium.value::<String>(&states).await
    };
    assert_eq!(order().await, "reno bbr cubic copa");
    assert_eq!(press(1).await, "none descending");
    assert_eq!(order().await, "bbr reno cubic copa");
    assert_eq!(press(1).await, "none ascending");
    assert_eq!(order().await, "cubic reno bbr copa");
    assert_eq!(press(0).await, "ascending none");
    assert_eq!(order().await, "bbr copa cubic reno");
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn screen_readers_have_names_headings_and_tables() {
    let (chromium, _file) = opened(&report::report()).await;
    let labels: Vec<String> = chromium
        .value("[...document.querySelectorAll('.chart[role=img]')].map((c) => c.getAttribute('aria-label'))")
        .await;
    assert_eq!(labels.len(), 11);
    assert!(
        labels[0].contains("Window, goodput and queue"),
        "{}",
        labels[0]
    );
    // NewReno's window is from 1500 * 20 to 1500 (20 + 0.9 * 59) = 109 650 bytes, slightly less in
    // floating point.
    assert!(
        labels[0].contains("newreno, congestion window 30 kB to 109.6 kB"),
        "{}",
        labels[0]
    );
    let levels: Vec<u8> = chromium
        .value("[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => Number(h.tagName[1]))")
        .await;
    assert_eq!(levels[0], 1);
    assert!(
        levels.windows(2).all(|pair| pair[1] <= pair[0] + 1),
        "{levels:?}"
    );
    let lang: String = chromium.value("document.documentElement.lang").await;
    assert_eq!(lang, "en");
    let doubled: usize = chromium
        .value("(() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id); return ids.length - new Set(ids).size; })()")
        .await;
    assert_eq!(doubled, 0, "an id stands once");
    // A figure's numbers as a table.
    chromium
        .run("document.getElementById('demo/gains').querySelector('.numbers').open = true")
        .await;
    chromium
        .wait("document.getElementById('demo/gains').querySelector('.numbers table')")
        .await;
    let row: Vec<String> = chromium
        .value("[...document.getElementById('demo/gains').querySelectorAll('.numbers tbody tr')[1].children].map((c) => `${c.tagName} ${c.textContent}`)")
        .await;
    assert_eq!(
        row,
        [
            "TH CERL over mVeno, queue of 50 packets",
            "TD mveno",
            "TD 10",
            "TD −3.4",
            "TD 1",
            "TD wrong"
        ]
    );
    let csv: String = chromium.value("whimbrel.csv('demo/gains')").await;
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(
        lines[0],
        "what,protocol,\"paper, goodput (%)\",\"ours, goodput (%)\",±,verdict"
    );
    assert_eq!(
        lines[2],
        "\"CERL over mVeno, queue of 50 packets\",mveno,10,-3.4,1,wrong"
    );
    // Where nothing is expected, there is no column of verdicts.
    let csv: String = chromium.value("whimbrel.csv('demo/sizes')").await;
    let head = csv.lines().next().expect("a line");
    assert!(head.ends_with(",±"), "{head}");
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dragging_zooms_and_the_button_resets_the_zoom() {
    let (chromium, _file) = opened(&report::report()).await;
    let from = chromium.place("demo/over-time", 0, [10.0, 150_000.0]).await;
    let to = chromium.place("demo/over-time", 0, [20.0, 100_000.0]).await;
    chromium.point(from).await;
    let middle = [(from[0] + to[0]) / 2.0, from[1]];
    chromium.drag(&[from, middle, to]).await;
    let reset = "document.getElementById('demo/over-time').querySelector('.figure-tools button')";
    chromium.wait(&format!("!{reset}.hidden")).await;
    // The middle of what was chosen is in the middle, and the ticks are of the part that is shown.
    let ends = "[whimbrel.place('demo/over-time', 2, [10, 0])[0], whimbrel.place('demo/over-time', 2, [20, 0])[0]]";
    let seen: [f64; 2] = chromium.value(ends).await;
    let whole = to[0] - from[0];
    assert!(seen[1] - seen[0] > 5.0 * whole, "{seen:?} from {whole}");
    let texts: Vec<String> = chromium
        .value("[...document.getElementById('demo/over-time').querySelectorAll('.plot.wide .ticks.x text')].map((t) => t.textContent)")
        .await;
    assert!(texts.len() >= 3, "{texts:?}");
    let between = |t: &String| t.parse().is_ok_and(|t: f64| (9.8..=20.2).contains(&t));
    assert!(texts.iter().all(between), "{texts:?}");
    // Marks keep their shape: what stretches the panel shrinks them.
    let square: bool = chromium
        .value("(() => { const { width, height } = document.querySelector('[id=\"demo/over-time\"] .plot.wide .data path[transform]').getBoundingClientRect(); return Math.abs(width - height) < 1.5; })()")
        .await;
    assert!(square);
    chromium.run(&format!("{reset}.click()")).await;
    let seen: [f64; 2] = chromium.value(ends).await;
    assert!((seen[1] - seen[0] - whole).abs() < 0.5, "{seen:?}");
    chromium.wait(&format!("{reset}.hidden")).await;
    // Keys zoom, too.
    chromium
        .run("document.querySelector('[id=\"demo/over-time\"] .chart').focus()")
        .await;
    chromium.key("+").await;
    chromium.wait(&format!("!{reset}.hidden")).await;
    chromium.key("0").await;
    chromium.wait(&format!("{reset}.hidden")).await;
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dark_pages_paper_and_narrow_windows_have_all_figures() {
    let (chromium, _file) = opened(&report::report()).await;
    chromium.emulate("screen", "dark").await;
    assert!(chromium.drawn_in("demo/over-time", DARK_CUBIC).await > 0);
    assert_eq!(chromium.drawn_in("demo/over-time", CUBIC).await, 0);
    let page: String = chromium
        .value("getComputedStyle(document.body).backgroundColor")
        .await;
    assert_eq!(page, "rgb(20, 24, 29)");
    // The button overrides the system's theme.
    chromium
        .run("document.getElementById('theme').click(); document.getElementById('theme').click()")
        .await;
    assert!(chromium.drawn_in("demo/over-time", CUBIC).await > 0);
    let page: String = chromium
        .value("getComputedStyle(document.body).backgroundColor")
        .await;
    assert_eq!(page, "rgb(255, 255, 255)");
    chromium
        .run("document.getElementById('theme').click()")
        .await;
    // On paper: white even with the dark theme, all figures, no buttons.
    chromium.emulate("print", "dark").await;
    assert!(chromium.drawn_in("demo/over-loss", CUBIC).await > 0);
    let shown: Vec<String> = chromium
        .value("['#filter', '.sources', '.top', '.figure-foot'].map((s) => getComputedStyle(document.querySelector(s)).display)")
        .await;
    assert_eq!(shown, ["none"; 4]);
    let page: String = chromium
        .value("getComputedStyle(document.body).backgroundColor")
        .await;
    assert_eq!(page, "rgb(255, 255, 255)");
    chromium.emulate("screen", "light").await;
    chromium
        .run("document.getElementById('main').style.width = '400px'")
        .await;
    chromium
        .wait("document.getElementById('demo/over-loss').querySelector('.plot.narrow').getBoundingClientRect().width > 300 && !document.querySelector('.plot.wide').getClientRects().length")
        .await;
    done(chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_figure_is_saved_as_a_self_contained_picture() {
    let (chromium, _file) = opened(&report::report()).await;
    let ids: Vec<String> = chromium.value("whimbrel.figures()").await;
    for id in ids {
        // An XML parser is stricter than viewers.
        let read: (String, usize, usize) = chromium
            .value(&format!(
                "(() => {{
                    const read = new DOMParser().parseFromString(whimbrel.svg('{id}'), 'image/svg+xml');
                    const texts = [...read.querySelectorAll('text')].map((t) => t.textContent);
                    return [texts.join('|'), read.querySelectorAll('parsererror, script, foreignObject').length, read.querySelectorAll('path, rect, polygon').length];
                }})()"
            ))
            .await;
        let (texts, errors, marks) = read;
        assert_eq!(errors, 0, "{id}");
        assert!(marks > 8, "{id}: {marks}");
        assert!(!texts.contains("NaN"), "{id}: {texts}");
        if id == "demo/over-time" {
            for text in [
                "Window, goodput and queue",
                "newreno",
                "capacity",
                "congestion window (kB)",
                "time (s)",
            ] {
                assert!(texts.contains(text), "no {text} in {texts}");
            }
        }
    }
    let none: bool = chromium
        .value("whimbrel.svg('no such figure') === null")
        .await;
    assert!(none);
    done(chromium).await;
}

/// Plots of unusual values.
fn odd() -> Page {
    let mut report = report::report();
    let panels = |y: Axis, x: Axis, series: Vec<Series>| Plot::Panels {
        x,
        panels: vec![Panel { y, series }],
    };
    let linear = || Axis::new("x", "s");
    let log = || Axis {
        log: true,
        ..Axis::new("y", "bit/s")
    };
    let forms = [
        Form::Line,
        Form::Dashed,
        Form::Steps,
        Form::Marks,
        Form::MarkedLine,
        Form::Shade,
        Form::Outline,
        Form::Stack,
    ];
    let all = |points: &[[f64; 2]]| -> Vec<Series> {
        forms
            .iter()
            .map(|form| report::series(Some("cubic"), &format!("{form:?}"), *form, points.to_vec()))
            .collect()
    };
    let mut plots = vec![
        Plot::Panels {
            x: linear(),
            panels: Vec::new(),
        },
        panels(linear(), linear(), Vec::new()),
    ];
    for points in [
        &[][..],
        &[[1.0, 1.0]],
        &[[0.0, 0.0], [0.0, 0.0]],
        &[[0.0, 5.0], [1.0, 5.0]],
        &[[2.0, -1.0], [1.0, -3.0]],
        &[[0.0, 1e-300], [1e300, 1e300]],
        &[[f64::NAN, 1.0], [1.0, f64::INFINITY], [2.0, 3.0]],
    ] {
        plots.push(panels(linear(), linear(), all(points)));
        plots.push(panels(log(), log(), all(points)));
    }
    let categories = |n: usize| Categories {
        label: "loss".to_owned(),
        values: (0..n).map(|i| format!("{i} %")).collect(),
    };
    for (n, cells) in [
        (0, vec![]),
        (1, vec![None]),
        (2, vec![Some(1.0), Some(1.0), None, Some(f64::NAN)]),
    ] {
        let map = Heat {
            protocol: None,
            label: "all".to_owned(),
            cells,
        };
        plots.push(Plot::Heat {
            x: categories(n),
            y: categories(n),
            value: log(),
            maps: vec![map],
        });
    }
    plots.push(Plot::Heat {
        x: categories(1),
        y: categories(1),
        value: linear(),
        maps: Vec::new(),
    });
    plots.push(Plot::Confusion {
        matrices: Vec::new(),
    });
    let row = |paper, measured, spread| BesideRow {
        label: "row".to_owned(),
        protocol: None,
        paper,
        measured,
        spread,
        expected: [measured, paper],
        right: None,
    };
    for rows in [
        vec![],
        vec![row(None, None, None)],
        vec![row(Some(0.0), Some(0.0), Some(0.0))],
        vec![
            row(Some(-1e300), Some(1e300), None),
            row(Some(1e-9), None, Some(1.0)),
        ],
        vec![row(Some(f64::NAN), Some(1.0), Some(f64::INFINITY))],
    ] {
        plots.push(Plot::Beside {
            value: linear(),
            rows,
        });
    }
    let figure = |(i, plot)| Figure {
        id: format!("odd-{i}"),
        title: format!("odd {i}"),
        caption: String::new(),
        plot,
    };
    report.sections.truncate(1);
    report.sections[0].figures = plots.into_iter().enumerate().map(figure).collect();
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn plots_of_unusual_values_do_no_harm() {
    let report = odd();
    let (chromium, _file) = opened(&report).await;
    for figure in &report.sections[0].figures {
        let id = &figure.id;
        let broken: Vec<String> = chromium
            .value(&format!("document.getElementById('{id}').querySelector('.chart').innerHTML.match(/[^ ]*(NaN|Infinity|undefined)/g) ?? []"))
            .await;
        assert_eq!(broken, Vec::<String>::new(), "{figure:?}");
        // Point at it, step through it and save it.
        chromium
            .run(&format!(
                "const canvas = document.getElementById('{id}').querySelector('.chart');
                const box = canvas.getBoundingClientRect();
                for (const share of [0.1, 0.5, 0.9]) {{
                    const at = {{ clientX: box.left + share * box.width, clientY: box.top + share * box.height, pointerType: 'mouse' }};
                    canvas.dispatchEvent(new PointerEvent('pointermove', at));
                }}
                for (const key of ['ArrowRight', 'ArrowDown', 'End', 'ArrowUp', 'Home']) canvas.dispatchEvent(new KeyboardEvent('keydown', {{ key }}));
                if (/NaN|undefined/.test(whimbrel.svg('{id}') + whimbrel.csv('{id}') + document.getElementById('tip').textContent)) throw new Error('{id}')"
            ))
            .await;
    }
    done(chromium).await;
}

/// Any text is shown unchanged and never runs.
#[tokio::test(flavor = "multi_thread")]
async fn any_text_is_shown_unchanged_and_never_runs() {
    let nasty = "</script><script>window.pwned = 1</script><!-- \" ' & \u{2028} \u{202e}RTL\u{202c} 🐦 ]]> {{x}} </pre> \\u003c $& `${1}`";
    let mut report = report::report();
    report.title = nasty.to_owned();
    report.summary = nasty.to_owned();
    report.made.push(Fact::new(nasty, nasty));
    for section in &mut report.sections {
        section.title = nasty.to_owned();
        section.group = nasty.to_owned();
        section.text.push(nasty.to_owned());
        if let Some(finding) = &mut section.finding {
            finding.claim = nasty.to_owned();
            finding.reason = nasty.to_owned();
        }
        section.sources.push(Source {
            title: nasty.to_owned(),
            path: nasty.to_owned(),
            text: nasty.to_owned(),
        });
        for figure in &mut section.figures {
            figure.title = nasty.to_owned();
            figure.caption = nasty.to_owned();
            let points = vec![[0.0, 1e6], [1.0, 2e6]];
            if let Plot::Panels { x, panels } = &mut figure.plot {
                x.label = nasty.to_owned();
                panels[0].series.push(report::series(
                    Some(nasty),
                    nasty,
                    Form::Line,
                    points.clone(),
                ));
                panels[0].series.push(report::series(
                    Some("cubic"),
                    &"long ".repeat(200_000),
                    Form::Marks,
                    points,
                ));
            }
        }
    }
    let (chromium, _file) = opened(&report).await;
    let quoted = serde_json::to_string(nasty).expect("a string");
    for what in [
        "document.querySelector('.summary').textContent",
        "document.querySelector('figcaption').textContent",
        "document.querySelector('#contents .group').textContent",
        "document.querySelector('.claim').textContent.replace('The paper: ', '')",
        "[...document.querySelectorAll('.sources pre code')].at(2).textContent",
    ] {
        let found: String = chromium.value(what).await;
        // In sentences, backticks make code of what is between them.
        let sentence = !what.contains("sources") && !what.contains("#contents");
        let expected = if sentence {
            nasty.replace('`', "")
        } else {
            nasty.to_owned()
        };
        assert_eq!(found, expected, "{what}");
    }
    let shown: bool = chromium
        .value(&format!(
            "JSON.parse(document.querySelector('.figure script').textContent).title === {quoted}"
        ))
        .await;
    assert!(shown);
    // A picture of it is still XML and has the text.
    let pictured: bool = chromium
        .value("(() => { const read = new DOMParser().parseFromString(whimbrel.svg('demo/over-loss'), 'image/svg+xml'); return !read.querySelector('parsererror, script') && read.documentElement.textContent.includes('window.pwned'); })()")
        .await;
    assert!(pictured);
    let ran: bool = chromium.value("window.pwned !== undefined").await;
    assert!(!ran);
    let in_filter: bool = chromium
        .value(&format!(
            "[...document.querySelectorAll('#filter input')].some((b) => b.value === {quoted})"
        ))
        .await;
    assert!(in_filter);
    done(chromium).await;
}
