"""Calibrators of raw logits, whose common offset in a row carries information."""

import base64
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from calibrant import InputError, Predictions
from calibrant.advice import recommend
from calibrant.calibrators import (
    CALIBRATORS,
    BetaCalibration,
    CalibratedModel,
    Compose,
    Ensemble,
    IsotonicCalibration,
    MatrixScaling,
    OneVsRest,
    OrderPreserving,
    PlattScaling,
    VectorScaling,
    calibrate,
    load,
    parse,
    save,
)
from calibrant.metrics import NLL
from naming import each
from simulate import draw_labels
from stored_cases import forge

K = 3
FACTORS = np.array([0.4, 0.8, 1.2])
TAKERS = ["vs", "ms", "iop-diag", "irova"]
ALL_TAKERS = [*TAKERS, "vs>guard", "irova>ts"]
OTHERS = sorted(set(CALIBRATORS) - set(TAKERS))


def simulated(n=500, seed=0, spread=2.0):
    """Logits with an offset in every row, and labels for which each class weighs the logits differently."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n, K)) + spread * rng.normal(size=(n, 1)) + 4.0
    return logits, draw_labels(softmax(FACTORS * logits, axis=1), rng)


LOGITS, LABELS = simulated()
NEW, NEW_LABELS = simulated(seed=1)


def fitted(name, logits=LOGITS, labels=LABELS, **settings):
    return parse(name, scores="raw-logits").fit(logits, labels, **settings)


every_taker = each("name", ALL_TAKERS)


class TestDefinitions:
    def test_vector_scaling_is_the_maximum_of_the_likelihood_of_raw_logits(self):
        def loss(x):
            z = LOGITS * x[:K] + x[K:]
            return np.mean(np.logaddexp.reduce(z, axis=1) - z[np.arange(len(z)), LABELS])

        best = minimize(loss, np.repeat([1.0, 0.0], K), method="BFGS", options={"gtol": 1e-8})
        found = fitted("vs")
        assert loss(np.append(found.coef_, found.intercept_)) <= best.fun + 1e-12
        expected = softmax(NEW * best.x[:K] + best.x[K:], axis=1)
        assert found.predict_proba(NEW) == pytest.approx(expected, abs=1e-6)

    def test_matrix_scaling_is_logistic_regression_on_raw_logits(self):
        peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(LOGITS, LABELS)
        assert fitted("ms").predict_proba(NEW) == pytest.approx(peer.predict_proba(NEW), abs=1e-6)

    def test_irova_is_isotonic_regression_on_the_raw_logit_of_each_class(self):
        shares = softmax(NEW, axis=1) * 1e-6
        for k in range(K):
            line = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(LOGITS[:, k], k == LABELS)
            shares[:, k] += line.predict(NEW[:, k])
        expected = shares / shares.sum(axis=1, keepdims=True)
        assert fitted("irova").predict_proba(NEW) == pytest.approx(expected, abs=1e-9)

    def test_one_vs_rest_of_platt_is_a_logistic_regression_on_each_raw_logit(self):
        shares = softmax(NEW, axis=1) * 1e-6
        for k in range(K):
            peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(LOGITS[:, [k]], k == LABELS)
            shares[:, k] += peer.predict_proba(NEW[:, [k]])[:, 1]
        found = OneVsRest(PlattScaling(), "logit", scores="raw-logits").fit(LOGITS, LABELS).predict_proba(NEW)
        assert found == pytest.approx(shares / shares.sum(axis=1, keepdims=True), abs=1e-6)

    def test_an_order_preserving_map_is_one_increasing_line_for_all_raw_logits(self):
        found = fitted("iop-diag")
        knots = found.knots_
        assert knots[0] == LOGITS.max()
        above = np.vstack([NEW, [[30.0, 29.0, -30.0], [25.0, 25.0, 24.0]]])  # Beyond what was fitted.

        def line(z):  # The integral of the slopes from a place below everything.
            corners = np.concatenate([[100.0], knots[1:-1], [-100.0]])
            pieces = zip(found.slopes_, corners[:-1], corners[1:], strict=True)
            return sum(s * np.clip(z - low, 0, high - low) for s, high, low in pieces)

        assert found.predict_proba(above) == pytest.approx(softmax(line(above), axis=1), abs=1e-12)

    def test_its_slopes_are_the_best_ones(self):
        found = fitted("iop-diag")
        corners = np.concatenate([[100.0], found.knots_[1:-1], [-100.0]])

        def loss(u):
            pieces = zip(u / found.temperature_, corners[:-1], corners[1:], strict=True)
            z = sum(s * np.clip(LOGITS - low, 0, high - low) for s, high, low in pieces)
            rough = found.smoothness / len(z) * np.sum(np.diff(u) ** 2)
            return np.mean(np.logaddexp.reduce(z, axis=1) - z[np.arange(len(z)), LABELS]) + rough

        here = found.slopes_ * found.temperature_
        best = minimize(loss, np.ones(len(here)), method="L-BFGS-B", bounds=[(1e-3, None)] * len(here))
        assert loss(here) <= best.fun + 1e-9
        # What the offsets taught: with smoothness, all that canonical logits leave is one slope.
        assert np.ptp(here) > 0.05

    def test_only_the_first_stage_of_a_composition_sees_raw_logits(self):
        first = fitted("vs").predict_proba(LOGITS)
        second = parse("ts").fit(first, LABELS)
        expected = second.predict_proba(fitted("vs").predict_proba(NEW))
        assert fitted("vs>ts").predict_proba(NEW) == pytest.approx(expected, abs=1e-9)
        stages = [VectorScaling(), VectorScaling(scores="raw-logits")]
        whole = Compose(stages, scores="raw-logits").fit(LOGITS, LABELS)
        assert [stage.scores for stage in whole.stages_] == ["raw-logits", "logits"]


@every_taker
class TestEveryTaker:
    def test_offsets_of_rows_matter_and_one_for_all_rows_does_not(self, name):
        result = fitted(name).predict_proba(NEW)
        assert fitted(name, LOGITS + 50.0).predict_proba(NEW + 50.0) == pytest.approx(result, abs=1e-6)
        canonical = log_softmax(LOGITS, axis=1)
        other = fitted(name, canonical).predict_proba(log_softmax(NEW, axis=1))
        assert np.abs(other - result).max() > 0.05

    def test_weights_equal_copies(self, name):
        weights = np.random.default_rng(0).integers(0, 3, len(LABELS))
        rows = np.repeat(np.arange(len(LABELS)), weights)
        copied = fitted(name, LOGITS[rows], LABELS[rows]).predict_proba(NEW)
        assert fitted(name, sample_weight=weights).predict_proba(NEW) == pytest.approx(copied, abs=1e-8)

    def test_single_precision_and_single_rows_give_the_same(self, name):
        logits, new = LOGITS.astype(np.float32), NEW.astype(np.float32)
        single = fitted(name, logits)
        assert np.array_equal(single.predict_proba(new), fitted(name, logits.astype(float)).predict_proba(new))
        alone = np.vstack([single.predict_proba(new[i : i + 1]) for i in range(20)])
        assert alone == pytest.approx(single.predict_proba(new)[:20], abs=1e-14)

    def test_clones_pickles_and_files_give_the_same(self, name, tmp_path):
        one = fitted(name)
        result = one.predict_proba(NEW)
        assert np.array_equal(clone(one).fit(LOGITS, LABELS).predict_proba(NEW), result)
        assert np.array_equal(pickle.loads(pickle.dumps(one)).predict_proba(NEW), result)  # noqa: S301 (just written)
        save(one, tmp_path / "c.json")
        again = load(tmp_path / "c.json")
        assert again.scores == "raw-logits"
        assert np.array_equal(again.predict_proba(NEW), result)

    @each("size", [1e-3, 1.0, 1e3])
    def test_the_scale_of_all_logits_does_not_matter(self, name, size):
        scaled = fitted(name, size * LOGITS).predict_proba(size * NEW)
        assert scaled == pytest.approx(fitted(name).predict_proba(NEW), abs=1e-5)

    @each(
        "change, words",
        [
            (lambda z: z[:, :1], "must have a column for every class"),
            (lambda z: z[:, 0], "must have a column for every class"),
            (
                lambda z: np.where(z == z[3, 1], -np.inf, z),
                r"must be finite to be taken raw, but row 3, column 1 is -inf",
            ),
            (lambda z: np.where(z == z[3, 1], 1e7, z), r"must not exceed 1,000,000 in size.*Divide all of them"),
        ],
    )
    def test_logits_that_cannot_be_taken_raw_are_refused(self, name, change, words):
        one = fitted(name)
        with pytest.raises(InputError, match=words):
            one.predict_proba(change(NEW))
        labels = LABELS if np.ndim(change(LOGITS)) == 2 and change(LOGITS).shape[1] > 1 else LABELS > 0
        with pytest.raises(InputError, match=words):
            fitted(name, change(LOGITS), labels)

    def test_another_number_of_classes_is_refused(self, name):
        with pytest.raises(InputError, match="3 classes that the calibrator was fitted on, but have 2"):
            fitted(name).predict_proba(NEW[:, :2])

    def test_predictions_have_lost_the_offsets(self, name):
        p = Predictions.from_logits(NEW, NEW_LABELS)
        words = r"needs the logits themselves.*fit\(logits, labels\)"
        with pytest.raises(InputError, match=words):
            calibrate(fitted(name), p)
        with pytest.raises(InputError, match=words):
            fitted(name).transform(p.log_probs)
        with pytest.raises(InputError, match=words):
            parse(name, scores="raw-logits").learn(p.log_probs, p.labels, p.weights)
        with pytest.raises(InputError, match=words):
            CalibratedModel(GaussianNB(), parse(name, scores="raw-logits")).fit(LOGITS, LABELS)


def nll_of(name, scores, data, new):
    result = parse(name, scores=scores).fit(*data).predict_proba(new[0])
    return NLL()(Predictions(result, new[1]))


@pytest.mark.parametrize("name", [name for name in ALL_TAKERS if parse(name).preserves_argmax])
def test_the_argmax_is_kept_where_promised(name):
    one = fitted(name)
    rng = np.random.default_rng(3)
    close = 100 * rng.normal(size=(2000, 1)) + np.array([[0.0, 1e-12, -1.0]])
    for logits in (NEW, close):
        assert np.array_equal(one.predict(logits), logits.argmax(axis=1))


@each("name", ["vs", "ms", "vs>guard"])
def test_offsets_help_where_classes_weigh_them_differently(name):
    data, new = simulated(2000), simulated(2000, seed=1)
    assert nll_of(name, "raw-logits", data, new) < nll_of(name, "logits", data, new) - 0.02


def test_offsets_help_one_line_where_every_logit_is_that_of_its_class_alone():
    def drawn(seed):
        rng = np.random.default_rng(seed)
        logits = 2.0 * rng.normal(size=(2000, K)) + 2.0 * rng.normal(size=(2000, 1))
        shares = expit(2.0 * logits)
        return logits, draw_labels(shares / shares.sum(axis=1, keepdims=True), rng)

    raw, canonical = (nll_of("iop-diag", scores, drawn(0), drawn(1)) for scores in ("raw-logits", "logits"))
    assert raw < canonical - 0.02


class TestRefusals:
    @each("name", [*OTHERS, "ts>vs", "guard>irova"])
    def test_other_calibrators_say_who_takes_raw_logits(self, name):
        with pytest.raises(InputError, match=r'(does not matter|no known scale).*(VectorScaling|"diag" accepts)'):
            fitted(name)

    def test_an_ensemble_does_not_hand_them_on(self):
        with pytest.raises(InputError, match="Ensemble is a function of the probabilities"):
            Ensemble([VectorScaling()], scores="raw-logits").fit(LOGITS, LABELS)
        inner = Ensemble([VectorScaling(scores="raw-logits")]).fit(softmax(LOGITS, axis=1), LABELS)
        assert inner.calibrators_[0].scores == "logits"

    @pytest.mark.parametrize("score", ["probability", "margin"])
    def test_a_score_without_offset_is_refused(self, score):
        with pytest.raises(InputError, match='pass score="logit" as well'):
            OneVsRest(IsotonicCalibration(), score, scores="raw-logits").fit(LOGITS, LABELS)

    def test_an_inner_calibrator_that_needs_probabilities_is_refused(self):
        with pytest.raises(InputError, match="BetaCalibration needs probabilities"):
            OneVsRest(BetaCalibration(), "logit", scores="raw-logits").fit(LOGITS, LABELS)

    def test_a_wrong_word_is_refused_with_the_right_ones(self):
        with pytest.raises(InputError, match='must be "probs" or "logits", or "raw-logits", but is \'raw\''):
            VectorScaling(scores="raw").fit(LOGITS, LABELS)

    def test_recommend_cannot_have_them(self):
        with pytest.raises((InputError, TypeError)):
            recommend(Predictions.from_logits(NEW, NEW_LABELS), candidates=[VectorScaling(scores="raw-logits")])


@pytest.mark.parametrize(
    "labels", [np.zeros(60, dtype=int), np.arange(60) % 2, LOGITS[:60].argmax(axis=1)], ids=["one", "two", "separable"]
)
@pytest.mark.filterwarnings("ignore")
@every_taker
def test_degenerate_data_have_a_result(name, labels):
    for logits in (LOGITS[:60], np.full((60, K), 7.0), np.round(LOGITS[:60])):
        result = fitted(name, logits, labels).predict_proba(NEW)
        assert np.isfinite(result).all()
        assert result.sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def _canonical_first_stage(calibrator):
    calibrator["fitted"]["stages_"][0]["params"]["scores"] = "logits"


def _inner_of_probabilities(calibrator):
    calibrator["fitted"]["calibrators_"][0]["params"]["scores"] = "probs"


def _endless_knot(calibrator):
    knots = calibrator["fitted"]["knots_"]
    values = np.frombuffer(base64.b64decode(knots["data"])).copy()
    values[0] = np.inf
    knots["data"] = base64.b64encode(values.tobytes()).decode()


def _without_raw_logits(calibrator):
    calibrator["params"]["scores"] = "logits"


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("vs>guard", _canonical_first_stage, "must agree: only the first stage"),
        ("vs>guard", _without_raw_logits, "must agree: only the first stage"),
        ("irova", _inner_of_probabilities, "must agree: raw logits are raw scores"),
        ("iop-diag", _endless_knot, "must be knots"),
        ("iop-diag", _without_raw_logits, "must be knots"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(name, change, words, tmp_path):
    path = tmp_path / "c.json"
    save(fitted(name), path)
    forge(path, lambda document: change(document["calibrator"]) and None)
    with pytest.raises(InputError, match=words):
        load(path)


@every_taker
def test_exported_maps_take_raw_logits_as_they_are(name):
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    from runtimes import RUNTIMES

    one = fitted(name)
    rows = np.vstack([NEW, NEW * 30.0, [[2000.0, -2000.0, 0.0]]])
    for runtime, run in RUNTIMES.items():
        np.testing.assert_allclose(run(one, rows), one.predict_proba(rows), rtol=0, atol=1e-9, err_msg=runtime)


def test_the_maps_are_named_as_in_python():
    assert isinstance(parse("ms", scores="raw-logits"), MatrixScaling)
    assert parse("irova", scores="raw-logits").score == "logit"
    assert parse("irova", scores="logits").score == "probability"
    assert OrderPreserving.accepts_raw_logits
