"""Sentences about comparisons of models: how differences are judged, and which have no limits."""

from collections.abc import Callable
from functools import partial

from calibrant._border.numerals import count
from calibrant._border.text import capital
from calibrant.results.comparison import Comparison, Difference
from calibrant.results.estimate import Description
from calibrant.results.words.metrics import known_limits, missing_limits

PERCENTILES = (
    "by request, intervals are percentiles of the difference over the samples: of ECE and KDE-ECE they contained the "
    "true one in 1 to 100 of 100 simulated data sets, of log loss and Brier score in 66 to 96 (docs/coverage.md)"
)
"""Simulated coverage of percentiles of paired differences, from the smallest to the largest share of any setting."""


def of_metric(comparison: Comparison, metric: str) -> Description:
    """Return the description of a metric of a comparison."""
    return comparison.about.get(metric) or Description(label=metric)


def metric_label(comparison: Comparison, metric: str) -> str:
    """Return what a metric of a comparison is called."""
    return of_metric(comparison, metric).label


def missing_differences(comparison: Comparison, named: Callable[[str], str] = str) -> dict[str, list[str]]:
    """Return, for each reason, the metrics whose difference has no limits, with the models if not all are concerned.

    `named` writes the name of a metric.
    """
    others = [model for model in comparison.models if model != comparison.baseline]
    found: dict[str, list[str]] = {}
    for metric in comparison.metrics:
        by_model = ((model, comparison.entry(model, metric).difference) for model in others)
        for reason, models in missing_limits(by_model).items():
            which = "" if models == others else f" of {' and '.join(models)}"
            found.setdefault(reason, []).append(named(metric) + which)
    return found


def rule_in_words(comparison: Comparison) -> str:
    """Say how far the rule for judging differences can be trusted; an empty text for the valid rule."""
    return PERCENTILES if comparison.rule == "percentile" else ""


def limits_in_words(comparison: Comparison, drawn: str = "rows", named: Callable[[str], str] = str) -> str:
    """Say how the limits of differences were computed: by formulas, or by bootstrap samples of `drawn`.

    `named` writes the name of a metric.

    Examples
    --------
    >>> from calibrant import Predictions, compare
    >>> vague = Predictions([0.6, 0.6, 0.4, 0.4] * 10, labels=[1, 1, 0, 0] * 10)
    >>> sharp = Predictions([0.9, 0.8, 0.2, 0.1] * 10, labels=[1, 1, 0, 0] * 10)
    >>> limits_in_words(compare({"vague": vague, "sharp": sharp}, ["brier"]))
    'intervals by formulas for paired rows'
    """
    found = ((entry.metric, entry.difference) for entry in comparison.entries)
    methods = {metric: one.method for metric, one in found if one is not None and known_limits(one)}
    resampled = [named(metric) for metric, method in methods.items() if method == "percentile"]
    samples = f"{count(comparison.n_resamples)} bootstrap samples of {drawn}"
    if not resampled:
        return f"intervals by formulas for paired {drawn}"
    if len(resampled) == len(methods):
        return f"intervals by {samples}"
    return f"intervals by formulas for paired {drawn}, of {', '.join(resampled)} by {samples}"


def bandwidth_in_words(comparison: Comparison, named: Callable[[str], str] = str) -> str:
    """Say which metrics use the bandwidth of the baseline for all models.

    Examples
    --------
    >>> from calibrant import Predictions, compare
    >>> p = Predictions([0.6, 0.7, 0.4, 0.3] * 10, labels=[1, 1, 0, 0] * 10)
    >>> bandwidth_in_words(compare({"one": p, "other": p}, ["brier", "kde-ece"]))
    'kde-ece: with one bandwidth for all models, that of one'
    """
    shared = ", ".join(map(named, comparison.one_bandwidth))
    return f"{shared}: with one bandwidth for all models, that of {comparison.baseline}" if shared else ""


def judged_in_words(comparison: Comparison) -> str:
    """Say by which rule differences are judged or, for the default rule, which have no limits."""
    words = rule_in_words(comparison)
    if words:
        return f"{capital(words)}."
    return " ".join(
        f"No limits and no stars for {'; '.join(dict.fromkeys(what))}: {reason}."
        for reason, what in missing_differences(comparison, partial(metric_label, comparison)).items()
    )


def stars(difference: Difference | None, level: float) -> str:
    """Return "*" if the limits of a difference exclude 0, "**" if it is significant after Holm's adjustment too."""
    if difference is None or not difference.is_significant:
        return ""
    return "**" if difference.adjusted <= 1 - level else "*"
