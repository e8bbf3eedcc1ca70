use super::*;
use crate::page::Fact;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use serde_json::Map;

/// The rows that the `parquet` crate reads, without nulls.
fn read_parquet(bytes: Vec<u8>) -> Vec<Cells> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("Parquet");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| {
        let row = row.expect("a row");
        let value = |field: &Field| match field {
            Field::Null => None,
            Field::Str(text) => Some(json!(text)),
            Field::Long(n) => Some(json!(n)),
            Field::Double(n) => Some(json!(n)),
            Field::Bool(on) => Some(json!(on)),
            other => panic!("{other}"),
        };
        let cells = row.get_column_iter();
        let cells = cells.filter_map(|(name, field)| Some((name.clone(), value(field)?)));
        cells.collect()
    })
    .collect()
}

fn to_parquet(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    crate::parquet(frame, &[Fact::new("scenario", "it")], &mut bytes).expect("memory");
    bytes
}

#[test]
fn rows_read_back_from_parquet_are_the_rows_written() {
    let scenario = scenario(EVERYTHING);
    let runs = play(&scenario);
    for table in Table::ALL {
        let frame = Frame::new(table, &runs);
        assert_eq!(
            read_parquet(to_parquet(&frame)),
            rows(&frame),
            "{}",
            table.name()
        );
    }
}

#[test]
fn the_metadata_has_the_provenance_and_the_meaning_of_columns() {
    let scenario = scenario(EVERYTHING);
    let runs = play(&scenario);
    let frame = Frame::new(Table::Flows, &runs);
    let reader =
        SerializedFileReader::new(bytes::Bytes::from(to_parquet(&frame))).expect("Parquet");
    let facts = reader.metadata().file_metadata().key_value_metadata();
    let facts = facts.expect("there are some");
    let fact = |name: &str| {
        let fact = facts.iter().find(|fact| fact.key == name).expect("there");
        fact.value.clone().expect("something")
    };
    assert_eq!(fact("scenario"), "it");
    assert_eq!(fact("table"), "flows");
    let meanings: Map<String, Value> = serde_json::from_str(&fact("columns")).expect("JSON");
    assert_eq!(meanings.len(), frame.columns().len());
    assert!(
        meanings
            .values()
            .all(|about| about.as_str().is_some_and(|text| !text.is_empty()))
    );
}

#[test]
fn thousands_of_runs_and_several_row_groups_are_all_written() {
    let text = r#"
[link.L]
rate = "100 kbit/s"
[[flow]]
route = ["L"]
size = "1 kB"
[run]
duration = "1 s"
seeds = 1500
[sweep]
"link.L.loss" = ["0 %", "50 %"]
"#;
    let many = scenario(text);
    let runs = play(&many);
    let read = read_parquet(to_parquet(&Frame::new(Table::Flows, &runs)));
    assert_eq!(read.len(), 3000);
    let seeds = read
        .iter()
        .map(|row| row["seed"].as_u64().expect("a number"));
    assert!(seeds.eq((1..=1500).chain(1..=1500)));
    let one = text
        .replace("seeds = 1500", "sample = \"1 ms\"")
        .replace("1 s", "70 s");
    let one = scenario(&one.replace("size = \"1 kB\"", ""));
    let runs = play(&one);
    let read = read_parquet(to_parquet(&Frame::new(Table::Samples, &runs)));
    assert_eq!(read.len(), 140_000);
    for (row, place) in read.iter().zip((1..=70_000).chain(1..=70_000)) {
        let at = row["at_s"].as_f64().expect("a number");
        assert!((at - f64::from(place) * 1e-3).abs() < 1e-9, "{at}");
    }
}
