"""Base rates given to --base-rate, and probabilities adjusted to them by `calibrant apply`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from calibrant._border.numerals import as_given, between, counted, percent, significant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from calibrant._border.types import FloatArray
    from calibrant.cli.judging import Judging
    from calibrant.predictions import Predictions
    from calibrant.results import BaseRates, Population

NEVER = "A class with an estimated share of 0 is given the share of half a row, so that no class becomes impossible."


def _end_words(file: str, value: float, low: float, high: float) -> str:
    """Explain why an estimate of 0 or 1 cannot be used."""
    return (
        f"the most likely base rate of {file} is {as_given(value)} ({between((low, high), significant)}), "
        "at which all probabilities would be the same. Name a base rate with --base-rate."
    )


def usable_shares(found: "BaseRates", file: str) -> "FloatArray":
    """Return shares that are all above 0; with several classes, a share of 0 becomes that of half a row."""
    import numpy as np

    from calibrant.exceptions import InputError

    if len(found.value) == 2 and found.low is not None and found.high is not None and (found.value == 0).any():
        raise InputError(_end_words(file, *(float(ends[1]) for ends in (found.value, found.low, found.high))))
    raised = np.where(found.value == 0, 0.5 / found.n_samples, found.value)
    return np.asarray(raised / raised.sum())


def estimated_from(
    files: "Sequence[Path]", predictions: "Predictions", level: float, options: "Judging"
) -> "Population":
    """Estimate the shares of the classes in files without labels, and test whether the estimate can be trusted."""
    from dataclasses import replace

    from calibrant.cli.options import title
    from calibrant.cli.show import listening_bar, progress_bar
    from calibrant.decisions import estimate_base_rates
    from calibrant.hypotest import OmnibusTest
    from calibrant.io.read import read_unlabelled
    from calibrant.results import Population

    with listening_bar("reading", quiet=options.silent):
        rows = read_unlabelled(files, predictions.classes, **options.as_options())
    found = estimate_base_rates(rows.probs, predictions, rows.weights, classes=predictions.classes, level=level)
    with progress_bar("testing", quiet=options.silent) as progress:
        test = OmnibusTest(options.resamples)(predictions, rng=options.seed, progress=progress)
    return Population(name=title(files), shares=found, test=replace(test, null=None))


def are_numbers(text: str) -> bool:
    """Whether a text is a number, or several, comma-separated."""
    try:
        return bool([float(part) for part in text.split(",")])
    except ValueError:
        return False


def as_numbers(text: str, option: str) -> float | list[float]:
    """Return one number, or a list of comma-separated ones."""
    from calibrant.exceptions import InputError

    if not are_numbers(text):
        raise InputError(
            f"{option} must be a share such as 0.02, or one share per class such as 0.5,0.3,0.2, but is {text!r}."
        )
    numbers = [float(part) for part in text.split(",")]
    if not all(0 < number < 1 for number in numbers):
        raise InputError(f"{option} must be above 0 and below 1, but is {text}.")
    return numbers[0] if len(numbers) == 1 else numbers


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
    trained_rate: "Sequence[float] | float | None"
    classes: "Iterable[object] | None" = None
    lines: list[str] = field(default_factory=list)
    found: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        base_rate: str,
        trained_rate: str | None,
        fitted_to: "Sequence[float] | None",
        classes: "Iterable[object] | None",
    ) -> "Shift":
        """Check the options, before anything is read; `fitted_to` are the class shares of the calibrator's rows."""
        from calibrant.exceptions import InputError

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

    def __call__(self, values: "FloatArray", *, logits: bool) -> "FloatArray":
        """Return probabilities, (n, K), or their logarithms, adjusted to the base rate."""
        import numpy as np

        from calibrant.calibrators import PriorShift
        from calibrant.calibrators.multiclass.prior_shift import as_rates

        old = as_rates(self.trained_rate, values.shape[1], "--trained-rate")
        if self.base_rate == AUTO:
            new = self._estimated(np.exp(values) if logits else values, old)
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

    def _estimated(self, probs: "FloatArray", old: "FloatArray") -> "FloatArray":
        return self._of_two(probs, old) if len(old) == 2 else self._of_several(probs, old)

    def _of_two(self, probs: "FloatArray", old: "FloatArray") -> "FloatArray":
        import numpy as np

        from calibrant.decisions import estimate_base_rate
        from calibrant.exceptions import InputError

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

    def _of_several(self, probs: "FloatArray", old: "FloatArray") -> "FloatArray":
        from calibrant.decisions import estimate_base_rates
        from calibrant.results.words.decisions import base_rates_words

        names = self.classes or [f"class {j}" for j in range(len(old))]
        found = estimate_base_rates(probs, old, classes=names)
        self.found["estimate"] = found
        self.lines.append(base_rates_words(found))
        if (found.value == 0).any():
            self.lines.append(NEVER)
        return usable_shares(found, "FILE")
