"""The native half of the package."""

from collections.abc import Callable
from typing import Any

__version__: str
SOURCE: str
"""A hash of the simulator's source: the same source gives the same bits."""

USUAL: str
"""The algorithms that `rank` scores by default, separated by commas."""
USUAL_AGAINST: str
"""The algorithms that `hunt` compares with by default, separated by commas."""

Progress = Callable[[str, float, float], None] | None

class NativeTable:
    column_names: list[str]
    meanings: dict[str, str]
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...
    def __len__(self) -> int: ...

class NativeScenario:
    text: str
    path: Any
    settings: list[str]
    points: list[dict[str, str]]
    sampled: bool
    @staticmethod
    def read(text: str, path: str, settings: list[str]) -> NativeScenario: ...
    @staticmethod
    def of_comparison(arguments: dict[str, list[str]]) -> NativeScenario: ...
    def __len__(self) -> int: ...
    def key(self, table: str, size: int) -> str: ...
    def run(
        self,
        tables: list[str],
        first: int = 0,
        count: int | None = None,
        threads: int | None = None,
        progress: Progress = None,
    ) -> dict[str, NativeTable]: ...

class NativeEpisodes:
    def __init__(self, episodes: int, agents: int, seconds: float) -> None: ...
    @staticmethod
    def fields() -> list[str]: ...
    def begin(
        self, place: int, text: str, path: str, flows: list[str], seed: int
    ) -> None: ...
    def step(self, windows: bytes) -> tuple[bytes, list[bool]]: ...

class Setup:
    """What the transport knows when a connection begins."""

    mss: int
    """Maximum payload of a packet, bytes."""
    initial_window: int
    """Bytes."""
    paced: bool
    """The transport spreads a window over a round trip."""
    seed: int
    """Differs between connections."""

class Ack:
    """Data was acknowledged."""

    now: float
    """Seconds since the run began."""
    acked: int
    """Bytes newly delivered."""
    rtt: float | None
    """Round-trip sample, seconds."""
    srtt: float
    """Smoothed round-trip time, seconds."""
    min_rtt: float
    """Minimum so far, seconds."""
    in_flight: int
    """Bytes still in flight."""
    delivered: int
    """Bytes delivered so far."""
    delivery_rate: int | None
    """Bit/s."""
    lost: int
    """Bytes found lost so far."""
    app_limited: bool
    cwnd_limited: bool
    """The sender used its window, so that it may grow."""
    in_recovery: bool
    """The window may not grow."""
    round_start: bool
    """The first acknowledgment of a round trip."""
    ece: bool
    """It carries a new congestion mark."""

class Loss:
    """An episode of loss began."""

    now: float
    """Seconds since the run began."""
    in_flight: int
    """Bytes in flight before the loss."""
    lost: int
    """Bytes found lost so far."""
    sent: float
    """When the lost packet was sent, seconds."""
    ece: bool

class Timeout:
    """The retransmission timer fired."""

    now: float
    in_flight: int
    repeated: bool

def advise(
    arguments: dict[str, list[str]], threads: int | None, progress: Progress = None
) -> tuple[str, NativeTable]: ...
def rank(
    controllers: list[str],
    seeds: int | None,
    classes: list[str],
    only: list[str],
    points: Any | None,
    threads: int | None,
    progress: Progress = None,
) -> tuple[NativeTable, NativeTable, NativeTable]: ...
def hunt(
    name: str | None,
    classifier: str | None,
    against: list[str],
    families: list[str],
    limits: dict[str, int],
    minutes: float | None,
    threads: int | None,
    progress: Progress = None,
) -> tuple[str, NativeTable, NativeTable]: ...
def reproduce(
    ids: list[str],
    seeds: int | None,
    experiments: Any | None,
    threads: int | None,
    progress: Progress = None,
) -> tuple[NativeTable, NativeTable]: ...
def controllers() -> NativeTable: ...
def register(
    cls: type, name: str, summary: str, parameters: list[tuple[str, float]], source: str
) -> None: ...
