//! The requests whose runs are being played: a newer one of the same page stops an older one, and
//! there are a few at most.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of requests at the same time, of all pages together; a further one stops the
/// oldest.
const MOST: usize = 3;

/// The requests in progress.
#[derive(Debug, Default)]
pub struct Running {
    all: Mutex<VecDeque<(String, Arc<AtomicBool>)>>,
}

/// A request in progress; it leaves the list when it is dropped.
#[derive(Debug)]
pub struct Begun {
    running: Arc<Running>,
    /// True once the request must stop.
    pub stop: Arc<AtomicBool>,
}

impl Running {
    /// Begins a request of this page (a name that the page has drawn). Stops an earlier one of the
    /// same page, and the oldest of too many.
    pub fn begin(self: &Arc<Self>, page: &str) -> Begun {
        let stop = Arc::new(AtomicBool::new(false));
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(other, flag)| {
            let same = other == page;
            if same {
                flag.store(true, Ordering::Relaxed);
            }
            !same
        });
        if all.len() >= MOST
            && let Some((_, flag)) = all.pop_front()
        {
            flag.store(true, Ordering::Relaxed);
        }
        all.push_back((page.to_owned(), stop.clone()));
        Begun {
            running: self.clone(),
            stop,
        }
    }

    /// Number of requests in progress.
    #[cfg(test)]
    fn count(&self) -> usize {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.len()
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = self.running.all.lock();
        let all = all.as_deref_mut();
        if let Ok(all) = all {
            all.retain(|(_, flag)| !Arc::ptr_eq(flag, &self.stop));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(begun: &Begun) -> bool {
        begun.stop.load(Ordering::Relaxed)
    }

    #[test]
    fn a_newer_request_of_a_page_stops_the_older_one() {
        let running = Arc::new(Running::default());
        let (a, other) = (running.begin("a"), running.begin("b"));
        let newer = running.begin("a");
        assert!(stopped(&a) && !stopped(&newer) && !stopped(&other));
        drop(a);
        assert_eq!(running.count(), 2, "the newer one stays in the list");
    }

    #[test]
    fn of_too_many_the_oldest_stops() {
        let running = Arc::new(Running::default());
        let all: Vec<Begun> = ["a", "b", "c", "d"].map(|page| running.begin(page)).into();
        let stopped: Vec<bool> = all.iter().map(stopped).collect();
        assert_eq!(stopped, [true, false, false, false]);
        drop(all);
        assert_eq!(running.count(), 0);
    }
}
