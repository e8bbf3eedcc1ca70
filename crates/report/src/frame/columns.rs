//! What each table's columns are called, of which type they are, and what they mean: the one definition for all formats.

use super::Table;

/// The type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words, UTF-8.
    Text,
    /// A whole number, 64 bits with a sign.
    Integer,
    /// A number, 64 bits.
    Float,
    /// True or false.
    Switch,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, once in a table. Where it has a unit, it ends in that, or has it before the last part: `goodput_bps`,
    /// `rtt_ms_p95`.
    pub name: String,
    /// Of which type its cells are. Each may be null.
    pub kind: Kind,
    /// What it means.
    pub about: String,
}

impl Column {
    /// With these words.
    pub(super) fn new(name: &str, kind: Kind, about: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            about: about.to_owned(),
        }
    }
}

/// All columns of a table: what a row is of, the swept keys, the measures.
pub(super) fn columns(table: Table, swept: impl Iterator<Item = Column>) -> Vec<Column> {
    let mut list = List(Vec::new());
    list.integer("run", "the run's place among all, from 0 on: the same in all tables of a command, and in `runs` of --json");
    list.0.extend(swept);
    list.integer("seed", "the run's seed");
    match table {
        Table::Runs => {
            list.text("controller", "the controllers of its flows, joined by `, `");
            list.float("duration_s", "how long it was, in its own time");
            list.integer("events", "events that were played");
            list.integer(
                "delivered_packets",
                "data packets delivered, each counted once",
            );
            list.integer(
                "total_goodput_bps",
                "delivered to the applications, all flows, per second of the run",
            );
            list.integer(
                "total_throughput_bps",
                "put on the wire, all flows, per second of the run",
            );
            list.integer(
                "total_capacity_bps",
                "what the links would carry without loss; null without a limit",
            );
            list.float("total_jain", "Jain's index of the flows' goodput");
            list.float(
                "total_loss_ratio",
                "data packets dropped over data packets sent",
            );
            list.summary("total_delay_ms", "one-way delay of data packets");
        }
        Table::Flows => {
            list.of_flow();
            list.flow();
        }
        Table::Paths => {
            list.of_path("the path's links, from the near to the far end");
            list.path();
        }
        Table::Streams => {
            list.of_flow();
            list.integer("stream", "the stream's number, from 0 on");
            list.integer("delivered_bytes", "delivered to the application");
            list.integer("messages", "messages delivered");
            list.float("latency_ms", "their latency in the mean");
        }
        Table::Samples => {
            list.of_path("which path of a multipath connection; null: the connection as a whole, or a flow with one path");
            list.sample();
        }
        Table::Episodes => {
            list.of_path("which path of a multipath connection; null: the flow's only one");
            list.float("at_s", "when the sender found the loss, in the run's time");
            list.float("ended_s", "when it was repaired; null: not before the end");
            list.integer("cwnd_bytes", "congestion window just before");
            list.integer("in_flight_bytes", "bytes in flight just before");
            list.float("srtt_ms", "smoothed round-trip time then");
            list.switch("reduced", "the window was reduced for it");
            list.switch("timeout", "the retransmission timer fired");
        }
        Table::Links => {
            list.text(
                "link",
                "the link's name; with `(reverse)`, the mirrored direction",
            );
            list.float("utilisation", "share of the run in which it served packets");
            list.float("mean_queue_packets", "packets waiting, mean over the run");
            list.integer("most_waiting_packets", "most packets waiting at once");
            list.float("mean_wait_ms", "wait before service, mean over packets");
            list.float("longest_wait_ms", "longest wait before service");
            list.integer("offered", "packets that came to it");
            list.integer("delivered", "packets that it delivered");
            list.losses("lost");
            list.integer(
                "marked",
                "delivered packets that its queue marked; null: none",
            );
        }
        Table::LinkSamples => {
            list.text("link", "the link's name");
            list.float("at_s", "when, in the run's time");
            list.integer("queue_packets", "packets that waited");
            list.integer("queue_bytes", "their size");
            list.integer(
                "rate_bps",
                "what came out since the last sample, per second",
            );
        }
        Table::Destinations => {
            list.text("destination", "the node's name");
            list.float(
                "mean_fairness",
                "weighted fairness of its flows, mean over time",
            );
        }
        Table::DestinationSamples => {
            list.text("destination", "the node's name");
            list.float("at_s", "when, in the run's time");
            list.integer("flows", "flows that it served");
            list.float("fairness", "their weighted fairness");
        }
    }
    list.0
}

struct List(Vec<Column>);

impl List {
    fn text(&mut self, name: &str, about: &str) {
        self.0.push(Column::new(name, Kind::Text, about));
    }

    fn integer(&mut self, name: &str, about: &str) {
        self.0.push(Column::new(name, Kind::Integer, about));
    }

    fn float(&mut self, name: &str, about: &str) {
        self.0.push(Column::new(name, Kind::Float, about));
    }

    fn switch(&mut self, name: &str, about: &str) {
        self.0.push(Column::new(name, Kind::Switch, about));
    }

    fn of_flow(&mut self) {
        self.text("flow", "the flow's name");
        self.text(
            "controller",
            "its congestion control as chosen; null: datagrams",
        );
    }

    fn of_path(&mut self, route: &str) {
        self.of_flow();
        self.text("route", route);
    }

    fn flow(&mut self) {
        self.integer("priority", "of an AATP flow");
        self.float("start_s", "when it started, in the run's time");
        self.float(
            "active_s",
            "from its start to its completion, its stop or the run's end",
        );
        self.integer("goodput_bps", "delivered over the time that it was active");
        self.integer(
            "throughput_bps",
            "put on the wire over the time that it was active",
        );
        self.integer("delivered_bytes", "delivered in order to the applications");
        self.counts();
        self.summary("rtt_ms", "round-trip samples");
        self.summary("one_way_delay_ms", "one-way delay of its data packets");
        self.float(
            "completion_s",
            "from its start until all was delivered; null: endless, or not reached",
        );
        self.integer(
            "path_changes",
            "times that the law found the path itself changed; null: it does not look",
        );
        self.confusion("discrimination");
        let nacks = [
            (
                "sent",
                "negative acknowledgments of receivers; null: not known",
            ),
            ("forged", "those that somebody else sent"),
            ("accepted", "those that senders believed"),
            ("refused", "those that senders did not believe"),
            ("resent", "data packets sent again for them"),
            ("mistaken", "those that were believed and proved false"),
        ];
        for (name, about) in nacks {
            self.integer(&format!("nacks_{name}"), about);
        }
        self.integer(
            "aatp_bandwidth_bps",
            "AATP: the bandwidth as measured last, or as told",
        );
        self.float(
            "aatp_set_up_s",
            "AATP: from its start until its bandwidth was known",
        );
        self.integer("aatp_bursts", "AATP: bursts that were reported");
        self.text(
            "aatp_states",
            "AATP: bursts by the state of the law, a JSON object",
        );
        self.integer("aatp_breaks", "AATP: times the circuit breaker stopped it");
        self.summary(
            "aatp_receiver_rtt_ms",
            "AATP: round trips as the receiver measured them",
        );
        self.integer(
            "messages_arrived",
            "messages handed over by the sending application; null: it has none",
        );
        self.integer("messages_delivered", "messages delivered, whole");
        self.integer(
            "messages_held",
            "those that were whole before they could be delivered",
        );
        self.summary(
            "messages_latency_ms",
            "from a message's arrival at the sender to its delivery",
        );
        self.summary(
            "messages_blocked_ms",
            "for how much of it the message was whole and held",
        );
        self.integer(
            "reinjected",
            "segments that a path carried because they were stuck on another; null: one path",
        );
    }

    fn path(&mut self) {
        self.integer(
            "goodput_bps",
            "what it brought first, over the time that the flow was active",
        );
        self.integer("throughput_bps", "put on the wire on it, over that time");
        self.integer("brought_bytes", "data that came on it first");
        self.counts();
        self.integer(
            "reinjected",
            "data packets whose data was stuck on another path",
        );
        self.summary("rtt_ms", "its round-trip samples");
        self.summary("one_way_delay_ms", "one-way delay of its data packets");
        self.float("srtt_ms", "smoothed round-trip time when the run ended");
        self.integer("cwnd_bytes", "congestion window when the run ended");
        self.integer("mean_cwnd_bytes", "congestion window, mean over time");
        self.confusion("discrimination");
        self.integer(
            "path_changes",
            "times that the law found the path itself changed; null: it does not look",
        );
    }

    fn counts(&mut self) {
        self.integer(
            "packets_sent",
            "data packets sent, retransmissions included",
        );
        self.integer("retransmits", "data packets sent again");
        self.integer("timeouts", "times the retransmission timer fired");
        self.integer("loss_episodes", "episodes of loss");
        self.integer(
            "spurious",
            "timeouts and episodes that proved to be mistakes",
        );
        self.losses("lost");
        self.integer(
            "marked",
            "data packets that arrived marked (ECN); null: none",
        );
        self.integer(
            "mark_episodes",
            "times the controller was told of marks; null: none",
        );
    }

    fn sample(&mut self) {
        self.float("at_s", "when, in the run's time");
        self.integer("cwnd_bytes", "congestion window");
        self.integer("ssthresh_bytes", "slow start threshold; null: not set");
        self.integer("in_flight_bytes", "bytes in flight");
        self.float(
            "srtt_ms",
            "smoothed round-trip time; 0 before the first sample",
        );
        self.float("rttvar_ms", "its smoothed mean deviation");
        self.integer("rate_bps", "delivered since the last sample, per second");
        self.integer("delivered_bytes", "delivered since the flow's start");
        self.integer(
            "retransmits",
            "data packets sent again since the flow's start",
        );
        self.integer("sent_bytes", "put on the wire since the flow's start");
        self.float("ack_spacing_ms", "between the newest two acknowledgments");
        self.integer(
            "path_changes",
            "times that the law found the path itself changed; null: it does not look",
        );
        self.integer(
            "pacing_rate_bps",
            "the controller's own rate; null: it sets none",
        );
        self.text("phase", "what the controller was doing");
    }

    fn summary(&mut self, name: &str, about: &str) {
        self.integer(
            &format!("{name}_count"),
            &format!("{about}: how many; if none, the rest is 0"),
        );
        let rest = [
            ("min", "the least"),
            ("mean", "the mean"),
            ("p50", "the median"),
            ("p95", "95th percentile"),
            ("p99", "99th percentile"),
            ("max", "the greatest"),
            ("jitter", "mean absolute difference of neighbours"),
        ];
        for (of, what) in rest {
            self.float(&format!("{name}_{of}"), &format!("{about}: {what}"));
        }
    }

    fn losses(&mut self, name: &str) {
        let causes = [
            ("queue_overflow", "a full queue"),
            (
                "early",
                "the management of a queue that was not full; null: none",
            ),
            ("random", "the channel, at random"),
            ("outage", "an outage"),
            ("corrupted", "corruption"),
            ("contention", "collisions on a shared medium"),
        ];
        for (cause, about) in causes {
            self.integer(
                &format!("{name}_{cause}"),
                &format!("data packets lost by {about}"),
            );
        }
    }

    fn confusion(&mut self, name: &str) {
        let counts = [
            (
                "congestion_as_congestion",
                "congestion, taken for it; null: the law does not tell losses apart",
            ),
            ("congestion_as_random", "congestion, taken for random loss"),
            ("random_as_congestion", "random loss, taken for congestion"),
            ("random_as_random", "random loss, taken for it"),
            ("spurious", "decisions where nothing was lost"),
        ];
        for (count, about) in counts {
            self.integer(&format!("{name}_{count}"), about);
        }
        self.float(
            &format!("{name}_accuracy"),
            "share of right decisions on losses; null: there were none",
        );
        self.float(
            &format!("{name}_balanced_accuracy"),
            "mean of the shares of random loss and of congestion that were taken for what they were; null: one did not occur",
        );
    }
}
