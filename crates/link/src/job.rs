//! What the emulator gives the first process of the PID namespace to do.

use crate::layout::Layout;
use crate::program::Program;
use nix::sys::signal::SigSet;
use std::fs::File;

/// A program that runs at a node from before COMMAND starts until COMMAND has ended.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its node, by its index in the [`Layout`].
    pub node: usize,
    /// What runs there.
    pub program: Program,
}

/// The task of the first process of the PID namespace.
pub(crate) struct Job<'a> {
    pub layout: &'a Layout,
    /// The namespaces of the nodes, in the order of the layout.
    pub networks: Vec<&'a File>,
    /// What runs beside COMMAND.
    pub peers: &'a [Peer],
    /// COMMAND.
    pub command: &'a Program,
    /// COMMAND's node.
    pub at: usize,
    /// COMMAND's signal mask: that of the emulator when it started.
    pub signals: SigSet,
    /// The emulator, which holds all namespaces open, as a process of the host.
    pub emulator: u32,
}
