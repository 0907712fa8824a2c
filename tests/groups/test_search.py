"""The search as a whole: the seeded example, its level and power, and what it does with odd columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, binomtest

from calibrant import InputError, Predictions
from calibrant.groups import GroupSearch
from calibrant.groups.findings import POWER
from calibrant.hypotest import ECCETest
from calibrant.results import as_record
from group_cases import logistic, seeded_example, world
from naming import each

PROBS, LABELS, FEATURES = seeded_example()
P = Predictions(PROBS, LABELS)
PAIR = {name: FEATURES[name] for name in ("g", "h")}


@pytest.fixture(scope="module")
def found():
    return GroupSearch()(P, features=FEATURES, rng=0)


def test_the_seeded_example_has_its_known_values(found):
    """Independent values: z of all rows, of h and of the cells; ECCE ratios of all rows and of the worst cell."""
    z = {group.label: group.z for group in found.found if group.source == "cell"} | {"all": found.overall.z}
    expected = {
        "all": 0.012767,
        "h = 0": -8.036576,
        "h = 1": 8.013123,
        "g = 2 and h = 0": -12.237385,
        "g = 2 and h = 1": 13.682642,
    }
    for label, value in expected.items():
        assert z[label] == pytest.approx(value, abs=1e-6)
    assert found.overall.predicted == pytest.approx(0.394759888, abs=1e-9)
    assert found.overall.observed == pytest.approx(0.394833333, abs=1e-9)
    worst = P.take((FEATURES["g"] == 2) & (FEATURES["h"] == 1))
    assert ECCETest(statistic="range")(P).statistic == pytest.approx(1.542979, abs=1e-6)
    assert ECCETest(statistic="range")(worst).statistic == pytest.approx(13.716472, abs=1e-6)


def test_the_groups_that_stand_alone_are_the_true_ones(found):
    main = [group for group in found.found if group.stands_alone]
    assert [(group.label, group.direction) for group in main] == [
        ("g = 2 and h = 1", "too low"),
        ("g = 2 and h = 0", "too high"),
    ]
    assert found.n_found == len(found.found) > 2
    assert "too low where g = 2 and h = 1 (40.0% predicted, 58.9% observed)" in found.headline
    assert "All 6,000 rows together: 39.5% predicted, 39.5% observed." in found.explanation


def test_limits_belong_to_the_size_and_exclude_nothing_off(found):
    for group in found.found:
        assert group.low <= group.size <= group.high
        assert group.low * group.high > 0
        assert group.adjusted <= found.alpha
    assert found.overall.low is None


def test_worth_is_about_half_of_z_squared_less_noise(found):
    """The gain of a step on n rows is about (z^2 - 1) / 2 / n, here measured on the other half."""
    group = found.found[0]
    assert group.worth == pytest.approx((group.z**2 - 1) / 2 / 6000, rel=0.1)


def test_numbers_of_leaves_are_said_to_be_those_of_half_the_rows():
    """The rows of a leaf are about half of those of the file, whose bounds its label has."""
    rng = np.random.default_rng(3)
    odds = rng.normal(0, 2, 1200)
    labels = (rng.random(1200) < logistic(odds / 2)).astype(int)
    leaves = GroupSearch()(Predictions(logistic(odds), labels), features={"x": rng.random(1200)}, rng=0)
    assert "half of the rows that the tree was not grown on" in leaves.explanation
    found = [group for group in leaves.found if group.columns == ("the prediction",)]
    assert found
    for group in found:
        assert group.is_on_half
        low, _, high = group.label.partition("the prediction")
        above = float(low.removesuffix(" < ") or high.partition(" > ")[2] or 0)
        below = float(high.partition(" <= ")[2] or 1)
        rows = ((logistic(odds) > above) & (logistic(odds) <= below)).sum()
        assert group.n_rows == pytest.approx(rows / 2, abs=3)
    cells = GroupSearch(leaves=1)(P, features=PAIR, rng=0)
    assert not any(group.is_on_half for group in cells.found)
    assert "tree" not in cells.explanation


def test_features_come_in_any_table():
    columns = {name: values[:1000] for name, values in FEATURES.items()}
    expected = GroupSearch(leaves=1)(P.take(slice(1000)), features=columns, rng=0)
    assert expected.found
    tables = {
        "polars": pl.DataFrame(columns),
        "pandas": pd.DataFrame(columns),
        "array": np.column_stack([*columns.values()]),
        "lazy": pl.DataFrame(columns).lazy(),
    }
    for kind, table in tables.items():
        again = GroupSearch(leaves=1)(LABELS[:1000], PROBS[:1000], features=table, rng=0)
        assert [group.z for group in again.found] == [group.z for group in expected.found], kind


def test_the_same_seed_gives_the_same_findings(found):
    again = as_record(GroupSearch()(P, features=FEATURES, rng=0))
    assert again == as_record(found)


def share_found(runs, n, shift):
    """Return in how many simulated sets anything is found."""
    hits = []
    for seed in range(runs):
        p, features = world(n, shift, np.random.default_rng(seed))
        hits.append(GroupSearch()(p, features=features, rng=seed).n_found > 0)
    return np.mean(hits)


def test_the_level_holds():
    """At most 5% of null sets, plus three standard errors of a Monte Carlo share."""
    assert share_found(20, 400, 0.0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 20)


SIZES, SHARE = (20, 24), 0.4


def two_sided(events, rows):
    return min(1.0, 2 * min(binom.cdf(events, rows, SHARE), binom.sf(events - 1, rows, SHARE)))


def number_rejected(pvalues, alpha):
    """Return how many Holm's method rejects, one after the other."""
    m = len(pvalues)
    return next((k for k, p in enumerate(sorted(pvalues)) if p * (m - k) > alpha), m)


def boundary(rejected):
    """Yield numbers of events in two groups, of which one event more or less in the second is judged differently."""
    for first in range(0, SIZES[0] + 1, 2):
        found = [rejected(first, second) for second in range(SIZES[1] + 1)]
        changes = np.flatnonzero(np.diff(found))
        yield from ((first, second, found[second]) for second in sorted({*changes.tolist(), *(changes + 1).tolist()}))


def with_events(counts, copies):
    """Return rows of two groups, the first of which have the label 1, each row as often as said."""
    labels = np.concatenate([np.arange(n) < k for n, k in zip(SIZES, counts, strict=True)])
    return np.repeat(labels.astype(int), copies), np.repeat(np.repeat([0, 1], SIZES), copies)


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_as_many_groups_are_found_as_by_holms_method_and_binomial_laws():
    """Of all rows, and of two groups without common rows, wherever one event decides: so the level is exact.

    In simulations of groups that share rows, a level that is several times too high would hardly show.
    """

    def rejected(first, second):
        rows = [(first, SIZES[0]), (second, SIZES[1]), (first + second, sum(SIZES))]
        return number_rejected([two_sided(*one) for one in rows], 0.05)

    cases = list(boundary(rejected))
    assert {expected for *_, expected in cases} == {0, 1, 2, 3}
    for *counts, expected in cases:
        labels, groups = with_events(counts, 1)
        p = Predictions(np.full(len(labels), SHARE), labels)
        found = GroupSearch(leaves=1, least_rows=10)(p, features={"g": groups}, rng=0)
        assert found.n_found == expected, counts


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_leaves_are_tested_at_half_of_the_level_on_rows_that_the_tree_has_not_seen(monkeypatch):
    """The tree sees two groups that could not differ more, and the other rows decide by their binomial laws."""
    monkeypatch.setattr("calibrant.groups.search.draw_half", lambda rows, *_: np.arange(len(rows.probs)) % 2 == 0)

    def rejected(first, second):
        return number_rejected([two_sided(first, SIZES[0]), two_sided(second, SIZES[1])], 0.025)

    cases = list(boundary(rejected))
    assert {expected for *_, expected in cases} == {0, 1, 2}
    for *counts, expected in cases:
        labels, groups = with_events(counts, 2)
        labels[::2] = groups[::2]
        p = Predictions(np.full(len(labels), SHARE), labels)
        found = GroupSearch(least_rows=10)(p, features={"g": groups}, rng=0)
        assert found.n_leaves == 2
        leaves = [group for group in found.found if group.source == "leaf"]
        assert len(leaves) == expected, counts


def test_limits_of_groups_are_those_of_clopper_and_pearson_at_the_level_of_the_groups_found():
    """Two of three groups are found, so each has limits of level 2 / 3 of alpha."""
    groups, labels = np.repeat([0, 1], 80), np.concatenate([np.arange(80) < 54, np.arange(80) < 22])
    p = Predictions(np.full(160, 0.5), labels.astype(int))
    found = GroupSearch(leaves=1)(p, features={"g": groups}, rng=0)
    assert (found.n_found, found.n_cells) == (2, 3)
    for group in found.found:
        limits = binomtest(round(80 * group.observed), 80).proportion_ci(1 - 0.05 * 2 / 3, "exact")
        assert (group.low, group.high) == pytest.approx((limits.low - 0.5, limits.high - 0.5), abs=1e-6)


def test_the_level_of_many_groups_without_common_rows_is_not_exceeded():
    """More than 14 of 100 sets have a probability of 1.4e-4 at a level of 5%."""
    rng, found = np.random.default_rng(0), 0
    features = {"g": np.arange(600) % 6}
    for r in range(100):
        probs = rng.uniform(0.1, 0.9, 600)
        p = Predictions(probs, (rng.random(600) < probs).astype(int))
        found += GroupSearch(depth=1)(p, features=features, rng=r).n_found > 0
    assert found <= 14


def test_every_group_that_is_found_has_an_adjusted_p_value_of_at_most_alpha():
    """Of cells and of leaves: with errors of medium size, several p-values lie just above the level."""
    found = []
    for seed in range(12):
        p, features = world(1500, 0.5, np.random.default_rng(seed))
        found += GroupSearch(depth=2)(p, features=features, rng=seed).found
    assert len(found) >= 3
    assert max(group.adjusted for group in found) <= 0.05


def test_the_power_is_high():
    assert share_found(5, 2000, 0.8) >= 0.8


def test_what_is_detectable_is_found_with_the_power_that_is_said():
    """A tenth of the rows, off by what is said to be found in four of five cases."""
    rng = np.random.default_rng(5)
    n, hits = 2000, []
    part = np.where(np.arange(n) < n // 10, "a", "b")
    said = GroupSearch(leaves=1)(Predictions(np.full(n, 0.5), np.arange(n) % 2), features={"part": part}, rng=0)
    size = next(each.size for each in said.detectable if each.share == 0.1)
    for _ in range(25):
        labels = rng.random(n) < 0.5 + size * (part == "a")
        found = GroupSearch(leaves=1)(Predictions(np.full(n, 0.5), labels), features={"part": part}, rng=0)
        hits.append(found.n_found > 0)
    assert abs(np.mean(hits) - POWER) < 3 * np.sqrt(POWER * (1 - POWER) / len(hits)) + 0.03


def test_nothing_found_says_what_could_have_been_found():
    rng = np.random.default_rng(1)
    p, features = world(2000, 0.0, rng)
    found = GroupSearch()(p, features=features, rng=0)
    assert found.n_found == 0
    assert "No group was found" in found.headline
    assert "would have been found with a probability of about 80%" in found.explanation


def test_a_tree_finds_a_rule_on_numbers_that_thirds_do_not_show():
    rng = np.random.default_rng(3)
    n = 8000
    x = rng.normal(size=(n, 2))
    odds = rng.normal(-0.5, 1, n)
    bad = (x[:, 0] > 1.6) & (x[:, 1] > -3)
    p = Predictions(logistic(odds), rng.random(n) < logistic(odds + 1.2 * bad))
    found = GroupSearch(cuts=1)(p, features=x, rng=0)
    assert any(group.source == "leaf" and "x0 > 1." in group.label for group in found.found)


def test_weights_are_relative_and_a_row_of_weight_0_is_absent():
    rng = np.random.default_rng(4)
    weights = rng.uniform(0.5, 2.0, 6000)
    first = GroupSearch()(Predictions(PROBS, LABELS, weights), features=PAIR, rng=0)
    second = GroupSearch()(Predictions(PROBS, LABELS, 1000 * weights), features=PAIR, rng=0)
    np.testing.assert_allclose([g.pvalue for g in first.found], [g.pvalue for g in second.found], rtol=1e-6)
    constant = GroupSearch()(Predictions(PROBS, LABELS, np.full(6000, 3.0)), features=PAIR, rng=0)
    plain = GroupSearch()(P, features=PAIR, rng=0)
    assert [g.pvalue for g in constant.found] == [g.pvalue for g in plain.found]
    weights[3000:] = 0
    some = GroupSearch()(Predictions(PROBS, LABELS, weights), features=PAIR, rng=0)
    half = {name: values[:3000] for name, values in PAIR.items()}
    other = GroupSearch()(Predictions(PROBS[:3000], LABELS[:3000], weights[:3000]), features=half, rng=0)
    np.testing.assert_allclose([g.z for g in some.found], [g.z for g in other.found])


def test_weighted_groups_hold_their_level():
    rng, hits = np.random.default_rng(6), []
    for r in range(20):
        p, features = world(400, 0.0, rng)
        weighted = Predictions(p.positive, p.labels, rng.exponential(size=400))
        hits.append(GroupSearch()(weighted, features=features, rng=r).n_found > 0)
    assert np.mean(hits) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 20)


def test_clusters_stay_together_and_copies_of_rows_are_no_evidence():
    """Every row ten times: without clusters chance looks like evidence, with them it does not."""
    rng, alone, together = np.random.default_rng(7), [], []
    search = GroupSearch(depth=2, leaves=3)
    for r in range(4):
        p, features = world(300, 0.0, rng)
        rows = np.repeat(np.arange(300), 5)
        many = {name: values[rows] for name, values in features.items()}
        alone.append(search(p.take(rows), features=many, rng=r).n_found > 0)
        together.append(search(p.take(rows), features=many, clusters=rows, rng=r).n_found > 0)
    assert np.mean(alone) > 0.5
    assert np.mean(together) <= 0.25


def test_clusters_do_not_hide_what_is_there():
    found = GroupSearch()(P, features=PAIR, clusters=np.arange(6000) // 3, rng=0)
    assert found.found[0].label == "g = 2 and h = 1"
    assert all(group.low * group.high > 0 for group in found.found)


def test_more_classes_are_searched_by_the_predicted_class_or_by_each():
    rng = np.random.default_rng(8)
    n = 3000
    probs = rng.dirichlet(np.ones(3), n)
    part = rng.choice(["a", "b"], n)
    wrong = np.where((part == "b")[:, None], probs[:, [1, 0, 2]], probs)
    labels = (rng.random(n)[:, None] > wrong.cumsum(axis=1)).sum(axis=1)
    p = Predictions(probs, labels, classes=["x", "y", "z"])
    top = GroupSearch()(p, features={"part": part}, rng=0)
    assert top.found[0].label == "part = b"
    assert top.found[0].direction == "too high"
    assert top.event == "the predicted class"
    each = GroupSearch(classes="each")(p, features={"part": part}, rng=0)
    assert each.n_cells == 3 * top.n_cells
    assert {group.event for group in each.found} <= {"x", "y", "z"}


def test_columns_that_make_no_groups_are_left_out_and_named():
    columns = {
        **PAIR,
        "id": [f"row {i}" for i in range(6000)],
        "constant": ["same"] * 6000,
        "empty": [None] * 6000,
        "number": np.arange(6000),
        "copy": FEATURES["g"],
    }
    found = GroupSearch()(P, features=columns, rng=0)
    assert set(found.left_out) == {"id", "constant", "empty", "number"}
    assert not any("copy" in group.columns for group in found.found if group.source == "cell")
    assert found.n_cells == GroupSearch()(P, features=PAIR, rng=0).n_cells


def test_missing_values_are_a_level():
    plan = np.where(FEATURES["g"] == 2, None, FEATURES["g"].astype(object))
    found = GroupSearch()(P, features={"plan": plan, "h": FEATURES["h"]}, rng=0)
    assert found.found[0].label == "plan is missing and h = 1"
    text = np.where(FEATURES["g"] == 2, "", FEATURES["g"].astype(str)).astype(object)
    again = GroupSearch()(P, features={"plan": text, "h": FEATURES["h"]}, rng=0)
    assert again.found[0].label == "plan is missing and h = 1"


@each(
    "call, words",
    [
        (lambda: GroupSearch()(P, features={"x": [1, 2]}), "one value per row in every column, but 'x' has shape"),
        (lambda: GroupSearch()(P, features={}), "at least one column"),
        (lambda: GroupSearch()(P, features={"x": [1] * 6000}), "have none .'x': all values are the same"),
        (lambda: GroupSearch()(P.take(range(60)), features={"x": [1, 2] * 30}), "at least 100 rows are needed"),
        (lambda: GroupSearch()(P, features=PAIR, clusters=[1]), "clusters must have one value per row"),
        (lambda: GroupSearch(alpha=2), "alpha must be a number between 0 and 1"),
        (lambda: GroupSearch(depth=0), "depth must be a whole number"),
        (lambda: GroupSearch(classes="all"), 'classes must be "top" or "each"'),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_one_dimension_is_no_table():
    with pytest.raises(TypeError, match=r"Pass .'name': values"):
        GroupSearch()(P, features=FEATURES["g"])


def test_groups_of_one_outcome_only_are_found_and_have_limits():
    n = 400
    part = np.repeat(["a", "b"], n // 2)
    labels = np.where(part == "a", 1, np.arange(n) % 2)
    found = GroupSearch(leaves=1)(Predictions(np.full(n, 0.5000001), labels), features={"part": part}, rng=0)
    group = next(group for group in found.found if group.label == "part = a")
    assert group.high == pytest.approx(0.5, abs=1e-6)
    assert 0 < group.low < group.size


@pytest.mark.filterwarnings("ignore::calibrant.exceptions.DataWarning")  # Such predictions are decisions.
@each("seed", range(20))
def test_certain_predictions_that_are_wrong_have_limits_for_any_weights(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.choice([20, 60, 150])), int(rng.choice([3, 4, 10]))
    probs, weights = np.eye(k)[rng.integers(0, k, n)], rng.random(n)
    given = Predictions(probs, np.append(np.zeros(n - 1, int), probs[-1].argmax()), weights)
    features = {"a": rng.choice(["x", "y"], n), "b": rng.integers(0, 3, n)}
    found = GroupSearch(least_rows=10, classes="each")(given, features=features, rng=0).found
    assert all(-1 <= group.low <= group.size + 1e-12 <= group.high + 2e-12 <= 1 + 2e-12 for group in found)
