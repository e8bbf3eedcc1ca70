//! The configuration file of a server: its users, and the commands that pipes may reach.

use crate::{BadInput, Error};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;
use whimbrel_cc::fairness::Priority;
use whimbrel_sim::scenario::ScenarioError;
use whimbrel_sim::scenario::document::{Document, Value};
use whimbrel_sim::scenario::fields::{Field, Fields, unknown};
use whimbrel_transfer::RemotePath;
use whimbrel_transfer::users::{Rights, RightsIn, Target, TokenEntry, User, Users};
use whimbrel_units::Bytes;

/// Keys of the file, of a user, of a token and of a command, and rights.
const FILE: [&str; 2] = ["users", "commands"];
const USER: [&str; 9] = [
    "tokens",
    "directory",
    "rights",
    "rights-in",
    "quota",
    "max-priority",
    "expires",
    "connect",
    "disabled",
];
const RIGHTS: [&str; 3] = ["write", "read", "delete"];
const TOKEN: [&str; 2] = ["hash", "expires"];
const COMMAND: [&str; 1] = ["run"];
/// Maximum number of valid tokens of a user: the present one and its successor.
const MAX_TOKENS: usize = 2;

/// Reads the file.
///
/// # Errors
/// If the file cannot be read or has a mistake; names file, line, key and the nearest right word.
pub fn read(path: &Path) -> Result<Users, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| BadInput::new(format!("{}: cannot read: {e}", path.display())))?;
    Ok(parse(&text, path)?)
}

/// Reads a file of this text; errors name it by `path`.
///
/// # Errors
/// As for [`read`].
pub fn parse(text: &str, path: &Path) -> Result<Users, ScenarioError> {
    let document = Document::parse(text, path)?;
    let file = Fields::new(&document.root, "")?;
    file.only(&FILE)?;
    let mut commands = BTreeMap::new();
    if let Some(field) = file.get("commands") {
        for (name, field) in field.fields()?.all() {
            commands.insert(name, command(&field)?);
        }
    }
    let mut users = Vec::new();
    let listed = file.required("users", "{ alice = { tokens = [\"blake3:...\"] } }")?;
    for (name, field) in listed.fields()?.all() {
        let user = user(name, &field, &commands)?;
        if let Some(other) = users
            .iter()
            .find(|other: &&User| shares_token(other, &user))
        {
            let text = format!("has a token of `{}`; each token is of one user", other.name);
            return Err(field.fail(text));
        }
        users.push(user);
    }
    Ok(Users::new(users))
}

fn shares_token(a: &User, b: &User) -> bool {
    let has = |hash| b.tokens.iter().any(|token| token.hash == hash);
    a.tokens.iter().any(|token| has(token.hash))
}

fn user(
    name: &str,
    field: &Field<'_>,
    commands: &BTreeMap<&str, Vec<String>>,
) -> Result<User, ScenarioError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || name.starts_with('.') {
        let text = "a user's name has 1 to 64 letters, digits, `-`, `_` and `.`";
        return Err(field.fail(text));
    }
    let fields = field.fields()?;
    fields.only(&USER)?;
    let mut tokens = Vec::new();
    let listed = fields.required("tokens", "[\"blake3:...\"]")?;
    for item in listed.list()? {
        tokens.push(token(&item)?);
    }
    if tokens.is_empty() || tokens.len() > MAX_TOKENS {
        let text = format!(
            "must have one token, or two while it is exchanged, not {}; `whimbrel token new` makes \
             one",
            tokens.len()
        );
        return Err(listed.fail(text));
    }
    let within = match fields.get("directory") {
        Some(field) => relative(&field)?,
        None => PathBuf::from(name),
    };
    let max_priority = match fields.get("max-priority") {
        Some(field) => {
            let n = field.integer(1..=8)?;
            let priority = u8::try_from(n).ok().and_then(Priority::new);
            priority.ok_or_else(|| field.fail("must be from 1 to 8"))?
        }
        None => Priority::HIGHEST,
    };
    let disabled = match fields.get("disabled") {
        Some(field) => field.switch()?,
        None => false,
    };
    Ok(User {
        name: name.to_owned(),
        tokens: if disabled { Vec::new() } else { tokens },
        directory: within,
        rights: match fields.get("rights") {
            Some(field) => rights(&field)?,
            None => Rights {
                write: true,
                ..Rights::default()
            },
        },
        rights_in: rights_in(&fields)?,
        quota: quota(&fields)?,
        max_priority,
        expires: fields.get("expires").map(|f| date(&f)).transpose()?,
        connect: targets(&fields, commands)?,
    })
}

fn quota(fields: &Fields<'_>) -> Result<Option<u64>, ScenarioError> {
    let quota = fields.get("quota").map(|field| field.parse::<Bytes>());
    Ok(quota.transpose()?.map(Bytes::get))
}

fn rights_in(fields: &Fields<'_>) -> Result<RightsIn, ScenarioError> {
    let Some(field) = fields.get("rights-in") else {
        return Ok(RightsIn::default());
    };
    let mut directories = Vec::new();
    for (name, field) in field.fields()?.all() {
        let path = name.parse::<RemotePath>();
        let path = path.map_err(|e| field.fail(format!("`{name}` is not a directory: {e}")))?;
        directories.push((path, rights(&field)?));
    }
    Ok(RightsIn::new(directories))
}

fn rights(field: &Field<'_>) -> Result<Rights, ScenarioError> {
    let mut rights = Rights::default();
    for item in field.list()? {
        match item.text()? {
            "write" => rights.write = true,
            "read" => rights.read = true,
            "delete" => rights.remove = true,
            word => return Err(item.fail(unknown("right", word, RIGHTS.into_iter()))),
        }
    }
    Ok(rights)
}

fn token(field: &Field<'_>) -> Result<TokenEntry, ScenarioError> {
    match field.value() {
        Value::Table(_) => {
            let fields = field.fields()?;
            fields.only(&TOKEN)?;
            Ok(TokenEntry {
                hash: fields.required("hash", "\"blake3:...\"")?.parse()?,
                expires: fields.get("expires").map(|f| date(&f)).transpose()?,
            })
        }
        _ => Ok(TokenEntry {
            hash: field.parse()?,
            expires: None,
        }),
    }
}

/// A path within the directory of `serve`.
fn relative(field: &Field<'_>) -> Result<PathBuf, ScenarioError> {
    let path = PathBuf::from(field.text()?);
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.as_os_str().is_empty() || !path.components().all(plain) {
        let text = "must be a path within the directory of `serve`, without `..`; `.` is all of it";
        return Err(field.fail(text));
    }
    Ok(path)
}

/// The end of a day, or an instant.
fn date(field: &Field<'_>) -> Result<SystemTime, ScenarioError> {
    let text = match field.value() {
        Value::Text(text) | Value::Date(text) => text,
        _ => return Err(field.fail("must be a date; write e.g. `2027-01-31`")),
    };
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant.into());
    }
    let end = text.parse::<Date>().and_then(|date| {
        let next = date.tomorrow()?;
        Ok(next.to_zoned(TimeZone::UTC)?.timestamp())
    });
    end.map(SystemTime::from).map_err(|_| {
        field.fail(format!(
            "`{text}` is not a date; write e.g. `2027-01-31` (its end, UTC) or \
             `2027-01-31T12:00:00Z`"
        ))
    })
}

fn command(field: &Field<'_>) -> Result<Vec<String>, ScenarioError> {
    let fields = field.fields()?;
    fields.only(&COMMAND)?;
    let run = fields.required("run", "[\"borg\", \"serve\"]")?;
    let words = run.list()?;
    let words = words.iter().map(|word| Ok(word.text()?.to_owned()));
    let words = words.collect::<Result<Vec<_>, ScenarioError>>()?;
    if words.first().is_none_or(String::is_empty) {
        return Err(run.fail("must be a program and its arguments"));
    }
    Ok(words)
}

fn targets(
    fields: &Fields<'_>,
    commands: &BTreeMap<&str, Vec<String>>,
) -> Result<BTreeMap<String, Target>, ScenarioError> {
    let mut targets = BTreeMap::new();
    let Some(field) = fields.get("connect") else {
        return Ok(targets);
    };
    for item in field.list()? {
        let name = item.text()?;
        let target = match commands.get(name) {
            Some(run) => Target::Command(run.clone()),
            None if name.contains(':') => name.parse().map_err(|e: String| item.fail(e))?,
            None => {
                let known = commands.keys().copied();
                let text = unknown("command", name, known);
                return Err(item.fail(format!("{text} (or write host:port)")));
            }
        };
        targets.insert(name.to_owned(), target);
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_transfer::Token;

    fn hash() -> String {
        Token::random().expect("randomness").hash().to_string()
    }

    fn users(text: &str) -> Result<Users, String> {
        parse(text, Path::new("server.toml")).map_err(|e| e.to_string())
    }

    #[test]
    fn a_file_with_everything_is_read() {
        let token = Token::random().expect("randomness");
        let next = Token::random().expect("randomness");
        let text = format!(
            r#"
            [users.alice]
            tokens = ["{}", {{ hash = "{}", expires = 2027-01-31 }}]
            directory = "a/b"
            rights = ["write", "read"]
            quota = "100 GB"
            max-priority = 4
            expires = "2027-12-31T12:00:00Z"
            connect = ["127.0.0.1:22", "borg"]
            [users.alice.rights-in]
            outbox = ["read", "delete"]
            "inbox/new" = []
            [users.bob]
            tokens = ["{}"]
            [commands.borg]
            run = ["borg", "serve"]
            "#,
            token.hash(),
            next.hash(),
            hash(),
        );
        let users = users(&text).expect("valid");
        let now: Timestamp = "2027-01-31T23:00:00Z".parse().expect("a time");
        let later: Timestamp = "2027-02-01T00:00:00Z".parse().expect("a time");
        let alice = users.authenticate(&token, now.into()).expect("valid");
        assert_eq!(alice.directory, Path::new("a/b"));
        assert_eq!(alice.quota, Some(100_000_000_000));
        assert!(alice.rights.read && !alice.rights.remove);
        let place = |text: &str| text.parse::<RemotePath>().expect("a path");
        let outbox = Rights {
            read: true,
            write: false,
            remove: true,
        };
        let rights = [
            (place("outbox"), outbox),
            (place("inbox/new"), Rights::default()),
        ];
        assert_eq!(alice.rights_in, RightsIn::new(rights));
        assert_eq!(alice.max_priority.get(), 4);
        assert_eq!(alice.connect.len(), 2);
        assert!(users.authenticate(&next, now.into()).is_ok());
        assert!(users.authenticate(&next, later.into()).is_err(), "expired");
        assert!(users.authenticate(&token, later.into()).is_ok());
        let end: Timestamp = "2027-12-31T12:00:00Z".parse().expect("a time");
        assert!(
            users.authenticate(&token, end.into()).is_err(),
            "the user expired"
        );
    }

    #[test]
    fn mistakes_name_line_key_and_the_right_word() {
        let (a, b, c) = (hash(), hash(), hash());
        for (text, says) in [
            (
                "[user.alice]".to_owned(),
                "server.toml:1: unknown key `user`, did you mean `users`?",
            ),
            (
                format!("[users.a]\ntokens = [\"{a}\"]\nquotta = \"1 GB\""),
                "server.toml:3: users.a: unknown key `quotta`, did you mean `quota`?",
            ),
            (
                format!("[users.a]\ntokens = [\"{a}\"]\nrights = [\"wirte\"]"),
                "server.toml:3: users.a.rights: unknown right `wirte`, did you mean `write`?",
            ),
            (
                format!("[users.a]\ntokens = [\"{a}\"]\n[users.a.rights-in]\nx = [\"raed\"]"),
                "server.toml:4: users.a.rights-in.x: unknown right `raed`, did you mean `read`?",
            ),
            (
                format!("[users.a]\ntokens = [\"{a}\"]\n[users.a.rights-in]\n\"../x\" = []"),
                "`../x` is not a directory",
            ),
            (
                "[users.a]\ntokens = [\"secret\"]".to_owned(),
                "server.toml:2: users.a.tokens: `secret` is not the hash of a token",
            ),
            (
                format!("[users.a]\ntokens = [\"{a}\", \"{b}\", \"{c}\"]"),
                "one token, or two while it is exchanged, not 3",
            ),
            (
                format!("[users.a]\ntokens = [\"{a}\"]\n[users.b]\ntokens = [\"{a}\"]"),
                "users.b: has a token of `a`",
            ),
            (
                format!("[users.a]\ntokens = [\"{a}\"]\ndirectory = \"../b\""),
                "users.a.directory: must be a path within",
            ),
            (
                format!("[users.a]\ntokens = [\"{a}\"]\nexpires = \"soon\""),
                "users.a.expires: `soon` is not a date",
            ),
            (
                format!(
                    "[users.a]\ntokens = [\"{a}\"]\nconnect = [\"brog\"]\n[commands.borg]\nrun = \
                     [\"borg\"]"
                ),
                "users.a.connect: unknown command `brog`, did you mean `borg`?",
            ),
            ("[users.\"a b\"]\ntokens = []".to_owned(), "a user's name"),
        ] {
            let error = users(&text).expect_err(&text);
            assert!(error.contains(says), "{error}");
        }
    }
}
