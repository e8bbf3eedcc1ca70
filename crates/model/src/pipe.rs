//! A simulation of one window on a link with a buffer, packet by packet, in slots of one packet's
//! service time. Tests compare the formulas of a cycle with it.

use crate::path::ModelPath;
use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Rate};

/// A path of 1000 packets per second that holds `pipe` packets, and `buffer` in its queue.
pub fn path(pipe: u64, buffer: u64) -> ModelPath {
    let rate = Rate::from_bits_per_sec(8_000_000);
    let delay = Duration::from_millis(pipe - 1);
    ModelPath::new(rate, delay, Bytes::new(1000), buffer).expect("a path")
}

/// The result of a cycle in which packets are lost only by overflow.
pub struct Played {
    /// The packet that overflows.
    pub overflows: u64,
    /// When the packets before it are acknowledged, in slots.
    pub acks: Vec<f64>,
}

/// Simulates a cycle: `w_0` packets at once; each acknowledgment sends one packet, the last one of
/// a burst two.
pub fn play(pipe: u64, buffer: u64, w_0: u64) -> Played {
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let mut serving: Option<u64> = None;
    let mut under_way: VecDeque<u64> = VecDeque::new();
    let mut acks = Vec::new();
    let (mut sent, mut burst_end, mut window) = (0, w_0, w_0);
    let mut to_send = w_0;
    for now in 0_u64.. {
        // The packet in service leaves, and is acknowledged pipe - 1 slots later.
        if serving.take().is_some() {
            under_way.push_back(now + pipe - 1);
        }
        while under_way.front() == Some(&now) {
            under_way.pop_front();
            acks.push(now as f64);
            to_send += 1;
            if acks.len() as u64 == burst_end {
                window += 1;
                burst_end += window;
                to_send += 1;
            }
        }
        serving = waiting.pop_front();
        for _ in 0..std::mem::take(&mut to_send) {
            sent += 1;
            if serving.is_none() {
                serving = Some(sent);
            } else if (waiting.len() as u64) < buffer || sent <= w_0 {
                // The first burst never overflows: in reality it does not arrive at once, and
                // includes the packets in the buffer.
                waiting.push_back(sent);
            } else {
                return Played {
                    overflows: sent,
                    acks: finish(acks, sent, now, serving, &waiting, under_way, pipe),
                };
            }
        }
    }
    unreachable!("the window grows until the buffer overflows");
}

/// Adds the acknowledgments of packets that are still on their way.
fn finish(
    mut acks: Vec<f64>,
    overflows: u64,
    now: u64,
    serving: Option<u64>,
    waiting: &VecDeque<u64>,
    under_way: VecDeque<u64>,
    pipe: u64,
) -> Vec<f64> {
    acks.extend(under_way.iter().map(|&at| at as f64));
    let busy = u64::from(serving.is_some()) + waiting.len() as u64;
    acks.extend((1..=busy).map(|k| (now + k + pipe - 1) as f64));
    assert_eq!(acks.len() as u64, overflows - 1);
    acks
}
