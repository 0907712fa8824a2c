"""Smooth calibration error: residuals smoothed by a reflected Gaussian whose width equals the error."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._border.numerals import significant
from calibrant._border.types import BoolArray, Evaluator, FloatArray, RowIndex
from calibrant._core.threads import in_order
from calibrant.exceptions import InputError
from calibrant.metrics.base.metric import Metric
from calibrant.predictions import Predictions
from calibrant.smoothing.cosine_series import NARROWEST, cosine_sums, errors, fixed_points, resolution

if TYPE_CHECKING:
    from scipy.sparse import csc_array

FEW_CELLS, FEW_ROWS = 5_000_000, 250_000
"""Up to this many numbers and rows are moved to the grid without SciPy's sparse matrix: its import takes longer."""

CELLS = 2**14
"""Residuals are moved to the points j / CELLS."""

AT_ONCE = 20
"""Number of columns whose bandwidths one thread searches together: more do not fit into the cache."""

ROWS_AT_ONCE = 2**16
"""Number of rows moved to the grid together: few enough to stay in the cache."""


@dataclass(frozen=True)
class SmoothECE(Metric):
    r"""Smooth calibration error, smECE: residuals smoothed along the predictions, integrated without sign.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        Standard deviation of the Gaussian. "auto": the one that equals the error it gives.

    Notes
    -----
    With the Gaussian density :math:`\varphi_\sigma` reflected at 0 and 1,
    :math:`K_\sigma(t, p) = \sum_{k \in \mathbb Z} \varphi_\sigma(t - p - 2k) + \varphi_\sigma(t + p - 2k)`,

    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Big| \frac1W \sum_i w_i (p_i - y_i) K_\sigma(t, p_i) \Big| \, dt.

    This falls as :math:`\sigma` grows, so there is one :math:`\sigma` with :math:`\mathrm{smECE}_\sigma = \sigma`: the
    value. It lies between :math:`|\bar p - \bar y|` and the ECE with a bin for each distinct prediction. Under new
    weights or labels the bandwidth is found again.

    The kernel is :math:`1 + 2 \sum_k e^{-(\pi k \sigma)^2 / 2} \cos(\pi k t) \cos(\pi k p)`. The sums of
    :math:`\cos(\pi k p_i)` are computed from residuals that cubic interpolation moves to a grid of spacing
    :math:`h = 2^{-14}`, reflected at both ends as the kernel is, so that predictions of exactly 0 and 1 keep all of
    their weight. This changes :math:`\mathrm{smECE}_\sigma` by at most :math:`0.09 (h / \sigma)^4` times the mean
    absolute residual (:math:`10^{-10}` of it at :math:`\sigma = 0.01`), and the integral adds less than
    :math:`10^{-8}` of the value, for bandwidths down to 0.001. Fixed points below :math:`2^{-16}` are given as
    :math:`\mathrm{smECE}_\sigma` at this width, which is not above them.

    References
    ----------
    J. Błasiok, P. Nakkiran, "Smooth ECE: principled reliability diagrams via kernel smoothing", ICLR 2024.

    Examples
    --------
    >>> p = Predictions([1.0] * 50 + [0.6] * 50, labels=[1] * 50 + [0] * 50)  # All residuals have one sign.
    >>> round(SmoothECE()(p), 9), round(SmoothECE(bandwidth=0.05)(p), 9)
    (0.3, 0.3)
    """

    label = "Smooth ECE"
    meaning = "As ECE, with a kernel smoother whose width fits the size of the error."
    principal = True
    family = "smooth"
    accepts = "binary"
    measures = "calibration"
    bandwidth: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if self.bandwidth == "auto":
            return
        number = isinstance(self.bandwidth, (int, float)) and not isinstance(self.bandwidth, bool)
        if not number or not NARROWEST <= self.bandwidth <= 1e6:
            raise InputError(
                f'bandwidth must be "auto" or a number from {significant(NARROWEST, 2)} to 1e6, but is '
                f"{self.bandwidth!r}."
            )

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights."""
        self.check(data)
        view = self.view(data)
        return view.once(("smooth", self), lambda: self._value(view))

    def _value(self, view: Predictions) -> float:
        residuals = (view.positive - view.labels) * (view.weights / view.weights.sum())

        def on_grid(part: slice) -> FloatArray:
            points, factors = _stencil(view.positive[part])
            factors *= residuals[part, None]
            return np.asarray(np.bincount(points.ravel(), weights=factors.ravel(), minlength=CELLS + 1), dtype=float)

        blocks = [slice(first, first + ROWS_AT_ONCE) for first in range(0, len(residuals), ROWS_AT_ONCE)]
        gridded = sum(in_order(on_grid, blocks), start=np.zeros(CELLS + 1))
        return float(self._each(gridded[None], np.abs(residuals).sum(keepdims=True))[0])

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; grid points and factors are computed once."""
        view = self.view(predictions)
        spread = _spread(view.positive)
        residuals = view.positive - view.labels
        gaps = np.abs(residuals)
        residuals = residuals[:, None]

        def evaluate(weights: FloatArray) -> FloatArray:
            total = weights.sum(axis=0)
            return self._each(spread(weights * residuals) / total[:, None], gaps @ weights / total)

        return evaluate

    def prepare_events(self, view: Predictions) -> Evaluator:
        """Return the map from events, (n, B), to B values; grid points and factors are computed once."""
        p, share = view.positive, view.weights / view.weights.sum()
        points, factors = _stencil(p)
        factors *= share[:, None]
        no_events = np.bincount(points.ravel(), weights=(factors * p[:, None]).ravel(), minlength=CELLS + 1)
        events_on_grid = _events_on_grid(points, factors)
        # An event changes the absolute residual of its row from p to 1 - p.
        gap, change = share @ p, share * (1 - 2 * p)

        def evaluate(events: BoolArray) -> FloatArray:
            gridded = no_events - np.array(list(in_order(events_on_grid, events.T)))
            return self._each(gridded, np.maximum(gap + change @ events, 0.0))

        return evaluate

    def _each(self, gridded: FloatArray, gaps: FloatArray) -> FloatArray:
        """Return B errors, given residuals on the grid, (B, CELLS + 1), and mean absolute residuals, (B,)."""
        parts = [slice(first, first + AT_ONCE) for first in range(0, len(gaps), AT_ONCE)]
        found = in_order(lambda part: self._some(cosine_sums(gridded[part]), gaps[part]), parts)
        return np.concatenate(list(found))

    def _some(self, waves: FloatArray, gaps: FloatArray) -> FloatArray:
        if self.bandwidth == "auto":
            return fixed_points(waves, gaps)
        widths = np.full(len(gaps), float(self.bandwidth))
        return errors(waves, widths, int(resolution(widths)[0]))


def _spread(values: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the map from columns, (n, B), to the grid, (B, CELLS + 1), each row moved to four points around it."""
    points, factors = _stencil(values)

    @cache
    def matrix() -> "csc_array":
        from scipy.sparse import csc_array

        # With one integer type for both index arrays SciPy makes no copy.
        ends = np.arange(0, 4 * len(values) + 1, 4, dtype=np.int32 if len(values) < 2**29 else np.int64)
        return csc_array((factors.ravel(), points.ravel(), ends), shape=(CELLS + 1, len(values)))

    def spread(columns: FloatArray) -> FloatArray:
        if columns.size > FEW_CELLS or len(columns) > FEW_ROWS:
            return np.asarray(matrix() @ columns).T
        found = np.empty((columns.shape[1], CELLS + 1))
        for b, column in enumerate(columns.T):
            moved = (factors * column[:, None]).ravel()
            found[b] = np.bincount(points.ravel(), weights=moved, minlength=CELLS + 1)
        return found

    return spread


def _events_on_grid(points: NDArray[np.int32], factors: FloatArray) -> Callable[[BoolArray], FloatArray]:
    """Return the map from events, (n,), to the sums of the factors of rows with the event at each grid point."""

    def sums(rows: RowIndex) -> FloatArray:
        found = np.bincount(points[rows].ravel(), weights=factors[rows].ravel(), minlength=CELLS + 1)
        return np.asarray(found, dtype=float)

    everything = sums(slice(None))

    def of_events(events: BoolArray) -> FloatArray:
        if 2 * np.count_nonzero(events) <= len(events):
            return sums(np.flatnonzero(events))
        return everything - sums(np.flatnonzero(~events))

    return of_events


def _stencil(values: FloatArray) -> tuple[NDArray[np.int32], FloatArray]:
    """Return the four grid points around each value, (n, 4), and the factors of cubic interpolation at them.

    Points beyond 0 and 1 are replaced by their mirror images.
    """
    scaled = values * CELLS
    below = np.minimum(scaled.astype(np.int32), CELLS - 1)
    f = scaled - below
    factors = np.empty((len(values), 4))
    product = f * (1 - f)
    np.multiply(product, (f - 2) / 6, out=factors[:, 0])
    np.multiply((1 - f) * (1 + f), (2 - f) / 2, out=factors[:, 1])
    np.multiply(f * (1 + f), (2 - f) / 2, out=factors[:, 2])
    np.multiply(product, -(1 + f) / 6, out=factors[:, 3])
    points = below[:, None] + np.arange(-1, 3, dtype=np.int32)
    np.abs(points, out=points)
    np.subtract(CELLS, np.abs(CELLS - points), out=points)
    return points, factors
