"""A fix for groups: few steps, each of which moves the log-odds of one group."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calibrant._border.checks import as_log_probabilities, as_probabilities, check_copies, check_count
from calibrant._core.laws import expit
from calibrant._core.roots import root
from calibrant._typing import FloatArray
from calibrant.calibrators.estimator import Estimator, check_is_fitted
from calibrant.exceptions import InputError
from calibrant.groups.cells import (
    Cell,
    Combination,
    Grid,
    Rows,
    Sizes,
    affordable_depth,
    alike_levels,
    combinations_of,
    common_levels,
)
from calibrant.groups.columns import Levels, as_table, cut_into_levels, need_columns
from calibrant.groups.evidence import STEEPEST, Sums
from calibrant.groups.tails import CERTAIN
from calibrant.predictions import Predictions
from calibrant.results import GroupFix, GroupStep

LEAST_BAR = 3.0
"""No group enters whose z is at most this."""

KEPT_CODES = 50_000_000
"""Cells of rows that are kept in memory; with more of them, they are computed again at every step."""

STEEPEST_SLOPE = 10.0
"""Largest factor of the log-odds, and the inverse of the smallest."""


def entry_bar(n_candidates: int) -> float:
    r"""Return how large the z of a group must be for a step: :math:`\max(3, \sqrt{2 \log m} + 1)`.

    The largest of m standard normal numbers is about :math:`\sqrt{2 \log m}`.

    Examples
    --------
    >>> entry_bar(1), round(entry_bar(1000), 2)
    (3.0, 4.72)
    """
    return max(LEAST_BAR, math.sqrt(2 * math.log(max(n_candidates, 1))) + 1)


class GroupBoosting(Estimator):
    r"""Fix the groups whose predictions are off: move the log-odds of one group after another.

    Parameters
    ----------
    depth : int, default=3
        Groups are intersections of levels of up to this many columns.
    least_rows : int, default=50
        Rows that a group needs; it also needs 5 expected rows of the rarer outcome.
    cuts : int, default=2
        Quantiles at which columns of numbers are cut: 2 give thirds.
    most_steps : int, default=30
    scores : {"probs", "logits"}, default="probs"
        What `fit` and `predict_proba` are given.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    report_ : GroupFix
        The steps in words and numbers.
    levels_ : tuple of Levels
        The columns that steps need, and how they are cut.
    cells_ : tuple of tuple
        The group of every step, by columns and levels.
    offsets_ : ndarray
        What each step adds to the log-odds.
    slope_ : float
        The factor of the log-odds in the end; 1 without any step.

    Notes
    -----
    Of all groups S, all rows among them, the one with the largest
    :math:`|z_S| = |\sum_S (y_i - p_i)| / \sqrt{\sum_S p_i (1 - p_i)}` gets a step of Newton's method,
    :math:`\sum_S (y_i - p_i) / \sum_S p_i (1 - p_i)`, on the log-odds of its rows, if z is above the bar
    (`entry_bar`); and so on. In the end all log-odds are multiplied by the factor that makes the log loss smallest.
    Without a step nothing is changed, so that predictions without such groups stay as they are. Ranks change.

    A row of weight w counts as w copies, except for the quantiles at which numbers are cut. A category that `fit` has
    not seen is in no group.

    References
    ----------
    U. Hebert-Johnson, M. Kim, O. Reingold, G. Rothblum, "Multicalibration: calibration for the (computationally-
    identifiable) masses", ICML 2018, for what is aimed at.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> region = rng.choice(["north", "south"], 2000)
    >>> predicted = np.full(2000, 0.5)
    >>> happened = rng.random(2000) < np.where(region == "north", 0.7, 0.3)
    >>> fixed = GroupBoosting().fit(predicted, happened, features={"region": region})
    >>> fixed.predict_proba([0.5, 0.5], features={"region": ["north", "south"]})[:, 1].round(1).tolist()
    [0.7, 0.3]
    """

    classes_: Any
    levels_: tuple[Levels, ...]
    cells_: tuple[Cell, ...]
    offsets_: FloatArray
    slope_: float
    report_: GroupFix

    def __init__(
        self, depth: int = 3, least_rows: int = 50, cuts: int = 2, most_steps: int = 30, scores: str = "probs"
    ) -> None:
        self.depth = depth
        self.least_rows = least_rows
        self.cuts = cuts
        self.most_steps = most_steps
        self.scores = scores

    def fit(
        self, scores: Any, labels: Any = None, sample_weight: Any = None, *, features: Any, classes: Any = None
    ) -> Self:
        """Learn steps from scores, labels and features, or from predictions and features.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 2), or Predictions
        labels : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        features : data frame, mapping of names to arrays, or array of shape (n, d)
            Of the same rows.
        classes : sequence, optional
        """
        self._check_settings()
        predictions = self._as_predictions(scores, labels, sample_weight, classes)
        table = as_table(features, predictions.n_samples)
        used = predictions.weights > 0
        if not used.all():
            predictions, table = predictions.take(used), {name: values[used] for name, values in table.items()}
        levels = [
            cut for name, values in table.items() if isinstance(cut := cut_into_levels(name, values, self.cuts), Levels)
        ]
        grid = Grid(tuple(levels), tuple(each.codes(table[each.name]) for each in levels), predictions.weights)
        rows = Rows(predictions.positive, predictions.labels.astype(np.float64), predictions.weights)
        boosted = _Boosting(rows, _candidates(grid, rows, self)).run(self.most_steps)
        self.classes_ = np.array(predictions.classes)
        self._keep(boosted, grid, rows)
        return self

    def predict_proba(self, scores: Any, features: Any = None) -> FloatArray:
        """Return fixed probabilities of both classes, of shape (n, 2).

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 2), or Predictions
        features : data frame, mapping of names to arrays, or array of shape (n, d)
            With at least the columns of the steps; not needed if there are none.
        """
        check_is_fitted(self)
        log_odds = self._read(scores)
        positive = expit(self.slope_ * (log_odds + self._moves(features, len(log_odds))))
        return np.stack([1 - positive, positive], axis=1)

    def predict(self, scores: Any, features: Any = None) -> Any:
        """Return the more probable class of every row."""
        return self.classes_[self.predict_proba(scores, features).argmax(axis=1)]

    def _check_settings(self) -> None:
        for name in ("depth", "least_rows", "cuts", "most_steps"):
            check_count(getattr(self, name), name)
        if self.scores not in ("probs", "logits"):
            raise InputError(f'scores must be "probs" or "logits", but is {self.scores!r}.')

    def _as_predictions(self, scores: Any, labels: Any, sample_weight: Any, classes: Any) -> Predictions:
        if isinstance(scores, Predictions):
            if any(other is not None for other in (labels, sample_weight, classes)):
                raise TypeError(
                    "Predictions hold their labels, weights and classes: pass fit(predictions, features=...)."
                )
            found = scores
        else:
            check_copies(sample_weight)
            build = Predictions if self.scores == "probs" else Predictions.from_logits
            found = build(scores, labels, sample_weight, classes)
        if found.n_classes != 2 or found.copies is not None:
            raise InputError(
                f"GroupBoosting needs single rows of two classes, but there are {found.n_classes} classes. Fix one "
                "class against the rest, p.one_vs_rest(c), at a time."
            )
        return found

    def _read(self, scores: Any) -> FloatArray:
        if isinstance(scores, Predictions):
            probs, log_probs = scores.probs, scores.log_probs
        elif self.scores == "logits":
            probs, log_probs, _ = as_log_probabilities(scores)
        else:
            probs, _ = as_probabilities(scores)
            with np.errstate(divide="ignore"):
                log_probs = np.log(probs)
        if probs.shape[1] != 2:
            raise InputError(f"scores must be of two classes, but have {probs.shape[1]}.")
        least = math.log(CERTAIN)
        return np.asarray(np.maximum(log_probs[:, 1], least) - np.maximum(log_probs[:, 0], least))

    def _moves(self, features: Any, n: int) -> FloatArray:
        """Return what all steps add to the log-odds of rows."""
        moves = np.zeros(n)
        if not len(self.offsets_):
            return moves
        table: dict[str, Any] = {}
        if self.levels_:
            if features is None:
                names = ", ".join(repr(each.name) for each in self.levels_)
                raise InputError(f"features must be given with the columns {names}, which the steps need, but are not.")
            table = as_table(features, n)
            need_columns([each.name for each in self.levels_], table)
        codes = [each.codes(as_kind(table[each.name], each)) for each in self.levels_]
        for cell, offset in zip(self.cells_, self.offsets_.tolist(), strict=True):
            inside = np.ones(n, dtype=bool)
            for column, level in cell:
                inside &= codes[column] == level
            moves[inside] += offset
        return moves

    def _keep(self, boosted: "_Boosted", grid: Grid, rows: Rows) -> None:
        """Keep the steps, and of the columns those that they need."""
        used = sorted({column for step in boosted.steps for column, _ in step.cell})
        place = {column: j for j, column in enumerate(used)}
        self.levels_ = tuple(grid.levels[column] for column in used)
        self.cells_ = tuple(tuple((place[column], level) for column, level in step.cell) for step in boosted.steps)
        self.offsets_ = np.array([step.offset for step in boosted.steps])
        self.slope_ = boosted.slope
        steps = tuple(
            GroupStep(label=grid.label(step.cell), offset=step.offset, z=step.z, n_rows=int(grid.mask(step.cell).sum()))
            for step in boosted.steps
        )
        self.report_ = GroupFix(
            headline=_headline(steps, boosted.n_candidates),
            steps=steps,
            slope=boosted.slope,
            bar=entry_bar(boosted.n_candidates),
            n_candidates=boosted.n_candidates,
            n_samples=len(rows.probs),
        )


def as_kind(values: Any, levels: Levels) -> Any:
    """Return a column as numbers or as texts, as it was when its levels were learnt."""
    is_number = values.dtype.kind == "f"
    if is_number == levels.are_numbers:
        return values
    if is_number:
        return np.array([None if v != v else f"{v:g}" for v in values.tolist()], dtype=object)  # noqa: PLR0124 (NaN)
    raise InputError(
        f"features must hold numbers in the column {levels.name!r}, as they did when the groups were learnt, but hold "
        f"{next(v for v in values.tolist() if v is not None)!r:.60}."
    )


def _headline(steps: tuple[GroupStep, ...], n_candidates: int) -> str:
    if not steps:
        return f"No step: none of {n_candidates:,} groups is off clearly enough. Predictions stay as they are."
    return f"{len(steps)} step{'s' if len(steps) > 1 else ''} among {n_candidates:,} groups."


def _candidates(grid: Grid, rows: Rows, settings: GroupBoosting) -> Callable[[], Iterable[Combination]]:
    """Return a function that gives all combinations, from memory if they are not too many."""
    sizes = Sizes([rows], settings.least_rows, are_copies=True)
    if not grid.levels:
        return lambda: [Combination((), np.zeros(len(rows.probs), dtype=np.int64), ((),))]
    distinct = alike_levels(common_levels(grid, settings.least_rows))
    depth = affordable_depth(len(grid.levels), settings.depth)
    kept, size = list[Combination](), 0
    for each in combinations_of(distinct, sizes, depth):
        kept.append(each)
        size += len(each.codes)
        if size > KEPT_CODES:
            return lambda: combinations_of(distinct, sizes, depth)
    return lambda: kept


@dataclass(frozen=True)
class _Step:
    cell: Cell
    offset: float
    z: float


@dataclass(frozen=True)
class _Boosted:
    steps: tuple[_Step, ...]
    slope: float
    n_candidates: int


@dataclass(frozen=True, eq=False)
class _Boosting:
    rows: Rows
    combinations: Callable[[], Iterable[Combination]]

    def run(self, most_steps: int) -> _Boosted:
        """Take steps until no group is off clearly enough."""
        probs = np.clip(self.rows.probs, CERTAIN, 1 - CERTAIN)
        log_odds = np.log(probs) - np.log1p(-probs)
        n_candidates = sum(len(each.cells) for each in self.combinations())
        steps, bar = list[_Step](), entry_bar(n_candidates)
        while len(steps) < most_steps:
            step, inside = self._best(expit(log_odds))
            if abs(step.z) <= bar:
                break
            steps.append(step)
            log_odds = log_odds + step.offset * inside
        slope = _slope(log_odds, self.rows) if steps else 1.0
        return _Boosted(tuple(steps), slope, n_candidates)

    def _best(self, probs: FloatArray) -> tuple[_Step, Any]:
        residuals = self.rows.weights * (self.rows.events - probs)
        variances = self.rows.weights * probs * (1 - probs)
        found = max(self._of_combinations(residuals, variances), key=lambda one: abs(one[0].z))
        step, each, place = found
        return step, each.codes == place

    def _of_combinations(
        self, residuals: FloatArray, variances: FloatArray
    ) -> Iterator[tuple[_Step, Combination, int]]:
        """Yield the strongest cell of every combination."""
        for each in self.combinations():
            if each.cells:
                sums = Sums(each.sums(residuals), each.sums(variances))
                place = int(np.abs(sums.z).argmax())
                offset = float(sums.residuals[place] / max(sums.variances[place], np.finfo(float).tiny))
                offset = min(max(offset, -STEEPEST), STEEPEST)
                yield _Step(each.cells[place], offset, float(sums.z[place])), each, place


def _slope(log_odds: FloatArray, rows: Rows) -> float:
    """Return the factor of the log-odds that makes the log loss smallest."""

    def falling(slope: float) -> float:
        return float(rows.weights @ (log_odds * (rows.events - expit(slope * log_odds))))

    least, most = 1 / STEEPEST_SLOPE, STEEPEST_SLOPE
    if falling(most) >= 0:
        return most
    return least if falling(least) <= 0 else root(falling, least, most, xtol=1e-10)
