//! The sources of events of a run, and their slots in the calendar.

use super::routes::PathId;
use crate::end::End;
use crate::network::LinkId;

/// A source of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A link: the next packet leaves it.
    Link(LinkId),
    /// One end of one path: its next timer.
    End(EndId),
    /// A polled link, by its index: it is to be polled.
    Polled(usize),
    /// A helper, by its number: its next timer.
    Helper(usize),
    /// The next sample of the run.
    Sampler,
}

/// One end of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndId(usize);

impl EndId {
    /// An end of a path.
    #[inline]
    pub fn new(path_id: PathId, end: End) -> Self {
        Self(2 * path_id.index() + end.index())
    }

    /// The path.
    #[inline]
    pub fn path_id(self) -> PathId {
        PathId::new(self.0 / 2)
    }

    /// Which of its ends.
    #[inline]
    pub fn end(self) -> End {
        match self.0 % 2 {
            0 => End::Near,
            _ => End::Far,
        }
    }
}

/// How many sources of each kind a run has. In the calendar, links come first, as it requires, then
/// ends, polled links, helpers and the sampler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sources {
    pub links: usize,
    pub paths: usize,
    pub polled: usize,
    pub helpers: usize,
}

impl Sources {
    /// The number of slots.
    pub fn count(self) -> usize {
        self.slot(Source::Sampler) + 1
    }

    fn first_polled(self) -> usize {
        self.links + 2 * self.paths
    }

    /// The slot of a source.
    #[inline(always)]
    pub fn slot(self, source: Source) -> usize {
        match source {
            Source::Link(link) => link.index(),
            Source::End(end) => self.links + end.0,
            Source::Polled(index) => self.first_polled() + index,
            Source::Helper(index) => self.first_polled() + self.polled + index,
            Source::Sampler => self.first_polled() + self.polled + self.helpers,
        }
    }

    /// The source of a slot.
    #[inline(always)]
    pub fn source(self, slot: usize) -> Source {
        let polled = self.first_polled();
        if slot < self.links {
            Source::Link(LinkId(slot as u32))
        } else if slot < polled {
            Source::End(EndId(slot - self.links))
        } else if slot < polled + self.polled {
            Source::Polled(slot - polled)
        } else if slot < polled + self.polled + self.helpers {
            Source::Helper(slot - polled - self.polled)
        } else {
            Source::Sampler
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_one_source() {
        let sources = Sources {
            links: 3,
            paths: 2,
            polled: 1,
            helpers: 2,
        };
        assert_eq!(sources.count(), 11);
        for slot in 0..sources.count() {
            assert_eq!(sources.slot(sources.source(slot)), slot);
        }
        let far = EndId::new(PathId::new(1), End::Far);
        assert_eq!((far.path_id(), far.end()), (PathId::new(1), End::Far));
        assert_eq!(sources.source(6), Source::End(far));
    }
}
