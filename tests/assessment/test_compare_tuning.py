"""Bandwidths that are chosen once, on the compared rows or on others."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.assessment.comparison import compare
from calibrant.metrics import ECE, METRICS, Classwise, KdeECE, PerPredictedClass, TopLabel
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.smoothing.bandwidth import choose_bandwidth
from calibrant.smoothing.sample import Sample
from naming import each
from simulate import calibrated, sharpened

TEST = calibrated(n=240, k=3, seed=1)
TUNING = sharpened(calibrated(n=300, k=3, seed=2), 0.5)
MULTICLASS, CLASSWISE = METRICS["kde-ece-one-vs-rest"], METRICS["kde-ece-per-predicted-class"]


def bandwidth(positions, outcomes):
    """The bandwidth of the default rule for rows of weight 1."""
    sample = Sample.of(positions, outcomes.astype(float), np.ones(len(positions)))
    return choose_bandwidth(sample, "cv", "gaussian", "reflect")


def one_vs_rest(p, c):
    return p.probs[:, c], p.labels == c


def kde_ece(positions, outcomes, h):
    """The definition, with a loop over rows."""
    gaps = []
    for i, x in enumerate(positions):
        images = (positions, -positions, 2 - positions)
        kernel = sum(np.exp(-0.5 * ((x - image) / h) ** 2) for image in images)
        kernel[i] = 0.0
        gaps.append(abs(kernel @ outcomes / kernel.sum() - x))
    return np.mean(gaps)


def multiclass_by_hand(p, tuning, rows=slice(None)):
    values = []
    for c in range(3):
        positions, outcomes = one_vs_rest(p, c)
        values.append(kde_ece(positions[rows], outcomes[rows], bandwidth(*one_vs_rest(tuning, c))))
    return np.mean(values)


def classwise_by_hand(p, tuning):
    total = 0.0
    for c in range(3):
        own, theirs = p.probs.argmax(axis=1) == c, tuning.probs.argmax(axis=1) == c
        positions, outcomes = one_vs_rest(tuning, c)
        h = bandwidth(positions[theirs], outcomes[theirs])
        positions, outcomes = one_vs_rest(p, c)
        total += own.sum() * kde_ece(positions[own], outcomes[own], h)
    return total / len(p.labels)


def test_bandwidths_of_every_class_are_chosen_on_the_tuning_rows():
    metrics = ["kde-ece", "kde-ece-one-vs-rest", "kde-ece-per-predicted-class"]
    found = compare({"m": TEST}, metrics, tuning={"m": TUNING}, n_resamples=5, intervals=False, rng=0)
    own = compare({"m": TEST}, metrics, n_resamples=5, intervals=False, rng=0)
    h = bandwidth(TUNING.probs.max(axis=1), TUNING.probs.argmax(axis=1) == TUNING.labels)
    top = kde_ece(TEST.probs.max(axis=1), TEST.probs.argmax(axis=1) == TEST.labels, h)
    by_hand = [top, multiclass_by_hand(TEST, TUNING), classwise_by_hand(TEST, TUNING)]
    assert [*found.of("m").values()] == pytest.approx(by_hand, rel=1e-9)
    assert [own.of("m")[key] for key in metrics] == pytest.approx([METRICS[key](TEST) for key in metrics], rel=1e-12)
    assert all(abs(found.of("m")[key] - own.of("m")[key]) > 1e-4 for key in metrics)


@pytest.mark.parametrize("whose", ["baseline", "own"])
def test_bandwidths_are_those_of_the_baseline_or_of_each_model_in_groups_and_replicates(whose):
    models, tuning = {"a": TEST, "b": sharpened(TEST, 0.5)}, {"a": TUNING, "b": calibrated(n=200, k=3, seed=3)}
    group = np.where(np.arange(240) < 120, "first", "second")
    settings = {"tuning": tuning, "by": group, "bandwidth": whose, "differences": "percentile"}
    result = compare(models, ["kde-ece-one-vs-rest"], n_resamples=3, rng=0, **settings)
    used = {name: tuning["a" if whose == "baseline" else name] for name in models}
    for name, p in models.items():
        assert result.of(name)["kde-ece-one-vs-rest"] == pytest.approx(multiclass_by_hand(p, used[name]), rel=1e-9)
        part = multiclass_by_hand(p, used[name], slice(120))
        assert result.groups["first"].of(name)["kde-ece-one-vs-rest"] == pytest.approx(part, rel=1e-9)
    fitted = {name: MULTICLASS.fit_bandwidth(p) for name, p in used.items()}
    seed = np.random.default_rng(0).integers(2**63)
    counts = np.concatenate(list(Bootstrap(3).counts(240, np.random.default_rng(seed))), axis=1)
    drawn = [{name: fitted[name](Predictions(p.probs, p.labels, w)) for name, p in models.items()} for w in counts.T]
    differences = [values["b"] - values["a"] for values in drawn]
    found = result.entry("b", "kde-ece-one-vs-rest").difference
    assert (found.low, found.high) == pytest.approx((min(differences), max(differences)), rel=1e-9)


def test_without_tuning_rows_the_bandwidth_is_that_of_the_baseline_on_the_compared_rows():
    models = {"a": TEST, "b": sharpened(TEST, 0.5)}
    result = compare(models, ["kde-ece"], baseline="b", n_resamples=3, intervals=False, rng=0)
    fitted = METRICS["kde-ece"].fit_bandwidth(models["b"])
    assert result.of("a")["kde-ece"] == pytest.approx(fitted(TEST), rel=1e-12)
    assert result.of("a")["kde-ece"] != pytest.approx(METRICS["kde-ece"](TEST), rel=1e-6)


def test_the_range_under_calibration_is_that_of_the_chosen_bandwidth(monkeypatch):
    searched = []
    monkeypatch.setattr("calibrant.smoothing.bandwidth.choose_bandwidth", lambda *args: searched.append(args) or 0.1)
    fresh = Predictions(TEST.probs, TEST.labels)  # Nothing is kept with it.
    result = compare({"m": fresh}, ["kde-ece", "kde-ece-one-vs-rest"], n_resamples=20, rng=0)
    assert len(searched) == 1 + 3  # Once a view: not again for replicates, nor for the interval.
    fixed = compare({"m": TEST}, {"kde-ece": KdeECE(bandwidth=0.1)}, n_resamples=20, rng=0)
    assert result.entry("m", "kde-ece").interval.null == fixed.entry("m", "kde-ece").interval.null


@each("lift", [Classwise, PerPredictedClass, TopLabel])
def test_a_lift_with_its_bandwidths_chosen_measures_the_same(lift):
    metric = lift(KdeECE())
    fitted = metric.fit_bandwidth(TEST)
    assert fitted != metric
    assert isinstance(fitted, lift)
    assert fitted.fit_bandwidth(TUNING) is fitted
    assert fitted(TEST) == metric(TEST) == fitted.estimate(TEST).value
    assert fitted.details(TEST) == metric.details(TEST)
    labels = np.random.default_rng(0).integers(0, 3, (240, 4))
    np.testing.assert_array_equal(fitted.prepare_labels(TEST)(labels), metric.prepare_labels(TEST)(labels))


def test_metrics_without_a_bandwidth_have_nothing_to_choose():
    for metric in (ECE(), Classwise(ECE()), PerPredictedClass(ECE()), TopLabel(ECE()), KdeECE(bandwidth=0.1)):
        assert metric.fit_bandwidth(TEST) is metric


def test_a_class_that_is_never_predicted_keeps_its_rule_until_it_is():
    two = TUNING.take(np.flatnonzero(TUNING.predicted != 1))
    fitted = CLASSWISE.fit_bandwidth(two)
    assert [isinstance(metric.bandwidth, str) for metric in fitted.members] == [False, True, False]
    positions, outcomes = one_vs_rest(TEST, 1)
    rows = TEST.predicted == 1
    complete = fitted.fit_bandwidth(TEST)
    assert complete.members[1].bandwidth == bandwidth(positions[rows], outcomes[rows])
    assert complete.members[0] is fitted.members[0]
    result = compare({"m": TEST}, {"k": CLASSWISE}, tuning={"m": two}, n_resamples=2, intervals=False, rng=0)
    assert result.of("m")["k"] == complete(TEST)


def test_bandwidths_of_other_classes_are_refused():
    fitted = MULTICLASS.fit_bandwidth(TUNING)
    with pytest.raises(InputError, match=r"one metric per class, but there are 3 for 4"):
        fitted(calibrated(n=50, k=4))


def test_tuning_predictions_that_do_not_belong_to_the_models_are_refused():
    with pytest.raises(InputError, match=r"names of the models, \['m'\], but has \['n'\]"):
        compare({"m": TEST}, tuning={"n": TUNING})
    renamed = Predictions(TUNING.probs, TUNING.labels, classes=["x", "y", "z"])
    with pytest.raises(InputError, match="must have the classes"):
        compare({"m": TEST}, tuning={"m": renamed})


def test_a_member_of_a_lift_is_shown_in_equality_only():
    fitted = MULTICLASS.fit_bandwidth(TEST)
    assert repr(fitted) == repr(MULTICLASS)
    assert replace(fitted, members=()) == MULTICLASS
