"""The verdict and what stands behind it."""

import time
from dataclasses import fields

import numpy as np
import pytest

from calibrant import DataWarning, InputError, Predictions, as_record, assess, render_html
from calibrant.assessment import verdict
from calibrant.assessment.assessing import OF_GROUPS
from calibrant.assessment.sections import SECTIONS
from calibrant.hypotest import OmnibusTest
from calibrant.metrics import Brier
from simulate import calibrated, draw_labels, sharpened


def lopsided(n=2000, seed=0):
    """Binary predictions that are too high everywhere, so that confidence errs on both sides alike."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.1, 0.7, n)
    return Predictions(truth + 0.2, rng.random(n) < truth)


def two_sided(n=4000, seed=0):
    """Confidence 0.6 is right 0.8 of the time and the other way round: no direction, no bias."""
    rng = np.random.default_rng(seed)
    claimed = np.repeat([0.6, 0.8], n // 2)
    truth = np.repeat([0.8, 0.6], n // 2)
    flip = rng.random(n) < 0.5
    hit = rng.random(n) < truth
    return Predictions(np.where(flip, claimed, 1 - claimed), np.where(flip, hit, ~hit))


@pytest.mark.parametrize(
    "predictions, code, words",
    [
        (calibrated(n=1000), "consistent", "Consistent with calibration, as far as 1,000 rows can tell"),
        (sharpened(calibrated(n=1000), 0.4), "over-confident", "Over-confident: its confidence is"),
        (sharpened(calibrated(n=1000), 3.0), "under-confident", "Under-confident: its confidence is"),
        (lopsided(), "biased", "Biased: it predicts class 1 too often"),
        (two_sided(), "miscalibrated", "Miscalibrated, in both directions"),
    ],
    ids=["consistent", "over", "under", "biased", "both"],
)
def test_the_verdict_names_the_error(predictions, code, words):
    verdict = assess(predictions, sections=(), n_resamples=199, rng=0).verdict
    assert verdict.code == code
    assert verdict.headline.startswith(words)
    assert f"{verdict.error:.3g}" in verdict.explanation


def test_the_p_value_of_the_verdict_is_that_of_the_exact_test():
    p = sharpened(calibrated(n=200), 0.7)
    result = assess(p, n_resamples=99, sections=(), rng=3)
    assert result.verdict.pvalue == result.test.pvalue == OmnibusTest(99)(p, rng=3).pvalue


def test_the_error_of_the_verdict_is_the_metric_beside_its_limits():
    result = assess(sharpened(calibrated(n=600), 0.7), sections=("metrics", "limits"), n_resamples=99, rng=0)
    shown = result.intervals["rms-debiased"]
    assert result.verdict.error == pytest.approx(result.metrics["rms-debiased"].value, rel=1e-9)
    assert (result.verdict.low, result.verdict.high) == pytest.approx((shown.low, shown.high))
    assert result.verdict.expected == pytest.approx(shown.expected, rel=1e-9)


def test_groups_are_assessed_one_by_one():
    good, bad = calibrated(n=300), sharpened(calibrated(n=300, seed=1), 0.3)
    p = Predictions(np.vstack([good.probs, bad.probs]), np.concatenate([good.labels, bad.labels]))
    result = assess(p, by=["good"] * 300 + ["bad"] * 300, n_resamples=99, sections=("groups",), rng=0)
    assert list(result.groups) == ["bad", "good"]
    assert result.groups["good"].verdict.code == "consistent"
    assert result.groups["bad"].verdict.code == "over-confident"
    assert result.groups["bad"].metrics["brier"].value == pytest.approx(Brier()(bad))


def test_a_group_of_one_row_is_fine():
    p = calibrated(n=60)
    assert assess(p, by=["a"] * 59 + ["b"], n_resamples=19, rng=0).groups["b"].n_samples == 1


def test_groups_that_are_the_labels_are_warned_of():
    """Every such group is off, however good the model."""
    p = calibrated(n=60, k=2)
    options = {"sections": ("groups",), "n_resamples": 9, "rng": 0}
    with pytest.warns(DataWarning, match="the groups are the labels: where all outcomes are alike"):
        assess(p, by=np.array(["x", "y"])[p.labels], **options)
    assess(p.take([0, 1, 2, 3]), by=["a", "b", "c", "d"], **options)  # Groups of one row are not labels.


def test_groups_need_one_entry_a_row():
    with pytest.raises(InputError, match="by must have one value per row, but there are 3 for 400 rows"):
        assess(calibrated(), by=[1, 2, 3])


def test_classes_are_summed_up():
    p = calibrated(k=3)
    summary = assess(p, n_resamples=9, rng=0).classes[2]
    assert summary.name == "2"
    assert summary.n_observed == (p.labels == 2).sum()
    assert summary.predicted == pytest.approx(p.probs[:, 2].mean())


def test_the_same_seed_gives_the_same_assessment():
    p = calibrated()
    first, second = (assess(p, n_resamples=49, sections=(), rng=5) for _ in range(2))
    assert first.verdict.pvalue == second.verdict.pvalue
    assert np.array_equal(first.test.null, second.test.null)
    assert first.settings["seed"] == 5


def test_progress_moves_with_every_metric_and_every_limit():
    p, seen, names = calibrated(), [], ("nll", "ece", "smooth-ece", "kde-ece")
    assess(p, sections=(), n_resamples=99, rng=0)
    asked = {"sections": ("metrics", "limits"), "metrics": names, "n_resamples": 99, "rng": 0}
    assess(p, **asked, progress=lambda *step: seen.append(step))
    steps = {done for done, _ in seen}
    assert len(steps) >= 2 * len(names)  # With two sections alone it would be three.
    assert seen[-1][0] == seen[-1][1]
    assert seen == sorted(seen)


def test_progress_counts_the_redraws_of_all_groups():
    seen = []
    assess(calibrated(), by=np.arange(400) % 2, n_resamples=9, progress=lambda *step: seen.append(step), rng=0)
    assert seen[-1][0] == seen[-1][1] >= 27
    assert len({total for _, total in seen}) == 1
    assert seen == sorted(seen)


def test_sections_do_not_depend_on_each_other_and_only_those_asked_for_are_there():
    p, by = sharpened(calibrated(n=120), 0.5), np.arange(120) % 2
    whole = assess(p, by=by, n_resamples=19, rng=0)
    keys = {"metrics", "limits", "curves", "classes", "parts", "ranking", "tests", "groups"}
    assert set(SECTIONS) == keys == set(whole.settings["sections"])
    names = [field.name for field in fields(whole) if field.name not in ("settings", "verdict", "test")]
    empty = as_record(assess(p, sections=(), n_resamples=19, rng=0))
    filled = dict[str, str]()
    for key in keys:
        fresh = Predictions(p.probs, p.labels)  # Nothing is kept with it.
        found = as_record(assess(fresh, by=by, sections=[key], n_resamples=19, rng=0))
        for name in names:
            if found[name] != empty[name]:
                assert name not in filled
                filled[name] = key
                assert found[name] == as_record(getattr(whole, name))
    assert set(filled) == set(names) - {"name", "n_samples", "n_classes"}
    assert set(filled.values()) == keys


def test_the_verdict_is_computed_once_for_a_number_as_seed(monkeypatch):
    calls = []
    real = verdict.judge
    monkeypatch.setattr(verdict, "judge", lambda *given: calls.append(1) or real(*given))
    p = calibrated(n=60)
    first = assess(p, sections=(), n_resamples=19, rng=0)
    again = assess(p, sections=("metrics",), n_resamples=19, rng=0)
    assert (len(calls), again.verdict) == (1, first.verdict)
    for others in ({"rng": 1}, {"rng": 0, "n_resamples": 29}, {"rng": 0, "tolerance": 0.1}, {"rng": None}):
        assess(p, **({"sections": (), "n_resamples": 19} | others))
    assert len(calls) == 5
    assess(p, sections=(), n_resamples=19, rng=None)
    assert len(calls) == 6


@pytest.mark.parametrize("sections, error", [("metrics", TypeError), (["metric"], InputError)])
def test_unknown_sections_are_refused(sections, error):
    with pytest.raises(error, match="sections must be"):
        assess(calibrated(n=20), sections=sections)


def test_a_page_needs_curves():
    p = calibrated(n=60)
    with pytest.raises(InputError, match="must hold curves"):
        render_html(assess(p, sections=("metrics",), n_resamples=9, rng=0))
    assert "<html" in render_html(assess(p, sections=("metrics", "curves"), n_resamples=9, rng=0))


def test_a_few_metrics_of_ones_own_will_do():
    result = assess(calibrated(), metrics={"mine": Brier()}, n_resamples=9, rng=0)
    assert list(result.metrics) == ["mine"]


def test_many_small_groups_take_little_time_and_are_measured_by_a_few_metrics():
    p = calibrated(n=150)
    assess(p, n_resamples=9, rng=0)  # What has to be imported.
    started = time.process_time()
    result = assess(p, by=np.arange(150) // 3, n_resamples=9, rng=1)
    spent = time.process_time() - started
    assert len(result.groups) == 50
    assert set(result.groups["7"].metrics) == set(OF_GROUPS)
    assert spent < 4  # 10 s before.


def test_weights_count_in_the_direction():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 1000)
    good = Predictions(probs, draw_labels(probs, rng))
    bad = sharpened(good, 0.3)
    mixed = Predictions(np.vstack([good.probs, bad.probs]), np.tile(good.labels, 2), np.repeat([1.0, 0.0], 1000))
    assert assess(mixed, n_resamples=99, sections=(), rng=0).verdict.code == "consistent"
