"""The fix of groups, which needs columns of features, in `calibrant fit`, `apply` and `recommend`."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from calibrant.cli.options import Source

METHOD = "groups"
"""The method that fixes groups; all other methods are calibrators."""


def wants_groups(method: str | None, features: str | None) -> bool:
    """Whether groups are to be fixed; refuse features for any other method."""
    from calibrant.exceptions import InputError

    if features is not None and method not in (None, METHOD):
        raise InputError(
            f"--features is for --method groups, the only one that uses columns of features, but the method is "
            f"{method}. Leave out one of them."
        )
    return method == METHOD or features is not None


def fit_groups(files: "Sequence[Path]", source: "Source", features: str | None, out: Path) -> None:
    """Learn the steps that fix groups, save them, and print them."""
    from calibrant.cli import show
    from calibrant.cli.fitted import MEASURES, fingerprint, print_fitted
    from calibrant.cli.groups import left_out_lines, read_features
    from calibrant.counts import class_shares
    from calibrant.groups import GroupBoosting
    from calibrant.groups.store import save
    from calibrant.metrics import METRICS
    from calibrant.predictions import Predictions

    before, table, _ = read_features(files, source, features)
    with show.listening_bar("fitting", quiet=source.silent):
        fixed = GroupBoosting().fit(before, features=table)
    details = {
        "method": METHOD,
        "n_samples": before.n_rows,
        "fingerprint": fingerprint(before.probs),
        "class_shares": class_shares(before).tolist(),
    }
    checksum = save(fixed, out, details=details)
    probs = fixed.predict_proba(before, features=table)
    after = Predictions(probs, before.labels, before.weights, before.classes)
    measured = [{name: METRICS[name].estimate(p) for name in MEASURES} for p in (before, after)]
    changed = float((after.predicted != before.predicted).mean())
    in_sample = {"before": measured[0], "after": measured[1], "changed": changed}
    print_fitted(
        f"{METHOD}, fitted to {show.rows(before.n_rows)} of {before.n_classes} classes",
        [*repr(fixed.report_).splitlines(), *left_out_lines(left_out_columns(table))],
        {**details, "learnt": fixed.report_, "in_sample": in_sample, "sha256": checksum},
        out,
        json=source.json,
    )


def left_out_columns(table: "dict[str, NDArray[np.generic]]") -> dict[str, str]:
    """Return the columns from which no groups are made, and why."""
    from calibrant.groups.columns import as_values, cut_into_levels

    found = {name: cut_into_levels(name, as_values(values), 2) for name, values in table.items()}
    return {name: reason for name, reason in found.items() if isinstance(reason, str)}


def needed_columns(calibrator: object) -> list[str]:
    """Return the columns of features that the fix of groups needs; a calibrator needs none."""
    return [each.name for each in getattr(calibrator, "levels_", ())]
