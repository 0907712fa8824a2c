"""Compute the certified answers from their definitions, in 50 digits: `python -m certification.certify`.

Nothing of calibrant's own methods is used here: every value is a plain sum, or the root of a plain sum, in mpmath.
Predictions are multiples of 1/1024, so that rows sum to 1 exactly and no rounding happens before the first formula.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from mpmath import mp, mpf

from certification.exact_classes import of_classes
from certification.exact_event import of_event
from certification.exact_forecasts import of_forecasts

UNIT = 1024
"""Predictions are multiples of one part in this."""

DIGITS = 30
"""Significant digits of the answers."""


def integers(seed: int) -> Iterator[int]:
    """Yield integers below 2^31 of a linear congruential generator, which any language can repeat."""
    state = seed
    while True:
        state = (1_103_515_245 * state + 12_345) % 2**31
        yield state >> 4


def binary_data(n: int = 48) -> dict[str, list[Any]]:
    """Return distinct predictions of an event, in parts of 1024, and outcomes that are a little less extreme."""
    draw = integers(1)
    predicted: list[int] = []
    while len(predicted) < n:
        candidate = 1 + next(draw) % (UNIT - 1)
        if candidate not in predicted and 2 * candidate != UNIT:
            predicted.append(candidate)
    labels = [int(next(draw) % UNIT < (2 * p + UNIT // 2) // 3) for p in predicted]
    return {"parts": predicted, "labels": labels}


def class_data(n: int = 40) -> dict[str, list[Any]]:
    """Return predictions of three classes, in parts of 1024, without ties in a row, and labels."""
    draw = integers(2)
    parts: list[list[int]] = []
    while len(parts) < n:
        low, high = sorted((1 + next(draw) % (UNIT - 1), 1 + next(draw) % (UNIT - 1)))
        row = [low, high - low, UNIT - high]
        if len({*row}) == 3 and min(row) > 0:
            parts.append(row)
    labels = []
    for row in parts:
        place = next(draw) % UNIT
        labels.append(0 if place < row[0] else 1 if place < row[0] + row[1] else 2)
    return {"parts": parts, "labels": labels}


def forecast_data(n: int = 32) -> dict[str, list[Any]]:
    """Return means, standard deviations and targets, in parts of 1024."""
    draw = integers(3)
    mean = [next(draw) % 4096 - 2048 for _ in range(n)]
    sd = [512 + next(draw) % 1024 for _ in range(n)]
    target = [m + next(draw) % 4096 - 2048 for m in mean]
    return {"mean": mean, "sd": sd, "target": target}


def certificate() -> dict[str, Any]:
    """Return data and answers."""
    event, classes, forecasts = binary_data(), class_data(), forecast_data()
    with mp.workdps(50):
        answers = {
            "event": of_event(_scaled(event["parts"]), [mpf(label) for label in event["labels"]]),
            "classes": of_classes([_scaled(row) for row in classes["parts"]], classes["labels"]),
            "forecasts": of_forecasts(*(_scaled(forecasts[name]) for name in ("mean", "sd", "target"))),
        }
        values = {
            f"{part}/{name}": mp.nstr(value, DIGITS, strip_zeros=False)
            for part, found in answers.items()
            for name, value in found.items()
        }
    data = {"event": event, "classes": classes, "forecasts": forecasts}
    return {"command": "python -m certification.certify", "unit": UNIT, "data": data, "values": values}


def _scaled(parts: list[int]) -> list[Any]:
    return [mpf(k) / UNIT for k in parts]


def main() -> None:
    """Write the certificate to standard output."""
    json.dump(certificate(), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
