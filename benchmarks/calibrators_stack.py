"""What stacked calibration gains over single calibrators, what each member is worth, and whether the advice finds it.

`python benchmarks/calibrators_stack.py [FOLDER] [--part PART ...]` prints these tables, by default all. FOLDER may hold
archives NAME.npz with `predictions`, (n, K), and `ground_truth` of networks on CIFAR-10: half of a permutation is held
out. Losses are log losses and Brier scores on new rows; differences are times 1000, so that negative is better, and
have standard errors over models and draws of rows.

- gains: the stack minus other calibrators, by groups of models
- bounds: of every model, the stack minus the best of ts, svs, sms, which is known only afterwards
- draws: the same of the ten classes of CIFAR-10 and Fashion-MNIST, with more draws of rows, and of a hundred classes
- members: the stack, and stacks of fewer members, minus that of all that were considered; means over models with
  standard errors over them
- advice: what `recommend` advises, and what following it loses against the best single method, known only afterwards
- alone: how many calibrated data sets are left as they are, with exact limits; and how many the test does not find,
  which with less than 500 rows bounds the first from below
- nesting: cross-fitted log loss of a stack minus that of a fully nested cross-validation, where it is not one

Every fit is kept in the folder --store, so that a run that stopped continues, and --tables prints what is there. After
a change of the code the folder has to be emptied. --half restricts it to the models that choices are made by, or to the
others; --quick does a few cheap fits and checks that the stack here is the calibrator "stack". All of it takes about
an hour on one core.
"""

import os

# Fitting takes one core on any machine. This must be set before NumPy is imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import sys
import warnings
from collections import Counter, defaultdict
from itertools import count
from pathlib import Path

import numpy as np
from hundred_classes import HUNDRED, hundred_classes
from scipy.stats import binom, binomtest
from stack_models import FOLDER, IMAGES, TWO, models
from stack_units import (
    SINGLE,
    SINGLE_OF_TWO,
    TESTED_SETS,
    Alone,
    Compared,
    Drawn,
    Fits,
    Followed,
    Nesting,
    Tested,
    Unit,
    scores,
)

from calibrant.calibrators import calibrate, parse
from calibrant.lab.runner import complete
from calibrant.lab.store import Store

HALVES = {"first": "choices are made by them", "second": "looked at once"}
AGAINST = ("ts", "svs", "sms", "iop-diag", "stack-order")
AGAINST_OF_TWO = ("ts>guard", "platt>guard", "spline>guard", "svs")
ADVISED = {100: 50, 300: 14, 1000: 2, 5000: 1}
ADVISED_OF_TWO = {100: 8, 300: 8, 1000: 2}
ADVISED_OF_IMAGES = {100: 8, 300: 12, 1000: 1}
ADVISED_OF_TWO_OF_IMAGES = {100: 4, 300: 4, 1000: 1}
MORE_DRAWS = {FOLDER: {300: 12, 500: 20, 1000: 60, 5000: 3}, IMAGES: {500: 10, 1000: 20, 5000: 3}}
LEFT_ALONE = {(10, 200): 10, (2, 100): 50, (2, 600): 10, (2, 1000): 10, (3, 1000): 5, (10, 1000): 5}
TESTED = {(10, 200): 4, (2, 100): 20, (2, 1000): 20}
NESTED = {(2, 3000): 10, (5, 3000): 20}


def plan(folder, half, quick):
    """Return the units of every part."""
    used, hundred = (
        [one for one in some if half in (None, "first" if one.is_first else "second")]
        for some in (models(folder), hundred_classes(folder))
    )
    fits = [Fits(one, n, draw) for one in used for n, repeats in one.draws.items() for draw in range(repeats)]
    advised = [
        Followed(one, n, draw)
        for one in used
        for n, repeats in followed_draws(one.group).items()
        for draw in range(repeats)
    ]
    compared = [
        Compared(one, n, draw)
        for one in [*used, *hundred]
        for n, repeats in (one.draws if one.group == HUNDRED else MORE_DRAWS.get(one.group, {})).items()
        for draw in range(repeats)
    ]
    alone = [Alone(k, n, block) for (k, n), blocks in LEFT_ALONE.items() for block in range(blocks)]
    tested = [Tested(k, n, block) for (k, n), blocks in TESTED.items() for block in range(blocks)]
    nesting = [Nesting(k, n, seed) for (k, n), repeats in NESTED.items() for seed in range(repeats)]
    if quick:
        fits = [one for one in fits if one.n == 300 and one.draw < 2 and one.model.group in (FOLDER, IMAGES, "digits")]
        advised = [one for one in advised if one.n == 300 and one.draw == 0 and one.model.group == FOLDER]
        compared = [one for one in compared if one.n == 500 and one.draw == 0 and one.model.group == IMAGES]
        alone, tested, nesting = [], [], [one for one in nesting if one.k == 2][:2]
    return {
        "fits": fits,
        "compared": compared,
        "advised": advised,
        "alone": alone,
        "tested": tested,
        "nesting": nesting,
    }


def followed_draws(group):
    """Return for how many draws of how many rows the advice is followed."""
    if group in (FOLDER, IMAGES):
        return ADVISED if group == FOLDER else ADVISED_OF_IMAGES
    if group == f"{FOLDER}, {TWO}":
        return ADVISED_OF_TWO
    return ADVISED_OF_TWO_OF_IMAGES if group == f"{IMAGES}, {TWO}" else {}


def gains(found):
    cells = defaultdict(list)
    for unit, values in found["fits"].items():
        cells[unit.model.group, unit.model.is_first, unit.n].append(values)
    last, groups = None, list(dict.fromkeys(group for group, _, _ in cells))
    for group, is_first, n in sorted(cells, key=lambda cell: (groups.index(cell[0]), not cell[1], cell[2])):
        rows = cells[group, is_first, n]
        if (group, is_first) != last:
            print(f"{group}: {HALVES['first' if is_first else 'second']}")
        last = group, is_first
        others = [name for name in (AGAINST_OF_TWO if "spline>guard" in rows[0] else AGAINST) if name in rows[0]]
        means = (f"{name} {np.mean([one[name][0] for one in rows]):.4f}" for name in (*others, "stack"))
        print(f"  {n} rows, {len(rows)} fits: {', '.join(means)}")
        for name in others:
            changes = 1000 * np.array([np.subtract(one["stack"], one[name]) for one in rows])
            nll, brier = (with_error(column) for column in changes.T)
            print(f"    stack - {name:12} log loss {nll}   Brier {brier}")


def bounds(found):
    cells = defaultdict(list)
    for unit, values in found["fits"].items():
        if unit.n >= 500 and "ts" in values:
            cells[unit.model.group, unit.model.name, unit.n].append(values)
    print_bounds(cells)


def more_draws(found):
    cells, groups = defaultdict(list), defaultdict(list)
    for unit, values in found["compared"].items():
        cells[unit.model.group, unit.model.name, unit.n].append(values)
        if unit.model.group != HUNDRED:
            groups[unit.model.group, unit.model.is_first, unit.n].append(values)
    print_bounds(cells)
    for (group, is_first, n), rows in groups.items():
        words = []
        for name in ("ts", "svs", "sms"):
            nll, brier = 1000 * np.array([np.subtract(one["stack"], one[name]) for one in rows]).T
            words.append(f"{name} {with_error(nll)} (Brier {with_error(brier)})")
        print(f"  {group}, {HALVES['first' if is_first else 'second']}, {n} rows, {len(rows)} fits: {', '.join(words)}")


def print_bounds(cells):
    """Compare the stack with the best of three single methods, known only afterwards, model by model."""
    for (group, name, n), rows in cells.items():
        singles = [one for one in ("ts", "svs", "sms") if one in rows[0]]
        best = min(singles, key=lambda one: np.mean([values[one][0] for values in rows]))
        changes = 1000 * np.array([values["stack"][0] - values[best][0] for values in rows])
        print(f"  {group}, {name}, {n} rows, {len(rows)} draws: stack - {best:3} {with_error(changes)}")


def shape_of(values):
    """Return which default members there are."""
    return "two classes" if "spline>guard" in values else "over 200 classes" if "sms" not in values else "more classes"


def members(found):
    cells = defaultdict(lambda: defaultdict(list))
    for unit, values in found["fits"].items():
        shape = shape_of(values)
        cells[shape, unit.model.is_first, unit.n][unit.model].append(values)
    for shape, is_first, n in sorted(cells, key=lambda cell: (cell[0], not cell[1], cell[2])):
        by_model = cells[shape, is_first, n]
        print(f"  {shape}, {n} rows, {len(by_model)} models: {HALVES['first' if is_first else 'second']}")
        names = ["stack", *(name for name in next(iter(by_model.values()))[0] if name.startswith("without"))]
        for name in [one for one in names if all(one in rows[0] for rows in by_model.values())]:
            changes = {
                model: 1000 * np.mean([one[name][0] - one["all"][0] for one in rows])
                for model, rows in by_model.items()
            }
            least, most = (f"{changes[one]:+.1f} ({one.group}, {one.name})" for one in ends(changes))
            print(f"    {name:28} {with_error(np.array([*changes.values()]))}, from {least} to {most}")


def ends(values):
    """Return the keys of the smallest and of the largest value."""
    return min(values, key=values.get), max(values, key=values.get)


def advice(found):
    cells = defaultdict(list)
    for unit, values in found["advised"].items():
        if values is not None:
            halves = (None, unit.model.is_first) if unit.model.group.partition(",")[0] == FOLDER else (None,)
            for half in halves:
                cells[unit.model.group, unit.n, half].append(values)
    for (group, n, is_first), rows in cells.items():
        names, losses = zip(*rows, strict=True)
        losses = [{name: one[0] for name, one in each.items()} for each in losses]
        means = {name: np.mean([one[name] for one in losses]) for name in losses[0]}
        best = min(SINGLE_OF_TWO if TWO in group else SINGLE, key=means.get)
        words = ", ".join(f"{name} {mean:.4f}" for name, mean in means.items())
        half = "" if is_first is None else f", {HALVES['first' if is_first else 'second']}"
        print(f"  {group}{half}, {n} rows, {len(rows)} draws: {words}; {dict(Counter(names))}")
        for name in ("stack", "advice"):
            changes = 1000 * np.array([one[name] - one[best] for one in losses])
            left = sum(x for x, advised in zip(changes, names, strict=True) if advised == "identity") / len(changes)
            note = f", of which {left:+.2f} from draws left as they are" * (name == "advice")
            print(f"    {name} - {best}: {with_error(changes)}{note}")


def left_alone(found):
    cells = defaultdict(list)
    for unit, values in found["alone"].items():
        cells[unit.k, unit.n] += values
    for (k, n), names in cells.items():
        words = left_in_words(names.count("identity"), len(names))
        print(f"  {k} classes, {n} rows: {words}; {dict(Counter(names))}")
    sums = defaultdict(list)
    for unit, hits in found["tested"].items():
        sums[unit.k, unit.n].append(TESTED_SETS - hits)
    for (k, n), counts in sums.items():
        print(
            f"  {k} classes, {n} rows, not found by the test: {left_in_words(sum(counts), TESTED_SETS * len(counts))}"
        )


def left_in_words(count, total):
    """Return a count with exact limits of its probability."""
    low, high = binomtest(count, total).proportion_ci(0.95)
    chance = f"so few or fewer with probability {binom.cdf(count, total, 0.95):.2f} if 95 % were"
    return f"{count} of {total}, {low:.4f} to {high:.4f} ({chance})"


def nesting(found):
    cells = defaultdict(list)
    for unit, value in found["nesting"].items():
        cells[unit.k, unit.n].append(1000 * value)
    for (k, n), changes in cells.items():
        print(f"  {k} classes, {n} rows, {len(changes)} data sets: {with_error(np.array(changes))}")


def with_error(values):
    """Return the mean and its standard error, in words; of one value there is none."""
    error = f" +- {values.std(ddof=1) / np.sqrt(len(values)):5.2f}" if len(values) > 1 else 9 * " "
    return f"{values.mean():+7.2f}{error}"


def check(unit, values):
    """Compare the stack of a unit with the calibrator of that name."""
    some, judged = unit.model.drawn(unit.n, unit.draw)
    fitted = parse("stack", scores="logits").fit(some.log_probs, some.labels, classes=some.classes)
    after = calibrate(fitted, judged)
    np.testing.assert_allclose(values["stack"], scores(after.log_probs, after.labels), rtol=1e-9)


PARTS = {
    "gains": (gains, ("fits",)),
    "bounds": (bounds, ("fits",)),
    "draws": (more_draws, ("compared",)),
    "members": (members, ("fits",)),
    "advice": (advice, ("advised",)),
    "alone": (left_alone, ("alone", "tested")),
    "nesting": (nesting, ("nesting",)),
}
"""Functions that print, and the kinds of units that they read."""


def urgency(unit):
    """Return what units are sorted by: the longest last, first draws first, so that all models have something soon."""
    if not isinstance(unit, Drawn):
        return False, 0, True
    return unit.n > 1000 and "K = 100" in unit.model.group, unit.draw, unit.n > 1000


def main(options):
    store, units = Store(options.store), plan(options.folder, options.half, options.quick)
    chosen = options.part or list(PARTS)
    kinds = dict.fromkeys(kind for part in chosen for kind in PARTS[part][1])
    todo = [] if options.tables else store.missing(unit for kind in kinds for unit in units[kind])
    number = count(1)

    def tell(unit, seconds):
        print(f"[{next(number)}/{len(todo)}] {unit.name}: {seconds:.1f} s", file=sys.stderr, flush=True)

    complete(sorted(todo, key=urgency), store, Unit.content, tell)
    found = {
        kind: {unit: unit.find(store) for unit in some if store.state(unit) == "done"} for kind, some in units.items()
    }
    if options.quick and found["fits"]:
        check(*next(iter(found["fits"].items())))
    for part in chosen:
        done = (f"{len(found[kind])} of {len(units[kind])} {kind}" for kind in PARTS[part][1])
        print(f"{part} ({', '.join(done)})")
        PARTS[part][0](found)


def parser():
    result = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    result.add_argument("folder", nargs="?", help="folder of archives of networks on CIFAR-10")
    result.add_argument("--part", action="append", choices=PARTS, help="table to print, may be given several times")
    result.add_argument("--store", type=Path, default=Path("build/stack"), help="folder of the fits (%(default)s)")
    result.add_argument("--half", choices=HALVES, help="models of one half only")
    result.add_argument("--quick", action="store_true", help="a few cheap fits, and a check of the program itself")
    result.add_argument("--tables", action="store_true", help="fit nothing, print what is complete")
    return result


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Some small samples are separable, or lack classes.
    main(parser().parse_args())
