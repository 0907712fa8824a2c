"""What decisions at a threshold cost, and what they are worth."""

from dataclasses import dataclass, replace
from math import isfinite
from numbers import Real

import numpy as np

from calibrant._border.numerals import as_given, significant
from calibrant._border.types import BoolArray, FloatArray
from calibrant.binning.ties import comparable
from calibrant.exceptions import InputError
from calibrant.metrics.base.metric import DECISIONS
from calibrant.metrics.scores import Score
from calibrant.predictions import Predictions
from calibrant.results import Description


@dataclass(frozen=True)
class Costs:
    r"""What the four outcomes of a decision cost: acting or not, where the event happens or not.

    Parameters
    ----------
    false_positive : float
        Cost of acting where the event does not happen.
    false_negative : float
        Cost of not acting where it does.
    true_positive, true_negative : float, default=0
        Costs of the right decisions.

    Notes
    -----
    Acting is cheaper on average where the probability of the event is at least

    .. math:: t = \frac{C_{10} - C_{00}}{(C_{10} - C_{00}) + (C_{01} - C_{11})},

    where the first index of :math:`C` is the decision and the second is the outcome.

    References
    ----------
    C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001.

    Examples
    --------
    >>> Costs(false_positive=1, false_negative=19).threshold
    0.05
    >>> Costs(3, 10, true_positive=4, true_negative=1).threshold
    0.25
    """

    false_positive: float
    false_negative: float
    true_positive: float = 0.0
    true_negative: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
                raise InputError(f"{name} must be a finite number, but is {value!r}.")
        for wrong, right in (("false_positive", "true_negative"), ("false_negative", "true_positive")):
            extra = getattr(self, wrong) - getattr(self, right)
            if not extra > 0:
                raise InputError(
                    f"{wrong} must cost more than {right}, but costs {as_given(getattr(self, wrong))} against "
                    f"{as_given(getattr(self, right))}. A mistake that costs nothing leaves nothing to decide."
                )

    @property
    def threshold(self) -> float:
        """The probability from which on acting is cheaper."""
        wrong_to_act = self.false_positive - self.true_negative
        return float(wrong_to_act / (wrong_to_act + (self.false_negative - self.true_positive)))

    @property
    def exchange_rate(self) -> float:
        """How many true positives a false positive is worth: the odds of the threshold.

        Examples
        --------
        >>> Costs(false_positive=5, false_negative=1).exchange_rate
        5.0
        """
        return float((self.false_positive - self.true_negative) / (self.false_negative - self.true_positive))

    @classmethod
    def at(cls, threshold: float) -> "Costs":
        """Return the costs for which a threshold is best, in units of a missed event: t / (1 - t) and 1.

        Examples
        --------
        >>> Costs.at(0.2)
        Costs(false_positive=0.25, false_negative=1.0, true_positive=0.0, true_negative=0.0)
        """
        check_threshold(threshold)
        return cls(threshold / (1 - threshold), 1.0)

    def per_row(self, acts: BoolArray, events: BoolArray) -> FloatArray:
        """Return the cost of each decision."""
        acting = np.where(events, self.true_positive, self.false_positive)
        return np.where(acts, acting, np.where(events, self.false_negative, self.true_negative))


def check_threshold(value: object, name: str = "threshold") -> None:
    """Refuse anything but a probability strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise InputError(f"{name} must be a probability above 0 and below 1, but is {value!r}.")


def reaches(probabilities: FloatArray, threshold: float) -> BoolArray:
    """Return where probabilities are at least a threshold; they are compared to 12 decimals, as ties are.

    Examples
    --------
    >>> reaches(np.array([1 - 0.9, 0.05]), 0.1).tolist()  # 1 - 0.9 is 0.09999999999999998.
    [True, False]
    """
    return np.asarray(comparable(probabilities) >= comparable(np.asarray(threshold)))


@dataclass(frozen=True)
class NetBenefit(Score):
    r"""Net benefit of acting where the probability of class 1 is at least a threshold.

    Parameters
    ----------
    threshold : float

    Notes
    -----
    .. math:: \mathrm{NB}(t) = \frac{\mathrm{TP}}{n} - \frac{\mathrm{FP}}{n} \frac{t}{1 - t}.

    Its unit is one event that is acted on. It needs two classes. It is not in METRICS: no threshold is right for
    everyone, and a name without one would say nothing. Values at different thresholds cannot be compared.

    References
    ----------
    A. Vickers, E. Elkin, "Decision curve analysis", Medical Decision Making 26 (2006).

    Examples
    --------
    >>> NetBenefit(0.2)(Predictions([0.9, 0.3, 0.1, 0.4], labels=[1, 0, 0, 1]))  # 2/4 - 1/4 * 1/4
    0.4375
    """

    label = "Net benefit"
    group = DECISIONS
    better = "higher"
    measures = "both"
    threshold: float

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def about(self) -> Description:
        """Return the description that readers see."""
        place = as_given(self.threshold)
        meaning = f"Worth of acting where the probability is at least {place}, in events acted on per row."
        return replace(super().about(), meaning=meaning)

    def per_row(self, predictions: Predictions) -> FloatArray:
        """Return 1 for a true positive, minus the odds of the threshold for a false one, and 0 without action."""
        odds = self.threshold / (1 - self.threshold)
        acts = reaches(predictions.positive, self.threshold)
        return np.where(acts, np.where(predictions.labels == 1, 1.0, -odds), 0.0)


@dataclass(frozen=True)
class ExpectedCost(Score):
    """Mean cost per row of acting where the probability of class 1 is at least a threshold.

    Parameters
    ----------
    costs : Costs
    threshold : float, optional
        By default that of the costs, which is best if the probabilities are calibrated.

    Notes
    -----
    It needs two classes. It is not in METRICS: costs are the user's.

    Examples
    --------
    >>> p = Predictions([0.9, 0.3, 0.1, 0.4], labels=[1, 0, 0, 1])
    >>> ExpectedCost(Costs(1, 4))(p)  # One false positive in four rows.
    0.25
    >>> ExpectedCost(Costs(1, 4), threshold=0.5)(p)  # One event missed.
    1.0
    """

    label = "Expected cost"
    group = DECISIONS
    measures = "both"
    costs: Costs
    threshold: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.costs, Costs):
            raise TypeError(f"costs must be Costs, such as Costs(1, 20), but is {self.costs!r:.60}.")
        if self.threshold is not None:
            check_threshold(self.threshold)

    @property
    def cut(self) -> float:
        """The threshold that is used."""
        return self.costs.threshold if self.threshold is None else self.threshold

    def about(self) -> Description:
        """Return the description that readers see."""
        meaning = f"Mean cost per row of acting where the probability is at least {significant(self.cut, 4)}."
        return replace(super().about(), meaning=meaning)

    def per_row(self, predictions: Predictions) -> FloatArray:
        """Return the cost of the decision about each row."""
        return self.costs.per_row(reaches(predictions.positive, self.cut), predictions.labels == 1)
