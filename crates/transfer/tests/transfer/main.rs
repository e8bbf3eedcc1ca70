//! Transfers between real servers and clients, over loopback and over paths that fail. One program
//! for all of them: each would compile the same generic code again.

mod codes;
mod common;
mod disk;
mod files;
mod got_files;
mod hostile;
mod key_exchange;
mod mirrors;
mod network;
mod over_tcp;
mod pipes;
mod qlog;
mod requests;
mod resume;
mod resume_rate;
mod rights;
mod strangers;
mod trees;
mod users;
