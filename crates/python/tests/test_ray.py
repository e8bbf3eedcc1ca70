"""Sweeps on Ray."""

import json
import pathlib
import subprocess
import sys

import pytest
import whimbrel

ray = pytest.importorskip("ray")
pytest.importorskip("pyarrow")

SCENARIO = whimbrel.Scenario(
    rate="5 Mbit/s", rtt="20 ms", loss=["0 %", "1 %"], controllers=["cubic", "cerl"],
    duration="5 s", seeds=100,
)


@pytest.fixture(scope="module")
def cluster():
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1"
    )
    yield
    ray.shutdown()


def test_the_bits_are_those_of_one_machine(cluster, tmp_path):
    here = whimbrel.run(SCENARIO, progress=False).to_arrow().replace_schema_metadata(None)
    there = whimbrel.sweep(SCENARIO, engine="ray", storage=tmp_path, part=10)
    assert there.num_rows == 400
    assert there.cast(here.schema).equals(here)


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
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    expected = {"killed": 10, "parts": 40, "runs": True, "left_over": 0, "same_bits": True}
    assert found == expected
