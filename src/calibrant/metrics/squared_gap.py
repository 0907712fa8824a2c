"""The mean squared gap over bins, without the part that chance adds, and its root."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant._core.threads import in_order
from calibrant.binning import Binning, EqualMass
from calibrant.binning.class_sums import ClassEvents, class_sums
from calibrant.binning.sums import column_totals, joint_bin_totals
from calibrant.metrics.base.binned import LEAST_PAIRS, as_binning, rooted
from calibrant.metrics.base.counted import BinnedCells, CountedMetric
from calibrant.metrics.base.lift import Lift
from calibrant.metrics.base.metric import Metric, relative
from calibrant.metrics.lifts import PerPredictedClass
from calibrant.predictions import Predictions
from calibrant.results import Description, Estimate
from calibrant.results.words.metrics import UNPAIRED

SQUARED, ROOT = "Debiased squared error", "Debiased RMS error"


@dataclass(frozen=True)
class DebiasedSquaredGap(Metric):
    r"""Mean squared gap between prediction and frequency over bins, estimated from pairs of different rows.

    Parameters
    ----------
    bins : Binning, default=EqualMass(15)

    Notes
    -----
    With residuals :math:`r_i = y_i - p_i`, the weight :math:`W_b` of bin b out of W and its sum :math:`S_b` of squared
    weights,

    .. math:: T = \sum_b \frac{W_b}{W} \, \frac{\sum_{i \ne j \in b} w_i w_j r_i r_j}{W_b^2 - S_b}

    over bins with two rows or more. The squares of single residuals, which chance alone makes positive, do not enter.
    So T is unbiased: for calibrated predictions it is 0 on average, and it may be negative. A constant factor of the
    weights changes nothing. By default the bins hold equal shares of the rows, because bins of equal width would put
    all rows of a rare event into one bin. Its `Root` is in units of a probability.

    Given more than two classes, it means `TopLabel` of itself.

    References
    ----------
    C. A. T. Ferro, T. E. Fricker, "A bias-corrected decomposition of the Brier score", Quarterly Journal of the Royal
    Meteorological Society 138 (2012); A. Kumar, P. Liang, T. Ma, "Verified uncertainty calibration", NeurIPS 2019.

    Examples
    --------
    >>> p = Predictions([0.5] * 4, labels=[1, 1, 1, 0])  # residuals 1/2, 1/2, 1/2, -1/2: six pairs that add up to 0
    >>> DebiasedSquaredGap()(p)
    0.0
    """

    label = SQUARED
    meaning = (
        "Mean squared gap between prediction and frequency, without the part that chance adds; it has valid "
        "confidence limits."
    )
    family = "binned"
    methods = ("debiased",)
    accepts = "binary"
    measures = "calibration"
    weights = "pairs"
    bins: Binning = EqualMass(15)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_binning(self.bins, EqualMass))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; the bins are cut once, at the data's own weights."""
        view = self.view(predictions)
        cut = self.bins.cut_view(view)
        residuals = view.labels - view.positive
        ones = np.ones(view.n_samples)
        sums = joint_bin_totals(cut, np.column_stack([ones, residuals]))
        squares = joint_bin_totals(cut, np.column_stack([ones, residuals**2]))

        def evaluate(weights: FloatArray) -> FloatArray:
            weights = relative(weights)
            mass, gaps = sums(weights)
            own, own_gaps = squares(view.squares(weights))
            return _mean_square(weights.sum(axis=0), mass, mass**2 - own, gaps**2 - own_gaps)

        return evaluate

    def prepare_events(self, view: Predictions) -> Evaluator:
        """Return the map from events, (n, B), to B values: only the residuals change."""
        of_events, weights = self._of_events(view), relative(view.weights)[:, None]
        values = np.hstack([weights, _of_an_event(weights, view.positive[:, None])])
        happened = joint_bin_totals(self.bins.cut_view(view), values)
        return lambda events: of_events(happened(events))

    def prepare_classes(self, predictions: Predictions) -> Evaluator:
        """Return the map from class indices, (n, B), to values of every class against the rest, (K, B)."""
        views, weights = [*map(predictions.one_vs_rest, range(predictions.n_classes))], relative(predictions.weights)
        values = [weights[:, None], _of_an_event(weights[:, None], predictions.probs)]
        events = ClassEvents.of([*in_order(self.bins.cut_view, views)], values)
        parts = [*in_order(self._of_events, views)]
        return lambda labels: np.array([part(sums) for part, sums in zip(parts, events.sums(labels), strict=True)])

    def _of_events(self, view: Predictions) -> Evaluator:
        """Return the map from two sums over the events of each bin, (2, n_bins, B), to B values."""
        cut, weights = self.bins.cut_view(view), relative(view.weights)[:, None]
        mass, predicted = joint_bin_totals(cut, np.column_stack([np.ones(view.n_samples), view.positive]))(weights)
        own, squares = joint_bin_totals(cut, np.column_stack([np.ones(view.n_samples), view.positive**2]))(weights**2)
        total = weights.sum(axis=0)

        def evaluate(sums: FloatArray) -> FloatArray:
            hits, more = sums
            return _mean_square(total, mass, mass**2 - own, (hits - predicted) ** 2 - (squares + more))

        return evaluate

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return the map from event counts in cells of rows, (C, B), to B values."""
        rows = BinnedCells.of(predictions, self.bins.cut_view(predictions))
        if rows is None:
            return None
        weights, probs = rows.weights, rows.cells.probs
        mass, predicted = rows.totals(weights), rows.totals(weights * probs)
        pairs, squares = mass**2 - rows.totals(weights**2), rows.totals((weights * probs) ** 2)
        hits, more = rows.sums(weights), rows.sums(weights**2 * (1 - 2 * probs))

        def evaluate(counts: FloatArray) -> FloatArray:
            products = (hits(counts) - predicted) ** 2 - (squares + more(counts))
            return _mean_square(np.array(rows.total), mass, pairs, products)

        return CountedMetric(rows.cells, evaluate)

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights, from sums that are cached with the predictions."""
        self.check(data)
        view = self.view(data)
        return float(_mean_square(relative(view.weights).sum(keepdims=True), *self._sums(view))[0])

    def _sums(self, view: Predictions) -> FloatArray:
        """Return the sums in each bin for `_mean_square`, (3, n_bins, 1)."""
        return view.once(("squared gap", self.bins), lambda: self._summed(view))

    def _summed(self, view: Predictions) -> FloatArray:
        cut, weights, residuals = self.bins.cut_view(view), relative(view.weights), view.labels - view.positive
        squares = view.squares(weights)
        columns = (weights, squares, weights * residuals, squares * residuals**2)
        mass, own, gaps, own_gaps = column_totals(cut, *columns)[:, :, None]
        return np.array([mass, mass**2 - own, gaps**2 - own_gaps])

    def class_values(self, predictions: Predictions) -> FloatArray:
        """Return the value of every class against the rest, (K,)."""
        return predictions.once(("class values", self), lambda: self._class_values(predictions))

    def _class_values(self, predictions: Predictions) -> FloatArray:
        bins = self.bins
        if not isinstance(bins, EqualMass) or bins.convention != "calibrant" or not _are_plain(predictions):
            return super().class_values(predictions)
        values = []
        for mass, predicted, squares, hits, more in class_sums(predictions, bins.n_bins):
            products = (hits - predicted) ** 2 - (squares + more)  # The square of y - p is p^2 + (1 - 2 p) y.
            values.append(_mean_square(np.array(predictions.n_samples), mass, mass**2 - mass, products))
        return np.concatenate(values)

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the number of bins that hold weight, and whether no two rows share one: T is then 0."""
        mass, pairs, _ = self._sums(self.view(predictions))
        unpaired = {} if (pairs > LEAST_PAIRS * mass**2).any() else {UNPAIRED: True}
        return {"bins_used": int((mass > 0).sum()), **unpaired}


@dataclass(frozen=True)
class Root(Lift):
    r"""The root of a squared error, :math:`\sqrt{\max(m, 0)}`.

    Parameters
    ----------
    metric : Metric
        A metric whose estimate may be negative by chance, such as `DebiasedSquaredGap`, or a lift of it: classes are
        averaged before the root is taken.

    Notes
    -----
    The details of the estimate hold the square with its sign.

    Examples
    --------
    >>> p = Predictions([0.8, 0.8, 0.8], labels=[0, 0, 0])
    >>> round(Root(DebiasedSquaredGap())(p), 4)
    0.8
    """

    metric: Metric

    def about(self) -> Description:
        """Return the description that readers see."""
        inner = self.metric.about()
        label = inner.label.replace(SQUARED, ROOT)
        meaning = inner.meaning.replace("Mean squared gap", "Root-mean-square gap").replace(SQUARED, ROOT)
        return replace(inner, label=label, meaning=meaning, principal=not isinstance(self.metric, PerPredictedClass))

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights."""
        return float(rooted(self.metric.value(data)))

    def describe(self, data: Predictions) -> Estimate:
        """Return the value with its details, which hold its square: nothing is computed twice."""
        self.check(data)
        squared = self.metric.describe(data)
        roots = {name: float(rooted(value)) for name, value in squared.details.get("classes", {}).items()}
        details = {**squared.details, **({"classes": roots} if roots else {}), "squared": squared.value}
        return Estimate(name=repr(self), value=float(rooted(squared.value)), details=details, about=self.about())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        squared = self.metric.prepare(predictions)
        return lambda weights: rooted(squared(weights))

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from labels, (n, B), to B values."""
        squared = self.metric.prepare_labels(predictions)
        return lambda labels: rooted(squared(labels))

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return the map from event counts in cells of rows to values, if the metric has one."""
        squared = self.metric.prepare_counts(predictions)
        return (
            None if squared is None else CountedMetric(squared.cells, lambda counts: rooted(squared.evaluate(counts)))
        )

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the square with its sign, and the root of the value of each class."""
        return self.describe(predictions).details


def _are_plain(predictions: Predictions) -> bool:
    return predictions.copies is None and not predictions.is_weighted


def _of_an_event(weights: FloatArray, probs: FloatArray) -> FloatArray:
    """Return what an event adds to w^2 (y - p)^2, which is w^2 (p^2 + (1 - 2 p) y)."""
    found = -2 * probs
    found += 1
    found *= weights**2
    return found


def _mean_square(total: FloatArray, mass: FloatArray, pairs: FloatArray, products: FloatArray) -> FloatArray:
    """Return T from the weight of all rows, (B,), and the sums in each bin, (n_bins, B).

    The sums are those of the weights, of the weights of pairs of different rows, and of these weights times the product
    of the two residuals.
    """
    several = pairs > LEAST_PAIRS * mass**2
    squared = np.divide(products, pairs, out=np.zeros_like(products), where=several)
    return np.asarray((mass * squared).sum(axis=0) / total)
