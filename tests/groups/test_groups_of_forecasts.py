"""Groups of forecasts: the law of sums of scores, level, power, direction, and what is refused."""

import math

import numpy as np
import pytest
from scipy.stats import norm, t

from calibrant import Forecasts, InputError, MvNormal, Normal, Samples
from calibrant.forecasts import Quantiles
from calibrant.groups import GroupSearch
from calibrant.groups.score_sums import BIAS, SPREAD, ScoreSum
from calibrant.groups.subjects import spread_of_shifted
from naming import each

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def irwin_hall_tail(n, x):
    """Return P(sum of n uniform numbers >= x), by the definition with alternating signs."""
    below = sum((-1) ** k * math.comb(n, k) * (x - k) ** n for k in range(math.floor(x) + 1)) / math.factorial(n)
    return 1 - below


@each("n, x", [(5, 3.5), (8, 6.0), (12, 8.0), (12, 9.5)])
def test_tails_of_uniform_numbers_are_those_of_irwin_and_hall(n, x):
    exact = 2 * irwin_hall_tail(n, x)
    for total in (x - n / 2, n / 2 - x):
        assert ScoreSum(BIAS, np.ones(n), total).pvalue == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("score", [BIAS, SPREAD])
def test_mean_and_variance_are_those_of_uniform_transforms(score):
    u = (np.arange(200_000) + 0.5) / 200_000
    assert np.mean(score.of(u)) == pytest.approx(score.mean, abs=1e-9)
    assert np.var(score.of(u)) == pytest.approx(score.variance, abs=1e-9)


@each("score", [BIAS, SPREAD])
@each("weights", [np.ones(60), np.random.default_rng(0).exponential(size=200)])
def test_pvalues_are_uniform_up_to_chance(score, weights):
    """Half of 60 p-values, and a hundredth of 4000 sums in a tail, with bounds of 4.5 standard deviations."""
    rng = np.random.default_rng(1)
    values = score.of(rng.random((4000, len(weights)))) - score.mean
    p = np.array([ScoreSum(score, weights, total).pvalue for total in values[:60] @ weights])
    assert abs(np.mean(p < 0.5) - 0.5) < 4.5 * np.sqrt(0.25 / 60)
    far = np.quantile(values @ weights, 0.99)  # A p-value is the share beyond, as simulated by the other sums.
    assert ScoreSum(score, weights, float(far)).pvalue / 2 == pytest.approx(0.01, abs=4.5 * np.sqrt(0.0099 / 4000))


def test_more_weights_than_are_told_apart_change_little():
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=5000)
    total = 2.5 * np.sqrt(BIAS.variance * weights @ weights)
    assert ScoreSum(BIAS, weights, total).pvalue == pytest.approx(2 * 0.00621, rel=0.02)


def drawn(n, rng, *, shift=0.0, factor=1.0, law="normal"):
    """Return forecasts and two columns; where both are 1, targets are shifted or farther out."""
    columns = rng.integers(0, 3, (2, n))
    bad = (columns == 1).all(axis=0)
    mean, sd = rng.normal(0, 2, n), rng.uniform(1, 3, n)
    targets = mean + sd * (shift * bad + np.where(bad, factor, 1.0) * rng.standard_normal(n))
    laws = {
        "normal": lambda: Normal(mean, sd),
        "ensemble": lambda: Samples(mean[:, None] + sd[:, None] * rng.standard_normal((n, 8))),
        "quantiles": lambda: Quantiles(LEVELS, Normal(mean, sd).quantile(LEVELS)),
    }
    return Forecasts(laws[law](), targets), {"a": columns[0], "b": columns[1]}


@each("law", ["normal", "ensemble", "quantiles"])
@each(
    "off, direction",
    [
        ({"shift": 1.0}, "too low"),
        ({"shift": -1.0}, "too high"),
        ({"factor": 2.0}, "too narrow"),
        ({"factor": 0.4}, "too wide"),
    ],
)
def test_the_group_that_is_off_is_named_with_its_direction(law, off, direction):
    forecasts, features = drawn(1500, np.random.default_rng(0), law=law, **off)
    found = GroupSearch(leaves=1)(forecasts, features=features, rng=0)
    first = found.found[0]
    assert (first.label, first.direction) == ("a = 1 and b = 1", direction)
    assert [group.label for group in found.found if group.stands_alone] == ["a = 1 and b = 1"]
    assert f"Forecasts are {direction} where a = 1 and b = 1" in found.headline
    assert first.low <= first.size <= first.high
    assert first.worth > 0
    assert (first.coverage > 0.95) == (direction == "too wide")


def test_the_level_holds():
    """Of 30 sets of calibrated forecasts, something is found in at most 5 (a larger number has probability 0.3 %)."""
    rng = np.random.default_rng(5)
    found = 0
    for k in range(30):
        forecasts, features = drawn(250, rng, law=("normal", "ensemble", "quantiles")[k % 3])
        found += bool(GroupSearch()(forecasts, features=features, rng=rng).found)
    assert found <= 5


def test_z_is_the_standardised_mean_of_transforms():
    forecasts, features = drawn(1000, np.random.default_rng(3), shift=0.6)
    found = GroupSearch(leaves=1)(forecasts, features=features, rng=0)
    u = forecasts.distribution.cdf(forecasts.targets)[(features["a"] == 1) & (features["b"] == 1)]
    group = next(one for one in found.found if one.label == "a = 1 and b = 1" and one.what == "bias")
    assert group.z == pytest.approx(np.sum(u - 0.5) * np.sqrt(12 / len(u)))
    assert group.coverage == pytest.approx(np.mean((u >= 0.05) & (u <= 0.95)))


def test_limits_of_a_mean_transform_are_those_of_student():
    """Of two groups of 80 rows one is found, among all rows and two groups with two tests each."""
    targets = np.random.default_rng(4).normal(size=160) + np.repeat([0.0, 0.7], 80)
    forecasts = Forecasts(Normal(np.zeros(160), np.ones(160)), targets)
    found = GroupSearch(leaves=1)(forecasts, features={"a": np.repeat([0, 1], 80)}, rng=0)
    assert found.n_cells == 6
    group = next(one for one in found.found if one.label == "a = 1" and one.what == "bias")
    u = norm.cdf(targets[80:]) - 0.5
    limits = t.interval(1 - 0.05 * found.n_found / 6, 79, u.mean(), u.std(ddof=1) / np.sqrt(80))
    assert (group.low, group.size, group.high) == pytest.approx((limits[0], u.mean(), limits[1]))


def test_a_shift_makes_targets_lie_far_out_by_as_much_as_is_expected():
    z = np.random.default_rng(0).standard_normal(200_000)
    u = Normal([0.0] * 200_000, 1.0).cdf(z + 0.7)
    assert spread_of_shifted(float(u.mean())) == pytest.approx(np.mean((2 * u - 1) ** 2), abs=0.005)


def test_weights_and_clusters_count():
    forecasts, features = drawn(1500, np.random.default_rng(2), shift=1.2)
    half = np.arange(1500) < 750
    weighted = Forecasts(forecasts.distribution, forecasts.targets, np.where(half, 1.0, 0.0))
    few = {name: values[half] for name, values in features.items()}
    one = GroupSearch()(weighted, features=features, rng=0)
    other = GroupSearch()(forecasts.take(half), features=few, rng=0)
    assert one.found[0].z == pytest.approx(other.found[0].z)
    clusters = np.arange(1500) // 3
    assert GroupSearch()(forecasts, features=features, clusters=clusters, rng=0).found[0].label == "a = 1 and b = 1"


def test_the_tree_may_split_the_width_of_forecasts():
    rng = np.random.default_rng(4)
    sd = rng.uniform(1, 3, 4000)
    targets = np.where(sd > 2.5, 2.5, 1.0) * sd * rng.standard_normal(4000)
    found = GroupSearch()(
        Forecasts(Normal(np.zeros(4000), sd), targets), features={"x": rng.integers(0, 2, 4000)}, rng=0
    )
    assert any("the predicted width >" in group.label for group in found.found)


def test_nothing_found_says_what_would_have_been():
    forecasts, features = drawn(2000, np.random.default_rng(9))
    found = GroupSearch()(forecasts, features=features, rng=0)
    assert found.found == ()
    assert "No group was found in which forecasts are off" in found.headline
    assert "Normal forecasts that are shifted by" in found.explanation


def test_vectors_are_refused():
    law = MvNormal(np.zeros((200, 2)), np.tile(np.eye(2), (200, 1, 1)))
    with pytest.raises(InputError, match="one coordinate at a time"):
        GroupSearch()(Forecasts(law, np.zeros((200, 2))), features={"a": np.arange(200) % 2})


def test_the_spread_of_calibrated_ensembles_is_no_feature():
    """Members that happen to lie close together have targets outside more often: nothing is found in it."""
    forecasts, features = drawn(3000, np.random.default_rng(0), law="ensemble")
    found = GroupSearch()(forecasts, features=features, rng=0)
    assert found.found == ()
    width = GroupSearch(leaves=1)(forecasts, features={"width": np.ptp(forecasts.distribution.draws, axis=1)}, rng=0)
    assert width.found  # What would be found, were it one.
