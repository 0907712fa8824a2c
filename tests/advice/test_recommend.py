"""Advice about calibrators."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import entropy

from calibrant import InputError, Predictions, as_record, compare, recommend, to_frame
from calibrant.advice import RULE, shortlist
from calibrant.advice.choice import choose
from calibrant.advice.cross_fit import cross_fit, draw_folds
from calibrant.advice.scoring import Scoring
from calibrant.advice.sentences import decided_by, differences_in_words, disagreement, headline
from calibrant.assessment.verdict import examine
from calibrant.calibrators import (
    CALIBRATORS,
    Identity,
    StructuredScaling,
    TemperatureScaling,
    VectorScaling,
    calibrate,
    parse,
)
from calibrant.metrics import METRICS, NLL, Brier
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import Verdict
from calibrator_cases import EVERY_CALIBRATOR
from doc_tables import CASES, DOCS
from naming import each
from simulate import at_least, calibrated, draw_labels, sharpened

PAGE = DOCS / "calibrators.md"
OVER_CONFIDENT = sharpened(calibrated(n=600, k=3, seed=1), 0.4)


def shifted(n, k, seed, shift=2.0):
    """Predictions that favour class 0 too much: a temperature cannot repair them, a number for each class can."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = draw_labels(truth, rng)
    logits[:, 0] += shift
    return Predictions.from_logits(logits, labels)


class TestRule:
    def test_every_candidate_is_a_calibrator_that_fits_its_case(self):
        for row in RULE:
            assert row.cases
            assert set(row.cases) <= set(CASES)
            if "keep" in row.cases:
                assert parse(row.name).preserves_argmax

    @each("n, k", [(50, 2), (300, 2), (6000, 2), (60, 200), (500, 10), (20000, 10), (30000, 1000)])
    def test_candidates_come_in_the_order_of_the_table(self, n, k):
        for keep in (False, True):
            names = shortlist(n, k, keep_argmax=keep)
            assert names
            order = [[row.name for row in RULE].index(name.removesuffix(">guard")) for name in names]
            assert order == sorted(order)
            assert all(parse(name).preserves_argmax for name in names) or not keep

    def test_flexible_maps_need_rows_and_matrices_few_classes(self):
        assert "spline>guard" not in shortlist(199, 2)
        assert "spline>guard" in shortlist(200, 2)
        assert "iop-diag" not in shortlist(199, 10, keep_argmax=True)
        assert "iop-diag" in shortlist(200, 10, keep_argmax=True)
        assert "sms" in shortlist(500, 200)
        assert "sms" not in shortlist(50000, 201)

    @each("n, k", [(50, 2), (300, 3), (5000, 1000)])
    def test_a_stack_is_always_the_last(self, n, k):
        assert shortlist(n, k)[-1] == "stack"
        assert shortlist(n, k, keep_argmax=True)[-1] == "stack-order"

    def test_the_guard_comes_last_for_two_classes_and_first_for_impossible_labels(self):
        assert shortlist(10000, 2) == ("ts>guard", "platt>guard", "spline>guard", "svs", "stack")
        assert shortlist(60, 5, certain=True) == ("ts>guard", "svs>guard", "sms>guard", "stack>guard")
        assert shortlist(60, 5, impossible=True) == ("guard", "guard>ts", "guard>svs", "guard>sms", "stack")


class TestCrossFit:
    def test_folds_divide_the_rows_and_have_the_same_size(self):
        folds = draw_folds(OVER_CONFIDENT, 5, np.random.default_rng(0))
        assert np.sort(np.concatenate(folds)).tolist() == list(range(600))
        assert [len(rows) for rows in folds] == [120] * 5

    def test_rows_of_a_rare_class_are_in_different_folds(self):
        labels = np.repeat([0, 1, 2], [94, 3, 3])
        p = Predictions(np.full((100, 3), 1 / 3), labels)
        for seed in range(5):
            folds = draw_folds(p, 4, np.random.default_rng(seed))
            assert max(np.bincount(labels[rows], minlength=3)[1:].max() for rows in folds) == 1

    def test_chance_in_the_frequencies_of_classes_is_no_gain(self):
        """New rows of calibrated predictions lose by a number for each class; folds of equal shares would gain .025."""
        changes = []
        for seed in range(20):
            p = calibrated(n=100, k=10, seed=seed)
            folds = draw_folds(p, 5, np.random.default_rng(seed))
            after = cross_fit(StructuredScaling("vector"), p, folds, lambda: None).predictions
            changes.append(NLL()(after) - NLL()(p))
        # On 4000 new rows it is .033, with a standard error of .003; the fits of four folds have 80 rows, not 100.
        assert abs(np.mean(changes) - 0.033) < 4 * np.std(changes) / np.sqrt(20)

    def test_every_row_is_calibrated_by_a_fit_to_the_other_folds(self):
        folds = draw_folds(OVER_CONFIDENT, 4, np.random.default_rng(0))
        found = cross_fit(TemperatureScaling(), OVER_CONFIDENT, folds, lambda: None)
        rows = folds[2]
        others = np.setdiff1d(np.arange(600), rows)
        by_hand = TemperatureScaling().fit(OVER_CONFIDENT.probs[others], OVER_CONFIDENT.labels[others])
        expected = by_hand.predict_proba(OVER_CONFIDENT.probs[rows])
        assert found.predictions.probs[rows] == pytest.approx(expected, rel=1e-9)
        assert found.converged


class TestChoice:
    def choice(self, losses, level=0.95, **settings):
        return choose(losses, np.ones(200), Bootstrap(400), level, np.random.default_rng(0), **settings)

    def losses(self, *means, spread=0.5):
        noise = np.random.default_rng(0).normal(size=(len(means), 200)) * 0.05
        shared = np.random.default_rng(1).normal(size=200) * spread
        return {
            name: mean + row - row.mean() + shared for name, mean, row in zip("abcd", means, noise, strict=False)
        }  # fmt: skip

    def test_the_simplest_that_is_sure_to_be_near_the_best(self):
        losses = self.losses(1.0, 0.8, 0.799, 0.7985)
        found = self.choice(losses)
        assert (found.name, found.best) == ("d", "d")  # The standard error, .005, is larger than what may be lost.
        assert found.over_nothing["b"].high < 0 < found.behind_best["b"].value
        losses["b"] = losses["d"] + 0.0009
        losses["c"] = losses["d"] + 0.0011
        found = self.choice(losses)
        assert (found.name, found.best, found.alternative) == ("b", "d", None)

    def test_the_safe_one_is_preferred_to_what_may_be_better_by_luck(self):
        error = 0.05 * np.sqrt(2 / 200)
        lucky = self.losses(1.0, 0.8 - error, 0.8)
        assert self.choice(lucky).name == "b"
        found = self.choice(lucky, safe="c", miscalibrated=True)
        assert (found.name, found.best) == ("c", "b")

    def test_standard_errors_do_not_speak_against_the_safe_one_with_few_rows(self):
        simpler = self.losses(1.0, 0.7, 0.8)
        many = {name: np.tile(rows, 3)[:500] for name, rows in simpler.items()}
        few = {name: rows[:499] for name, rows in many.items()}

        def name(losses, **settings):
            weights = np.ones(len(losses["a"]))
            return choose(losses, weights, Bootstrap(400), 0.95, np.random.default_rng(0), **settings).name

        assert name(many, safe="c") == "b"
        assert name(many, safe="c", sure=np.inf) == "a"
        assert name(few, safe="c", miscalibrated=True) == "c"
        assert name(few, safe="c") == "a"  # However many standard errors the gain is.
        assert name(few) == name(few, miscalibrated=True) == "b"
        worse = few | {"c": few["a"] + 0.1}
        assert name(worse, safe="c", miscalibrated=True) == "c"
        assert name(worse | {"b": few["a"] + 0.1}, safe="c", miscalibrated=True) == "a"
        assert name(worse | {"c": few["a"] + np.inf}, safe="c", miscalibrated=True) == "b"
        impossible = few | {"a": few["a"] + np.inf}
        assert name(impossible, safe="c") == "c"  # A loss that is finite is better than one that is not.

    def test_what_a_test_has_found_makes_a_smaller_loss_enough(self):
        losses = self.losses(1.0, 0.999, 1.1)
        assert self.choice(losses).name == "a"
        assert self.choice(losses, miscalibrated=True).name == "b"
        assert self.choice(self.losses(1.0, 1.001), miscalibrated=True).name == "a"

    def test_a_simpler_one_that_is_clearly_behind_is_passed_over(self):
        found = self.choice(self.losses(1.0, 0.8, 0.6, 0.9))
        assert (found.name, found.best, found.alternative) == ("c", "c", "b")
        assert found.over_alternative.high < 0

    def test_nothing_is_chosen_if_nothing_beats_it(self):
        found = self.choice(self.losses(1.0, 0.999, 1.1, 1.0))
        assert (found.name, found.best, found.alternative) == ("a", "b", None)
        assert found.over_nothing["b"].low < 0 < found.over_nothing["b"].high

    def test_three_standard_errors_beat_nothing_without_a_test(self):
        for z, name in ((2.5, "a"), (3.6, "b")):
            assert self.choice(self.losses(1.0, 1.0 - z * 0.05 * np.sqrt(2 / 200))).name == name

    def test_what_is_finite_beats_infinity_and_infinity_beats_nothing(self):
        losses = self.losses(1.0, 0.9, 3.0)
        losses["a"][7] = losses["b"][7] = np.inf
        found = self.choice(losses)
        assert (found.name, found.best) == ("c", "c")
        assert "b" not in found.over_nothing  # Both infinite.
        assert found.over_nothing["c"].value == -np.inf
        losses["c"][7] = np.inf
        assert self.choice(losses).name == "a"


@cache
def advice_on_all_candidates():
    """Return what everybody gets who asks for nothing special, by fewer folds."""
    return recommend(OVER_CONFIDENT, n_folds=2, rng=0)


@pytest.fixture(scope="module")
def few_folds():
    """Let stacks have two folds instead of ten: the same code in less time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("stack", "stack-order"):
            patch.setitem(CALIBRATORS, name, EVERY_CALIBRATOR[name])
        yield


@pytest.mark.usefixtures("few_folds")
class TestAdvice:
    def test_over_confidence_calls_for_a_temperature(self):
        advice = recommend(OVER_CONFIDENT, keep_argmax=True, n_folds=2, rng=0)
        assert advice.name == "ts"
        assert advice.calibrator.temperature_ == pytest.approx(2.5, rel=0.2)
        assert advice.candidate("ts").changed == 0
        assert "Use ts" in advice.headline
        assert "changes no predicted class" in " ".join(advice.reasons)

    def test_the_numbers_are_those_of_the_out_of_fold_predictions(self):
        advice = recommend(OVER_CONFIDENT, candidates=["ts", "vs"], rng=3, n_resamples=50)
        folds = draw_folds(OVER_CONFIDENT, 5, np.random.default_rng(3))
        after = cross_fit(VectorScaling(), OVER_CONFIDENT, folds, lambda: None).predictions
        vs = advice.candidate("vs")
        assert vs.loss == NLL()(after)
        assert vs.ece == METRICS["ece"](after)
        assert vs.kde_ece == METRICS["kde-ece"](after)
        assert vs.changed == np.mean(after.predicted != OVER_CONFIDENT.predicted)
        assert advice.candidates[0].loss == pytest.approx(NLL()(OVER_CONFIDENT), rel=1e-12)
        assert vs.over_nothing.value == pytest.approx(NLL()(after) - NLL()(OVER_CONFIDENT), rel=1e-9)

    def test_a_class_that_is_predicted_too_often_calls_for_more_than_a_temperature(self):
        advice = recommend(shifted(400, 4, seed=0), n_folds=2, rng=0)
        assert advice.name in ("svs", "sms", "stack")
        assert advice.over_alternative is None or advice.over_alternative.value < 0
        assert advice.candidate(advice.name).changed > 0.1
        assert re.search(r"changes the predicted class of \d+\.\d\d% of the rows", " ".join(advice.reasons))
        kept = recommend(shifted(300, 4, seed=0), keep_argmax=True, n_folds=2, rng=0)
        assert all(candidate.changed == 0 for candidate in kept.candidates)

    def test_calibrated_predictions_are_mostly_left_alone(self):
        advised = (recommend(calibrated(n=150, k=2, seed=s), n_folds=2, rng=0, n_resamples=99) for s in range(12))
        advice = next(advised)
        # 2.5% in each of several correlated comparisons: with a chance of .05 each, more than 3 of 12 have one of .002.
        assert at_least(8, 11, (other.name == "identity" for other in advised))
        assert advice.name == "identity"
        assert "Leave the predictions as they are" in advice.headline
        assert isinstance(advice.calibrator, Identity)

    @pytest.mark.filterwarnings("ignore:every row is predicted correctly")
    def test_without_an_error_to_show_what_certainty_costs_two_classes_are_left_alone(self):
        rng = np.random.default_rng(0)
        log_odds = rng.uniform(5.0, 7.0, 600) * rng.choice([-1.0, 1.0], 600)  # One or two errors in 600 are expected.
        p = Predictions(1 / (1 + np.exp(-log_odds)), log_odds > 0)
        advice = recommend(p, candidates=["platt>guard"], rng=0, n_resamples=99)
        assert advice.candidate("platt>guard").loss < advice.candidates[0].loss / 2  # By many standard errors.
        assert advice.name == "identity"

    def test_a_fix_whose_loss_is_not_smaller_is_not_said_to_gain(self):
        advice = recommend(OVER_CONFIDENT, candidates=["ts"], rng=0, n_resamples=50)
        before, after = advice.candidates
        turned = replace(advice, candidates=(replace(before, loss=0.1), replace(after, loss=0.2)))
        said = headline(turned)
        assert said.startswith("Use ts: a test finds the predictions miscalibrated.")
        assert "0.1 before, 0.2 after" in said

    def test_the_fitted_calibrator_is_ready_for_new_rows(self):
        new = sharpened(calibrated(n=2000, k=3, seed=9), 0.4)
        advice = advice_on_all_candidates()
        assert NLL()(calibrate(advice.calibrator, new)) < NLL()(new) - 0.05
        direct = parse(advice.name).fit(OVER_CONFIDENT.probs, OVER_CONFIDENT.labels)
        assert advice.calibrator.predict_proba(new.probs) == pytest.approx(direct.predict_proba(new.probs), rel=1e-9)

    def test_labels_called_impossible_are_made_possible_first(self):
        probs = np.array(calibrated(n=300, k=3, seed=4).probs)
        labels = draw_labels(probs, np.random.default_rng(0))
        probs[probs < 0.15] = 0.0
        p = Predictions(probs / probs.sum(axis=1, keepdims=True), labels)
        advice = recommend(p, n_folds=2, rng=0)
        assert advice.candidates[0].loss == np.inf
        assert advice.name == "stack" or advice.name.startswith("guard")
        assert np.isfinite(advice.candidate(advice.name).loss)
        assert "probability 0" in " ".join(advice.reasons)
        assert "has to be mixed in first, which" in " ".join(advice.reasons)
        assert "changes by -inf: one of the two losses is infinite" in " ".join(advice.reasons)
        hopeless = recommend(p, candidates=["ts"], rng=0)
        assert hopeless.name == "identity"
        assert "infinite with every" in hopeless.headline
        assert 'should be mixed in first ("guard")' in " ".join(hopeless.reasons)
        assert "nan" not in str(as_record(hopeless)).lower()

    def test_rows_without_errors_never_lead_to_certainty(self):
        p = calibrated(n=200, k=3, seed=5)
        with pytest.warns(UserWarning, match="every row is predicted correctly"):
            right = Predictions(p.probs, p.predicted)
        advice = recommend(right, n_folds=2, rng=0)
        assert advice.name.endswith("guard")
        assert advice.calibrator.predict_proba(np.eye(3)).min() >= 1 / (201 * 3) * 0.999
        assert "contradicts certainty" in " ".join(advice.reasons)

    def test_rows_of_weight_0_do_not_count_and_weights_do(self):
        weights = np.r_[np.ones(150), np.zeros(450)]
        part = Predictions(OVER_CONFIDENT.probs, OVER_CONFIDENT.labels, weights)
        parts = (part, OVER_CONFIDENT.take(np.arange(150)))
        one, two = (recommend(p, n_folds=2, rng=0, n_resamples=50) for p in parts)
        assert as_record(one) == as_record(two)
        heavy = Predictions(OVER_CONFIDENT.probs, OVER_CONFIDENT.labels, np.where(OVER_CONFIDENT.labels == 0, 3.0, 1.0))
        loss = recommend(heavy, candidates=["ts"], rng=0, n_resamples=50).candidates[0].loss
        assert loss == pytest.approx(NLL()(heavy), rel=1e-12)

    def test_the_brier_score_may_decide_and_a_calibration_error_may_not(self):
        advice = recommend(OVER_CONFIDENT, candidates=["ts", "svs"], score="brier", rng=0, n_resamples=50)
        assert advice.candidates[0].loss == pytest.approx(Brier()(OVER_CONFIDENT), rel=1e-12)
        assert "Brier score" in advice.headline
        with pytest.raises(InputError, match=r'"nll" or "brier", but is .ece.\. .*all the same'):
            recommend(OVER_CONFIDENT, score="ece")

    def test_the_same_seed_gives_the_same_advice(self):
        """Also with a stack among the candidates: see rows of weight 0."""
        one, two = (recommend(OVER_CONFIDENT, candidates=["ts", "svs"], rng=0, n_resamples=99) for _ in range(2))
        assert as_record(one) == as_record(two)

    def test_progress_ends_at_the_total(self):
        seen = []
        recommend(
            OVER_CONFIDENT, candidates=["ts"], n_folds=3, n_resamples=20, progress=lambda *x: seen.append(x), rng=0
        )
        assert seen == [(i, 7) for i in range(1, 8)]  # Three folds, two candidates, the verdict and the choice.

    def test_own_calibrators_may_be_candidates(self):
        advice = recommend(OVER_CONFIDENT, candidates={"mine": TemperatureScaling()}, rng=0, n_resamples=50)
        assert [candidate.name for candidate in advice.candidates] == ["identity", "mine"]
        assert advice.name == "mine"

    def test_as_a_frame_every_candidate_is_a_row(self):
        frame = to_frame(recommend(OVER_CONFIDENT, candidates=["ts", "ets"], rng=0, n_resamples=20), backend="pandas")
        assert frame["name"].tolist() == ["identity", "ts", "ets"]
        assert {"loss", "ece", "kde_ece", "changed"} <= set(frame.columns)

    @each(
        "settings, words",
        [
            ({"keep_argmax": True, "candidates": ["ts", "vs"]}, "'vs' can change them"),
            ({"candidates": ["tss"]}, "'tss' is not one"),
            ({"n_folds": 1}, "n_folds must be at least 2, but is 1"),
            ({"n_folds": 601}, "cross-validation in 601 folds needs at least 601 rows, but there are 600"),
            ({"level": 95}, "level must be"),
            ({"n_resamples": 0}, "n_resamples"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, settings, words):
        with pytest.raises(InputError, match=words):
            recommend(OVER_CONFIDENT, **settings)

    def test_too_few_rows_are_refused_with_advice(self):
        with pytest.raises(InputError, match=r"at least 50 rows .* there are 49.*Temperature scaling"):
            recommend(OVER_CONFIDENT.take(np.arange(49)))

    def test_names_are_not_taken_for_a_switch(self):
        with pytest.raises(TypeError, match=r"keep_argmax must be True or False, but is \['ts'\]. Pass names as cand"):
            recommend(OVER_CONFIDENT, ["ts"])

    def test_one_name_is_not_a_sequence_of_names(self):
        with pytest.raises(TypeError, match=r"Pass \['ts'\]"):
            recommend(OVER_CONFIDENT, candidates="ts")


class TestPage:
    def test_every_calibrator_has_a_formula(self):
        section = PAGE.read_text(encoding="utf-8").split("## What they compute")[1].split("\n## ")[0]
        assert re.findall(r"^\| `(.*?)` \|", section, flags=re.MULTILINE) == list(CALIBRATORS)

    def test_what_it_says_of_0_and_1_is_so(self):
        section = PAGE.read_text(encoding="utf-8").split("## Exact 0 and 1")[1].split("\n## ")[0]
        makes = set(re.findall(r"`([a-z-]+)`", section.split("For two classes, ")[1].split(" give 0 and 1")[0]))
        never = set(re.findall(r"`([a-z-]+)`", section.split("dominates the mean. ")[1].split("never")[0]))
        p = calibrated(n=400, k=2, seed=0)
        sure = p.probs.max(axis=1) > 0.8
        labels = np.where(sure, p.predicted, p.labels)
        fits = {name: build().fit(p.probs, labels) for name, build in EVERY_CALIBRATOR.items()}
        assert {name for name, one in fits.items() if one.predict_proba(p.probs).min() == 0} == makes
        assert {name for name, one in fits.items() if one.predict_proba(np.eye(2)).min() > 1e-9} == never

    def test_what_it_says_of_impossible_labels_and_of_raw_logits_is_so(self):
        text = PAGE.read_text(encoding="utf-8")
        harmed = text.split("**In fitting**")[1].split("again. ")[1].split(" say so by")[0]
        assert set(re.findall(r"`([a-z-]+)`", harmed)) == {
            n for n in CALIBRATORS if CALIBRATORS[n]().sensitive_to_zeros
        }
        section = text.split("## Raw logits")[1].split("```python")[0]
        takers = [name for name in CALIBRATORS if CALIBRATORS[name]().accepts_raw_logits and name != "iop-oi"]
        assert set(re.findall(r"^\| `(.*?)` \|", section, flags=re.MULTILINE)) == set(takers)

    def test_the_examples_run(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
        exec("\n".join(blocks), {})  # noqa: S102 (our own page)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("Use ts: ")
        assert lines[2:] == ["temperature 3.0", "logits: 0.94", "raw-logits: 0.59", "[False, True]"]
        assert (tmp_path / "rows.png").stat().st_size > 5000


@cache
def advice_of_one_candidate():
    return recommend(OVER_CONFIDENT, candidates=["ts"], n_resamples=99, rng=0)


@cache
def advice_of_few_rows():
    return recommend(sharpened(calibrated(n=300), 0.5), candidates=["ts"], n_resamples=99, rng=0)


def changed(difference, value, low, high):
    return replace(difference, value=value, low=low, high=high, is_significant=low * high > 0)


class TestWhatDecided:
    """The reasons name the test with its p-value, or the standard errors, and agree with the limits beside them."""

    def advice(self, name, *, low, high, n_classes=2, best="ts"):
        advice = advice_of_one_candidate()
        nothing, ts = advice.candidates
        change = changed(ts.over_nothing, (low + high) / 2, low, high)
        candidates = (nothing, replace(ts, over_nothing=change))
        return replace(advice, name=name, best=best, candidates=candidates, n_classes=n_classes)

    def verdict(self, pvalue):
        return TestDisagreement().verdict(pvalue)

    def test_a_test(self):
        clear, unclear = (self.advice("ts", low=-0.02, high=high) for high in (-0.01, 0.01))
        found = "What decided: the omnibus test finds the predictions miscalibrated (p = 0.02): a smaller loss counts"
        assert decided_by(clear, self.verdict(0.02)) == f"{found}."
        assert decided_by(unclear, self.verdict(0.02)) == f"{found}, though the interval of its change covers 0."
        assert "(p ≤ 0.01)" in decided_by(clear, self.verdict(0.01), floor=0.01)

    def test_no_test(self):
        sure = decided_by(self.advice("ts", low=-0.02, high=-0.01), self.verdict(0.5))
        assert sure == "What decided: its loss is smaller by more than three standard errors."
        two, three = (self.advice("identity", low=-0.02, high=-0.01, n_classes=k) for k in (2, 3))
        found = "What decided: the omnibus test finds no miscalibration (p = 0.5), so a smaller loss does not count"
        assert decided_by(two, self.verdict(0.5)) == f"{found}."
        assert decided_by(three, self.verdict(0.5)).startswith(f"{found}, unless it is smaller by more than three")
        assert decided_by(self.advice("identity", low=0, high=1, best="identity"), self.verdict(0.5)) == ""

    def test_few_rows(self):
        clear = self.advice("ts", low=-0.02, high=-0.01)
        nothing, ts = clear.candidates
        stack = replace(ts, name="stack", behind_best=changed(ts.over_nothing, 0.007, -0.009, 0.02))
        few, many = (
            replace(clear, name="stack", candidates=(nothing, ts, stack), n_samples=n, alternative="ts")
            for n in (499, 500)
        )
        assert decided_by(few, self.verdict(0.02)) == (
            "What decided: the omnibus test finds the predictions miscalibrated (p = 0.02), and 499 rows are too few "
            "to choose a candidate by its loss."
        )
        assert decided_by(many, self.verdict(0.02)).endswith("a smaller loss counts.")
        said = differences_in_words(few)[1]
        assert said.startswith("With fewer than 500 rows only stack can be recommended")
        assert said.endswith("Here it is that of ts: the difference is +0.007 (95% interval -0.009 to +0.02).")
        clearly = replace(stack, behind_best=changed(stack.behind_best, 0.007, 0.002, 0.02))
        said = differences_in_words(replace(few, candidates=(nothing, ts, clearly)))[1]
        assert said.endswith("(95% interval +0.002 to +0.02). If more rows confirm this, use ts.")
        own = differences_in_words(replace(few, best="stack"))[1]
        assert own.endswith("Here it is its own.")
        assert "standard errors" not in own
        assert "certain" not in own
        assert "With fewer than" not in differences_in_words(many)[1]

    def test_groups_are_held_to_two_standard_errors(self):
        advice = self.advice("ts", low=-0.02, high=-0.01)
        nothing, ts = advice.candidates
        groups = replace(advice, name="groups", best="groups", candidates=(nothing, ts, replace(ts, name="groups")))
        words = "What decided: its loss is smaller than that of the best other candidate by more than two standard"
        assert all(decided_by(groups, self.verdict(p)).startswith(words) for p in (0.02, 0.5))

    def test_a_fix_of_groups_is_not_said_to_be_compared_with_simpler_ones(self):
        advice = self.advice("ts", low=-0.02, high=-0.01)
        nothing, ts = advice.candidates
        others = [replace(ts, name=name, loss=ts.loss + 0.1) for name in ("ts", "svs", "stack")]
        shown = replace(advice, n_samples=600, name="groups", best="groups")
        shown = replace(shown, candidates=(nothing, *others, replace(ts, name="groups")))
        assert differences_in_words(shown)[1] == "It has the smallest loss of those that improve on doing nothing."
        svs = replace(shown, name="svs", best="svs", candidates=(nothing, *others))
        assert differences_in_words(svs)[1].endswith("as good as stack, with which they are compared.")

    def test_a_gain_whose_interval_excludes_0_is_not_called_chance(self):
        gain, chance = (self.advice("identity", low=-0.02, high=high) for high in (-0.01, 0.01))
        assert "a test finds nothing to fix, and a smaller log loss alone is not enough" in headline(gain)
        assert "chance" not in " ".join(differences_in_words(gain))
        assert "ts does not lower the log loss by more than chance" in headline(chance)
        assert "which could be chance" in " ".join(differences_in_words(chance))

    def test_a_simpler_one_is_not_beyond_doubt_where_the_interval_reaches_further(self):
        advice = self.advice("ts", low=-0.02, high=-0.01)
        nothing, ts = advice.candidates
        for high, more in ((0.0009, False), (0.00122, True)):
            behind = changed(ts.over_nothing, 0.0002, -0.000723, high)
            other = replace(ts, name="other")
            both = replace(advice, best="other", candidates=(nothing, replace(ts, behind_best=behind), other))
            said = differences_in_words(both)[1]
            assert "with two standard errors to spare, is at most 0.001 above that of the best, other" in said
            assert said.endswith("reaches further.") == more

    def test_a_simpler_one_is_compared_with_the_stack_also_where_another_has_the_smallest_loss(self):
        advice = replace(self.advice("ts", low=-0.02, high=-0.01), n_samples=600, best="svs")
        nothing, ts = advice.candidates
        ts = replace(ts, behind_best=changed(ts.over_nothing, 0.002, 0.001, 0.003))
        svs, stack = (replace(ts, name=name, behind_best=None) for name in ("svs", "stack"))
        said = differences_in_words(replace(advice, candidates=(nothing, ts, svs, stack)))[1]
        assert "is at most 0.001 above that of stack, with which others are compared." in said
        assert said.endswith(
            "The smallest loss is that of svs: the difference is +0.002 (95% interval +0.001 to +0.003)."
        )
        lost = replace(stack, loss=nothing.loss + 1)
        assert (
            "above that of the best, svs"
            in differences_in_words(replace(advice, candidates=(nothing, ts, svs, lost)))[1]
        )

    def test_is_among_the_reasons(self):
        reasons = advice_of_one_candidate().reasons
        assert any(
            said.startswith("What decided: the omnibus test finds the pred") and "(p ≤ 0.01)" in said
            for said in reasons
        )


class TestDisagreement:
    """Advice and verdict seem to differ where one asks for a fix and the other does not: both say why."""

    def advice(self, name, *, accuracy=0.5):
        advice = advice_of_few_rows()
        chosen = replace(advice.candidate("ts"), accuracy=accuracy)
        return replace(advice, name=name, candidates=(advice.candidates[0], chosen))

    def verdict(self, pvalue, size="not known"):
        numbers = {"error": 0.01, "expected": 0.0, "detectable": 0.0, "gap": 0.0, "pvalue": pvalue, "level": 0.05}
        words = {"code": "over-confident", "headline": "", "explanation": "", "gave_away": "the slope", "size": size}
        return Verdict(**numbers, **words)

    def test_is_silent_where_both_agree(self):
        assert disagreement(self.advice("ts"), self.verdict(0.01)) == ""
        assert disagreement(self.advice("identity"), self.verdict(0.5)) == ""
        advice = advice_of_few_rows()
        assert (advice.name, advice.disagreement) == ("ts", "")

    def test_real_but_small_differences_are_left_alone(self):
        words = disagreement(self.advice("identity"), self.verdict(0.01, "within tolerance"))
        assert words.startswith(
            "The verdict finds the predictions over-confident (p = 0.01; what revealed it: the slope)"
        )
        assert "within the tolerance of 0.02: the difference is real, but too small" in words

    def test_candidates_that_do_not_help_are_told(self):
        words = disagreement(self.advice("identity"), self.verdict(0.01, "beyond tolerance"))
        assert "no candidate corrects that" in words

    @pytest.mark.parametrize("accuracy, words", [(0.99, "accuracy, which no test"), (0.0, "a paired difference")])
    def test_a_gain_that_the_test_does_not_see(self, accuracy, words):
        found = disagreement(self.advice("ts", accuracy=accuracy), self.verdict(0.5))
        assert found.startswith("The verdict finds no miscalibration (p = 0.5): ")
        assert words in found

    def test_is_the_last_reason_and_speaks_of_the_verdict_of_assess(self):
        p = calibrated(n=800, k=4)
        order, rows = np.argsort(-p.probs, axis=1), np.arange(800)[:, None]
        probs = p.probs.copy()
        probs[rows, order[:, 1:]] = p.probs[rows, np.roll(order[:, 1:], 1, axis=1)]
        rotated = Predictions(probs, p.labels)
        advice = recommend(rotated, candidates=[], n_resamples=99, rng=0)
        assert advice.name == "identity"
        assert advice.reasons[-1] == advice.disagreement
        pvalue = examine(rotated, 99, rng=0).verdict.pvalue
        assert f"p ≤ {pvalue:.2g}; what revealed it: the runners-up" in advice.disagreement  # No redraw reached it.


def test_the_limits_of_a_difference_are_those_of_compare():
    """On a page both stand below each other."""
    p = sharpened(calibrated(n=400), 0.4)
    other = sharpened(p, 2.0)
    losses = {"identity": NLL().per_row(p), "ts": NLL().per_row(other)}
    rng = np.random.default_rng(0)
    advised = choose(losses, p.weights, Bootstrap(99), 0.95, rng, miscalibrated=True).over_nothing["ts"]
    compared = compare({"p": p, "other": other}, ["nll"], rng=0).entry("other", "nll").difference
    assert (advised.low, advised.high) == pytest.approx((compared.low, compared.high), rel=1e-12)
    assert advised.pvalue == pytest.approx(compared.pvalue, rel=1e-9)


def test_with_rare_events_only_a_part_of_what_there_is_to_gain_is_given_up_for_simplicity():
    plan = Scoring("nll", 5, 99, 0.95)
    rare = Predictions(np.full(20_000, 0.001), (np.arange(20_000) < 20).astype(int))
    shares = np.array([19_981, 21]) / 20_002
    assert plan.tolerance(rare) == pytest.approx(0.001 * entropy(shares) / np.log(2), rel=1e-12)
    assert plan.tolerance(rare) < 0.002 * NLL()(rare)
    even = Predictions(np.full(20, 0.5), [0, 1] * 10)
    many = Predictions(np.full((30, 3), 1 / 3), [0, 1, 2] * 10)
    assert plan.tolerance(even) == plan.tolerance(many) == 0.001
    assert replace(plan, score="brier").tolerance(even) == 0.001
    assert replace(plan, score="brier").tolerance(rare) == pytest.approx(0.004 * shares.prod(), rel=1e-12)
    heavy = Predictions([0.5, 0.5, 0.5], [1, 0, 0], weights=[2.0, 1.0, 1.0])
    assert plan.tolerance(heavy) == pytest.approx(0.001)


def test_one_rare_shift_is_not_taken_for_a_temperature():
    """All log-odds are 1 too high: with 0.2 % of events a temperature repairs it badly, by less than 0.001."""
    rng = np.random.default_rng(0)
    z = rng.normal(-7.5, 1.6, 30_000)
    p = Predictions(1 / (1 + np.exp(-z - 1)), (rng.random(30_000) < 1 / (1 + np.exp(-z))).astype(int))
    advice = recommend(p, candidates=["ts", "platt"], n_resamples=99, rng=0)
    assert advice.name == "platt"
    assert advice.candidate("ts").loss - advice.candidate("platt").loss < 0.0005
    assert advice.tolerance == Scoring("nll", 5, 99, 0.95).tolerance(p) < 0.0001
