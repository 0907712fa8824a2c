"""A fix for groups: a few steps, each of which moves the log-odds of one group."""

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import as_log_probabilities, as_probabilities, check_copies
from calibrant._border.numerals import count, counted
from calibrant._border.settings import check_count, check_option
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import softmax
from calibrant.calibrators.estimator import Estimator, check_is_fitted
from calibrant.exceptions import InputError
from calibrant.groups.cells import Cell, Grid, rows_in
from calibrant.groups.columns import Levels, as_table, cut_into_levels, need_columns
from calibrant.groups.event_sums import CERTAIN
from calibrant.groups.steps import Boosted, Boosting, entry_bar, listed_groups
from calibrant.predictions import Predictions
from calibrant.results import GroupFix, GroupStep


class GroupBoosting(Estimator):
    r"""Fix the groups whose predictions are off: move the log-odds of one group after another.

    Parameters
    ----------
    depth : int, default=3
        Groups are intersections of levels of up to this many columns.
    least_rows : int, default=50
        Least number of rows of a group, which also needs 5 expected rows of the rarer outcome.
    cuts : int, default=2
        Number of quantiles at which columns of numbers are cut: 2 give thirds.
    most_steps : int, default=30
    scores : {"probs", "logits"}, default="probs"
        The form of the scores that `fit` and `predict_proba` take.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    report_ : GroupFix
        The steps in words and numbers.
    levels_ : tuple of Levels
        The columns that steps need, and how they are cut.
    cells_ : tuple of tuple
        The group of every step, by columns and levels.
    events_ : ndarray of int
        Index of the class that each step moves; with two classes, always the second.
    offsets_ : ndarray
        Number that each step adds to the log-odds of its class.
    slope_ : float
        Factor by which all log-odds are multiplied after the steps; 1 without any step.

    Notes
    -----
    Among all groups S, including that of all rows, the one with the largest
    :math:`|z_S| = |\sum_S (y_i - p_i)| / \sqrt{\sum_S p_i (1 - p_i)}` gets a step of Newton's method on the log-odds of
    its rows, :math:`\sum_S (y_i - p_i) / \sum_S p_i (1 - p_i)`, if its z exceeds the bar (`entry_bar`). This is
    repeated until no z does. Then all log-odds are multiplied by the factor that minimises the log loss. If a group is
    off after that, steps and factor follow again. Without a step nothing is changed. Steps change the ranking.

    With more than two classes, every class against the rest is a candidate in every group: a step adds to the logit of
    one class, and the probabilities of a row are divided by their sum. The bar counts all pairs of a group and a class.

    A row of weight w counts as w copies, except for the quantiles at which numbers are cut. A category that `fit` has
    not seen belongs to no group.

    References
    ----------
    U. Hebert-Johnson, M. Kim, O. Reingold, G. Rothblum, "Multicalibration: calibration for the (computationally-
    identifiable) masses", ICML 2018, for the aim.

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

    classes_: NDArray[np.generic]
    levels_: tuple[Levels, ...]
    cells_: tuple[Cell, ...]
    events_: IntArray
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
        self,
        scores: object,
        labels: object = None,
        sample_weight: object = None,
        *,
        features: object,
        classes: object = None,
    ) -> Self:
        """Learn steps from scores, labels and features, or from predictions and features.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, K), or Predictions
        labels : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        features : data frame, mapping of names to arrays, or array of shape (n, d)
            Features of the same rows.
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
        codes = tuple(each.codes(table[each.name]) for each in levels)
        grid = Grid(tuple(levels), codes, predictions.weights)
        boosted = Boosting(
            _logits(predictions.log_probs),
            predictions.labels,
            predictions.weights,
            listed_groups(grid, predictions.probs, self.least_rows, self.depth),
        ).run(self.most_steps)
        self.classes_ = np.array(predictions.classes)
        self._keep(boosted, grid, predictions.n_samples)
        return self

    def predict_proba(self, scores: object, features: object = None) -> FloatArray:
        """Return fixed probabilities of all classes, of shape (n, K).

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, K), or Predictions
        features : data frame, mapping of names to arrays, or array of shape (n, d)
            With at least the columns of the steps; not needed if there are none.
        """
        check_is_fitted(self)
        probs, logits = self._read(scores)
        if not len(self.offsets_):
            return probs  # Unchanged to the last bit, so that rounding does not look like a gain.
        return softmax(self.slope_ * self._moved(logits, features))

    def predict(self, scores: object, features: object = None) -> NDArray[np.generic]:
        """Return the most probable class of every row."""
        return self.classes_[self.predict_proba(scores, features).argmax(axis=1)]

    def _check_settings(self) -> None:
        for name in ("depth", "least_rows", "cuts", "most_steps"):
            check_count(getattr(self, name), name)
        check_option(self.scores, "scores", "probs", "logits")

    def _as_predictions(self, scores: object, labels: object, sample_weight: object, classes: object) -> Predictions:
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
        if found.copies is not None:
            raise InputError("a sketch holds no features. Fit to the rows that it was made of.")
        return found

    def _read(self, scores: object) -> tuple[FloatArray, FloatArray]:
        """Return probabilities and logits."""
        if isinstance(scores, Predictions):
            probs, log_probs = scores.probs, scores.log_probs
        elif self.scores == "logits":
            probs, log_probs, _ = as_log_probabilities(scores)
        else:
            probs, _ = as_probabilities(scores)
            with np.errstate(divide="ignore"):
                log_probs = np.log(probs)
        if probs.shape[1] != len(self.classes_):
            raise InputError(
                f"scores must have {len(self.classes_)} classes, as when the groups were learnt, but have "
                f"{probs.shape[1]}."
            )
        return np.array(probs), _logits(log_probs)

    def _moved(self, logits: FloatArray, features: object) -> FloatArray:
        """Return the logits after all steps."""
        moved = logits.copy()
        table: dict[str, NDArray[np.generic]] = {}
        if self.levels_:
            if features is None:
                names = ", ".join(repr(each.name) for each in self.levels_)
                raise InputError(f"features must have the columns {names}, which the steps need, but are not given.")
            table = as_table(features, len(logits), {each.name: each.are_numbers for each in self.levels_})
            need_columns([each.name for each in self.levels_], table)
        codes = [each.codes(table[each.name]) for each in self.levels_]
        for cell, event, offset in zip(self.cells_, self.events_.tolist(), self.offsets_.tolist(), strict=True):
            moved[rows_in(cell, codes, len(logits)), event] += offset
        return moved

    def _keep(self, boosted: Boosted, grid: Grid, n_samples: int) -> None:
        """Keep the steps, and the columns that they need."""
        used = sorted({column for step in boosted.steps for column, _ in step.cell})
        place = {column: j for j, column in enumerate(used)}
        self.levels_ = tuple(grid.levels[column] for column in used)
        self.cells_ = tuple(tuple((place[column], level) for column, level in step.cell) for step in boosted.steps)
        keep_report(
            self,
            [(grid.label(step.cell), step.offset, step.z, step.n_rows, step.event) for step in boosted.steps],
            slope=boosted.slope,
            headline=_headline(len(boosted.steps), boosted.n_candidates),
            bar=entry_bar(boosted.n_candidates),
            n_candidates=boosted.n_candidates,
            n_samples=n_samples,
        )


def keep_report(
    fixed: GroupBoosting, steps: Iterable[tuple[str, float, float, int, int]], *, slope: float, **report: Any
) -> None:
    """Keep what was learnt or read: label, offset, z, rows and class of every step, and other fields of `GroupFix`."""
    kept = [*steps]
    fixed.events_ = np.array([event for *_, event in kept], dtype=np.int64)
    fixed.offsets_ = np.array([offset for _, offset, *_ in kept])
    fixed.slope_ = slope
    named = [str(name) if len(fixed.classes_) > 2 else "" for name in fixed.classes_]
    told = tuple(
        GroupStep(label=label, offset=offset, z=z, n_rows=n, event=named[event]) for label, offset, z, n, event in kept
    )
    fixed.report_ = GroupFix(steps=told, slope=slope, **report)


def _logits(log_probs: FloatArray) -> FloatArray:
    """Return logarithms of probabilities, which are kept at least `CERTAIN` away from 0."""
    return np.asarray(np.maximum(log_probs, math.log(CERTAIN)))


def _headline(n_steps: int, n_candidates: int) -> str:
    if not n_steps:
        none = (
            f"none of {count(n_candidates)} groups is"
            if n_candidates > 1
            else "there is no group but all rows, which are not"
        )
        return f"No step: {none} clearly off. Predictions stay as they are."
    return f"{counted(n_steps, 'step')} among {counted(n_candidates, 'group')}."
