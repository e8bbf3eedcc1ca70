from os import PathLike
from typing import Any, Literal

from typing_extensions import TypedDict, Unpack

from ._errors import WhimbrelError as WhimbrelError
from ._table import Results as Results, Table as Table
from ._whimbrel import Ack as Ack, Loss as Loss, Setup as Setup, Timeout as Timeout
from .controller import Controller as Controller, register as register

__version__: str

Values = str | float | list[str] | list[float]
Algorithm = str | type[Controller]
Algorithms = Algorithm | list[Algorithm] | list[str] | list[type[Controller]]
File = str | PathLike[str]

class RunOptions(TypedDict, total=False):
    threads: int | None
    progress: bool | None
    tables: list[str] | None

class PathFlags(TypedDict, total=False):
    rate: Values | None
    rate_trace: File | None
    back_trace: File | None
    rtt: Values | None
    queue: Values | None
    loss: Values | None
    controllers: Algorithms | None
    neighbours: str | list[str] | None
    streams: int | list[int] | None
    messages: str | list[str] | None
    flows: int | None
    duration: str | None
    seeds: int | None
    recovery: Literal["newreno", "sack", "rack"] | None
    transport: Literal["quic", "tcp"] | None

class CompareFlags(PathFlags, RunOptions, total=False):
    sample: str | None

class Scenario:
    def __init__(
        self,
        text: File | None = None,
        *,
        file: File | None = None,
        set: dict[str, Any] | None = None,
        sample: str | None = None,
        **flags: Unpack[PathFlags],
    ) -> None: ...
    @property
    def text(self) -> str: ...
    @property
    def points(self) -> list[dict[str, str]]: ...
    @property
    def swept(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def run(self, **options: Unpack[RunOptions]) -> Results: ...

def run(scenario: Scenario | File, **options: Unpack[RunOptions]) -> Results: ...
def sweep(
    scenario: Scenario | File,
    keys: dict[str, Any] | None = None,
    *,
    engine: Literal["ray"] | None = None,
    seeds: int | None = None,
    **options: Any,
) -> Any: ...
def compare(**flags: Unpack[CompareFlags]) -> Results: ...

class Advice:
    use: str
    score: float
    sentences: list[str]
    table: Table

def advise(
    rate: str | None = None,
    rtt: str | None = None,
    *,
    loss: str | None = None,
    queue: str | None = None,
    neighbours: Algorithm | None = None,
    trace: File | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Advice: ...

class League(Table):
    scores: Table
    runs: Table

def rank(
    controllers: Algorithms | None = None,
    *,
    seeds: int | None = None,
    classes: str | list[str] | None = None,
    only: str | list[str] | None = None,
    points: File | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> League: ...

class Hunted(Table):
    finds: Table
    sentences: list[str]
    evaluations: int

def hunt(
    name: Algorithms | None = None,
    *,
    against: Algorithms | None = None,
    classifier: str | None = None,
    families: str | list[str] | None = None,
    minutes: float | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **limits: int,
) -> Hunted: ...

class Reproduced(Table):
    rows: Table

def reproduce(
    *ids: str,
    threads: int | None = None,
    progress: bool | None = None,
    seeds: int | None = None,
    experiments: File | None = None,
) -> Reproduced: ...
def controllers() -> Table: ...
