"""A sketch: any split and order of the rows gives the same bytes; what it sums is exact; bad input is refused."""

import hashlib
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError, Predictions
from calibrant.metrics import NLL, Accuracy, Brier
from calibrant.scale import Counters, Sketch
from properties import examples
from scale_cases import SHAPES, classes

GOLDEN = Path(__file__).parent / "golden"


def digest(sketch):
    return hashlib.sha256(sketch.to_bytes()).hexdigest()


def split(p, y, rng, **settings):
    """Return the sum of sketches of a random number of parts, some of them empty, in random order."""
    order = rng.permutation(len(y))
    edges = np.sort(rng.integers(0, len(y) + 1, rng.integers(0, 50)))
    parts = [Sketch(**settings).update(p[rows], y[rows]) for rows in np.split(order, edges)]
    return reduce(add, parts, Sketch(**settings))


@pytest.mark.parametrize("weighted", [(False, False), (True, False), (False, True), (True, True)])
def test_adding_in_place_is_adding_and_changes_only_one(weighted):
    rng = np.random.default_rng(5)
    parts = []
    for own in weighted:
        p, y = classes(500, 3, rng)
        parts.append(Sketch(3).update(p, y, rng.uniform(0.5, 2, 500) if own else None))
    first, second = parts
    before = digest(first), digest(second)
    both = first + second
    assert (digest(first), digest(second)) == before
    same = first
    first += second
    assert first is same
    assert (digest(first), digest(second)) == (digest(both), before[1])


@pytest.mark.parametrize("shape", SHAPES)
def test_any_split_and_order_gives_the_same_bytes(shape):
    rng = np.random.default_rng(0)
    p, y = SHAPES[shape](20_000, rng)
    whole = digest(Sketch().update(p, y))
    assert {digest(split(p, y, rng)) for _ in range(4)} == {whole}


@pytest.mark.parametrize("most", [0, 1500, 4000])
def test_more_rows_than_records_count_give_the_same_bytes(most, monkeypatch):
    rng = np.random.default_rng(2)
    p, y = SHAPES["smooth"](5000, rng)
    whole = Sketch().update(p, y).to_bytes()
    monkeypatch.setattr("calibrant.binning.cells.line.MOST_COUNTED", most)
    split_up = Sketch().update(p[:1000], y[:1000]).update(p[1000:2500], y[1000:2500])
    rest = Sketch().update(p[2500:], y[2500:])
    once_more = [Sketch.from_bytes(one.to_bytes()) for one in (split_up, rest)]
    sums = [split_up + rest, rest + split_up, once_more[0] + rest, split_up + once_more[1], once_more[1] + once_more[0]]
    assert {one.to_bytes() for one in sums} == {whole}
    assert sums[0].update(p, y, np.full(len(y), 2.0)).total_weight == 15_000


def test_any_split_of_several_classes_gives_the_same_bytes():
    rng = np.random.default_rng(1)
    p, y = classes(3000, 11, rng)
    p = p.astype(np.float32)
    whole = digest(Sketch(11).update(p, y))
    assert {digest(split(p, y, rng, n_classes=11)) for _ in range(2)} == {whole}


def test_rows_one_by_one_and_batches_of_seven():
    rng = np.random.default_rng(2)
    p, y = classes(211, 3, rng)
    whole = Sketch(3).update(p, y)
    for size in (1, 7):
        parts = Sketch(3)
        for start in range(0, len(y), size):
            parts.update(p[start : start + size], y[start : start + size])
        assert parts == whole


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_are_those_of_the_rows(shape):
    p, y = SHAPES[shape](50_000, np.random.default_rng(3))
    sketch, rows = Sketch().update(p, y), Predictions(p, y)
    assert sketch.n_samples == 50_000
    assert sketch.brier == pytest.approx(Brier()(rows), rel=1e-9)
    assert sketch.accuracy == Accuracy()(rows)
    assert sketch.nll == pytest.approx(NLL()(rows), rel=1e-9)
    impossible = ((p == 0) & y) | ((p == 1) & ~y)
    assert sketch.counters.infinite == impossible.sum()


def test_scores_of_several_classes_are_those_of_the_rows():
    p, y = classes(20_000, 5, np.random.default_rng(4))
    sketch, rows = Sketch(5).update(p, y), Predictions(p, y)
    assert sketch.brier == pytest.approx(Brier()(rows), rel=1e-9)
    assert sketch.accuracy == Accuracy()(rows)
    assert sketch.nll == pytest.approx(NLL()(rows), rel=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_cells_hold_every_row_and_the_exact_sum(shape):
    p, y = SHAPES[shape](20_000, np.random.default_rng(5))
    means, without, events = Sketch().update(p, y).cells()
    assert np.all(np.diff(means) > 0)
    assert (without.sum(), events.sum()) == ((~y).sum(), y.sum())
    exact = float(sum(map(Fraction, p.tolist())))
    assert means @ (without + events) == pytest.approx(exact, rel=1e-12)


def test_ties_are_exact():
    p, y = SHAPES["forest"](20_000, np.random.default_rng(6))
    means, without, events = Sketch().update(p, y).cells()
    values, index = np.unique(p, return_inverse=True)
    assert means.tolist() == values.tolist()
    assert events.tolist() == np.bincount(index, y).tolist()
    assert (without + events).tolist() == np.bincount(index).tolist()


EXTREMES = [0.0, 1.0, 0.5, 5e-324, 1e-310, 2.0**-27, 2.0**-63, 1e-19, 1 - 2.0**-53, np.nextafter(0.5, 1), 0.1, 0.3]


@examples(50)
@given(
    p=st.lists(st.one_of(st.floats(0, 1), st.sampled_from(EXTREMES)), min_size=1, max_size=40),
    cut=st.integers(0, 40),
    seed=st.integers(0, 99),
)
def test_bytes_come_back_and_sums_do_not_depend_on_the_order(p, cut, seed):
    y = np.random.default_rng(seed).integers(0, 2, len(p))
    whole = Sketch().update(p, y)
    parts = Sketch().update(p[cut:], y[cut:]) + Sketch().update(p[:cut], y[:cut])
    assert parts.to_bytes() == whole.to_bytes() == Sketch.from_bytes(whole.to_bytes()).to_bytes()
    cells = whole.cells()
    assert np.all((cells.means >= min(p)) & (cells.means <= max(p)))
    assert cells.counts.sum() == len(p)


def test_two_columns_are_one():
    p = np.array([0.25, 0.5, 0.75])
    assert Sketch().update(np.column_stack([1 - p, p]), [0, 1, 1]) == Sketch().update(p, [0, 1, 1])


def test_names_of_classes():
    sketch = Sketch(classes=["no", "yes"]).update([0.2, 0.7], ["no", "yes"])
    assert sketch.one_vs_rest(1).classes == ("no", "yes")
    assert Sketch.from_bytes(sketch.to_bytes()).classes == ("no", "yes")


def test_an_empty_sketch_changes_nothing():
    some = Sketch().update([0.3], [1])
    assert some + Sketch() == some == Sketch() + some
    assert Sketch() + Sketch() == Sketch() == Sketch.from_bytes(Sketch().to_bytes())
    with pytest.raises(InputError, match="no rows yet"):
        _ = Sketch().brier


def test_every_flipped_byte_is_refused():
    data = Sketch().update([0.3, 0.6], [1, 0]).to_bytes()
    for place in range(len(data)):
        broken = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(InputError, match=r"not a sketch|damaged"):
            Sketch.from_bytes(broken)
    for end in (0, 5, 20, 60, len(data) - 1):
        with pytest.raises(InputError, match=r"not a sketch|damaged"):
            Sketch.from_bytes(data[:end])


def test_files_of_version_1_are_read_for_ever():
    """The bytes are in the repository; what they hold is written here by hand."""
    two = Sketch.from_bytes((GOLDEN / "two-classes-v1.sketch").read_bytes())
    assert (two.classes, two.n_samples, two.counters.infinite) == (("no", "yes"), 8, 0)
    means, without, events = two.cells()
    assert means.tolist() == [0.0, 1e-12, 0.1, 0.25, 0.5, 0.75, 1.0]
    assert without.tolist() == [1, 1, 1, 1, 0, 0, 0]
    assert events.tolist() == [0, 0, 1, 0, 1, 1, 1]
    # Squares: .01 + .81 + .0625 + .25 + .0625 + 1e-24, twice, over 8 rows.
    assert two.brier == pytest.approx(2 * 1.195 / 8, abs=1e-9)
    rows = [0.0, 1e-12, 0.1, 0.1, 0.25, 0.5, 0.75, 1.0], ["no"] * 3 + ["yes", "no"] + ["yes"] * 3
    assert two == Sketch(classes=["no", "yes"], digits=9).update(*rows)
    three = Sketch.from_bytes((GOLDEN / "three-classes-v1.sketch").read_bytes())
    assert three.cells(2).means.tolist() == [0.125, 0.25]
    assert three.cells(2).events.tolist() == [1, 0]
    assert (three.accuracy, round(three.nll, 9)) == (0.5, round((np.log(2) + np.log(8)) / 2, 9))


def test_another_version_is_refused():
    data = Sketch().to_bytes()[:-32]
    other = data[:16] + b"\x04" + data[17:]
    with pytest.raises(InputError, match="version 4"):
        Sketch.from_bytes(other + hashlib.sha256(other).digest())


@pytest.mark.parametrize("other", [Sketch(3), Sketch(digits=7), Sketch(classes=["a", "b"])])
def test_different_sketches_cannot_be_added(other):
    with pytest.raises(InputError, match="same"):
        Sketch() + other


@pytest.mark.parametrize(
    "probs, labels, message",
    [
        ([0.5, np.nan], [0, 1], "must be finite"),
        ([0.5, 1.5], [0, 1], r"must lie in \[0, 1\]"),
        ([0.5, 0.5], [0, 2], "labels must be 0 to 1"),
        ([0.5, 0.5], [0.0, np.nan], "must not be missing"),
        ([0.5, 0.5], [0], "one entry per row"),
        ([[0.2, 0.3, 0.5]], [0], "one or two columns"),
        ([[0.2, 0.3]], [0], "sum to 1"),
    ],
)
def test_bad_rows_are_refused(probs, labels, message):
    sketch = Sketch()
    with pytest.raises(InputError, match=message):
        sketch.update(probs, labels)
    assert sketch == Sketch()


def test_bad_rows_are_counted():
    probs, labels = [0.5, np.nan, 1.5, -3.0, 0.7, 0.0], [1.0, 0.0, 1.0, 0.0, np.nan, 1.0]
    sketch = Sketch().update(probs, labels, skip_bad=True)
    assert sketch.counters == Counters(rows=2, missing=2, outside=2, infinite=1)
    assert Sketch.from_bytes(sketch.to_bytes()).counters == sketch.counters
    assert (sketch + sketch).counters == Counters(rows=4, missing=4, outside=4, infinite=2)
    several = Sketch(3).update([[0.2, 0.3, 0.5], [0.2, 0.3, 0.2]], [2, 2], skip_bad=True)
    assert several.counters == Counters(rows=1, outside=1)


@pytest.mark.parametrize("settings", [{"n_classes": 1}, {"digits": 20}, {"digits": 2}, {"digits": 7.0}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match="must be"):
        Sketch(**settings)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, bool])
def test_arrays_that_need_no_copy_are_their_rows(dtype, kind):
    rng = np.random.default_rng(8)
    p = rng.random(150_000).astype(dtype)  # More than one block.
    p[:4] = 0, 1, 0.5, 0.1
    y = rng.random(len(p)) < p
    expected = Sketch().update(p.astype(float).tolist(), y.astype(int).tolist()).to_bytes()
    assert Sketch().update(p, y.astype(kind)).to_bytes() == expected
    apart = np.repeat(p, 2)[::2], np.repeat(y.astype(kind), 3)[::3]
    assert not apart[0].flags.c_contiguous
    assert Sketch().update(*apart, skip_bad=True).to_bytes() == expected


@pytest.mark.parametrize("bad", [np.nan, -0.5, 1.5])
def test_arrays_with_a_bad_number_are_refused_or_counted(bad):
    p, y = np.array([0.2, bad, 0.9], dtype=np.float32), np.array([0, 1, 1], dtype=np.int8)
    with pytest.raises(InputError, match="row 1"):
        Sketch().update(p, y)
    assert Sketch().update(p, y, skip_bad=True).n_samples == 2


def test_arrays_with_a_label_that_is_no_class_are_refused():
    with pytest.raises(InputError, match="labels"):
        Sketch().update(np.array([0.2, 0.9]), np.array([0, 2], dtype=np.int8))
