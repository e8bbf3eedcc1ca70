//! A disk that is slow: work that blocks takes its time.

use super::random::Random;
use crate::error::Error;
use std::cell::RefCell;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

thread_local! {
    static SLOW: RefCell<Option<Slow>> = const { RefCell::new(None) };
}

/// How slow the disk of this thread's world is.
struct Slow {
    random: Random,
    /// What a piece of work waits at most.
    most: Duration,
    /// Changes when all that waits shall go on.
    ended: watch::Sender<()>,
}

fn with<T>(work: impl FnOnce(&mut Slow) -> T) -> Option<T> {
    SLOW.with_borrow_mut(|slow| slow.as_mut().map(work))
}

/// A disk that is fast, until it is said to be slow.
pub(crate) fn begin(seed: u64) {
    SLOW.replace(Some(Slow {
        random: Random::new(seed),
        most: Duration::ZERO,
        ended: watch::Sender::new(()),
    }));
}

/// From now on each piece of work waits for up to so long.
pub(crate) fn set(most: Duration) {
    with(|slow| slow.most = most);
}

/// What waits goes on at once. A process that is killed has no work any more, so the caller sees to
/// it that the work of one has no effect.
pub(crate) fn end_all() {
    with(|slow| slow.ended.send_replace(()));
}

/// Does work that blocks, after a while. As in a thread of its own, it is done even if its
/// caller has gone.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let drawn = with(|slow| {
        let most = slow.most.as_micros() as u64;
        (most > 0).then(|| (slow.random.below(most), slow.ended.subscribe()))
    });
    let Some((wait, mut ended)) = drawn.flatten() else {
        return work();
    };
    let working = tokio::spawn(async move {
        tokio::select! {
            _ = ended.changed() => {}
            () = sleep(Duration::from_micros(wait)) => {}
        }
        work()
    });
    working.await.map_err(|_| Error::Stopped)?
}
