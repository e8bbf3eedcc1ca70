//! Places for clients that have not shown a token yet.
//!
//! Anybody can connect, so strangers have places of their own: however many there are, they take
//! none from those who have shown a token. When all places are taken, a newcomer replaces the
//! oldest stranger of the network that has the most, so one address cannot keep another one out. A
//! client with the token needs its place for two or three round trips. A newcomer whose first
//! packet shows that it has a token is displaced by such newcomers only: strangers at its own
//! address, however many and however fast they come, do not keep it out.
//!
//! A token has 160 bits and cannot be guessed. An address from which many wrong ones come is
//! therefore slowed down, which saves the server work, but never shut out: behind it there may be
//! others, with the right one. A packet that is ignored is sent again by QUIC, so a client behind
//! such an address waits for its turn.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum number of strangers. Each takes about 100 KB.
pub(crate) const PLACES: usize = 128;
/// Maximum number of strangers of one network.
const OF_ONE_NETWORK: usize = 16;
/// With this many strangers in a network, it matters who has a token.
const CROWD: usize = 4;
/// With this many strangers, each must prove that it receives packets at its address first.
const UNPROVEN: usize = 16;
/// Number of wrong tokens in [`MEMORY`] after which a network is slowed down.
const WRONG_TOKENS: usize = 100;
/// How long a wrong token is remembered.
const MEMORY: Duration = Duration::from_secs(60);
/// Time between two newcomers of a network that is slowed down.
const SLOW: Duration = Duration::from_millis(100);
/// Maximum number of networks whose wrong tokens are remembered; the oldest are forgotten first.
const MAX_NETWORKS: usize = 1024;

/// How many strangers there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub all: usize,
    pub of_one_network: usize,
}

impl Bounds {
    /// Of connections.
    const USUAL: Self = Self {
        all: PLACES,
        of_one_network: OF_ONE_NETWORK,
    };
    /// Of connections over TCP whose first message has not arrived. Such a one is little more than
    /// a socket. Of a network that opens 1,000 a second each has a quarter of a second.
    pub const HALF_OPEN: Self = Self {
        all: 512,
        of_one_network: 256,
    };
}

/// The strangers. Each has a `T`, which is returned when another one takes its place.
#[derive(Debug)]
pub(crate) struct Strangers<T> {
    bounds: Bounds,
    /// In the order of their arrival.
    present: BTreeMap<u64, Stranger<T>>,
    next: u64,
    wrong: HashMap<IpAddr, Wrong>,
}

#[derive(Debug)]
struct Stranger<T> {
    network: IpAddr,
    /// Its first packet shows that it has a token.
    known: bool,
    of: T,
}

/// The wrong tokens of a network.
#[derive(Debug)]
struct Wrong {
    /// Times of the newest, at most [`WRONG_TOKENS`], the newest last.
    times: VecDeque<Instant>,
    /// When the last newcomer was let in while the network was slow.
    let_in: Option<Instant>,
}

/// What to do with a newcomer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Newcomer<T> {
    /// Accept it. It has this number; the other one, if any, must leave.
    Accept(u64, Option<T>),
    /// It must prove its address first.
    Prove,
    /// Ignore the packet; the client sends it again.
    Ignore,
}

impl<T> Default for Strangers<T> {
    fn default() -> Self {
        Self::within(Bounds::USUAL)
    }
}

impl<T> Strangers<T> {
    /// At most so many strangers.
    pub fn within(bounds: Bounds) -> Self {
        Self {
            bounds,
            present: BTreeMap::new(),
            next: 0,
            wrong: HashMap::new(),
        }
    }

    /// A client wants to connect. `proven`: it receives packets at its address. `known` finds out
    /// whether its first packet shows that it has a token, and is called only if that matters.
    pub fn arrive(
        &mut self,
        address: IpAddr,
        proven: bool,
        known: impl FnOnce() -> bool,
        now: Instant,
        of: impl FnOnce() -> T,
    ) -> Newcomer<T> {
        let network = network(address);
        let slow = self.is_slow(network, now);
        if !proven && (slow || self.present.len() >= UNPROVEN) {
            return Newcomer::Prove;
        }
        let neighbours = self.present.values().filter(|s| s.network == network);
        let known = (slow || neighbours.count() >= CROWD) && known();
        if slow
            && !known
            && let Some(wrong) = self.wrong.get_mut(&network)
        {
            if wrong.let_in.is_some_and(|at| now < at + SLOW) {
                return Newcomer::Ignore;
            }
            wrong.let_in = Some(now);
        }
        let Some(leaves) = self.must_leave(network, known) else {
            return Newcomer::Ignore;
        };
        let evicted = leaves.and_then(|number| self.present.remove(&number));
        let number = self.next;
        self.next += 1;
        let stranger = Stranger {
            network,
            known,
            of: of(),
        };
        self.present.insert(number, stranger);
        Newcomer::Accept(number, evicted.map(|stranger| stranger.of))
    }

    /// A stranger has shown a token, or its connection has ended. Nothing happens if it had to
    /// leave before.
    pub fn leave(&mut self, number: u64) {
        self.present.remove(&number);
    }

    /// Number of strangers.
    pub fn len(&self) -> usize {
        self.present.len()
    }

    /// A wrong token came from this address.
    pub fn record_wrong_token(&mut self, address: IpAddr, now: Instant) {
        let network = network(address);
        if self.wrong.len() >= MAX_NETWORKS && !self.wrong.contains_key(&network) {
            let oldest = self.wrong.iter().min_by_key(|(_, w)| w.times.back());
            if let Some(oldest) = oldest.map(|(network, _)| *network) {
                self.wrong.remove(&oldest);
            }
        }
        let wrong = self.wrong.entry(network).or_insert_with(|| Wrong {
            times: VecDeque::new(),
            let_in: None,
        });
        if wrong.times.len() >= WRONG_TOKENS {
            wrong.times.pop_front();
        }
        wrong.times.push_back(now);
    }

    fn is_slow(&self, network: IpAddr, now: Instant) -> bool {
        self.wrong.get(&network).is_some_and(|wrong| {
            wrong.times.len() >= WRONG_TOKENS
                && wrong.times.front().is_some_and(|at| now < *at + MEMORY)
        })
    }

    /// Which stranger must leave so that there is a place for one of `network`: `Some(None)` if
    /// none must, `None` if none may.
    fn must_leave(&self, network: IpAddr, known: bool) -> Option<Option<u64>> {
        // For each network how many there are, and the first to leave: the oldest that is not
        // known.
        let mut of = HashMap::<IpAddr, (usize, (bool, u64))>::new();
        for (number, stranger) in &self.present {
            let this = (stranger.known, *number);
            let (count, first) = of.entry(stranger.network).or_insert((0, this));
            (*count, *first) = (*count + 1, this.min(*first));
        }
        let own = of.get(&network).copied();
        let leaves = match own.filter(|(count, _)| *count >= self.bounds.of_one_network) {
            Some(own) => own.1,
            None if self.present.len() < self.bounds.all => return Some(None),
            // Of the network with the most; of several such networks the first of all.
            None => {
                let most = |(count, first): &(usize, (bool, u64))| (Reverse(*count), *first);
                of.into_values().min_by_key(most)?.1
            }
        };
        (known || !leaves.0).then_some(Some(leaves.1))
    }
}

/// The owner of one IPv6 address usually has the other 2^64 of its network too.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v4(n: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, n])
    }

    fn arrive(strangers: &mut Strangers<u32>, address: IpAddr, now: Instant) -> Option<u64> {
        match strangers.arrive(address, true, || false, now, || 0) {
            Newcomer::Accept(number, _) => Some(number),
            Newcomer::Prove | Newcomer::Ignore => None,
        }
    }

    #[test]
    fn one_address_replaces_only_its_own() {
        let (mut strangers, now) = (Strangers::default(), Instant::now());
        let honest = arrive(&mut strangers, v4(1), now).expect("accepted");
        for _ in 0..1000 {
            arrive(&mut strangers, v4(2), now).expect("accepted");
        }
        assert_eq!(strangers.len(), 1 + OF_ONE_NETWORK);
        assert!(strangers.present.contains_key(&honest));
        // The neighbours in an IPv6 network count as one address, mapped IPv4 addresses as IPv4.
        for n in 0..100u32 {
            let v6 = IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, n as u16]);
            arrive(&mut strangers, v6, now).expect("accepted");
            arrive(
                &mut strangers,
                "::ffff:192.0.2.2".parse().expect("mapped"),
                now,
            );
        }
        assert_eq!(strangers.len(), 1 + 2 * OF_ONE_NETWORK);
        assert!(strangers.present.contains_key(&honest));
        strangers.leave(honest);
        strangers.leave(honest);
        assert_eq!(strangers.len(), 2 * OF_ONE_NETWORK);
    }

    #[test]
    fn strangers_at_its_own_address_do_not_displace_who_has_a_token() {
        let (mut strangers, now) = (Strangers::default(), Instant::now());
        for _ in 0..64 {
            arrive(&mut strangers, v4(1), now);
        }
        let honest = match strangers.arrive(v4(1), true, || true, now, || 0) {
            Newcomer::Accept(number, _) => number,
            other => panic!("{other:?}"),
        };
        for _ in 0..10_000 {
            arrive(&mut strangers, v4(1), now);
            strangers.record_wrong_token(v4(1), now);
        }
        assert!(strangers.present.contains_key(&honest));
        // Nor do wrong tokens slow it down.
        let again = strangers.arrive(v4(1), true, || true, now, || 0);
        assert!(matches!(again, Newcomer::Accept(..)));
        assert_eq!(strangers.len(), OF_ONE_NETWORK);
        // As many as there are places displace each other.
        for _ in 0..100 {
            let again = strangers.arrive(v4(1), true, || true, now, || 0);
            assert!(matches!(again, Newcomer::Accept(..)));
        }
        assert_eq!(arrive(&mut strangers, v4(1), now), None);
        assert_eq!(strangers.len(), OF_ONE_NETWORK);
    }

    #[test]
    fn strangers_do_not_displace_those_with_a_token_who_have_all_places() {
        let (mut strangers, now) = (Strangers::default(), Instant::now());
        // While few come from a network, their tokens are not looked at.
        let first: Vec<_> = (0..CROWD)
            .map(|_| arrive(&mut strangers, v4(1), now))
            .collect();
        for _ in 0..OF_ONE_NETWORK {
            strangers.arrive(v4(1), true, || true, now, || 0);
        }
        assert!(
            first
                .iter()
                .flatten()
                .all(|number| !strangers.present.contains_key(number))
        );
        assert_eq!(arrive(&mut strangers, v4(1), now), None);
        assert_eq!(strangers.len(), OF_ONE_NETWORK);
        assert!(strangers.present.values().all(|stranger| stranger.known));
        assert!(
            arrive(&mut strangers, v4(2), now).is_some(),
            "another network"
        );
    }

    #[test]
    fn when_all_places_are_taken_the_largest_network_gives_one() {
        let (mut strangers, now) = (Strangers::default(), Instant::now());
        let hostile = (PLACES / OF_ONE_NETWORK) as u8;
        for n in (0..hostile).cycle().take(10 * PLACES) {
            arrive(&mut strangers, v4(n), now);
        }
        assert_eq!(strangers.len(), PLACES);
        let honest = arrive(&mut strangers, v4(250), now).expect("accepted");
        for n in (0..hostile).cycle().take(10 * PLACES) {
            arrive(&mut strangers, v4(n), now);
        }
        assert_eq!(strangers.len(), PLACES);
        assert!(strangers.present.contains_key(&honest));
    }

    #[test]
    fn many_strangers_must_prove_their_addresses() {
        let (mut strangers, now) = (Strangers::<()>::default(), Instant::now());
        for n in 0..UNPROVEN {
            let accepted = strangers.arrive(v4(n as u8), false, || false, now, || ());
            assert_eq!(accepted, Newcomer::Accept(n as u64, None));
        }
        let forged = strangers.arrive(v4(200), false, || false, now, || ());
        assert_eq!(forged, Newcomer::Prove);
        assert!(matches!(
            strangers.arrive(v4(200), true, || false, now, || ()),
            Newcomer::Accept(..)
        ));
    }

    #[test]
    fn many_wrong_tokens_slow_an_address_down_but_do_not_shut_it_out() {
        let (mut strangers, mut now) = (Strangers::default(), Instant::now());
        for _ in 0..WRONG_TOKENS {
            assert!(arrive(&mut strangers, v4(1), now).is_some());
            strangers.record_wrong_token(v4(1), now);
        }
        assert_eq!(
            strangers.arrive(v4(1), false, || false, now, || 0),
            Newcomer::Prove,
            "slow"
        );
        assert!(arrive(&mut strangers, v4(1), now).is_some());
        assert!(arrive(&mut strangers, v4(1), now).is_none());
        assert!(arrive(&mut strangers, v4(2), now).is_some(), "another one");
        // A client that sends its first packet again after 1, 3 and 7 s finds a place.
        now += SLOW;
        assert!(arrive(&mut strangers, v4(1), now).is_some());
        now += MEMORY;
        assert!(arrive(&mut strangers, v4(1), now).is_some());
        assert!(arrive(&mut strangers, v4(1), now).is_some(), "forgotten");
        for n in 0..5000u32 {
            strangers.record_wrong_token(IpAddr::V4(n.into()), now);
        }
        assert!(strangers.wrong.len() <= MAX_NETWORKS);
    }

    #[test]
    fn wrong_tokens_count_for_their_time_and_few_are_remembered() {
        let (mut strangers, mut now) = (Strangers::<u32>::default(), Instant::now());
        for _ in 0..10 * WRONG_TOKENS {
            strangers.record_wrong_token(v4(1), now);
        }
        assert!(strangers.is_slow(v4(1), now));
        assert_eq!(strangers.wrong[&v4(1)].times.len(), WRONG_TOKENS);
        // A new one does not make the old ones younger.
        now += MEMORY;
        strangers.record_wrong_token(v4(1), now);
        assert!(!strangers.is_slow(v4(1), now));
        // Of too many networks the one is forgotten from which none came for the longest time.
        for n in 1..MAX_NETWORKS as u32 {
            let since = now + Duration::from_millis(n.into());
            strangers.record_wrong_token(IpAddr::V4((n << 8).into()), since);
        }
        now += MEMORY;
        strangers.record_wrong_token(v4(1), now);
        strangers.record_wrong_token(v4(2), now);
        let known = |network: IpAddr| strangers.wrong.contains_key(&network);
        assert!(known(v4(1)) && known(v4(2)));
        assert!(!known(IpAddr::V4((1 << 8).into())));
        assert!(known(IpAddr::V4((2 << 8).into())));
    }

    proptest! {
        /// Whatever comes: the places are never exceeded, and no network has more than its part.
        #[test]
        fn places_are_bounded(arrivals in prop::collection::vec((0..40u8, any::<bool>()), 0..600)) {
            let (mut strangers, now) = (Strangers::default(), Instant::now());
            for (n, leaves) in arrivals {
                let number = arrive(&mut strangers, v4(n), now).expect("never slow");
                if leaves {
                    strangers.leave(number);
                }
                prop_assert!(strangers.len() <= PLACES);
                let of = strangers.present.values().filter(|s| s.network == v4(n)).count();
                prop_assert!(of <= OF_ONE_NETWORK);
            }
        }
    }
}
