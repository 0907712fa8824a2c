"""What isotonic regression finds in rows lies between what it finds in cells and a bound that the details state."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Predictions, assess
from calibrant.assessment import many_rows
from calibrant.metrics import METRICS, Discrimination
from calibrant.metrics.score_parts import AT_MOST, at_most
from calibrant.scale import Sketch, assess_sketch
from scale_cases import SHAPES

NAMES = ("miscalibration", "miscalibration-log", "discrimination", "discrimination-log")


def judged(p, y, weights=None, digits=None):
    settings = {"sections": ("metrics",), "metrics": NAMES, "n_resamples": 19, "rng": 0}
    return assess_sketch(Sketch(digits=digits).update(p, y, weights), **settings).metrics


@pytest.mark.parametrize("shape", ["smooth", "rare", "sure", "forest", "half"])
def test_rows_lie_between_cells_and_the_bound(shape):
    p, y = SHAPES[shape](200_000, np.random.default_rng(0))
    rows = Predictions(p, y)
    for name, one in judged(p, y).items():
        exact = METRICS[name](rows)
        # Scores of cells are taken at their mean predictions: 1e-3 of the least of these values.
        assert one.value <= exact * (1 + 1e-3), name
        assert one.details[AT_MOST] >= exact * (1 - 1e-9), name
        if shape == "forest":  # Ties are exact, and the bound says so.
            assert one.details[AT_MOST] == pytest.approx(exact, rel=1e-6), name


@pytest.mark.parametrize("seed", [0, 1])
def test_cells_lose_at_most_a_fiftieth_of_the_miscalibration_of_a_million_rows(seed):
    """With nine digits 2.0 to 2.4 % are lost, as the order of the rows within a cell is."""
    p, y = SHAPES["smooth"](1_000_000, np.random.default_rng(seed))
    sketch, name = Sketch().update(p, y), "miscalibration"
    assert METRICS[name](sketch.one_vs_rest(1)) == pytest.approx(METRICS[name](Predictions(p, y)), rel=0.02)


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.booleans())
def test_few_wide_cells_and_weights(seed, n, weighted):
    """Two cells of three binary digits hold all rows, so that their order matters a lot."""
    rng = np.random.default_rng(seed)
    p, y = np.round(rng.uniform(0.40, 0.49, n), rng.integers(2, 5)), rng.integers(0, 2, n)
    weights = rng.integers(1, 5, n) / 2 if weighted else None
    rows = Predictions(p, y, weights)
    for name, one in judged(p, y, weights, digits=3).items():
        assert one.details[AT_MOST] >= METRICS[name](rows) - 1e-8, name


def test_the_bound_is_reached_by_one_of_all_orders():
    """Two cells of three and four rows: every order of their labels is tried."""
    first, second = (0, 1, 1), (0, 0, 1, 1)
    values = {
        METRICS["discrimination"](Predictions(np.linspace(0.3, 0.6, 7), [*a, *b]))
        for a in set(permutations(first))
        for b in set(permutations(second))
    }
    mass, hits = np.array([1.0, 2.0, 2.0, 2.0]), np.array([0.0, 2.0, 0.0, 2.0])
    assert at_most(Discrimination(), mass, hits, {}) == pytest.approx(max(values))
    pooled = Predictions([0.4] * 3 + [0.5] * 4, [*first, *second])
    assert METRICS["discrimination"](pooled) == pytest.approx(min(values))


def test_many_rows_in_memory_say_it_too(monkeypatch):
    monkeypatch.setattr(many_rows, "MANY_ROWS", 20_000)
    p, y = SHAPES["smooth"](20_000, np.random.default_rng(1))
    rows = Predictions(p, y)
    found = assess(rows, sections=("metrics",), metrics=NAMES, n_resamples=19, rng=0)
    assert found.settings["cells"]
    for name, one in found.metrics.items():
        assert one.value <= METRICS[name](rows) * (1 + 1e-3)
        assert one.details[AT_MOST] >= METRICS[name](rows)
