//! Tries several addresses of a server at once (RFC 8305, "Happy Eyeballs"): the first that answers
//! wins, and a dead one costs a quarter of a second, not the time of an attempt.

use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The next address is tried this long after the one before (RFC 8305 section 8).
pub(super) const STAGGER: Duration = Duration::from_millis(250);
/// Maximum number of addresses that are tried.
const MAX_ADDRESSES: usize = 16;

/// Why an attempt failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failed<E, D> {
    /// Another address may work.
    Here(E),
    /// No other address will work.
    Everywhere(D),
}

/// Why no attempt succeeded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lost<A, E, D> {
    /// All failed; each with its reason, in the order of the addresses.
    All(Vec<(A, E)>),
    /// One failed in a way that concerns all.
    Everywhere(D),
}

/// The addresses in the order in which they are tried: both families in turn, IPv6 first (RFC 8305
/// section 4), each in the order of the resolver, each address once.
pub(super) fn order(addresses: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut seen = HashSet::new();
    let unique = addresses
        .into_iter()
        .filter(|address| seen.insert(*address));
    let (v6, v4): (Vec<_>, Vec<_>) = unique.partition(SocketAddr::is_ipv6);
    let (mut v6, mut v4) = (v6.into_iter(), v4.into_iter());
    let mut ordered = Vec::new();
    loop {
        let before = ordered.len();
        ordered.extend(v6.next());
        ordered.extend(v4.next());
        if ordered.len() == before {
            ordered.truncate(MAX_ADDRESSES);
            return ordered;
        }
    }
}

/// Starts an `attempt` at each of `addresses`, [`STAGGER`] apart, or as soon as all earlier ones
/// have failed. Returns the result of the first that succeeds; the others are dropped.
///
/// # Errors
/// If none succeeds.
pub(super) async fn race<A, T, E, D, F>(
    addresses: Vec<A>,
    mut attempt: impl FnMut(A) -> F,
) -> Result<T, Lost<A, E, D>>
where
    A: Copy,
    F: Future<Output = Result<T, Failed<E, D>>>,
{
    let mut waiting = addresses.into_iter().enumerate();
    let mut running: Vec<(usize, A, Pin<Box<F>>)> = Vec::new();
    let mut failed: Vec<(usize, A, E)> = Vec::new();
    let mut next_start = Instant::now();
    loop {
        if (running.is_empty() || next_start <= Instant::now())
            && let Some((number, address)) = waiting.next()
        {
            running.push((number, address, Box::pin(attempt(address))));
            next_start = Instant::now() + STAGGER;
        }
        if running.is_empty() {
            failed.sort_unstable_by_key(|(number, ..)| *number);
            let reasons = failed.into_iter().map(|(_, a, e)| (a, e)).collect();
            return Err(Lost::All(reasons));
        }
        let first = poll_fn(|cx| {
            for (index, (_, _, work)) in running.iter_mut().enumerate() {
                if let Poll::Ready(result) = work.as_mut().poll(cx) {
                    return Poll::Ready((index, result));
                }
            }
            Poll::Pending
        });
        tokio::select! {
            // A result goes before the start of another attempt.
            biased;
            (index, result) = first => {
                let (number, address, _) = running.swap_remove(index);
                match result {
                    Ok(winner) => return Ok(winner),
                    Err(Failed::Everywhere(error)) => return Err(Lost::Everywhere(error)),
                    Err(Failed::Here(error)) => failed.push((number, address, error)),
                }
                // RFC 8305 section 5: the next attempt need not wait for one that has failed.
                next_start = Instant::now();
            }
            () = sleep_until(next_start), if waiting.len() > 0 => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_alternate_and_ipv6_is_first() {
        let address = |text: &str| -> SocketAddr { text.parse().expect("an address") };
        let (a, b, c) = (
            address("192.0.2.1:9"),
            address("192.0.2.2:9"),
            address("192.0.2.3:9"),
        );
        let (x, y) = (address("[2001:db8::1]:9"), address("[2001:db8::2]:9"));
        assert_eq!(order([a, b, x, a, c, y]), [x, a, y, b, c]);
        assert_eq!(order([a, b]), [a, b]);
        assert_eq!(order([]), []);
        let many = (0..99).map(|n| SocketAddr::from(([192, 0, 2, n], 9)));
        assert_eq!(order(many).len(), MAX_ADDRESSES);
    }

    /// What an attempt does after some milliseconds.
    #[derive(Clone, Copy)]
    enum Does {
        Win(u64),
        Fail(u64),
        FailEverywhere(u64),
        Hang,
    }
    use Does::{Fail, FailEverywhere, Hang, Win};

    type Ended = Result<usize, Lost<usize, &'static str, &'static str>>;

    /// Runs a race. Returns its result, the times of the starts, and when it ended, in ms.
    fn run(attempts: &[Does]) -> (Ended, Vec<u64>, u64) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let begun = Instant::now();
            let mut starts = Vec::new();
            let result = race((0..attempts.len()).collect(), |index| {
                starts.push(begun.elapsed().as_millis() as u64);
                let does = attempts[index];
                async move {
                    let after = |ms| tokio::time::sleep(Duration::from_millis(ms));
                    match does {
                        Win(ms) => after(ms).await,
                        Fail(ms) => {
                            after(ms).await;
                            return Err(Failed::Here("failed"));
                        }
                        FailEverywhere(ms) => {
                            after(ms).await;
                            return Err(Failed::Everywhere("wrong key"));
                        }
                        Hang => std::future::pending().await,
                    }
                    Ok(index)
                }
            })
            .await;
            (result, starts, begun.elapsed().as_millis() as u64)
        })
    }

    #[test]
    fn a_dead_address_costs_a_quarter_of_a_second() {
        assert_eq!(run(&[Hang, Win(30)]), (Ok(1), vec![0, 250], 280));
        assert_eq!(run(&[Win(40), Win(1)]), (Ok(0), vec![0], 40));
        // The first is slow but answers before the second does.
        assert_eq!(run(&[Win(300), Win(100)]), (Ok(0), vec![0, 250], 300));
        assert_eq!(
            run(&[Hang, Hang, Hang, Win(5)]),
            (Ok(3), vec![0, 250, 500, 750], 755)
        );
    }

    #[test]
    fn a_failed_attempt_starts_the_next_at_once() {
        assert_eq!(run(&[Fail(0), Fail(7), Win(3)]), (Ok(2), vec![0, 0, 7], 10));
        let all = Lost::All(vec![(0, "failed"), (1, "failed")]);
        assert_eq!(run(&[Fail(400), Fail(1)]), (Err(all), vec![0, 250], 400));
        assert_eq!(run(&[]), (Err(Lost::All(Vec::new())), vec![], 0));
    }

    #[test]
    fn a_wrong_fingerprint_ends_the_race() {
        let wrong = Err(Lost::Everywhere("wrong key"));
        assert_eq!(run(&[FailEverywhere(20), Win(1)]), (wrong, vec![0], 20));
    }
}
