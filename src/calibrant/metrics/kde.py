"""Calibration errors with a kernel regression in place of bins."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from calibrant._core.line.boxes import Line
from calibrant._typing import Evaluator, FloatArray
from calibrant.bandwidth import Rule, Sample, choose_bandwidth
from calibrant.kernel_regression import (
    Boundary,
    KernelName,
    Sums,
    check_bandwidth,
    check_choice,
    kernel_sums,
    least_mass,
)
from calibrant.metrics.base import Metric
from calibrant.metrics.gaps import Gaps, grid_gaps, row_gaps
from calibrant.metrics.norms import check_norm, root
from calibrant.predictions import Predictions
from calibrant.results import Estimate

Isolated = Literal["drop", "zero"]
Form = Literal["loo", "integral"]

_LEAST_GRID, _MOST_GRID = 2**13, 2**20


@dataclass(frozen=True)
class KdeECE(Metric):
    r"""Calibration error with a kernel regression of the outcomes in place of bins (KDE-ECE).

    Parameters
    ----------
    kernel : {"gaussian", "triweight", "epanechnikov", "beta"}, default="gaussian"
        :math:`K_h(c, c') = k((c - c') / h)` with :math:`k(u) = e^{-u^2/2}`, :math:`(1 - u^2)^3` or :math:`1 - u^2` for
        :math:`|u| < 1`; or the density at c of the Beta distribution with parameters :math:`c'/h + 1` and
        :math:`(1 - c')/h + 1`, where h is a variance: the kernel is about :math:`\sqrt{h c (1 - c)}` wide.
    bandwidth : float or rule, default="cv"
        "cv" and "loo" minimise the negative log likelihood of the outcomes as predicted from the other four of five
        folds, or from all other rows; above 20 000 rows, in a part of these, and then the bandwidth is narrowed as
        :math:`n^{-1/5}`. "silverman" is :math:`1.06 \hat\sigma n^{-1/5}`, "silverman-robust"
        :math:`0.9 \min(\hat\sigma, \text{IQR} / 1.34) n^{-1/5}`, "mix-n-match" :math:`\hat\sigma_1 (2n)^{-1/5}` with
        the deviation of the predictions where the event happened, all as standard deviations of the kernel.
    boundary : {"reflect", "none"}, default="reflect"
        Whether the mirror images of the rows at 0 and at 1 count as neighbours; "mirror" is another name for "reflect".
        The Beta kernel needs none.
    norm : float, default=1
        The exponent d below: 2 gives the root mean square, as for `ECE`.
    isolated : {"drop", "zero"}, default="drop"
        Rows without neighbours are left out of the mean, or their frequency is taken as 0.
    form : {"loo", "integral"}, default="loo"
        The mean over rows of leave-one-out estimates, or the integral over the estimated density.

    Notes
    -----
    With :math:`\hat\pi_{-i}(c) = \sum_{j \ne i} w_j K_h(c, c_j) y_j / \sum_{j \ne i} w_j K_h(c, c_j)`,

    .. math:: \Big(\frac1W \sum_i w_i |\hat\pi_{-i}(c_i) - c_i|^d\Big)^{1/d}.

    A row is left out with its weight and its mirror images. It is isolated if its neighbours weigh less than 1e-9 rows
    of mean weight at distance 0; the details of the estimate hold the bandwidth and the number of isolated rows. If all
    rows are isolated, or there is only one, there is nothing to drop to, and their frequency is taken as 0.

    The integral form is :math:`(\int |\hat\pi(z) - z|^d \hat p(z) dz / \int \hat p(z) dz)^{1/d}` with the density
    :math:`\hat p(z) \propto \sum_j w_j K_h(z, c_j)` and no row left out. Mix-n-Match publishes it with a triweight
    kernel and the bandwidth "mix-n-match".

    It takes O(n log n), and differs from the double loop by less than 1e-9. It is biased upwards by chance, like `ECE`.
    The rules "cv", "loo" and "mix-n-match" look at the labels: a test that redraws these is exact with a number, or
    with one of Silverman's rules.

    References
    ----------
    J. Zhang, B. Kailkhura, T. Y.-J. Han, "Mix-n-Match: ensemble and compositional methods for uncertainty calibration
    in deep learning", ICML 2020; T. Popordanoska, R. Sayer, M. B. Blaschko, "A consistent and differentiable Lp
    canonical calibration error estimator", NeurIPS 2022; B. W. Silverman, "Density estimation", 1986.

    Examples
    --------
    >>> p = Predictions([0.5, 0.5, 0.6, 0.6], labels=[1, 1, 0, 0])
    >>> round(KdeECE("triweight", bandwidth=0.05)(p), 4)  # gaps 0.5, 0.5, 0.6, 0.6
    0.55
    """

    family = "smooth"
    accepts = "binary"
    measures = "calibration"
    kernel: KernelName = "gaussian"
    bandwidth: float | Rule = "cv"
    boundary: Boundary = "reflect"
    norm: float = 1
    isolated: Isolated = "drop"
    form: Form = "loo"

    def __post_init__(self) -> None:
        choices = {"kernel": KernelName, "boundary": Boundary, "isolated": Isolated, "form": Form}
        if isinstance(self.bandwidth, str):
            choices["bandwidth"] = Rule
        else:
            check_bandwidth(self.bandwidth)
        for name, known in choices.items():  # "Silverman" and "silverman" are one metric.
            object.__setattr__(self, name, check_choice(getattr(self, name), name, known))
        check_norm(self.norm, largest=False)

    @property
    def weights(self) -> Any:  # type: ignore[override]  # depends on a setting
        """The integral counts copies of a row as rows, the mean never makes a row a neighbour of its copies."""
        return "pairs" if self.form == "loo" else "frequency"

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Return the metric with the bandwidth that these predictions lead to, for use on others as well."""
        if not isinstance(self.bandwidth, str):
            return self
        self.check(predictions)
        view = self.view(predictions)
        sample = Sample.of(view.positive, view.labels.astype(float), view.weights)
        return replace(self, bandwidth=choose_bandwidth(sample, self.bandwidth, self.kernel, self.boundary))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; the bandwidth is that of the data's own weights."""
        outcomes = self.view(predictions).labels.astype(float)
        gaps = self._gaps(predictions)
        return lambda weights: root(gaps.of_weights(outcomes, weights), self.norm)

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from labels, (n, B), to B values: the neighbours stay, only their outcomes change."""
        view = self.view(predictions)
        target = 1 if view is predictions else predictions.predicted[:, None]
        gaps = self._gaps(predictions)
        return lambda labels: root(gaps.of_labels(labels == target, view.weights), self.norm)

    def details(self, predictions: Predictions) -> Mapping[str, Any]:
        """Give the bandwidth, and the number of rows without neighbours."""
        fitted = self.fit_bandwidth(predictions)
        details: dict[str, Any] = {"bandwidth": fitted.bandwidth}
        if self.form == "loo":
            sums = fitted._sums(predictions)  # noqa: SLF001 (its own class)
            weights = predictions.weights[:, None]
            least = least_mass(sums.peak(self.view(predictions).positive), weights)
            details["isolated"] = int(((sums.leave_one_out(weights) <= least) & (weights > 0)).sum())
        return details

    def estimate(self, data: Any) -> Estimate:
        """Return the value with its details; the bandwidth is chosen once for both."""
        self.check(data)
        fitted = self.fit_bandwidth(data)
        return Estimate(name=repr(self), value=fitted(data), details=fitted.details(data))

    def _sums(self, predictions: Predictions) -> Sums:
        positions = self.view(predictions).positive
        return kernel_sums(Line.of(positions), check_bandwidth(self.bandwidth), self.kernel, self.boundary)

    def _gaps(self, predictions: Predictions) -> Gaps:
        fitted = self.fit_bandwidth(predictions)
        sums = fitted._sums(predictions)  # noqa: SLF001 (its own class)
        if self.form == "integral":
            return grid_gaps(sums, _grid(check_bandwidth(fitted.bandwidth)), self.norm)
        return row_gaps(sums, self.view(predictions).positive, self.norm, drop=self.isolated == "drop")


def _grid(bandwidth: float) -> FloatArray:
    """Return points in [0, 1] that are close together compared with the bandwidth, where memory allows it."""
    return np.linspace(0, 1, 1 + int(np.clip(16 / bandwidth, _LEAST_GRID, _MOST_GRID)))
