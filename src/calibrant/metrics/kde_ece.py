"""Calibration errors with a kernel regression in place of bins."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant._core.quantiles import median
from calibrant._core.threads import in_order
from calibrant.binning.ties import comparable, line_of
from calibrant.metrics.base.metric import ClassRows, Metric, SharedBandwidths, Weights, check_norm, root
from calibrant.predictions import Predictions
from calibrant.results import Description
from calibrant.smoothing.bandwidth import Rule, as_bandwidth, limits_of_search
from calibrant.smoothing.gaps import Gaps, grid_gaps, plain_gaps, row_gaps, share_of_rows
from calibrant.smoothing.kernel_regression import (
    Boundary,
    CopiedSums,
    KernelName,
    Sums,
    check_bandwidth,
    check_choice,
    kernel_sums,
)
from calibrant.smoothing.sample import Sample

Isolated = Literal["drop", "zero"]
Form = Literal["loo", "integral"]

_LEAST_GRID, _MOST_GRID = 2**13, 2**20

MOST_SEARCHED_CLASSES = 32
"""With more classes than this, a searched bandwidth is shared by all classes."""

SEARCHED_CLASSES = 15
"""Number of classes on which a shared bandwidth is searched; all classes take the median."""


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
    rows are isolated, or there is only one, none is dropped, and their frequency is taken as 0.

    The integral form is :math:`(\int |\hat\pi(z) - z|^d \hat p(z) dz / \int \hat p(z) dz)^{1/d}` with the density
    :math:`\hat p(z) \propto \sum_j w_j K_h(z, c_j)` and no row left out. Mix-n-Match publishes it with a triweight
    kernel and the bandwidth "mix-n-match".

    With more than 32 classes, "cv" and "loo" choose one bandwidth. `Classwise` takes the median of those of 15 classes,
    at equal steps in the order of their expected frequency; `PerPredictedClass` that of confidence against correctness,
    widened to the :math:`n_k` rows of a class by :math:`(n / n_k)^{1/5}`. The details of the estimate hold it.

    The cells of a sketch stand for many rows, of which one is left out at a time.

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

    label = "KDE-ECE"
    meaning = "As ECE, with the frequency among rows of similar prediction in place of bins."
    family = "smooth"
    accepts = "binary"
    measures = "calibration"
    kernel: KernelName = "gaussian"
    bandwidth: float | Rule = "cv"
    boundary: Boundary = "reflect"
    norm: float = 1
    isolated: Isolated = "drop"
    form: Form = "loo"

    def about(self) -> Description:
        """Return the description that readers see."""
        return replace(super().about(), principal=self.norm == 1)

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
    def weights(self) -> Weights:  # type: ignore[override]  # depends on a setting
        """The integral counts copies of a row as rows; in the mean, a row is never a neighbour of its copies."""
        return "pairs" if self.form == "loo" else "frequency"

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Return the metric with the bandwidth chosen on these predictions, so that it can be applied to others."""
        if not isinstance(self.bandwidth, str):
            return self
        self.check(predictions)
        return replace(self, bandwidth=self._bandwidth(self.view(predictions)))

    def _bandwidth(self, view: Predictions) -> float:
        return as_bandwidth(self.bandwidth, view, self.kernel, self.boundary)

    def fit_shared_bandwidth(self, predictions: Predictions, rows: ClassRows) -> SharedBandwidths | None:
        """Choose a shared bandwidth for more than 32 classes, if the rule searches; see the notes."""
        if self.bandwidth not in ("cv", "loo") or predictions.n_classes <= MOST_SEARCHED_CLASSES:
            return None
        choose = self._of_all_rows if rows == "all" else self._of_predicted_rows
        return predictions.once(("together", self, rows), lambda: choose(predictions))

    def _of_all_rows(self, predictions: Predictions) -> SharedBandwidths:
        """Search on a few classes, at equal steps in the order of their expected frequency."""
        frequencies = np.average(predictions.probs, axis=0, weights=predictions.weights)
        expected = np.argsort(comparable(frequencies), kind="stable")
        some = expected[np.linspace(0, len(expected) - 1, SEARCHED_CLASSES).round().astype(int)].tolist()
        widths = in_order(lambda c: self._bandwidth(predictions.one_vs_rest(c)), some)
        bandwidth = median(np.array(list(widths)))
        members = (replace(self, bandwidth=bandwidth),) * predictions.n_classes
        return SharedBandwidths(members, {"bandwidth": bandwidth})

    def _of_predicted_rows(self, predictions: Predictions) -> SharedBandwidths:
        whole = self._bandwidth(predictions.top_label())
        present = predictions.weights > 0
        counts = np.bincount(predictions.predicted[present], minlength=predictions.n_classes)
        # The rule by which a bandwidth is narrowed if there are more rows than are searched.
        growth = (present.sum() / np.maximum(counts, 1)) ** (0.4 if self.kernel == "beta" else 0.2)
        widest = limits_of_search(Sample.of_view(predictions.top_label()), self.kernel)[1]
        widths = np.minimum(whole * growth, widest).tolist()
        members = tuple(replace(self, bandwidth=h) if c else self for h, c in zip(widths, counts.tolist(), strict=True))
        return SharedBandwidths(members, {"bandwidth": whole})

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; the bandwidth is that of the data's own weights."""
        outcomes = self.view(predictions).labels.astype(float)
        gaps = self._gaps(predictions)
        return lambda weights: root(gaps.of_weights(outcomes, weights), self.norm)

    def prepare_events(self, view: Predictions) -> Evaluator:
        """Return the map from events, (n, B), to B values: the neighbours stay the same, only outcomes change."""
        gaps = self._gaps(view)
        return lambda events: root(gaps.of_labels(events, view.weights), self.norm)

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the bandwidth, and the number of rows without neighbours."""
        view = self.view(predictions)
        details: dict[str, object] = {"bandwidth": self._bandwidth(view)}
        if self.form == "loo":
            details["isolated"] = self._measured(view)[1]
        return details

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights."""
        self.check(data)
        view = self.view(data)
        return self._measured(view)[0] if self.form == "loo" else super().value(view)

    def _measured(self, view: Predictions) -> tuple[float, int]:
        """Return the value of binary predictions and the number of rows without neighbours, from the same sums."""
        return view.once(("leave one out", self), lambda: self._measure(view))

    def _measure(self, view: Predictions) -> tuple[float, int]:
        sums, weights = self._sums(view), view.weights[:, None]
        gaps = plain_gaps(sums, view.positive, self.norm, drop=self.isolated == "drop", share=share_of_rows(view))
        hits, mass = np.hsplit(sums.leave_one_out(np.hstack([weights * view.labels[:, None], weights])), 2)
        isolated = gaps.are_isolated(mass, weights) & (weights > 0)
        return float(root(gaps.values(hits, mass, weights), self.norm)[0]), int(isolated.sum())

    def class_values(self, predictions: Predictions) -> FloatArray:
        """Return the value of every class against the rest, (K,), with the bandwidths that are chosen for them."""
        shared = self.fit_shared_bandwidth(predictions, "all")
        members = shared.members if shared else (self,) * predictions.n_classes

        def value(c: int) -> float:
            return members[c](predictions.one_vs_rest(c))

        found = in_order(value, range(predictions.n_classes))
        return predictions.once(("class values", self), lambda: np.array(list(found)))

    def _sums(self, view: Predictions) -> Sums:
        sums = kernel_sums(line_of(view), self._bandwidth(view), self.kernel, self.boundary)
        return sums if view.copies is None else CopiedSums(sums, view.positive, view.copies)

    def _gaps(self, predictions: Predictions) -> Gaps:
        view = self.view(predictions)
        sums = self._sums(view)
        share = share_of_rows(view)
        if self.form == "integral":
            return grid_gaps(sums, _grid(self._bandwidth(view)), self.norm, share=share)
        return row_gaps(sums, view.positive, self.norm, drop=self.isolated == "drop", share=share)


def _grid(bandwidth: float) -> FloatArray:
    """Return points in [0, 1] that are close together compared with the bandwidth, where memory allows it."""
    return np.linspace(0, 1, 1 + int(np.clip(16 / bandwidth, _LEAST_GRID, _MOST_GRID)))
