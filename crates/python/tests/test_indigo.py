"""Indigo's network in PyTorch, against the scores that the Rust test expects."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[3]
DATA = ROOT / "crates/cc/data/indigo"


def test_pytorch_gives_the_scores_that_the_rust_test_expects():
    torch = pytest.importorskip("torch")
    np = pytest.importorskip("numpy")
    pytest.importorskip("gymnasium")
    spec = importlib.util.spec_from_file_location("train", ROOT / "train/indigo.py")
    train = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(train)
    lstm, head = train.plain(train.read(DATA / "weights.f32"))
    rows = np.loadtxt(DATA / "vectors.txt", dtype=np.float32)
    assert rows.shape == (200, train.INPUTS + train.ACTIONS)
    inputs, expected = np.split(rows, [train.INPUTS], axis=1)
    with torch.no_grad():
        scores = head(lstm(torch.from_numpy(inputs.copy())[:, None])[0])[:, 0].numpy()
    assert (np.abs(scores - expected) <= 1e-5 * np.maximum(1, np.abs(expected))).all()


def test_indigo_fills_a_path_with_a_short_queue():
    import whimbrel

    table = whimbrel.compare(
        rate="50 Mbit/s", rtt="100 ms", loss=["0 %", "1 %"], controllers=["indigo"], seeds=1,
        progress=False,
    )
    goodput = [row["goodput_bps"] for row in table.to_arrow().to_pylist()]
    assert all(value > 0.85 * 50e6 for value in goodput), goodput
