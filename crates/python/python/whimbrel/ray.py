"""Sweeps on a Ray cluster.

The runs of a scenario are cut into parts. A task plays a part and writes it as a file on storage
that all machines share, under its final name only when it is complete. A part whose worker is lost
is played again; a part whose file is there is not. So an interrupted sweep goes on where it
stopped, and nothing counts twice. A run depends on its seed alone: the bits are those of one machine.
"""

import contextlib
import functools
import os
import pathlib
import threading
import time
import uuid

from . import Scenario, Table, WhimbrelError, _whimbrel
from ._optional import need
from ._progress import Bar

#: How often a part is tried whose worker was lost.
RETRIES = 20
#: Names of files that are being written begin so.
UNFINISHED = ".unfinished-"
#: How long a cluster may take to start, or its first worker to answer, seconds.
START = 300


def sweep(scenario, *, storage=None, table="flows", part=None, progress=None, address=None):
    """Plays a scenario on Ray.

    Args:
        storage: a folder that all machines share; the parts stay there. Default: a folder below
            the system's temporary one, for a cluster of one machine.
        table: the table to keep, one of `Results.table`.
        part: runs of one task; default: so that there are about 200 tasks, of at most 2000 runs.
        address: of a running cluster, "HOST:PORT" or "auto"; default: the cluster that `ray.init`
            has connected to, else that of the variable RAY_ADDRESS, else a new one on this machine,
            on loopback only.

    Returns:
        pyarrow.Table: the rows of ``whimbrel.run(scenario).table(table)``, in the same order.

    Raises:
        WhimbrelError: if the folder has another sweep's parts, if the cluster does not start within
            five minutes, or if its machines have another version of whimbrel or another folder.
    """
    start(address)
    runs = len(scenario)
    part = part or max(1, min(2000, -(-runs // 200)))
    key = scenario._native.key(table, part)
    folder = _folder(storage, key)
    parts = [_file(folder, first) for first in range(0, runs, part)]
    missing = [number for number, file in enumerate(parts) if not file.exists()]
    with Bar(progress) as bar:

        def done(count):
            if bar:
                bar("runs", count, runs)

        _play_parts(scenario, folder, table, part, missing, done)
    return read(parts)


def start(address=None, workers=None):
    """Connects to a cluster, or starts one on this machine if there is no address.

    Args:
        workers: of a new cluster; default: one for each core.

    Raises:
        WhimbrelError: if it takes longer than `START` seconds.
    """
    ray = need("ray", 'engine="ray"')
    if ray.is_initialized():
        return
    address = address or os.environ.get("RAY_ADDRESS")
    if address in (None, "", "local"):
        # Nobody else is to see this cluster; nor is it to report to anybody.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options = {
            "address": "local",
            "num_cpus": workers,
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
    else:
        options = {"address": address}
    failure, ready = [], threading.Event()

    def init():
        try:
            with _loopback() if options["address"] == "local" else contextlib.nullcontext():
                ray.init(log_to_driver=False, **options)
        except BaseException as error:
            failure.append(error)
        ready.set()
        # The kernel ends the processes of the cluster when the thread that started them ends.
        threading.Event().wait()

    # Ray's own waits have no common bound.
    threading.Thread(target=init, daemon=True).start()
    end = time.monotonic() + START
    while not ready.wait(1) and time.monotonic() < end:
        pass
    where = "Ray" if options["address"] == "local" else f"the Ray cluster {address}"
    if not ready.is_set():
        raise WhimbrelError(
            f"{where} did not start within {START} s; its logs are in /tmp/ray/session_latest/logs"
        )
    if failure:
        raise WhimbrelError(f"{where} cannot be used: {failure[0]}") from failure[0]


@contextlib.contextmanager
def _loopback():
    """A cluster that starts here listens on loopback only. Ray has a switch for that, which is off
    on Linux: else it listens on all interfaces, whatever address it is given."""
    from ray._private import ray_constants

    name = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    before, switch = os.environ.get(name), ray_constants.ENABLE_RAY_CLUSTER
    # For this process, which has read the variable, and for those that it starts.
    ray_constants.ENABLE_RAY_CLUSTER = False
    os.environ[name] = "0"
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = switch
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def _play_parts(scenario, folder, table, size, missing, done):
    """Plays parts of a sweep on the cluster of `start`.

    Args:
        missing: numbers of the parts to play; the part N begins with the run N times `size`.
        done: called with the number of runs that are done, the other parts' included.

    Raises:
        WhimbrelError: as `sweep`.
    """
    ray = need("ray", 'engine="ray"')
    if not missing:
        return
    text, path, settings = scenario.__getstate__()
    # Workers have other current folders.
    own = ray.put((text, os.path.abspath(path), settings))
    _check_worker(ray)
    task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(_play)
    waiting = {
        task.remote(own, _whimbrel.SOURCE, table, number * size, size, str(folder)): number
        for number in missing
    }
    runs = len(scenario)
    lengths = {number: min(size, runs - number * size) for number in missing}
    count = runs - sum(lengths.values())
    try:
        while waiting:
            finished, _ = ray.wait(list(waiting), num_returns=1, timeout=1)
            for one in finished:
                ray.get(one)
                number = waiting.pop(one)
                if not _file(folder, number * size).exists():
                    raise WhimbrelError(
                        f"a worker wrote a part to {folder}, and it is not there: name a folder "
                        "that all machines share", str(folder)
                    )
                count += lengths[number]
                done(count)
    except (ray.exceptions.RayError, OSError) as error:
        raise WhimbrelError(_cause(error)) from error
    finally:
        for one in waiting:
            ray.cancel(one, force=True)
        # What workers left that were lost while they wrote.
        for file in folder.glob(f"{UNFINISHED}*"):
            file.unlink(missing_ok=True)


def _check_worker(ray):
    """Waits until a worker answers, and compares its version."""
    try:
        answer = ray.remote(num_cpus=1, max_retries=RETRIES)(_source).remote()
        end = time.monotonic() + START
        while not ray.wait([answer], timeout=1)[0]:
            if time.monotonic() > end:
                ray.cancel(answer, force=True)
                raise WhimbrelError(
                    f"no worker of the Ray cluster answered within {START} s: it has no free "
                    "processor, or its workers do not start (/tmp/ray/session_latest/logs)"
                )
        source = ray.get(answer)
    except ray.exceptions.RayError as error:
        raise WhimbrelError(_cause(error)) from error
    _check_source(source, _whimbrel.SOURCE)


def _source():
    return _whimbrel.SOURCE


def _check_source(worker, driver):
    if worker != driver:
        raise WhimbrelError(
            "a worker of the Ray cluster has another version of whimbrel, so its runs could "
            "differ: install the same wheel on all machines"
        )


def _cause(error):
    """An error of Ray as a sentence."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, WhimbrelError):
        return str(cause)
    if "No module named" in str(cause):
        return (
            f"a worker of the Ray cluster lacks a package ({cause}): install the wheel of "
            "whimbrel with pyarrow on all machines"
        )
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return f"a part cannot be played on the Ray cluster: {lines[-1] if lines else type(cause)}"


def _play(state, source, table, first, count, folder):
    """The task: plays a part on one thread, and writes it. Two tasks may play the same part: both
    write the same runs, each under a name of its own, and one name is the part's."""
    _check_source(_whimbrel.SOURCE, source)
    file = _file(folder, first)
    if file.exists():
        return
    native = _read(state[0], state[1], tuple(state[2]))
    hidden = file.with_name(f"{UNFINISHED}{uuid.uuid4().hex}")
    try:
        parquet = need("pyarrow.parquet", 'engine="ray"')
        tables = native.run([table], first=first, count=count, threads=1)
        parquet.write_table(Table(tables[table]).to_arrow(), hidden)
        os.replace(hidden, file)
    finally:
        hidden.unlink(missing_ok=True)


@functools.lru_cache(maxsize=1)
def _read(text, path, settings):
    """The scenario; a worker plays many parts of the same one."""
    return _whimbrel.NativeScenario.read(text, path, list(settings))


def _file(folder, first):
    """The file of the part that begins with the run `first`."""
    return pathlib.Path(folder) / f"part-{first:09}.parquet"


def read(files):
    """Parts as one `pyarrow.Table`, in the order of the runs."""
    arrow, parquet = need("pyarrow", "engine=\"ray\""), need("pyarrow.parquet", "engine=\"ray\"")
    tables = [parquet.read_table(file, partitioning=None) for file in sorted(files)]
    return arrow.concat_tables(table.replace_schema_metadata(None) for table in tables)


def _folder(storage, key):
    """The folder of the parts. A file says which sweep it is of."""
    if storage is None:
        import tempfile

        storage = pathlib.Path(tempfile.gettempdir()) / f"whimbrel-{os.getuid()}" / key[:16]
    folder = pathlib.Path(storage).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "sweep"
    if mark.exists() and mark.read_text() != key:
        raise WhimbrelError(
            f"{folder} has the parts of another sweep, or of another version of whimbrel; name an "
            "empty folder", str(folder)
        )
    mark.write_text(key)
    return folder
