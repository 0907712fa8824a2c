"""The fix of groups: the seeded example, no cost where nothing is off, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from calibrant import InputError, Predictions
from calibrant.calibrators.estimator import clone
from calibrant.groups import GroupBoosting, load, save, store
from calibrant.groups.steps import entry_bar
from calibrant.groups.store import load_with_details
from group_cases import logistic, seeded_example, world
from naming import each
from properties import examples

PROBS, LABELS, FEATURES = seeded_example()
PAIR = {name: FEATURES[name] for name in ("g", "h")}
FIRST = slice(0, 4000)
REST = slice(4000, None)


def part(features, rows):
    return {name: values[rows] for name, values in features.items()}


def log_loss(probs, labels):
    return -np.mean(np.log(np.where(labels == 1, probs, 1 - probs)))


@pytest.fixture(scope="module")
def fixed():
    return GroupBoosting().fit(PROBS[FIRST], LABELS[FIRST], features=part(PAIR, FIRST))


def test_the_seeded_example_is_fixed_in_two_steps(fixed):
    """Independent values: z and steps, and log loss and Brier score of the other rows before the last factor."""
    assert [step.label for step in fixed.report_.steps] == ["g = 2 and h = 1", "g = 2 and h = 0"]
    np.testing.assert_allclose([step.z for step in fixed.report_.steps], [11.877, -9.847], atol=5e-4)
    np.testing.assert_allclose(fixed.offsets_, [0.9996, -0.8592], atol=5e-5)
    after = fixed.predict_proba(PROBS[REST], features=part(PAIR, REST))[:, 1]
    assert log_loss(PROBS[REST], LABELS[REST]) == pytest.approx(0.592002716, abs=1e-9)
    assert log_loss(after, LABELS[REST]) <= 0.5690
    plain = clone(fixed).fit(PROBS[FIRST], LABELS[FIRST], features=part(PAIR, FIRST))
    plain.slope_ = 1.0
    after = plain.predict_proba(PROBS[REST], features=part(PAIR, REST))[:, 1]
    assert log_loss(after, LABELS[REST]) == pytest.approx(0.567036890, abs=1e-9)
    assert np.mean((after - LABELS[REST]) ** 2) == pytest.approx(0.192949784, abs=1e-9)


def test_the_factor_makes_the_log_loss_smallest(fixed):
    inside = fixed.predict_proba(PROBS[FIRST], features=part(PAIR, FIRST))[:, 1]
    best = log_loss(inside, LABELS[FIRST])
    odds = np.log(inside / (1 - inside))
    assert all(best <= log_loss(logistic(factor * odds), LABELS[FIRST]) for factor in (0.99, 0.999, 1.001, 1.01))


def test_without_a_step_predictions_stay_as_they_are_to_the_last_bit():
    rng = np.random.default_rng(0)
    probs = rng.random(2000)
    unchanged = GroupBoosting().fit(
        probs, (rng.random(2000) < probs).astype(int), features={"side": rng.choice(["left", "right"], 2000)}
    )
    assert unchanged.report_.steps == ()
    assert np.array_equal(unchanged.predict_proba(probs)[:, 1], probs)


def test_no_group_is_left_off_by_the_factor():
    """Predictions that are too extreme, and low in one cell: the factor for all rows would leave their mean off."""
    rng = np.random.default_rng(0)
    odds, cell = rng.normal(-2, 1.5, 3000), rng.random(3000) < 0.15
    labels = (rng.random(3000) < logistic(odds + 1.2 * cell)).astype(int)
    features = {"cell": np.where(cell, "in", "out")}
    probs = logistic(1.8 * odds)
    found = GroupBoosting().fit(probs, labels, features=features)
    after = found.predict_proba(probs, features=features)[:, 1]
    assert found.slope_ < 0.8
    for rows in (np.ones(3000, dtype=bool), cell, ~cell):
        z = (labels - after)[rows].sum() / np.sqrt((after * (1 - after))[rows].sum())
        assert abs(z) <= found.report_.bar


def test_the_report_names_the_steps(fixed):
    written = repr(fixed.report_)
    assert "step 1   g = 2 and h = 1: log-odds +1.000 (z = 11.9, 706 rows)" in written
    assert "2 steps among 12 groups." in written


def test_fixing_costs_nothing_where_nothing_is_off():
    """Mean change of the log loss of 40 null sets, on other rows: below 0.001."""
    changes = []
    for seed in range(40):
        p, features = world(3000, 0.0, np.random.default_rng(seed))
        first, rest = slice(0, 1000), slice(1000, None)
        fixed = GroupBoosting().fit(p.take(np.arange(1000)), features=part(features, first))
        after = fixed.predict_proba(p.positive[rest], features=part(features, rest))[:, 1]
        changes.append(log_loss(after, p.labels[rest]) - log_loss(p.positive[rest], p.labels[rest]))
    assert np.mean(changes) < 0.001
    assert np.mean(np.abs(changes) < 1e-12) >= 0.9


def definition(probs, labels, columns, bar):
    """Return the steps by loops over groups of at most two columns with two levels each."""
    cells = [()]
    cells += [((j, level),) for j in range(2) for level in (0, 1)]
    cells += [((0, one), (1, two)) for one in (0, 1) for two in (0, 1)]
    masks = {
        cell: np.all([columns[j] == level for j, level in cell] or [np.ones(len(probs), bool)], axis=0)
        for cell in cells
    }
    odds, steps, factor, before = np.log(probs / (1 - probs)), [], 1.0, -1
    while len(steps) > before:  # A factor may move groups off again.
        before = len(steps)
        while True:
            now = logistic(factor * odds)
            sums = {one: (np.sum((labels - now)[mask]), np.sum((now * (1 - now))[mask])) for one, mask in masks.items()}
            cell = max(cells, key=lambda one: abs(sums[one][0]) / np.sqrt(sums[one][1]))
            residual, variance = sums[cell]
            if abs(residual) / np.sqrt(variance) <= bar:
                break
            steps.append(residual / variance / factor)
            odds = odds + steps[-1] * masks[cell]
        if len(steps) > before:
            factor = brentq(lambda k: np.sum((labels - logistic(k * odds)) * odds), 0.1, 10, xtol=1e-14)  # noqa: B023
    return steps


@examples(15)
@given(st.integers(0, 10**6))
@example(36303)  # A second step after the factor.
def test_the_steps_are_those_of_loops(seed):
    rng = np.random.default_rng(seed)
    n = 900
    columns = rng.integers(0, 2, (2, n))
    probs = rng.uniform(0.2, 0.8, n)
    labels = (rng.random(n) < np.clip(probs + 0.2 * columns[0] - 0.15 * columns[1], 0.01, 0.99)).astype(int)
    fixed = GroupBoosting().fit(probs, labels, features={"a": columns[0], "b": columns[1]})
    np.testing.assert_allclose(fixed.offsets_, definition(probs, labels, columns, entry_bar(9)), rtol=1e-9)


def test_weights_are_copies():
    rng = np.random.default_rng(1)
    copies = rng.integers(0, 3, 4000)
    weighted = GroupBoosting().fit(PROBS[FIRST], LABELS[FIRST], copies, features=part(PAIR, FIRST))
    rows = np.repeat(np.arange(4000), copies)
    repeated = GroupBoosting().fit(PROBS[rows], LABELS[rows], features=part(PAIR, rows))
    np.testing.assert_allclose(weighted.offsets_, repeated.offsets_, rtol=1e-9)
    assert weighted.slope_ == pytest.approx(repeated.slope_)


def test_a_category_that_was_not_there_is_in_no_group(fixed):
    after = fixed.predict_proba([0.4, 0.4, 0.4], features={"g": [2, 7, np.nan], "h": [1, 1, 1]})[:, 1]
    assert after[0] > 0.6
    np.testing.assert_allclose(after[1:], logistic(fixed.slope_ * np.log(0.4 / 0.6)))


def test_columns_may_be_texts_or_numbers_and_more_of_them(fixed):
    numbers = fixed.predict_proba(PROBS[REST], features={**part(FEATURES, REST), "more": ["x"] * 2000})
    texts = {name: values.astype(str) for name, values in part(PAIR, REST).items()}
    np.testing.assert_array_equal(fixed.predict_proba(PROBS[REST], features=texts), numbers)


@pytest.mark.parametrize("code", ["1000001", "007"])
def test_a_category_that_looks_like_a_number_stays_in_its_group_whatever_it_comes_with(code):
    rng = np.random.default_rng(0)
    codes = rng.choice([code, "A17"], 2000)
    happened = rng.random(2000) < np.where(codes == code, 0.8, 0.3)
    fixed = GroupBoosting().fit(np.full(2000, 0.5), happened, features={"code": codes})
    together = fixed.predict_proba([0.5, 0.5], features={"code": [code, "A17"]})
    assert together[0, 1] > 0.7
    np.testing.assert_array_equal(fixed.predict_proba([0.5], features={"code": [code]}), together[:1])


def test_a_column_of_numbers_may_be_missing_in_every_new_row():
    rng = np.random.default_rng(0)
    age = np.where(rng.random(2000) < 0.2, np.nan, rng.uniform(0, 90, 2000))
    happened = rng.random(2000) < np.where(np.isnan(age), 0.2, 0.6)
    fixed = GroupBoosting().fit(np.full(2000, 0.5), happened, features={"age": age})
    missing = fixed.predict_proba([0.5, 0.5], features={"age": ["", ""]})
    np.testing.assert_array_equal(missing, fixed.predict_proba([0.5, 0.5], features={"age": [np.nan, np.nan]}))
    assert missing[0, 1] < 0.3


def test_memory_may_be_short(monkeypatch, fixed):
    monkeypatch.setattr("calibrant.groups.steps.KEPT_CODES", 1)
    again = GroupBoosting().fit(PROBS[FIRST], LABELS[FIRST], features=part(PAIR, FIRST))
    np.testing.assert_array_equal(again.offsets_, fixed.offsets_)


def test_no_step_changes_nothing_and_needs_no_features():
    rng = np.random.default_rng(0)
    probs = rng.uniform(0.1, 0.9, 500)
    fixed = GroupBoosting().fit(probs, rng.random(500) < probs, features={"id": np.arange(500)})
    assert fixed.report_.steps == ()
    np.testing.assert_allclose(fixed.predict_proba(probs)[:, 1], probs, rtol=1e-12)


def test_a_file_gives_the_same_probabilities(fixed, tmp_path):
    number = (
        GroupBoosting()
        .fit(PROBS, LABELS, features={**FEATURES, "z": PROBS**2})
        .fit(
            PROBS,
            (np.random.default_rng(0).random(6000) < np.where(FEATURES["x"] > 0, 0.8, 0.2)),
            features={"x": FEATURES["x"]},
        )
    )
    for model, features in ((fixed, PAIR), (number, FEATURES)):
        assert model.report_.steps
        save(model, tmp_path / "groups.json")
        again = load(tmp_path / "groups.json")
        np.testing.assert_array_equal(
            again.predict_proba(PROBS, features=features), model.predict_proba(PROBS, features=features)
        )
        assert repr(again.report_) == repr(model.report_)


@pytest.mark.parametrize(
    "old, new", [('"slope"', '"slope_"'), ("[", "{"), ('"format": 1', '"format": 9'), ("0.99", "0.98")]
)
def test_damaged_files_are_refused(fixed, tmp_path, old, new):
    path = tmp_path / "groups.json"
    save(fixed, path)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match="cannot be used as a fix of groups"):
        load(path)


@each(
    "call, error, words",
    [
        (lambda f: f.predict_proba([0.5]), InputError, "features must have the columns 'g', 'h'"),
        (lambda f: f.predict_proba([0.5], features={"g": [1]}), InputError, "must have the column 'h'"),
        (
            lambda f: f.predict_proba([0.5], features={"g": ["x"], "h": [1]}),
            InputError,
            "must hold numbers in the column 'g'",
        ),
        (lambda f: f.predict_proba([[0.2, 0.3, 0.5]], features=PAIR), InputError, "must have 2 classes"),
        (lambda f: clone(f).predict_proba([0.5]), ValueError, "not fitted"),
        (lambda f: GroupBoosting(depth=0).fit([0.5], [1], features={}), InputError, "depth"),
        (lambda f: GroupBoosting(scores="raw").fit([0.5], [1], features={}), InputError, "scores must be"),
        (lambda f: f.fit(Predictions([0.5], [1]), [1], features={}), TypeError, "hold their labels"),
        (lambda f: save(3, "x.json"), TypeError, "must be a GroupBoosting"),
    ],
)
@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_mistakes_are_named(fixed, call, error, words):
    with pytest.raises(error, match=words):
        call(fixed)


def test_logits_are_probabilities_in_another_form(fixed):
    odds = np.log(PROBS / (1 - PROBS))
    again = GroupBoosting(scores="logits").fit(odds[FIRST], LABELS[FIRST], features=part(PAIR, FIRST))
    np.testing.assert_allclose(
        again.predict_proba(odds[REST], features=part(PAIR, REST)),
        fixed.predict_proba(PROBS[REST], features=part(PAIR, REST)),
        rtol=1e-9,
    )
    assert set(again.predict(odds[REST], features=part(PAIR, REST)).tolist()) == {0, 1}


def several_classes(n, shift, rng):
    """Return three classes, labels and two columns; where both are 1, class 2 is likelier than predicted."""
    columns = rng.integers(0, 2, (2, n))
    logits = rng.normal(0, 1, (n, 3))
    truth = logits + shift * np.outer(columns.all(axis=0), [0, 0, 1])
    probs, true = (np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for z in (logits, truth))
    labels = (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1)
    return probs, labels, {"a": columns[0], "b": columns[1]}


def definition_of_several(probs, labels, columns, bar):
    """Return classes and steps by loops over groups and classes, softmax by softmax."""
    n, k = probs.shape
    masks = [np.ones(n, bool)]
    masks += [columns[j] == level for j in "ab" for level in (0, 1)]
    masks += [(columns["a"] == one) & (columns["b"] == two) for one in (0, 1) for two in (0, 1)]
    logits, steps = np.log(probs), []
    while len(steps) < 30:
        now = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        best = max(
            (
                abs(s := ((labels == c) - now[:, c])[m].sum()) / np.sqrt(v := (now[:, c] * (1 - now[:, c]))[m].sum()),
                c,
                s / v,
                j,
            )
            for c in range(k)
            for j, m in enumerate(masks)
        )
        if best[0] <= bar:
            break
        steps.append(best[1:3])
        logits = logits + best[2] * np.outer(masks[best[3]], np.arange(k) == best[1])
    return steps


@each("seed", range(3))
def test_steps_of_several_classes_are_those_of_loops(seed):
    probs, labels, columns = several_classes(1500, 1.0, np.random.default_rng(seed))
    fixed = GroupBoosting().fit(probs, labels, features=columns)
    expected = definition_of_several(probs, labels, columns, entry_bar(27))
    assert expected
    assert fixed.events_.tolist() == [event for event, _ in expected]
    np.testing.assert_allclose(fixed.offsets_, [offset for _, offset in expected], rtol=1e-9)


def test_several_classes_gain_where_a_group_is_off_and_lose_nothing_else():
    """Mean change of the log loss on other rows, of 10 sets each: of 1500 rows with a shift of 1, and of null sets."""
    changes = {0.0: [], 1.0: []}
    for shift, found in changes.items():
        for seed in range(10):
            probs, labels, columns = several_classes(6000, shift, np.random.default_rng(seed))
            new = np.arange(6000) >= 1500
            fixed = GroupBoosting().fit(probs[~new], labels[~new], features=part(columns, ~new))
            after = fixed.predict_proba(probs[new], features=part(columns, new))
            np.testing.assert_allclose(after.sum(axis=1), 1.0)
            rows = np.arange(4500)
            found.append(np.mean(np.log(probs[new][rows, labels[new]]) - np.log(after[rows, labels[new]])))
    assert np.mean(changes[1.0]) < -0.01
    assert np.mean(np.abs(changes[0.0]) < 1e-12) >= 0.8


def test_all_rows_are_moved_if_no_column_defines_groups(tmp_path):
    features = {"x": ["a"] * 1000}
    fixed = GroupBoosting().fit([0.6] * 1000, [1, 1, 0, 1, 1] * 200, features=features)
    assert fixed.predict_proba([0.6], features={"x": ["b"]})[0, 1] == pytest.approx(0.8, abs=1e-6)
    assert fixed.report_.headline == "1 step among 1 group."
    assert fixed.report_.steps[0].label == "all rows"
    assert fixed.report_.steps[0].n_rows == 1000
    save(fixed, tmp_path / "groups.json")
    assert load(tmp_path / "groups.json").predict_proba([0.6])[0, 1] == pytest.approx(0.8, abs=1e-6)


def test_a_file_keeps_the_classes_of_steps(tmp_path):
    probs, labels, columns = several_classes(1500, 1.5, np.random.default_rng(0))
    fixed = GroupBoosting().fit(probs, labels, features=columns, classes=["cat", "dog", "eel"])
    save(fixed, tmp_path / "groups.json", details={"model": "a"})
    again = load(tmp_path / "groups.json")
    assert again.report_.steps[0].event == "eel"
    assert "log-odds of eel" in repr(again.report_)
    np.testing.assert_array_equal(
        again.predict_proba(probs, features=columns), fixed.predict_proba(probs, features=columns)
    )


def test_a_file_keeps_details_that_json_can_hold(fixed, tmp_path):
    path = tmp_path / "groups.json"
    save(fixed, path, details={"model": "a", "rows": 3})
    assert load_with_details(path).details == {"model": "a", "rows": 3}
    with pytest.raises(TypeError, match="details must be strings and numbers"):
        save(fixed, path, details={"model": object()})


def test_a_file_that_could_not_be_read_again_is_not_written(fixed, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "KIND", replace(store.KIND, most_bytes=300))
    with pytest.raises(InputError, match="more than the 300 that `load` accepts"):
        save(fixed, tmp_path / "groups.json")
    assert not (tmp_path / "groups.json").exists()
