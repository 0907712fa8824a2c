"""One exact test that sees many kinds of errors: several statistics of the same redraws, one p-value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from calibrant._border.checks import check_count
from calibrant._border.types import FloatArray, IntArray, Progress, Rng
from calibrant.hypotest.base import CalibrationTest
from calibrant.hypotest.evidence import (
    ClassEvidence,
    Evidence,
    ImpossibleEvidence,
    KernelEvidence,
    LineEvidence,
    Part,
    RankedEvidence,
)
from calibrant.hypotest.evidence.base import SPREAD
from calibrant.hypotest.evidence.redraws import redrawn_statistics
from calibrant.hypotest.finding.evidence import LEVEL, with_names
from calibrant.hypotest.finding.facts import corrected_direction, facts_of
from calibrant.predictions import Predictions
from calibrant.results import Description, TestResult

TIE = 1e-10
"""Statistics that differ by less than this share of the largest are equal: sums of the same terms round differently."""


class Combined(NamedTuple):
    """What several statistics of a pool together say about its first member.

    Attributes
    ----------
    pvalue : float
        Share of the pool whose mean is as small as that of the first.
    means : ndarray of shape (N,)
        Harmonic mean of the p-values of every member.
    part : int
        The statistic by which the first member is most extreme.
    """

    pvalue: float
    means: FloatArray
    part: int


def combined_pvalue(statistics: FloatArray) -> Combined:
    r"""Compare the harmonic mean of the first column's rank p-values with that of every column.

    Parameters
    ----------
    statistics : ndarray of shape (m, N)
        m statistics of N members of a pool, the first of which was observed. Large values are extreme.

    Notes
    -----
    The rank p-value of member j by statistic s is :math:`p_{sj} = \#\{k : s_k \ge s_j\} / N`, itself included. That of
    the member that leads by a statistic, 1 / N, is divided by :math:`(1 + g)^2`, where g is how far it is ahead of the
    next, in standard deviations of the pool: otherwise members that lead by one statistic each could not be told apart,
    and 1 / N would hardly ever be reached. With :math:`q_j = m / \sum_s 1 / p_{sj}` the p-value is
    :math:`\#\{k : q_k \le q_0\} / N`. All of this treats the members alike, so that the p-value is valid if they are
    exchangeable; ties count against rejection.

    The harmonic mean is close to the smallest p-value, over m, where one statistic stands out, and smaller where
    several do. So it finds an error that several see about as well as each by itself.

    References
    ----------
    P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley 1993; D. J. Wilson, "The harmonic mean
    p-value for combining dependent tests", PNAS 116 (2019).

    Examples
    --------
    >>> combined_pvalue(np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 9.0]])).pvalue  # 3 and 9 lead, 9 by far
    0.5
    """
    counts, n = at_or_above(statistics), statistics.shape[1]
    inverse = n / counts * np.where(counts == 1, (1 + _leads(statistics)[:, None]) ** 2, 1.0)
    totals = inverse.sum(axis=0)
    deepest = np.lexsort([depth(statistics)[:, 0], inverse[:, 0]])[-1]
    as_extreme = totals >= (1 - TIE) * totals[0]
    return Combined(float(as_extreme.mean()), len(statistics) / totals, int(deepest))


def at_or_above(statistics: FloatArray) -> IntArray:
    """Return how many of a row are at or above each entry, up to rounding.

    Examples
    --------
    >>> at_or_above(np.array([[0.5, 2.0, 0.5]])).tolist()
    [[3, 1, 3]]
    """
    counts = np.empty(statistics.shape, dtype=np.int64)
    for count, row in zip(counts, statistics, strict=True):
        below = np.searchsorted(np.sort(row), row - TIE * np.abs(row).max(), side="left")
        count[:] = len(row) - below
    return counts


def depth(statistics: FloatArray) -> FloatArray:
    """Return how many standard deviations of its row each entry lies above the mean; 0 where all are equal."""
    centred = statistics - statistics.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True))
    least = TIE * np.abs(statistics).max(axis=1, keepdims=True)
    return np.where(deviation > least, centred / np.where(deviation > 0, deviation, 1.0), 0.0)


def _leads(statistics: FloatArray) -> FloatArray:
    """Return how far the largest of every row is ahead of the next, in standard deviations of the row."""
    largest = np.partition(depth(statistics), -2, axis=1)[:, -2:]
    return np.asarray(largest[:, 1] - largest[:, 0])


@dataclass(frozen=True)
class OmnibusTest(CalibrationTest):
    r"""Is anything wrong with the predictions, of many things that may be? One p-value, exact at every sample size.

    Parameters
    ----------
    n_resamples : int, default=999
        Number of redraws B.

    Notes
    -----
    The predictions are kept and the labels redrawn from them B times. Several statistics that need no fit to the labels
    are computed of the observed labels and of every redraw. Each gives every member of this pool of B + 1 its rank
    p-value, divided by :math:`(1 + g)^2` for the member that leads by g standard deviations; the test's statistic is
    the harmonic mean of a member's, which is ruled by the smallest, and its p-value the share of the pool whose mean is
    as small (`combined_pvalue`). If the rows are independent and every label really
    is drawn from its row of probabilities, the pool is exchangeable and the p-value exact, whatever the weights, which
    are kept fixed. Each row is one independent draw, regardless of its weight; a row of weight 0 is absent.

    Two classes: "bias", "slope", "spiegelhalter" and "ecce" of the probability of class 1 (`LineEvidence`). More
    classes: the "slope" of all, the largest "class bias" and "class slope" (`ClassEvidence`), "skce" (`KernelEvidence`)
    and "top-label ece" (`RankedEvidence`). In any case "impossible labels", of a predicted probability of 0. The set
    was chosen by simulation: more statistics see more kinds of errors, and each of them less sharply.

    The ``statistic`` is the harmonic mean of the observed labels' rank p-values, ``null`` those of the redraws:
    **small** values are extreme. With the lead of the observed labels it may be far below 1 / (B + 1), and it is no
    p-value. The details hold ``parts``, a mapping from the name of each part to its ``statistic``, rank ``pvalue`` (not
    adjusted for the number of parts), ``direction`` and ``class``, where there are such; ``found_by``, the part with
    the smallest p-value, of several the one that says most about the error; ``revealed_by``, the same in the words of
    the verdict, empty if the p-value is above 0.05; ``also``, the same of statistics that do not decide but help to
    say what is wrong; and ``smallest_pvalue``, 1 / (B + 1).

    A part has a direction only if its own p-value is at most 0.05. A mean that is wrong turns the scores of the slope
    and of the spread as well; then their direction is what is left once the mean is corrected, if that is beyond 1.96
    standard errors.

    References
    ----------
    P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley 1993.

    Examples
    --------
    >>> p = Predictions([0.9] * 40, labels=[0, 1] * 20)
    >>> result = OmnibusTest(n_resamples=99)(p, rng=0)
    >>> result.pvalue, result.details["parts"]["bias"]["direction"]
    (0.01, 'too high')
    """

    cells: ClassVar[bool] = True
    takes_forecasts: ClassVar[bool] = False
    n_resamples: int = 999

    def about(self) -> Description:
        """Return how it is presented."""
        return Description(
            label="Omnibus",
            meaning="Bias, slope, every class, and with less power other shapes, in one p-value; the verdict uses it.",
            caution="Exact for independent rows.",
        )

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")

    def run(self, data: Predictions, rng: Rng, progress: Progress | None) -> TestResult:
        """Run the test."""
        if not isinstance(data, Predictions):
            raise TypeError(f"OmnibusTest tests Predictions, but got {type(data).__name__}.")
        evidence = gather(data)
        observed = [found[:, 0] for one in evidence for found in one.components(data.labels[:, None])]
        pool = [np.array([[np.abs(found).max()] for found in observed])]
        pool += redrawn_statistics(data, evidence, self.n_resamples, np.random.default_rng(rng), progress)
        parts = [part for one in evidence for part in one.parts]
        return with_names(self._judge(parts, observed, np.concatenate(pool, axis=1), data), data)

    def _judge(
        self, parts: Sequence[Part], observed: Sequence[FloatArray], pool: FloatArray, data: Predictions
    ) -> TestResult:
        """Compare the first column of the pool with all, and describe every part of it."""
        pvalues = at_or_above(pool)[:, 0] / pool.shape[1]
        described = [_described(*each, data) for each in zip(parts, observed, pvalues, strict=True)]
        decides = np.array([part.decides for part in parts])
        found = combined_pvalue(pool[decides])
        deciding, others = (
            {part.name: each for part, each in zip(parts, described, strict=True) if part.decides == wanted}
            for wanted in (True, False)
        )
        return TestResult(
            name=repr(self),
            statistic=float(found.means[0]),
            pvalue=found.pvalue,
            null=found.means[1:],
            details={
                "smallest_pvalue": 1 / (1 + self.n_resamples),
                "found_by": list(deciding)[found.part],
                "parts": deciding,
                "also": others,
            },
        )


def gather(view: Predictions) -> tuple[Evidence, ...]:
    """Prepare all evidence about predictions whose rows have positive weights."""
    weights = view.weights / view.weights.max()
    impossible = ImpossibleEvidence.of(view, weights)
    if view.n_classes == 2:
        return LineEvidence.of(view, weights), impossible
    kinds = (ClassEvidence, RankedEvidence, KernelEvidence)
    return (*(kind.of(view, weights) for kind in kinds), impossible)


def _described(part: Part, components: FloatArray, pvalue: float, data: Predictions) -> Mapping[str, Any]:
    """Say how far a part of the observed labels goes, and which way."""
    largest = int(np.abs(components).argmax())
    direction = part.words.get(int(np.sign(components[largest]))) if pvalue <= LEVEL else None
    if direction is not None and part.of_shape:
        direction = _direction_of_shape(part, data.one_vs_rest(largest) if part.by_class else data, direction)
    return {
        "statistic": float(np.abs(components[largest])),
        "pvalue": float(pvalue),
        "direction": direction,
        "class": data.classes[largest] if part.by_class else None,
    }


def _direction_of_shape(part: Part, view: Predictions, direction: str) -> str | None:
    """Return the direction of a slope or a spread, which a wrong mean would turn."""
    facts = facts_of(view)
    return corrected_direction(facts, facts.too_wide if part.name == SPREAD else facts.too_extreme, direction)
