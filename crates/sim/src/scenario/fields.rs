//! Typed access to a [`Document`](super::document::Document). Errors name file, line, key and the
//! nearest right word.

use super::ScenarioError;
use super::document::{Node, Position, Table, Value};
use super::written::{Span, Written};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use whimbrel_units::{nearest, nearest_few};

/// A table that is being read.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    table: &'a Table,
    place: &'a Position,
    path: String,
}

impl<'a> Fields<'a> {
    /// The table at a node; `path` is its name in errors, empty for the whole file.
    ///
    /// # Errors
    /// If the value is not a table.
    pub fn new(node: &'a Node, path: &str) -> Result<Self, ScenarioError> {
        match &node.value {
            Value::Table(table) => Ok(Self {
                table,
                place: &node.place,
                path: path.to_owned(),
            }),
            other => Err(ScenarioError::new(
                &node.place,
                path,
                format!("must be a table, not {}", other.kind()),
            )),
        }
    }

    /// Where the table was written.
    pub fn span(&self) -> Span {
        Span::new(self.place, &self.path)
    }

    /// An error about this table.
    pub fn fail(&self, why: impl Display) -> ScenarioError {
        ScenarioError::new(self.place, &self.path, why)
    }

    /// The name of this table in errors.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Checks that the table has no keys but the known ones.
    ///
    /// # Errors
    /// Names the first unknown key and the nearest known one.
    pub fn only(&self, known: &[&str]) -> Result<(), ScenarioError> {
        match self
            .table
            .entries
            .iter()
            .find(|e| !known.contains(&e.key.as_str()))
        {
            None => Ok(()),
            Some(entry) => {
                let why = unknown("key", &entry.key, known.iter().copied());
                Err(ScenarioError::new(&entry.place, &self.path, why))
            }
        }
    }

    /// The value of a key, if the table has it.
    pub fn get(&self, key: &str) -> Option<Field<'a>> {
        self.table.get(key).map(|node| Field {
            node,
            path: self.child(key),
        })
    }

    /// The value of a key as `read` reads it, if the table has it.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Field<'a>) -> Result<T, ScenarioError>,
    ) -> Result<Option<Written<T>>, ScenarioError> {
        let field = self.get(key);
        field
            .map(|field| Ok(field.written(read(&field)?)))
            .transpose()
    }

    /// The value of a required key.
    ///
    /// # Errors
    /// If the table does not have the key; the error shows `example` as a value.
    pub fn required(&self, key: &str, example: &str) -> Result<Field<'a>, ScenarioError> {
        self.get(key).ok_or_else(|| {
            self.fail(format!(
                "`{key}` is missing; write e.g. `{key} = {example}`"
            ))
        })
    }

    /// All keys and values, in the order of the file.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> {
        self.table.entries.iter().map(|e| {
            (
                e.key.as_str(),
                Field {
                    node: &e.node,
                    path: self.child(&e.key),
                },
            )
        })
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

/// One value that is being read.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    node: &'a Node,
    path: String,
}

impl<'a> Field<'a> {
    /// A value; `path` is its name in errors.
    pub fn new(node: &'a Node, path: &str) -> Self {
        Self {
            node,
            path: path.to_owned(),
        }
    }

    /// The same value under another name in errors.
    pub fn named(&self, path: &str) -> Self {
        Self {
            node: self.node,
            path: path.to_owned(),
        }
    }

    /// An error about this value.
    pub fn fail(&self, why: impl Display) -> ScenarioError {
        ScenarioError::new(&self.node.place, &self.path, why)
    }

    /// Where it was written.
    pub fn span(&self) -> Span {
        Span::new(&self.node.place, &self.path)
    }

    /// A value that was read from this field.
    pub fn written<T>(&self, value: T) -> Written<T> {
        Written::at(self.span(), value, self.node.value.clone())
    }

    /// Its name in errors.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// A node at the same place with another value.
    pub fn node_with(&self, value: Value) -> Node {
        Node {
            place: self.node.place.clone(),
            value,
        }
    }

    /// The value itself.
    pub fn value(&self) -> &'a Value {
        &self.node.value
    }

    /// A string.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn text(&self) -> Result<&'a str, ScenarioError> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            other => Err(self.wrong_kind("a string", other)),
        }
    }

    /// A value of type `T`, written as a string or as a number: `"8 Mbit/s"`, `"1 %"`, `0.01`.
    ///
    /// # Errors
    /// The error of `T::from_str`.
    pub fn parse<T>(&self) -> Result<T, ScenarioError>
    where
        T: FromStr,
        T::Err: Display,
    {
        let text = match &self.node.value {
            Value::Text(text) => text.clone(),
            Value::Integer(_) | Value::Float(_) => self.node.value.to_string(),
            other => return Err(self.wrong_kind("a string", other)),
        };
        text.parse().map_err(|error| self.fail(error))
    }

    /// A whole number in a range.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn integer(&self, range: RangeInclusive<u64>) -> Result<u64, ScenarioError> {
        let (min, max) = (*range.start(), *range.end());
        match &self.node.value {
            Value::Integer(n) => match u64::try_from(*n) {
                Ok(n) if range.contains(&n) => Ok(n),
                _ => Err(self.fail(format!("must be from {min} to {max}, not {n}"))),
            },
            Value::Float(n) => Err(self.fail(format!(
                "must be a whole number from {min} to {max}, not {n}"
            ))),
            other => Err(self.wrong_kind("a whole number", other)),
        }
    }

    /// A finite number.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn number(&self) -> Result<f64, ScenarioError> {
        match &self.node.value {
            Value::Integer(n) => Ok(*n as f64),
            Value::Float(n) if n.is_finite() => Ok(*n),
            Value::Float(n) => Err(self.fail(format!("must be a finite number, not {n}"))),
            other => Err(self.wrong_kind("a number", other)),
        }
    }

    /// True or false.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn switch(&self) -> Result<bool, ScenarioError> {
        match &self.node.value {
            Value::Switch(on) => Ok(*on),
            other => Err(self.wrong_kind("true or false", other)),
        }
    }

    /// A list.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn list(&self) -> Result<Vec<Field<'a>>, ScenarioError> {
        match &self.node.value {
            Value::List(items) => Ok(items
                .iter()
                .map(|node| Field {
                    node,
                    path: self.path.clone(),
                })
                .collect()),
            other => Err(self.wrong_kind("a list", other)),
        }
    }

    /// A list of exactly two values.
    ///
    /// # Errors
    /// If it is anything else; the error shows `example`.
    pub fn pair(&self, example: &str) -> Result<(Field<'a>, Field<'a>), ScenarioError> {
        match <[Field<'a>; 2]>::try_from(self.list()?) {
            Ok([first, second]) => Ok((first, second)),
            Err(items) => Err(self.fail(format!(
                "must be a pair, not a list of {}; write e.g. `{example}`",
                items.len()
            ))),
        }
    }

    /// A table.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn fields(&self) -> Result<Fields<'a>, ScenarioError> {
        Fields::new(self.node, &self.path)
    }

    fn wrong_kind(&self, wanted: &str, found: &Value) -> ScenarioError {
        let hint = match found {
            Value::List(_) if wanted != "a table" && !self.path.starts_with("experiment") => {
                format!(
                    "; to try several values, write `\"{}\" = {found}` under [sweep]",
                    self.path
                )
            }
            _ => String::new(),
        };
        self.fail(format!("must be {wanted}, not {}{hint}", found.kind()))
    }
}

/// Of more names than this, an error shows only the nearest ones. All keys of a flow are fewer.
const MANY: usize = 40;
/// How many it shows.
const FEW: usize = 3;

/// "unknown `what` `word`, did you mean `this`?", or a list of the known words if none is near.
pub fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(word, known.clone()) {
        return format!("unknown {what} `{word}`, did you mean `{near}`?");
    }
    let quoted = |names: Vec<&str>| {
        let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        quoted.join(", ")
    };
    match known.clone().count() {
        0 => format!("unknown {what} `{word}`: no {what} is defined"),
        many if many > MANY => {
            let near = quoted(nearest_few(word, known, FEW));
            format!("unknown {what} `{word}`; of {many} the nearest are {near}")
        }
        _ => format!(
            "unknown {what} `{word}`; known: {}",
            quoted(known.collect())
        ),
    }
}
