//! Who may use the server: flags, or a configuration file.

use std::path::PathBuf;
use whimbrel_cc::fairness::Priority;
use whimbrel_study::server_users;
use whimbrel_transfer::Identity;
use whimbrel_transfer::users::{Rights, Target, User, Users};

/// Who may use the server.
#[derive(Debug, clap::Args)]
pub struct AccessArgs {
    /// Users with tokens, directories and rights of their own, as TOML; read again upon SIGHUP
    /// (docs/operating-a-server.md)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Let `whimbrel pipe` and `whimbrel tunnel` with the token reach this port; may be repeated
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "config")]
    allow_connect: Vec<Target>,
}

impl AccessArgs {
    /// The users.
    ///
    /// # Errors
    /// If the configuration file cannot be read or has a mistake.
    pub fn users(
        &self,
        identity: &Identity,
        rights: Rights,
        max_priority: Priority,
    ) -> anyhow::Result<Users> {
        if let Some(path) = &self.config {
            return Ok(server_users::read(path)?);
        }
        let mut owner = User::owner(identity.token(), rights, max_priority);
        for target in &self.allow_connect {
            owner.connect.insert(target.to_string(), target.clone());
        }
        Ok(Users::new([owner]))
    }
}
