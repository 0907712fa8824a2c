"""Methods of fixing forecasts that calibrant does not offer, beside those that it does, on rows that were held out.

Call it as `python benchmarks/forecast_left_out.py`. Two normal laws of different width (EM on standardised errors), a
Beta distribution function as the map of transforms, and, for ensembles, a normal law of the mean and variance of the
members (EMOS, by CRPS), beside the normal law of their mean and standard deviation with calibrators that are offered.
Change of CRPS and log score against doing nothing, means of 30 data sets with standard errors.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import betainc, betaln
from scipy.stats import norm

from calibrant import Forecasts, Mixture, Normal, Samples
from calibrant.calibrators.forecasts import EnsembleInflation, parse_forecast
from calibrant.forecasts import Quantiles
from calibrant.metrics import CRPS, LogScore

RUNS, NEW, LEVELS = 30, 2000, np.arange(1, 200) / 200
AS_NORMAL = ("shift-scale", "spread-by-level", "shift-scale>spread-by-level")


def world(name, n, rng):
    """Return normal forecasts that are too narrow, and targets with heavy tails and a bias, or skewed ones."""
    x = rng.uniform(-2, 2, n)
    sd, mean = 0.5 + 0.5 * abs(x), np.sin(2 * x)
    if name == "t5 + bias":
        return Forecasts(Normal(mean, 0.7 * sd), mean + 0.3 + sd * rng.standard_t(5, n))
    return Forecasts(Normal(mean, sd), mean + sd * (rng.exponential(size=n) - 1))


def errors(f):
    return (f.targets - f.distribution.loc) / f.distribution.scale


def two_laws(fit, new):
    """Return shifted mixtures of two normal laws."""
    z = errors(fit)
    shift, z = z.mean(), z - z.mean()
    share, one, two = 0.1, 0.8 * z.std(), 2 * z.std()
    for _ in range(300):
        dense = share * norm.pdf(z, 0, two)
        own = dense / (dense + (1 - share) * norm.pdf(z, 0, one))
        share = min(own.mean(), 0.5)
        one, two = (np.sqrt(np.average(z**2, weights=w + 1e-12)) for w in (1 - own, own))
    law = new.distribution
    parts = [Normal(law.loc + shift * law.scale, k * law.scale) for k in (max(one, 0.01), max(two, one))]
    return Forecasts(Mixture([1 - share, share], parts), new.targets)


def beta_map(fit, new):
    """Return CRPS (by 199 quantiles) and log score after a Beta map of the transforms of shift-scale."""
    first = parse_forecast("shift-scale").fit(fit)
    u = np.clip(errors(first.calibrate(fit)), -8, 8)
    u = norm.cdf(u)
    found = minimize(
        lambda t: -np.mean((np.exp(t) - 1) @ np.log([u, 1 - u]) - betaln(*np.exp(t))), [0, 0], method="Nelder-Mead"
    )
    a, b = np.exp(found.x)
    moved = first.calibrate(new)
    grid = np.linspace(1e-6, 1 - 1e-6, 20001)
    inner = np.interp(LEVELS, betainc(a, b, grid), grid)
    crps = CRPS()(Forecasts(Quantiles(LEVELS, moved.distribution.quantile(inner)), new.targets))
    v = norm.cdf(np.clip(errors(moved), -8, 8))
    density = (a - 1) * np.log(v) + (b - 1) * np.log1p(-v) - betaln(a, b)
    return crps, LogScore()(moved) - density.mean()


def on_the_line():
    print("change of CRPS and log score against doing nothing, rows to fit, standard errors in brackets")
    for name in ("t5 + bias", "skewed"):
        for n in (200, 1000):
            rng, rows = np.random.default_rng(1), {}
            for _ in range(RUNS):
                fit, new = world(name, n, rng), world(name, NEW, rng)
                before = np.array([CRPS()(new), LogScore()(new)])
                for method in ("shift-scale", "student", "shift-scale>pit"):
                    after = parse_forecast(method).fit(fit).calibrate(new)
                    rows.setdefault(method, []).append([CRPS()(after), LogScore()(after)] - before)
                after = two_laws(fit, new)
                rows.setdefault("two normal laws", []).append([CRPS()(after), LogScore()(after)] - before)
                rows.setdefault("shift-scale, Beta map", []).append(np.array(beta_map(fit, new)) - before)
            print(f"{name}, {n} rows")
            for method, values in rows.items():
                mean, error = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(RUNS)
                print(f"  {method}: {mean[0]:+.4f} ({error[0]:.4f}), {mean[1]:+.4f} ({error[1]:.4f})")


def ensemble(n, rng):
    mu = rng.standard_normal(n)
    target = mu + rng.standard_normal(n)
    return Forecasts(Samples(mu[:, None] + 0.4 + 0.6 * rng.standard_normal((n, 20))), target)


def emos(fit, new):
    """Return normal laws of mean a + b M and variance c + d s^2, by CRPS."""

    def law(t, f):
        draws = f.distribution.draws
        m, v = draws.mean(axis=1), draws.var(axis=1, ddof=1)
        return Forecasts(Normal(t[0] + t[1] * m, np.sqrt(t[2] ** 2 + t[3] ** 2 * v + 1e-9)), f.targets)

    best = minimize(lambda t: CRPS()(law(t, fit)), [0, 1, 0.7, 0.7], method="Nelder-Mead", options={"maxiter": 600})
    return law(best.x, new)


def as_normal(method, fit, new):
    """Return normal laws of means and standard deviations of the members, after a calibrator that is offered."""

    def law(f):
        draws = f.distribution.draws
        return Forecasts(Normal(draws.mean(axis=1), draws.std(axis=1, ddof=1)), f.targets)

    return parse_forecast(method).fit(law(fit)).calibrate(law(new))


def ensembles():
    fair, plain = CRPS(ensemble="fair"), CRPS()
    names = ("inflate", "EMOS", *(f"normal laws of the members, then {method}" for method in AS_NORMAL))
    for n in (100, 250):
        rng, rows = np.random.default_rng(2), []
        for _ in range(RUNS):
            fit, new = ensemble(n, rng), ensemble(NEW, rng)
            after = [EnsembleInflation().fit(fit).calibrate(new), emos(fit, new)]
            after += [as_normal(method, fit, new) for method in AS_NORMAL]
            rows.append([[fair(f) - fair(new), plain(f) - plain(new)] for f in after])
        mean, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(RUNS)
        print(f"ensembles of 20, {n} rows, change of the fair CRPS, and of that of the 20 members as they are")
        for name, m, e in zip(names, mean, error, strict=True):
            print(f"  {name}: {m[0]:+.4f} ({e[0]:.4f}), {m[1]:+.4f} ({e[1]:.4f})")


if __name__ == "__main__":
    on_the_line()
    ensembles()
