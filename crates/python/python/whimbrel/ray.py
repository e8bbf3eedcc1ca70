"""Sweeps on a Ray cluster.

The runs of a scenario are cut into parts. A task plays a part and writes it as a Parquet file on
storage that all machines share, under its final name only when it is complete. A part whose worker
is lost is played again; a part whose file is there is not, so an interrupted sweep goes on where it
stopped, and nothing counts twice. A run depends on its seed alone: the bits are those of one
machine.
"""

import hashlib
import os
import pathlib
import sys
import uuid

from . import Scenario, Table, WhimbrelError, __version__
from ._progress import Bar
from ._table import _need

#: How often a part is tried whose worker was lost.
RETRIES = 20
#: Names of files that are being written begin so.
UNFINISHED = ".unfinished-"


def sweep(scenario, *, storage=None, table="flows", part=None, progress=None, address=None):
    """Plays a scenario on Ray.

    Args:
        storage: a folder that all machines share; the parts stay there. Default: a folder below
            the system's temporary one, for a cluster of one machine.
        table: the table to keep, one of `Results.table`.
        part: runs of one task; default: so that there are about 200 tasks, of at most 2000 runs.
        address: of the cluster; default: the one that Ray finds, else a new one on this machine.

    Returns:
        pyarrow.Table: the rows of ``whimbrel.run(scenario).table(table)``, in the same order.

    Raises:
        WhimbrelError: if the folder has another sweep's parts.
    """
    ray = _need("ray", 'engine="ray"')
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False)
    runs = len(scenario)
    part = part or max(1, min(2000, -(-runs // 200)))
    folder = _folder(scenario, storage, table, part)
    parts = {folder / f"part-{first:09}.parquet": first for first in range(0, runs, part)}
    missing = {file: first for file, first in parts.items() if not file.exists()}
    own = ray.put(scenario)
    play = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(_play)
    waiting = [play.remote(own, table, first, part, str(file)) for file, first in missing.items()]
    done = (len(parts) - len(missing)) * part
    with Bar(progress) as bar:
        while waiting:
            finished, waiting = ray.wait(waiting, num_returns=1, timeout=1)
            ray.get(finished)
            done += part * len(finished)
            if bar:
                bar("runs", min(done, runs), runs)
    # What workers left that were lost while they wrote.
    for file in folder.glob(f"{UNFINISHED}*"):
        file.unlink(missing_ok=True)
    return read(parts)


def _play(scenario, table, first, count, file):
    """The task: plays a part on one thread, and writes it. Two tasks may play the same part: both
    write the same bytes, each under a name of its own, and one name is the part's."""
    if os.path.exists(file):
        return
    parquet = _need("pyarrow.parquet", 'engine="ray"')
    tables = scenario._native.run([table], first=first, count=count, threads=1)
    hidden = f"{os.path.dirname(file)}/{UNFINISHED}{uuid.uuid4().hex}"
    try:
        parquet.write_table(Table(tables[table]).to_arrow(), hidden)
        os.replace(hidden, file)
    finally:
        if os.path.exists(hidden):
            os.remove(hidden)


def read(files):
    """Parts as one `pyarrow.Table`, in the order of the runs."""
    arrow, parquet = _need("pyarrow", "engine=\"ray\""), _need("pyarrow.parquet", "engine=\"ray\"")
    tables = [parquet.read_table(file, partitioning=None) for file in sorted(files)]
    return arrow.concat_tables(table.replace_schema_metadata(None) for table in tables)


def _folder(scenario, storage, table, part):
    """The folder of the parts. A file says which sweep it is of."""
    settings = scenario.__getstate__()
    text = repr((__version__, settings[0], settings[2], table, part))
    key = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    if storage is None:
        import tempfile

        storage = pathlib.Path(tempfile.gettempdir()) / f"whimbrel-{os.getuid()}" / key
    folder = pathlib.Path(storage)
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "sweep"
    if mark.exists() and mark.read_text() != key:
        raise WhimbrelError(
            f"{folder} has the parts of another sweep; name an empty folder", str(folder)
        )
    mark.write_text(key)
    return folder.absolute()


def main(words=None):
    """``python -m whimbrel.ray``: a sweep from the command line."""
    import argparse

    about = "Plays a scenario on a Ray cluster and writes one Parquet file."
    parser = argparse.ArgumentParser("python -m whimbrel.ray", description=about)
    parser.add_argument("scenario", help="the scenario file")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--table", default="flows")
    parser.add_argument("--out", required=True, metavar="FILE.parquet")
    parser.add_argument("--storage", metavar="DIR", help="a folder that all machines share")
    parser.add_argument("--address", help="of the cluster; default: the one that Ray finds")
    args = parser.parse_args(words)
    try:
        settings = dict(one.split("=", 1) for one in args.set)
    except ValueError:
        parser.error("--set must be written KEY=VALUE")
    if args.seeds is not None:
        settings["run.seeds"] = args.seeds
    try:
        table = sweep(
            Scenario(file=args.scenario, set=settings),
            storage=args.storage,
            table=args.table,
            address=args.address,
        )
    except (ImportError, WhimbrelError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    _need("pyarrow.parquet", "--out").write_table(table, args.out)
    print(f"{table.num_rows} rows in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
