//! What a sender notes for those who look at a run: when acknowledgments came, its episodes of loss, and what it finds as it
//! finds it.

use crate::outcome::{LossEpisode, Truth};
use whimbrel_cc::LossResponse;
use whimbrel_units::{Duration, Time};

/// What a sender notes.
#[derive(Debug)]
pub(super) struct Record {
    /// When the newest two acknowledgments came, the newest last; [`Time::MAX`]: none yet.
    acks: [Time; 2],
    /// Its episodes, if they are wanted: in a long run there may be very many.
    episodes: Option<Vec<LossEpisode>>,
    /// What was found since somebody last looked, if the run is watched.
    notes: Option<Vec<Note>>,
}

/// Something that a sender found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Note {
    /// A segment is lost; with the truth about its last transmission.
    Lost(u32, Truth),
    /// The controller judged an episode, of which this is the first segment.
    Judged(u32, Truth, LossResponse),
    /// The retransmission timer fired.
    TimedOut,
    /// A reduction was a mistake.
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
    /// Notes episodes from now on.
    pub fn with_episodes(&mut self) {
        self.episodes.get_or_insert_default();
    }

    /// Somebody looks at what is found from now on.
    pub fn with_notes(&mut self) {
        self.notes.get_or_insert_default();
    }

    /// Something was found.
    #[inline]
    pub fn note(&mut self, note: Note) {
        if let Some(notes) = &mut self.notes {
            notes.push(note);
        }
    }

    /// What was found since this was last asked.
    pub fn take_notes(&mut self) -> impl Iterator<Item = Note> + '_ {
        self.notes.iter_mut().flat_map(|notes| notes.drain(..))
    }

    /// An acknowledgment came.
    #[inline]
    pub fn on_ack(&mut self, now: Time) {
        self.acks = [self.acks[1], now];
    }

    /// The spacing of the newest two acknowledgments.
    pub fn ack_spacing(&self) -> Option<Duration> {
        let [last, newest] = self.acks;
        (last < Time::MAX).then(|| newest.since(last))
    }

    /// An episode begins.
    pub fn begin(&mut self, episode: LossEpisode) {
        if let Some(episodes) = &mut self.episodes {
            episodes.push(episode);
        }
    }

    /// Nothing is being repaired any more: episodes that a later one overtook are over too.
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

    /// The episodes, in order of time.
    pub fn episodes(&self) -> &[LossEpisode] {
        self.episodes.as_deref().unwrap_or_default()
    }
}
