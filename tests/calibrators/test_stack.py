"""Stacked calibration: folds, weights against a general solver, what it gains, and odd data."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from calibrant import DataWarning, InputError, Predictions
from calibrant.calibrators import (
    Compose,
    Ensemble,
    Identity,
    LaplaceGuard,
    MatrixScaling,
    OrderPreserving,
    StackedCalibration,
    StructuredScaling,
    TemperatureScaling,
    Uniform,
    VectorScaling,
    calibrate,
    parse,
)
from calibrant.calibrators.combinations.folds import fold_masses
from calibrant.calibrators.combinations.shared_stages import SharedStages
from calibrant.calibrators.combinations.stack import default_members
from calibrant.metrics import NLL
from naming import each
from properties import examples
from simulate import calibrated, draw_labels, sharpened


def rows_of(n=200, k=3, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), n)
    return np.log(probs), draw_labels(probs, rng), np.ones(n)


class TestFolds:
    @each("k", [2, 5, 60])
    def test_every_row_is_in_one_fold_and_folds_have_the_same_size(self, k):
        log_probs, labels, weights = rows_of(230, k)
        masses = fold_masses(log_probs, labels, weights, 5)
        assert set(np.unique(masses)) == {0.0, 1.0}
        assert masses.sum(axis=0).tolist() == [1.0] * 230
        assert masses.sum(axis=1).tolist() == [46.0] * 5

    @pytest.mark.parametrize("scale", [1e-3, 1.0])
    def test_rows_of_a_rare_class_are_in_different_folds(self, scale):
        log_probs, labels, weights = rows_of(130, 60)
        masses = fold_masses(log_probs, labels, scale * weights, 3) / scale
        rare = [c for c in range(60) if 2 <= (labels == c).sum() <= 3]
        assert len(rare) > 10
        assert all(masses[:, labels == c].sum(axis=1).max() == 1 for c in rare)

    def test_neither_the_order_of_rows_nor_that_of_classes_matters(self):
        log_probs, labels, weights = rows_of(300, 4)
        rng = np.random.default_rng(0)
        rows, classes = rng.permutation(300), rng.permutation(4)
        expected = fold_masses(log_probs, labels, weights, 5)
        assert np.array_equal(fold_masses(log_probs[rows], labels[rows], weights, 5), expected[:, rows])
        renamed = np.argsort(classes)[labels]
        assert np.array_equal(fold_masses(log_probs[:, classes], renamed, weights, 5), expected)

    @examples(40)
    @given(st.lists(st.integers(1, 7), min_size=1, max_size=30), st.integers(2, 6), st.booleans())
    def test_a_weight_is_dealt_like_copies(self, counts, n_folds, alike):
        log_probs, labels, _ = rows_of(len(counts), 3)
        if alike:  # Rows that cannot be told apart, as a histogram or a tree makes them.
            log_probs, labels = np.repeat(log_probs[:1], len(counts), axis=0), np.zeros(len(counts), dtype=int)
        masses = fold_masses(log_probs, labels, np.array(counts, dtype=float), n_folds)
        rows = np.repeat(np.arange(len(counts)), counts)
        copies = fold_masses(log_probs[rows], labels[rows], np.ones(len(rows)), n_folds)
        summed = np.stack([np.bincount(rows, fold, len(counts)) for fold in copies])
        if alike:
            assert masses.sum(axis=1) == pytest.approx(summed.sum(axis=1), abs=1e-12)
        else:
            assert masses == pytest.approx(summed, abs=1e-12)

    @each("scale", [1e-9, 1 / 300, 0.3])
    def test_small_weights_make_the_same_folds(self, scale):
        log_probs, labels, weights = rows_of(300)
        expected = fold_masses(log_probs, labels, weights, 5)
        assert np.array_equal(fold_masses(log_probs, labels, scale * weights, 5), scale * expected)

    def test_folds_are_as_good_as_drawn_at_random(self):
        # What is left out must not resemble what is kept: the variance of a fold's mean is that of random rows.
        excess = []
        for seed in range(120):
            log_probs, labels, weights = rows_of(100, 2, seed)
            # Neither the score of the label nor how often a class occurs may be alike in all folds.
            both = np.column_stack([log_probs[np.arange(100), labels], labels])
            means = fold_masses(log_probs, labels, weights, 5) @ both / 20
            excess.append(means.var(axis=0) / (both.var(axis=0, ddof=1) / 20 * (1 - 20 / 100)))
        assert (np.abs(np.mean(excess, axis=0) - 1) < 4 * np.std(excess, axis=0) / np.sqrt(120)).all()


class TestSharedStages:
    def test_each_stage_is_fitted_once_and_the_members_are_what_they_are_alone(self):
        log_probs, labels, weights = rows_of(400, 4)
        names = ["ts", "svs", "svs>iop-diag", "svs>iop-diag>guard", "iop-diag"]
        shared = SharedStages([parse(name) for name in names])
        shared.learn(log_probs, labels, weights)
        assert len(shared.fits) == 5
        for place, (name, result) in enumerate(zip(names, shared.transform(log_probs), strict=True)):
            alone = parse(name).learn(log_probs, labels, weights)
            assert result == pytest.approx(alone.transform(log_probs), abs=1e-12)
            assert shared.fitted(place).transform(log_probs) == pytest.approx(result, abs=1e-12)

    @each("name", ["ts", "svs", "sms", "iop-diag", "iop-oi", "ets", "spline", "sms>iop-diag", "iop-deep"])
    def test_a_search_that_begins_near_the_end_finds_the_same(self, name):
        log_probs, labels, weights = rows_of(500, 3)
        whole, part = SharedStages([parse(name)]), np.arange(500) % 5 > 0
        whole.learn(log_probs, labels, weights)
        again = SharedStages(whole.members, near=whole)
        again.learn(log_probs[part], labels[part], weights[part])
        alone = parse(name).learn(log_probs[part], labels[part], weights[part])
        assert np.exp(next(again.transform(log_probs))) == pytest.approx(np.exp(alone.transform(log_probs)), abs=1e-6)
        before = parse(name).learn(log_probs, labels, weights).transform(log_probs)
        assert next(whole.transform(log_probs)) == pytest.approx(before, abs=1e-12)  # The first fits are left alone.


class TestWeights:
    def members(self):
        return [TemperatureScaling(), VectorScaling(), Uniform()]

    def test_they_are_the_best_for_predictions_by_fits_to_the_other_folds(self):
        p = sharpened(calibrated(n=300, k=3, seed=2), 0.5)
        weights = np.random.default_rng(0).integers(1, 3, 300).astype(float)
        fitted = StackedCalibration(self.members(), n_folds=4, prior=60.0).fit(p.probs, p.labels, weights)
        likelihoods, masses = [], []
        for held_out in fold_masses(p.log_probs, p.labels, weights, 4):
            fits = [m.fit(p.probs, p.labels, weights - held_out) for m in self.members()]
            rows = held_out > 0
            likelihoods.append(np.stack([m.predict_proba(p.probs)[rows, p.labels[rows]] for m in fits], axis=1))
            masses.append(held_out[rows])
        likelihoods, masses = np.vstack(likelihoods), np.concatenate(masses)
        pseudo = np.full((3, 3), np.exp(-7)) + (1 - np.exp(-7)) * np.eye(3)

        def loss(logits):
            w = np.exp(logits) / np.exp(logits).sum()
            return -masses @ np.log(likelihoods @ w) - 60 / weights.sum() * np.log(pseudo @ w).sum()

        best = min(minimize(loss, start, method="BFGS").fun for start in np.eye(3))
        found = np.zeros(3)
        kinds = [type(m) for m in self.members()]
        for w, member in zip(fitted.weights_, fitted.calibrators_, strict=True):
            found[kinds.index(type(member))] = w
        assert loss(np.log(np.maximum(found, 1e-12))) == pytest.approx(best, abs=1e-4)
        assert fitted.converged_
        assert fitted.gradient_norm_ < 1e-10

    def test_the_members_are_fitted_to_all_rows(self):
        p = sharpened(calibrated(n=300, k=3, seed=2), 0.5)
        fitted = StackedCalibration(self.members()).fit(p.probs, p.labels)
        alone = TemperatureScaling().fit(p.probs, p.labels)
        assert fitted.calibrators_[0].temperature_ == alone.temperature_

    def test_a_member_that_fits_too_closely_has_no_weight(self):
        p = sharpened(calibrated(n=120, k=6, seed=0), 0.5)
        fitted = StackedCalibration([TemperatureScaling(), MatrixScaling()], prior=0).fit(p.probs, p.labels)
        assert [type(m) for m in fitted.calibrators_] == [TemperatureScaling]
        assert fitted.weights_.tolist() == [1.0]

    def test_the_prior_makes_weights_equal_and_its_effect_vanishes(self):
        p = sharpened(calibrated(n=4000, k=3, seed=2), 0.5)
        few = p.take(np.arange(40))
        members = [Identity(), TemperatureScaling()]
        free, drawn, strong = (
            StackedCalibration(members, prior=a).fit(few.probs, few.labels).weights_[-1] for a in (0.0, 100.0, 1e9)
        )
        assert abs(drawn - 0.5) < abs(free - 0.5)
        assert strong == pytest.approx(0.5, abs=1e-6)
        one, other = (
            StackedCalibration(members, prior=a).fit(p.probs, p.labels).predict_proba(p.probs) for a in (0.0, 100.0)
        )
        assert one == pytest.approx(other, abs=2e-3)

    def test_without_rows_the_prior_makes_weights_equal(self):
        found = StackedCalibration().best_weights(np.empty((0, 3)), np.empty(0), 10.0)
        assert found.weights == pytest.approx(np.full(3, 1 / 3), abs=1e-6)


class TestMap:
    """What follows the mixture."""

    @staticmethod
    def over_confident(k, n=2000):
        return sharpened(calibrated(n=n, k=k, seed=1), 0.5)

    def test_it_is_the_increasing_map_of_mixtures_of_unseen_rows(self):
        p = self.over_confident(4)
        fitted = StackedCalibration([Identity(), Uniform()]).fit(p.probs, p.labels)
        mixed = fitted.weights_[0] * p.probs + fitted.weights_[1] / 4  # Nothing was fitted: no row was seen.
        alone = OrderPreserving(smoothness=30.0).fit(mixed, p.labels)
        assert fitted.predict_proba(p.probs) == pytest.approx(alone.predict_proba(mixed), abs=1e-6)

    def test_two_classes_have_none(self):
        p = self.over_confident(2)
        assert isinstance(StackedCalibration().fit(p.probs, p.labels).map_, Identity)

    def test_it_sharpens_a_mixture_that_is_not_sharp_enough(self):
        p = calibrated(n=3000, k=4, seed=1)
        dull = [Compose([Identity(), Ensemble([Identity(), Uniform()])]), Uniform()]  # Neither can be sharper than p.
        blurred = Predictions(0.5 * p.probs + 0.125, p.labels)
        fitted = StackedCalibration(dull).fit(blurred.probs, blurred.labels)
        assert NLL()(calibrate(fitted, blurred)) < NLL()(blurred) - 0.05


def curved(n, seed, k=5):
    """Classes differ in bias, and over-confidence begins only with high confidence."""
    rng = np.random.default_rng(seed)
    logits = 2.5 * rng.normal(size=(n, k))
    truth = np.exp(logits + np.linspace(-0.6, 0.6, k))
    truth /= truth.sum(axis=1, keepdims=True)
    z = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return Predictions.from_logits(np.where(z < -2, 2.5 * z + 3, z), draw_labels(truth, rng))


def confused(n, seed, k=6):
    """Each score is a mixture of the right ones of two classes, as of a model that separates them badly."""
    rng = np.random.default_rng([seed, n])
    logits = 1.5 * rng.normal(size=(n, k))
    truth = np.exp(logits)
    blurred = logits + 0.5 * np.roll(logits, 1, axis=1)
    return Predictions.from_logits(blurred, draw_labels(truth / truth.sum(axis=1, keepdims=True), rng))


class TestStack:
    def test_it_is_about_as_good_as_the_best_member_whichever_that_is(self):
        new = [
            curved(6000, 100),
            sharpened(calibrated(n=6000, k=5, seed=100), 0.5),
            calibrated(n=6000, k=5, seed=100),
        ]
        for i, n in ((0, 300), (1, 300), (2, 300), (0, 2000)):
            known = [curved(n, 1), sharpened(calibrated(n=n, k=5, seed=1), 0.5), calibrated(n=n, k=5, seed=1)][i]
            losses = {
                name: NLL()(calibrate(parse(name).fit(known.probs, known.labels), new[i]))
                for name in ("identity", "sms", "iop-deep", *default_members(5, n), "stack")
            }
            best = min(losses, key=losses.get)
            assert losses["stack"] < losses[best] + (0.008 if n == 300 else 0.001), (i, n, losses)

    def test_a_confusion_of_classes_is_corrected_further_than_by_the_penalties_of_sms(self):
        known, new = confused(800, 0), confused(3000, 1)
        losses = {
            name: NLL()(calibrate(parse(name).fit(known.probs, known.labels), new)) for name in ("ts", "sms", "stack")
        }
        assert losses["sms"] < losses["ts"] - 0.01
        assert losses["stack"] < losses["sms"] - 0.005

    @each("n", [1, 3, 10])
    @each("k", [2, 3, 12])
    def test_few_rows_and_missing_classes_have_a_result(self, n, k):
        log_probs, labels, weights = rows_of(n, k, seed=n)
        for keep in (False, True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # Fewer rows than classes.
                fitted = StackedCalibration(keep_argmax=keep, n_folds=5).fit(np.exp(log_probs), labels, weights)
            result = fitted.predict_proba(np.exp(log_probs))
            assert np.abs(result.sum(axis=1) - 1).max() < 1e-12
            assert result.min() > 0

    def test_labels_called_impossible_are_made_possible(self):
        probs = np.array(calibrated(n=300, k=3, seed=4).probs)
        labels = draw_labels(probs, np.random.default_rng(0))
        probs[probs < 0.15] = 0.0
        probs /= probs.sum(axis=1, keepdims=True)
        fitted = StackedCalibration().fit(probs, labels)
        assert fitted.zeros_.share_ == pytest.approx(1 / 301)
        assert np.isfinite(NLL()(Predictions(fitted.predict_proba(probs), labels)))
        assert StackedCalibration().fit(np.full((9, 3), 1 / 3), [0, 1, 2] * 3).zeros_.share_ == 0

    def test_members_depend_on_the_numbers_of_classes_and_rows(self):
        for name in (*default_members(2, 1000), *default_members(2, 1000, keep_argmax=True)):  # All have a bound.
            assert name == "svs" or isinstance(parse(name.split(">")[-1]), LaplaceGuard)
        assert "spline>guard" in default_members(2, 200)
        assert "spline>guard" not in default_members(2, 199)
        assert "iop-diag>joint" in default_members(200, 2000)
        assert "iop-diag>joint" not in default_members(200, 1999)
        assert {"sms", "iop-deep"} <= set(default_members(200, 1999))
        assert not {"sms", "iop-deep"} & set(default_members(200, 2000))  # What takes their place is a member by then.
        assert "sms-light" in default_members(200, 2000)
        assert "sms-light" in default_members(3, 200)
        assert "sms-light" not in default_members(3, 199)
        assert "sms-light" in default_members(100, 1000)
        assert "sms-light" not in default_members(100, 999)
        assert not any("K^2" in parse(name).n_parameters for name in default_members(201, 5000))
        for k in (2, 10, 1000):
            assert all(parse(name).preserves_argmax for name in default_members(k, 5000, keep_argmax=True))

    def test_whether_the_predicted_class_stays(self):
        assert StackedCalibration(keep_argmax=True).preserves_argmax
        assert not StackedCalibration().preserves_argmax
        assert StackedCalibration([TemperatureScaling(), OrderPreserving()]).preserves_argmax
        assert not StackedCalibration([TemperatureScaling(), StructuredScaling()]).preserves_argmax

    def test_the_order_of_a_row_stays(self):
        p = sharpened(calibrated(n=500, k=6, seed=3), 0.5)
        fitted = StackedCalibration(keep_argmax=True).fit(p.probs, p.labels)
        new = np.random.default_rng(1).dirichlet(np.full(6, 0.3), 2000)
        assert np.array_equal(np.argsort(fitted.predict_proba(new), axis=1), np.argsort(new, axis=1))

    def test_settings_of_members_are_reached_by_name(self):
        stack = StackedCalibration([Compose([StructuredScaling(), OrderPreserving()]), TemperatureScaling()])
        stack.set_params(compose__orderpreserving__segments=3)
        assert stack.calibrators[0].stages[1].segments == 3

    @each("setting", [{"n_folds": 1}, {"n_folds": 2.5}, {"prior": -1.0}, {"calibrators": []}])
    def test_bad_settings_are_refused(self, setting):
        with pytest.raises((InputError, TypeError), match=next(iter(setting))):
            StackedCalibration(**setting).fit([0.2, 0.7], [0, 1])

    def test_other_things_than_calibrators_are_refused(self):
        with pytest.raises(TypeError, match="calibrators must"):
            StackedCalibration(["ts"]).fit([0.2, 0.7], [0, 1])
