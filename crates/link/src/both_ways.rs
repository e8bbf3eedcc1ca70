//! The path of one interface: its links in both directions.

use crate::clock::Clock;
use crate::direction::{Carrier, Direction};
use crate::error::LinkError;
use crate::layout::Port;
use crate::managed::Managed;
use crate::namespace::{self, Networks};
use crate::observer::Observer;
use crate::report::DirectionReport;
use crate::wifi::{Channel, Station};
use crate::{MTU, PathSpec};
use whimbrel_net::{Link, LinkSpec, Side};
use whimbrel_units::{Bytes, Duration, Time};

/// The links of a path, in the order in which each direction passes them.
pub(crate) struct BothWays<'a> {
    spec: &'a PathSpec,
    /// From near to far, and from far to near.
    links: [Vec<&'a LinkSpec>; 2],
    channel: Option<Channel>,
}

impl<'a> BothWays<'a> {
    /// # Errors
    /// If the description contradicts itself.
    pub fn new(spec: &'a PathSpec) -> Result<Self, LinkError> {
        if !spec.hops.is_empty() && spec.wifi.is_some() {
            let text = "a path of several hops has no Wi-Fi channel";
            return Err(LinkError::Failed(text.to_owned()));
        }
        let channel = |wifi| Channel::new(wifi, [&spec.forward, &spec.backward], spec.seed);
        let channel = spec.wifi.as_ref().map(channel).transpose();
        let with_hops = |first, side: usize| -> Vec<&LinkSpec> {
            let hops = spec.hops.iter().map(|hop| &hop[side]);
            std::iter::once(first).chain(hops).collect()
        };
        let (forward, mut backward) = (with_hops(&spec.forward, 0), with_hops(&spec.backward, 1));
        backward.reverse();
        Ok(Self {
            spec,
            links: [forward, backward],
            channel: channel.map_err(LinkError::os("making an event"))?,
        })
    }

    /// Both directions, between two interfaces.
    pub fn directions<'b>(
        &'b self,
        networks: &'b Networks,
        ends: [Port; 2],
        clock: Clock,
        observer: Option<&'b dyn Observer>,
    ) -> Result<[Direction<'b>; 2], LinkError> {
        let [near, far] = ends.map(|port| networks.tun(port));
        let seed = self.spec.seed;
        // Different seeds: otherwise both directions would lose the same packets.
        let seeds = [seed, seed.rotate_left(32) ^ 0x9e37_79b9_7f4a_7c15];
        let direction = |between, side, links: &[&LinkSpec], seed| {
            let carrier = self.carrier(side, links[0], seed, clock);
            Ok(Direction::new(between, clock, carrier, side, observer)
                .through(later_hops(links, seed, clock)?)
                .with_checksums(links.iter().any(|link| link.corrupts())))
        };
        let [forward, backward] = &self.links;
        Ok([
            direction([near, far], Side::Forward, forward, seeds[0])?,
            direction([far, near], Side::Reverse, backward, seeds[1])?,
        ])
    }

    fn carrier(&self, side: Side, link: &LinkSpec, seed: u64, clock: Clock) -> Carrier<'_> {
        if let Some(channel) = &self.channel {
            return Carrier::Shared(Station::new(channel, side, clock));
        }
        match Managed::new(link, seed, clock) {
            Some(managed) => Carrier::Managed(Box::new(managed)),
            None => Carrier::Own(Box::new(Link::new(link, seed))),
        }
    }

    /// Adds to what the directions between two interfaces counted what only the kernel and the
    /// description say.
    pub fn complete(
        &self,
        reports: [DirectionReport; 2],
        networks: &Networks,
        ends: [Port; 2],
        elapsed: Duration,
    ) -> [DirectionReport; 2] {
        let [mut forward, mut backward] = reports;
        forward.missed = namespace::missed(networks, ends[0]);
        backward.missed = namespace::missed(networks, ends[1]);
        forward.capacity = self.capacity(0, elapsed);
        backward.capacity = self.capacity(1, elapsed);
        [forward, backward]
    }

    /// What a direction could have carried: the slowest hop limits.
    fn capacity(&self, side: usize, elapsed: Duration) -> Option<Bytes> {
        let of = |link: &&LinkSpec| match &self.spec.wifi {
            // In full packets with the other side silent.
            Some(wifi) => Some(wifi.saturation(Bytes::new(MTU.into())).bytes_in(elapsed)),
            None => link.service.capacity(Time::ZERO + elapsed),
        };
        self.links[side].iter().filter_map(of).min()
    }
}

/// The hops behind the first.
fn later_hops(links: &[&LinkSpec], seed: u64, clock: Clock) -> Result<Vec<Link>, LinkError> {
    let hop = |(hop, link): (u64, &&LinkSpec)| {
        // Each hop has losses of its own.
        let seed = seed ^ hop.wrapping_mul(0x2545_f491_4f6c_dd1d);
        match Managed::new(link, seed, clock) {
            Some(_) => Err(LinkError::Failed(
                "only the first hop of a direction may have a managed queue".to_owned(),
            )),
            None => Ok(Link::new(link, seed)),
        }
    };
    (1u64..).zip(&links[1..]).map(hop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_net::{Fate, LossSpec};

    #[test]
    fn each_hop_has_losses_of_its_own() {
        let link = LinkSpec {
            loss: LossSpec {
                random: "50 %".parse().expect("a probability"),
                ..LossSpec::default()
            },
            ..LinkSpec::default()
        };
        let later = later_hops(&[&link; 3], 7, Clock::start()).expect("no managed queue");
        let hops = std::iter::once(Link::new(&link, 7)).chain(later);
        let mut losses: Vec<Vec<bool>> = hops
            .map(|mut hop| {
                let mut lost = |n| {
                    matches!(
                        hop.offer(Time::from_nanos(n), 1500, false),
                        Fate::Dropped(_)
                    )
                };
                (0..64).map(&mut lost).collect()
            })
            .collect();
        losses.sort();
        losses.dedup();
        assert_eq!(losses.len(), 3);
    }
}
