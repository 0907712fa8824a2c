"""What is to be known about a value beside the value: why it is infinite, why there is none, what it hangs on."""

from collections.abc import Iterable

from calibrant.results.estimate import Estimate
from calibrant.results.writing import counted

MOST_LISTED = 5
"""Rows that are named."""

ONE_OUTCOME = "one_outcome"
"""The detail of estimates that are infinite because all outcomes are alike, and only kept finite by a penalty."""

REFUTED = "refuted"
"""The detail of estimates that counts certain predictions that were wrong."""


def is_without_value(estimate: Estimate) -> bool:
    """Whether the number stands for none: all outcomes are alike, and no finite one is most likely."""
    return bool(estimate.details.get(ONE_OUTCOME))


def fit_caveats(named: Iterable[tuple[str, Estimate]]) -> list[str]:
    """Say of which coefficients of recalibration there is no value, and which hang on predictions of 0 and 1.

    Examples
    --------
    >>> fit_caveats([("slope", Estimate(name="CoxSlope()", value=0.1, details={"refuted": 2}))])[0][:49]
    'slope depends on how 2 wrong predictions of 0 or '
    """
    alike, refuted = list[str](), dict[int, list[str]]()
    for name, estimate in named:
        if is_without_value(estimate):
            alike.append(name)
        elif count := estimate.details.get(REFUTED):
            refuted.setdefault(count, []).append(name)
    notes = [f"no value for {', '.join(alike)}: all outcomes are alike, and no finite number is most likely"]
    notes = notes if alike else []
    for count, names in refuted.items():
        depend = "depends" if len(names) == 1 else "depend"
        notes.append(
            f"{', '.join(names)} {depend} on how {counted(count, 'wrong prediction')} of 0 or 1 (to within 1e-12) "
            f"{'is' if count == 1 else 'are'} treated: they are given log-odds of -27.6 or 27.6, and each outweighs "
            "many rows"
        )
    return notes


def infinity_caveats(named: Iterable[tuple[str, Estimate]]) -> list[str]:
    """Say which rows make a score infinite.

    Examples
    --------
    >>> infinity_caveats([("nll", Estimate(name="NLL()", value=9.9, details={"infinite_rows": 1, "first_rows": (4,)}))])
    ['nll is infinite: what was observed in 1 row was given probability 0 (row 5, counted from 1)']
    """
    return [
        f"{name} is infinite: what was observed in {counted(count, 'row')} was given probability 0{_which(estimate)}"
        for name, estimate in named
        if (count := estimate.details.get("infinite_rows"))
    ]


def _which(estimate: Estimate) -> str:
    first = [str(row + 1) for row in estimate.details.get("first_rows", ())]
    more = estimate.details["infinite_rows"] - len(first)
    if not first:
        return ""
    rest = f" and {more:,} more" if more else ""
    return f" (row{'s' if len(first) > 1 else ''} {', '.join(first)}{rest}, counted from 1)"
