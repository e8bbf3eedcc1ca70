//! `[sweep]` of a file, and settings that override it: values that are put into its tree before it
//! is read, so that they pass the same checks.

use super::ScenarioError;
use super::document::{Node, Position, Table, Value, dotted_key, loose_value};
use super::fields::{Fields, unknown};
use super::parameter::{Parameter, ParameterValue, choices, too_many};
use super::{destination, kind, link, run, settings};
use std::str::FromStr;

/// A value that overrides a file: `link.L.loss=2 %`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The key, as in `[sweep]`.
    pub key: String,
    /// The value: TOML if valid, else a plain string.
    pub value: String,
    /// The flag or argument that it comes from, for errors; may be empty.
    pub source: &'static str,
}

impl Setting {
    /// A setting that comes from no flag or argument.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            source: "",
        }
    }

    /// Its place in errors: `--set link.L.loss=2 %`.
    fn place(&self) -> Position {
        let text = format!("{} {}={}", self.source, self.key, self.value);
        Position::named(text.trim_start())
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self::new(key.trim(), value.trim())),
            _ => Err(format!(
                "`{text}` must be written key=value, e.g. `link.L.loss=2 %`"
            )),
        }
    }
}

/// One key of `[sweep]`.
#[derive(Debug, Clone)]
pub(super) struct KeyValues {
    key: String,
    values: Vec<Node>,
}

/// Puts settings into the tree. A setting removes its key from the sweep.
pub(super) fn set_all(root: &mut Node, settings: &[Setting]) -> Result<(), ScenarioError> {
    for setting in settings {
        let place = setting.place();
        let node = loose_value(&setting.value, &place);
        if let Value::Table(table) = &mut root.value
            && let Some(Value::Table(sweep)) = table.get_mut("sweep").map(|node| &mut node.value)
        {
            sweep.entries.retain(|entry| entry.key != setting.key);
        }
        put(root, &setting.key, node, &place)?;
    }
    Ok(())
}

/// Reads `[sweep]`.
pub(super) fn axes(root: &Fields<'_>) -> Result<Vec<KeyValues>, ScenarioError> {
    let Some(sweep) = root.get("sweep") else {
        return Ok(Vec::new());
    };
    let mut axes = Vec::new();
    let mut points = 1_usize;
    for (key, field) in sweep.fields()?.all() {
        if let Value::Table(_) = field.value() {
            return Err(field.fail(format!(
                "write the whole key in quotes: `\"{key}.…\" = […]`"
            )));
        }
        let values: Vec<Node> = match field.value() {
            Value::List(items) if !items.is_empty() => items.clone(),
            Value::List(_) => return Err(field.fail("needs at least one value")),
            other => {
                return Err(field.fail(format!("must be a list of values, not {}", other.kind())));
            }
        };
        points = points.saturating_mul(values.len());
        if let Some(why) = too_many(points) {
            return Err(field.fail(why));
        }
        axes.push(KeyValues {
            key: key.to_owned(),
            values,
        });
    }
    Ok(axes)
}

/// The combinations of all values, each with its tree; the last key varies fastest.
pub(super) fn combinations<'a>(
    root: &'a Node,
    axes: &'a [KeyValues],
) -> impl Iterator<Item = Result<(Vec<Parameter>, Node), ScenarioError>> + 'a {
    let lengths = axes.iter().map(|axis| axis.values.len()).collect();
    choices(lengths).map(move |chosen| {
        let mut tree = root.clone();
        let mut parameters = Vec::with_capacity(axes.len());
        for (axis, choice) in axes.iter().zip(chosen) {
            let node = &axis.values[choice];
            put(&mut tree, &axis.key, node.clone(), &node.place)?;
            parameters.push(Parameter {
                key: axis.key.clone(),
                value: ParameterValue::from(&node.value),
            });
        }
        Ok((parameters, tree))
    })
}

/// Sets `key` in the tree: `link.L.loss`, `destination.NODE.gamma`, `run.recovery`,
/// `flow.controller` for all flows that can have it, `flow.0.controller` or `flow.NAME.controller`
/// for one.
fn put(root: &mut Node, key: &str, node: Node, place: &Position) -> Result<(), ScenarioError> {
    let fail = |why: String| ScenarioError::new(place, key, why);
    let path = dotted_key(key).ok_or_else(|| {
        fail(format!(
            "`{key}` is not a key; write e.g. `link.L.loss`, `flow.controller`, `run.recovery`"
        ))
    })?;
    let Value::Table(table) = &mut root.value else {
        return Err(fail("the file is not a table".to_owned()));
    };
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["link", name, rest @ ..] if !rest.is_empty() => {
            let links =
                table_at(table, "link").ok_or_else(|| fail("no links are defined".to_owned()))?;
            let names: Vec<String> = links.entries.iter().map(|e| e.key.clone()).collect();
            let link = table_at(links, name)
                .ok_or_else(|| fail(unknown("link", name, names.iter().map(String::as_str))))?;
            first_known(rest, &link::KEYS).map_err(fail)?;
            descend(link, rest, node, place).map_err(fail)
        }
        ["flow", rest @ ..] if !rest.is_empty() => put_flow(table, rest, node, place).map_err(fail),
        // Whether a flow has such a destination is checked later: the file need not have its table.
        ["destination", _, rest @ ..] if !rest.is_empty() => {
            first_known(rest, &destination::KEYS).map_err(fail)?;
            descend(table, &path, node, place).map_err(fail)
        }
        ["run", rest @ ..] if !rest.is_empty() => {
            let known: Vec<&str> = run::KEYS.into_iter().chain(settings::keys()).collect();
            first_known(rest, &known).map_err(fail)?;
            descend(table, &path, node, place).map_err(fail)
        }
        [first @ ("link" | "flow" | "destination" | "run")] => Err(fail(format!(
            "`{first}` is not a complete key; write e.g. `link.L.loss`"
        ))),
        ["link", _] => Err(fail(
            "a whole link cannot be set; write e.g. `link.L.loss`".to_owned(),
        )),
        ["destination", name] => Err(fail(format!(
            "a whole destination cannot be set; write e.g. `destination.{name}.bandwidth`"
        ))),
        _ => {
            let first = path.first().copied().unwrap_or_default();
            Err(fail(unknown(
                "key",
                first,
                ["link", "flow", "destination", "run"].into_iter(),
            )))
        }
    }
}

fn put_flow(root: &mut Table, path: &[&str], node: Node, place: &Position) -> Result<(), String> {
    let Some(Value::List(flows)) = root.get_mut("flow").map(|node| &mut node.value) else {
        return Err("no [[flow]] is defined".to_owned());
    };
    let (first, rest) = path.split_first().ok_or("a key is missing")?;
    let keys = kind::keys();
    if keys.contains(first) {
        let mut any = false;
        for flow in flows.iter_mut() {
            if let Value::Table(flow) = &mut flow.value
                && applies(flow, first)
            {
                descend(flow, path, node.clone(), place)?;
                any = true;
            }
        }
        return if any {
            Ok(())
        } else {
            Err(format!("`{first}` is not a key of any flow in this file"))
        };
    }
    let named = |node: &Node| match &node.value {
        Value::Table(flow) => flow.get("name").map(|n| n.value.to_string()),
        _ => None,
    };
    let names: Vec<Option<String>> = flows.iter().map(named).collect();
    let index = match first.parse::<usize>() {
        Ok(index) => Some(index),
        Err(_) => names
            .iter()
            .position(|name| name.as_deref() == Some(*first)),
    };
    let count = flows.len();
    let Some(index) = index else {
        let known = names
            .iter()
            .flatten()
            .map(String::as_str)
            .chain(keys.iter().copied());
        return Err(unknown("key or flow", first, known));
    };
    let flow = flows.get_mut(index).ok_or_else(|| {
        format!(
            "unknown flow {index}; flows are numbered from 0 to {}",
            count.saturating_sub(1)
        )
    })?;
    let Value::Table(flow) = &mut flow.value else {
        return Err("the flow is not a table".to_owned());
    };
    first_known(rest, &keys)?;
    descend(flow, rest, node, place)
}

/// Whether a flow of this kind can have this key.
fn applies(flow: &Table, key: &str) -> bool {
    let written = flow.get("kind").map(|kind| kind.value.to_string());
    let possible = kind::Kind::possible(written.as_deref());
    kind::SHARED_KEYS.contains(&key) || possible.iter().any(|kind| kind.keys().contains(&key))
}

fn first_known(path: &[&str], known: &[&str]) -> Result<(), String> {
    match path.first() {
        Some(first) if known.contains(first) => Ok(()),
        Some(first) => Err(unknown("key", first, known.iter().copied())),
        None => Err("a key is missing; write e.g. `flow.0.controller`".to_owned()),
    }
}

fn table_at<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Table> {
    match table.get_mut(key).map(|node| &mut node.value) {
        Some(Value::Table(inner)) => Some(inner),
        _ => None,
    }
}

/// Sets the value at `path` below `table`, creating missing tables.
fn descend(table: &mut Table, path: &[&str], node: Node, place: &Position) -> Result<(), String> {
    let (first, rest) = path.split_first().ok_or("a key is missing")?;
    if rest.is_empty() {
        table.set(first, place, node);
        return Ok(());
    }
    if table.get(first).is_none() {
        table.set(
            first,
            place,
            Node {
                place: place.clone(),
                value: Value::Table(Table::default()),
            },
        );
    }
    match table.get_mut(first).map(|node| &mut node.value) {
        Some(Value::Table(inner)) => descend(inner, rest, node, place),
        Some(other) => Err(format!(
            "`{first}` is {}, so it has no `{}`",
            other.kind(),
            rest.join(".")
        )),
        None => Err(format!("`{first}` is missing")),
    }
}
