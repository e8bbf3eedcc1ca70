//! What a sender records for observers: the times of acknowledgments, loss episodes, and notes of
//! its findings.

use crate::outcome::{LossEpisode, Truth};
use whimbrel_cc::LossResponse;
use whimbrel_units::{Duration, Time};

/// The records of a sender. Each acknowledgment changes the first field, which is first in memory.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Record {
    /// Arrival times of the last two acknowledgments, newest last; [`Time::MAX`]: none yet.
    acks: [Time; 2],
    /// Its loss episodes, if requested: a long run may have very many.
    episodes: Option<Vec<LossEpisode>>,
    /// Findings that were not taken yet, if the run is observed.
    notes: Option<Vec<Note>>,
}

/// A finding of a sender.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Note {
    /// A segment is lost; with the true cause for its last transmission.
    Lost(u32, Truth),
    /// The controller decided about an episode with this first segment.
    Judged(u32, Truth, LossResponse),
    /// The retransmission timer expired.
    TimedOut,
    /// A reduction was spurious and is undone.
    TakenBack,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            acks: [Time::MAX; 2],
            episodes: None,
            notes: None,
        }
    }
}

impl Record {
    /// Records loss episodes from now on.
    pub fn with_episodes(&mut self) {
        self.episodes.get_or_insert_default();
    }

    /// Records notes from now on.
    pub fn with_notes(&mut self) {
        self.notes.get_or_insert_default();
    }

    /// Adds a note, if notes are recorded.
    #[inline]
    pub fn note(&mut self, note: Note) {
        if let Some(notes) = &mut self.notes {
            notes.push(note);
        }
    }

    /// Takes the notes since the last call.
    pub fn take_notes(&mut self) -> impl Iterator<Item = Note> + '_ {
        self.notes.iter_mut().flat_map(|notes| notes.drain(..))
    }

    /// Invoked when an acknowledgment arrives.
    #[inline]
    pub fn on_ack(&mut self, now: Time) {
        self.acks = [self.acks[1], now];
    }

    /// Time between the last two acknowledgments.
    pub fn ack_spacing(&self) -> Option<Duration> {
        let [last, newest] = self.acks;
        (last < Time::MAX).then(|| newest.since(last))
    }

    /// Begins an episode.
    pub fn begin(&mut self, episode: LossEpisode) {
        if let Some(episodes) = &mut self.episodes {
            episodes.push(episode);
        }
    }

    /// Ends all open episodes: no loss is being repaired any more.
    pub fn end(&mut self, now: Time) {
        let Some(episodes) = &mut self.episodes else {
            return;
        };
        for episode in episodes.iter_mut().rev() {
            if episode.ended.is_some() {
                break;
            }
            episode.ended = Some(now);
        }
    }

    /// The episodes, in time order.
    pub fn episodes(&self) -> &[LossEpisode] {
        self.episodes.as_deref().unwrap_or_default()
    }
}
