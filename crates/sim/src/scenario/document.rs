//! TOML with positions: every key and value has its file and line, so that errors can name them.

use super::ScenarioError;
pub use super::position::Position;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML file as a tree.
#[derive(Debug, Clone)]
pub struct Document {
    /// The content of the file: a table.
    pub root: Node,
    /// The folder of the file. Paths in the file are relative to it.
    pub folder: PathBuf,
    /// Files that are compiled in and need not exist on a disk.
    pub built_in: BuiltIn,
}

/// The content of a compiled-in file by its path; `None`: it is not compiled in.
pub type BuiltIn = fn(&Path) -> Option<&'static str>;

impl Document {
    /// The settings of the file as written: for each link, flow and so on its name and its values
    /// in one line, in the order of the file. The tables `[experiment]` and `[point]` are left out.
    pub fn settings(&self) -> Vec<(String, String)> {
        let Value::Table(root) = &self.root.value else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for entry in root
            .entries
            .iter()
            .filter(|e| !matches!(&*e.key, "experiment" | "point"))
        {
            settings(&entry.key, &entry.node, &mut all);
        }
        all
    }

    /// Parses TOML. `path` names the file in errors; paths in the file are relative to its folder.
    ///
    /// # Errors
    /// If the text is not valid TOML; names the line.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        let source = Source::new(text, path.display().to_string().into());
        let table = DeTable::parse(text).map_err(|error| {
            let place = source.place(error.span().map_or(0, |span| span.start));
            ScenarioError::new(&place, "", format!("invalid TOML: {}", error.message()))
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

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// The place of the value.
    pub place: Position,
    /// The value.
    pub value: Value,
}

/// A TOML value.
#[derive(Debug, Clone)]
pub enum Value {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// A Boolean.
    Switch(bool),
    /// A date or time, which no key accepts.
    Date(String),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

impl Value {
    /// A list of values without places.
    pub fn list(items: impl Iterator<Item = Self>) -> Self {
        let node = |value| Node {
            place: Position::default(),
            value,
        };
        Self::List(items.map(node).collect())
    }

    /// A table of values without places.
    pub fn table<'a>(entries: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let mut table = Table::default();
        let place = Position::default();
        for (key, value) in entries {
            let node = Node {
                place: place.clone(),
                value,
            };
            table.set(key, &place, node);
        }
        Self::Table(table)
    }

    /// The value as TOML.
    pub fn toml(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            other => other.to_string(),
        }
    }

    /// Its type, for errors: "a string".
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

/// As written; a string without its quotes, unless it is inside a list or table.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |f: &mut fmt::Formatter<'_>, value: &Self| f.write_str(&value.toml());
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

/// A string of TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Keys and values in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The entries; each key occurs once.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The place of the key.
    pub place: Position,
    /// The value.
    pub node: Node,
}

impl Table {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The value of a key, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries
            .iter_mut()
            .find(|e| e.key == key)
            .map(|e| &mut e.node)
    }

    /// Sets a key. `place` is the place of a key that is added.
    pub fn set(&mut self, key: &str, place: &Position, node: Node) {
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

/// Parses the value of a setting: as TOML if it is valid TOML, else as a plain string.
pub(super) fn loose_value(text: &str, place: &Position) -> Node {
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

/// Parses a dotted key such as `link.L.loss`; parts may be quoted. `None` if it is not one.
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

/// Maps byte positions of a text to places.
struct Source {
    name: Arc<str>,
    /// Byte position of the begin of each line.
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

    fn place(&self, byte: usize) -> Position {
        let line = self.lines.partition_point(|begin| *begin <= byte);
        Position {
            source: Arc::clone(&self.name),
            line: Some(line),
        }
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        // The parser sorts keys alphabetically; sorting by position restores the order of the file.
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
            // An integer that does not fit in 64 bits becomes infinite: every reader checks a
            // range.
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

/// Appends the settings under `name`: one for each entry of a table of named things (links,
/// destinations, sweep keys), one for each item of a list, else one for the whole.
fn settings(name: &str, node: &Node, into: &mut Vec<(String, String)>) {
    // The keys in `[run]` and `[flow]` are fixed; those of all other tables are names.
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

/// The text of a value; a table without its braces.
fn bare(value: &Value) -> String {
    let text = value.to_string();
    let inner = text.strip_prefix("{ ").and_then(|t| t.strip_suffix(" }"));
    inner.map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_have_lines_and_keep_their_order() {
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
    fn dotted_keys_follow_the_rules_of_toml() {
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
    fn an_error_for_invalid_toml_names_its_line() {
        let error = Document::parse("a = 1\nb = = 2\n", Path::new("a.toml"))
            .expect_err("no TOML")
            .to_string();
        assert!(error.starts_with("a.toml:2: invalid TOML: "), "{error}");
    }
}
