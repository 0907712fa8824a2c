"""Memory of commands on many classes, in units of the matrix of probabilities in double precision."""

import tracemalloc

import numpy as np
import pytest

from calibrant.cli import main

ROWS, CLASSES = 6000, 1000
MATRIX = ROWS * CLASSES * 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    rng = np.random.default_rng(0)
    probs = np.exp(2 * rng.standard_normal((ROWS, CLASSES), dtype=np.float32))
    probs /= probs.sum(axis=1, keepdims=True)
    labels = (probs.cumsum(axis=1) < rng.random((ROWS, 1))).sum(axis=1).clip(max=CLASSES - 1)
    np.savez(folder / "a.npz", probs=probs, labels=labels)
    assert main(["fit", str(folder / "a.npz"), "--out", str(folder / "ts.json")]) == 0
    return folder


@pytest.mark.parametrize(
    ("command", "most"),
    [
        (("fit", "--out", "other.json"), 3.0),
        (("apply", "--calibrator", "ts.json", "--out", "b.npz"), 2.5),
        (("test", "--test", "skce-block"), 3.0),
    ],
)
def test_few_copies_of_the_matrix_are_held_at_a_time(command, most, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    tracemalloc.start()
    try:
        assert main([command[0], "a.npz", *command[1:], "--quiet"]) == 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * MATRIX
