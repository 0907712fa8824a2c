"""Many rows are judged by cells: the same verdict, scores of the rows, and what is said about it."""

import numpy as np
import polars as pl
import pytest

from calibrant import DataWarning, Predictions, assess
from calibrant.assessment import many_rows
from calibrant.cli import main
from calibrant.metrics import METRICS, SKCE
from calibrant.metrics.base.counted import as_counted_metric
from calibrant.metrics.base.pooled import PooledMetric
from calibrant.results import as_record
from scale_cases import SHAPES, classes


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(many_rows, "MANY_ROWS", 3000)


def rows(n, weights=None, seed=0):
    p, y = SHAPES["smooth"](n, np.random.default_rng(seed))
    return Predictions(p, y, weights)


SETTINGS = {"n_resamples": 99, "rng": 0}


def by_rows(predictions, monkeypatch, **settings):
    with monkeypatch.context() as patched:
        patched.setattr(many_rows, "MANY_ROWS", 10**9)
        return assess(predictions, **SETTINGS, **settings)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_answer_is_that_of_the_rows(weighted, monkeypatch):
    weights = np.random.default_rng(1).uniform(0.5, 1.5, 10_000) if weighted else None
    asked = {
        "sections": ("metrics", "limits"),
        "metrics": ("accuracy", "nll", "brier", "ece", "smooth-ece", "cox-slope"),
    }
    expected = by_rows(rows(10_000, weights), monkeypatch, **asked)
    found = assess(rows(10_000, weights), **SETTINGS, **asked)
    assert (found.verdict.code, found.n_samples) == (expected.verdict.code, 10_000)
    assert (found.settings["cells"], found.settings["weighted"]) == (True, weighted)
    assert "cells" not in expected.settings
    for name, estimate in expected.metrics.items():
        exact = name in ("accuracy", "nll", "brier")
        assert found.metrics[name].value == pytest.approx(estimate.value, rel=0 if exact else 1e-3)
    for name, limits in expected.intervals.items():
        if limits.low is not None:
            width = limits.high - limits.low
            mine = found.intervals[name]
            assert [mine.low, mine.high] == pytest.approx([limits.low, limits.high], abs=0.02 * width)


def test_fewer_rows_and_more_classes_are_as_before(monkeypatch):
    some = rows(2999)
    assert many_rows.summarised(some) is some
    p, y = classes(3001, 3, np.random.default_rng(0))
    several = Predictions(p, y)
    assert many_rows.summarised(several) is several
    assert "cells" not in assess(some, sections=(), **SETTINGS).settings
    with pytest.warns(DataWarning):
        extreme = rows(3000, np.append(np.full(2999, 1e-9), 1.0))
    assert many_rows.summarised(extreme) is extreme  # Rows would be lost in rounding.


def test_rows_of_weight_zero_are_absent():
    weights = np.ones(4000)
    weights[:500] = 0
    cells = many_rows.summarised(rows(4000, weights))
    assert cells.n_rows == 3500
    assert many_rows.summarised(rows(4000)).weights.sum() == 4000


def test_metrics_that_need_rows_are_computed_if_they_are_named():
    found = assess(rows(3000), sections=("metrics",), metrics=("ece", "aurc"), **SETTINGS)
    assert [*found.metrics] == ["ece", "aurc"]
    assert "aurc" not in assess(rows(3000), sections=("metrics",), **SETTINGS).metrics


def test_groups_large_and_small(monkeypatch):
    data = rows(8000)
    by = np.where(np.arange(8000) < 6000, "large", "small")
    asked = {"sections": ("groups",), "by": by, "metrics": ("ece",)}
    found, expected = assess(data, **SETTINGS, **asked), by_rows(rows(8000), monkeypatch, **asked)
    for name, part in expected.groups.items():
        assert (found.groups[name].n_samples, found.groups[name].verdict.code) == (part.n_samples, part.verdict.code)
        assert found.groups[name].metrics["ece"].value == pytest.approx(part.metrics["ece"].value, abs=1e-12)


def test_the_screen_says_so(tmp_path, capsys):
    p, y = SHAPES["smooth"](3000, np.random.default_rng(0))
    pl.DataFrame({"p": p, "y": y.astype(int)}).write_parquet(tmp_path / "some.parquet")
    command = ["evaluate", str(tmp_path / "some.parquet"), "--metrics", "ece", "--resamples", "99", "--quiet"]
    assert main(command) == 0
    assert "3,000 rows, 2 classes, summarised in fine cells" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert '"cells": true' in capsys.readouterr().out


@pytest.mark.parametrize("weighted", [False, True])
def test_of_several_classes_curves_and_ranges_by_chance_come_from_the_cells_of_the_confidence(weighted, monkeypatch):
    p, y = classes(10_000, 3, np.random.default_rng(0))
    weights = np.random.default_rng(1).uniform(0.5, 1.5, 10_000) if weighted else None
    asked = {
        "sections": ("metrics", "limits", "curves", "ranking"),
        "metrics": ("nll", "ece", "ece-sweep", "miscalibration", "ecce", "ece-one-vs-rest"),
    }
    expected = by_rows(Predictions(p, y, weights), monkeypatch, **asked)
    found = assess(Predictions(p, y, weights), **SETTINGS, **asked)
    for name in ("verdict", "metrics"):
        assert as_record(getattr(found, name)) == as_record(getattr(expected, name))
    assert found.settings["cells_of_confidence"] is True
    assert "cells" not in found.settings
    assert "cells_of_confidence" not in expected.settings
    assert as_record(found.intervals["nll"]) == as_record(expected.intervals["nll"])
    for name, own in expected.intervals.items():
        if own.null is not None:
            low, high = own.null
            # The means of at least 39 redraws each, whose standard deviation is about a quarter of the range.
            sd = (high - low) / 4 * (2 / 39) ** 0.5
            assert found.intervals[name].expected == pytest.approx(own.expected, abs=4 * sd)
    assert np.array_equal(found.curve.count, expected.curve.count)
    for mine, own in ((found.curve, expected.curve), (found.curves["kernel"], expected.curves["kernel"])):
        np.testing.assert_allclose(mine.observed, own.observed, rtol=1e-3)
    lines = (found.curve, *found.curves.values(), found.cumulative, found.ranking)
    assert {line.view for line in lines} == {"top-label"}
    own = expected.curves["isotonic"]
    mine = found.curves["isotonic"]
    on_grid = np.linspace(0.5, 0.95, 50)
    np.testing.assert_allclose(
        np.interp(on_grid, mine.predicted, mine.observed), np.interp(on_grid, own.predicted, own.observed), atol=0.02
    )
    assert found.ranking.auc == pytest.approx(expected.ranking.auc, rel=1e-4)


def test_the_screen_says_what_of_several_classes_comes_from_cells(tmp_path, capsys):
    p, y = classes(3000, 3, np.random.default_rng(0))
    np.savez(tmp_path / "some.npz", probs=p, labels=y)
    command = ["evaluate", str(tmp_path / "some.npz"), "--metrics", "ece", "--resamples", "99", "--quiet"]
    assert main(command) == 0
    assert "3,000 rows, 3 classes, ranges by chance from fine cells" in capsys.readouterr().out


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_that_need_all_cells_have_the_range_by_chance_of_the_rows(weighted, monkeypatch):
    monkeypatch.setattr(many_rows, "MANY_ROWS", 1000)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, 1200) if weighted else None
    asked = {"sections": ("metrics", "limits"), "metrics": ("smooth-ece", "kde-ece", "ecce")}
    expected = by_rows(rows(1200, weights), monkeypatch, **asked)
    found = assess(rows(1200, weights), **SETTINGS, **asked)
    assert found.settings["cells"]
    for name, own in expected.intervals.items():
        low, high = own.null
        # The means of 66 redraws each, whose standard deviation is about a quarter of the range.
        assert found.intervals[name].expected == pytest.approx(own.expected, abs=4 * (high - low) / 4 * (2 / 66) ** 0.5)
        assert found.intervals[name].null == pytest.approx(own.null, abs=(high - low) / 2)


@pytest.mark.parametrize("weighted", [False, True])
def test_redraws_that_share_pools_or_lengthscale_are_those_of_predictions_made_anew(weighted):
    weights = np.random.default_rng(1).integers(0, 3, 3000) if weighted else None
    cells = many_rows.summarised(rows(3000, weights))
    sharing = {name: metric for name, metric in METRICS.items() if isinstance(metric, (PooledMetric, SKCE))}
    assert {"ici", "emax", "ecce", "ece-sweep", "miscalibration", "refinement", "skce"} <= set(sharing)
    for name, metric in sharing.items():
        shared, anew = metric.prepare_counts(cells), as_counted_metric(cells, metric)
        counts = next(shared.cells.draw(3, np.random.default_rng(0)))
        np.testing.assert_allclose(shared.evaluate(counts), anew.evaluate(counts), rtol=1e-10, atol=1e-14, err_msg=name)


def test_the_value_is_that_of_its_own_events():
    cells = many_rows.summarised(rows(4000))
    for name in ("smooth-ece", "kde-ece", "ecce", "miscalibration"):
        counted = METRICS[name].prepare_counts(cells)
        events = counted.cells.count((cells.labels == 1)[:, None])
        assert counted.evaluate(events)[0] == pytest.approx(METRICS[name](cells), rel=1e-9)
        assert METRICS[name].prepare_counts(rows(2999)) is None
