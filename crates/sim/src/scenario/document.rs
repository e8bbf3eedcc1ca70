//! TOML with positions: every key and value knows where it was written, so that every error can say it.

use super::ScenarioError;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML file as a tree, and where it lies.
#[derive(Debug, Clone)]
pub struct Document {
    /// What the file says: a table.
    pub root: Node,
    /// The folder that paths inside the file are relative to.
    pub folder: PathBuf,
    /// Files that need not lie on a disk: what is in the one at this path, if it is one of them.
    pub built_in: BuiltIn,
}

/// What is in a file that was compiled in, by its path.
pub type BuiltIn = fn(&Path) -> Option<&'static str>;

impl Document {
    /// What it sets, as it was written: of each link, flow and so on a name and a line, in the order of the file. What an
    /// experiment says besides its scenario is left out.
    pub fn settings(&self) -> Vec<(String, String)> {
        let Value::Table(root) = &self.root.value else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for entry in root.entries.iter().filter(|e| e.key != "experiment") {
            settings(&entry.key, &entry.node, &mut all);
        }
        all
    }

    /// Reads TOML. `path` names the file in errors and its folder is where other files are looked for.
    ///
    /// # Errors
    /// Names the line that is not TOML.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        let source = Source::new(text, path.display().to_string().into());
        let table = DeTable::parse(text).map_err(|error| {
            let place = source.place(error.span().map_or(0, |span| span.start));
            ScenarioError::new(&place, "", format!("this is not TOML: {}", error.message()))
        })?;
        let root = Node {
            place: source.place(0),
            value: Value::Table(source.table(table.get_ref())),
        };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self {
            root,
            folder,
            built_in: |_| None,
        })
    }
}

/// Where something was written. Shown as `scenario.toml:7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    source: Arc<str>,
    line: Option<usize>,
}

impl Place {
    /// A place that has no lines: an option of the command line.
    pub fn named(name: &str) -> Self {
        Self {
            source: name.into(),
            line: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.source),
            None => f.write_str(&self.source),
        }
    }
}

/// A value and where it was written.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where.
    pub place: Place,
    /// What.
    pub value: Value,
}

/// A value, as TOML has them.
#[derive(Debug, Clone)]
pub enum Value {
    /// A string.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Switch(bool),
    /// A date or time, which nothing here takes.
    Date(String),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

impl Value {
    /// What it is, for errors: "a string".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Switch(_) => "true or false",
            Self::Date(_) => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// As it was written; a string without its quotes, unless it stands in a list or table.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |f: &mut fmt::Formatter<'_>, value: &Self| match value {
            Self::Text(text) => write!(f, "{text:?}"),
            other => other.fmt(f),
        };
        match self {
            Self::Text(text) | Self::Date(text) => f.write_str(text),
            Self::Integer(n) => n.fmt(f),
            Self::Float(n) => n.fmt(f),
            Self::Switch(on) => on.fmt(f),
            Self::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    inner(f, &item.value)?;
                }
                f.write_str("]")
            }
            Self::Table(table) => {
                f.write_str("{ ")?;
                for (i, entry) in table.entries.iter().enumerate() {
                    write!(f, "{}{} = ", if i == 0 { "" } else { ", " }, entry.key)?;
                    inner(f, &entry.node.value)?;
                }
                f.write_str(" }")
            }
        }
    }
}

/// Keys and values in the order in which they were written.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// No key twice.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub place: Place,
    /// The value.
    pub node: Node,
}

impl Table {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries
            .iter_mut()
            .find(|e| e.key == key)
            .map(|e| &mut e.node)
    }

    /// Sets a key, which `place` then stands for.
    pub fn set(&mut self, key: &str, place: &Place, node: Node) {
        match self.entries.iter_mut().find(|e| e.key == key) {
            Some(entry) => entry.node = node,
            None => self.entries.push(Entry {
                key: key.to_owned(),
                place: place.clone(),
                node,
            }),
        }
    }
}

/// Reads one value as `--set` takes it: TOML where it is TOML, else a string as it stands.
pub(super) fn loose_value(text: &str, place: &Place) -> Node {
    let source = Source::new(text, place.source.clone());
    let mut node = match DeValue::parse(text) {
        Ok(value) => source.node(&value),
        Err(_) => Node {
            place: place.clone(),
            value: Value::Text(text.trim().to_owned()),
        },
    };
    node.place = place.clone();
    node
}

/// Reads a dotted key, `link.L.loss`, quotes allowed.
pub(super) fn dotted_key(text: &str) -> Option<Vec<String>> {
    let line = format!("{text} = 0");
    let table = DeTable::parse(&line).ok()?;
    let mut keys = Vec::new();
    let mut at = table.get_ref();
    loop {
        let mut entries = at.iter();
        let (key, value) = entries.next()?;
        if entries.next().is_some() {
            return None;
        }
        keys.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) => at = inner,
            _ => return Some(keys),
        }
    }
}

/// A text whose byte positions become places.
struct Source {
    name: Arc<str>,
    /// Byte at which each line begins.
    lines: Vec<usize>,
}

impl Source {
    fn new(text: &str, name: Arc<str>) -> Self {
        let newlines = text
            .bytes()
            .enumerate()
            .filter(|(_, b)| *b == b'\n')
            .map(|(i, _)| i + 1);
        Self {
            name,
            lines: std::iter::once(0).chain(newlines).collect(),
        }
    }

    fn place(&self, byte: usize) -> Place {
        let line = self.lines.partition_point(|begin| *begin <= byte);
        Place {
            source: Arc::clone(&self.name),
            line: Some(line),
        }
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        // The parser keeps keys in alphabetical order; positions give back the written one.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| Entry {
            key: AsRef::<str>::as_ref(key.get_ref()).to_owned(),
            place: self.place(key.span().start),
            node: self.node(value),
        };
        Table {
            entries: entries.into_iter().map(entry).collect(),
        }
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let place = self.place(value.span().start);
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            // A whole number beyond 64 bits is not whole here any more: every reader bounds its numbers.
            DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
                Ok(n) => Value::Integer(n),
                Err(_) => Value::Float(f64::INFINITY),
            },
            DeValue::Float(n) => Value::Float(n.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(on) => Value::Switch(*on),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(items) => {
                Value::List(items.iter().map(|item| self.node(item)).collect())
            }
            DeValue::Table(table) => Value::Table(self.table(table)),
        };
        Node { place, value }
    }
}

/// A table that holds tables is one setting for each of them; a list of tables is one for each, too.
fn settings(name: &str, node: &Node, into: &mut Vec<(String, String)>) {
    // What links and destinations, and the keys of a sweep, are called, somebody chose.
    let named = !matches!(name, "run" | "flow");
    match &node.value {
        Value::Table(table) if named => {
            for entry in &table.entries {
                into.push((format!("{name} {}", entry.key), bare(&entry.node.value)));
            }
        }
        Value::List(items) => into.extend(
            items
                .iter()
                .map(|item| (name.to_owned(), bare(&item.value))),
        ),
        other => into.push((name.to_owned(), bare(other))),
    }
}

/// A table without its braces.
fn bare(value: &Value) -> String {
    let text = value.to_string();
    let inner = text.strip_prefix("{ ").and_then(|t| t.strip_suffix(" }"));
    inner.map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_know_their_lines_and_keep_their_order() {
        let text = "b = 1\n[z]\nc = \"x\"\na = [1, [\"y\"]]\n";
        let document = Document::parse(text, Path::new("dir/a.toml")).expect("TOML");
        assert_eq!(document.folder, Path::new("dir"));
        let Value::Table(root) = &document.root.value else {
            panic!("a table")
        };
        assert_eq!(root.entries[0].place.to_string(), "dir/a.toml:1");
        let Some(Value::Table(z)) = root.get("z").map(|n| &n.value) else {
            panic!("a table")
        };
        let keys: Vec<_> = z.entries.iter().map(|e| e.key.as_str()).collect();
        assert_eq!(keys, ["c", "a"]);
        assert_eq!(z.entries[1].place.to_string(), "dir/a.toml:4");
        assert_eq!(z.entries[1].node.value.to_string(), "[1, [\"y\"]]");
    }

    #[test]
    fn dotted_keys_are_read_as_toml_reads_them() {
        assert_eq!(
            dotted_key("link.L.loss"),
            Some(vec!["link".into(), "L".into(), "loss".into()])
        );
        assert_eq!(
            dotted_key("flow.\"my flow\".size"),
            Some(vec!["flow".into(), "my flow".into(), "size".into()])
        );
        assert_eq!(dotted_key("a = 1\nb"), None);
        assert_eq!(dotted_key(""), None);
    }

    #[test]
    fn what_is_not_toml_names_its_line() {
        let error = Document::parse("a = 1\nb = = 2\n", Path::new("a.toml"))
            .expect_err("no TOML")
            .to_string();
        assert!(error.starts_with("a.toml:2: this is not TOML: "), "{error}");
    }
}
