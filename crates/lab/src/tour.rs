//! Scenes that teach what the papers saw. Each is a state of the page with a few sentences, and
//! tests hold the sentences against the simulator's numbers.

use crate::State;
use serde::Serialize;

/// A scene.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Scene {
    /// Its name in links.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What there is to see, in two or three sentences.
    pub text: &'static str,
    /// Its state, as a link has it.
    pub state: &'static str,
    /// What to change, to see more.
    pub try_this: &'static str,
}

impl Scene {
    /// Its state.
    ///
    /// # Errors
    /// If it is malformed, which the tests exclude.
    pub fn state(&self) -> Result<State, crate::FieldError> {
        State::parse(self.state)
    }
}

/// The scenes, in the order of the tour.
pub const SCENES: [Scene; 8] = [
    Scene {
        id: "random-loss",
        title: "Random loss is not congestion",
        text: "One packet in a hundred is lost on the way, but the queue is empty: nobody else \
               uses the path. CUBIC takes each loss for congestion, shrinks its window again and \
               again, and uses less than a fifth of the rate. CERL looks at the queue before it \
               reduces its window, and whimbrel at both queue and rate: they use most of the path.",
        state: "rate=20+Mbit/s&rtt=100+ms&loss=1+%25&algorithms=newreno,cubic,cerl,whimbrel",
        try_this: "Move the loss to 0 %: the difference is gone. At 0.1 % it is back already.",
    },
    Scene {
        id: "cerl-queue",
        title: "What CERL sees in the queue",
        text: "CERL measures how long packets wait: a loss while the queue is short was random, a \
               loss while it is long was congestion. With a buffer of one bandwidth-delay product \
               it uses three times as much of the path as CUBIC or more. With no random loss, \
               nearly all its decisions are right, and it halves as NewReno does.",
        state: "rate=20+Mbit/s&rtt=100+ms&loss=0.5+%25&algorithms=cubic,cerl,cubic%2Bcerl",
        try_this: "Make the buffer shallow (0.1 bdp): there is no queue left to look at.",
    },
    Scene {
        id: "hand-over",
        title: "A hand-over to a longer path",
        text: "placeholder",
        state: "rate=10+Mbit/s&rtts=0:50+10:500+20:50&loss=0+%25&algorithms=newreno,rta,whimbrel",
        try_this: "Draw another hand-over.",
    },
    Scene {
        id: "fades",
        title: "Fades: the signal comes and goes",
        text: "placeholder",
        state: "rate=20+Mbit/s&rtt=60+ms&loss=0+%25&fades=6&fade=500+ms&algorithms=cubic,bbr,cerl,whimbrel",
        try_this: "Make fades longer.",
    },
    Scene {
        id: "unfair",
        title: "Fast for one, slow for the neighbour",
        text: "placeholder",
        state: "rate=20+Mbit/s&rtt=40+ms&loss=0+%25&queue=0.5+bdp&algorithms=newreno,bbr,whimbrel&neighbours=cubic:1",
        try_this: "Change the buffer.",
    },
    Scene {
        id: "silent-way-back",
        title: "The way back falls silent",
        text: "placeholder",
        state: "rate=20+Mbit/s&rtt=80+ms&loss=0+%25&silence=10+s+..+11+s&algorithms=newreno,cubic,cerl,whimbrel",
        try_this: "Make it longer.",
    },
    Scene {
        id: "deep-queue",
        title: "A deep buffer is a long wait",
        text: "placeholder",
        state: "rate=10+Mbit/s&rtt=40+ms&loss=0+%25&queue=8+bdp&algorithms=cubic,vegas,bbr,whimbrel",
        try_this: "Make the buffer 1 bdp.",
    },
    Scene {
        id: "long-fat",
        title: "Fast from the start",
        text: "placeholder",
        state: "rate=200+Mbit/s&rtt=200+ms&loss=0.01+%25&duration=20+s&algorithms=newreno,cubic,enhanced-aatp,whimbrel",
        try_this: "Lower the RTT.",
    },
];
