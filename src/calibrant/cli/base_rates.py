"""Base rates as they are given, by numbers or by a file of rows without labels, from which they are estimated."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from calibrant._border.types import FloatArray
    from calibrant.cli.options import Judging
    from calibrant.predictions import Predictions
    from calibrant.results import BaseRates, Population

NEVER = "A class whose most likely share is 0 is taken for half a row of all, so that none becomes impossible."


def end_words(file: str, value: float, low: float, high: float) -> str:
    """Say why an estimate of 0 or 1 is of no use."""
    return (
        f"the most likely base rate of {file} is {value:g} ({low:.3g} to {high:.3g}), at which all probabilities would "
        "be the same. Name a base rate with --base-rate."
    )


def usable_shares(found: "BaseRates", file: str) -> "FloatArray":
    """Return shares that are all above 0; of several classes, one that is 0 becomes that of half a row."""
    import numpy as np

    from calibrant.exceptions import InputError

    if len(found.value) == 2 and found.low is not None and found.high is not None and (found.value == 0).any():
        raise InputError(end_words(file, *(float(ends[1]) for ends in (found.value, found.low, found.high))))
    raised = np.where(found.value == 0, 0.5 / found.n_samples, found.value)
    return np.asarray(raised / raised.sum())


def estimated_from(
    files: "Sequence[Path]", predictions: "Predictions", level: float, options: "Judging"
) -> "Population":
    """Return the shares of the classes in files without labels, with the test that says whether to trust them."""
    from dataclasses import replace

    from calibrant.cli.options import title
    from calibrant.cli.show import listening_bar, progress_bar
    from calibrant.decisions import estimate_base_rates
    from calibrant.hypotest import OmnibusTest
    from calibrant.io.unlabelled import read_unlabelled
    from calibrant.results import Population

    with listening_bar("reading", quiet=options.silent):
        rows = read_unlabelled(files, predictions.classes, **options.as_options())
    found = estimate_base_rates(rows.probs, predictions, rows.weights, classes=predictions.classes, level=level)
    with progress_bar("testing", quiet=options.silent) as progress:
        test = OmnibusTest(options.resamples)(predictions, rng=options.seed, progress=progress)
    return Population(name=title(files), shares=found, test=replace(test, null=None))


def are_numbers(text: str) -> bool:
    """Whether a text is a number, or several between commas."""
    try:
        return bool([float(part) for part in text.split(",")])
    except ValueError:
        return False


def as_numbers(text: str, option: str) -> float | list[float]:
    """Return one number, or a list of those between commas."""
    from calibrant.exceptions import InputError

    if not are_numbers(text):
        raise InputError(
            f"{option} must be a share such as 0.02, or one for each class such as 0.5,0.3,0.2, but is {text!r}."
        )
    numbers = [float(part) for part in text.split(",")]
    if not all(0 < number < 1 for number in numbers):
        raise InputError(f"{option} must be above 0 and below 1, but is {text}.")
    return numbers[0] if len(numbers) == 1 else numbers
