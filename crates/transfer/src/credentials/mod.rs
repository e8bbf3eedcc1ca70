//! How server and client prove who they are: keys, certificates, pinned servers and tokens.

pub(crate) mod host_file;
pub(crate) mod identity;
pub(crate) mod known_hosts;
pub(crate) mod known_paths;
pub(crate) mod known_tokens;
pub(crate) mod private_file;
pub(crate) mod tls;
