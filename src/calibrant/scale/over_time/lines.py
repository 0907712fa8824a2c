"""Lines of log-odds: their likelihood on cells, its derivatives, and the most likely one."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import softplus
from calibrant._core.logistic import LogisticLoss
from calibrant.exceptions import InputError
from calibrant.scale.over_time.cells import Cells


@dataclass(frozen=True, eq=False)
class Line:
    """Log-odds intercept + slope * x, with the inverse of the information about both and the log-likelihood."""

    intercept: float
    slope: float
    covariance: FloatArray
    log_likelihood: float

    def __call__(self, log_odds: FloatArray) -> FloatArray:
        """Return the line at given log-odds."""
        return self.intercept + self.slope * log_odds


def log_likelihood(fitted: FloatArray, cells: Cells) -> FloatArray:
    """Return the log-likelihood of fitted log-odds, whose last axis is that of the cells.

    Examples
    --------
    >>> one = Cells(np.zeros(1), count=np.array([3.0]), events=np.array([1.0]))
    >>> round(float(log_likelihood(np.zeros(1), one)), 4)  # 3 log(1/2)
    -2.0794
    """
    found: FloatArray = fitted @ cells.events - softplus(fitted) @ cells.count
    return found


def fit_line(cells: Cells, *, free: tuple[bool, bool] = (True, True)) -> Line | None:
    """Return the most likely line, or None where no finite one is.

    A coefficient that is not `free` stays at no change: intercept 0, slope 1.
    """
    if not _has_maximum(cells, free):
        return None
    design, total = np.stack([np.ones(len(cells.count)), cells.log_odds])[list(free)], cells.count.sum()
    loss = LogisticLoss(design, cells.events / total, cells.count / total, cells.log_odds)
    found = loss.minimum(np.zeros(len(design)))
    reached, _, curvature = loss(found.x)
    information = curvature * total
    if not found.converged or np.linalg.cond(information) > 1e12:
        return None
    return _line(found.x, information, free, -reached * total)


def _has_maximum(cells: Cells, free: tuple[bool, bool]) -> bool:
    """Return whether the likelihood has a finite maximum: both outcomes happen, and no threshold separates them."""
    ones, zeros = cells.log_odds[cells.events > 0], cells.log_odds[cells.events < cells.count]
    if not free[0]:  # The threshold is 0.
        return bool((ones < 0).any() or (zeros > 0).any()) and bool((ones > 0).any() or (zeros < 0).any())
    if not len(ones) or not len(zeros):
        return False
    return not free[1] or max(ones.min(), zeros.min()) < min(ones.max(), zeros.max())


def _line(point: FloatArray, information: FloatArray, free: tuple[bool, bool], reached: float) -> Line:
    coefficients, covariance = np.array([0.0, 1.0]), np.zeros((2, 2))
    coefficients[list(free)] += point
    covariance[np.ix_(free, free)] = np.linalg.inv(information)
    return Line(float(coefficients[0]), float(coefficients[1]), covariance, reached)


def require_line(cells: Cells, what: str) -> Line:
    """Return the most likely line, or refuse."""
    line = fit_line(cells) if cells.n_rows else None
    if line is None:
        raise InputError(
            f"{what} must have events, non-events and overlapping predictions, so that slope and intercept can be "
            f"estimated; it has {int(cells.events.sum())} events in {cells.n_rows} rows. Give more rows."
        )
    return line


def coefficients(cells: Cells) -> dict[str, float | None]:
    """Return the shift at slope 1 and the slope of the most likely line with standard errors, None where none is."""
    level, line = (fit_line(cells, free=free) if len(cells.count) else None for free in ((True, False), (True, True)))
    return {
        "shift": None if level is None else level.intercept,
        "shift_error": None if level is None else float(np.sqrt(level.covariance[0, 0])),
        "slope": None if line is None else line.slope,
        "slope_error": None if line is None else float(np.sqrt(line.covariance[1, 1])),
    }
