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
        title: "Random loss",
        text: "One packet in a hundred is lost on the way, although nobody else uses the path and \
               its queue is empty. NewReno and CUBIC take each loss for congestion and shrink \
               their windows: they use less than a tenth of the rate. CERL and whimbrel see that \
               the queue is short, keep their windows, and use more than four fifths.",
        state: "algorithms=newreno,cubic,cerl,whimbrel",
        try_this: "Set the random loss to 0 %: now all four use more than nine tenths. At 0.1 % \
                   NewReno and CUBIC are below a third again.",
    },
    Scene {
        id: "cerl-queue",
        title: "What CERL sees in the queue",
        text: "CERL measures how long packets wait in the queue. If the queue is short when a \
               packet is lost, the loss was random; if it is long, the loss was congestion. Here \
               more than nine of ten of its decisions are right, and it carries more than five \
               times as much as CUBIC. The same test in front of CUBIC (cubic+cerl) does as much.",
        state: "loss=0.5+%25&algorithms=newreno,cubic,cerl,cubic%2Bcerl",
        try_this: "Set the random loss to 0 %: now every loss is congestion, CERL decides so each \
                   time, and does exactly what NewReno does.",
    },
    Scene {
        id: "hand-over",
        title: "A hand-over",
        text: "After 10 s the connection moves to a path whose round trip takes 500 ms instead of \
               50 ms, as from a mobile network to a satellite. NewReno's window is too small for \
               it and grows slowly: it uses less than three quarters of the rate. RTA notices the \
               longer path, sets its window to what that path holds, and uses nine tenths; CUBIC \
               grows as fast. Both fill the queue. whimbrel notices the longer path too, and its \
               packets wait less than 10 ms.",
        state: "rate=10+Mbit/s&rtts=0:50+10:500&loss=0+%25&algorithms=newreno,cubic,rta,whimbrel",
        try_this: "Draw the way back to the short path, or several hand-overs.",
    },
    Scene {
        id: "fades",
        title: "Fades",
        text: "Six times the signal is gone for half a second, and everything in flight is lost. \
               Each sender probes the silent path a few times a second. NewReno and CUBIC start \
               again with a small window and grow slowly. BBR and whimbrel remember the rate, and \
               CERL sees that the queue was short before the losses: they carry at least half more \
               than CUBIC.",
        state: "rtt=60+ms&loss=0+%25&fades=6&fade=500+ms\
                &algorithms=newreno,cubic,bbr,cerl,whimbrel",
        try_this: "Change the length of a fade, and the seed: other fades, the same order.",
    },
    Scene {
        id: "unfairness",
        title: "Unfairness",
        text: "Each algorithm shares the path with one CUBIC flow, and the buffer is shallow. Two \
               CUBIC flows share it nearly evenly. BBR takes more than twice of what it leaves to \
               its neighbour. whimbrel does the opposite: it backs off, and its neighbour has two \
               to four times as much.",
        state: "rtt=40+ms&loss=0+%25&queue=0.5+bdp\
                &algorithms=newreno,bbr,whimbrel&neighbours=cubic:1",
        try_this: "Make the buffer 2 bdp: now BBR and its neighbour have nearly the same.",
    },
    Scene {
        id: "silent-way-back",
        title: "A silent way back",
        text: "For two seconds no acknowledgment comes back, although the data arrives. The sender \
               cannot know: its window is full, and its timer fires again and again. Whatever the \
               algorithm, the silence costs at least its own length: between two and five seconds \
               of sending. No controller can repair that.",
        state: "rtt=80+ms&loss=0+%25&silence=10+s+..+12+s&algorithms=newreno,cubic,cerl,whimbrel",
        try_this: "Shorten the silence to 10 s .. 10.5 s, or set a slow way back, such as \
                   20 kbit/s.",
    },
    Scene {
        id: "deep-queue",
        title: "A deep queue",
        text: "The buffer holds eight times what the path does. NewReno and CUBIC fill it until it \
               overflows: each packet waits more than a fifth of a second. Vegas, BBR and whimbrel \
               keep it nearly empty, and wait less than 10 ms. All five use more than nine tenths \
               of the rate, so the waiting buys nothing.",
        state: "rate=10+Mbit/s&rtt=40+ms&loss=0+%25&queue=8+bdp\
                &algorithms=newreno,cubic,vegas,bbr,whimbrel",
        try_this: "Make the buffer 1 bdp: CUBIC waits less than 40 ms and carries as much.",
    },
    Scene {
        id: "long-fat",
        title: "A long fat path",
        text: "200 Mbit/s over 200 ms: 5 MB are in flight before the first acknowledgment returns. \
               One loss in ten thousand packets is enough to keep NewReno below a quarter of the \
               rate and CUBIC near half. Enhanced-AATP measures the bandwidth with packet trains \
               and uses two thirds, whimbrel more than four fifths, both with hardly any queue.",
        state: "rate=200+Mbit/s&rtt=200+ms&loss=0.01+%25&duration=20+s\
                &algorithms=newreno,cubic,enhanced-aatp,whimbrel",
        try_this: "Make the RTT 20 ms: NewReno carries more than twice as much.",
    },
];

#[cfg(test)]
mod tests;
