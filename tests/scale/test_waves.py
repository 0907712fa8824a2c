"""Random waves in a sketch: integers from any split, cosines as they are, and the kernel error within its own error."""

import math
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest

from calibrant import InputError, Predictions, assess
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import SKCE
from calibrant.scale import GroupedSketch, Sketch
from calibrant.scale.wave_sums import BLOCKS
from calibrant.scale.waves import Waves, cauchy, cosines_and_sines, estimate, words
from scale_cases import classes

GOLDEN = Path(__file__).parent / "golden"


def test_the_generator_is_splitmix64():
    """The first numbers of its sequence from the seed 0, as in the reference code of its authors."""
    assert words(3).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert words(2, start=1).tolist() == words(3)[1:].tolist()


def test_numbers_are_of_the_cauchy_law():
    found = np.quantile(cauchy(100_000), [0.1, 0.25, 0.5, 0.75, 0.9])
    expected = np.tan(np.pi * (np.array([0.1, 0.25, 0.5, 0.75, 0.9]) - 0.5))
    # Four standard errors of a quantile: sqrt(q (1 - q) / n) times pi (1 + x^2).
    error = 4 * np.sqrt(0.25 / 1e5) * np.pi * (1 + expected**2)
    assert np.all(np.abs(found - expected) < error)


def test_cosines_and_sines():
    angles = np.concatenate([words(1000), np.arange(0, 2**64, 2**61, dtype=np.uint64)])
    cosine, sine = cosines_and_sines(angles)
    exact = [2 * math.pi * (int(angle) / 2**64) for angle in angles]
    error = 2 * math.pi * 2**-17 + 2**-16  # Of an angle, and of the rounded value.
    assert np.abs(cosine / 2**15 - [math.cos(x) for x in exact]).max() < error
    assert np.abs(sine / 2**15 - [math.sin(x) for x in exact]).max() < error
    assert (cosine[-8:].tolist(), sine[-8:].tolist()) == (
        [32768, 23170, 0, -23170, -32768, -23170, 0, 23170],
        [0, 23170, 32768, 23170, 0, -23170, -32768, -23170],
    )


def test_sums_are_those_of_the_definition():
    p, y = classes(40, 3, np.random.default_rng(0))
    waves = Waves(3, 5, 0.7)
    sums = waves.empty()
    waves.add(sums, p, y)
    turns = waves.frequencies[:, :-1].view(np.int64) / 2.0**33
    expected = np.zeros((10, 3))
    for row, label in zip(p, y, strict=True):
        residual = np.eye(3)[label] - row
        angle = 2 * np.pi * (row @ turns)
        expected += np.outer(np.concatenate([np.cos(angle), np.sin(angle)]), residual)
    assert np.abs(sums.waves.sum(axis=0) / 2**30 - expected).max() < 40 * 1e-4
    assert sums.squares.sum() / 2**30 == pytest.approx(np.sum((np.eye(3)[y] - p) ** 2), rel=1e-3)
    assert (sums.rows.sum(), (sums.rows > 0).sum() > BLOCKS // 2) == (40, True)


@pytest.mark.parametrize("k, n, features", [(3, 4000, 64), (4, 3000, 200), (10, 3000, 128)])
def test_the_error_is_within_its_own(k, n, features):
    p, y = classes(n, k, np.random.default_rng(k))
    exact = SKCE(ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel())(Predictions(p, y))
    found = Sketch(k, features=features).update(p, y).skce()
    assert abs(found.value - exact) < 4 * found.details["monte_carlo_error"]
    assert found.details["monte_carlo_error"] < 0.2 * exact
    assert abs(found.details["block_mean"] - found.value) < 4 * found.details["block_error"]


def test_any_split_gives_the_same_bytes():
    rng = np.random.default_rng(1)
    p, y = classes(500, 4, rng)
    p = p.astype(np.float32)
    whole = Sketch(4, features=8).update(p, y)
    for _ in range(4):
        parts = np.split(rng.permutation(500), np.sort(rng.integers(0, 501, 6)))
        found = reduce(add, [Sketch(4, features=8).update(p[rows], y[rows]) for rows in parts])
        assert found.to_bytes() == whole.to_bytes() == Sketch.from_bytes(found.to_bytes()).to_bytes()
    assert found.skce().value == whole.skce().value


def test_sums_with_weights_are_exact():
    """Against whole numbers of any size: each row's own sums, without weights, times its weight."""
    rng = np.random.default_rng(4)
    p, y = classes(60, 3, rng)
    units = np.concatenate([rng.integers(1, 2**40, 50), [1, 2**40, 2**20, 2**13, 2**13 - 1, 3, 2**26, 2**39, 5, 7]])
    waves = Waves(3, 5, 0.7)
    found = waves.empty().weighted()
    waves.add(found, p, y, units)
    expected = np.zeros((BLOCKS, 10, 3), dtype=object)
    squares, pairs = np.zeros(BLOCKS, dtype=object), np.zeros(BLOCKS, dtype=object)
    for i, unit in enumerate(units.tolist()):
        alone = waves.empty()
        waves.add(alone, p[i : i + 1], y[i : i + 1])
        expected += alone.waves.astype(object) * unit
        squares += alone.squares.astype(object) * unit**2
        pairs += alone.rows.astype(object) * unit**2
    assert np.array_equal(found.waves[0].astype(object) * 2**40 + found.waves[1].astype(object), expected)
    assert 0 <= found.waves[1].min() <= found.waves[1].max() < 2**40
    assert found.squares.tolist() == squares.tolist()
    assert (found.pairs.tolist(), found.rows.sum()) == (pairs.tolist(), units.sum())


def test_weights_mean_that_a_pair_weighs_their_product():
    rng = np.random.default_rng(3)
    p, y = classes(3000, 3, rng)
    w = rng.uniform(0, 3, 3000) ** 2 + 0.01
    exact = SKCE(ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel())(Predictions(p, y, w))
    found = Sketch(3, features=128).update(p, y, w).skce()
    assert abs(found.value - exact) < 4 * found.details["monte_carlo_error"]
    assert found.details["monte_carlo_error"] < 0.2 * exact
    assert abs(found.details["block_mean"] - found.value) < 4 * found.details["block_error"]
    plain, twice = (Sketch(3, features=16).update(p, y, weights).skce() for weights in (None, np.full(3000, 2.0)))
    assert twice.value == pytest.approx(plain.value, rel=1e-9)


def test_any_split_with_weights_gives_the_same_bytes():
    rng = np.random.default_rng(5)
    p, y = classes(300, 4, rng)
    w = np.where(rng.random(300) < 0.5, 1.0, rng.uniform(0, 4, 300))
    w[:100] = 1.0  # Some parts have no weights but 1.
    whole = Sketch(4, features=8).update(p, y, w)
    for _ in range(2):
        parts = [np.arange(100), *np.split(100 + rng.permutation(200), np.sort(rng.integers(0, 201, 4)))]
        rng.shuffle(parts)
        sketches = [Sketch(4, features=8).update(p[rows], y[rows], w[rows]) for rows in parts]
        found = reduce(add, sketches)
        assert found.to_bytes() == whole.to_bytes() == Sketch.from_bytes(found.to_bytes()).to_bytes()
    groups = np.repeat(["a", "b"], 150)
    grouped = GroupedSketch(Sketch(4, features=8)).update(p[:200], y[:200], groups[:200], w[:200])
    grouped.update(p[200:], y[200:], groups[200:], w[200:])
    assert grouped.total() == whole
    assert whole.to_bytes()[16] == 3
    assert Sketch(4, features=8).update(p, y).to_bytes()[16] == 2


def test_version_3_is_read_for_ever():
    found = Sketch.from_bytes((GOLDEN / "weighted-waves-v3.sketch").read_bytes())
    rows = [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]], [0, 2, 2], [1.0, 0.5, 3.0]
    assert (found.n_samples, found.total_weight) == (3, 4.5)
    assert found == Sketch(3, digits=9, features=2).update(*rows)
    assert found.to_bytes() == (GOLDEN / "weighted-waves-v3.sketch").read_bytes()


def test_assess_takes_it():
    p, y = classes(2000, 3, np.random.default_rng(2))
    sketch = Sketch(3, features=32).update(p, y)
    found = assess(sketch, sections=("metrics",), metrics=("skce", "ece"), n_resamples=99, rng=0)
    assert found.metrics["skce"].value == sketch.skce().value == estimate(sketch._waves).value


def test_refusals():
    with pytest.raises(InputError, match="no random waves"):
        Sketch(3).skce()
    with pytest.raises(InputError, match="same waves"):
        Sketch(3) + Sketch(3, features=8)
    with pytest.raises(InputError, match="more than two classes"):
        Sketch(2, features=8)
    with pytest.raises(InputError, match="lengthscale"):
        Sketch(3, features=8, lengthscale=0.0)
