"""Random waves in a sketch: integers from any split, cosines as they are, and the kernel error within its own error."""

import math
from functools import reduce
from operator import add

import numpy as np
import pytest

from calibrant import InputError, Predictions, assess
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import SKCE
from calibrant.scale import Sketch
from calibrant.scale.waves import BLOCKS, Waves, cauchy, cosines_and_sines, estimate, words
from scale_cases import classes


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
    with pytest.raises(InputError, match="weight 1"):
        Sketch(3, features=8).update([[0.2, 0.3, 0.5]], [1], [2.0])
