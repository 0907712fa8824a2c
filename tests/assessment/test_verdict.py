"""The verdict: what revealed the error, how large it is, and that it is about the event if there are two classes."""

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant import DataWarning, Forecasts, InputError, Normal, Predictions, assess, assess_forecasts, interval
from calibrant._border.numerals import aligned, number, percent
from calibrant.assessment.sentences import percentages
from calibrant.assessment.size import Size, compare_with, measure_size
from calibrant.assessment.verdict import examine, judge
from calibrant.decisions import move_base_rate
from calibrant.hypotest.omnibus.facts import facts_of, slope_of
from calibrant.hypotest.omnibus.revealed import Revealed, in_words, revealed_in
from calibrant.metrics import METRICS, CoxSlope
from calibrant.results import TestResult, Verdict, state
from naming import each
from simulate import calibrated, draw_labels, sharpened


def limits(p):
    """The limits of the error that the verdict compares with the tolerance."""
    size = measure_size(p, 1, np.random.default_rng(0))
    return size.low, size.high


def binary(n, seed=0, low=0.05, high=0.95):
    """True probabilities of an event, and whether it happened."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(low, high, n)
    return truth, rng.random(n) < truth


def omnibus(pvalue, **parts):
    """An omnibus test's outcome with these parts: name to (p-value, direction, class)."""
    names = {name.replace("_", " "): value for name, value in parts.items()}
    found = min(names, key=lambda name: names[name][0], default="")
    described = {
        name: {"statistic": 1.0, "pvalue": p, "direction": direction, "class": about}
        for name, (p, direction, about) in names.items()
    }
    details = {"smallest_pvalue": 0.01, "parts": described, "found_by": found}
    return TestResult(name="t", statistic=pvalue, pvalue=pvalue, details=details)


def size(error, low, high, reason=""):
    return Size(error, low, high, reason, 0.004, 0.01, np.zeros(9))


def rare(n=3000, seed=0):
    """Rare events that are predicted twice as often as they happen; no prediction is above one half."""
    rng = np.random.default_rng(seed)
    predicted = rng.beta(1, 9, n) * 0.45
    return Predictions(predicted, rng.random(n) < predicted / 2)


def two_percent(n=10_000, seed=0):
    """Events of 2% whose log-odds are too extreme: a test in bins of equal width has nearly all rows in one bin."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-4.5, 1.0, n)
    return Predictions(expit(log_odds / 0.6 + 2.6), rng.random(n) < expit(log_odds))


@each("seed", range(3))
def test_rare_events_that_are_predicted_too_often_are_biased(seed):
    verdict = examine(rare(seed=seed), 99, rng=0).verdict
    assert verdict.code == "biased"
    assert verdict.headline.startswith("Biased: it predicts class 1 too often, with 4.")
    assert (verdict.part, verdict.gave_away) == ("bias", "the mean (too high)")
    assert verdict.gap == pytest.approx(rare(seed=seed).positive.mean() - rare(seed=seed).labels.mean())


def test_where_one_class_occurs_nothing_is_said_of_the_slope():
    probs = np.linspace(0.02, 0.98, 60)
    with pytest.warns(DataWarning, match="class 0 never occurs"):
        p = Predictions(probs, np.ones(60, int))
    found = assess(p, sections=(), rng=0).verdict
    assert found.code == "biased"
    assert found.headline.startswith("Biased: it predicts class 1 too rarely, with 50.0% on average where 100.0%")


def test_a_wrong_slope_of_rare_events_is_seen():
    p = two_percent()
    verdict = examine(p, 199, rng=0).verdict
    assert verdict.pvalue <= 0.01
    assert verdict.slope == pytest.approx(CoxSlope()(p))
    assert verdict.headline.startswith("Too extreme (over-confident): it predicts class 1 with ")
    assert verdict.headline.endswith(f"; slope {verdict.slope:.2g}.")
    assert f"{p.positive.mean():.1%} on average where {p.labels.mean():.1%} are observed" in verdict.headline
    assert "confidence" not in verdict.headline + verdict.explanation
    assert "is coarse where the rarer class" in verdict.explanation


@each("slope, shift", [(0.85, 1.5), (0.8, 1.0), (1.2, -1.0), (1.0, 1.0)])
def test_the_slope_beside_a_bias_is_called_as_it_is_fitted(slope, shift):
    rng = np.random.default_rng(0)
    log_odds = 1.5 * rng.normal(size=4000)
    p = Predictions(expit(slope * log_odds + shift), rng.random(4000) < expit(log_odds))
    verdict, fitted = examine(p, 19, rng=0).verdict, interval(p, CoxSlope())
    assert verdict.headline.startswith("Biased")
    expected = "too timid" if fitted.low > 1 else "too extreme" if fitted.high < 1 else ""
    assert [words for words in ("too timid", "too extreme") if words in verdict.headline] == [expected] * bool(expected)
    assert bool(expected) == (slope != 1)


def test_the_corrected_score_has_the_sign_of_the_fitted_slope():
    rng = np.random.default_rng(1)
    for _ in range(120):
        log_odds, (slope, shift) = rng.normal(size=60), rng.normal([1, 0], [0.4, 1.5])
        p = Predictions(expit(slope * log_odds + shift), rng.random(60) < expit(log_odds), rng.exponential(size=60))
        facts, fitted = facts_of(p), slope_of(p)
        if fitted is not None and abs(facts.z) > 1.96:
            assert (facts.too_extreme > 0) == (fitted < 1)


@each("n_resamples, is_enough", [(5, False), (18, False), (19, True)])
def test_redraws_that_can_never_find_anything_are_called_too_few(n_resamples, is_enough):
    rng = np.random.default_rng(0)
    log_odds = 1.5 * rng.normal(size=2000)
    p = Predictions(expit(2 * log_odds), rng.random(2000) < expit(log_odds))
    f = Forecasts(Normal(rng.normal(size=500), np.full(500, 0.5)), 2 * rng.normal(size=500))
    settings = {"n_resamples": n_resamples, "rng": 0}
    for found in (assess(p, sections=(), **settings), assess_forecasts(f, **settings)):
        verdict = found.verdict
        few = f"but {n_resamples} redraws can never speak against calibration: at least 19 are needed."
        assert (few in verdict.explanation) == (not is_enough)
        assert ("beyond the tolerance of 0.02, but the test does not confirm" in verdict.explanation) == (not is_enough)
        assert "cannot be told" not in verdict.explanation
        assert (verdict.code == "over-confident") == is_enough


def test_a_test_is_not_called_exact_where_weights_follow_labels():
    truth, labels = binary(600)
    for weights in (np.ones(600), np.random.default_rng(0).exponential(size=600)):
        p = Predictions(expit(2 * logit(truth)), labels, weights)
        assert "The exact test gives" in examine(p, 19, rng=0).verdict.explanation
        moved = examine(move_base_rate(p, 0.1), 19, rng=0).verdict.explanation
        assert "exact" not in moved
        assert "The test, approximate as the weights depend on the labels, gives p" in moved


def test_a_slope_that_is_called_too_timid_is_not_written_as_one():
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 2, 400_000)
    verdict = assess(Predictions(p, rng.random(len(p)) < p**1.1), sections=(), n_resamples=99, rng=0).verdict
    assert verdict.headline.endswith("; slope 1.05: too timid.")


@pytest.mark.parametrize("factor, code, words", [(1.7, "over-confident", "extreme"), (0.6, "under-confident", "timid")])
def test_two_classes_are_spoken_of_by_mean_and_slope(factor, code, words):
    truth, labels = binary(3000)
    verdict = examine(Predictions(expit(factor * logit(truth)), labels), 99, rng=0).verdict
    assert verdict.code == code
    assert verdict.headline.startswith(f"Too {words} ({code}): it predicts class 1 with ")
    assert verdict.gave_away == f"the slope (too {words})"
    assert verdict.size == "beyond tolerance"


@pytest.mark.filterwarnings("ignore::calibrant.exceptions.DataWarning")
def test_predictions_of_0_and_1_are_measured_however_few():
    wrong = examine(Predictions([0.0, 1.0] * 40, [0] * 70 + [1] * 10), 99, rng=0).verdict
    error = METRICS["rms-debiased"](Predictions([0.0, 1.0] * 40, [0] * 70 + [1] * 10))
    assert wrong.explanation.startswith(f"The calibration error (root mean square, debiased) is {error:.3g}. All pred")
    assert "too few" not in wrong.explanation
    right = examine(Predictions(np.eye(3)[[0, 1, 2] * 20], [0, 1, 2] * 20), 99, rng=0).verdict
    assert "is 0. All confidences are exactly 1: chance plays no part. The exact test gives p = 1." in right.explanation


def test_wrong_decisions_are_too_extreme_though_their_mean_is_nearly_right():
    probs, labels = [1.0] * 32 + [0.0] * 28, [0] * 10 + [1] * 22 + [1] * 8 + [0] * 20
    with pytest.warns(DataWarning, match="exactly 0 or 1"):
        verdict = assess(Predictions(probs, labels), sections=(), n_resamples=99, rng=0).verdict
    assert verdict.headline.startswith("Too extreme (over-confident): it predicts class 1 with 53.3%")
    with pytest.warns(DataWarning, match="exactly 0 or 1|never occurs"):
        verdict = assess(Predictions([1.0] * 30, [0] * 30), sections=(), n_resamples=99, rng=0).verdict
    assert verdict.code == "biased"


@pytest.mark.filterwarnings("ignore::calibrant.exceptions.DataWarning")
def test_labels_declared_impossible_are_named_first():
    truth = np.tile(np.linspace(0.1, 0.9, 9), 200)
    labels = np.random.default_rng(0).random(truth.size) < truth
    probs = np.append(
        expit(0.85 * logit(truth)), [0.0, 1.0]
    )  # A little timid, so that the slope on the whole is right.
    verdict = examine(Predictions(probs, np.append(labels, [1, 0])), 99, rng=0).verdict
    assert verdict.code == "miscalibrated"
    assert verdict.headline.startswith("Miscalibrated, with labels of probability 0: ")


@pytest.mark.filterwarnings("ignore::calibrant.exceptions.DataWarning")
@each("p, labels", [([0.6] * 100, [1] * 100), ([0.3], [0]), ([0.6] * 50 + [0.7] * 50, [0] * 100)])
def test_a_class_that_was_not_observed_is_not_said_to_be_rare(p, labels):
    weights = np.linspace(0.1, 1.3, len(p))
    assert "coarse" not in examine(Predictions(p, labels, weights), 99, rng=0).verdict.explanation


def test_the_score_of_the_slope_is_uncorrelated_with_the_bias():
    rng = np.random.default_rng(0)
    predicted, weights = rng.uniform(0.02, 0.6, 60), rng.exponential(size=60)
    found = [facts_of(Predictions(predicted, rng.random(60) < predicted, weights)) for _ in range(300)]
    z, extreme = np.array([f.z for f in found]), np.array([f.extreme for f in found])
    assert np.std(z) == pytest.approx(1, abs=0.165)  # 4 standard errors of a standard deviation
    assert np.std(extreme) == pytest.approx(1, abs=0.21)
    assert abs(np.corrcoef(z, extreme)[0, 1]) < 0.23


@each("probs, labels", [([0.2, 0.8, 0.9], [0, 1, 1]), ([0.5] * 4, [0, 1, 1, 0]), ([0.1, 0.7], [1, 1])])
def test_there_is_no_slope_without_a_finite_fit(probs, labels):
    assert slope_of(Predictions(probs, labels)) is None


def test_an_error_above_its_range_by_chance_and_a_large_pvalue_are_reconciled():
    p = calibrated(n=200, k=2)
    both = [
        judge(p, omnibus(pvalue), size(error, 0.0, 0.05)).explanation
        for error in (0.012, 0.008)
        for pvalue in (0.3, 0.01)
    ]
    assert ["above its usual range is not enough" in words for words in both] == [True, False, False, False]


QUIET = {"top-label_ece": (0.5, None, None)}


class TestWhatGaveItAway:
    @each("parts, words", [
            ({"slope": (0.01, "too extreme", None), **QUIET, "runner-up_bias": (0.03, "", None)}, "the runners-up"),
            ({"skce": (0.01, None, None), **QUIET, "runner-up_bias": (0.02, "", None)}, "the runners-up"),
            ({"slope": (0.01, "too low", None), **QUIET, "runner-up_bias": (0.3, "", None)},
             "the slope of all classes (too low)"),
            ({"skce": (0.01, None, None), **QUIET}, "the probabilities of all classes together"),
            (
                {"slope": (0.01, "too timid", None), "top-label_ece": (0.03, None, None)},
                "the slope of all classes (too timid)",
            ),
            ({"slope": (0.01, "too timid", None), "bias": (0.03, None, None)}, "the slope (too timid)"),
            ({"class_bias": (0.01, "too high", "A"), "top-label_ece": (0.03, None, None)}, "class A (too high)"),
            (
                {"skce": (0.01, None, None), "top-label_ece": (0.03, None, None)},
                "the probabilities of all classes together",
            ),
            ({"skce": (0.01, None, None), "class_bias": (0.01, "too low", 7), "top-label_ece": (0.5, None, None)},
             "class 7 (too low)"),
            ({"new": (0.01, None, None)}, "new"),
        ])  # fmt: skip
    def test_is_said_in_words(self, parts, words):
        assert in_words(revealed_in(omnibus(0.01, **parts), "miscalibrated")) == words

    def test_bad_class_is_named_and_its_numbers_are_shown(self):
        p = calibrated(n=1500, k=10, concentration=0.3)
        names = [f"class{c}" for c in range(10)]
        probs = p.probs.copy()
        probs[:, 3] *= 2.5
        probs /= probs.sum(axis=1, keepdims=True)
        bad = Predictions(probs, p.labels, classes=names)
        verdict = examine(bad, 199, rng=0).verdict
        assert verdict.gave_away.startswith("class class3 (too high")
        assert "class3" in verdict.explanation
        assert state(verdict) != "good"

    def test_rotated_runners_up_are_found_and_named(self):
        p = calibrated(n=1500, k=4)
        order, rows = np.argsort(-p.probs, axis=1), np.arange(1500)[:, None]
        probs = p.probs.copy()
        probs[rows, order[:, 1:]] = p.probs[rows, np.roll(order[:, 1:], 1, axis=1)]
        verdict = examine(Predictions(probs, p.labels), 199, rng=0).verdict
        assert verdict.headline.startswith("Miscalibrated in the runners-up: its confidence is")
        revealed = "the runners-up, by the slope of all classes; the confidence alone shows nothing."
        assert f"what revealed it: {revealed}" in verdict.explanation

    def test_a_slope_of_the_confidence_is_not_called_nothing(self):
        rng = np.random.default_rng(2)
        logits = rng.normal(0, 1.5, (1000, 3))
        probs, truth = (np.exp(t * logits) / np.exp(t * logits).sum(axis=1, keepdims=True) for t in (1.0, 0.8))
        labels = (rng.uniform(size=(1000, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        p = Predictions(probs, labels, np.exp(np.random.default_rng(5).normal(size=1000)))
        assert interval(p, CoxSlope()).high < 1  # As the table says, beside the verdict.
        verdict = examine(p, 199, rng=0).verdict
        assert verdict.headline.startswith("Miscalibrated in the slope of all classes (too extreme): its confidence is")
        assert "the confidence alone" not in verdict.explanation

    def test_nothing_is_given_away_by_calibrated_rows(self):
        verdict = examine(calibrated(n=500), 99, rng=1).verdict
        assert (verdict.gave_away, verdict.part) == ("", "")


class TestSize:
    def test_is_one_quantity_with_its_limits_and_what_chance_makes(self):
        p = sharpened(calibrated(n=2000), 0.7)
        verdict = examine(p, 99, rng=0).verdict
        assert verdict.error == pytest.approx(METRICS["rms-debiased"](p), rel=1e-9)
        assert verdict.low <= verdict.error <= verdict.high
        rng = np.random.default_rng(1)
        redrawn = [METRICS["rms-debiased"](p.with_labels(draw_labels(p.probs, rng))) for _ in range(100)]
        assert verdict.expected == pytest.approx(np.mean(redrawn), abs=5 * np.std(redrawn) / 10)
        for value in (verdict.error, verdict.low, verdict.high, verdict.expected, verdict.detectable):
            assert f"{value:.3g}" in verdict.explanation
        assert "KDE" not in verdict.explanation

    @each("seed", range(3))
    def test_limits_hold_the_value(self, seed):
        for p in (rare(800, seed), calibrated(600, 5, seed), sharpened(calibrated(600, 3, seed), 0.5)):
            verdict = examine(p, 19, rng=0).verdict
            assert verdict.low is None or verdict.low <= verdict.error <= verdict.high

    def test_without_limits_says_why(self):
        verdict = examine(calibrated(n=8), 99, rng=0).verdict
        assert (verdict.low, verdict.high, verdict.size) == (None, None, "not known")
        assert verdict.reason
        assert verdict.reason in verdict.explanation
        assert verdict.explanation.startswith("8 rows are too few to measure")

    @each(
        "pvalue, low, high, code, scale, how, words",
        [
            (0.5, 0.0, 0.015, "calibrated", "within tolerance", "good", "Calibrated to within 0.02: "),
            (0.5, 0.0, 0.03, "consistent", "not known", "unclear", "Consistent with calibration, as far as 3,000 rows"),
            (0.5, 0.03, 0.05, "consistent", "not known", "unclear", "Consistent with calibration"),
            (
                0.01,
                0.004,
                0.015,
                "over-confident",
                "within tolerance",
                "unclear",
                "Slightly too extreme (over-confident):",
            ),
            (0.01, 0.01, 0.04, "over-confident", "not known", "unclear", "Too extreme (over-confident): "),
            (0.01, 0.03, 0.04, "over-confident", "beyond tolerance", "bad", "Too extreme (over-confident): "),
            (0.01, None, None, "over-confident", "not known", "unclear", "Too extreme (over-confident): "),
        ],
    )
    def test_decides_how_bad_it_is(self, pvalue, low, high, code, scale, how, words):
        truth, labels = binary(3000)
        p = Predictions(expit(1.3 * logit(truth)), labels)
        verdict = judge(p, omnibus(pvalue, slope=(pvalue, "too extreme", None)), size(0.01, low, high, "of something"))
        assert (verdict.code, verdict.size, state(verdict)) == (code, scale, how)
        assert verdict.headline.startswith(words)

    def test_of_a_class_that_gave_it_away_must_be_within_too(self):
        p = calibrated(n=3000, k=3)
        probs = p.probs * [1.0, 1.0, 1.6]
        bad = Predictions(probs / probs.sum(axis=1, keepdims=True), p.labels)
        by_class = omnibus(0.01, class_bias=(0.01, "too high", 2), **{"top-label_ece": (0.5, None, None)})
        verdict = judge(bad, by_class, size(0.005, 0.0, 0.01))
        assert limits(bad.one_vs_rest(2))[0] > 0.02
        assert (verdict.size, state(verdict)) == ("not known", "unclear")
        assert "The confidence is within the tolerance of 0.02. Class 2 against the rest" in verdict.explanation
        assert judge(p, by_class, size(0.005, 0.0, 0.01), 0.1).size == "within tolerance"

    def test_temperature_scaling_takes_the_red_card_off(self):
        model = sharpened(calibrated(n=8000, k=5), 0.6)
        raw, fixed = examine(model, 99, rng=0).verdict, examine(sharpened(model, 1 / 0.57), 99, rng=0).verdict
        assert (state(raw), raw.code) == ("bad", "over-confident")
        assert state(fixed) != "bad"

    @each("bad", [0, 1, -0.1, np.nan, "0.02", True])
    def test_tolerance_is_an_error_of_probabilities(self, bad):
        with pytest.raises(InputError, match="tolerance must be a number above 0 and below 1"):
            assess(calibrated(), tolerance=bad)

    def test_the_tolerance_is_that_of_the_caller(self):
        p = calibrated(n=4000)
        assert examine(p, 99, 0.05, rng=0).verdict.headline.startswith("Calibrated to within 0.05")
        assert examine(p, 99, 0.001, rng=0).verdict.code == "consistent"


@pytest.mark.parametrize("n", [1500, 6000])
def test_errors_just_above_the_tolerance_are_seldom_called_within_it(n):
    """At a true error of exactly the tolerance, the upper limit is below it in 2.5 of 100 data sets."""
    rng, claims, n_sets = np.random.default_rng(n), 0, 60
    for _ in range(n_sets):
        truth = rng.uniform(0.1, 0.8, n)
        bad = truth > 0.45  # One half of the rows errs, so that the mean of squares is that of the tolerance.
        p = Predictions(truth + np.where(bad, 0.05 * np.sqrt(2), 0.0), rng.random(n) < truth)
        claims += compare_with(0.05, *limits(p)) == "within tolerance"
    assert claims <= 6  # P(more than 6 of 60 at 2.5%) = 0.0007


def test_calibrated_rows_are_called_within_the_tolerance_if_there_are_enough():
    found = [compare_with(0.03, *limits(calibrated(n=8000, k=3, seed=seed))) for seed in range(20)]
    assert found.count("within tolerance") >= 19


def test_state_knows_codes_of_others():
    numbers = {"error": 0.1, "expected": 0.0, "detectable": 0.1, "gap": 0.0, "pvalue": 0.5, "level": 0.05}
    assert state(Verdict(code="sideways", headline="", explanation="", **numbers)) == "unclear"
    assert Revealed("", "", "", None, True).is_about_classes is False


@each("right", [251, 249, 1, 3, 127])
def test_shares_halfway_between_two_are_rounded_alike_however_they_are_summed(right):
    """251 of 400 are 62.75%."""
    direct, summed = right / 400, float(np.full(400, 1 / 400)[:right].sum())
    nudged = direct * (1 + 1e-15), direct * (1 - 1e-15), summed
    assert {percentages(value, 0.9)[0] for value in nudged} == {percentages(direct, 0.9)[0]}
    assert {percent(value, 1) for value in nudged} == {percent(direct, 1)}
    assert {number(value) for value in nudged} == {number(direct)}
    assert aligned([direct, -direct], sign=True)[0][1:] == aligned([direct, -direct], sign=True)[1][1:]
    assert {aligned([value])[0] for value in nudged} == {aligned([direct])[0]} == {number(direct)}
