"""What limits require of the data for known coverage."""

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np

from calibrant._border.numerals import as_given, percent, significant
from calibrant._border.types import FloatArray
from calibrant.forecasts import Forecasts
from calibrant.intervals.kernel import has_little_scatter, has_short_lengthscale, is_known
from calibrant.intervals.squared_gaps import are_filled, parts_of
from calibrant.metrics import SKCE, Classwise, CoxIntercept, CoxSlope, Metric, Root
from calibrant.metrics.selective import SelectiveMetric
from calibrant.predictions import Predictions, effective_rows
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.smoothing.logistic_line import has_no_best_line


class Fewest(NamedTuple):
    """The number of wrong rows that must be expected from the predictions, and the number that must be observed.

    At least the share `part` of the expected number must be observed, unless `unless` rows are. If such a rule is met
    by chance only, the few limits that are given miss; so methods that cover without this rule do not have it.
    """

    expected: int
    observed: int
    part: float = 0.0
    unless: int = 0


FEWEST: Mapping[str, Fewest] = {
    "wilson": Fewest(10, 4),
    "debiased": Fewest(10, 4, 0.4, 20),
    "hall": Fewest(15, 10),
    "sandwich": Fewest(15, 10),
    "law": Fewest(50, 25),
}
"""Wrong rows that limits by each method need."""

FEWEST_OF_EITHER = Fewest(15, 4)
"""Wrong rows that at least one of two models needs for limits of their difference."""

MANY = 50
"""With this many wrong rows observed, the expected number does not matter."""

FEWEST_DIFFERENT = 20
"""Least number of rows that differ in their score, for limits of a difference of means that are not shares."""

FEWEST_CLUSTERS = 30
"""Least number of clusters, if rows come in clusters."""

FEWEST_PAIRED = 1000
"""Least number of rows for limits of kernel calibration errors."""

MOST_PAIRED = 2 * 10**9
"""Largest n^2 K for limits of kernel calibration errors: beyond it they would take seconds."""

MOST_PAIRED_CLASSES = 2 * 10**7
"""Largest n K^2 for limits of an average over classes, whose time grows with it."""

SEPARATED = (
    "a threshold on the predictions separates the outcomes, or almost does, or all predictions are equal: no one line "
    "is best"
)
"""Why slope and intercept are undetermined."""

ONE_OUTCOME = "only one of the two outcomes occurs"
"""Why the other metrics with influences are undetermined; the outcomes of areas are right and wrong answers."""

INDEPENDENT = "they are for independent rows, not for clusters"
CLUSTERS = f"at least {FEWEST_CLUSTERS} clusters are needed"
DIFFERENT = f"at least {FEWEST_DIFFERENT} rows must differ in their score"


def what_is_missing(method: str, metric: Metric, data: object, bootstrap: Bootstrap) -> str:
    """Say what limits by the method need for known coverage and these data lack; empty if they lack nothing."""
    if isinstance(data, Forecasts):
        return CLUSTERS if not has_clusters(bootstrap) else missing_for_forecasts(method, metric, data)
    if not isinstance(data, Predictions):
        return "their coverage was simulated for rows of predictions and forecasts only"
    if method in ("debiased", "law") and bootstrap.clusters is not None:
        return INDEPENDENT
    if not has_clusters(bootstrap):
        return CLUSTERS
    if has_unequal_weights(data):
        return UNEQUAL
    return _missing_for_law(metric, data) if method == "law" else _too_few_rows(method, metric, data)


def _missing_for_law(metric: Metric, data: Predictions) -> str:
    if data.n_samples < FEWEST_PAIRED:
        return f"at least {FEWEST_PAIRED} rows are needed, but there are {data.n_samples}"
    if not isinstance(metric, SKCE) or not is_known(metric, data):
        return "limits need the unbiased estimate from single rows of equal weight, in one block, no random features"
    if not metric.sorts_pairs(data) and data.n_samples**2 * data.n_classes > MOST_PAIRED:
        return "its distribution, a sum over all pairs of rows, takes too long for this many rows"
    if has_short_lengthscale(metric, data):
        return "its lengthscale is far below the median distance of the predictions"
    missing = too_few_wrong(data, FEWEST["law"])
    if not missing and has_little_scatter(metric, data):
        return "the labels scatter less than the predictions say, so limits would be too wide"
    return missing


def _too_few_rows(method: str, metric: Metric, data: Predictions) -> str:
    fewest = FEWEST[method]
    # A wrong answer of low confidence may not be a wrong row; for answers, both outcomes are counted below.
    missing = "" if isinstance(metric, SelectiveMetric) else too_few_wrong(data, fewest)
    if missing or method == "debiased":
        return missing or too_thin(metric, data)
    if method != "sandwich":
        return ""
    short = [rows for rows in rows_of_outcomes(metric.view(data)) if not rows.suffice(fewest)]
    if short:
        kind = "wrong and right answers" if isinstance(metric, SelectiveMetric) else "rows of the rarer outcome"
        return _sentence(fewest, kind, data, min(short))
    return undetermined(data, metric)


def undetermined(data: Predictions, metric: Metric) -> str:
    """Say why the data do not determine a finite value of a metric with influences; empty if they do."""
    view = metric.view(data)
    if isinstance(metric, (CoxSlope, CoxIntercept)):
        return SEPARATED if has_no_best_line(view) else ""
    hits = view.labels[view.weights > 0] == 1
    return ONE_OUTCOME if hits.all() or not hits.any() else ""


def rows_of_outcomes(view: Predictions) -> "list[Rows]":
    """Return the expected and observed number of rows of each of two outcomes."""
    return view.once(
        "rows of both outcomes",
        lambda: [Rows.of(view, expected, view.labels == label) for label, expected in enumerate(view.probs.T)],
    )


def has_unequal_weights(data: Predictions) -> bool:
    """Return whether few rows determine the variance, kept with the predictions."""
    return data.once("unequal weights", lambda: _are_unequal(data.row_weights, data.copies), of_labels=False)


def _are_unequal(weights: FloatArray, copies: FloatArray | None = None) -> bool:
    r"""Return whether few rows determine the variance, a sum over squared weights.

    Their effective number is :math:`(\sum w_i^2)^2 / \sum w_i^4`, which is that of all rows if weights are equal.
    """
    squares = (weights / weights.max()) ** 2
    copies = np.ones(len(squares)) if copies is None else copies
    rows = copies @ (squares > 0)
    return float((copies @ squares) ** 2 / (copies @ squares**2)) < min(FEWEST_WEIGHTED, rows) * (1 - 1e-9)


def has_clusters(bootstrap: Bootstrap) -> bool:
    """Return whether there are enough clusters, or none."""
    return bootstrap.clusters is None or len(np.unique(np.asarray(bootstrap.clusters))) >= FEWEST_CLUSTERS


def too_few_wrong(data: Predictions, fewest: Fewest) -> str:
    """Say if fewer rows than needed are wrong, meaning that the label is not the most probable class; else empty.

    The expected number decides, not the observed one: limits given only if many rows happen to be wrong would miss too
    often. Some of the expected rows must be observed, to support what the predictions claim.
    """
    rows = data.once("wrong rows", lambda: Rows.of(data, 1 - data.probs.max(axis=1), data.predicted != data.labels))
    if not rows.suffice(fewest):
        return _sentence(fewest, "wrong rows", data, rows)
    if rows.observed >= min(fewest.unless, fewest.part * rows.expected):
        return ""
    found = (
        f"less than {as_given(fewest.part)} of the expected number of wrong rows is observed, and fewer than "
        f"{fewest.unless}"
    )
    return f"{found}{_effective(data, rows)}"


def too_thin(metric: Metric, data: Predictions) -> str:
    """Say if bins hold too few rows for debiased limits, or if these take too long; else empty."""
    is_average = isinstance(metric.metric if isinstance(metric, Root) else metric, Classwise)
    if is_average and data.n_samples * data.n_classes**2 > MOST_PAIRED_CLASSES:
        return "an average over this many classes and rows takes too long"
    filled = data.once(("filled bins", metric), lambda: are_filled(parts_of(metric, data)))
    return "" if filled else "its bins hold too few rows: more rows or fewer bins are needed"


def _sentence(fewest: Fewest, kind: str, data: Predictions, rows: "Rows") -> str:
    expected, observed = (math.floor(10 * number) / 10 for number in rows)  # 14.99 is less than 15, and looks it.
    counted = " (in rows of equal weight)" if data.is_weighted else ""
    return (
        f"at least {fewest.expected} {kind} must be expected from the predictions and {fewest.observed} observed, or "
        f"{MANY} observed, but {as_given(expected)} are expected and {as_given(observed)} observed{counted}"
    )


def _effective(data: Predictions, rows: "Rows") -> str:
    """Give the effective numbers if weights make them differ from plain counts."""
    if not data.is_weighted:
        return ""
    return (
        f" (by the weights, as many as {significant(rows.expected)} and {significant(rows.observed)} rows of "
        "equal weight)"
    )


class Rows(NamedTuple):
    """Expected and observed number of rows of a kind; with weights, in units of Kish's effective number."""

    expected: float
    observed: float

    @classmethod
    def of(cls, data: Predictions, expected: FloatArray, observed: object) -> Self:
        """Count the rows of a kind, given the probability that each is one, and whether it is."""
        shares = data.weights / data.weights.sum()
        rows = 1 / float(data.squares(shares).sum())
        return cls(round(rows * float(shares @ expected), 6), round(rows * float(shares @ observed), 6))

    def suffice(self, fewest: Fewest) -> bool:
        """Return whether there are enough."""
        return self.observed >= MANY or (self.expected >= fewest.expected and self.observed >= fewest.observed)


FEWEST_OUTSIDE = 4
"""Least number of targets outside the interval, for limits of its coverage."""

FEWEST_WEIGHTED = 20
"""Least effective number of rows by squared weights."""

FAR, MOST_SURPRISING = (0.001, 0.0001), 0.05
"""Two-sided probabilities beyond which a target is far outside its forecast, and the probability under calibration of
the observed number of such targets below which log scores have no limits."""

KERNEL = "the coverage of limits of kernel errors was simulated for predictions of classes only"
UNEQUAL = f"the weights are so unequal that fewer than {FEWEST_WEIGHTED} rows determine the variance"


def missing_for_forecasts(method: str, metric: Metric, data: Forecasts) -> str:
    """Say what limits by the method need for known coverage and these forecasts lack; empty if they lack nothing."""
    from calibrant.metrics.forecasts.metric import ForecastMetric
    from calibrant.metrics.forecasts.scores import LogScore

    if not isinstance(metric, ForecastMetric):
        return KERNEL
    if _are_unequal(data.weights):
        return UNEQUAL
    rows, needed = effective_rows(data.weights), metric.rows_for_limits
    if rows < needed * (1 - 1e-9):
        return f"at least {needed} rows are needed, but there are {significant(rows, 4)}"
    if method == "wilson" and (1 - metric(data)) * rows < FEWEST_OUTSIDE - 1e-6:
        return f"at least {FEWEST_OUTSIDE} targets must lie outside the intervals, but fewer do"
    return _missing_for_log_score(data, rows) if isinstance(metric, LogScore) else ""


def _missing_for_log_score(data: Forecasts, rows: float) -> str:
    """Say if too many targets are far outside their forecasts; else empty.

    The scores of such targets have tails too heavy for any formula. A rule based on the scores themselves would give
    limits exactly where the largest scores are missing by chance, so the rule is based on transforms. In `studies` it
    is judged by how often limits are given and wrong, since limits that remain after any refusal cover less.
    """
    if not data.distribution.has_cdf:
        return "their coverage was simulated for univariate distributions only"
    from scipy.special import pdtr

    transforms = data.distribution.cdf(data.targets)
    for level in FAR:
        far = np.minimum(transforms, 1 - transforms) < level / 2
        found = round(rows * float(data.weights @ far / data.weights.sum()), 6)
        if found and pdtr(np.ceil(found) - 1, rows * level) >= 1 - MOST_SURPRISING:
            lie = "target lies" if found == 1 else "targets lie"
            beyond = f"{significant(found, 4)} {lie} beyond {percent(1 - level)} of the forecast"
            return f"{beyond}, more than chance allows, and few such targets determine the value"
    return ""
