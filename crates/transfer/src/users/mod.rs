//! Who may use the server, and for what.

use crate::Token;
use std::sync::Arc;
use whimbrel_cc::fairness::Priority;

/// A user of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name, for the operator and for the names of hidden files.
    pub name: String,
    /// What the user may do.
    pub rights: Rights,
    /// The maximum of what all files of the user in the directory may take, bytes; `None` for no
    /// maximum.
    pub quota: Option<u64>,
    /// The highest priority that the user gets.
    pub max_priority: Priority,
}

/// What a user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// List and get files.
    pub read: bool,
    /// Store files.
    pub write: bool,
    /// Remove files.
    pub remove: bool,
}

/// The users of a server.
#[derive(Debug, Clone)]
pub struct Users {
    token: Token,
    user: Arc<User>,
}

impl Users {
    /// One user, `owner`, with the server's own token.
    pub fn of_token(token: Token, rights: Rights, max_priority: Priority) -> Self {
        let user = User {
            name: "owner".to_owned(),
            rights,
            quota: None,
            max_priority,
        };
        Self {
            token,
            user: Arc::new(user),
        }
    }

    /// The user with this token.
    pub fn authenticate(&self, token: &Token) -> Option<Arc<User>> {
        token.matches(&self.token).then(|| Arc::clone(&self.user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_token_authenticates() {
        let token = Token::random().expect("randomness");
        let rights = Rights {
            read: false,
            write: true,
            remove: false,
        };
        let users = Users::of_token(token.clone(), rights, Priority::HIGHEST);
        let user = users.authenticate(&token).expect("a user");
        assert_eq!(
            (&*user.name, user.max_priority),
            ("owner", Priority::HIGHEST)
        );
        assert!(user.rights.write && !user.rights.remove);
        let other = Token::random().expect("randomness");
        assert!(users.authenticate(&other).is_none());
    }
}
