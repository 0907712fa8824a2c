"""Calibrators of predictive distributions on held-out rows, and beside other packages, in one run.

Call it as `python benchmarks/forecast_calibrators.py`. It compares with uncertainty-toolbox, netcal, MAPIE and crepes,
where they are installed.
"""

import contextlib
import io
import os
import time

import numpy as np
from timing import timed

from calibrant import Forecasts, Normal, Samples
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS, ConformalIntervals, PITMap, SpreadScaling
from calibrant.metrics import CRPS, LogScore

SETS, TEST_ROWS = int(os.environ.get("SETS", "40")), 2000
METHODS = ("scale", "shift-scale", "student", "pit-all", "pit", "shift-scale>pit")


def world(name, n, rng):
    """Forecasts N(sin 2x, s^2), and targets whose noise is calibrated, too wide, heavy-tailed and biased, or skewed."""
    x = rng.uniform(-2, 2, n)
    sd, mean = 0.5 + 0.5 * np.abs(x), np.sin(2 * x)
    noise, bias, factor = {
        "calibrated": (rng.standard_normal, 0.0, 1.0),
        "under-dispersed": (rng.standard_normal, 0.0, 0.7),
        "t5 + bias": (lambda size: rng.standard_t(5, size), 0.3, 0.7),
        "skewed": (lambda size: rng.exponential(size=size) - 1, 0.0, 1.0),
    }[name]
    return Forecasts(Normal(mean, factor * sd), mean + bias + sd * noise(n))


def which_wins():
    print(f"Change of CRPS; log score against doing nothing, mean of {SETS} data sets, {TEST_ROWS} test rows, seed 1")
    print("(standard error of the CRPS change in brackets)\n")
    print(f"{'world, rows':22s}" + "".join(f"{name:>28s}" for name in METHODS))
    rng = np.random.default_rng(1)
    for name in ("calibrated", "under-dispersed", "t5 + bias", "skewed"):
        for n in (50, 200, 1000):
            changes = {method: [] for method in METHODS}
            for _ in range(SETS):
                whole = world(name, n + TEST_ROWS, rng)
                fit, test = whole.take(slice(0, n)), whole.take(slice(n, None))
                before = np.array([CRPS()(test), LogScore()(test)])
                for method, found in changes.items():
                    after = FORECAST_CALIBRATORS[method]().fit(fit).calibrate(test)
                    found.append(np.array([CRPS()(after), LogScore()(after)]) - before)
            cells = []
            for found in changes.values():
                crps, log = np.mean(found, axis=0)
                error = np.std(found, axis=0, ddof=1)[0] / np.sqrt(SETS)
                cells.append(f"{crps:+.4f} ({error:.4f}); {log:+.4f}")
            print(f"{name + ', ' + str(n):22s}" + "".join(f"{cell:>28s}" for cell in cells), flush=True)


def g1():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, 600)
    t = rng.standard_t(5, 600)
    sd, mean = 0.5 + 0.5 * np.abs(x), np.sin(2 * x)
    whole = Forecasts(Normal(mean, 0.7 * sd), mean + 0.3 + sd * t)
    return whole.take(slice(0, 200)), whole.take(slice(200, None))


def line(what, ours, theirs, times=None):
    ratio = f"{theirs / ours:.6f}" if np.isfinite(ours) and ours else "-"
    timing = "" if times is None else f"   time of theirs / ours {times[1] / max(times[0], 1e-9):.1f}"
    print(f"  {what:62s} calibrant {ours:.9f}   theirs {theirs:.9f}   ratio {ratio}{timing}", flush=True)


def netcal_peer(fit, test):
    from netcal.regression import VarianceScaling

    law = fit.distribution

    def theirs():
        scaling = VarianceScaling()
        scaling.fit((law.loc, law.scale), fit.targets)
        return float(np.ravel(scaling.transform((test.distribution.loc, test.distribution.scale)))[0])

    other, spread = timed(theirs, clock=time.process_time)
    own, fitted = timed(lambda: SpreadScaling().fit(fit), clock=time.process_time)
    line("variance scaling: factor k", fitted.factor_, spread / test.distribution.scale[0], (own, other))


def uct_peer(fit, test):
    from uncertainty_toolbox.recalibration import get_quantile_recalibrator

    law, new = fit.distribution, test.distribution
    recalibrator = get_quantile_recalibrator(law.loc, law.scale, fit.targets)
    theirs = np.mean(test.targets <= recalibrator(new.loc, new.scale, 0.5))
    ours = np.mean(test.targets <= PITMap("all").fit(fit).apply(new).quantile(0.5))
    raw = np.mean(test.targets <= new.loc)
    print(f"  Share of held-out targets up to the median (should be 0.5); as predicted {raw:.4f}")
    line("after quantile recalibration (theirs moves the wrong way)", ours, theirs)


def crepes_peer(fit, test):
    from crepes import ConformalPredictiveSystem, ConformalRegressor

    law, new = fit.distribution, test.distribution
    regressor = ConformalRegressor()
    regressor.fit(residuals=fit.targets - law.loc)
    ends = regressor.predict_int(y_hat=new.loc, confidence=0.9)
    threshold = ConformalIntervals(score="absolute").fit(fit).thresholds_[0, 0]
    line("split conformal, absolute errors, 90 %: half width", threshold, float(ends[0, 1] - new.loc[0]))
    system = ConformalPredictiveSystem()
    system.fit(residuals=fit.targets - law.loc, sigmas=law.scale)
    metrics = ["error", "CRPS"]
    said = system.evaluate(y_hat=new.loc, sigmas=new.scale, y=test.targets, metrics=metrics, seed=0)
    z = (fit.targets - law.loc) / law.scale
    exact = CRPS()(Forecasts(Samples(new.loc[:, None] + new.scale[:, None] * z), test.targets))
    line("CRPS of the law with the residuals as atoms (theirs is wrong)", exact, float(said["CRPS"]))


def mapie_peer(fit, test):
    from mapie.regression import SplitConformalRegressor
    from sklearn.base import BaseEstimator, RegressorMixin

    class Given(RegressorMixin, BaseEstimator):
        """Predicts its first column."""

        def fit(self, X, _y):
            self.n_features_in_ = X.shape[1]
            return self

        def predict(self, X):
            return X[:, 0]

    rows, new = fit.distribution.loc[:, None], test.distribution.loc[:, None]

    def theirs():
        model = SplitConformalRegressor(Given().fit(rows, None), confidence_level=0.9, prefit=True)
        _, ends = model.conformalize(rows, fit.targets).predict_interval(new)
        return float(ends[0, 1, 0] - new[0, 0])

    other, half = timed(theirs, clock=time.process_time)
    own, fitted = timed(lambda: ConformalIntervals(score="absolute").fit(fit), clock=time.process_time)
    line("split conformal, absolute errors, 90 %: half width", fitted.thresholds_[0, 0], half, (own, other))


PEERS = {
    "netcal": netcal_peer,
    "uncertainty-toolbox": uct_peer,
    "crepes": crepes_peer,
    "MAPIE": mapie_peer,
}


def main():
    fit, test = g1()
    print("Beside other packages: 200 rows to fit, 400 to judge, too narrow, biased and heavy-tailed\n")
    for name, compare in PEERS.items():
        print(name)
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                compare(fit, test)
        except ImportError as error:
            print(f"  not installed ({error.name})")
    print()
    which_wins()


if __name__ == "__main__":
    main()
