"""The fix of groups as a candidate of the advice."""

import numpy as np
import pytest

from calibrant import InputError, Predictions, recommend
from calibrant.advice import calibrate_held_out
from calibrant.advice.cross_fit import cross_fit_groups
from calibrant.groups import GroupBoosting
from calibrant.groups.columns import as_table
from group_cases import seeded_example, world
from naming import each

PROBS, LABELS, FEATURES = seeded_example()
FEW = {"candidates": ["ts"], "n_resamples": 100, "rng": 0}


def test_the_fix_of_groups_is_recommended_where_it_wins():
    advice = recommend(LABELS, PROBS, features=FEATURES, **FEW)
    assert advice.name == advice.best == "groups"
    assert isinstance(advice.calibrator, GroupBoosting)
    assert [step.label for step in advice.calibrator.report_.steps] == ["g = 2 and h = 1", "g = 2 and h = 0"]
    assert "Use groups" in advice.headline
    assert [candidate.name for candidate in advice.candidates] == ["identity", "ts", "groups"]
    assert advice.candidate("groups").loss < advice.candidate("ts").loss - 0.02


def test_it_is_not_where_nothing_is_off():
    p, features = world(1500, 0.0, np.random.default_rng(3))
    assert recommend(p, features=features, **FEW).name == "identity"


def test_the_search_is_inside_each_fold():
    """Labels of a fold play no part in what is predicted for it."""
    p = Predictions(PROBS[:600], LABELS[:600])
    table = as_table({name: values[:600] for name, values in FEATURES.items()}, 600)
    folds = [np.arange(0, 600, 2), np.arange(1, 600, 2)]
    first = cross_fit_groups(table, p, folds).predictions.positive[folds[0]]
    labels = p.labels.copy()
    labels[folds[0]] = 1 - labels[folds[0]]
    again = cross_fit_groups(table, p.with_labels(labels), folds).predictions.positive[folds[0]]
    np.testing.assert_array_equal(first, again)


def test_rows_without_weight_are_absent():
    weights = np.where(np.arange(6000) < 3000, 1.0, 0.0)
    half = {name: values[:3000] for name, values in FEATURES.items()}
    one = recommend(Predictions(PROBS, LABELS, weights), features=FEATURES, **FEW)
    other = recommend(Predictions(PROBS[:3000], LABELS[:3000]), features=half, **FEW)
    assert one.candidate("groups").loss == pytest.approx(other.candidate("groups").loss)


def test_several_classes_are_fixed_too_and_shown_as_before_and_after():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 1500)
    logits = rng.normal(0, 1, (1500, 3))
    truth = logits + 1.2 * np.outer(group, [0, 0, 1])
    labels = (rng.random((1500, 1)) > (np.exp(truth).cumsum(1) / np.exp(truth).sum(1, keepdims=True))).sum(1)
    p = Predictions.from_logits(logits, labels)
    advice = recommend(p, features={"group": group}, **FEW)
    assert advice.name == "groups"
    assert "new rows need the columns" in " ".join(advice.reasons)
    after, how = calibrate_held_out(p, "groups", features={"group": group}, rng=0)
    assert how.method == "groups"
    assert (
        -np.log(after.probs[np.arange(1500), labels]).mean() < -np.log(p.probs[np.arange(1500), labels]).mean() - 0.03
    )


@each(
    "call, words",
    [
        (lambda: recommend(LABELS, PROBS, keep_argmax=True, features=FEATURES), "can change predicted classes"),
        (lambda: recommend(LABELS, PROBS, features={}), "at least one column"),
        (lambda: calibrate_held_out(Predictions(PROBS, LABELS), "groups"), "Pass features="),
        (lambda: recommend(LABELS, PROBS, features={"g": [1]}), "one value per row"),
    ],
)
@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_mistakes_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
