"""The verdict on a sketch is that on its rows."""

import numpy as np
import pytest

from calibrant import InputError, Predictions, assess
from calibrant.scale import Sketch, assess_sketch
from calibrant.scale.assess import omnibus
from scale_cases import SHAPES, classes


@pytest.mark.parametrize("shape", ["smooth", "rare", "forest"])
def test_two_classes(shape):
    p, y = SHAPES[shape](30_000, np.random.default_rng(0))
    names = ("accuracy", "nll", "brier", "ece", "rms-debiased", "cox-slope")
    settings = {"sections": ("metrics", "limits"), "metrics": names, "n_resamples": 199, "rng": 0}
    found, expected = assess_sketch(Sketch().update(p, y), **settings), assess(Predictions(p, y), **settings)
    assert found.n_samples == 30_000
    assert found.verdict.headline == expected.verdict.headline
    assert found.verdict.code == expected.verdict.code
    for name in names:
        assert found.metrics[name].value == pytest.approx(expected.metrics[name].value, rel=5e-3)
        mine, theirs = found.intervals.get(name), expected.intervals.get(name)
        if mine is not None and theirs is not None and mine.low is not None:
            assert [mine.low, mine.high] == pytest.approx([theirs.low, theirs.high], rel=1e-2)


def test_assess_takes_sketches():
    sketch = Sketch().update([0.9, 0.95] * 20, [0, 1] * 20)
    found, expected = (judge(sketch, sections=(), n_resamples=99, rng=0) for judge in (assess, assess_sketch))
    assert found.verdict.headline == expected.verdict.headline
    with pytest.raises(InputError, match="sketch of each group"):
        assess(sketch, by=["a", "b"])


def test_all_sections():
    p, y = SHAPES["smooth"](5000, np.random.default_rng(0))
    found = assess_sketch(Sketch().update(p, y), n_resamples=99, rng=0)
    assert found.curve is not None
    assert found.ranking is not None
    assert {"kde-ece", "skce", "smooth-ece"} <= found.metrics.keys()
    assert {"ucme", "ece-dirichlet"}.isdisjoint(found.metrics)
    assert found.curves["kernel"].count.sum() == 5000
    assert found.settings["sketch"]


def test_several_classes():
    p, y = classes(10_000, 5, np.random.default_rng(1))
    names = ("accuracy", "nll", "brier", "ece", "ece-one-vs-rest", "rms-debiased", "rms-debiased-one-vs-rest")
    settings = {"sections": ("metrics", "curves", "classes"), "metrics": names, "n_resamples": 99, "rng": 0}
    found, expected = assess_sketch(Sketch(5).update(p, y), **settings), assess(Predictions(p, y), **settings)
    assert (found.verdict.code, found.n_samples, found.n_classes) == (expected.verdict.code, 10_000, 5)
    assert found.curve.view == expected.curve.view == "top-label"
    for name in names:
        assert found.metrics[name].value == pytest.approx(expected.metrics[name].value, rel=1e-3)
    for mine, theirs in zip(found.classes, expected.classes, strict=True):
        assert (mine.name, mine.n_observed) == (theirs.name, theirs.n_observed)
        assert [mine.predicted, mine.error] == pytest.approx([theirs.predicted, theirs.error], rel=1e-9)


def test_the_test_of_several_classes_keeps_its_level_and_has_power():
    rng, rejected = np.random.default_rng(2), 0
    for _ in range(100):
        p, _ = classes(1000, 4, rng)
        y = np.minimum((p.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1), 3)
        rejected += omnibus(Sketch(4, class_digits=5, digits=5).update(p, y), 99, rng).pvalue <= 0.1
    assert rejected <= 20  # at most 10 expected; 0.1% of binomial laws are beyond
    p, y = classes(5000, 4, rng)
    assert omnibus(Sketch(4).update(p, y), 99, rng).pvalue <= 0.02


def test_an_impossible_label_is_found():
    p, y = [[0.5, 0.5, 0.0]] * 40 + [[0.0, 0.5, 0.5]] * 40, [0, 1] * 20 + [1, 2] * 20
    y[0] = 2
    found = omnibus(Sketch(3).update(p, y), 99, np.random.default_rng(0))
    assert (found.pvalue, found.details["found_by"]) == (0.01, "impossible labels")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_with_an_infinite_log_loss_are_counted_and_not_named(n_classes):
    """A cell is no row: its place among the cells says nothing, and it may stand for several rows."""
    probs = np.tile([0.3, 0.7, 0.0][:n_classes], (500, 1))
    labels = np.tile([0, 1], 250)
    probs[:7], labels[:7] = [1.0, 0.0, 0.0][:n_classes], 1
    settings = {"sections": ("metrics",), "metrics": ["nll"], "n_resamples": 99, "rng": 0}
    found = assess(Sketch(n_classes).update(probs, labels), **settings).metrics["nll"]
    assert found.value == np.inf
    assert found.details == {"infinite_rows": 7}
    assert assess(Sketch(n_classes).update(probs[7:], labels[7:]), **settings).metrics["nll"].details == {}
