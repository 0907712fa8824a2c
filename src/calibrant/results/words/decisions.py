"""Sentences about decisions, for the terminal and for the page."""

from collections.abc import Sequence
from functools import partial

from calibrant._border.numerals import as_given, between, count, counted, percent, pvalue, significant
from calibrant.results.base_rates import BaseRates, Population
from calibrant.results.decisions import BestThreshold, DecisionChange, DecisionCost, DecisionReport
from calibrant.results.selective import CoverageAtRisk
from calibrant.results.words.parts import smallest_pvalue

FEW = 12
"""Up to this number of distinct confidences, or classes, each is listed."""


PROBABILITIES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Probabilities whose change is shown as examples of what a base rate does."""


def base_rate_words(report: DecisionReport) -> str:
    """Say how a base rate has changed probabilities and weights.

    Examples
    --------
    >>> print(base_rate_words(DecisionReport(base_rate={"no": (0.5, 0.98), "yes": (0.5, 0.02)})))
    Probabilities and rows are moved to another base rate: class yes from 50% to 2%. This is right if the probabilities
    are calibrated here and each class looks the same there. A probability of 50% of class yes becomes 2%. Weights fix
    the share of each class, so tests and ranges by chance, which redraw labels, are only approximate: judge calibration
    at the base rate of the rows.
    """
    shown = [*report.base_rate.items()][len(report.base_rate) == 2 :][:FEW]
    words = ", ".join(f"class {name} from {percent(old)} to {percent(new)}" for name, (old, new) in shown)
    source = "" if report.population is None else f", estimated from {report.population.name}"
    return (
        f"Probabilities and rows are moved to another base rate: {words}{source}. This is right if the probabilities "
        f"are calibrated here and each class looks the same there. {_halved(report)}Weights fix the share of each "
        "class, so tests and ranges by chance, which redraw labels, are only approximate: judge calibration at the "
        "base rate of the rows."
    )


def _halved(report: DecisionReport) -> str:
    """Say what becomes of a probability of one half, if there are two classes."""
    if len(report.base_rate) != 2:
        return ""
    name, rates = list(report.base_rate.items())[1]
    return f"A probability of 50% of class {name} becomes {percent(moved_probability(0.5, *rates))}. "


def moved_probability(probability: float, old: float, new: float) -> float:
    r"""Return the probability of the second of two classes after its share has changed from `old` to `new`.

    It is :math:`p' = a / (a + b)` with :math:`a = p \, new / old` and :math:`b = (1 - p) (1 - new) / (1 - old)`.

    Examples
    --------
    >>> round(moved_probability(0.8, 0.3, 0.02), 12)
    0.16
    """
    yes, no = probability * new / old, (1 - probability) * (1 - new) / (1 - old)
    return yes / (yes + no)


def base_rate_rows(report: DecisionReport) -> list[tuple[str, str, str, str]]:
    """Return what a base rate changes: the name, the value here, the value there, and its limits if it was estimated.

    The rows are shares of classes and, for two classes, some probabilities.

    Examples
    --------
    >>> rows = base_rate_rows(DecisionReport(base_rate={"no": (0.5, 0.98), "yes": (0.5, 0.02)}))
    >>> rows[1], rows[2]
    (('Share of yes', '50%', '2%', ''), ('Probability of yes', '10%', '0.226%', ''))
    """
    ends = _ends(report)
    rows = [
        (f"Share of {name}", percent(old), percent(new), _between(ends[j]))
        for j, (name, (old, new)) in enumerate(report.base_rate.items())
    ]
    if len(rows) == 2:
        name, (old, new) = list(report.base_rate.items())[1]
        for p in PROBABILITIES:
            moved = None if ends[1] is None else [moved_probability(p, old, end) for end in ends[1]]
            rows.append(
                (f"Probability of {name}", percent(p), percent(moved_probability(p, old, new)), _between(moved))
            )
    return rows


def _ends(report: DecisionReport) -> list[list[float] | None]:
    """Return the limits of each share; None for shares without limits."""
    shares = None if report.population is None else report.population.shares
    if shares is None or shares.low is None or shares.high is None:
        return [None] * len(report.base_rate)
    return [list(ends) for ends in zip(shares.low.tolist(), shares.high.tolist(), strict=True)]


def _between(ends: Sequence[float] | None) -> str:
    return "" if ends is None else f"{percent(ends[0])} to {percent(ends[1])}"


FOUND = 0.05
"""If the p-value of the test of calibration is at most this, the estimate is doubtful."""


def population_words(report: DecisionReport) -> str:
    """Say how a base rate was estimated, and on what assumptions; an empty text if it was given.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.results import TestResult
    >>> value, around = np.array([0.98, 0.02]), np.array([0.01, 0.01])
    >>> shares = BaseRates(classes=("no", "yes"), value=value, low=value - around, high=value + around, level=0.95,
    ...     trained_rate=np.array([0.5, 0.5]), n_samples=3000, n_trained=400, assumption="")
    >>> new = Population(name="new.csv", shares=shares, test=TestResult(name="omnibus", statistic=1.0, pvalue=0.4))
    >>> print(population_words(DecisionReport(base_rate={"no": (0.5, 0.98), "yes": (0.5, 0.02)}, population=new)))
    Estimated from the 3,000 rows of new.csv, whose labels are not used, and the 400 here: class yes 2%, 1% to 3%
    (95% limits). It needs calibrated predictions: the test of calibration finds nothing against that here (p =
    0.4). Small errors matter: with log-odds a quarter too large, estimates were 3.6% on average where 2% was true.
    That each class looks the same there cannot be seen without labels.
    """
    found = report.population
    if found is None:
        return ""
    shares, ends = found.shares, _ends(report)
    limits = f" ({percent(shares.level)} limits)" if ends[0] is not None else ""
    first = int(len(ends) == 2)
    listed = ", ".join(
        f"class {name} {percent(new)}" + (f", {_between(ends[j])}{limits}" if ends[j] is not None else "")
        for j, (name, (_, new)) in list(enumerate(report.base_rate.items()))[first:][:FEW]
    )
    why = f" There are no limits: {shares.reason}." if shares.reason else ""
    rows = (
        f"the {counted(shares.n_samples)} of {found.name}, whose labels are not used, and the "
        f"{count(shares.n_trained or 0)} here"
    )
    return f"Estimated from {rows}: {listed}.{why} {_calibration_words(found)} {SENSITIVE}"


SENSITIVE = (
    "Small errors matter: with log-odds a quarter too large, estimates were 3.6% on average where 2% was true. That "
    "each class looks the same there cannot be seen without labels."
)


def _calibration_words(found: Population) -> str:
    p = pvalue(found.test.pvalue, smallest_pvalue(found.test))
    if found.test.pvalue > FOUND:
        return f"It needs calibrated predictions: the test of calibration finds nothing against that here ({p})."
    return (
        f"It needs calibrated predictions, which these are not (test of calibration here, {p}): the estimate and its "
        "limits can be far off. Calibrate both files first, with calibrant fit and calibrant apply."
    )


def base_rates_words(found: BaseRates) -> str:
    """Say what the estimated shares of the classes are.

    Examples
    --------
    >>> import numpy as np
    >>> value = np.array([0.5, 0.3, 0.2])
    >>> print(base_rates_words(BaseRates(classes=("a", "b", "c"), value=value, low=value - 0.1, high=value + 0.1,
    ...     level=0.95, trained_rate=value, n_samples=100, assumption="Each class looks as it did.")))
    Estimated from 100 rows, with 95% limits: a 50% (40% to 60%), b 30% (20% to 40%), c 20% (10% to 30%). Each class
    looks as it did.
    """
    limits = [""] * len(found.classes)
    if found.low is not None and found.high is not None:
        ends = zip(found.low.tolist(), found.high.tolist(), strict=True)
        limits = [f" ({percent(low)} to {percent(high)})" for low, high in ends]
    parts = [
        f"{name} {percent(value)}{around}"
        for name, value, around in zip(found.classes, found.value.tolist(), limits, strict=True)
    ]
    rest = f" and {len(parts) - FEW} more" if len(parts) > FEW else ""
    how = f", with {percent(found.level)} limits" if not found.reason else ""
    why = f" No limits: {found.reason}." if found.reason else ""
    listed = ", ".join(parts[:FEW])
    return f"Estimated from {counted(found.n_samples)}{how}: {listed}{rest}.{why} {found.assumption}"


def without_limits(cost: DecisionCost, change: DecisionChange | None) -> list[str]:
    """Say which numbers of a table of costs have no limits, and why: one sentence per reason.

    Examples
    --------
    >>> from calibrant.results import Interval
    >>> known = Interval(name="cost", value=0.3, low=0.2, high=0.4, level=0.95, method="hall")
    >>> unknown = Interval(name="", value=0.3, low=None, high=None, level=0.95, method="none", reason="too few rows")
    >>> without_limits(DecisionCost(threshold=0.1, best_if_calibrated=0.1, costs={}, cost=known, shares={},
    ...     treat_all=0.5, treat_none=1.0, over_all=unknown, over_none=unknown, exchange_rate=0.1, net_benefit=unknown,
    ...     net_benefit_of_all=0.5), None)
    ['No limits for the difference on all, the difference on none: too few rows.']
    """
    shown = {"the cost": cost.cost}
    if change is not None:
        shown |= {f"the cost after {change.method}": change.after, f"the difference after {change.method}": change.cost}
    shown |= {"the difference on all": cost.over_all, "the difference on none": cost.over_none}
    reasons = dict.fromkeys(interval.reason for interval in shown.values() if interval.reason)
    if len(reasons) == 1 and all(interval.reason for interval in shown.values()):
        return [f"No limits: {reason}." for reason in reasons]
    return [
        f"No limits for {', '.join(name for name, interval in shown.items() if interval.reason == reason)}: {reason}."
        for reason in reasons
    ]


def net_benefit_words(cost: DecisionCost) -> str:
    """Say what the net benefit of acting from the threshold on is.

    Examples
    --------
    >>> from calibrant.results import Interval
    >>> found = Interval(name="", value=-2.922, low=-3.146, high=-2.688, level=0.95, method="hall")
    >>> print(net_benefit_words(DecisionCost(threshold=0.01, best_if_calibrated=5 / 6, costs={}, cost=found, shares={},
    ...     treat_all=3.32, treat_none=0.34, over_all=found, over_none=found, exchange_rate=5.0, net_benefit=found,
    ...     net_benefit_of_all=-2.98)))
    Net benefit at 0.01: -2.922 (-3.146 to -2.688); acting on all -2.98, on none 0. By the costs, a false positive
    counts as much as 5 true positives.
    """
    found, digits = cost.net_benefit, partial(significant, digits=4)
    limits = between((found.low, found.high), digits)
    rate = f"{significant(cost.exchange_rate)} true positive{'' if cost.exchange_rate == 1 else 's'}"
    return (
        f"Net benefit at {significant(cost.threshold)}: {digits(found.value)}{f' ({limits})' if limits else ''}; "
        f"acting on all {digits(cost.net_benefit_of_all)}, on none 0. By the costs, a false positive counts as much as "
        f"{rate}."
    )


def few_confidences(n_distinct: int) -> str:
    """Say that coverage jumps because few distinct confidences occur.

    Examples
    --------
    >>> few_confidences(3), few_confidences(1)
    ('Only 3 distinct confidences occur: coverage jumps from one to the next.',
     'Only 1 distinct confidence occurs: all rows are answered, or none.')
    """
    what = counted(n_distinct, "distinct confidence")
    if n_distinct == 1:
        return f"Only {what} occurs: all rows are answered, or none."
    return f"Only {what} occur: coverage jumps from one to the next."


def clopper_pearson(n_rows: int) -> str:
    """Name the method of an upper limit of an error rate, given the number of answered rows.

    Examples
    --------
    >>> clopper_pearson(80)
    'exact, by Clopper and Pearson, from 79 rows: the row that sets the threshold is not counted'
    """
    return f"exact, by Clopper and Pearson, from {counted(n_rows - 1)}: the row that sets the threshold is not counted"


def guarantee_words(found: CoverageAtRisk) -> str:
    """Say which rows can be answered.

    Examples
    --------
    >>> print(guarantee_words(CoverageAtRisk(max_risk=0.05, confidence=0.95, threshold=0.9, coverage=0.8, count=80,
    ...     errors=0, risk=0.0, high=0.037, steps=(), n_samples=100, n_distinct=2)))
    Answer rows with a confidence of at least 0.9, 80% of them: with 95% confidence, at most 5% of such answers are
    wrong. Here 0 of 80 are, with an upper limit of 3.7% (exact, by Clopper and Pearson, from 79 rows: the row that sets
    the threshold is not counted).
    """
    if found.threshold is None or found.high is None:
        return f"No threshold can be promised with {percent(found.confidence)} confidence: {found.reason}."
    return (
        f"Answer rows with a confidence of at least {as_given(found.threshold)}, {percent(found.coverage)} of them: "
        f"with {percent(found.confidence)} confidence, at most {percent(found.max_risk)} of such answers are wrong. "
        f"Here {count(found.errors)} of {count(found.count)} are, with an upper limit of {percent(found.high)} "
        f"({clopper_pearson(found.count)})."
    )


def threshold_words(best: BestThreshold) -> str:
    """Say from which probability on to act, after a fix and without one.

    Examples
    --------
    >>> print(threshold_words(BestThreshold(target=0.05, value=0.02, low=0.01, high=0.04, level=0.95)))
    After a fix, act from 0.05 on; on the predictions as they are, act from 0.02 on (0.01 to 0.04), by logistic
    recalibration.
    """
    if best.value is None:
        return f"It cannot be told from where on to act on the predictions as they are: {best.reason}."
    limits = between((best.low, best.high), significant)
    return (
        f"After a fix, act from {significant(best.target)} on; on the predictions as they are, act from "
        f"{significant(best.value)} on{f' ({limits})' if limits else ''}, by logistic recalibration."
    )
