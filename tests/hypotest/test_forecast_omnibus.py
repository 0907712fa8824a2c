"""The omnibus test of forecasts: statistics by their definition, the law of redraws, and what is found."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtri

from calibrant import Forecasts, MvNormal, Normal, Predictions, Quantiles, Samples
from calibrant.decisions import move_base_rate
from calibrant.hypotest import OmnibusTest
from calibrant.hypotest.omnibus import forecast_statistics as module
from calibrant.hypotest.omnibus.forecast_statistics import ForecastEvidence
from calibrant.hypotest.omnibus.transform_cells import LEVELS, column_grid, mid_ranks, places, rank_grid, usual_grid
from calibrant.hypotest.omnibus.transforms import all_transforms
from naming import each

SCORES = (
    lambda z: z,
    lambda z: z**2 - 1,
    lambda z: z**3 - 3 * z,
    lambda z: z**4 - 6 * z**2 + 3,
    lambda z: abs(z) - np.sqrt(2 / np.pi),
)


def means_over(low, high):
    """The five scores of uniform numbers between two ends, by numerical integration."""
    ends = np.clip(ndtri([low, high]), -12, 12)
    points = [0.0] if ends[0] < 0 < ends[1] else None
    sums = [integrate.quad(lambda z, f=f: f(z) * stats.norm.pdf(z), *ends, points=points)[0] for f in SCORES]
    return np.array(sums) / (high - low)


def forecasts(n=60, seed=0, noise=None, **more):
    rng = np.random.default_rng(seed)
    mean, sd = 2 * rng.normal(size=n), np.exp(0.4 * rng.normal(size=n))
    z = rng.normal(size=n)
    if noise is not None:
        z = noise(z, np.sqrt(3) * mid_ranks(mean), np.sqrt(3) * mid_ranks(sd), rng)
    return Forecasts(Normal(mean, sd), mean + sd * z, **more)


def as_ensembles(f, members, seed=999):
    law, rng = f.distribution, np.random.default_rng(seed)
    draws = law.loc[:, None] + law.scale[:, None] * rng.normal(size=(f.n_samples, members))
    return Forecasts(Samples(draws), f.targets, f.weights)


def as_quantiles(f, levels=(0.05, 0.25, 0.5, 0.75, 0.95)):
    return Forecasts(Quantiles(levels, f.distribution.quantile(list(levels))), f.targets, f.weights)


@each(
    "grid, known",
    [
        (usual_grid(), usual_grid().edges),
        (rank_grid(5), np.arange(1, 6) / 6),
        (column_grid(np.array([0.1, 0.5, 0.9])), np.array([0.1, 0.5, 0.9])),
    ],
)
def test_scores_are_means_over_what_is_known(grid, known):
    raw = grid.scores * grid.deviations[:, None]
    assert raw @ grid.sizes == pytest.approx(0, abs=1e-12)
    assert (grid.scores**2 @ grid.sizes)[grid.deviations > 0] == pytest.approx(1)
    known, ends = (np.concatenate([[0.0], edges, [1.0]]) for edges in (known, grid.edges))
    for j in {0, 1, len(grid.edges) // 2, len(grid.edges)}:
        k = np.searchsorted(known, (ends[j] + ends[j + 1]) / 2)
        assert raw[:, j] == pytest.approx(means_over(known[k - 1], known[k]), abs=1e-7)


def slow_statistics(f, transforms):
    """The statistics of one set of transforms, row by row."""
    grid, w = transforms.grid, transforms.weights
    raw = grid.scores * grid.deviations[:, None]
    u = transforms.values
    cell = [sum(edge < one for edge in grid.edges) for one in u]
    z = raw[:, cell]
    n = w.sum() ** 2 / (w**2).sum()
    found = {}
    unit = [np.sqrt((w**2).sum()) * d for d in grid.deviations]
    found["centre"] = abs((w * z[0]).sum()) / unit[0]
    error = grid.deviations[1] / np.sqrt(n)
    found["spread"] = abs(3 * (np.cbrt(1 + (w * z[1]).sum() / w.sum()) - (1 - error**2 / 9)) / error)
    found["shape"] = max(abs((w * z[2]).sum()) / unit[2], abs((w * z[3]).sum()) / unit[3])
    ends = np.concatenate([[0.0], grid.edges, [1.0]])
    shares = []
    for (
        level
    ) in grid.levels:  # What is known of a transform is its cell: it counts by the part that is up to the level.
        parts = [np.clip((level - ends[j]) / (ends[j + 1] - ends[j]), 0, 1) for j in cell]
        shares.append((w * parts).sum() / w.sum())
    found["quantiles"] = np.mean([abs(share - level) for share, level in zip(shares, grid.levels, strict=True)])
    trends = []
    for place in places(f):
        x = stats.rankdata(place)
        x = x - (w**2 * x).sum() / (w**2).sum()
        for k in (0, 4):
            scale = np.sqrt((w**2 * x**2).sum())
            trends.append(abs((w * x * z[k]).sum()) / scale / grid.deviations[k] if scale > 0 else 0.0)
    found["trend"] = max(trends)
    return found


@each("kind", ["normal", "weighted", "quantiles", "ensemble", "constant"])
def test_statistics_are_those_of_the_definition(kind):
    f = forecasts(40, weights=np.arange(1.0, 41) if kind == "weighted" else None)
    f = {"quantiles": as_quantiles, "ensemble": lambda f: as_ensembles(f, 5)}.get(kind, lambda f: f)(f)
    if kind == "constant":
        f = Forecasts(Normal(np.zeros(40), 1.0), f.targets)
    [transforms] = all_transforms(f)
    found = OmnibusTest(19)(f, rng=1).details["parts"]
    for name, value in slow_statistics(f, transforms).items():
        assert found[name]["statistic"] == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize("kind", ["normal", "quantiles"])
def test_uniform_numbers_give_the_law_of_targets_that_are_drawn_from_the_forecasts(kind):
    f, rng = forecasts(30, weights=np.tile([1.0, 3.0], 15)), np.random.default_rng(2)
    normal = f.distribution
    by_targets = []
    for _ in range(150):
        drawn = Forecasts(normal, normal.loc + normal.scale * rng.normal(size=30), f.weights)
        drawn = drawn if kind == "normal" else as_quantiles(drawn)
        [transforms] = all_transforms(drawn)
        evidence = ForecastEvidence.of(transforms)
        by_targets.append([np.abs(c).max() for c in evidence.components(evidence.observed(transforms))])
    sums = [evidence.components(block) for block in evidence.redrawn(1000, rng)]
    for j, part in enumerate(evidence.parts):
        uniform = np.concatenate([np.abs(block[j]).max(axis=0) for block in sums])
        assert stats.ks_2samp(np.array(by_targets)[:, j], uniform).pvalue > 0.001, part.name


def test_counts_of_groups_of_many_rows_have_the_law_of_rows(monkeypatch):
    f = forecasts(900)
    [transforms] = all_transforms(f)
    rows = ForecastEvidence.of(transforms)
    monkeypatch.setattr(module, "ROWS", 500)
    groups = ForecastEvidence.of(transforms)
    assert (rows.groups, len(np.unique(groups.groups))) == (None, 64)
    first, second = (e.components(e.observed(transforms)) for e in (rows, groups))
    for j in range(4):
        assert second[j] == pytest.approx(first[j])
    assert second[4] == pytest.approx(first[4], abs=0.35)  # Ranks within an eighth are taken as equal.
    blocks = [map(e.components, e.redrawn(600, np.random.default_rng(s))) for s, e in enumerate((rows, groups))]
    drawn = [[np.stack([np.abs(part).max(axis=0) for part in block]) for block in some] for some in blocks]
    for by_rows, by_groups in zip(*(np.concatenate(some, axis=1) for some in drawn), strict=True):
        assert stats.ks_2samp(by_rows, by_groups).pvalue > 0.001


def test_the_places_of_ensembles_do_not_change_if_the_target_changes_places_with_a_member():
    f = as_ensembles(forecasts(30), 6)
    swapped = f.distribution.draws.copy()
    targets = f.targets.copy()
    targets[:], swapped[:, 2] = swapped[:, 2].copy(), f.targets
    assert np.array_equal(places(f), places(Forecasts(Samples(swapped), targets)))


@pytest.mark.parametrize("kind", ["members 2", "members 5", "rounded", "weighted quantiles", "tied quantiles"])
def test_the_level_is_held(kind):
    """Of 200 tests at 10%, a binomial law leaves fewer than 9 or more than 33 in 1 case of 1000."""
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        f = forecasts(30, seed, weights=rng.exponential(size=30) if kind.startswith("weighted") else None)
        if kind.startswith("members"):
            f = as_ensembles(f, int(kind[-1]), seed + 1000)
        elif kind == "rounded":
            f = as_ensembles(f, 5, seed + 1000)
            f = Forecasts(Samples(np.round(f.distribution.draws)), np.round(f.targets))
        else:
            f = as_quantiles(f)
        if kind == "tied quantiles":  # An atom of probability 0.2 where two columns are equal.
            values = f.distribution.values.copy()
            targets = f.targets.copy()
            inside = (targets > values[:, 1]) & (targets <= values[:, 2])
            targets[inside], values[:, 1] = values[inside, 2], values[:, 2]
            f = Forecasts(Quantiles(f.distribution.levels, values), targets)
        rejected += OmnibusTest(39)(f, rng=seed).pvalue <= 0.1
    assert 9 <= rejected <= 33


WRONG = {
    "centre": (lambda z, _p, _w, _r: z + 0.4, "the centre (too low)"),
    "narrow": (lambda z, _p, _w, _r: 1.35 * z, "the spread (too narrow)"),
    "wide": (lambda z, _p, _w, _r: z / 1.4, "the spread (too wide)"),
    "skew": (lambda z, _p, _w, r: 1 - r.exponential(size=len(z)), "the shape (more targets far below)"),
    "spread": (
        lambda z, p, _w, _r: z * np.exp(0.4 * p),
        "the trend over the forecasts (too narrow where they are high)",
    ),
    "width": (lambda z, _p, w, _r: z * np.exp(-0.4 * w), "the trend over the forecasts (too wide where they are wide)"),
    "slope": (lambda z, p, _w, _r: z - 0.4 * p, "the trend over the forecasts (too high where they are high)"),
}


@each("wrong", list(WRONG))
@each("kind", ["normal", "quantiles", "ensembles"])
def test_what_is_wrong_is_found_and_named(wrong, kind):
    noise, words = WRONG[wrong]
    f = forecasts(400, noise=noise)
    f = {"quantiles": as_quantiles, "ensembles": lambda f: as_ensembles(f, 20)}.get(kind, lambda f: f)(f)
    found = OmnibusTest(199)(f, rng=0)
    assert found.pvalue <= 0.01
    assert found.details["revealed_by"] == words
    if wrong in ("spread", "width", "slope"):
        assert found.details["parts"]["quantiles"]["pvalue"] > 0.05  # MACE alone does not show it.


def test_of_parts_that_all_have_the_smallest_pvalue_the_largest_is_named():
    found = OmnibusTest(199)(forecasts(400, noise=lambda z, p, _w, _r: z + 1.5 * p), rng=0).details
    assert found["parts"]["spread"]["pvalue"] == found["parts"]["trend"]["pvalue"] == found["smallest_pvalue"]
    assert found["revealed_by"] == "the trend over the forecasts (too low where they are high)"


def test_a_wrong_centre_does_not_give_the_spread_a_direction():
    found = OmnibusTest(199)(forecasts(400, noise=lambda z, _p, _w, _r: z + 0.7), rng=0).details["parts"]["spread"]
    assert (found["pvalue"] <= 0.01, found["direction"]) == (True, None)


def test_distances_of_vectors_have_a_spread_and_no_side():
    rng = np.random.default_rng(0)
    law = MvNormal(np.zeros((300, 3)), np.broadcast_to(np.eye(3) + 0.9 * (1 - np.eye(3)), (300, 3, 3)))
    found = OmnibusTest(99)(Forecasts(law, rng.normal(size=(300, 3))), rng=0)
    assert found.details["revealed_by"] == "distance from the mean: the spread (too narrow)"
    assert list(found.details["parts"]) == ["spread", "shape", "quantiles"]
    assert found.details["tests"] == 4


def test_weights_are_relative_and_the_error_is_that_of_the_table():
    f = forecasts(50, weights=np.arange(50.0))
    more = Forecasts(f.distribution, f.targets, 7 * f.weights)
    first, second = (OmnibusTest(99)(one, rng=0) for one in (f, more))
    assert first.pvalue == second.pvalue
    u = f.distribution.cdf(f.targets)
    shares = [f.weights[u <= level].sum() / f.weights.sum() for level in LEVELS]
    assert first.estimate == pytest.approx(np.abs(shares - LEVELS).mean())
    assert first.details["smallest_pvalue"] == 0.01


def test_the_caution_of_tests_says_that_weights_follow_the_labels():
    p = Predictions([0.2, 0.4, 0.6, 0.9] * 5, [0, 0, 1, 1] * 5)
    moved = move_base_rate(p, 0.1)
    assert OmnibusTest(19)(p, rng=0).about.caution == "Exact for independent rows."
    assert OmnibusTest(19)(moved, rng=0).about.caution.startswith("Approximate here")
