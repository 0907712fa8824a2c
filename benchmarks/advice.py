"""Whether the advice of `recommend` is honest, leaves calibrated predictions alone, and finds the best method.

`python benchmarks/advice.py [FOLDER] [PART ...]` prints these parts, by default all, in half an hour on one core.

- many, two: for archives NAME.npz in FOLDER, as in calibrators_stack.py, log losses on held-out rows after following
  the advice from n rows, of single methods, and of the stack, with all classes or with one against the rest.
  Differences from the best single method have standard errors over draws; how much of the difference comes from draws
  that are left as they are stands after it.
- nesting: how much smaller the cross-fitted log loss of a stack is than that of a fully nested cross-validation, times
  1000, where it is not one.
- alone: how many of 60 calibrated data sets are left alone, and the probability of so few or fewer if 95 % were.
"""

import os

# Fitting takes one core on any machine. This must be set before NumPy is imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import sys
import warnings
from collections import Counter, defaultdict
from itertools import takewhile

import numpy as np
from calibrators_stack import draws, fitted, models, simulated, two_classes
from scipy.special import log_softmax
from scipy.stats import binom

from calibrant import Predictions, recommend
from calibrant.advice.cross_fit import cross_fit, draw_folds
from calibrant.calibrators import StackedCalibration, calibrate
from calibrant.calibrators.folds import Unseen
from calibrant.calibrators.shared_stages import SharedStages
from calibrant.metrics import NLL

SINGLE = ("identity", "ts", "svs", "sms", "iop-diag", "svs>iop-diag", "sms>iop-diag", "iop-deep")
SINGLE_OF_TWO = ("identity", "ts>guard", "platt>guard", "spline>guard", "svs", "beta>guard")
SIZES = {100: 3, 300: 3, 1000: 2}


def members_of(p, rows, stack):
    """Members of a stack fitted to some rows."""
    stages = SharedStages(stack.members_for(p.n_classes, p.n_samples))
    stages.learn(p.log_probs[rows], p.labels[rows], p.weights[rows])
    return stages


def nested_loss(p, folds, stack):
    """The log loss if, for every fold, all that is done without it begins anew: its weights and map never saw it."""
    result = np.empty_like(p.probs)
    for rows in folds:
        inner, labels = [], []
        outside = [other for other in folds if other is not rows]
        for other in outside:
            known = np.concatenate([one for one in outside if one is not other])
            inner.append(list(members_of(p, known, stack).transform(p.log_probs[other])))
            labels.append(p.labels[other])
        labels = np.concatenate(labels)
        mixed = stack.mixed(
            Unseen([np.concatenate(parts) for parts in zip(*inner, strict=True)], labels, np.ones(len(labels))),
            len(labels),
        )
        members = members_of(p, np.concatenate(outside), stack)
        result[rows] = mixed.transform(list(members.transform(p.log_probs[rows])))
    return -result[np.arange(p.n_samples), p.labels].mean()


def nesting():
    print("cross-fitted log loss of a stack minus that of a fully nested cross-validation, x 1000")
    for k, n, repeats in ((2, 3000, 10), (5, 3000, 20), (10, 3000, 10), (10, 6000, 5)):
        gains = []
        for seed in range(repeats):
            p = Predictions.from_logits(*simulated(k, [seed, n], n))
            folds = draw_folds(p, 5, np.random.default_rng(seed))
            shared = NLL()(cross_fit(StackedCalibration(), p, folds, lambda: None).predictions)
            gains.append(1000 * (shared - nested_loss(p, folds, StackedCalibration())))
        error = np.std(gains, ddof=1) / np.sqrt(repeats)
        print(f"  {k} classes, {n} rows, {repeats} data sets: {np.mean(gains):+.2f} +- {error:.2f}", flush=True)


def left_alone():
    print("calibrated predictions that are left as they are")
    for k, n in ((10, 200), (2, 100)):
        advised = []
        for seed in range(60):
            rng = np.random.default_rng([seed, k, n])
            logits = 2.0 * rng.normal(size=(n, k))
            p = Predictions.from_logits(logits, (log_softmax(logits, axis=1) + rng.gumbel(size=(n, k))).argmax(axis=1))
            advised.append(recommend(p, rng=seed, n_resamples=499).name)
        alone = advised.count("identity")
        chance = f"so few or fewer with probability {binom.cdf(alone, 60, 0.95):.2f} if 95 % were"
        print(f"  {k} classes, {n} rows: {alone} of 60 ({chance}); {dict(Counter(advised))}", flush=True)


def following(folder, title, cases, single):
    print(f"mean log loss on held-out rows, {title}")
    cells = defaultdict(list)
    for _, _, known, new in takewhile(lambda model: model[3] is None, models(folder)):  # The folder comes first.
        for case in cases:
            data, done = known if case is None else two_classes(*known, case), Counter()
            for n, some, judged in draws(data, new):
                if done[n] < SIZES.get(n, 0) and np.ptp(some.labels) > 0:
                    done[n] += 1
                    advice = recommend(some, rng=0)
                    after = {one: NLL()(calibrate(fitted(one, some), judged)) for one in (*single, "stack")}
                    cells[n].append((after | {"advice": NLL()(calibrate(advice.calibrator, judged))}, advice.name))
    for n, rows in sorted(cells.items()):
        show_following(f"{n} rows, {len(rows)} draws", *zip(*rows, strict=True))


def show_following(title, losses, advised):
    means = {name: np.mean([after[name] for after in losses]) for name in losses[0]}
    best = min((name for name in means if name not in ("stack", "advice")), key=means.get)
    print(f"  {title}: {', '.join(f'{name} {mean:.4f}' for name, mean in means.items())}; {dict(Counter(advised))}")
    for name in ("stack", "advice"):
        gaps = 1000 * np.array([after[name] - after[best] for after in losses])
        error = gaps.std(ddof=1) / np.sqrt(len(gaps))
        alone = sum(gap for gap, one in zip(gaps, advised, strict=True) if one == "identity") / len(gaps)
        note = f", of which {alone:+.2f} from draws left as they are" * (name == "advice")
        print(f"    {name} - {best}, x 1000: {gaps.mean():+.2f} +- {error:.2f}{note}", flush=True)


PARTS = {
    "many": lambda folder: following(folder, "ten classes", (None,), SINGLE),
    "two": lambda folder: following(folder, "one class against the rest", (1, 7), SINGLE_OF_TWO),
    "nesting": lambda _: nesting(),
    "alone": lambda _: left_alone(),
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Some small samples are separable, or lack classes.
    folder = next((word for word in sys.argv[1:] if word not in PARTS), None)
    for part in [word for word in sys.argv[1:] if word in PARTS] or PARTS:
        if part not in ("many", "two") or folder is not None:
            PARTS[part](folder)
