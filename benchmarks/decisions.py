"""Decisions beside other packages: the same numbers, what they add or lack, and the time, in one run.

Call it as `python benchmarks/decisions.py`, in an environment with dcurves, MAPIE and scikit-learn. Times are those of
the processor, the best of five.
"""

import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV
from timing import shortest

from calibrant import Predictions
from calibrant.decisions import Costs, best_threshold, coverage_at_risk, decision_curve, estimate_base_rate
from calibrant.metrics import AURC, ExpectedCost

FILE = Path(__file__).parents[1] / "tests" / "decisions" / "df_binary.csv"


def curves():
    """Net benefit of 99 thresholds: equal to dcurves, which has no limits."""
    from dcurves import dca

    frame = pd.read_csv(FILE)
    thresholds = np.arange(1, 100) / 100
    theirs = dca(frame, "cancer", ["cancerpredmarker"], thresholds=thresholds)
    theirs = theirs[theirs["model"] == "cancerpredmarker"]["net_benefit"].to_numpy()
    p = Predictions(frame["cancerpredmarker"], frame["cancer"])
    ours = decision_curve(p, thresholds=thresholds, rng=0).net_benefit.value
    print(
        f"net benefit at 99 thresholds, dcurves {version('dcurves')}: largest difference {abs(ours - theirs).max():.1e}"
    )
    large = pd.concat([frame] * 133, ignore_index=True)
    q = Predictions(large["cancerpredmarker"], large["cancer"])
    ours, theirs = (
        shortest(task, clock=time.process_time)
        for task in (
            lambda: decision_curve(q, thresholds=thresholds, rng=0),
            lambda: dca(large, "cancer", ["cancerpredmarker"], thresholds=thresholds),
        )
    )
    print(f"{len(large):,} rows: {ours:.3f} s with bands, dcurves {theirs:.3f} s without; ratio {theirs / ours:.1f}")


def areas():
    """The area under the risk-coverage curve, with and without ties."""
    from mapie.metrics.uncertainty import auarc

    rng = np.random.default_rng(0)
    confidence = rng.random(1000)
    right = (rng.random(1000) < confidence).astype(int)
    theirs = float(auarc(right, confidence))
    print(f"1 - AURC of 1000 answers: {1 - aurc(confidence, right):.12f}, MAPIE {version('mapie')} {theirs:.12f}")
    tied, order = confidence.round(1), rng.permutation(1000)
    for name, rows in (("in order", np.arange(1000)), ("shuffled", order)):
        ours, theirs = 1 - aurc(tied[rows], right[rows]), float(auarc(right[rows], tied[rows]))
        print(f"  with ties, {name}: {ours:.12f}, MAPIE {theirs:.12f}")


def aurc(confidence, right):
    return AURC()(Predictions(confidence, right, classes=("wrong", "right")))


class Given(ClassifierMixin, BaseEstimator):
    """A model whose only feature is its probability."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):  # noqa: ARG002 (nothing is learnt)
        self.fitted_ = True
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def thresholds():
    """A threshold that was cheapest on 500 rows against the one that the costs name, on new rows."""
    costs, rng = Costs(1, 20), np.random.default_rng(1)
    score = make_scorer(lambda y, decided: -float(np.mean(costs.per_row(decided == 1, y == 1))))
    found = []
    for _ in range(200):
        p, new = drawn(500, rng), drawn(100_000, rng)
        model = Given().fit(None, None)
        tuned = TunedThresholdClassifierCV(model, scoring=score, cv="prefit", refit=False)
        tuned.fit(p.positive[:, None], p.labels)
        own = best_threshold(p, threshold=costs.threshold)
        found.append(
            (
                -tuned.best_score_,
                ExpectedCost(costs, float(np.clip(tuned.best_threshold_, 1e-9, 1 - 1e-9)))(new),
                ExpectedCost(costs)(new),
                own.low is None or own.low <= costs.threshold <= own.high,
            )
        )
    shown, picked, named, covered = np.mean(found, axis=0)
    print("calibrated predictions, costs 1 to 20, 500 rows, 200 runs, cost per new row:")
    print(f"  TunedThresholdClassifierCV {version('scikit-learn')}: shown {shown:.4f}, true {picked:.4f}")
    print(f"  the threshold of the costs, 1/21: true {named:.4f}; limits of the best one cover it in {covered:.1%}")


def drawn(n, rng):
    z = rng.normal(-2, 1.5, n)
    return Predictions.from_logits(z, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int))


def controlled():
    """Coverage with a guaranteed risk: a fixed sequence against MAPIE's controller of precision over 100 thresholds."""
    rng = np.random.default_rng(2)
    found = {"ours": [], "bonferroni_holm": [], "fixed_sequence": []}
    for _ in range(200):
        c = np.sort(rng.random(1000))[::-1]
        wrong = rng.random(1000) < 0.4 * (1 - c) ** 2
        p = Predictions(c, (~wrong).astype(int), classes=("wrong", "right"))
        kept = coverage_at_risk(p, max_risk=0.05, confidence=0.9)
        found["ours"].append((kept.coverage, kept.threshold))
        for method in ("bonferroni_holm", "fixed_sequence"):
            threshold = mapie_threshold(c, ~wrong, method)
            found[method].append((0.0 if threshold is None else np.mean(c >= threshold), threshold))
    print("mean coverage with a risk of 0.05 at confidence 0.9, 1000 rows, and share of broken promises:")
    names = {"ours": "calibrant, fixed sequence of coverages"}
    for method, pairs in found.items():
        # The error rate above a threshold t is the mean of 0.4 (1 - c)^2 over c from t to 1.
        broken = np.mean([t is not None and 0.4 / 3 * (1 - t) ** 2 > 0.05 for _, t in pairs])
        name = names.get(method, f"MAPIE {version('MAPIE')}, {method}, thresholds 0.99, 0.98, ...")
        print(f"  {name}: {np.mean([share for share, _ in pairs]):.3f}, {broken:.3f}")


def mapie_threshold(confidence, right, method):
    """Return the least confidence from which on MAPIE promises a precision of 0.95."""
    import warnings

    from mapie.risk_control import BinaryClassificationController

    controller = BinaryClassificationController(
        lambda c: np.column_stack([1 - c[:, 0], c[:, 0]]),
        "precision",
        target_level=0.95,
        confidence_level=0.9,
        list_predict_params=np.arange(99, -1, -1) / 100,
        fwer_method=method,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        controller.calibrate(confidence[:, None], right.astype(int))
    valid = controller.valid_predict_params
    return float(np.min(valid)) if len(valid) else None


def rates():
    """The base rate by Newton's method against expectation and maximisation."""
    rng = np.random.default_rng(3)
    y = rng.random(100_000) < 0.1
    p = 1 / (1 + np.exp(-(1.5 * (rng.standard_normal(100_000) + 1.5 * y) - 1.125)))

    def plain(tolerance):
        rate, steps = 0.5, 0
        while True:
            event, other = p * rate / 0.5, (1 - p) * (1 - rate) / 0.5
            new = float(np.mean(event / (event + other)))
            steps += 1
            if abs(new - rate) < tolerance:
                return new, steps
            rate = new

    ours, (theirs, steps) = estimate_base_rate(p, 0.5), plain(1e-12)
    print(f"base rate of 100,000 rows: {ours.value:.10f}, EM {theirs:.10f} after {steps} steps")
    tasks = lambda: estimate_base_rate(p, 0.5), lambda: plain(1e-12)
    timed = [shortest(task, clock=time.process_time) for task in tasks]
    print(f"  {timed[0]:.3f} s with limits {ours.low:.4f} to {ours.high:.4f}, EM {timed[1]:.3f} s without")


if __name__ == "__main__":
    for part in (curves, areas, thresholds, controlled, rates):
        part()
