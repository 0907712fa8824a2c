"""One exact test that sees many kinds of errors: several statistics of the same redraws, the smallest p-value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from calibrant._border.checks import check_count
from calibrant._typing import FloatArray, IntArray, Progress, Rng
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
from calibrant.hypotest.evidence.redraws import redrawn_statistics
from calibrant.predictions import Predictions
from calibrant.results import Description, TestResult

TIE = 1e-10
"""Statistics that differ by less than this share of the largest are equal: sums of the same terms round differently."""


class Smallest(NamedTuple):
    """What the smallest p-values of a pool say about its first member.

    Attributes
    ----------
    pvalue : float
        Share of the pool whose smallest p-value is as extreme as that of the first.
    pvalues : ndarray of shape (m, N)
        Rank p-value of every member, by every statistic.
    part : int
        The statistic by which the first member is most extreme.
    """

    pvalue: float
    pvalues: FloatArray
    part: int


def smallest_pvalue(statistics: FloatArray) -> Smallest:
    r"""Compare the smallest rank p-value of the first column with that of every column.

    Parameters
    ----------
    statistics : ndarray of shape (m, N)
        m statistics of N members of a pool, the first of which was observed. Large values are extreme.

    Notes
    -----
    The rank p-value of member j by statistic s is :math:`p_{sj} = \#\{k : s_k \ge s_j\} / N`, itself included, and
    :math:`q_j = \min_s p_{sj}`. The p-value is :math:`\#\{k : q_k \le q_0\} / N`. Of members with the same q the one
    whose statistic stands out furthest, in standard deviations of the pool, is the more extreme: otherwise the
    smallest reachable p-value would be m / N instead of 1 / N. All of this treats the members alike, so that the
    p-value is valid if they are exchangeable; ties that are left count against rejection.

    References
    ----------
    P. H. Westfall, S. S. Young, "Resampling-based multiple testing", Wiley 1993.

    Examples
    --------
    >>> smallest_pvalue(np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 9.0]])).pvalue  # 3 and 9 lead; 9 stands out
    0.5
    """
    counts, depths = at_or_above(statistics), depth(statistics)
    fewest = counts.min(axis=0)
    depths = np.where(counts == fewest, depths, -np.inf)
    deepest = depths.max(axis=0)
    as_extreme = (fewest < fewest[0]) | ((fewest == fewest[0]) & (deepest >= deepest[0] - TIE * abs(deepest[0])))
    n = statistics.shape[1]
    return Smallest(float(as_extreme.sum() / n), counts / n, int(depths[:, 0].argmax()))


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
    p-value; the test's statistic is the smallest of a member's, and its p-value the share of the pool whose smallest is
    as small (`smallest_pvalue`). If the rows are independent and every label really is drawn from its row of
    probabilities, the pool is exchangeable and the p-value exact, whatever the weights, which are kept fixed. Each row
    is one independent draw, regardless of its weight; a row of weight 0 is absent.

    Two classes: "bias", "slope", "spiegelhalter" and "ecce" of the probability of class 1 (`LineEvidence`). More
    classes: the "slope" of all, the largest "class bias" and "class slope" (`ClassEvidence`), "skce" (`KernelEvidence`)
    and "top-label ece" (`RankedEvidence`). In any case "impossible labels", of a predicted probability of 0. The set
    was chosen by simulation: more statistics see more kinds of errors, and each of them less sharply.

    The ``statistic`` is the smallest rank p-value of the observed labels, ``null`` those of the redraws: **small**
    values are extreme. The details hold ``parts``, a mapping from the name of each part to its ``statistic``, rank
    ``pvalue`` (not adjusted for the number of parts), ``direction`` and ``class``, where there are such; ``found_by``,
    the part with the smallest p-value, of several the one that stands out most; ``also``, the same of statistics that
    do not decide but help to say what is wrong; and ``smallest_pvalue``, 1 / (B + 1).

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
        return self._judge(parts, observed, np.concatenate(pool, axis=1), data.classes)

    def _judge(
        self, parts: Sequence[Part], observed: Sequence[FloatArray], pool: FloatArray, classes: Sequence[Any]
    ) -> TestResult:
        """Compare the first column of the pool with all, and describe every part of it."""
        pvalues = at_or_above(pool)[:, 0] / pool.shape[1]
        described = [_described(*each, classes) for each in zip(parts, observed, pvalues, strict=True)]
        decides = np.array([part.decides for part in parts])
        found = smallest_pvalue(pool[decides])
        smallest = found.pvalues.min(axis=0)
        deciding, others = (
            {part.name: each for part, each in zip(parts, described, strict=True) if part.decides == wanted}
            for wanted in (True, False)
        )
        return TestResult(
            name=repr(self),
            statistic=float(smallest[0]),
            pvalue=found.pvalue,
            null=smallest[1:],
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


def _described(part: Part, components: FloatArray, pvalue: float, classes: Sequence[Any]) -> Mapping[str, Any]:
    """Say how far a part of the observed labels goes, and which way."""
    largest = int(np.abs(components).argmax())
    return {
        "statistic": float(np.abs(components[largest])),
        "pvalue": float(pvalue),
        "direction": part.words.get(int(np.sign(components[largest]))),
        "class": classes[largest] if part.by_class else None,
    }
