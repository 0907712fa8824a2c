"""The base class of the calibrators of predictive distributions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from calibrant._border.checks import check_copies
from calibrant._border.numerals import as_given
from calibrant._border.types import FloatArray
from calibrant.calibrators.estimator import Estimator, check_is_fitted
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts, MonteCarlo, Quantiles, Samples

Guarantee = Literal["none", "marginal coverage", "per group"]
"""What is guaranteed for new rows that are exchangeable with those of the fit, whatever the forecasts are."""


class Need(NamedTuple):
    """A requirement on distributions: a predicate, its description, and advice if it does not hold."""

    holds: Callable[[Distribution], bool]
    words: str
    advice: str


def _moves(law: Distribution) -> bool:
    return not isinstance(law, MonteCarlo) and not any(isinstance(part, MonteCarlo) for part in law.components)


def _line(law: Distribution) -> bool:
    return not law.event_shape


NEEDS = {
    "anything": Need(lambda _: True, "any distributions", ""),
    "density": Need(
        lambda law: law.has_density and _moves(law),
        "distributions with a density that can be scaled",
        'For quantiles use "scale-crps", for ensembles "inflate".',
    ),
    "density on the line": Need(
        lambda law: law.has_density and _moves(law) and _line(law),
        "univariate distributions with a density that can be scaled",
        'For quantiles use "shift-scale-crps", for ensembles "inflate", for vectors "scale".',
    ),
    "line": Need(
        lambda law: _line(law) and law.has_cdf and _moves(law) and not isinstance(law, Samples),
        "univariate distributions that can be scaled, other than ensembles",
        'For ensembles use "inflate".',
    ),
    "spread": Need(
        lambda law: _line(law) and law.has_sd and not isinstance(law, Samples),
        "univariate distributions with standard deviations, other than ensembles",
        'For ensembles use "inflate".',
    ),
    "continuous": Need(
        lambda law: law.has_cdf and not isinstance(law, Samples),
        "univariate distributions with a distribution function, other than ensembles",
        'A map of probabilities cannot leave the range of the members: use "inflate".',
    ),
    "interval": Need(lambda law: law.has_cdf, "univariate distributions with a distribution function", ""),
    "ensemble": Need(
        lambda law: isinstance(law, Samples) and law.n_draws > 1,
        "ensembles of at least two members, Samples(draws)",
        'For other distributions use "scale" or "shift-scale".',
    ),
    "quantiles": Need(
        lambda law: isinstance(law, Quantiles),
        "quantiles, Quantiles(levels, values)",
        "Take them of other distributions: Quantiles(levels, distribution.quantile(levels)).",
    ),
}
"""The requirements of calibrators, by the name in `accepts`."""


class ForecastCalibrator(Estimator, ABC):
    """Base of all calibrators of predictive distributions; a subclass defines `_fit` and `_apply`.

    As in all calibrators, a row of weight w counts as w copies.

    Attributes
    ----------
    n_parameters : str
        Number of learnt parameters.
    accepts : str
        Which distributions it accepts: a name in `NEEDS`.
    keeps_mean, keeps_median : bool
        Whether the means, and the medians, of symmetric distributions do not change.
    has_density : bool
        Whether the result has a density if the distributions have one.
    guarantee : {"none", "marginal coverage", "per group"}
    gives : {"law", "intervals"}
        Whether the result is a whole distribution, to be judged by scores, or only an interval.
    least_rows : int
        Least number of rows for which `calibrant.recommend` considers it.
    use_when : str
        Advice in one sentence.
    dim_ : int
        Number of coordinates of the targets.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> class Unbiased(ForecastCalibrator):
    ...     def _fit(self, forecasts):
    ...         self.error_ = np.average(forecasts.targets - forecasts.distribution.mean(), weights=forecasts.weights)
    ...
    ...     def _apply(self, distribution):
    ...         return distribution.affine(np.full(distribution.n, self.error_), np.ones(distribution.n))
    >>> Unbiased().fit(Forecasts(Normal([0.0, 1.0], 1.0), [3.0, 6.0])).apply(Normal([0.0], 1.0)).mean().tolist()
    [4.0]
    """

    n_parameters: ClassVar[str]
    accepts: ClassVar[str] = "anything"
    keeps_mean: bool = False
    keeps_median: bool = False
    has_density: bool = True
    guarantee: Guarantee = "none"
    gives: ClassVar[Literal["law", "intervals"]] = "law"
    least_rows: ClassVar[int] = 50
    use_when: ClassVar[str]
    dim_: int

    @abstractmethod
    def _fit(self, forecasts: Forecasts) -> None:
        """Learn the attributes, whose names end in an underscore; weights are positive."""

    @abstractmethod
    def _apply(self, distribution: Distribution) -> Distribution:
        """Return calibrated distributions."""

    def fit(self, forecasts: Forecasts) -> Self:
        """Learn from forecasts of rows that the model was not trained on.

        Parameters
        ----------
        forecasts : Forecasts
            A row of weight w counts as w copies; 0 leaves it out.
        """
        used = self._checked(forecasts)
        self._fit(used)
        self.dim_ = used.distribution.dim
        return self

    def apply(self, distribution: Distribution) -> Distribution:
        """Return one calibrated distribution per row."""
        check_is_fitted(self)
        if not isinstance(distribution, Distribution):
            found = "Forecasts: call calibrate" if isinstance(distribution, Forecasts) else f"{distribution!r:.60}"
            raise TypeError(f"apply takes a distribution such as Normal(loc, scale), but got {found}.")
        self._check_law(distribution)
        if distribution.dim != self.dim_:
            raise InputError(
                f"distributions must have the {self.dim_} coordinates of those of the fit, but have {distribution.dim}."
            )
        return self._apply(distribution)

    def calibrate(self, forecasts: Forecasts) -> Forecasts:
        """Return the forecasts with calibrated distributions, and the same targets and weights."""
        calibrated = self.apply(forecasts.distribution)
        return Forecasts._trusted(calibrated, forecasts.targets, forecasts.weights)  # noqa: SLF001 (checked already)

    def suits(self, distribution: Distribution) -> bool:
        """Return whether it accepts these distributions."""
        return NEEDS[self.accepts].holds(distribution)

    def _checked(self, forecasts: Forecasts) -> Forecasts:
        """Return the rows with positive weight, after checks."""
        if not isinstance(forecasts, Forecasts):
            raise TypeError(
                f"{type(self).__name__} is fitted to Forecasts(distribution, targets), but got "
                f"{type(forecasts).__name__}."
            )
        check_copies(forecasts.weights)
        self._check_law(forecasts.distribution)
        return forecasts if forecasts.weights.all() else forecasts.take(np.flatnonzero(forecasts.weights > 0))

    def _check_law(self, law: Distribution) -> None:
        if not self.suits(law):
            need = NEEDS[self.accepts]
            raise InputError(f"{type(self).__name__} needs {need.words}, but these are {law}. {need.advice}".strip())


class Frame(NamedTuple):
    """The centres of distributions, and the units in which errors are measured."""

    centre: FloatArray
    unit: FloatArray


def frame_of(law: Distribution) -> Frame:
    """Return the means, and as units the scales or, without such a parameter, the standard deviations."""
    unit = np.asarray(law.scale if hasattr(law, "scale") else law.sd())
    bad = ~((unit > 0) & np.isfinite(unit))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"distributions must have positive, finite spreads, but the spread in row {row} is {as_given(unit[row])} "
            f"({int(bad.sum())} of {len(unit)} rows). Drop such rows."
        )
    return Frame(law.mean(), unit)


def standardised(forecasts: Forecasts) -> FloatArray:
    """Return the errors of the means in units of the spreads."""
    centre, unit = frame_of(forecasts.distribution)
    return (forecasts.targets - centre) / unit


def average(values: FloatArray, weights: FloatArray) -> float:
    """Return the weighted mean."""
    return float(weights @ values / weights.sum())


def refuse_exact(spread: float, what: str) -> None:
    """Refuse a spread of 0, from which nothing can be learnt."""
    if not spread > 0:
        raise InputError(
            f"the spread cannot be learnt, because {what} in every row. Pass rows that the model was not trained on, "
            "or check that targets are not predictions."
        )
