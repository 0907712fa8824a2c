"""Selective prediction: how well confidence separates right answers from wrong ones, for a model that may abstain."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant.binning.ties import comparable, starts_of_ties
from calibrant.metrics.base.metric import SELECTIVE, Metric, relative
from calibrant.predictions import Predictions

ANSWERS = ("wrong", "right")
"""Class names of predictions that are already confidences in answers: from `top_label()`, or from files of answers."""


def answers(predictions: Predictions) -> Predictions:
    """Return the confidence in each answer, and whether it was right.

    Predictions with the classes "wrong" and "right" already have this form, such as answers of language models. For
    others the answer is the most probable class.

    Examples
    --------
    >>> p = Predictions([0.2, 0.9], labels=[0, 0])
    >>> answers(p).positive.tolist(), answers(p).labels.tolist()
    ([0.8, 0.9], [1, 0])
    >>> said = Predictions([0.2, 0.9], labels=[0, 0], classes=ANSWERS)
    >>> answers(said).positive.tolist()
    [0.2, 0.9]
    """
    return predictions if predictions.classes == ANSWERS else predictions.top_label()


class SelectiveMetric(Metric):
    """A metric of the rows in descending order of confidence."""

    group = SELECTIVE
    family = "rank"
    measures = "accuracy"
    cells = False
    methods = ("sandwich",)

    def view(self, predictions: Predictions) -> Predictions:
        """Return confidences, and whether the answers were right."""
        return answers(predictions)

    @abstractmethod
    def of_ranks(self, errors: FloatArray, group: IntArray) -> Evaluator:
        """Return the map from weights, (n, B), to B values, for rows in descending order; a group is one tie."""

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        view = self.view(predictions)
        confidence = comparable(view.positive)
        order = np.argsort(-confidence, kind="stable")
        evaluate = self.of_ranks((view.labels[order] == 0).astype(float), _groups(confidence[order]))
        return lambda weights: evaluate(weights[order])

    def influence(self, predictions: Predictions) -> FloatArray:
        """Return what each row contributes to the error of the value: its weight times the derivative by that weight.

        Examples
        --------
        >>> p = Predictions([0.9, 0.8, 0.7, 0.6], labels=[1, 0, 1, 1])
        >>> AUGRC().influence(p).round(4).tolist()  # Only the second is wrong, and given at most coverages.
        [-0.0781, 0.1094, -0.0156, -0.0156]
        """
        view = self.view(predictions)
        rows = np.flatnonzero(view.weights > 0)
        confidence = comparable(view.positive[rows])
        order = np.argsort(-confidence, kind="stable")
        rows, group = rows[order], _groups(confidence[order])
        found = np.zeros(view.n_samples)
        weights = view.weights[rows] / view.weights.max()
        found[rows] = weights * self.slopes((view.labels[rows] == 0).astype(float), group, weights)
        return found

    @abstractmethod
    def slopes(self, errors: FloatArray, group: IntArray, weights: FloatArray) -> FloatArray:
        """Return the derivative by the weight of each row, for positive weights in descending order of confidence."""


@dataclass(frozen=True)
class AURC(SelectiveMetric):
    r"""Area under the risk-coverage curve: the mean error rate of the k most confident rows, over all k.

    Notes
    -----
    In descending order of confidence, with weights w and errors e,

    .. math:: \sum_k \frac{w_k}{\sum_i w_i} \frac{\sum_{i \le k} w_i e_i}{\sum_{i \le k} w_i}.

    Tied rows count as on average over their orders: each has the mean error and the mean weight of the tie. So the
    order of the rows in a file does not matter.

    References
    ----------
    Y. Geifman, G. Uziel, R. El-Yaniv, "Bias-reduced uncertainty estimation for deep neural classifiers", ICLR 2019.

    Examples
    --------
    >>> p = Predictions([0.9, 0.8, 0.7, 0.6], labels=[1, 0, 1, 1])
    >>> round(AURC()(p), 4)  # (0 + 1/2 + 1/3 + 1/4) / 4
    0.2708
    """

    label = "AURC"
    meaning = "Area under the risk-coverage curve: mean error rate of the k most confident rows, over all k."
    weights = "pairs"

    def of_ranks(self, errors: FloatArray, group: IntArray) -> Evaluator:
        """Return the map from weights in this order to values."""
        return lambda weights: _mean_risks(errors, group, weights)

    def slopes(self, errors: FloatArray, group: IntArray, weights: FloatArray) -> FloatArray:
        """Return the derivative by the weight of each row."""
        return _slopes_of_risks(errors, group, weights)


@dataclass(frozen=True)
class ExcessAURC(SelectiveMetric):
    """E-AURC: the area under the risk-coverage curve, less that of the best order of the same answers.

    The best order has all right answers before all wrong ones. It is that of these rows: the optimum for infinitely
    many, e + (1 - e) ln(1 - e), would make the excess of few rows too large.

    References
    ----------
    Y. Geifman, G. Uziel, R. El-Yaniv, "Bias-reduced uncertainty estimation for deep neural classifiers", ICLR 2019.

    Examples
    --------
    >>> p = Predictions([0.9, 0.8, 0.7, 0.6], labels=[1, 0, 1, 1])
    >>> round(ExcessAURC()(p), 4)  # 0.2708 - (0 + 0 + 0 + 1/4) / 4
    0.2083
    """

    label = "E-AURC"
    meaning = "AURC less that of the best order of the same answers; 0 at best."
    weights = "pairs"

    def of_ranks(self, errors: FloatArray, group: IntArray) -> Evaluator:
        """Return the map from weights in this order to values."""
        best, tied = _best_order(errors, group)

        def evaluate(weights: FloatArray) -> FloatArray:
            return _mean_risks(errors, group, weights) - _mean_risks(errors[best], tied, weights[best])

        return evaluate

    def slopes(self, errors: FloatArray, group: IntArray, weights: FloatArray) -> FloatArray:
        """Return the derivative by the weight of each row."""
        found = _slopes_of_risks(errors, group, weights)
        best, tied = _best_order(errors, group)
        found[best] -= _slopes_of_risks(errors[best], tied, weights[best])
        return found


@dataclass(frozen=True)
class AUGRC(SelectiveMetric):
    r"""Area under the generalised risk-coverage curve: the share of wrong answers that are given, over all coverages.

    Notes
    -----
    The generalised risk is the error rate times the coverage, :math:`\sum_{i \le k} w_i e_i / \sum_i w_i`. The area is
    found by trapezoids from coverage 0, one for each tie. With the accuracy a and the area A under the ROC curve by
    which confidence tells right answers from wrong ones, it is :math:`(1 - A) a (1 - a) + (1 - a)^2 / 2`.

    References
    ----------
    J. Traub et al., "Overcoming common flaws in the evaluation of selective classification systems", NeurIPS 2024.

    Examples
    --------
    >>> p = Predictions([0.9, 0.8, 0.7, 0.6], labels=[1, 0, 1, 1])
    >>> round(AUGRC()(p), 5)  # (1/8 + 1/4 + 1/4) / 4
    0.15625
    """

    label = "AUGRC"
    meaning = "Mean share of all rows that are answered wrongly, over all coverages."

    def of_ranks(self, errors: FloatArray, group: IntArray) -> Evaluator:
        """Return the map from weights in this order to values."""
        first = starts_of_ties(group)

        def evaluate(weights: FloatArray) -> FloatArray:
            mass = np.add.reduceat(weights, first, axis=0)
            wrong = np.add.reduceat(weights * errors[:, None], first, axis=0)
            before = np.cumsum(wrong, axis=0) - wrong / 2
            return np.asarray((mass * before).sum(axis=0) / weights.sum(axis=0) ** 2)

        return evaluate

    def slopes(self, errors: FloatArray, group: IntArray, weights: FloatArray) -> FloatArray:
        """Return the derivative by the weight of each row."""
        first = starts_of_ties(group)
        mass, wrong = np.add.reduceat(weights, first), np.add.reduceat(weights * errors, first)
        total, before = float(weights.sum()), np.cumsum(wrong) - wrong / 2
        after = total - np.cumsum(mass) + mass / 2
        value = float(mass @ before) / total**2
        return np.asarray((before[group] + errors * after[group]) / total**2 - 2 * value / total)


def _best_order(errors: FloatArray, group: IntArray) -> tuple[IntArray, IntArray]:
    """Return the order with all right answers first, and the tie of every row in it."""
    best = np.lexsort((group, errors))
    return best, _groups(group[best] + (group[-1] + 1) * errors[best])


def _groups(ordered: FloatArray) -> IntArray:
    """Return the number of the tie of every row, given values in order."""
    group = np.zeros(len(ordered), dtype=np.int64)
    group[starts_of_ties(ordered)[1:]] = 1
    return np.cumsum(group)


def _mean_risks(errors: FloatArray, group: IntArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the error rates of the first k rows, for each column of weights."""
    weights = relative(weights)
    wrong = weights * errors[:, None]
    if group[-1] + 1 < len(group):
        present = weights > 0
        first = starts_of_ties(group)
        counts = np.maximum(np.add.reduceat(present, first, axis=0, dtype=np.int64), 1)
        weights, wrong = (present * (np.add.reduceat(x, first, axis=0) / counts)[group] for x in (weights, wrong))
    mass = np.cumsum(weights, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        risks = np.where(mass > 0, np.cumsum(wrong, axis=0) / mass, 0.0)
    return np.asarray((weights * risks).sum(axis=0) / mass[-1])


def _slopes_of_risks(errors: FloatArray, group: IntArray, weights: FloatArray) -> FloatArray:
    """Return the derivatives of `_mean_risks` by the weights of the rows, all positive.

    Tied rows have the mean weight and the mean weight of errors of the tie, so that each has the mean derivative by
    these.
    """
    first = starts_of_ties(group)
    counts = np.diff(np.append(first, len(group)))

    def of_ties(values: FloatArray) -> FloatArray:
        return np.asarray((np.add.reduceat(values, first) / counts)[group])

    own, wrong = of_ties(weights), of_ties(weights * errors)
    mass = np.cumsum(own)
    risks = np.cumsum(wrong) / mass
    value = float(own @ risks) / mass[-1]
    # A row enters the error rate at its own rank and at all later ones.
    by_weight = risks - value - np.cumsum((own * risks / mass)[::-1])[::-1]
    by_error = np.cumsum((own / mass)[::-1])[::-1]
    return np.asarray((of_ties(by_weight) + errors * of_ties(by_error)) / mass[-1])
