"""Weights in a sketch: the same bytes from any split, exact sums, and what comes from it as from the rows."""

import hashlib
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, Predictions, assess, interval
from calibrant.binning.cells.weights import LIMB, normalised, of_ones, products, stand_in, weighted_sum
from calibrant.hypotest import OmnibusTest, SpiegelhalterTest
from calibrant.metrics import METRICS, NLL, Accuracy, Brier
from calibrant.scale import Reading, Sketch, sketch_files
from naming import each
from properties import examples
from scale_cases import SHAPES, classes, weights_of

GOLDEN = Path(__file__).parent / "golden"
UNITS = st.integers(0, 2**40)


@given(pairs=st.lists(st.tuples(UNITS, UNITS), min_size=1, max_size=20))
def test_products_and_sums_of_products_are_exact(pairs):
    units, factors = (np.array(one, dtype=np.int64) for one in zip(*pairs, strict=True))
    high, low = products(units, factors)
    expected = [a * b for a, b in pairs]
    assert [int(a) * 2**LIMB + int(b) for a, b in zip(high, low, strict=True)] == expected
    assert low.max() < 2**42
    assert weighted_sum(units, factors) == sum(expected)


def test_rows_of_weight_one_are_those_without_weights():
    counted = np.array([[3, 4, 5 * 2**30 + 7, 0, 0]])
    one = np.array([[3, 4, 3, 0, 4, 0, 0, 0]]) * np.array([2**20, 2**20, 1, 1, 1, 1, 1, 1])
    table = of_ones(counted)
    assert table[:, :6].tolist() == one[:, :6].tolist()
    assert int(table[0, 6]) * 2**LIMB + int(table[0, 7]) == (5 * 2**30 + 7) * 2**20
    assert normalised(table.copy()).tolist() == table.tolist()


@given(weights=st.lists(st.floats(2**-20, 2**10), min_size=1, max_size=12))
def test_rows_that_stand_for_others_have_their_sums(weights):
    total, squares = np.array([sum(weights)]), np.array([sum(w * w for w in weights)])
    many, each, last = (float(part[0]) for part in stand_in(total, squares))
    assert many * each + last == pytest.approx(total[0], rel=1e-9)
    assert many * each**2 + last**2 == pytest.approx(squares[0], rel=1e-6)
    assert last >= 0
    assert many + (last > 0) <= len(weights)


@pytest.mark.parametrize("shape", SHAPES)
def test_any_split_and_order_gives_the_same_bytes(shape):
    rng = np.random.default_rng(0)
    p, y = SHAPES[shape](3000, rng)
    w = weights_of(3000, rng)
    whole, found = Sketch().update(p, y, w).to_bytes(), set()
    for _ in range(3):
        parts = np.split(rng.permutation(3000), np.sort(rng.integers(0, 3001, rng.integers(0, 15))))
        sketches = [Sketch().update(p[rows], y[rows], w[rows]) for rows in parts]
        found.add(hashlib.sha256(reduce(add, sketches).to_bytes()).hexdigest())
    one_by_one = Sketch()
    for rows in np.split(rng.permutation(3000), 20):
        one_by_one.update(p[rows], y[rows], w[rows])
    assert found == {hashlib.sha256(whole).hexdigest()}
    assert one_by_one.to_bytes() == whole == Sketch.from_bytes(whole).to_bytes()


@examples(15)
@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 1), st.sampled_from([0.0, 1.0, 0.5, 2.0**-20, 3.0, 2.0**20])),
        min_size=1,
        max_size=30,
    ),
    cut=st.integers(0, 30),
)
def test_ones_and_zeros_are_as_if_there_were_no_weights(rows, cut):
    p, y, w = (np.array(column) for column in zip(*rows, strict=True))
    whole = Sketch().update(p, y, w)
    first, second = (Sketch().update(p[some], y[some], w[some]) for some in (slice(cut), slice(cut, None)))
    assert second + first == whole == first + second
    plain = Sketch().update(p[w == 1], y[w == 1])
    rest = Sketch().update(p[w != 1], y[w != 1], w[w != 1])
    assert plain + rest == whole == Sketch().update(p[w == 1], y[w == 1]).update(p[w != 1], y[w != 1], w[w != 1])
    assert whole.is_weighted == bool(np.any((w != 1) & (w != 0)))
    assert whole.n_samples == (w > 0).sum()


def test_scores_are_exact():
    rng = np.random.default_rng(1)
    p, y = SHAPES["smooth"](2000, rng)
    w = weights_of(2000, rng)
    sketch, rows = Sketch().update(p, y, w), Predictions(p, y, w)
    squares = sum(Fraction(a) * (int(b) - Fraction(q)) ** 2 for a, b, q in zip(w, y, p, strict=True))
    exact = 2 * squares / sum(map(Fraction, w))
    assert sketch.brier == pytest.approx(float(exact), abs=2**-32)
    assert sketch.nll == pytest.approx(NLL()(rows), abs=2**-32)
    assert sketch.accuracy == pytest.approx(Accuracy()(rows), rel=1e-13)
    assert sketch.total_weight == w.sum()


def test_several_classes():
    rng = np.random.default_rng(2)
    p, y = classes(2000, 4, rng)
    w = weights_of(2000, rng)
    sketch, rows = Sketch(4).update(p, y, w), Predictions(p, y, w)
    assert sketch == Sketch(4).update(p[:700], y[:700], w[:700]) + Sketch(4).update(p[700:], y[700:], w[700:])
    assert sketch.brier == pytest.approx(Brier()(rows), rel=1e-9)
    assert sketch.nll == pytest.approx(NLL()(rows), rel=1e-9)
    assert METRICS["ece"](sketch.top_label()) == pytest.approx(METRICS["ece"](rows), abs=1e-12)
    for c in range(4):
        found, expected = (METRICS["ece"](one.one_vs_rest(c)) for one in (sketch, rows))
        assert found == pytest.approx(expected, abs=1e-12)
    summary = assess(sketch, sections=("classes",), n_resamples=99, rng=0).classes
    expected = assess(rows, sections=("classes",), n_resamples=99, rng=0).classes
    for mine, theirs in zip(summary, expected, strict=True):
        assert [mine.predicted, mine.observed] == pytest.approx([theirs.predicted, theirs.observed], rel=1e-9)


def both(n=4000):
    rng = np.random.default_rng(3)
    p, y = SHAPES["forest"](n, rng)
    p, w = np.clip(p, 0.01, 0.99), weights_of(n, rng)
    return Predictions(p, y, w), Sketch().update(p, y, w).one_vs_rest(1)


ROWS, CELLS = both()


TUNED = ("kde-ece", "kde-ece-per-predicted-class", "kde-ece-one-vs-rest", "skce", "kce")
"""Their bandwidth or lengthscale is chosen by single rows; see test_kernel_errors."""


@each("name", [key for key, metric in METRICS.items() if metric.cells and key not in TUNED])
def test_metrics_are_those_of_the_rows(name):
    """Cells of a forest hold equal predictions, so that nothing but rounding differs, squared weights included."""
    assert METRICS[name](CELLS) == pytest.approx(METRICS[name](ROWS), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["brier", "rms-debiased", "cox-slope", "oe-ratio"])
def test_limits_are_those_of_the_rows(name):
    """Their width comes from squared weights; third and fourth powers, in smaller terms, are not kept."""
    rows, cells = both(20_000)
    found, expected = interval(cells, METRICS[name], rng=0), interval(rows, METRICS[name], rng=0)
    width = expected.high - expected.low
    assert [found.low, found.high] == pytest.approx([expected.low, expected.high], abs=0.01 * width)


def test_statistics_are_those_of_the_rows():
    found, expected = SpiegelhalterTest()(CELLS), SpiegelhalterTest()(ROWS)
    assert (found.statistic, found.pvalue) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)
    found, expected = (OmnibusTest(99)(one, rng=0).details["parts"] for one in (CELLS, ROWS))
    for name in ("bias", "slope"):
        assert found[name]["statistic"] == pytest.approx(expected[name]["statistic"], rel=0.02)


def test_the_omnibus_test_keeps_its_level():
    rng, rejected = np.random.default_rng(4), 0
    for _ in range(100):
        p = rng.beta(0.6, 2, 1000)
        sketch = Sketch(digits=5).update(p, rng.random(1000) < p, rng.exponential(size=1000) ** 2 + 2**-20)
        rejected += OmnibusTest(99)(sketch.one_vs_rest(1), rng=rng).pvalue <= 0.1
    assert 2 <= rejected <= 21  # 10 expected; 0.1% of binomial laws are beyond either


@pytest.mark.parametrize(
    "weights, message",
    [
        ([1.0, -1.0], "not negative"),
        ([1.0, np.inf], "finite"),
        ([1.0, np.nan], "finite"),
        ([1.0, 1e-9], "row 1 has 1e-09"),
        ([2.0**21, 1.0], "row 0"),
        ([1.0], "one entry per row"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    sketch = Sketch()
    with pytest.raises(InputError, match=message):
        sketch.update([0.2, 0.7], [0, 1], weights)
    assert sketch == Sketch()


def test_a_missing_weight_is_counted():
    found = Sketch().update([0.2, 0.7, 0.9], [0, 1, 1], [2.0, np.nan, 0.0], skip_bad=True)
    assert (found.n_samples, found.counters.missing, found.total_weight) == (1, 1, 2.0)


def test_too_much_weight_is_refused():
    some = Sketch().update([0.5] * 4, [0, 1] * 2, [2.0**20] * 4)
    some._units = 2**61
    with pytest.raises(InputError, match="sum below"):
        some + some


def test_weights_from_files(tmp_path):
    rng = np.random.default_rng(5)
    p, y = SHAPES["smooth"](300, rng)
    w = weights_of(300, rng)
    frame = pl.DataFrame({"p": p, "y": y.astype(np.int8), "w": w})
    frame[:200].write_parquet(tmp_path / "a.parquet")
    frame[200:].write_csv(tmp_path / "b.csv")
    files = [str(tmp_path / "a.parquet"), str(tmp_path / "b.csv")]
    found = sketch_files(files, Reading.of(files[0], weight="w")).sketch
    assert found == Sketch().update(p, y, w)


def test_days_with_weights_are_refused():
    from calibrant.scale.over_time import compare_periods

    day = Sketch().update([0.2, 0.7], [0, 1], [2.0, 1.0])
    with pytest.raises(InputError, match="weight 1"):
        compare_periods(day, day)


def test_files_of_version_2_are_read_for_ever():
    """The bytes are in the repository; what they hold is written here by hand."""
    found = Sketch.from_bytes((GOLDEN / "weights-v2.sketch").read_bytes())
    assert (found.n_samples, found.total_weight) == (4, 4.75)
    view = found.one_vs_rest(1)
    # 0.25 without the event, weights 1 and 3: 16 / 10 effective rows, so that 3 and 1 stand for them; 0.5 with it.
    assert view.positive.tolist() == [0.25, 0.25, 0.5, 0.5]
    assert view.labels.tolist() == [0, 0, 1, 1]
    assert view.weights.tolist() == pytest.approx([3.0, 1.0, 0.5, 0.25])
    assert found.brier == pytest.approx(2 * (4 * 0.0625 + 0.75 * 0.25) / 4.75, abs=1e-9)
    assert found.to_bytes() == (GOLDEN / "weights-v2.sketch").read_bytes()
