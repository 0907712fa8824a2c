"""Whether the advice of `recommend` is honest, leaves calibrated predictions alone, and finds the best method.

`python benchmarks/advice.py [FOLDER]` prints three parts. For archives NAME.npz in FOLDER, as in calibrators_stack.py:
log losses on held-out rows after following the advice from n rows, and of single methods. How much smaller the
cross-fitted log loss of a stack is than that of a fully nested cross-validation, times 1000, where it is not one. How
many of 100 calibrated data sets are left alone. It takes half an hour on one core.
"""

import os

# Fitting takes one core on any machine. This must be set before NumPy is imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import sys
import warnings
from collections import Counter, defaultdict

import numpy as np
from calibrators_stack import draws, fitted, models, simulated, two_classes
from scipy.special import log_softmax

from calibrant import Predictions, recommend
from calibrant.advice.cross_fit import cross_fit, draw_folds
from calibrant.calibrators import StackedCalibration, calibrate
from calibrant.calibrators.folds import Unseen
from calibrant.calibrators.shared_stages import SharedStages
from calibrant.metrics import NLL

SINGLE = ("identity", "ts", "svs", "sms", "iop-diag", "svs>iop-diag", "sms>iop-diag", "iop-deep")
SINGLE_OF_TWO = ("identity", "ts>guard", "platt>guard", "spline>guard", "svs", "beta>guard")
SIZES = {100: 3, 300: 2, 1000: 1}


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
    for k, n in ((2, 100), (2, 400), (5, 100), (5, 400), (10, 200)):
        advised = []
        for seed in range(100):
            rng = np.random.default_rng([seed, k, n])
            logits = 2.0 * rng.normal(size=(n, k))
            p = Predictions.from_logits(logits, (log_softmax(logits, axis=1) + rng.gumbel(size=(n, k))).argmax(axis=1))
            advised.append(recommend(p, rng=seed, n_resamples=499).name)
        print(f"  {k} classes, {n} rows: {advised.count('identity')} of 100; {dict(Counter(advised))}", flush=True)


def following(folder):
    cells, chosen = defaultdict(list), defaultdict(Counter)
    for _, name, known, new in (model for model in models(folder) if model[2] is not None and model[3] is None):
        for case in (None, 1, 7):
            data = known if case is None else two_classes(*known, case)
            single = SINGLE if case is None else SINGLE_OF_TWO
            key = "ten classes" if case is None else "one class against the rest"
            for n, some, judged in draws(data, new):
                if n not in SIZES or np.ptp(some.labels) == 0:
                    continue
                if sum(one[0] == (name, case) for one in cells[key, n]) < SIZES[n]:
                    advice = recommend(some, rng=0)
                    after = [NLL()(calibrate(fitted(one, some), judged)) for one in single]
                    cells[key, n].append(((name, case), [*after, NLL()(calibrate(advice.calibrator, judged))]))
                    chosen[key, n][advice.name] += 1
    for (key, n), rows in sorted(cells.items()):
        means = np.mean([losses for _, losses in rows], axis=0)
        names = (*(SINGLE if key == "ten classes" else SINGLE_OF_TWO), "advice")
        words = ", ".join(f"{name} {mean:.4f}" for name, mean in zip(names, means, strict=True))
        print(f"  {key}, {n} rows, {len(rows)} draws: {words}; {dict(chosen[key, n])}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Some small samples are separable, or lack classes.
    if len(sys.argv) > 1:
        print("mean log loss on held-out rows")
        following(sys.argv[1])
    nesting()
    left_alone()
