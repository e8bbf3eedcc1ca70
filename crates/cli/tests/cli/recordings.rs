//! `whimbrel trace`, and recorded rates as flags of a path.

use super::support::*;
use std::fs;
use tempfile::TempDir;

/// 12 Mbit/s for a second with a stall of 200 ms; a rate each second; a delay that falls.
fn files() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let times = (0..=1000).filter(|ms| !(400..600).contains(ms));
    let down: String = times.map(|ms| format!("{ms}\n")).collect();
    for (name, text) in [
        ("lte.down", down.as_str()),
        ("rate.csv", "time_s,rate_mbps\n0,8\n1,0\n2,16\n"),
        ("delay.txt", "12\n16\n14\n10\n"),
        ("broken.csv", "0,8\n1,many\n"),
    ] {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

#[test]
fn recordings_have_statistics_and_a_curve_within_80_columns() {
    let folder = files();
    let args = "trace lte.down rate.csv delay.txt";
    let output = whimbrel_in(folder.path(), args);
    let text = stdout(&output);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(text.contains("lte.down (mahimahi)") && text.contains("rate.csv (csv)"));
    // A curve with a hole.
    assert!(
        text.lines()
            .any(|line| line.starts_with("lte.down ") && line.contains("█ "))
    );

    let args = format!("{args} --json --cellular 2 --plot all.svg");
    let all = json(&whimbrel_in(folder.path(), &args));
    let recordings = list(&all["recordings"]);
    let [down, csv, delay] = recordings else {
        panic!("{all}")
    };
    assert_eq!(down["format"], "mahimahi");
    assert_eq!(down["duration_s"], 1.0);
    assert_eq!(down["stall_ms"]["count"], 1);
    assert_eq!(down["stall_ms"]["max"], 201.0);
    assert_eq!(csv["format"], "csv");
    assert_eq!(csv["duration_s"], 3.0);
    assert_eq!(csv["rate_mbps"]["p5"], 0.0);
    assert_eq!(delay["format"], "delay");
    assert_eq!(delay["delay_ms"]["mean"], 13.0);
    assert_eq!(delay["change_ms"]["max"], 4.0);
    assert_eq!(list(&list(&all["generated"])[1]["paths"]).len(), 2);
    let svg = fs::read_to_string(folder.path().join("all.svg")).expect("a picture");
    assert!(svg.contains("delay.txt"));
}

/// A stall of more than a minute, names that are long, and what a spreadsheet writes.
#[test]
fn unusual_recordings_are_shown_as_usual_ones() {
    let folder = TempDir::new().expect("a folder");
    let times = (0..1000).chain(79_318..80_000).chain(80_200..900_000);
    let down: String = times.map(|ms| format!("{ms}\n")).collect();
    let long = "recorded-on-a-train-to-the-south";
    for (name, text) in [
        (&*format!("{long}.down"), &*down),
        ("sheet.csv", "\u{feff}# a comment\r\n0,8\r\n0.1,16\r\n"),
        (&*format!("{long}.delay"), "12\n16\n14\n10\n"),
    ] {
        fs::write(folder.path().join(name), text).expect("written");
    }
    let args = format!("trace {long}.down sheet.csv {long}.delay");
    let text = stdout(&whimbrel_in(folder.path(), &args));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert!(!line.contains("-0.0 %"), "{line}");
    }
    assert_contains(&text, &["78319 ms", "sheet.csv (csv)"]);
    let all = json(&whimbrel_in(folder.path(), "trace sheet.csv --json"));
    assert_eq!(all["recordings"][0]["stalled"].to_string(), "0.0");
}

#[test]
fn wrong_recordings_name_file_and_line() {
    let folder = files();
    let error = |args: &str| fails(&whimbrel_in(folder.path(), args), 2);
    let wrong = error("trace lte.down broken.csv");
    let expected = "broken.csv: line 2: `many` is not a rate in Mbit/s";
    assert_contains(&wrong, &[expected]);
    let missing = error("trace none.down");
    assert_contains(&missing, &["cannot read the trace none.down"]);
    let back = error("compare --back-trace broken.csv");
    assert_contains(&back, &["--back-trace: broken.csv: line 2"]);
}

#[test]
fn the_way_back_limits_a_comparison() {
    let folder = files();
    fs::write(folder.path().join("slow.up"), "100\n").expect("written");
    let flags = "compare --rate-trace lte.down --rtt '20 ms' --loss '0 %' --controllers cubic \
                 --duration '10 s' --seeds 1";
    let goodput = |args: &str| {
        let all = json(&whimbrel_in(folder.path(), args));
        number(&list(&all["runs"])[0], "/total/goodput_bps")
    };
    let free = goodput(&format!("{flags} --json"));
    let slow = goodput(&format!("{flags} --back-trace slow.up --json"));
    assert!(free > 6e6 && slow < free / 2.0, "{free} {slow}");
    // The scenario that the flags stand for gives the same.
    let print = format!("{flags} --back-trace slow.up --print-scenario");
    let text = stdout(&whimbrel_in(folder.path(), &print));
    assert_contains(&text, &["slow.up"]);
    fs::write(folder.path().join("path.toml"), text).expect("written");
    assert_eq!(goodput("sim path.toml --json"), slow);
}

#[test]
fn real_transfers_over_a_recorded_rate_stand_beside_the_simulator() {
    let folder = files();
    let args = "compare --real --rate-trace lte.down --back-trace rate.csv --rtt 20ms --duration \
                2s --controllers cubic --json";
    let output = whimbrel_in(folder.path(), args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = parse(&text(&output.stdout));
    // 801 opportunities of 1504 bytes in a second.
    let mean = number(&report, "/rate_bps") / 1e6;
    assert!((9.5..9.8).contains(&mean), "{report}");
    for run in list(&report["runs"]) {
        let simulated = number(run, "/simulated/goodput_bps");
        assert!((4e6..9.8e6).contains(&simulated), "{run}");
        match run["not_measured"].as_str() {
            Some(why) => println!("skipped: {why}"),
            None => {
                // A busy machine is slower, but the path is no faster.
                let measured = number(run, "/measured/goodput_bps");
                assert!((0.2 * simulated..9.8e6).contains(&measured), "{run}");
            }
        }
    }
}
