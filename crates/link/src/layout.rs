//! Which nodes there are, how links connect them, and over which interface a node reaches another.

use crate::address::{self, MAX_INTERFACES};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// The most nodes of a topology.
pub const MAX_NODES: usize = 64;
/// The most links of a topology.
pub const MAX_LINKS: usize = 64;

/// Nodes, each with a network of its own, and the links between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub(crate) nodes: Vec<Node>,
    /// The two ends of each link.
    pub(crate) links: Vec<[Port; 2]>,
    /// Whether programs find the nodes by their names.
    pub(crate) named: bool,
}

/// A node: an end of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub name: String,
    /// The address of each interface.
    pub addresses: Vec<Ipv4Addr>,
    pub mask: Ipv4Addr,
    /// Addresses of other nodes, and the interface towards each.
    pub routes: Vec<(Ipv4Addr, usize)>,
    /// Whether it forwards packets of others.
    pub forwards: bool,
}

/// An interface of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Port {
    pub node: usize,
    pub interface: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self::ends(1)
    }
}

impl Layout {
    /// The node `near` (0) and the node `far` (1), connected by so many links: 1 to
    /// [`MAX_INTERFACES`]. Each link has addresses of its own; `far` has one address for all.
    pub fn ends(links: usize) -> Self {
        let numbers = 0..links.clamp(1, MAX_INTERFACES);
        let end = |name: &str, side: usize| Node {
            name: name.to_owned(),
            addresses: numbers
                .clone()
                .map(|n| address::of_interface(n)[side])
                .collect(),
            mask: address::MASK,
            routes: Vec::new(),
            forwards: false,
        };
        let mut near = end("near", 0);
        // The far end has one name and one address, whatever the interface.
        near.routes = numbers.clone().skip(1).map(|n| (address::FAR, n)).collect();
        let port = |node| move |interface| Port { node, interface };
        Self {
            nodes: vec![near, end("far", 1)],
            links: numbers.map(|n| [port(0)(n), port(1)(n)]).collect(),
            named: false,
        }
    }

    /// Nodes of these names, and links between them by the nodes' indices. A node has one address,
    /// and forwards packets over a path of as few links as possible; of several such paths, over
    /// the link that comes first.
    ///
    /// Only the first [`MAX_NODES`] and [`MAX_LINKS`] count, and only links between two nodes.
    pub fn named(names: &[String], between: &[[usize; 2]]) -> Self {
        let names = &names[..names.len().min(MAX_NODES)];
        let mut counts = vec![0; names.len()];
        let good = |ends: &&[usize; 2]| ends[0] != ends[1] && ends.iter().all(|n| *n < names.len());
        let between = between.iter().filter(good).take(MAX_LINKS);
        let links: Vec<[Port; 2]> = between
            .map(|ends| {
                ends.map(|node| {
                    counts[node] += 1;
                    let interface = counts[node] - 1;
                    Port { node, interface }
                })
            })
            .collect();
        let nodes = names.iter().enumerate().map(|(number, name)| Node {
            name: name.clone(),
            addresses: vec![address::of_node(number); counts[number]],
            mask: Ipv4Addr::BROADCAST,
            routes: Vec::new(),
            forwards: true,
        });
        let mut layout = Self {
            nodes: nodes.collect(),
            links,
            named: true,
        };
        for to in 0..layout.nodes.len() {
            for (from, interface) in layout.towards(to) {
                layout.nodes[from]
                    .routes
                    .push((address::of_node(to), interface));
            }
        }
        layout
    }

    /// The nodes that reach a node, each with the interface towards it.
    fn towards(&self, to: usize) -> Vec<(usize, usize)> {
        let mut distance = vec![usize::MAX; self.nodes.len()];
        distance[to] = 0;
        let mut next = VecDeque::from([to]);
        while let Some(node) = next.pop_front() {
            for (_, other) in self.neighbours(node) {
                if distance[other] == usize::MAX {
                    distance[other] = distance[node] + 1;
                    next.push_back(other);
                }
            }
        }
        let closer = |from: usize| {
            let mut all = self.neighbours(from);
            let found = all.find(|(_, other)| distance[*other] < distance[from]);
            found.map(|(interface, _)| (from, interface))
        };
        (0..self.nodes.len()).filter_map(closer).collect()
    }

    /// The interfaces of a node, each with the node at its other end, in the order of the links.
    fn neighbours(&self, node: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let both = self.links.iter().flat_map(|[a, b]| [[a, b], [b, a]]);
        both.filter(move |[from, _]| from.node == node)
            .map(|[from, to]| (from.interface, to.node))
    }

    /// The address of a node; of several, that of its first interface.
    pub fn address(&self, node: usize) -> Option<Ipv4Addr> {
        self.nodes.get(node)?.addresses.first().copied()
    }

    /// The name of a node.
    pub fn name(&self, node: usize) -> Option<&str> {
        self.nodes.get(node).map(|node| node.name.as_str())
    }

    /// The environment of programs: the address of each node, and the file of its network.
    pub(crate) fn environment(&self, networks: &[String]) -> Vec<(String, String)> {
        let prefix = match self.named {
            true => "WHIMBREL_NODE_",
            false => "WHIMBREL_",
        };
        let mut all = Vec::new();
        for (number, (node, network)) in self.nodes.iter().zip(networks).enumerate() {
            let name = node.name.to_uppercase().replace('-', "_");
            let variable = format!("{prefix}{name}");
            if let Some(address) = self.address(number) {
                all.push((variable.clone(), address.to_string()));
            }
            all.push((format!("{variable}_NETNS"), network.clone()));
        }
        all
    }

    /// Lines of hosts(5).
    pub(crate) fn hosts(&self) -> String {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter_map(|(number, node)| {
                Some(format!("{}\t{}\n", self.address(number)?, node.name))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str], between: &[[usize; 2]]) -> Layout {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Layout::named(&names, between)
    }

    /// The interface of a node towards another.
    fn route(layout: &Layout, from: usize, to: usize) -> Option<usize> {
        let host = layout.address(to)?;
        let mut routes = layout.nodes[from].routes.iter();
        routes.find(|(to, _)| *to == host).map(|(_, over)| *over)
    }

    #[test]
    fn two_ends_have_addresses_of_their_own_on_each_link() {
        let layout = Layout::ends(2);
        assert_eq!(layout.address(0), Some(address::NEAR));
        assert_eq!(layout.address(1), Some(address::FAR));
        assert_eq!(layout.nodes[0].routes, [(address::FAR, 1)]);
        assert_eq!(layout.nodes[1].addresses[1], Ipv4Addr::new(10, 77, 1, 2));
        let variables = layout.environment(&["a".into(), "b".into()]);
        assert_eq!(variables[0], ("WHIMBREL_NEAR".into(), "10.77.0.1".into()));
        assert_eq!(variables[3], ("WHIMBREL_FAR_NETNS".into(), "b".into()));
    }

    #[test]
    fn packets_take_as_few_links_as_possible() {
        // ship - relay - shore - office, and a link from the ship to the shore that comes last.
        let layout = named(
            &["ship", "relay", "shore", "office"],
            &[[0, 1], [1, 2], [2, 3], [0, 2]],
        );
        assert_eq!(route(&layout, 0, 3), Some(1), "over the direct link");
        assert_eq!(route(&layout, 3, 0), Some(0));
        assert_eq!(route(&layout, 2, 0), Some(2));
        assert_eq!(route(&layout, 1, 3), Some(1));
        assert_eq!(route(&layout, 1, 1), None);
        let expected = "10.77.255.1\tship\n10.77.255.2\trelay\n10.77.255.3\tshore\n";
        assert!(layout.hosts().starts_with(expected), "{}", layout.hosts());
    }

    #[test]
    fn of_two_equal_paths_the_first_link_decides() {
        let square = named(&["a", "b", "c", "d"], &[[0, 3], [3, 2], [0, 1], [1, 2]]);
        assert_eq!(route(&square, 0, 2), Some(0), "over d");
        assert_eq!(route(&square, 2, 0), Some(0));
        let apart = named(&["a", "b", "c"], &[[0, 1], [2, 2], [1, 9]]);
        assert_eq!((apart.links.len(), route(&apart, 0, 2)), (1, None));
    }
}
