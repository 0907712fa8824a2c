"""`calibrant compare monday.sketch tuesday.sketch`: whether calibration changed between two periods."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.results import ChangeTest


def are_sketches(files: tuple[Path, ...]) -> bool:
    """Return whether all files are sketches, and refuse a mixture of sketches and rows."""
    from calibrant.cli.engines import SKETCH
    from calibrant.exceptions import InputError

    found = [file.suffix.lower() == SKETCH for file in files]
    if any(found) and not all(found):
        raise InputError("compare needs sketches only, or files of rows only, but got both. Make sketches of all.")
    return any(found)


def compare_sketches(files: tuple[Path, ...], *, n_resamples: int, seed: int, json: bool) -> int:
    """Compare two sketches, and print what was found."""
    from calibrant.cli import show
    from calibrant.cli.watch import print_finding
    from calibrant.exceptions import InputError
    from calibrant.scale import read_sketch
    from calibrant.scale.over_time import compare_periods

    if len(files) != 2:
        raise InputError(f"compare needs two sketches, but {len(files)} are given. Use watch for more.")
    first, second = files
    names = (first.stem, second.stem) if first.stem != second.stem else (str(first), str(second))
    result = compare_periods(read_sketch(first), read_sketch(second), names=names, n_resamples=n_resamples, rng=seed)
    if json:
        show.print_json(result)
        return 0
    print_finding(result.headline, "good" if result.headline.startswith("No") else "bad")
    show.print_lines(_table(result))
    return 0


def _table(result: "ChangeTest") -> list[str]:
    width = max(len(name) for name in result.names)
    own = [
        f"  {name:<{width}}  {n:>12,} rows; log-odds {a:.3f} + {b:.3f} z, where z are those predicted"
        for name, n, a, b in zip(result.names, result.n_samples, result.intercepts, result.slopes, strict=True)
    ]
    return [
        *own,
        f"Level and slope: likelihood ratio {result.statistic:.3g}, p = {result.pvalue:.2g} (chi-squared, 2 degrees).",
        f"Any change, by redraws of which outcomes belong to which period: p = {result.omnibus_pvalue:.2g}.",
        "A change is stated if either p-value is at most 0.025.",
        *result.notes,
    ]
