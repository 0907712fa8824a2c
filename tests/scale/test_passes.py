"""Scaling by passes over files: the fit to the rows, to 1e-6, from every engine."""

from functools import reduce
from operator import add

import numpy as np
import polars as pl
import pytest

from calibrant import InputError, Predictions
from calibrant.calibrators import CALIBRATORS, load
from calibrant.cli import main
from calibrant.metrics import NLL
from calibrant.scale import Reading, fit_passes, sketch_dask, sketch_files
from calibrant.scale.dask_engine import local_cluster
from calibrant.scale.passes import Pass, PassReading
from scale_cases import classes, smooth, weights_of


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    p, y = classes(3000, 4, rng)
    w = weights_of(3000, rng)
    frame = pl.DataFrame({f"p_{c}": p[:, c] for c in range(4)} | {"y": y, "w": w})
    for i in range(3):
        frame[1000 * i : 1000 * (i + 1)].write_parquet(tmp_path / f"part-{i}.parquet")
    return sorted(map(str, tmp_path.glob("*.parquet"))), p, y, w


def by_files(files, method, **options):
    return fit_passes(lambda reading: sketch_files(files, reading), Reading.of(files[0], **options), method)


def assert_same(found, expected):
    for name in ("temperature_", "coef_", "intercept_"):
        if hasattr(expected, name):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", ["ts", "vs", "ms"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_fits_are_those_to_the_rows(folder, method, weight):
    files, p, y, w = folder
    found = by_files(files, method, weight=weight)
    weights = w if weight else None
    expected = CALIBRATORS[method]().fit(p, y, sample_weight=weights)
    assert_same(found.calibrator, expected)
    rows = Predictions(p, y, weights)
    assert found.before == pytest.approx(NLL()(rows), rel=1e-12)
    calibrated = Predictions(expected.predict_proba(p), y, weights)
    assert found.after == pytest.approx(NLL()(calibrated), rel=1e-9)
    assert found.n_samples == (3000 if weight is None else (w > 0).sum())
    assert found.shares.sum() == pytest.approx(1)
    assert found.n_passes < 25
    np.testing.assert_allclose(found.calibrator.predict_proba(p), expected.predict_proba(p), atol=1e-6)


@pytest.mark.parametrize("method", ["ts", "vs", "ms"])
def test_the_order_of_the_files_changes_no_number(folder, method):
    files, p, *_ = folder
    found, other = (by_files(some, method).calibrator for some in (files, files[::-1]))
    np.testing.assert_allclose(found.predict_proba(p), other.predict_proba(p), rtol=1e-10)
    for name in ("temperature_", "coef_", "intercept_") if method != "ms" else ():
        if hasattr(found, name):
            np.testing.assert_allclose(getattr(found, name), getattr(other, name), rtol=1e-10, atol=1e-12)


def test_files_are_summed_in_their_order_by_any_number_of_threads(tmp_path):
    rng = np.random.default_rng(2)
    for i in range(12):
        p, y = smooth(50, rng)
        pl.DataFrame({"p": p, "y": y.astype(np.int8)}).write_parquet(tmp_path / f"part-{i:02d}.parquet")
    files = sorted(map(str, tmp_path.glob("*.parquet")))
    reading = PassReading(**vars(Reading.of(files[0])))
    in_turn = reduce(add, [reading.sketch(file) for file in files], reading.empty())
    for _ in range(5):
        assert sketch_files(files, reading).sketch.to_bytes() == in_turn.to_bytes()


def test_two_classes(tmp_path):
    p, y = smooth(2000, np.random.default_rng(1))
    pl.DataFrame({"p": p, "y": y.astype(np.int8)}).write_parquet(tmp_path / "a.parquet")
    for method in ("ts", "vs"):
        found = by_files([str(tmp_path / "a.parquet")], method)
        assert_same(found.calibrator, CALIBRATORS[method]().fit(np.column_stack([1 - p, p]), y.astype(int)))


def test_dask_gives_the_same(folder):
    import distributed

    files, p, y, _ = folder
    workers = local_cluster(processes=False, n_workers=1)
    with workers as cluster, distributed.Client(cluster, set_as_default=False) as client:
        engine = lambda reading: sketch_dask(files, reading, client=client)  # noqa: E731 (as in the docs)
        found = fit_passes(engine, Reading.of(files[0]), "vs")
    assert_same(found.calibrator, CALIBRATORS["vs"]().fit(p, y))


def test_sums_come_back_from_bytes():
    p, y = classes(50, 3, np.random.default_rng(2))
    some = Pass(("a", "b", "c"), np.tile([0.9, 0.1], (3, 1))).update(p, np.array([*"abc"])[y])
    again = Pass.from_bytes(some.to_bytes())
    assert (again.loss, again.counters, again.classes) == (some.loss, some.counters, some.classes)
    assert np.array_equal(again.hessian, some.hessian)
    with pytest.raises(InputError, match="damaged"):
        Pass.from_bytes(some.to_bytes()[:-1] + b"\0")


def test_what_cannot_be_fitted(folder, tmp_path):
    files, *_ = folder
    with pytest.raises(InputError, match="can fit ts, vs, ms, but not isotonic"):
        by_files(files, "isotonic")
    pl.DataFrame({"p": [0.2, 0.9, 0.7], "y": [0, 1, 1]}).write_parquet(tmp_path / "sure.parquet")
    with pytest.raises(InputError, match="no temperature fits"):
        by_files([str(tmp_path / "sure.parquet")], "ts")


def test_the_command(folder, tmp_path, capsys):
    files, p, y, _ = folder
    out = tmp_path / "c.json"
    assert main(["fit", *files, "--method", "vs", "--engine", "local", "--out", str(out), "--quiet"]) == 0
    assert "vs, fitted to 3,000 rows of 4 classes by" in capsys.readouterr().out
    expected = CALIBRATORS["vs"]().fit(p, y)
    np.testing.assert_allclose(load(out).predict_proba(p), expected.predict_proba(p), atol=1e-6)
