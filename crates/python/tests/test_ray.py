"""Sweeps on Ray."""

import json
import pathlib
import subprocess
import sys
import time

import pytest
import whimbrel

ray = pytest.importorskip("ray")
pytest.importorskip("pyarrow")
psutil = pytest.importorskip("psutil")
from whimbrel import ray as on_ray

SCENARIO = whimbrel.Scenario(
    rate="5 Mbit/s", rtt="20 ms", loss=["0 %", "1 %"], controllers=["cubic", "cerl"],
    duration="5 s", seeds=100,
)


@pytest.fixture(scope="module")
def cluster():
    on_ray.start(workers=2)
    yield
    ray.shutdown()


def test_the_bits_are_those_of_one_machine(cluster, tmp_path):
    here = whimbrel.run(SCENARIO, progress=False).to_arrow().replace_schema_metadata(None)
    there = whimbrel.sweep(SCENARIO, engine="ray", storage=tmp_path, part=10)
    assert there.num_rows == 400
    assert there.cast(here.schema).equals(here)


def test_a_cluster_that_starts_here_listens_on_loopback_only(cluster):
    own = psutil.Process()
    sockets = [
        socket
        for process in [own, *own.children(recursive=True)]
        for socket in process.net_connections(kind="inet")
        if socket.status == psutil.CONN_LISTEN
    ]
    assert len(sockets) > 3
    assert {socket.laddr.ip.removeprefix("::ffff:") for socket in sockets} == {"127.0.0.1"}


def test_an_interrupted_sweep_goes_on_where_it_stopped(cluster, tmp_path):
    whimbrel.sweep(SCENARIO, engine="ray", storage=tmp_path, part=100)
    kept = sorted(tmp_path.glob("part-*.parquet"))
    kept[1].unlink()
    times = {file: file.stat().st_mtime_ns for file in kept if file.exists()}
    table = whimbrel.sweep(SCENARIO, engine="ray", storage=tmp_path, part=100)
    assert table["run"].to_pylist() == list(range(400))
    assert all(file.stat().st_mtime_ns == when for file, when in times.items())
    with pytest.raises(whimbrel.WhimbrelError, match="another sweep"):
        whimbrel.sweep(SCENARIO, engine="ray", storage=tmp_path, part=50)


def test_workers_killed_at_random_change_no_bit_and_nothing_counts_twice(tmp_path):
    script = pathlib.Path(__file__).with_name("kill_workers.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    # Of each sweep, in as many sweeps as the kills took.
    expected = {"killed": 10, "parts": [40], "runs": [True], "left_over": [0], "same_bits": [True]}
    assert found == expected


def test_a_cluster_that_does_not_answer_is_an_error(monkeypatch):
    ray.shutdown()
    monkeypatch.setattr(on_ray, "START", 0)
    # A Ray that hangs.
    monkeypatch.setattr(ray, "init", lambda **_: time.sleep(5))
    with pytest.raises(whimbrel.WhimbrelError, match="did not start within 0 s"):
        on_ray.start()


def test_a_worker_of_another_version_is_refused(tmp_path):
    state = SCENARIO.__getstate__()
    with pytest.raises(whimbrel.WhimbrelError, match="another version of whimbrel"):
        on_ray._play(state, "other", "flows", 0, 1, str(tmp_path))
    assert not list(tmp_path.iterdir())
