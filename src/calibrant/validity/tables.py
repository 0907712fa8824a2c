"""The tables as files: every number as CSV, and the same to read as Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from calibrant._typing import FloatArray
from calibrant.io import write_text
from calibrant.simulations import text
from calibrant.validity.battery import BATTERY, N_RESAMPLES
from calibrant.validity.cells import HARMS, SHAPES
from calibrant.validity.summaries import LEVELS, POWER_LEVEL, Rate, Summary, summaries
from calibrant.validity.units import Unit

GRID = (0.01, 0.02, *(k / 20 for k in range(1, 20)))
"""Where the distribution functions are written down; departures are taken over all points."""

COMMAND = "python -m calibrant.validity"

NULL_HEAD = f"""# Levels of the tests on calibrated predictions

Written by `{COMMAND}`; the same numbers are in `null.csv`, the distribution functions of the p-values in `ecdf.csv`.
How to read this: [validity.md](../validity.md). Intervals and bands are of 99.9 %. Rates above the level beyond chance
are bold. "above" and "below": how far the distribution function of the p-values leaves the uniform one, upwards, with
the width of the band beside it, and downwards.
"""

POWER_HEAD = f"""# Power of the tests on spoilt predictions

Written by `{COMMAND}`; the same numbers are in `power.csv`. Share of data sets rejected at level {POWER_LEVEL}, with a
95 % Clopper-Pearson interval. How to read this: [validity.md](../validity.md).
"""


def write(out: Path, units: Sequence[Unit], found: Mapping[Unit, FloatArray]) -> None:
    """Write all tables from the units that are complete."""
    place = {name: i for i, name in enumerate([*SHAPES, "normal", *HARMS])}
    order = {name: i for i, name in enumerate(BATTERY)}

    def key(summary: Summary) -> tuple[int, int, int, int]:
        cell = summary.unit.cell
        where = place[cell.shape if cell.is_null else cell.harm]
        return order[summary.unit.test], where, cell.n_classes, cell.n

    null, power = (sorted(summaries(found, null=kind), key=key) for kind in (True, False))
    missing = [unit for unit in units if unit not in found]
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "null.csv", text.as_csv(_null_records(null)))
    write_text(out / "ecdf.csv", text.as_csv(_ecdf_records(null)))
    write_text(out / "power.csv", text.as_csv(_power_records(power)))
    write_text(out / "null.md", _null_page(null, [unit for unit in missing if unit.cell.is_null]))
    write_text(out / "power.md", _power_page(power, [unit for unit in missing if not unit.cell.is_null]))


def _columns(summary: Summary) -> dict[str, object]:
    cell = summary.unit.cell
    return {
        "predictions": cell.shape,
        "classes": cell.n_classes or "",
        "n": cell.n,
        "test": summary.unit.test,
        "promise": BATTERY[summary.unit.test].promise,
        "sets": cell.sets,
        "refused": summary.refused,
    }


def _rate_columns(rate: Rate) -> dict[str, object]:
    at = f"{rate.level:.2f}"
    return {f"rate_{at}": f"{rate.value:.4f}", f"low_{at}": f"{rate.low:.4f}", f"high_{at}": f"{rate.high:.4f}"}


def _null_records(rows: Sequence[Summary]) -> Iterable[dict[str, object]]:
    for row in rows:
        record = _columns(row)
        for rate in row.rates:
            record |= _rate_columns(rate)
        record |= {
            "ecdf_above": f"{row.departure.excess:.4f}",
            "ecdf_below": f"{row.departure.deficit:.4f}",
            "band": f"{row.band:.4f}",
            "levels": row.level_verdict,
            "whole": row.whole_verdict,
        }
        yield record


def _ecdf_records(rows: Sequence[Summary]) -> Iterable[dict[str, object]]:
    for row in rows:
        shares = np.searchsorted(np.sort(row.pvalues), GRID, side="right") / len(row.pvalues)
        points = {f"{t:.2f}": f"{share:.4f}" for t, share in zip(GRID, shares, strict=True)}
        yield _columns(row) | {"band": f"{row.band:.4f}"} | points


def _power_records(rows: Sequence[Summary]) -> Iterable[dict[str, object]]:
    for row in rows:
        yield {"harm": row.unit.cell.harm} | _columns(row) | _rate_columns(row.rates[0])


def _null_page(rows: Sequence[Summary], missing: Sequence[Unit]) -> str:
    parts = [NULL_HEAD, _overview(rows)]
    for name in BATTERY:
        chosen = [row for row in rows if row.unit.test == name]
        if chosen:
            heads = (
                "cell",
                "sets",
                "refused",
                *(f"at {level:.2f}" for level in LEVELS),
                "above",
                "below",
                "levels",
                "whole",
            )
            parts.append(f"## {name} ({BATTERY[name].promise})\n\n" + text.as_markdown(heads, map(_null_cells, chosen)))
    return "\n".join([*parts, text.missing(missing)])


def _overview(rows: Sequence[Summary]) -> str:
    heads = ("test", "promise", "cells", "refuses", "too often", "too seldom", "above the band", "rates at 0.05")
    lines = []
    for name, entry in BATTERY.items():
        chosen = [row for row in rows if row.unit.test == name]
        answering = [row for row in chosen if not row.refuses]
        rates = [row.rates[LEVELS.index(0.05)].value for row in answering]
        counts = (
            len(chosen),
            len(chosen) - len(answering),
            sum(row.rejects_too_often for row in answering),
            sum(row.rejects_too_seldom for row in answering),
            sum(row.rises_above for row in answering),
        )
        span = f"{min(rates):.3f} to {max(rates):.3f}" if rates else ""
        lines.append((name, entry.promise, *map(str, counts), span))
    return f"## In short\n\nCells, of each test; B = {N_RESAMPLES} redraws or replicates.\n\n" + text.as_markdown(
        heads, lines
    )


def _null_cells(row: Summary) -> tuple[str, ...]:
    return (
        row.unit.cell.name,
        str(row.unit.cell.sets),
        str(row.refused),
        *(_marked(rate) for rate in row.rates),
        f"{row.departure.excess:.3f} / {row.band:.3f}",
        f"{row.departure.deficit:.3f}",
        row.level_verdict,
        row.whole_verdict,
    )


def _marked(rate: Rate) -> str:
    text = f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}]"
    return f"**{text}**" if rate.is_above else text


def _power_page(rows: Sequence[Summary], missing: Sequence[Unit]) -> str:
    parts = [POWER_HEAD]
    present = {row.unit.cell.harm for row in rows}
    for harm in (harm for harm in HARMS if harm in present):
        chosen = {(row.unit.test, row.unit.cell.n): row for row in rows if row.unit.cell.harm == harm}
        sizes = sorted({n for _, n in chosen})
        n_classes = next(iter(chosen.values())).unit.cell.n_classes
        lines = [(name, *(_power_cell(chosen.get((name, n))) for n in sizes)) for name in BATTERY]
        parts.append(
            f"## {harm}, {n_classes} classes\n\n" + text.as_markdown(("test", *(f"n={n}" for n in sizes)), lines)
        )
    return "\n".join([*parts, text.missing(missing)])


def _power_cell(row: Summary | None) -> str:
    if row is None:
        return "not computed"
    if row.refuses:
        return "refuses"
    (rate,) = row.rates
    return f"{rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}]"
