//! The statistics of a path as JSON, in bytes, seconds and bits per second.

use crate::{DirectionReport, PathReport};
use serde_json::{Value, json};
use whimbrel_net::Counters;
use whimbrel_units::Duration;

impl PathReport {
    /// The object that `whimbrel link --json` writes.
    pub fn json(&self) -> Value {
        let more: Vec<_> = (self.more.iter())
            .map(|[forward, backward]| {
                json!({
                    "forward": direction(forward, self.elapsed),
                    "backward": direction(backward, self.elapsed),
                })
            })
            .collect();
        let mut value = json!({
            "status": self.status,
            "elapsed_s": self.elapsed.as_secs_f64(),
            "forward": direction(&self.forward, self.elapsed),
            "backward": direction(&self.backward, self.elapsed),
            "notes": self.notes,
        });
        if !more.is_empty() {
            value["more"] = more.into();
        }
        value
    }
}

/// A hop behind the first one.
fn hop(c: &Counters) -> Value {
    json!({
        "offered": c.offered,
        "delivered": c.delivered,
        "dropped_queue": c.queue_overflow,
        "lost_random": c.random,
        "lost_outage": c.outage,
        "mean_wait_s": c.waited.as_secs_f64() / c.admitted().max(1) as f64,
    })
}

fn direction(d: &DirectionReport, elapsed: Duration) -> Value {
    let c = &d.counters;
    json!({
        "offered": c.offered,
        "delivered": c.delivered,
        "delivered_bytes": c.delivered_bytes.get(),
        "dropped": {
            "queue": c.queue_overflow,
            "early": c.early,
            "random": c.random,
            "outage": c.outage,
            "contention": c.contention,
        },
        "corrupted": c.corrupted,
        "marked": c.marked,
        "later_hops": d.hops.iter().map(hop).collect::<Vec<_>>(),
        "mean_rate_bps": d.mean_rate(elapsed).as_bits_per_sec(),
        "capacity_bytes": d.capacity.map(|b| b.get()),
        "utilisation": d.utilisation(),
        "mean_wait_s": d.mean_wait().as_secs_f64(),
        "longest_wait_s": c.longest_wait.as_secs_f64(),
        "most_waiting": c.most_waiting,
        "arrived": d.arrived,
        "on_the_way": d.on_the_way,
        "refused": d.refused,
        "lost_before_the_path": d.missed,
        "lost_for_memory": d.out_of_memory,
        "lateness_s": {
            "p50": d.lateness.p50.as_secs_f64(),
            "p99": d.lateness.p99.as_secs_f64(),
            "max": d.lateness.max.as_secs_f64(),
        },
    })
}
