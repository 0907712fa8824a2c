"""Cross-fitting: every row is calibrated by calibrators, or a fix of groups, that were not fitted to it."""

from collections.abc import Callable, Mapping
from itertools import chain, combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.blocks import keep_argmax
from calibrant._core.threads import available_threads, in_order, one_blas_thread
from calibrant.advice.rule import has_impossible_labels
from calibrant.calibrators import Calibrator, StackedCalibration
from calibrant.calibrators.combinations.folds import RARE, Unseen
from calibrant.calibrators.combinations.shared_stages import SharedStages
from calibrant.calibrators.estimator import clone
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.predictions import Predictions

if TYPE_CHECKING:
    from calibrant.groups import GroupBoosting

NESTED_ROWS = 3000
"""Below this many rows the cross-validation of a stack is fully nested; above it, the difference is small.

With 3000 rows of two classes the log loss of a stack is 0.0003 too large, which is on the safe side.
"""


class OutOfFold(NamedTuple):
    """Predictions for all rows, whether every fold's optimiser reached its optimum, and the fit to all rows."""

    predictions: Predictions
    converged: bool
    calibrator: "Calibrator | GroupBoosting"


def check_folds(n_folds: int, data: Predictions | Forecasts) -> None:
    """Refuse fewer than two folds, or more folds than rows; for forecasts, more than half as many."""
    if isinstance(data, Forecasts):
        if not 2 <= n_folds <= data.n_samples // 2:
            raise InputError(f"n_folds must be from 2 to half the rows, {data.n_samples // 2}, but is {n_folds}.")
        return
    if n_folds < 2:
        raise InputError(f"n_folds must be at least 2, but is {n_folds}.")
    if n_folds > data.n_samples:
        raise InputError(
            f"cross-validation in {n_folds} folds needs at least {n_folds} rows, but there are {data.n_samples}."
        )


def draw_folds(predictions: Predictions, n_folds: int, rng: np.random.Generator) -> list[IntArray]:
    """Divide the rows at random into folds of the same size; the rows of a rare class are spread over the folds.

    The shares of other classes are left to chance. If they were the same in all folds, a fit to the other folds would
    know the class frequencies of the held-out fold, and maps that learn frequencies would seem to gain from it.
    """
    shuffled, labels = rng.permutation(predictions.n_samples), predictions.labels
    is_rare = np.bincount(labels, minlength=predictions.n_classes) <= RARE
    by_class = np.where(is_rare, np.arange(predictions.n_classes), predictions.n_classes)[labels]
    dealt = shuffled[np.argsort(by_class[shuffled], kind="stable")]
    return [np.sort(dealt[start::n_folds]) for start in range(n_folds)]


def fitted(calibrator: Calibrator, predictions: Predictions) -> Calibrator:
    """Return a copy of the calibrator, fitted to the predictions."""
    copy: Calibrator = clone(calibrator)
    copy.classes_ = np.array(predictions.classes)  # As `fit` does, which would check and warn once more.
    return copy.learn(predictions.log_probs, predictions.labels, predictions.weights)


def cross_fit(
    calibrator: Calibrator, predictions: Predictions, folds: list[IntArray], tick: Callable[[], None]
) -> OutOfFold:
    """Calibrate every fold by a fit to the other folds; `tick` is called after each."""
    return cross_fit_all({"": calibrator}, predictions, folds, tick)[""]


@one_blas_thread()  # Folds are fitted in our own threads.
def cross_fit_all(
    calibrators: Mapping[str, Calibrator], predictions: Predictions, folds: list[IntArray], tick: Callable[[], None]
) -> dict[str, OutOfFold]:
    """Calibrate every fold by fits of several calibrators to the other folds; `tick` is called after each fold.

    Notes
    -----
    Each calibrator is fitted to all rows first, and then to all folds but one, starting from that fit. Compositions
    share their common first stages.

    A `StackedCalibration` is not fitted as a whole. Its members calibrate every fold as other candidates do. Below 3000
    rows, the weights for a fold are learnt from fits without this fold and a second one, applied to the second: the
    fold has no influence on what calibrates it. With more rows they are learnt from the members' predictions for the
    other folds, each by a fit without that fold. These fits have seen the first fold, so that a few weights depend on
    it. A final map learnt in this way would undo what the fold taught the members, and is left out.
    benchmarks/calibrators_stack.py measures the remaining influence.
    """
    parts = {name: _members(one, predictions) for name, one in calibrators.items()}
    crossed = _Crossed([member for own in parts.values() for member in own], predictions, folds, tick)
    found, start = {}, 0
    for name, own in parts.items():
        places = range(start, start + len(own))
        found[name] = crossed.of(calibrators[name], places)
        start = places.stop
    return found


class _Crossed:
    """Calibrators fitted to all rows, and their predictions for every fold by fits to the other folds."""

    def __init__(
        self, members: list[Calibrator], predictions: Predictions, folds: list[IntArray], tick: Callable[[], None]
    ) -> None:
        self.predictions, self.folds = predictions, folds
        self.whole = SharedStages(members)
        self.whole.learn(predictions.log_probs, predictions.labels, predictions.weights)
        self.outputs = [np.empty_like(predictions.probs) for _ in members]
        self.converged = np.array([self.whole.converged(place) for place in range(len(members))])

        def task(rows: IntArray) -> list[bool]:
            others = _without(rows, predictions.n_samples)
            stages = SharedStages(members, near=self.whole)
            stages.learn(predictions.log_probs[others], predictions.labels[others], predictions.weights[others])
            for place, result in enumerate(stages.transform(predictions.log_probs[rows])):
                self.outputs[place][rows] = result
            return [stages.converged(place) for place in range(len(members))]

        # Folds that do not fill all threads are fitted one after the other, each with all threads for its members.
        shared = len(folds) - len(folds) % available_threads()
        for converged in chain(in_order(task, folds[:shared]), map(task, folds[shared:])):
            self.converged &= converged
            tick()

    def of(self, calibrator: Calibrator, places: range) -> OutOfFold:
        """Return the predictions and the fit of the calibrator that these members belong to."""
        stack = _as_stack(calibrator, self.predictions)
        if stack is None:
            log_probs, whole = self.outputs[places[0]], self.whole.fitted(places[0])
        elif self.predictions.n_samples < NESTED_ROWS:
            # Nesting leaves out two folds: of two, no row would be left for the members.
            log_probs = self._nested(stack, places) if len(self.folds) > 2 else self._mixed(stack, places)[0]
            whole = fitted(stack, self.predictions)
        else:
            log_probs, whole = self._mixed(stack, places)
        whole.classes_ = np.array(self.predictions.classes)
        after = _as_predictions(calibrator, log_probs, self.predictions)
        return OutOfFold(after, bool(self.converged[places].all()), whole)

    def _nested(self, stack: StackedCalibration, places: range) -> FloatArray:
        """Mix the predictions of every fold with weights learnt on the other folds, by members that saw neither."""
        p, result = self.predictions, np.empty_like(self.predictions.probs)
        unseen: list[list[Unseen]] = [[] for _ in self.folds]
        pairs = list(combinations(range(len(self.folds)), 2))

        def task(pair: tuple[int, int]) -> list[Unseen]:
            own = [self.folds[fold] for fold in pair]
            known = _without(np.concatenate(own), p.n_samples)
            stages = SharedStages([self.whole.members[place] for place in places], near=self.whole)
            stages.learn(p.log_probs[known], p.labels[known], p.weights[known])
            return [Unseen(list(stages.transform(p.log_probs[rows])), p.labels[rows], p.weights[rows]) for rows in own]

        for (one, other), (of_one, of_other) in zip(pairs, in_order(task, pairs), strict=True):
            unseen[one].append(of_other)
            unseen[other].append(of_one)
        for rows, parts in zip(self.folds, unseen, strict=True):
            outputs = [np.concatenate(own) for own in zip(*(part.log_probs for part in parts), strict=True)]
            masses = np.concatenate([part.masses for part in parts])
            whole = Unseen(outputs, np.concatenate([part.labels for part in parts]), masses)
            result[rows] = stack.mixed(whole, float(masses.sum())).transform([self.outputs[j][rows] for j in places])
        return result

    def _mixed(self, stack: StackedCalibration, places: range) -> tuple[FloatArray, Calibrator]:
        """Mix the predictions of every fold with weights learnt on the other folds, and return the fit to all rows."""
        result = np.empty_like(self.predictions.probs)

        def task(rows: IntArray) -> None:
            unseen = self._unseen(places, _without(rows, self.predictions.n_samples))
            mixed = stack.weighted(unseen, float(unseen.masses.sum()))
            result[rows] = mixed.transform([self.outputs[place][rows] for place in places])

        for _ in in_order(task, self.folds):
            pass
        unseen = self._unseen(places, np.ones(self.predictions.n_samples, dtype=bool))
        mixed = stack.mixed(unseen, float(unseen.masses.sum()))
        return result, clone(stack).assembled(self.whole, places, mixed)

    def _unseen(self, places: range, rows: BoolArray) -> Unseen:
        outputs = [self.outputs[place][rows] for place in places]
        return Unseen(outputs, self.predictions.labels[rows], self.predictions.weights[rows])


def _without(rows: IntArray, n_rows: int) -> BoolArray:
    """Mark the rows of the other folds."""
    others = np.ones(n_rows, dtype=bool)
    others[rows] = False
    return others


def _as_stack(calibrator: Calibrator, predictions: Predictions) -> StackedCalibration | None:
    """Return the calibrator if it is a stack without a guard in front of its members, else None."""
    if isinstance(calibrator, StackedCalibration) and not has_impossible_labels(predictions):
        return calibrator
    return None


def _members(calibrator: Calibrator, predictions: Predictions) -> list[Calibrator]:
    """Return the members of a stack, or the calibrator itself."""
    stack = _as_stack(calibrator, predictions)
    if stack is None:
        return [calibrator]
    return stack.members_for(predictions.n_classes, float(predictions.weights.sum()))


def _as_predictions(calibrator: Calibrator, log_probs: FloatArray, predictions: Predictions) -> Predictions:
    with np.errstate(under="ignore"):
        probs = keep_argmax(log_probs, np.exp(log_probs))
    if calibrator.preserves_argmax:
        keep_argmax(predictions.probs, probs)
    return Predictions._trusted(  # noqa: SLF001 (rows of calibrated predictions)
        probs, predictions.labels, predictions.weights, predictions.classes, log_probs
    )


GROUPS = "groups"
"""The name of the candidate that corrects groups."""


def group_table(features: object, predictions: Predictions, keep_argmax: bool) -> dict[str, NDArray[np.generic]]:
    """Return the columns of features at the rows of positive weight; refuse `keep_argmax`."""
    if keep_argmax:
        raise InputError(
            "features are for the fix of groups, which can change predicted classes. Leave them out, or allow changes "
            "with keep_argmax=False."
        )
    from calibrant.groups.columns import as_table

    table = as_table(features, predictions.n_samples)
    return {name: values[predictions.weights > 0] for name, values in table.items()}


def cross_fit_groups(
    table: dict[str, NDArray[np.generic]], predictions: Predictions, folds: list[IntArray]
) -> OutOfFold:
    """Fix every fold by the groups found in the other folds."""
    from calibrant.groups import GroupBoosting

    probs = np.empty(predictions.probs.shape)
    for rows in folds:
        others = _without(rows, predictions.n_samples)
        known = {name: values[others] for name, values in table.items()}
        fixed = GroupBoosting().fit(predictions.take(others), features=known)
        own = {name: values[rows] for name, values in table.items()}
        probs[rows] = fixed.predict_proba(predictions.take(rows), features=own)
    after = Predictions._trusted(  # noqa: SLF001 (probabilities by construction)
        probs, predictions.labels, predictions.weights, predictions.classes
    )
    return OutOfFold(after, True, GroupBoosting().fit(predictions, features=table))
