"""The fix of groups beside MCGrad, on the seeded example and on simulated sets like it; and the speed of the search.

    pip install mcgrad && python benchmarks/groups.py > docs/benchmarks/groups.txt

Without MCGrad its column is empty. Times are those of the processor.
"""

import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from calibrant import Predictions
from calibrant.advice.cross_fit import cross_fit_groups
from calibrant.calibrators import IsotonicCalibration
from calibrant.groups import GroupBoosting, GroupSearch
from group_cases import logistic, seeded_example

warnings.filterwarnings("ignore")
SEEDS = range(12)


def log_loss(probs, truth):
    """Return the log loss for labels, or the expected one for true probabilities."""
    return float(-np.mean(truth * np.log(probs) + (1 - truth) * np.log1p(-probs)))


def part(features, rows):
    return {name: values[rows] for name, values in features.items()}


def simulated(n, shift, rng):
    """Return a set like the seeded example: the cells of g = 2 are off by plus and minus the shift."""
    g, h, x, e = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.standard_normal(n), rng.uniform(size=n)
    odds = -0.5 + x
    truth = logistic(odds + shift * ((g == 2) & (h == 1)) - shift * ((g == 2) & (h == 0)))
    return logistic(odds), (e < truth).astype(int), {"g": g, "h": h, "x": x}, truth


def by_groups(probs, labels, features, new, new_features):
    return GroupBoosting().fit(probs, labels, features=features).predict_proba(new, features=new_features)[:, 1]


def by_isotonic(probs, labels, _features, new, _new_features):
    return IsotonicCalibration().fit(probs, labels).predict_proba(new)[:, 1].clip(1e-6, 1 - 1e-6)


def by_mcgrad(probs, labels, features, new, new_features):
    import pandas as pd
    from mcgrad.methods import MCGrad

    columns = {"categorical_feature_column_names": ["g", "h"], "numerical_feature_column_names": ["x"]}
    train = pd.DataFrame({**features, "p": probs, "y": labels})
    fitted = MCGrad(random_state=0).fit(train, "p", "y", **columns)
    return fitted.predict(pd.DataFrame({**new_features, "p": new}), "p", **columns)


def methods():
    found = {"group boosting": by_groups, "isotonic": by_isotonic}
    try:
        return found | {f"MCGrad {version('mcgrad')}": by_mcgrad}
    except PackageNotFoundError:
        return found


def on_the_example():
    probs, labels, features = seeded_example()
    first, rest = slice(0, 4000), slice(4000, None)
    print("Seeded example, fitted to 4000 rows; log loss and Brier score of the other 2000, seconds")
    print(f"  {'none':<16} {log_loss(probs[rest], labels[rest]):.6f} {np.mean((probs[rest] - labels[rest]) ** 2):.6f}")
    for name, method in methods().items():
        began = process_time()
        after = method(probs[first], labels[first], part(features, first), probs[rest], part(features, rest))
        seconds = process_time() - began
        brier = np.mean((after - labels[rest]) ** 2)
        print(f"  {name:<16} {log_loss(after, labels[rest]):.6f} {brier:.6f} {seconds:8.2f}")


def on_simulated_sets():
    print(
        f"\nSets of 2000 rows, {len(SEEDS)} seeds: expected change of the log loss on 20 000 new rows (standard error)"
    )
    names = [*methods(), "truth"]
    print(f"  {'off by':<8}" + "".join(f"{name:>24}" for name in names))
    for shift in (0.0, 0.3, 0.5, 1.0):
        changes = {name: [] for name in names}
        for seed in SEEDS:
            rng = np.random.default_rng([seed, 7])
            probs, labels, features, _ = simulated(2000, shift, rng)
            new, _, new_features, truth = simulated(20_000, shift, rng)
            for name, method in methods().items():
                after = method(probs, labels, features, new, new_features)
                changes[name].append(log_loss(after, truth) - log_loss(new, truth))
            changes["truth"].append(log_loss(truth, truth) - log_loss(new, truth))
        written = [f"{np.mean(v):+.5f} ({np.std(v, ddof=1) / len(v) ** 0.5:.5f})" for v in changes.values()]
        print(f"  {shift:<8}" + "".join(f"{text:>24}" for text in written))


RULE = ((500, 0.0, 150), (2000, 0.0, 150), (8000, 0.0, 40), (2000, 0.5, 80), (2000, 0.8, 40), (8000, 0.3, 40))
"""Rows, the shift of one eighth of them, and sets."""


def rule():
    """Judge the rule by which `recommend` may choose the fix, by what it does on new rows."""
    print(
        "\nThe fix against doing nothing, cross-fitted: share of sets in which it is better by more than 2 and 3"
        "\nstandard errors, and the mean change of the log loss on 20 000 new rows if it is then used, else nothing"
    )
    print(
        f"  {'rows':>6} {'off by':>7} {'sets':>5} {'> 2 se':>8} {'> 3 se':>8} {'change by 2':>12} {'change by 3':>12}"
    )
    for n, shift, sets in RULE:
        found = np.array(
            [_against_nothing(n, shift, np.random.default_rng([n, int(10 * shift), s])) for s in range(sets)]
        )
        better, change = found.T
        shares = [np.mean(better > bar) for bar in (2, 3)]
        between = change[(better > 2) & (better <= 3)]
        means = [np.mean(np.where(better > bar, change, 0.0)) for bar in (2, 3)]
        print(
            f"  {n:>6} {shift:>7} {sets:>5} {shares[0]:>8.3f} {shares[1]:>8.3f} {means[0]:>+12.5f} {means[1]:>+12.5f}"
            + (f"   worst of {len(between)} between: {between.max():+.5f}" if len(between) else "")
        )


def _against_nothing(n, shift, rng):
    """Return by how many standard errors the fix is better, and by how much it changes the log loss of new rows."""
    probs, labels, features, _ = _cells(n, shift, rng)
    rows = [np.sort(fold) for fold in np.array_split(rng.permutation(n), 5)]
    after, _, fixed = cross_fit_groups(features, Predictions(probs, labels), rows)
    gain = np.log(np.where(labels == 1, after.positive, 1 - after.positive) / np.where(labels == 1, probs, 1 - probs))
    if not gain.any():
        return 0.0, 0.0
    new, _, new_features, truth = _cells(20_000, shift, rng)
    change = log_loss(fixed.predict_proba(new, features=new_features)[:, 1], truth) - log_loss(new, truth)
    return gain.mean() / (gain.std(ddof=1) / np.sqrt(n)), change


def _cells(n, shift, rng):
    features = {f"c{j}": rng.integers(0, k, n).astype(str) for j, k in enumerate((4, 3, 2, 5))}
    features["x"] = rng.standard_normal(n)
    odds = rng.normal(-0.5, 1, n)
    truth = logistic(odds + shift * ((features["c0"] == "0") & (features["c2"] == "0")))
    return logistic(odds), (rng.random(n) < truth).astype(int), features, truth


def speed():
    print("\nSearch of 10 columns of 2 to 10 categories; seconds, groups tested, groups found")
    rng = np.random.default_rng(0)
    for n, shift in ((10_000, 0.0), (100_000, 0.0), (100_000, 0.5)):
        features = {f"x{j}": np.array(list("abcdefghij"))[rng.integers(0, 2 + j % 9, n)] for j in range(10)}
        odds = rng.normal(-1, 1, n)
        labels = rng.random(n) < logistic(odds + shift * (features["x3"] == "a"))
        p = Predictions(logistic(odds), labels)
        began = process_time()
        found = GroupSearch()(p, features=features, rng=0)
        seconds = process_time() - began
        print(f"  {n:>7,} rows, off by {shift}: {seconds:6.2f} {found.n_cells:>7,} {found.n_found:>5,}")


if __name__ == "__main__":
    on_the_example()
    on_simulated_sets()
    rule()
    speed()
