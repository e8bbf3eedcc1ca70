//! Whom the server serves on a connection.

use super::users::User;
use crate::storage::Storage;
use crate::token::TokenHash;
use std::sync::Arc;

/// Whom the server serves: a user with one of its tokens.
#[derive(Clone)]
pub(super) struct Client {
    pub user: Arc<User>,
    pub token: TokenHash,
    pub storage: Storage,
}
