"""Calibrators fitted to the cells of a sketch, against fits to its rows."""

import re
from pathlib import Path

import numpy as np
import pytest

from calibrant.calibrators import CALIBRATORS
from calibrant.scale import Sketch
from scale_cases import SHAPES

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def fitted(method, probs, labels, weights=None):
    calibrator = CALIBRATORS[method]()
    return calibrator.fit(probs, labels, sample_weight=weights)


@pytest.mark.parametrize(
    "method, tolerance", {"ts": 1e-4, "platt": 1e-4, "beta": 1e-3, "isotonic": 0.02, "histogram": 0.01}.items()
)
@pytest.mark.parametrize("shape", ["smooth", "sure", "forest"])
def test_fits_agree_with_those_to_the_rows(shape, method, tolerance):
    p, y = SHAPES[shape](50_000, np.random.default_rng(0))
    p = np.clip(p.astype(float), 0.01, 0.99)  # Labels of probability 0 dominate a fit, and are warned of.
    cells = Sketch().update(p, y).one_vs_rest(1)
    grid = np.linspace(0.02, 0.98, 97)
    at = np.column_stack([1 - grid, grid])
    by_rows = fitted(method, np.column_stack([1 - p, p]), y.astype(int)).predict_proba(at)
    by_cells = fitted(method, cells.probs, cells.labels, cells.weights).predict_proba(at)
    assert np.abs(by_cells - by_rows).mean() <= (1e-7 if shape == "forest" else tolerance)


def test_the_example_of_the_page_runs(capsys):
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(code, {})  # noqa: S102 (our own page)
    assert capsys.readouterr().out.strip() == code.strip().splitlines()[-1].removeprefix("# ")
