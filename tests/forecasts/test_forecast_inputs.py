"""What forecasts accept and what they refuse, with which words."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import stats

from calibrant import InputError
from calibrant.forecasts import Forecasts, Laplace, Mixture, MonteCarlo, MvNormal, Normal, Samples
from naming import each

INF, NAN = np.inf, np.nan
EYE = np.eye(2)
UNIT = Normal([0.0, 0.0], 1.0)


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        np.array,
        lambda x: np.array(x, dtype=np.float32),
        lambda x: np.array(x)[:, None],
        pd.Series,
        lambda x: pd.DataFrame({"x": x}),
        pl.Series,
        lambda x: pl.DataFrame({"x": x}),
        lambda x: torch.tensor(x, requires_grad=True),
    ],
    ids=["list", "tuple", "array", "float32", "column", "pandas", "frame", "polars", "polars frame", "tensor"],
)
def test_any_container_is_read(wrap):
    f = Forecasts(Normal(wrap([0.5, 1.0]), wrap([1.0, 2.0])), wrap([0.25, -1.0]), weights=wrap([1.0, 3.0]))
    for found, expected in (
        (f.distribution.loc, [0.5, 1.0]),
        (f.distribution.scale, [1.0, 2.0]),
        (f.targets, [0.25, -1.0]),
        (f.weights, [1.0, 3.0]),
    ):
        assert found.tolist() == expected
        assert found.dtype == np.float64
        assert not found.flags.writeable
    assert f.is_weighted
    assert f.n_samples == 2


def test_arrays_are_copied():
    loc, targets, draws = np.zeros(2), np.zeros(2), np.zeros((2, 3))
    f, g = Forecasts(Normal(loc, 1.0), targets), Samples(draws)
    loc += 1
    targets += 1
    draws += 1
    assert f.distribution.loc.tolist() == f.targets.tolist() == [0.0, 0.0]
    assert g.draws.max() == 0


def test_scalars_stand_for_all_rows():
    assert Normal([0, 1, 2], 2).scale.tolist() == [2.0] * 3
    assert Laplace(0, [1, 2]).loc.tolist() == [0.0] * 2
    assert Normal(0, 1).n == 1
    assert Mixture([0.5, 0.5], [UNIT, UNIT]).weights.shape == (2, 2)


def test_the_shape_of_targets_follows_the_distribution():
    assert Forecasts(UNIT, [[1.0], [2.0]]).targets.shape == (2,)
    assert Forecasts(MvNormal([[0.0], [0.0]], 1.0), [1.0, 2.0]).targets.shape == (2, 1)
    assert Forecasts(MvNormal(EYE, 1.0), EYE).targets.shape == (2, 2)
    assert Samples(np.zeros((4, 3, 1))).draws.shape == (4, 3)
    assert Forecasts(UNIT, [1, 2]).weights.tolist() == [1.0, 1.0]
    assert repr(Forecasts(MvNormal(EYE, 1.0), EYE)) == "Forecasts(MvNormal(n=2, dim=2))"


def test_rounding_is_repaired():
    cov = np.array([[[1.0, 0.5], [0.5 + 1e-7, 1.0]]])
    assert np.array_equal(MvNormal([[0, 0]], cov).cov[0], MvNormal([[0, 0]], cov).cov[0].T)
    weights = Mixture([0.3333333, 0.3333333, 0.3333333], [UNIT] * 3).weights
    assert np.allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-15)


def test_misaligned_indices_are_refused():
    one, other = pd.Series([0.0, 1.0], index=["a", "b"]), pd.Series([1.0, 2.0], index=["b", "a"])
    with pytest.raises(InputError, match="loc and scale must have their rows in the same order"):
        Normal(one, other)
    with pytest.raises(InputError, match="loc and targets must have their rows in the same order"):
        Forecasts(Normal(one, 1.0), other)
    with pytest.raises(InputError, match="loc and targets must have their rows in the same order"):
        Forecasts(Mixture([1.0], [Normal(one, 1.0)]), other)
    with pytest.raises(InputError, match="targets and weights must have their rows in the same order"):
        Forecasts(UNIT, one, other)


BAD_VALUES = [
    (lambda: Normal([0, NAN], 1), "loc must be finite, but row 1 is nan (1 of 2 rows is bad). Drop or repair them."),
    (lambda: Normal(NAN, 1), "loc must be finite, but is nan."),
    (lambda: Normal([0, 0], [1, INF]), "scale must be finite, but row 1 is inf"),
    (lambda: Normal([1e80], 1), "loc must not exceed 1e+75 in absolute value, but row 0 is 1e+80"),
    (lambda: Normal([0, 0], [1, 0]), "scale must be positive and not below 1e-75, but row 1 is 0"),
    (lambda: Laplace([0, 0], [-1, -2]), "but row 0 is -1 (2 of 2 rows are bad)"),
    (
        lambda: Normal([0, 0, 0], [1, 2]),
        "loc and scale must have equal lengths, but have 3 and 2. Pass one entry per row",
    ),
    (lambda: Normal([], 1), "loc must have at least one row, but has shape (0,)"),
    (lambda: Normal(EYE, 1), "loc must be one number per row, but has shape (2, 2)"),
    (lambda: MvNormal([0, 0], 1), "mean must have the shape (n, d); for numbers use Normal, but has shape (2,)"),
    (lambda: MvNormal(np.zeros((0, 2)), 1), "mean must have at least one row, but has shape (0, 2)"),
    (lambda: MvNormal(EYE, np.zeros(2)), "cov must have the shape (n, d, d) or (n, d), but has shape (2,)"),
    (
        lambda: MvNormal(np.zeros((3, 2)), EYE),
        "cov must have the shape (3, 2, 2), or (3, 2) for independent coordinates",
    ),
    (lambda: MvNormal(np.zeros((3, 2)), EYE), "pass cov[None]"),
    (lambda: MvNormal(np.zeros((3, 2)), np.ones((4, 2))), "there are 4 cov and 3 rows"),
    (lambda: MvNormal(EYE, [[1, 1], [1, 0]]), "cov must be positive and not below 1e-150, but row 1, column 1 is 0"),
    (lambda: MvNormal(EYE, [EYE, [[1, 2], [0, 1]]]), "cov must be symmetric, but in row 1 the entry (0, 1) is 2 and"),
    (lambda: MvNormal(EYE, [EYE, [[1, 2], [2, 1]]]), "cov must be positive definite, but row 1 is not: its smallest"),
    (lambda: MvNormal(EYE, [EYE, EYE * NAN]), "cov must be finite, but row 1, entry (0, 0) is nan"),
    (
        lambda: Samples([0.0, 1.0]),
        "draws must have the shape (n, m) or (n, m, d), with m draws per row, but has shape (2,)",
    ),
    (lambda: Samples(np.zeros((2, 0))), "draws must have at least one row, but has shape (2, 0)"),
    (lambda: Samples([[0.0, 1.0], [NAN, 0.0]]), "draws must be finite, but row 1, column 0 is nan"),
    (lambda: Samples([[0.0, 1.0], [0.0]]), "draws must have rows of equal length, but row 1 has 1 and row 0 has 2"),
    (lambda: Mixture([0.5, 0.4], [UNIT, UNIT]), "weights of a mixture must sum to 1, but in row 0 they sum to 0.9"),
    (lambda: Mixture([[0.5, 0.5], [0, 0.5]], [UNIT, UNIT]), "in row 1 they sum to 0.5 (1 of 2 rows is bad)"),
    (lambda: Mixture([1.5, -0.5], [UNIT, UNIT]), "weights must not be negative, but row 0, column 1 is -0.5"),
    (lambda: Mixture([1.0], [UNIT, UNIT]), "weights must have the shape (2,) or (2, 2), one column per component"),
    (lambda: Mixture(np.ones((3, 1)), [UNIT]), "but have shape (3, 1)"),
    (
        lambda: Mixture([0.5, 0.5], [UNIT, Normal(0, 1)]),
        "component 0 is Normal(n=2, dim=1) and component 1 is Normal(n=1",
    ),
    (lambda: Mixture([0.5, 0.5], [UNIT, MvNormal(EYE, 1)]), "component 1 is MvNormal(n=2, dim=2)"),
    (lambda: Forecasts(UNIT, [0, 1, 2]), "there are 3 targets and 2 rows"),
    (
        lambda: Forecasts(Normal(0, 1), [0, 1]),
        "but has 1, for 2 targets. If it is meant for all of them, repeat",
    ),
    (lambda: Forecasts(UNIT, [0, NAN]), "targets must be finite, but row 1 is nan"),
    (lambda: Forecasts(UNIT, []), "targets must have at least one row"),
    (
        lambda: Forecasts(UNIT, EYE),
        "targets must have 1 coordinate per row, like the distribution, but have shape (2, 2)",
    ),
    (lambda: Forecasts(MvNormal(EYE, 1), [0, 1]), "targets must have 2 coordinates per row"),
    (lambda: Forecasts(UNIT, [0, 1], [1, -1]), "weights must be finite and not negative, but row 1 is -1"),
    (lambda: Forecasts(UNIT, [0, 1], [1, 1, 1]), "there are 3 weights and 2 rows"),
    (lambda: Forecasts(stats.norm([0, 0, 0]), [0, 1]), "dist must have parameters of length 2, one entry per row"),
    (lambda: MonteCarlo(stats.norm()), "dist must have parameters of length n, but dist.rvs() has the shape ()"),
    (lambda: MonteCarlo(stats.norm([0, 0]), n_draws=5), "n_draws must be an even number of at least 2, but is 5"),
    (lambda: MonteCarlo(stats.norm([0, 0]), seed=-1), "seed must be a whole number of at least 0, but is -1"),
    (lambda: MonteCarlo(stats.norm([0, 0]), n_draws=8).batches(3), "n_batches must divide n_draws / 2, which is 4"),
    (lambda: UNIT.expect("cubic", 1.0, np.zeros(1)), 'profile must be "gaussian" or "exponential", but is'),
    (
        lambda: UNIT.expect("gaussian", 0.0, np.zeros(1)),
        "lengthscale must be positive and finite (1e-75 to 1e75), but is",
    ),
    (lambda: UNIT.expect_pair("gaussian", NAN, UNIT), "lengthscale must be positive and finite"),
    (lambda: UNIT.expect("gaussian", 1.0, EYE), "y must have the shape (m,), but has shape (2, 2)"),
    (lambda: MvNormal(EYE, 1).expect("gaussian", 1.0, np.zeros(2)), "y must have the shape (m, 2), but has shape (2,)"),
]


@each("build, words", dict(enumerate(BAD_VALUES)))
def test_bad_values_are_refused_with_reason(build, words):
    with pytest.raises(InputError) as caught:
        build()
    assert words in str(caught.value)


BAD_KINDS = [
    (lambda: Normal(["a", "b"], 1), "loc must hold numbers, but holds 'a'"),
    (lambda: Normal(None, 1), "loc must be an array, but got NoneType"),
    (lambda: Forecasts(UNIT, ["x", "y"]), "targets must hold numbers, but holds 'x'"),
    (
        lambda: Forecasts(np.zeros(2), [0, 1]),
        "or an object with rvs(size, random_state), but is a ndarray. Pass Normal(",
    ),
    (lambda: Forecasts(Normal, [0, 1]), "but is <class"),
    (lambda: MonteCarlo(3), "dist must have a method rvs(size, random_state), but is a int"),
    (lambda: Mixture([1.0], UNIT), "components must be a non-empty list of distributions"),
    (lambda: Mixture([1.0], []), "components must be a non-empty list of distributions"),
    (lambda: Mixture([1.0], [Mixture([1.0], [UNIT])]), "but component 0 is a Mixture. Multiply the weights"),
    (lambda: Mixture([1.0], [stats.norm([0, 0])]), "wrap other objects in MonteCarlo"),
]


@each("build, words", dict(enumerate(BAD_KINDS)))
def test_bad_kinds_are_refused_with_reason(build, words):
    with pytest.raises(TypeError) as caught:
        build()
    assert words in str(caught.value)


def test_laws_that_draw_nonsense_are_refused():
    class Broken:
        def rvs(self, size, random_state):
            return np.full(size, NAN)

    class Short:
        def rvs(self, size, random_state):
            return random_state.normal(size=size[0])

    with pytest.raises(InputError, match=r"draws of dist must be finite .* but row 0, column 0 is nan"):
        Forecasts(Broken(), [0.0, 1.0])
    with pytest.raises(InputError, match=r"must return this shape, or \(\.\.\., d\), but returned \(128,\)"):
        Forecasts(Short(), [0.0, 1.0])
    different = MonteCarlo(stats.norm([0, 0]), n_draws=8)
    with pytest.raises(InputError, match="must have the same number of draws, but have 8 and 6"):
        different.expect_pair("gaussian", 1.0, MonteCarlo(stats.norm([0, 0]), n_draws=6))
