//! The columns of the tables of a ranking.

use whimbrel_report::frame::Kind;

/// The columns of a run: name, type and meaning. The names are those of the JSON.
pub const RUN: [(&str, Kind, &str); 21] = [
    ("point", Kind::Text, "the point"),
    (
        "content",
        Kind::Text,
        "a hash of the point's file and traces",
    ),
    (
        "algorithm",
        Kind::Text,
        "the algorithm of the flows under test",
    ),
    ("seed", Kind::Integer, "seed of the run"),
    (
        "rate",
        Kind::Float,
        "payload that the flows under test delivered, bit/s",
    ),
    (
        "efficiency",
        Kind::Float,
        "the same over what an ideal sender delivers",
    ),
    (
        "delay",
        Kind::Float,
        "95th percentile of the one-way delay above its minimum, base RTTs; of several flows the \
         maximum",
    ),
    (
        "wait",
        Kind::Float,
        "mean wait in queues, summed over the links, base RTTs",
    ),
    (
        "overflow",
        Kind::Float,
        "fraction of the packets sent that queues dropped",
    ),
    (
        "retransmitted",
        Kind::Float,
        "fraction of the packets sent that were retransmitted",
    ),
    (
        "share",
        Kind::Float,
        "goodput of a flow under test over a fair share, mean",
    ),
    (
        "others",
        Kind::Float,
        "goodput of another controlled flow, mean, bit/s; 0 without other flows",
    ),
    (
        "others_overflow",
        Kind::Float,
        "fraction of the other flows' packets that queues dropped",
    ),
    (
        "utilization",
        Kind::Float,
        "payload of all flows over what the links carry",
    ),
    (
        "jain",
        Kind::Float,
        "Jain's index of the goodputs of the flows under test",
    ),
    (
        "jain_in_windows",
        Kind::Float,
        "the same in windows of at least 5 s and 50 RTTs, mean; null: not sampled",
    ),
    (
        "settled",
        Kind::Float,
        "seconds from the last start until the shares were fair in three windows in a row, or the \
         rest of the run; null: not sampled",
    ),
    (
        "completion",
        Kind::Float,
        "seconds that the transfer took, mean; the length of the run if one did not complete",
    ),
    (
        "timeouts",
        Kind::Integer,
        "retransmission timeouts of the flows under test",
    ),
    ("packets", Kind::Integer, "packets that the run delivered"),
    (
        "stopped",
        Kind::Float,
        "seconds after which the run was stopped, because its flows had sent far more than its \
         links carry; null: it was not",
    ),
];

/// The columns of a score.
pub const SCORE: [(&str, Kind, &str); 13] = [
    ("algorithm", Kind::Text, "the algorithm"),
    ("point", Kind::Text, "the point"),
    ("class", Kind::Text, "the class of the point, A to M"),
    (
        "goal",
        Kind::Text,
        "the formula: fill, share, own or completion",
    ),
    ("seed_count", Kind::Integer, "number of runs"),
    ("score", Kind::Float, "mean score, 0 to 1: the goal is met"),
    (
        "low",
        Kind::Float,
        "lower end of its 95 % confidence interval; null: one run",
    ),
    (
        "high",
        Kind::Float,
        "upper end of its 95 % confidence interval; null: one run",
    ),
    ("efficiency", Kind::Float, "mean of the column of `runs`"),
    ("delay", Kind::Float, "mean of the column of `runs`"),
    ("overflow", Kind::Float, "mean of the column of `runs`"),
    (
        "kept",
        Kind::Float,
        "what the neighbours deliver over what they deliver beside their own kind; null: none",
    ),
    ("completion", Kind::Float, "mean of the column of `runs`"),
];
