#[cfg(feature = "parquet")]
mod parquet;

use super::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::{jobs, run_all};

/// All kinds of flows, and names that need quoting.
const EVERYTHING: &str = r#"
[link.L]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 packets"
aqm = "codel"
loss = "1 %"
[link."a, \"b\""]
rate = "5 Mbit/s"
delay = "20 ms"
[[flow]]
name = "Größe, \"x\"\nund\r\n;'€"
controller = "newreno+cerl"
ecn = true
nack = "on"
route = ["L"]
[[flow]]
controller = "cubic"
routes = [["L"], ["a, \"b\""]]
size = "200 kB"
[[flow]]
name = "talk"
controller = "cubic"
route = ["L"]
streams = 3
messages = { size = "1 kB", every = "20 ms" }
[[flow]]
name = "bursts"
controller = "enhanced-aatp"
route = ["L"]
[[flow]]
kind = "udp"
rate = "100 kbit/s"
route = ["a, \"b\""]
[run]
duration = "3 s"
seeds = 2
sample = "250 ms"
[sweep]
"link.L.loss" = ["0 %", "1 %"]
"link.L.queue" = ["50 packets", "0.5 bdp"]
"flow.0.two_way" = [true, false]
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, Path::new("test")).expect("a scenario")
}

fn play(scenario: &Scenario) -> Vec<Run<'_>> {
    run_all(&jobs(scenario.points()), None, || ()).expect("threads")
}

/// The runs as `--json` prints them.
fn printed(runs: &[Run<'_>]) -> Vec<Value> {
    let mut text = Vec::new();
    crate::json(runs, &mut text).expect("memory");
    let all: Value = serde_json::from_slice(&text).expect("JSON");
    all["runs"].as_array().expect("a list").clone()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], |list| list)
}

/// The members of an object and of its inner objects, except lists.
fn flat(prefix: &str, value: &Value, into: &mut BTreeMap<String, Value>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let name = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}_{name}")
        };
        match value {
            Value::Object(_) if name == "aatp_states" => {
                into.insert(name, value.to_string().into());
            }
            Value::Object(_) => flat(&name, value, into),
            Value::Array(_) | Value::Null => {}
            _ => {
                into.insert(name, value.clone());
            }
        }
    }
}

type Cells = BTreeMap<String, Value>;

/// The rows of a table as built from `--json`, without the columns that identify the run.
fn expected(table: Table, run: &Value) -> Vec<Cells> {
    let mut rows = Vec::new();
    let mut add = |keys: &[(&str, &Value)], what: &Value| {
        let mut cells = Cells::new();
        flat("", what, &mut cells);
        cells.remove("name");
        for (name, value) in keys.iter().filter(|(_, value)| !value.is_null()) {
            cells.insert((*name).to_owned(), (*value).clone());
        }
        rows.push(cells);
    };
    match table {
        Table::Runs => {
            let mut run = run.clone();
            let members = run.as_object_mut().expect("an object");
            let controller = members["parameters"]["controller"].clone();
            members.retain(|name, _| !["parameters", "seed", "wall_s"].contains(&name.as_str()));
            add(&[("controller", &controller)], &run);
        }
        Table::Links | Table::LinkSamples => {
            for link in list(run, "links") {
                let name = [("link", &link["name"])];
                match table {
                    Table::Links => add(&name, link),
                    _ => list(link, "samples").iter().for_each(|s| add(&name, s)),
                }
            }
        }
        Table::Destinations | Table::DestinationSamples => {
            for node in list(run, "destinations") {
                let name = [("destination", &node["name"])];
                match table {
                    Table::Destinations => add(&name, node),
                    _ => list(node, "samples").iter().for_each(|s| add(&name, s)),
                }
            }
        }
        _ => {
            for flow in list(run, "flows") {
                let of = [("flow", &flow["name"]), ("controller", &flow["controller"])];
                let named = |name, value| [of[0], of[1], (name, value)];
                match table {
                    Table::Flows => add(&of, flow),
                    Table::Paths => list(flow, "paths")
                        .iter()
                        .for_each(|path| add(&named("route", &path["route"]), path)),
                    Table::Streams => {
                        for (n, stream) in list(flow, "streams").iter().enumerate() {
                            add(&[of[0], of[1], ("stream", &json!(n))], stream);
                        }
                    }
                    _ => {
                        let what = if table == Table::Samples {
                            "samples"
                        } else {
                            "episodes"
                        };
                        list(flow, what).iter().for_each(|s| add(&of, s));
                        for path in list(flow, "paths") {
                            let of = named("route", &path["route"]);
                            list(path, what).iter().for_each(|s| add(&of, s));
                        }
                    }
                }
            }
        }
    }
    rows
}

/// A table's rows by the names of the columns, without nulls.
fn rows(frame: &Frame<'_>) -> Vec<Cells> {
    let mut all = Vec::new();
    let add = |cells: &[Cell]| {
        let named = frame.columns().iter().zip(cells);
        let value = |cell: &Cell| match cell {
            Cell::Null => None,
            Cell::Text(text) => Some(json!(text)),
            Cell::Integer(n) => Some(json!(n)),
            Cell::Float(n) => Some(json!(n)),
            Cell::Switch(on) => Some(json!(on)),
        };
        let row = named.filter_map(|(column, cell)| Some((column.name.clone(), value(cell)?)));
        all.push(row.collect());
        Ok(())
    };
    frame.rows(add).expect("memory");
    all
}

#[test]
fn every_field_of_the_json_is_a_column_with_the_same_name_and_value() {
    let scenario = scenario(EVERYTHING);
    let runs = play(&scenario);
    let printed = printed(&runs);
    for table in Table::ALL {
        let mut expected_rows = Vec::new();
        for (index, run) in printed.iter().enumerate() {
            let sets = run["parameters"].as_object().expect("an object");
            for mut cells in expected(table, run) {
                cells.insert("run".to_owned(), json!(index));
                cells.insert("seed".to_owned(), run["seed"].clone());
                let swept = sets.iter().filter(|(key, _)| *key != "controller");
                cells.extend(swept.map(|(key, value)| (key.clone(), value.clone())));
                let percent = if sets["link.L.loss"] == "1 %" {
                    0.01
                } else {
                    0.0
                };
                cells.insert("link.L.loss_ratio".to_owned(), json!(percent));
                expected_rows.push(cells);
            }
        }
        let rows = rows(&Frame::new(table, &runs));
        assert!(!rows.is_empty(), "{}", table.name());
        assert_eq!(rows.len(), expected_rows.len(), "{}", table.name());
        for (row, expected) in rows.iter().zip(&expected_rows) {
            let names: Vec<&String> = row.keys().collect();
            assert!(
                names.iter().copied().eq(expected.keys()),
                "{row:?} {expected:?}"
            );
            for (name, value) in row {
                let other = &expected[name];
                // serde_json may read a number with an error in its last bit.
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-15 * a.abs();
                let same = match (value.as_f64(), other.as_f64()) {
                    (Some(a), Some(b)) => near(a, b),
                    _ => value == other,
                };
                assert!(same, "{}: {name} is {value}, not {other}", table.name());
            }
        }
    }
}

#[test]
fn swept_values_of_one_kind_have_a_column_in_base_units() {
    let text = r#"
[link.L]
rate = "1 Mbit/s"
[[flow]]
route = ["L"]
size = "1 kB"
[run]
duration = "10 ms"
[sweep]
"link.L.rate" = ["500 kbit/s", "1 Mbit/s"]
"link.L.delay" = ["10 ms", "1.5 s"]
"link.L.queue" = ["1 bdp", "64 kB"]
"link.L.loss" = ["0", "2 %"]
"flow.start" = ["0", "0"]
"#;
    let scenario = scenario(text);
    let runs = play(&scenario);
    let frame = Frame::new(Table::Runs, &runs);
    let names: Vec<&str> = frame.columns().iter().map(|c| c.name.as_str()).collect();
    // `1 bdp` and `64 kB` are of different kinds, and 0 could be of any kind.
    let swept = [
        "run",
        "link.L.rate",
        "link.L.rate_bps",
        "link.L.delay",
        "link.L.delay_s",
        "link.L.queue",
        "link.L.loss",
        "link.L.loss_ratio",
        "flow.start",
        "seed",
    ];
    assert_eq!(names[..swept.len()], swept);
    let last = rows(&frame).pop().expect("16 points and more");
    assert_eq!(last["link.L.rate"], "1 Mbit/s");
    assert_eq!(last["link.L.rate_bps"], 1e6);
    assert_eq!(last["link.L.delay_s"], 1.5);
    assert_eq!(last["link.L.queue"], "64 kB");
    assert_eq!(last["link.L.loss_ratio"], 0.02);
}

/// The rows that the `csv` crate reads, without empty fields.
fn read_csv(text: &[u8]) -> Vec<BTreeMap<String, String>> {
    let mut reader = ::csv::Reader::from_reader(text);
    let rows = reader.deserialize();
    let rows = rows.map(|row| row.expect("as many fields as the header has"));
    rows.map(|row: BTreeMap<String, String>| {
        row.into_iter()
            .filter(|(_, field)| !field.is_empty())
            .collect()
    })
    .collect()
}

#[test]
fn rows_read_back_from_csv_are_the_rows_written() {
    let scenario = scenario(EVERYTHING);
    let runs = play(&scenario);
    for table in Table::ALL {
        let frame = Frame::new(table, &runs);
        let rows = rows(&frame);
        let mut text = Vec::new();
        crate::csv(&frame, &mut text).expect("memory");
        let read = read_csv(&text);
        assert_eq!(read.len(), rows.len(), "{}", table.name());
        for (fields, row) in read.iter().zip(&rows) {
            assert_eq!(
                fields.keys().collect::<Vec<_>>(),
                row.keys().collect::<Vec<_>>()
            );
            for (name, value) in row {
                let same = match value {
                    Value::String(text) => &fields[name] == text,
                    Value::Bool(on) => fields[name].parse() == Ok(*on),
                    number => fields[name].parse().ok() == number.as_f64(),
                };
                assert!(same, "{name}: {value} became {}", fields[name]);
            }
        }
    }
}

#[test]
fn tables_are_documented_and_their_columns_are_unique() {
    for table in Table::ALL {
        assert_eq!(table.name().parse(), Ok(table));
        let documented = include_str!("../../../../docs/reference/formats.md");
        assert!(documented.contains(&format!("| `{}`", table.name())));
        let frame = Frame::new(table, &[]);
        assert_eq!(frame.places.len(), frame.columns().len(), "each name once");
    }
    let error = "smaples".parse::<Table>().expect_err("unknown").to_string();
    assert!(error.contains("did you mean `samples`?"), "{error}");
    assert!(error.contains("destination-samples, episodes"), "{error}");
}
