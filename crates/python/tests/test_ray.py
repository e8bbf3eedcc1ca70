"""Sweeps on Ray."""

import pytest
import whimbrel

ray = pytest.importorskip("ray")

SCENARIO = whimbrel.Scenario(
    rate="5 Mbit/s", rtt="20 ms", loss=["0 %", "1 %"], controllers=["cubic", "cerl"],
    duration="5 s", seeds=100,
)


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
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
