"""Compositions, their names, and the settings of what they hold."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calibrant import InputError
from calibrant.calibrators import (
    CALIBRATORS,
    Compose,
    Ensemble,
    EnsembleTemperatureScaling,
    Identity,
    IsotonicCalibration,
    LaplaceGuard,
    OneVsRest,
    OrderPreserving,
    PlattScaling,
    Pooled,
    TemperatureScaling,
    VectorScaling,
    calibrate,
    irm,
    irova,
    parse,
)
from calibrant.exceptions import DataWarning
from calibrant.metrics import NLL
from naming import each
from simulate import calibrated, sharpened

NAMES = ["ts>irova", "irova>ts", "ts>irm", "ts>iop-diag", "iop-oi>ets", "ts>svs>guard", "isotonic>ts>guard"]
every_name = each("name", NAMES)


def over_confident(k=3, seed=0, n=400):
    return sharpened(calibrated(n=n, k=k, seed=seed), 0.5)


class TestCompose:
    def test_stages_are_fitted_in_order_each_on_the_output_of_the_one_before(self):
        p = over_confident()
        composed = Compose([TemperatureScaling(), irova(), VectorScaling()]).fit(p.probs, p.labels)
        by_hand = p
        for stage in (TemperatureScaling(), irova(), VectorScaling()):
            by_hand = calibrate(stage.fit(by_hand.probs, by_hand.labels), by_hand)
        assert composed.predict_proba(p.probs) == pytest.approx(by_hand.probs, abs=1e-8)

    def test_order_matters(self):
        p = over_confident()
        one = parse("ts>irova").fit(p.probs, p.labels).predict_proba(p.probs)
        other = parse("irova>ts").fit(p.probs, p.labels).predict_proba(p.probs)
        assert np.abs(one - other).max() > 1e-3

    def test_one_stage_is_that_stage(self):
        p = over_confident()
        alone = TemperatureScaling().fit(p.probs, p.labels).predict_proba(p.probs)
        composed = Compose([TemperatureScaling()]).fit(p.probs, p.labels)
        assert composed.predict_proba(p.probs) == pytest.approx(alone, abs=1e-15)

    def test_the_stages_given_are_not_touched(self):
        p = over_confident()
        stages = [TemperatureScaling(), irm()]
        composed = Compose(stages).fit(p.probs, p.labels)
        assert composed.stages is stages
        with pytest.raises(NotFittedError):
            stages[0].predict_proba(p.probs)
        assert composed.stages_[0].temperature_ > 1

    @every_name
    def test_weights_equal_copies(self, name):
        p = over_confident()
        weights = np.random.default_rng(0).integers(0, 4, p.n_samples)
        rows = np.repeat(np.arange(p.n_samples), weights)
        weighted = parse(name).fit(p.probs, p.labels, weights).predict_proba(p.probs)
        copied = parse(name).fit(p.probs[rows], p.labels[rows]).predict_proba(p.probs)
        assert weighted == pytest.approx(copied, abs=1e-8)

    @every_name
    @each("k", [2, 4])
    def test_degenerate_data_have_a_result(self, name, k):
        rng = np.random.default_rng(0)
        probs = np.vstack([np.eye(k), rng.dirichlet(np.ones(k), 6)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            for labels in (np.zeros(k + 6, dtype=int), rng.integers(0, k, k + 6)):
                result = parse(name).fit(probs, labels, classes=list(range(k))).predict_proba(probs)
                assert np.isfinite(result).all()
                assert result.sum(axis=1) == pytest.approx(np.ones(k + 6), abs=1e-12)

    def test_only_the_outermost_scores_are_read(self):
        p = over_confident()
        logits = 3.0 + np.log(p.probs)
        plain = Compose([TemperatureScaling(), irm()]).fit(p.probs, p.labels).predict_proba(p.probs)
        inner = Compose([TemperatureScaling(scores="logits"), irm(scores="nonsense")]).fit(p.probs, p.labels)
        assert np.array_equal(inner.predict_proba(p.probs), plain)
        outer = Compose([TemperatureScaling(), irm()], scores="logits").fit(logits, p.labels)
        assert outer.predict_proba(logits) == pytest.approx(plain, abs=1e-9)
        with pytest.raises(InputError, match="Are these logits"):
            inner.fit(logits, p.labels)

    def test_zeros_of_isotonic_regression_stay_zeros_after_temperature_scaling(self):
        scores, labels = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 0, 1, 1]
        fitted = Compose([IsotonicCalibration(), TemperatureScaling()]).fit(scores, labels)
        assert np.isfinite(fitted.stages_[1].temperature_)
        result = fitted.predict_proba(scores)[:, 1]
        assert result[[0, 1, 4, 5]].tolist() == [0, 0, 1, 1]
        assert result[2:4] == pytest.approx([0.5, 0.5])
        assert NLL()(calibrate(fitted, type(over_confident())(scores, labels))) < 0.5

    def test_convergence_is_that_of_all_stages(self):
        p = over_confident()
        fitted = Compose([TemperatureScaling(), OrderPreserving()]).fit(p.probs, p.labels)
        assert fitted.converged_ is True
        with pytest.warns(UserWarning, match="stopped after 1 step "):
            stopped = Compose([TemperatureScaling(), VectorScaling(max_iter=1)]).fit(p.probs, p.labels)
        assert stopped.converged_ is False

    def test_nothing_and_other_things_are_refused(self):
        with pytest.raises(InputError, match="stages must hold at least one calibrator"):
            Compose([]).fit([0.2, 0.7], [0, 1])
        with pytest.raises(TypeError, match="stages must hold calibrators, but entry 1 is 'irm'"):
            Compose([TemperatureScaling(), "irm"]).fit([0.2, 0.7], [0, 1])
        with pytest.raises(TypeError, match="stages must be a list"):
            Compose(TemperatureScaling()).fit([0.2, 0.7], [0, 1])


class TestMetadata:
    @each(
        "name, kept",
        [("ts>irm", True), ("ts>ets>iop-oi", True), ("ts>irova", False), ("irova>ts", False), ("ts>guard", True)],
    )
    def test_preservation_of_the_predicted_class_is_inferred(self, name, kept):
        assert parse(name).preserves_argmax is kept
        assert Compose([Identity(), Compose([parse(name)])]).preserves_argmax is kept

    @each("name", ["ts>irm", "ts>iop-diag", "iop-oi>ets", "irm>ts>guard"])
    @each("dtype", [np.float32, np.float64])
    def test_the_predicted_class_is_kept_where_inferred(self, name, dtype):
        p = over_confident(k=4)
        fitted = parse(name).fit(p.probs, p.labels)
        probs = np.random.default_rng(0).dirichlet(np.full(4, 0.1), 3000).astype(dtype)
        assert np.array_equal(fitted.predict(probs), probs.argmax(axis=1))

    def test_levels_are_those_of_the_extreme_stage(self):
        composed = parse("ts>irova")
        assert composed.kind == "composition"
        assert composed.data_efficiency == irova().data_efficiency == "low"
        assert composed.expressiveness == "high"
        assert composed.n_parameters.startswith("1 + K (")


class TestNames:
    def test_names_are_found_alone_and_joined(self):
        assert isinstance(parse("ts"), TemperatureScaling)
        assert isinstance(parse("ets"), EnsembleTemperatureScaling)
        types = [type(stage) for stage in parse(" ts > irova>guard ").stages]
        assert types == [TemperatureScaling, OneVsRest, LaplaceGuard]

    def test_the_table_builds_fresh_compositions(self):
        build = CALIBRATORS["ts>irm"]
        first, second = build(), build(scores="logits")
        assert first.stages[0] is not second.stages[0]
        assert second.scores == "logits"
        assert parse("ts", scores="logits").scores == "logits"
        assert list(CALIBRATORS) == [name for name in CALIBRATORS if ">" not in name]

    @each(
        "name, message",
        [
            ("irowa", "but 'irowa' is not one. Did you mean 'irova'"),
            ("ts>irmm", "but 'irmm' in 'ts>irmm' is not one. Did you mean 'irm'"),
            ("ts>", "but '' in 'ts>' is not one. There are identity, ts,"),
            ("", "but '' is not one. There are identity, ts,"),
            ("TSS", "Did you mean 'ts'"),
        ],
    )
    def test_unknown_names_are_refused_with_close_ones(self, name, message):
        with pytest.raises(InputError) as error:
            parse(name)
        assert message in str(error.value)
        with pytest.raises(KeyError):
            CALIBRATORS[name]

    def test_other_things_than_names_are_refused(self):
        with pytest.raises(TypeError, match="name must be a string"):
            parse(TemperatureScaling())


class TestSettings:
    def test_settings_of_stages_are_reached_by_name(self):
        composed = Compose([TemperatureScaling(), Pooled(IsotonicCalibration())])
        settings = composed.get_params()
        assert settings["pooled__calibrator__centred"] is False
        assert settings["temperaturescaling"] is composed.stages[0]
        assert composed.set_params(pooled__calibrator__centred=True) is composed
        assert composed.stages[1].calibrator.centred is True
        assert set(composed.get_params(deep=False)) == {"stages", "scores"}

    def test_stages_of_one_class_are_numbered(self):
        composed = Compose([OneVsRest(PlattScaling()), TemperatureScaling(), OneVsRest(PlattScaling())])
        composed.set_params(**{"onevsrest-2__score": "margin"})
        assert [stage.score for stage in composed.stages[::2]] == ["probability", "margin"]

    def test_a_stage_can_be_replaced_without_changing_the_list_given(self):
        stages = [TemperatureScaling(), irm()]
        composed = Compose(stages).set_params(pooled=irova(), scores="logits")
        assert [type(stage) for stage in composed.stages] == [TemperatureScaling, OneVsRest]
        assert composed.scores == "logits"
        assert isinstance(stages[1], Pooled)

    def test_list_member_and_setting_can_be_changed_at_once(self):
        composed = Compose([Identity()])
        composed.set_params(stages=[OrderPreserving(), irm()], orderpreserving__segments=3)
        assert composed.stages[0].segments == 3

    def test_unknown_settings_are_refused(self):
        with pytest.raises(ValueError, match="'isotonic' must be a setting of Compose"):
            Compose([TemperatureScaling()]).set_params(isotonic__centred=True)

    def test_a_clone_shares_nothing(self):
        p = over_confident()
        inner = Ensemble([TemperatureScaling(), parse("ts>irm")], loss="brier")
        composed = Compose([inner, LaplaceGuard()], scores="probs")
        copy = clone(composed)
        assert copy.stages[0] is not inner
        assert repr(copy.get_params(deep=False)) == repr(composed.get_params(deep=False))
        copy.set_params(ensemble__compose__temperaturescaling__scores="logits", ensemble__loss="nll")
        assert inner.loss == "brier"
        assert inner.calibrators[1].stages[0].scores == "probs"
        first = composed.fit(p.probs, p.labels).predict_proba(p.probs)
        assert np.array_equal(clone(composed).fit(p.probs, p.labels).predict_proba(p.probs), first)
