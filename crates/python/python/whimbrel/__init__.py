"""Whimbrel: congestion control in simulation.

    >>> import whimbrel
    >>> t = whimbrel.compare(rate="50 Mbit/s", rtt="100 ms", loss="1 %",
    ...                      controllers=["cubic", "cerl"], seeds=3)
    >>> t.to_pandas()[["controller", "seed", "goodput_bps"]]

Quantities are texts with units, as on the command line: "50 Mbit/s", "100 ms", "1 %", "64 kB".
A list of values sweeps. Every function gives the numbers that the command of its name gives.

All functions take ``threads`` (default: all cores; does not change the results) and ``progress``
(default: a bar in a notebook or a terminal, if tqdm is installed). They release the GIL and stop at
Ctrl-C. What is wrong with the input is a `WhimbrelError`.
"""

import json as _json
import os as _os
import re as _re

from . import _whimbrel
from ._errors import WhimbrelError
from ._progress import Bar as _Bar
from ._table import Results, Table
from ._whimbrel import __version__
from .controller import Ack, Controller, Loss, Setup, Timeout, register
from .controller import controller_name as _controller_name

__all__ = [
    "Ack",
    "Advice",
    "Controller",
    "Hunted",
    "League",
    "Loss",
    "Reproduced",
    "Results",
    "Scenario",
    "Setup",
    "Table",
    "Timeout",
    "WhimbrelError",
    "__version__",
    "advise",
    "compare",
    "controllers",
    "hunt",
    "rank",
    "register",
    "reproduce",
    "run",
    "sweep",
]

#: The algorithms that `rank` scores by default.
_USUAL = _whimbrel.USUAL
#: The algorithms that `hunt` compares with by default.
_USUAL_AGAINST = _whimbrel.USUAL_AGAINST
_TABLES = ["flows", "runs", "paths", "streams", "links", "destinations"]
_SAMPLED = ["samples", "link-samples", "destination-samples", "episodes"]


class Scenario:
    """A path with flows: from a text, a file, or keyword arguments.

        Scenario("[link.L]\n...")               # the text of a scenario file
        Scenario("path.toml")                   # its path: a text of one line, or a path object
        Scenario(file="path.toml")
        Scenario(rate="50 Mbit/s", rtt="100 ms", loss=["0 %", "1 %"], controllers=["cubic"])

    The keyword arguments are those of `compare`: ``rate`` or ``rate_trace``, ``back_trace``,
    ``rtt``, ``queue``, ``loss``, ``controllers``, ``neighbours``, ``streams``, ``messages`` (each one value or a list),
    ``flows``, ``duration``, ``seeds``, ``recovery``, ``transport``. docs/reference/scenario-keys.md lists the
    keys of files.

    Args:
        text: the text of a scenario file, or its path.
        file: the path of a scenario file.
        set: a dict of keys and values that override the file: ``{"link.L.loss": "2 %"}``.
        sample: record time series at this interval, e.g. "100 ms".

    Attributes:
        text: its text.
        points: a dict of swept keys and values, as written, for each combination.

    Raises:
        WhimbrelError: with file, line and key.
    """

    def __init__(self, text=None, *, file=None, set=None, sample=None, **flags):
        if (text is not None) + (file is not None) + bool(flags) > 1:
            raise TypeError("give one of: a text, a file, keyword arguments")
        settings = [f"{key}={_value(value)}" for key, value in (set or {}).items()]
        if sample is not None:
            settings.append(f"run.sample={sample}")
        if text is not None and not _is_text(text):
            text, file = None, text
        if file is not None:
            path = _os.fspath(file)
            try:
                with open(path, encoding="utf-8") as opened:
                    text = opened.read()
            except OSError as error:
                raise WhimbrelError(f"cannot read {path}: {error.strerror}", path) from None
        elif text is not None:
            path = "scenario"
        else:
            native = _whimbrel.NativeScenario.of_comparison(_texts(flags))
            if not settings:
                self._native = native
                return
            text, path = native.text, str(native.path)
        self._native = _whimbrel.NativeScenario.read(text, path, settings)

    def __getstate__(self):
        native = self._native
        return native.text, str(native.path), native.settings

    def __setstate__(self, state):
        self._native = _whimbrel.NativeScenario.read(*state)

    @property
    def text(self):
        """Its text, a scenario file; `set` and `sample` are not in it."""
        return self._native.text

    @property
    def points(self):
        """The combinations of the sweep: a list of dicts of key to value, both text."""
        return self._native.points

    @property
    def swept(self):
        """The swept keys, in the order of the file."""
        keys = [key for point in self.points[:1] for key in point]
        places = {key: self.text.find(key) for key in keys}
        return sorted(keys, key=places.get)

    def __len__(self):
        """Number of runs: points times seeds."""
        return len(self._native)

    def __repr__(self):
        return f"<whimbrel.Scenario: {len(self.points)} points, {len(self)} runs>"

    def run(self, **options):
        """`run` of this scenario."""
        return run(self, **options)


def run(scenario, *, threads=None, progress=None, tables=None):
    """Plays every combination of a scenario's sweep with every seed, as ``whimbrel sim``.

    Args:
        scenario: a `Scenario`, or what `Scenario` takes: a text or the path of a scenario file.
        tables: which tables to keep; by default all.

    Returns:
        Results: a row for each flow of each run, in the order of points and seeds.
    """
    scenario = _scenario(scenario)
    native = scenario._native
    if tables is None:
        tables = _TABLES + (_SAMPLED if native.sampled else [])
    wanted = list(dict.fromkeys(["flows", *tables]))
    with _Bar(progress) as bar:
        return Results(native.run(wanted, threads=threads, progress=bar), scenario)


def sweep(scenario, keys=None, *, engine=None, seeds=None, **options):
    """Plays a scenario over the values of keys.

        sweep("path.toml", {"link.L.loss": ["0 %", "1 %"], "flow.controller": ["cubic", "cerl"]})

    Args:
        scenario: as of `run`.
        keys: a dict of keys and lists of values; every combination is played. They come before
            the keys of the scenario's own sweep, and replace those of the same names.
        engine: None for the threads of this process, "ray" for a Ray cluster.
        seeds: number of runs of each combination.
        options: those of `run`; with Ray those of `whimbrel.ray.sweep`.

    Returns:
        Results; with Ray a `pyarrow.Table` with the same rows.
    """
    scenario = _scenario(scenario)
    if keys or seeds is not None:
        native = scenario._native
        settings = list(native.settings)
        if seeds is not None:
            settings.append(f"run.seeds={seeds}")
        text = _swept(native.text, keys or {})
        scenario = Scenario.__new__(Scenario)
        scenario._native = _whimbrel.NativeScenario.read(text, str(native.path), settings)
    if engine is None:
        return run(scenario, **options)
    if engine == "ray":
        from . import ray

        return ray.sweep(scenario, **options)
    raise WhimbrelError(f"unknown engine {engine!r}: None or \"ray\"", key="engine")


def compare(*, threads=None, progress=None, tables=None, sample=None, **flags):
    """Compares algorithms on a path, as ``whimbrel compare``. Each run has flows of one algorithm.

    Args:
        rate: of the bottleneck; default "50 Mbit/s".
        rtt: base RTT, without queueing; default "100 ms".
        queue: buffer: "1 bdp" (rate x RTT, the default), "50 packets", "64 kB".
        loss: random loss of data packets; default "1 %", with rate_trace "0 %".
        controllers: names, as ``whimbrel controllers`` lists them, or subclasses of `Controller`.
        flows: number of concurrent flows; default 1.
        duration: in simulated time; default "30 s".
        seeds: number of runs of each combination, all of which are played; default 3.
        rate_trace, back_trace, neighbours, streams, messages, recovery, transport: as
            ``whimbrel compare --help`` says.
        sample: record time series at this interval.

    Returns:
        Results: a row for each controller, seed (and flow, and combination), with `controller`,
        `seed`, `goodput_bps` (bit/s) and about 70 more columns.
    """
    scenario = Scenario(sample=sample, **flags)
    return run(scenario, threads=threads, progress=progress, tables=tables)


class Advice:
    """What `advise` found.

    Attributes:
        use: the name of the best algorithm.
        score: its score, from 0 to 1.
        sentences: the advice in three sentences.
        table: a row for each candidate, best first: algorithm, score, goodput_bps, queue_ms, lost
            (fraction), share (beside the neighbours, of a fair share), neighbours_keep (fraction),
            file_seconds (None without size), carriers.
    """

    def __init__(self, text, table):
        found = _json.loads(text)
        self.use = found["use"]
        self.score = found["score"]
        self.sentences = found["sentences"]
        self.table = Table(table)

    def __repr__(self):
        return "\n".join(self.sentences)


def advise(rate=None, rtt=None, *, trace=None, threads=None, progress=None, **flags):
    """Which algorithm to use on a path, measured by simulation, as ``whimbrel advise``.

    Args:
        rate: of the bottleneck, e.g. "200 Mbit/s".
        rtt: base RTT, e.g. "45 ms".
        loss: random loss of data packets; default "0 %".
        queue: buffer; default "1 bdp".
        neighbours: the algorithm of the flows that share the path; default "cubic".
        trace: instead of the rate, a file with a recorded rate in mahimahi's format.
        size: also simulate how long a file of this size takes, e.g. "1 GB".

    Returns:
        Advice
    """
    arguments = _texts({"rate": rate, "rtt": rtt, "rate_trace": trace, **flags})
    with _Bar(progress) as bar:
        return Advice(*_whimbrel.advise(arguments, threads, bar))


class League(Table):
    """Scores on the matrix: a row for each algorithm, best first, with ``algorithm``, ``all``
    and a column for each class (``A`` to ``G``), from 0 to 1.

    Attributes:
        scores: a row for each algorithm and point: algorithm, point, seed_count, score, low, high.
        runs: a row for each run, with all that was measured.
    """

    def __init__(self, standings, scores, runs):
        super().__init__(standings)
        self.scores = Table(scores)
        self.runs = Table(runs)


def rank(controllers=None, *, seeds=None, classes=None, only=None, points=None, threads=None,
         progress=None):
    """Scores algorithms on a matrix of paths, as ``whimbrel rank``. Nothing is stored.

    Args:
        controllers: names or subclasses of `Controller`; "all" for all.
        seeds: runs of each algorithm at each point; default 5.
        classes: only points of these classes, e.g. ["A", "D"].
        only: only points whose names begin with one of these words.
        points: a folder of points of your own.

    Returns:
        League
    """
    controllers = _USUAL if controllers is None else controllers
    names = [_list(values) for values in (controllers, classes, only)]
    with _Bar(progress) as bar:
        return League(*_whimbrel.rank(names[0], seeds, names[1], names[2], points, threads, bar))


class Hunted(Table):
    """What `hunt` found: a row for each family of paths, the worst first, with ``family``, ``path``,
    ``evaluations``, ``searched`` (the ratio in the search), ``ratio``, ``low``, ``high`` (with fresh
    seeds) and ``seed_count``.

    Attributes:
        finds: a row for each path that was made simpler, with ``point``, ``path``, ``scenario``
            (the text of its file) and the ratio.
        sentences: two sentences on each of them.
        evaluations: number of paths that were tried.
    """

    def __init__(self, text, families, finds):
        super().__init__(families)
        found = _json.loads(text)
        self.finds = Table(finds)
        self.sentences = [sentence for find in found["finds"] for sentence in find["sentences"]]
        self.evaluations = found["evaluations"]


def hunt(name=None, *, against=None, classifier=None, families=None, minutes=None, threads=None,
         progress=None, **limits):
    """Searches for the path on which an algorithm does worst, as ``whimbrel hunt``.

    Args:
        name: an algorithm, or a subclass of `Controller`.
        against: the algorithms of which the best is the measure; default BBR, CUBIC and Copa.
        classifier: instead of a name, a loss classifier, whose wrong decisions are hunted.
        families: only these families of paths.
        evaluations: number of paths to try; default 600.
        seed: decides which paths are tried; default 1.
        seeds: runs of each path in the search; default 2.
        fresh: runs of what is confirmed, with seeds of their own; default 5.
        finds: number of families of which the worst path is made simpler; default 1.
        minutes: ends the search; then the result depends on the machine.

    Returns:
        Hunted
    """
    unknown = set(limits) - {"evaluations", "seed", "seeds", "fresh", "finds"}
    if unknown:
        raise TypeError(f"hunt() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    against = _USUAL_AGAINST if against is None else against
    # A class is registered under its name.
    name = None if name is None else _list(name)[0]
    with _Bar(progress) as bar:
        return Hunted(*_whimbrel.hunt(name, classifier, _list(against), _list(families), limits,
                                      minutes, threads, bar))


class Reproduced(Table):
    """Experiments: a row for each, with ``id``, ``paper``, ``claim``, ``verdict``, ``reason``.

    Attributes:
        rows: a row for each number: id, label, unit, paper (the paper's number), measured,
            measured_stddev, difference, right.
    """

    def __init__(self, experiments, rows):
        super().__init__(experiments)
        self.rows = Table(rows)


def reproduce(*ids, threads=None, progress=None, seeds=None, experiments=None):
    """Repeats the papers' experiments, as ``whimbrel reproduce``. Nothing is stored.

    Args:
        ids: ids such as "cerl/fig-3.5", or the words that ids begin with.
        seeds: number of runs of each combination; overrides the experiment.
        experiments: a folder of experiments of your own.

    Returns:
        Reproduced
    """
    with _Bar(progress) as bar:
        return Reproduced(*_whimbrel.reproduce(list(ids), seeds, experiments, threads, bar))


def controllers():
    """The algorithms: a `Table` with name, family, summary, citation, transport, parameters."""
    return Table(_whimbrel.controllers())


def _scenario(what):
    return what if isinstance(what, Scenario) else Scenario(what)


def _is_text(what):
    """Whether it is the text of a scenario; a path has one line."""
    return isinstance(what, str) and "\n" in what


def _name(value):
    """A value of an argument as text; a class of an algorithm is registered, and is its name."""
    if isinstance(value, type):
        register(value)
        return _controller_name(value)
    return _os.fspath(value) if isinstance(value, _os.PathLike) else str(value)


def _without(text, key):
    """A TOML text without this key, whose value may have several lines."""
    begin = _re.search(rf'^[ \t]*"?{_re.escape(key)}"?\s*=', text, flags=_re.M)
    if begin is None:
        return text
    depth, quote, at = 0, "", begin.end()
    while at < len(text) and (depth > 0 or text[at] != "\n"):
        sign = text[at]
        if quote:
            # A character behind a backslash ends no text.
            at += sign == "\\" and quote == '"'
            quote = "" if sign == quote else quote
        elif sign == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        elif sign in "\"'":
            quote = sign
        else:
            depth += (sign in "[{") - (sign in "]}")
        at += 1
    return text[: begin.start()] + text[at + 1 :]


def _swept(text, keys):
    """The text of a scenario with these keys in its sweep."""
    lines = []
    for key, values in keys.items():
        values = [values] if isinstance(values, str) else list(values)
        values = [_name(value) if isinstance(value, type) else value for value in values]
        text = _without(text, key)
        lines.append(f'"{key}" = {_json.dumps(values)}\n')
    if not lines:
        return text
    head = _re.search(r"^\s*\[sweep\][^\n]*\n?", text, flags=_re.M)
    if head is None:
        return text.rstrip("\n") + "\n\n[sweep]\n" + "".join(lines)
    return text[: head.end()] + "".join(lines) + text[head.end() :]


def _list(values):
    """Texts: of one value, of values separated by commas, or of a list of values."""
    if values is None:
        return []
    values = values if isinstance(values, (list, tuple)) else [values]
    return [one.strip() for value in values for one in _name(value).split(",")]


def _texts(flags):
    """Keyword arguments as lists of texts."""
    # A comma separates values, but in the name of a file.
    read = dict.fromkeys(["rate_trace", "back_trace"], lambda file: [_name(file)])
    given = {name: value for name, value in flags.items() if value is not None}
    return {name: read.get(name, _list)(value) for name, value in given.items()}


def _value(value):
    """A value of a setting: TOML if it is no text."""
    return value if isinstance(value, str) else _json.dumps(value)
