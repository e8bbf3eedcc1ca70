"""Why algorithms differ between the kernel's TCP and the simulator, for the page of linux.py.

Each reason was found by an experiment, which its text names. It applies to rows that differ: by
algorithm, loss and direction. So it stays when the referee runs again, and a difference without a
reason shows.
"""

from dataclasses import dataclass

LINUX, SIMULATOR = "Linux", "simulator"


@dataclass(frozen=True)
class Reason:
    """A cause of differences."""

    # A short name, by which rows refer to it.
    name: str
    # Names of Whimbrel's algorithms; the kernel's are `kernel:cubic`.
    algorithms: tuple
    # The side that delivers more; None: either.
    more: str | None
    # Losses in % that it applies to; None: all.
    losses: tuple | None
    text: str

    def explains(self, algorithm, loss, ratio):
        side = LINUX if ratio > 1 else SIMULATOR
        return (
            algorithm in self.algorithms
            and self.more in (None, side)
            and (self.losses is None or loss in self.losses)
        )


REASONS = [
    Reason(
        "timing of acknowledgments",
        ("westwood", "tcp-nack-westwood"),
        LINUX,
        None,
        "half of the last bandwidth sample persists through the gap that follows it, so a short "
        "interval between two acknowledgments raises the estimate. The simulator's are evenly "
        "spaced; the kernel's vary. With a delay that varies by 0.5 ms at random, the simulator's "
        "Westwood delivers 16.0 instead of 13.2 Mbit/s at 20 Mbit/s and 3 %.",
    ),
    Reason(
        "variation of the RTT",
        ("westwood-plus", "d-tcp", "veno", "mveno", "illinois"),
        SIMULATOR,
        None,
        "these compare the RTT with its minimum: for the window after a loss, for the decision "
        "whether a loss is random, for the rate of growth. The kernel's RTT also varies where no "
        "queue is, by up to a millisecond or two on this machine. With a delay that varies by 1 ms "
        "at random, the simulator at 20 Mbit/s and 0.3 % delivers 9.0 instead of 9.7 Mbit/s under "
        "Veno and 8.7 instead of 9.7 under mVeno; at 3 % 4.9 instead of 6.8 under Illinois; and if "
        "it varies by 2 ms 2.5 instead of 3.1 under Westwood+ and 4.2 instead of 5.1 under D-TCP.",
    ),
    Reason(
        "margin of 1/w",
        ("jtcp",),
        SIMULATOR,
        None,
        "a loss counts as congestion if a round trip is stretched by more than 1/w, and a window "
        "that grows by one packet stretches it by that much on any path. Rounding decides, and "
        "the kernel's acknowledgments are less regular: 11 % of the random losses count as "
        "congestion, in the simulator 4 %. The clock's tick is not the cause: with timestamps of "
        "1 us the kernel's goodput is the same. In the simulator alone it is 10.8 Mbit/s with an "
        "acknowledgment for each segment, 8.5 with the default, 6.3 without limited transmit and "
        "4.9 with a delay that varies by 2 ms.",
    ),
    Reason(
        "overload",
        ("newjersey", "newjersey-plus", "cerl-plus-printed"),
        None,
        None,
        "these never reduce the window for what the queue drops. The receive window is the only "
        "limit, most packets are dropped, and goodput is what retransmissions happen to get "
        "through. The limit decides: at 50 Mbit/s without random loss New Jersey delivers 2.9 "
        "Mbit/s in the simulator and 20 in the kernel with a window as each would have it, 46 and "
        "42 with 16 MiB on both sides.",
    ),
    Reason(
        "the kernel's CUBIC",
        ("kernel:cubic",),
        SIMULATOR,
        None,
        "the simulator runs the CUBIC of RFC 9438, whose Reno-friendly region grows faster than "
        "the kernel's; see above.",
    ),
    Reason(
        "acknowledgments after a loss",
        ("verus",),
        LINUX,
        None,
        "the kernel's receiver acknowledges every segment for a while after a loss "
        "(tcp_enter_quickack_mode()), the simulated one every second. Verus learns its profile "
        "from each acknowledgment: with one for each segment the simulator delivers 3.9 instead "
        "of 3.2 Mbit/s at 20 Mbit/s and 3 %.",
    ),
]

@dataclass(frozen=True)
class PairReason:
    """A cause of differences between the kernel's algorithm and Whimbrel's of the same name."""

    # The kernel's name.
    kernel: str
    # Whether Whimbrel's delivers more.
    ours: bool
    text: str


PAIRS = [
    PairReason(
        "reno",
        False,
        "**NewReno and Reno**: the kernel also grows the window with the acknowledgment that ends "
        "a recovery. By RFC 5681 section 3.2 that one sets the window to ssthresh, so here it does "
        "not count, as in the simulator. With this growth, Whimbrel's NewReno at 20 Mbit/s, 46 ms "
        "and 3 % is 0.995 ± 0.002 of the kernel's Reno instead of 0.970 ± 0.006 (10 pairs).",
    ),
    PairReason(
        "cubic",
        True,
        "**CUBIC**: these windows are small, so CUBIC is in its Reno-friendly region. RFC 9438 "
        "section 4.3 has it grow as fast as Reno (alpha = 1) once it has reached the window of "
        "the last loss. The kernel's grows by 0.53 segments per round trip there too. With alpha "
        "fixed as in the kernel and the growth above, Whimbrel's CUBIC at 20 Mbit/s, 46 ms and 3 % "
        "is 1.047 ± 0.007 of the kernel's instead of 1.137 ± 0.011 (10 pairs). Whimbrel's follows "
        "the RFC.",
    ),
]


def explains_pair(kernel, ratio):
    """Whether there is a reason; `ratio` is Whimbrel's goodput over the kernel's."""
    return any(r.kernel == kernel and r.ours == (ratio > 1) for r in PAIRS)


def reason(contestant, loss, ratio):
    """The first reason for a difference; `ratio` is Linux's goodput over the simulator's."""
    name = contestant.key().removeprefix("whimbrel:")
    return next((r for r in REASONS if r.explains(name, loss, ratio)), None)
