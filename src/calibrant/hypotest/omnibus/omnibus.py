"""One exact test of many kinds of errors: several statistics of the same redraws, one p-value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray, Progress, Rng
from calibrant._core.library import library
from calibrant._core.redraws import Rows
from calibrant._core.twin_draws import draw_labels
from calibrant.forecasts import Forecasts
from calibrant.hypotest.calibration_test import CalibrationTest
from calibrant.hypotest.omnibus.classes import ClassEvidence, RankedEvidence
from calibrant.hypotest.omnibus.combined import at_or_above, combined_pvalue
from calibrant.hypotest.omnibus.facts import corrected_direction, facts_of
from calibrant.hypotest.omnibus.kernel import KernelEvidence
from calibrant.hypotest.omnibus.line import LineEvidence
from calibrant.hypotest.omnibus.revealed import LEVEL, with_names
from calibrant.hypotest.omnibus.statistic import SPREAD, Evidence, ImpossibleEvidence, Part, largest
from calibrant.predictions import Predictions
from calibrant.results import Description, TestResult
from calibrant.results.words.parts import TestedPart

CELLS = 500_000
"""Approximate number of labels per block."""

KEYS = 2**16
"""Redraws that are planned at a time."""


def redrawn_statistics(
    view: Predictions,
    evidence: Sequence[Evidence],
    n_resamples: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Iterator[FloatArray]:
    """Yield blocks of statistics, (parts, block), of labels drawn from the predictions."""
    done = 0
    for block in _blocks(view, evidence, n_resamples, rng):
        yield block
        done += block.shape[1]
        if progress is not None:
            progress(done, n_resamples)


def _blocks(
    view: Predictions, evidence: Sequence[Evidence], n_resamples: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield the statistics, drawn in the fastest way that the evidence allows."""
    match evidence:
        case (LineEvidence() as line, _) if line.is_fine:
            return _by_counts(line, n_resamples, rng)
        case (ClassEvidence() as classes, RankedEvidence() as ranked, KernelEvidence() as kernel, _) if library():
            return _by_sums(classes, ranked, kernel, _keys(n_resamples, rng))
        case _:
            return _by_labels(view, evidence, _keys(n_resamples, rng))


def _keys(n_resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.uint64]]:
    """Yield one random key per redraw, in blocks: all at once would take long if there are millions."""
    for start in range(0, n_resamples, KEYS):
        yield rng.integers(0, 2**64, size=min(KEYS, n_resamples - start), dtype=np.uint64)


def _by_counts(line: LineEvidence, n_resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Draw the number of events in each cell."""
    return (_with_impossible(line.of_counts(counts)) for counts in line.cells.draw(n_resamples, rng))


def _by_sums(
    classes: ClassEvidence, ranked: RankedEvidence, kernel: KernelEvidence, keys: Iterator[NDArray[np.uint64]]
) -> Iterator[FloatArray]:
    """Draw labels and sum up everything that the statistics need in one pass over the rows."""
    rows = Rows(classes.probs, classes.weights, ranked.top, ranked.second, ranked.bins, kernel.features, kernel.means)
    for sums in (found for some in keys for found in rows.redraw(some)):
        of_classes = classes.of_sums(sums.logs, sums.weights, sums.odds)
        of_ranked = ranked.of_sums(sums.hits, sums.seconds)
        yield _with_impossible([*of_classes, *of_ranked, *kernel.of_errors(sums.errors)])


def _with_impossible(components: Sequence[FloatArray]) -> FloatArray:
    """Return the value of each part, and that of impossible labels, which are never drawn."""
    return np.pad(largest(components), ((0, 1), (0, 0)))


def _by_labels(
    view: Predictions, evidence: Sequence[Evidence], keys: Iterator[NDArray[np.uint64]]
) -> Iterator[FloatArray]:
    """Draw the labels themselves."""
    width = max(1, CELLS // max(view.n_samples, view.n_classes))
    for block in (some[start : start + width] for some in keys for start in range(0, len(some), width)):
        labels = draw_labels(view.probs, block).astype(np.int64)
        yield np.concatenate([one.statistics(labels) for one in evidence])


OF_FORECASTS = "Centre, spread and shape of forecasts, and trends of these, in one p-value; the verdict uses it."
"""What the test sees in forecasts."""


@dataclass(frozen=True)
class OmnibusTest(CalibrationTest):
    r"""Test for many kinds of miscalibration at once, with one p-value that is exact at every sample size.

    Parameters
    ----------
    n_resamples : int, default=999
        Number of redraws B.

    Notes
    -----
    The predictions are kept and the labels redrawn from them B times. Several statistics that need no fit to the labels
    are computed for the observed labels and for every redraw. Each statistic gives every member of this pool of B + 1
    a rank p-value, divided by :math:`(1 + g)^2` for a member that leads by g standard deviations. The statistic of the
    test is the harmonic mean of a member's p-values, in which the smallest dominates; the p-value of the test is the
    share of the pool whose mean is at most the observed one (`combined_pvalue`). If the rows are independent and every
    label really is drawn from its row of probabilities, the pool is exchangeable and the p-value exact for any fixed
    weights. Each row is one independent draw, regardless of its weight; a row of weight 0 is absent.

    Two classes: "bias", "slope", "spiegelhalter" and "ecce" of the probability of class 1 (`LineEvidence`). More
    classes: the "slope" of all, the largest "class bias", "class count" and "class slope" (`ClassEvidence`), "skce"
    (`KernelEvidence`) and "top-label ece" (`RankedEvidence`). In both cases "impossible labels", whose predicted
    probability is 0. The set was chosen by simulation: more statistics see more kinds of errors, but each of them less
    sharply.

    Forecasts: the "centre", the "spread" and the "shape" of the transforms :math:`F_i(y_i)`, the mean gap of the
    "quantiles" (MACE), and the "trend" of centre and spread over where forecasts lie and how wide they are
    (`calibrant.hypotest.omnibus.forecast_statistics`). Transforms of targets that are drawn from the forecasts are
    independent and uniform, and are drawn in their place. An ensemble counts as calibrated if the target is
    exchangeable with its members: then all ranks are equally likely; ties are broken by random numbers derived from the
    data. Forecasts given as columns of quantiles are tested at these quantiles only. For vectors every coordinate is
    tested, and for normal ones also the distance from the mean; the smallest p-value is multiplied by the number of
    tests. ``estimate`` is MACE, with its mean (``expected``) and its 95% quantile (``detectable``) over the redraws
    among the details.

    The ``statistic`` is the harmonic mean of the observed labels' rank p-values, ``null`` those of the redraws:
    **small** values are extreme. It is not a p-value: if the observed labels lead, it may be far below 1 / (B + 1).
    The details hold ``parts``, a mapping from the name of each part to its ``statistic``, rank ``pvalue`` (not adjusted
    for the number of parts), and its ``direction`` and ``class`` or None; ``found_by``, the part with the smallest
    p-value, or of several the one that says most about the error; ``revealed_by``, the same in the words of the
    verdict, empty if the p-value is above 0.05; ``also``, like ``parts``, for statistics that do not enter the p-value
    but help to say what is wrong; and ``smallest_pvalue``, 1 / (B + 1).

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
    >>> from calibrant.forecasts import Normal
    >>> y = np.random.default_rng(0).normal(size=100)
    >>> OmnibusTest(n_resamples=99)(Forecasts(Normal([0.0] * 100, 0.5), y), rng=0).details["revealed_by"]
    'the spread (too narrow)'
    """

    label = "Omnibus"
    meaning = "Bias, slope, every class, and with less power other shapes, in one p-value; the verdict uses it."
    caution = "Exact for independent rows."
    cells = True
    n_resamples: int = 999

    def about_data(self, data: object) -> Description:
        """Return how it is presented for data of this kind."""
        found = super().about_data(data)
        return replace(found, meaning=OF_FORECASTS) if isinstance(data, Forecasts) else found

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")

    def run(self, data: Predictions | Forecasts, rng: Rng, progress: Progress | None) -> TestResult:
        """Run the test."""
        if isinstance(data, Forecasts):
            from calibrant.hypotest.omnibus.forecasts import run_on_forecasts

            return run_on_forecasts(data, repr(self), self.n_resamples, np.random.default_rng(rng), progress).result
        if not isinstance(data, Predictions):
            raise TypeError(f"OmnibusTest tests Predictions or Forecasts, but got {type(data).__name__}.")
        evidence = gather(data)
        parts = [part for one in evidence for part in one.parts]
        observed = [found for one in evidence for found in one.components(data.labels[:, None])]
        redrawn = redrawn_statistics(data, evidence, self.n_resamples, np.random.default_rng(rng), progress)
        pool = np.concatenate([largest(observed), *redrawn], axis=1)
        pvalues = at_or_above(pool)[:, 0] / pool.shape[1]
        described = [
            (part, _described(part, components[:, 0], pvalue, data))
            for part, components, pvalue in zip(parts, observed, pvalues, strict=True)
        ]
        deciding = {part.name: each for part, each in described if part.decides}
        found = combined_pvalue(pool[np.array([part.decides for part in parts])])
        result = TestResult(
            name=repr(self),
            statistic=float(found.means[0]),
            pvalue=found.pvalue,
            null=found.means[1:],
            details={
                "smallest_pvalue": 1 / (1 + self.n_resamples),
                "found_by": list(deciding)[found.part],
                "parts": deciding,
                "also": {part.name: each for part, each in described if not part.decides},
            },
        )
        return with_names(result, data)


def gather(view: Predictions) -> tuple[Evidence, ...]:
    """Prepare all evidence about predictions whose rows have positive weights."""
    weights = view.weights / view.weights.max()
    impossible = ImpossibleEvidence.of(view, weights)
    if view.n_classes == 2:
        return LineEvidence.of(view, weights), impossible
    kinds = (ClassEvidence, RankedEvidence, KernelEvidence)
    return (*(kind.of(view, weights) for kind in kinds), impossible)


def _described(part: Part, components: FloatArray, pvalue: float, data: Predictions) -> TestedPart:
    """Describe one part of the test of the observed labels: size, p-value, direction, and class."""
    place = int(np.abs(components).argmax())
    direction = part.words.get(int(np.sign(components[place]))) if pvalue <= LEVEL else None
    if direction is not None and part.of_shape:
        direction = _direction_of_shape(part, data.one_vs_rest(place) if part.by_class else data, direction)
    return {
        "statistic": float(np.abs(components[place])),
        "pvalue": float(pvalue),
        "direction": direction,
        "class": data.classes[place] if part.by_class else None,
    }


def _direction_of_shape(part: Part, view: Predictions, direction: str) -> str | None:
    """Return the direction of a slope or a spread once the mean is corrected; a wrong mean may reverse it."""
    facts = facts_of(view)
    return corrected_direction(facts, facts.too_wide if part.name == SPREAD else facts.too_extreme, direction)
