"""Forecasts with known answers, and definitions as slow integrals, for the tests of laws and their calibrators."""

from itertools import pairwise

import numpy as np
from scipy import integrate

from calibrant import Forecasts, Mixture, Normal, Samples


def g1():
    """Return forecasts that are too narrow, biased and light-tailed: 200 rows to fit and 400 to judge."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, 600)
    t = rng.standard_t(5, 600)
    sd, mean = 0.5 + 0.5 * np.abs(x), np.sin(2 * x)
    whole = Forecasts(Normal(mean, 0.7 * sd), mean + 0.3 + sd * t)
    assert abs(whole.targets.sum() - 191.900694) < 1e-6
    return whole.take(slice(0, 200)), whole.take(slice(200, None)), x


def g2():
    """Return ensembles that are too narrow and biased: 250 rows to fit and 250 to judge."""
    rng = np.random.default_rng(8)
    mu = rng.standard_normal(500)
    y = mu + rng.standard_normal(500)
    members = mu[:, None] + 0.4 + 0.6 * rng.standard_normal((500, 20))
    assert abs(members.sum() - 4072.306363) < 1e-6
    whole = Forecasts(Samples(members), y)
    return whole.take(slice(0, 250)), whole.take(slice(250, None))


def crps_by_definition(law, y, cuts=()):
    """Return the integral of (F(x) - 1[x >= y])^2 for a law of one row, between cuts where F may have a kink."""
    ends = law.quantile([1e-12, 1e-8, 1e-4, 0.01, 0.25, 0.5, 0.75, 0.99, 1 - 1e-4, 1 - 1e-8, 1 - 1e-12])[0]
    places = sorted({*ends.tolist(), y, *cuts})

    def square(x):
        return float(law.cdf(np.array([x]))[0] - (x >= y)) ** 2

    pieces = [integrate.quad(square, a, b, epsabs=1e-10, epsrel=1e-9, limit=100)[0] for a, b in pairwise(places)]
    return sum(pieces)


def deep_ensemble():
    """Return mixtures of three normal laws each, as an ensemble of networks predicts them, for six observed values."""
    means = np.array(
        [
            [14.272, 14.931, 14.727],
            [14.399, 13.955, 13.886],
            [12.907, 12.885, 12.781],
            [16.134, 16.141, 15.919],
            [8.414, 8.882, 9.146],
            [20.037, 19.656, 18.734],
        ]
    )
    mixture = Mixture(np.full(3, 1 / 3), [Normal(means[:, m], sd) for m, sd in enumerate((3.546, 3.639, 3.66))])
    return Forecasts(mixture, [11.615, 18.362, 13.365, 14.121, 6.599, 17.945])
