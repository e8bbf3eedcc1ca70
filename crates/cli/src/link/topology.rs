//! The flags of a topology: named nodes, and what runs at them.

use super::ONE_PATH;
use crate::failure::BadInput;
use crate::sim;
use std::path::PathBuf;
use std::str::FromStr;
use whimbrel_link::{Options, Peer, Program};
use whimbrel_study::real::emulated::Topology;

/// Named nodes instead of two ends.
#[derive(clap::Args)]
#[command(next_help_heading = "Topology")]
pub struct TopologyArgs {
    /// Named nodes and the links between them: a scenario file whose links say `between = ["ship",
    /// "shore"]`. Nodes forward packets, and programs find the nodes by their names
    #[arg(
        long,
        value_name = "FILE.toml",
        group = "file",
        conflicts_with_all = ONE_PATH,
        conflicts_with_all = ["far", "controller"]
    )]
    topology: Option<PathBuf>,
    /// The node where COMMAND runs [default: the first of the file]
    #[arg(long, value_name = "NODE", requires = "topology")]
    at: Option<String>,
    /// A command at a node, for `sh -c`, as --far; repeatable
    #[arg(long, value_name = "NODE=COMMAND", requires = "topology")]
    run: Vec<AtNode>,
}

/// A command and the node where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AtNode {
    node: String,
    command: String,
}

impl FromStr for AtNode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((node, command)) if !command.trim().is_empty() => Ok(Self {
                node: node.trim().to_owned(),
                command: command.to_owned(),
            }),
            _ => Err("write a node and a command, e.g. `office=iperf3 -s`".to_owned()),
        }
    }
}

impl TopologyArgs {
    /// Reads the file, if there is one, and tells the emulator of the nodes and what runs at them.
    /// `observed` is the link that logs and the live view show; none: the first.
    ///
    /// # Errors
    /// If the file has a mistake, or a name of a node or a link is unknown.
    pub fn read(
        &self,
        observed: &[String],
        seed: u64,
        options: &mut Options,
    ) -> anyhow::Result<Option<Topology>> {
        let Some(file) = &self.topology else {
            return Ok(None);
        };
        let (text, file) = sim::read(file)?;
        let topology = Topology::parse(&text, &file, seed)?;
        let named = |flag: &str, node: &str| {
            let found = topology.node(node);
            found.map_err(|why| BadInput::new(format!("{flag}: {why}")))
        };
        options.at = match &self.at {
            Some(node) => named("--at", node)?,
            None => 0,
        };
        for AtNode { node, command } in &self.run {
            options.peers.push(Peer {
                node: named("--run", node)?,
                program: Program::Shell(command.into()),
            });
        }
        options.observed = match observed {
            [] => 0,
            [link] => {
                (topology.link(link)).map_err(|why| BadInput::new(format!("--link: {why}")))?
            }
            _ => return Err(BadInput::new("--link: a topology has one observed link").into()),
        };
        options.layout = topology.layout.clone();
        Ok(Some(topology))
    }
}
