//! Who may use the server, and for what.

mod rights;
mod target;

use crate::introduction;
use crate::token::Token;
use crate::token::TokenHash;
pub use rights::{Rights, RightsIn};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
pub use target::Target;
use whimbrel_cc::fairness::Priority;

/// A user of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name, for the operator and for the names of hidden files.
    pub name: String,
    /// The tokens; two while one replaces the other.
    pub tokens: Vec<TokenEntry>,
    /// Where the user's files are, below the server's directory; empty: in it.
    pub directory: PathBuf,
    /// What the user may do.
    pub rights: Rights,
    /// What it may do in some directories below its own instead.
    pub rights_in: RightsIn,
    /// The maximum of what all files of the user in the directory may take, bytes; `None` for no
    /// maximum.
    pub quota: Option<u64>,
    /// The highest priority that the user gets.
    pub max_priority: Priority,
    /// From this time on the user is refused.
    pub expires: Option<SystemTime>,
    /// What the user's pipes may reach, by the name that the user writes.
    pub connect: BTreeMap<String, Target>,
}

/// A token of a user, as its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenEntry {
    /// The hash of the token.
    pub hash: TokenHash,
    /// From this time on the token is refused.
    pub expires: Option<SystemTime>,
}

/// Why a token is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// No user has the token.
    Unknown,
    /// The token or its user has expired.
    Expired,
}

impl Denied {
    /// What the client is told. A client without a valid token learns no more than that.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Unknown => "the token is wrong; ask the operator of the server for the right one",
            Self::Expired => "the token has expired; ask the operator of the server for a new one",
        }
    }
}

/// The users of a server.
#[derive(Debug, Clone, Default)]
pub struct Users {
    by_token: HashMap<TokenHash, (Arc<User>, Option<SystemTime>)>,
}

impl User {
    /// The name of the user of a server without a configuration file.
    pub const OWNER: &str = "owner";

    /// The user of a server without a configuration file, `owner`, who has the server's own token.
    pub fn owner(token: &Token, rights: Rights, max_priority: Priority) -> Self {
        Self {
            name: Self::OWNER.to_owned(),
            tokens: vec![TokenEntry {
                hash: token.hash(),
                expires: None,
            }],
            directory: PathBuf::new(),
            rights,
            rights_in: RightsIn::default(),
            quota: None,
            max_priority,
            expires: None,
            connect: BTreeMap::new(),
        }
    }

    /// What the user may do at a path; empty: with its directory itself.
    pub(crate) fn rights_at(&self, path: &[u8]) -> Rights {
        self.rights_in.at(path).unwrap_or(self.rights)
    }

    /// Whether the user may do something at a path or somewhere below it.
    pub(crate) fn may_somewhere(&self, path: &[u8], may: impl Fn(Rights) -> bool) -> bool {
        may(self.rights_at(path)) || self.rights_in.below(path).any(may)
    }

    /// Whether the user may do something at a path and everywhere below it.
    pub(crate) fn may_everywhere(&self, path: &[u8], may: impl Fn(Rights) -> bool) -> bool {
        may(self.rights_at(path)) && self.rights_in.below(path).all(may)
    }

    /// Whether both are the same user and may do the same, now that both are valid.
    pub(crate) fn may_the_same(&self, other: &Self) -> bool {
        let Self {
            name,
            tokens: _,
            directory,
            rights,
            rights_in,
            quota,
            max_priority,
            expires: _,
            connect,
        } = self;
        *name == other.name
            && *directory == other.directory
            && *rights == other.rights
            && *rights_in == other.rights_in
            && *quota == other.quota
            && *max_priority == other.max_priority
            && *connect == other.connect
    }
}

impl Users {
    /// These users. Of two users with the same token, the last one has it.
    pub fn new(users: impl IntoIterator<Item = User>) -> Self {
        let mut by_token = HashMap::new();
        for user in users {
            let user = Arc::new(user);
            for token in &user.tokens {
                by_token.insert(token.hash, (Arc::clone(&user), token.expires));
            }
        }
        Self { by_token }
    }

    /// Whether a client with the token of a user chose this connection ID.
    pub(crate) fn know(&self, id: &[u8]) -> bool {
        self.by_token
            .keys()
            .any(|hash| introduction::is_of(id, hash))
    }

    /// The directories of users who may store files.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Path> {
        let users = self.by_token.values().map(|(user, _)| user);
        let writers = users.filter(|user| user.may_somewhere(b"", |rights| rights.write));
        writers.map(|user| user.directory.as_path())
    }

    /// What pipes of any user may reach.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let users = self.by_token.values().map(|(user, _)| user);
        users.flat_map(|user| user.connect.values())
    }

    /// Whether there is more than one user.
    pub fn are_several(&self) -> bool {
        let mut names = self.by_token.values().map(|(user, _)| &user.name);
        let first = names.next();
        names.any(|name| Some(name) != first)
    }

    /// The user with this token at the time `now`. Only hashes are compared, so the time that it
    /// takes says nothing about the token.
    ///
    /// # Errors
    /// If there is none, or the token or the user has expired.
    pub fn authenticate(&self, token: &Token, now: SystemTime) -> Result<Arc<User>, Denied> {
        let (user, _) = self.find(&token.hash(), now)?;
        Ok(user)
    }

    /// The user with the token of this hash at the time `now`, and until when.
    pub(crate) fn find(
        &self,
        token: &TokenHash,
        now: SystemTime,
    ) -> Result<(Arc<User>, Option<SystemTime>), Denied> {
        let (user, expires) = self.by_token.get(token).ok_or(Denied::Unknown)?;
        let end = expires.iter().chain(&user.expires).min().copied();
        match end {
            Some(end) if now >= end => Err(Denied::Expired),
            end => Ok((Arc::clone(user), end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn storing() -> Rights {
        Rights {
            write: true,
            ..Rights::default()
        }
    }

    #[test]
    fn only_the_right_token_authenticates() {
        let token = Token::random().expect("randomness");
        let users = Users::new([User::owner(&token, storing(), Priority::HIGHEST)]);
        let now = SystemTime::now();
        let user = users.authenticate(&token, now).expect("a user");
        assert_eq!(
            (&*user.name, user.max_priority),
            ("owner", Priority::HIGHEST)
        );
        assert!(user.rights.write && !user.rights.remove);
        let other = Token::random().expect("randomness");
        assert_eq!(users.authenticate(&other, now), Err(Denied::Unknown));
    }

    #[test]
    fn a_token_is_replaced_while_both_are_valid() {
        let token = || Token::random().expect("randomness");
        let (old, new) = (token(), token());
        let (start, day) = (SystemTime::now(), Duration::from_secs(86_400));
        let mut user = User::owner(&old, storing(), Priority::LOWEST);
        user.tokens[0].expires = Some(start + day);
        user.tokens.push(TokenEntry {
            hash: new.hash(),
            expires: None,
        });
        user.expires = Some(start + 7 * day);
        let users = Users::new([user]);
        assert!(users.authenticate(&old, start).is_ok());
        assert!(users.authenticate(&new, start).is_ok());
        let later = start + day;
        assert_eq!(users.authenticate(&old, later), Err(Denied::Expired));
        let much_later = later + Duration::from_secs(1);
        assert_eq!(users.authenticate(&old, much_later), Err(Denied::Expired));
        assert!(users.authenticate(&new, later).is_ok());
        let end = start + 7 * day;
        assert_eq!(users.authenticate(&new, end), Err(Denied::Expired));
    }

    #[test]
    fn what_a_user_may_do_is_compared_as_a_whole() {
        let token = Token::random().expect("randomness");
        let one = || User::owner(&token, storing(), Priority::LOWEST);
        let with = |change: fn(&mut User)| {
            let mut other = one();
            change(&mut other);
            other
        };
        // Whether a token is valid is another question.
        let other = with(|user| {
            user.tokens.clear();
            user.expires = Some(SystemTime::UNIX_EPOCH);
        });
        assert!(one().may_the_same(&other));
        let changes: [fn(&mut User); 7] = [
            |user| user.name.push('x'),
            |user| user.directory.push("x"),
            |user| user.rights.read = true,
            |user| {
                let out = "out".parse().expect("a path");
                user.rights_in = RightsIn::new([(out, Rights::default())]);
            },
            |user| user.quota = Some(7),
            |user| user.max_priority = Priority::HIGHEST,
            |user| {
                let target = Target::Tcp("127.0.0.1".to_owned(), 22);
                user.connect.insert("ssh".to_owned(), target);
            },
        ];
        for (n, change) in changes.into_iter().enumerate() {
            assert!(!one().may_the_same(&with(change)), "{n}");
        }
    }
}
