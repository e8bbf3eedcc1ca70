"""Scenarios, comparisons, tables."""

import json
import os
import subprocess
import threading
import time
import pickle
import signal

import pytest
import whimbrel

PATH = {"rate": "10 Mbit/s", "rtt": "20 ms", "loss": "1 %", "duration": "5 s"}


def test_a_comparison_has_a_row_for_each_controller_and_seed():
    t = whimbrel.compare(**PATH, controllers=["cubic", "cerl"], seeds=3)
    frame = t.to_pandas()
    assert {"controller", "seed", "goodput_bps"} <= set(frame.columns)
    rows = list(zip(frame["controller"], frame["seed"]))
    assert rows == [(name, seed) for name in ("cubic", "cerl") for seed in (1, 2, 3)]
    assert (frame["goodput_bps"] > 1e5).all()
    means = frame.groupby("controller")["goodput_bps"].mean()
    assert means["cerl"] > means["cubic"]


def test_numbers_do_not_depend_on_threads():
    one = whimbrel.compare(**PATH, controllers=["cubic", "bbr"], seeds=2, threads=1).to_arrow()
    two = whimbrel.compare(**PATH, controllers=["cubic", "bbr"], seeds=2, threads=2).to_arrow()
    assert one.equals(two)


@pytest.mark.skipif("WHIMBREL" not in os.environ, reason="WHIMBREL names the command")
def test_numbers_are_those_of_the_command():
    flags = [f"--{key}={value}" for key, value in PATH.items()]
    command = [os.environ["WHIMBREL"], "compare", *flags, "--controllers=cubic,cerl", "--json"]
    runs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["runs"]
    wanted = [run["flows"][0]["goodput_bps"] for run in runs]
    t = whimbrel.compare(**PATH, controllers=["cubic", "cerl"])
    assert t["goodput_bps"].to_pylist() == wanted


def test_tables_are_read_by_polars_and_arrow_and_say_what_they_mean():
    t = whimbrel.compare(**PATH, controllers="cubic", seeds=1)
    assert t.to_polars()["goodput_bps"][0] == t.to_arrow()["goodput_bps"][0].as_py()
    assert "per second" in t.meanings["goodput_bps"]
    assert len(t) == 1 and t.shape[1] > 50
    assert "utilisation" in t.table("links").column_names
    with pytest.raises(KeyError, match="set `sample`"):
        t.table("samples")
    with pytest.raises(KeyError, match="not a column"):
        t["goodput"]


def test_samples_over_time():
    t = whimbrel.compare(**PATH, controllers="cubic", seeds=1, sample="100 ms")
    samples = t.table("samples").to_pandas()
    assert len(samples) == 50
    assert (samples["cwnd_bytes"] > 0).all()


def test_swept_keys_are_columns():
    t = whimbrel.compare(**PATH | {"loss": ["0 %", "1 %"]}, controllers="cubic", seeds=1)
    assert t["link.L.loss_ratio"].to_pylist() == [0.0, 0.01]


def test_a_scenario_from_text_file_and_arguments_is_the_same(tmp_path):
    made = whimbrel.Scenario(**PATH, controllers="cubic", seeds=2)
    file = tmp_path / "path.toml"
    file.write_text(made.text)
    tables = [
        whimbrel.run(scenario).to_arrow()
        for scenario in (
            made, file, str(file), made.text, whimbrel.Scenario(made.text),
            whimbrel.Scenario(file), pickle.loads(pickle.dumps(made)),
        )
    ]
    assert all(table.equals(tables[0]) for table in tables)
    assert len(made) == 2 and made.swept == ["flow.controller"]


def test_a_sweep_over_keys():
    scenario = whimbrel.Scenario(**PATH, controllers="cubic", seeds=1)
    keys = {"link.L.loss": ["0 %", "2 %"], "flow.controller": ["cerl", "bbr"]}
    t = whimbrel.sweep(scenario, keys, seeds=2)
    assert len(t) == 8
    assert set(t["controller"].to_pylist()) == {"cerl", "bbr"}


def test_a_swept_key_may_have_values_in_several_lines():
    made = whimbrel.Scenario(**PATH, controllers="cubic", seeds=1)
    head, _, _ = made.text.partition("[sweep]")
    text = head + """[sweep]
"flow.controller" = [
    "newreno", # "]" ends nothing here
    "cubic",
]
"link.L.loss" = ["0 %",
    "1 %"]"""
    t = whimbrel.sweep(text, {"flow.controller": ["cerl"], "link.L.loss": ["2 %"]})
    assert t["controller"].to_pylist() == ["cerl"]
    assert t["link.L.loss"].to_pylist() == ["2 %"]
    t = whimbrel.sweep(text, {"link.L.loss": ["2 %"]})
    assert t["controller"].to_pylist() == ["newreno", "cubic"]


def test_errors_name_file_line_and_key():
    with pytest.raises(whimbrel.WhimbrelError, match="did you mean `rate`") as caught:
        whimbrel.Scenario('[link.L]\nrat = "1 Mbit/s"\n[[flow]]\nroute = ["L"]\n')
    assert (caught.value.file, caught.value.line) == ("scenario", 2)
    with pytest.raises(whimbrel.WhimbrelError) as caught:
        whimbrel.compare(rate="fast")
    assert caught.value.key == "rate"
    with pytest.raises(whimbrel.WhimbrelError, match="did you mean `cubic`"):
        whimbrel.compare(controllers="cubik")
    with pytest.raises(whimbrel.WhimbrelError, match="cannot read"):
        whimbrel.run("nowhere.toml")
    with pytest.raises(whimbrel.WhimbrelError, match="`rat`, did you mean `rate`"):
        whimbrel.compare(rat="1 Mbit/s")
    with pytest.raises(whimbrel.WhimbrelError, match="no unit") as caught:
        whimbrel.compare(loss="0.5")
    assert caught.value.key == "loss"
    with pytest.raises(whimbrel.WhimbrelError, match="rate and rtt are needed"):
        whimbrel.advise("5 Mbit/s")
    with pytest.raises(whimbrel.WhimbrelError, match="random loss") as caught:
        whimbrel.rank(classes="Z")
    assert caught.value.key == "classes"


@pytest.fixture
def interruptible():
    """Python's own handler, although a job in the background of a script ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_long_sweep():
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        whimbrel.compare(controllers="cubic", seeds=100_000, progress=False)
    assert time.monotonic() - begin < 30


def test_advice_ranking_and_experiments():
    found = whimbrel.advise("5 Mbit/s", "20 ms")
    assert found.use == found.table["algorithm"][0].as_py()
    assert len(found.sentences) == 3
    league = whimbrel.rank(["newreno", "cerl"], only="a01", seeds=1)
    assert league.column_names == ["algorithm", "all", "A"]
    assert len(league) == 2 and len(league.scores) == 2 and len(league.runs) >= 2
    done = whimbrel.reproduce("emfast/table-1", seeds=1)
    assert done["id"].to_pylist() == ["emfast/table-1"]
    assert {"paper", "measured", "right"} <= set(done.rows.column_names)
    with pytest.raises(whimbrel.WhimbrelError):
        whimbrel.reproduce("cerl/fig-99")


def test_a_hunt_finds_the_weakness_of_an_algorithm_in_python():
    class Idle(whimbrel.Controller):
        """A window of two segments."""

        def on_ack(self, ack):
            self.cwnd = 2 * self.mss

    limits = {"families": "bottleneck", "evaluations": 3, "seeds": 1, "fresh": 2}
    found = whimbrel.hunt(Idle, against="cubic", **limits)
    assert found["family"].to_pylist() == ["bottleneck"]
    assert found["ratio"][0].as_py() < 0.5 and found.evaluations >= 2
    assert len(found.finds) == 1 and "idle" in found.sentences[0]
    with pytest.raises(whimbrel.WhimbrelError, match="did you mean `wifi`"):
        whimbrel.hunt("cubic", families="wify")


def test_the_table_of_algorithms():
    names = whimbrel.controllers()["name"].to_pylist()
    assert "cubic" in names and "whimbrel" in names


@pytest.mark.parametrize(
    "options", [{}, {"loss": ["0 %", "1 %"]}, {"sample": "100 ms", "x": "time"}]
)
def test_charts_have_data(options):
    pytest.importorskip("altair")
    x = options.pop("x", None)
    t = whimbrel.compare(**PATH | options, controllers=["cubic", "cerl"], seeds=2)
    assert t.chart(x=x).to_dict()["datasets"]


def test_a_chart_over_time_has_a_line_for_each_run():
    pytest.importorskip("altair")
    swept = PATH | {"loss": ["0 %", "1 %"], "sample": "500 ms"}
    t = whimbrel.compare(**swept, controllers=["cubic", "cerl"], seeds=1)
    made = t.chart(x="time").to_dict()
    assert made["encoding"]["detail"]["field"] == "line"
    [data] = made["datasets"].values()
    assert len({point["line"] for point in data}) == 4
