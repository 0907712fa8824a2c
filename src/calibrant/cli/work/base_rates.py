"""Base rates given to --base-rate, and probabilities adjusted to them by `calibrant apply`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from calibrant._border.numerals import as_given, between, counted, percent, significant
from calibrant._border.types import FloatArray
from calibrant.calibrators import PriorShift
from calibrant.calibrators.multiclass.prior_shift import as_rates
from calibrant.cli.options.judging import Judging
from calibrant.cli.options.reading import as_numbers, title
from calibrant.cli.printing import show
from calibrant.decisions import estimate_base_rate, estimate_base_rates
from calibrant.exceptions import InputError
from calibrant.hypotest import OmnibusTest
from calibrant.io.read import read_unlabelled
from calibrant.predictions import Predictions
from calibrant.results import BaseRates, Population
from calibrant.results.words.decisions import base_rates_words

NEVER = "A class with an estimated share of 0 is given the share of half a row, so that no class becomes impossible."


def _end_words(file: str, value: float, low: float, high: float) -> str:
    """Explain why an estimate of 0 or 1 cannot be used."""
    return (
        f"the most likely base rate of {file} is {as_given(value)} ({between((low, high), significant)}), "
        "at which all probabilities would be the same. Name a base rate with --base-rate."
    )


def usable_shares(found: BaseRates, file: str) -> FloatArray:
    """Return shares that are all above 0; with several classes, a share of 0 becomes that of half a row."""
    if len(found.value) == 2 and found.low is not None and found.high is not None and (found.value == 0).any():
        raise InputError(_end_words(file, *(float(ends[1]) for ends in (found.value, found.low, found.high))))
    raised = np.where(found.value == 0, 0.5 / found.n_samples, found.value)
    return np.asarray(raised / raised.sum())


def estimated_from(files: Sequence[Path], predictions: Predictions, level: float, options: Judging) -> Population:
    """Estimate the shares of the classes in files without labels, and test whether the estimate can be trusted."""
    with show.listening_bar("reading", quiet=options.silent):
        rows = read_unlabelled(files, predictions.classes, **options.as_options())
    found = estimate_base_rates(rows.probs, predictions, rows.weights, classes=predictions.classes, level=level)
    with show.progress_bar("testing", quiet=options.silent) as progress:
        test = OmnibusTest(options.resamples)(predictions, rng=options.seed, progress=progress)
    return Population(name=title(files), shares=found, test=replace(test, null=None))


AUTO = "auto"
"""Estimate the base rate from the rows."""


@dataclass
class Shift:
    """How probabilities are adjusted to a base rate, and a record of it.

    Attributes
    ----------
    base_rate : str
        The option as given.
    trained_rate : list of float, float or None
        The base rate for which the probabilities are calibrated.
    classes : list or None
        Names of the classes, if they are known.
    lines : list of str
        Lines to print.
    found : dict
        The record for JSON.
    """

    base_rate: str
    trained_rate: Sequence[float] | float | None
    classes: Iterable[object] | None = None
    lines: list[str] = field(default_factory=list)
    found: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        base_rate: str,
        trained_rate: str | None,
        fitted_to: Sequence[float] | None,
        classes: Iterable[object] | None,
    ) -> "Shift":
        """Check the options, before anything is read; `fitted_to` are the class shares of the calibrator's rows."""
        if base_rate != AUTO:
            as_numbers(base_rate, "--base-rate")
        if trained_rate is not None:
            return cls(base_rate, as_numbers(trained_rate, "--trained-rate"), classes)
        if fitted_to is None:
            raise InputError(
                "--base-rate needs --trained-rate, the share of the event that the probabilities are calibrated for: "
                "that of the rows to which the model or its calibrator was fitted. Calibrators written by this version "
                "store it."
            )
        return cls(base_rate, fitted_to, classes)

    def __call__(self, values: FloatArray, *, logits: bool) -> FloatArray:
        """Return probabilities, (n, K), or their logarithms, adjusted to the base rate."""
        old = as_rates(self.trained_rate, values.shape[1], "--trained-rate")
        if self.base_rate == AUTO:
            estimate = self._of_two if len(old) == 2 else self._of_several
            new = estimate(np.exp(values) if logits else values, old)
        else:
            new = as_rates(as_numbers(self.base_rate, "--base-rate"), len(old), "--base-rate")
        self.found |= {"trained_rate": old.tolist(), "base_rate": new.tolist()}
        target = "the one estimated" if self.base_rate == AUTO else "the one given"
        shown = f"{significant(old[1], 4)} to {significant(new[1], 4)}" if len(old) == 2 else f"the old one to {target}"
        self.lines.append(
            f"The base rate is moved from {shown}, which is right if the rows of each class look as before."
        )
        shift = PriorShift(new, trained_rate=old).between(range(len(old)))
        return shift.transform(values) if logits else shift.predict_proba(values)

    def _of_two(self, probs: FloatArray, old: FloatArray) -> FloatArray:
        found = estimate_base_rate(probs, float(old[-1]))
        self.found["estimate"] = found
        self.lines.append(
            f"Estimated from {counted(found.n_samples)}: base rate {significant(found.value, 4)}, "
            f"{percent(found.level)} limits {significant(found.low, 4)} to {significant(found.high, 4)}. "
            f"{found.assumption}"
        )
        if not 0 < found.value < 1:
            raise InputError(_end_words("FILE", found.value, found.low, found.high))
        return np.array([1 - found.value, found.value])

    def _of_several(self, probs: FloatArray, old: FloatArray) -> FloatArray:
        names = self.classes or [f"class {j}" for j in range(len(old))]
        found = estimate_base_rates(probs, old, classes=names)
        self.found["estimate"] = found
        self.lines.append(base_rates_words(found))
        if (found.value == 0).any():
            self.lines.append(NEVER)
        return usable_shares(found, "FILE")
