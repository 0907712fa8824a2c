"""Names of columns and of classes: what a calibrator was fitted on is what it may be given."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from calibrant import InputError, Predictions
from calibrant.calibrators import (
    CalibratedModel,
    Compose,
    Ensemble,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    Pooled,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
    calibrate,
    load,
    save,
)
from calibrant.metrics.measuring import scorer
from calibrator_cases import EVERY_CALIBRATOR
from naming import each
from simulate import calibrated, sharpened

NAMES = ["x", "y", "z"]
PREDICTIONS = sharpened(calibrated(k=3, n=200), 0.5)
PROBS = PREDICTIONS.probs
LABELS = np.array(NAMES)[PREDICTIONS.labels]
GIVEN = {"probs": PROBS, "logits": np.log(PROBS), "raw-logits": np.log(PROBS) + np.arange(200)[:, None] % 7}

EVERY = {
    **EVERY_CALIBRATOR,
    "one-vs-rest": lambda: OneVsRest(PlattScaling()),
    "pooled": lambda: Pooled(PlattScaling()),
    "composed": lambda: Compose([TemperatureScaling(), VectorScaling()]),
    "mixed": lambda: Ensemble([TemperatureScaling(), VectorScaling()]),
}


def in_pandas(probs, names):
    return pd.DataFrame(probs, columns=names)


def in_polars(probs, names):
    return pl.DataFrame(dict(zip(names, np.asarray(probs).T, strict=True)))


every_calibrator = each("build", EVERY)
both_frames = each("frame", [in_pandas, in_polars])


@every_calibrator
def test_columns_in_another_order_are_refused(build):
    fitted = build().fit(in_pandas(PROBS, NAMES), LABELS)
    assert fitted.feature_names_in_.tolist() == fitted.classes_.tolist() == NAMES
    for frame in (in_pandas, in_polars):
        same = fitted.predict_proba(frame(PROBS, NAMES))
        assert np.array_equal(same, fitted.predict_proba(PROBS))
        for method in (fitted.predict_proba, fitted.predict):
            with pytest.raises(InputError, match="same order, but number 0 is 'z' instead of 'x'"):
                method(frame(PROBS[:, [2, 0, 1]], ["z", "x", "y"]))


@both_frames
@each("scores", list(GIVEN))
class TestOneCalibrator:
    def test_other_columns_are_named(self, frame, scores):
        given = GIVEN[scores]
        fitted = VectorScaling(scores=scores).fit(frame(given, NAMES), LABELS)
        with pytest.raises(ValueError, match="but 'x' is missing and 'q' is new"):
            fitted.predict_proba(frame(given, ["q", "y", "z"]))
        with pytest.raises(ValueError, match="but 'x', 'z' are missing"):
            fitted.predict_proba(frame(given[:, 1:2], ["y"]))
        with pytest.raises(ValueError, match=r"but 'a', 'b', 'c', 'd', 'e' and 1 more are new"):
            fitted.predict_proba(frame(np.hstack([given] * 3), [*"abcdef", *NAMES]))

    def test_a_fit_to_an_array_forgets_the_names(self, frame, scores):
        given = GIVEN[scores]
        fitted = VectorScaling(scores=scores).fit(frame(given, ["p", "q", "r"]), PREDICTIONS.labels)
        assert fitted.feature_names_in_.tolist() == ["p", "q", "r"]
        fitted.fit(given, PREDICTIONS.labels)
        assert not hasattr(fitted, "feature_names_in_")
        assert fitted.predict_proba(frame(given, ["r", "q", "p"])) == pytest.approx(fitted.predict_proba(given))

    def test_names_of_classes_that_were_given_to_an_array_are_compared_too(self, frame, scores):
        given = GIVEN[scores]
        fitted = VectorScaling(scores=scores).fit(given, LABELS, classes=NAMES)
        assert np.array_equal(fitted.predict_proba(frame(given, NAMES)), fitted.predict_proba(given))
        with pytest.raises(InputError, match="columns of scores must be in the order of the classes"):
            fitted.predict_proba(frame(given[:, [2, 0, 1]], ["z", "x", "y"]))

    def test_columns_that_fit_rearranges_are_rearranged_again(self, frame, scores):
        given = GIVEN[scores]
        turned = frame(given[:, [2, 0, 1]], ["z", "x", "y"])
        fitted = VectorScaling(scores=scores).fit(turned, LABELS, classes=NAMES)
        expected = VectorScaling(scores=scores).fit(given, PREDICTIONS.labels).predict_proba(given)
        assert fitted.feature_names_in_.tolist() == ["z", "x", "y"]
        assert fitted.classes_.tolist() == NAMES
        assert fitted.predict_proba(turned) == pytest.approx(expected, abs=1e-9)
        assert fitted.predict_proba(given) == pytest.approx(expected, abs=1e-9)
        with pytest.raises(InputError, match="number 0 is 'x' instead of 'z'"):
            fitted.predict_proba(frame(given, NAMES))


@both_frames
def test_names_survive_pickling_and_saving_but_not_cloning(frame, tmp_path):
    fitted = VectorScaling().fit(frame(PROBS, NAMES), LABELS)
    save(fitted, tmp_path / "c.json")
    for again in (pickle.loads(pickle.dumps(fitted)), load(tmp_path / "c.json")):  # noqa: S301 (just written)
        assert again.feature_names_in_.tolist() == NAMES
        assert np.array_equal(again.predict_proba(frame(PROBS, NAMES)), fitted.predict_proba(PROBS))
        with pytest.raises(InputError, match="'z' instead of 'x'"):
            again.predict_proba(frame(PROBS, ["z", "x", "y"]))
    assert not hasattr(clone(fitted), "feature_names_in_")


@pytest.mark.parametrize("names", [["x", "x", "z"], ["x", "y"], [0.0, 1.0, 2.0]], ids=str)
def test_a_file_with_impossible_names_is_refused(names, tmp_path):
    fitted = VectorScaling().fit(in_pandas(PROBS, NAMES), LABELS)
    fitted.feature_names_in_ = np.array(names)
    with pytest.raises(InputError, match="feature_names_in_ and classes_ of VectorScaling must be distinct names"):
        save(fitted, tmp_path / "c.json")


@both_frames
@each("build", [IsotonicCalibration, PlattScaling, VennAbers])
def test_the_one_column_of_a_ranker_keeps_its_name(build, frame):
    labels = PREDICTIONS.labels == 1
    ranks = 7 * PROBS[:, 1:2] - 20
    fitted = build(scores="raw").fit(frame(ranks, ["rank"]), labels)
    assert fitted.feature_names_in_.tolist() == ["rank"]
    assert np.array_equal(fitted.predict_proba(frame(ranks, ["rank"])), fitted.predict_proba(ranks[:, 0]))
    with pytest.raises(InputError, match="'rank' is missing and 'age' is new"):
        fitted.predict_proba(frame(ranks, ["age"]))
    fitted.fit(ranks[:, 0], labels)
    assert not hasattr(fitted, "feature_names_in_")


@both_frames
@pytest.mark.parametrize("scores", ["probs", "raw"])
def test_intervals_look_at_names_too(frame, scores):
    fitted = VennAbers(scores=scores).fit(frame(PROBS[:, 1:2], ["p"]), PREDICTIONS.labels == 1)
    with pytest.raises(InputError, match="'p' is missing and 'q' is new"):
        fitted.intervals(frame(PROBS[:, 1:2], ["q"]))


def test_numbered_columns_are_compared_with_the_classes():
    fitted = VectorScaling().fit(PROBS, PREDICTIONS.labels)
    frame = pd.DataFrame(PROBS)
    assert np.array_equal(fitted.predict_proba(frame), fitted.predict_proba(PROBS))
    with pytest.raises(InputError, match="number 0 is 2 instead of 0"):
        fitted.predict_proba(frame[[2, 0, 1]])


def test_a_lazy_frame_has_names():
    fitted = VectorScaling().fit(in_polars(PROBS, NAMES).lazy(), LABELS)
    assert fitted.feature_names_in_.tolist() == NAMES
    with pytest.raises(InputError, match="'z' instead of 'x'"):
        fitted.predict_proba(in_polars(PROBS, ["z", "x", "y"]).lazy())


def test_repeated_names_are_refused_as_such():
    fitted = VectorScaling().fit(in_pandas(PROBS, NAMES), LABELS)
    with pytest.raises(InputError, match="distinct column names"):
        fitted.predict_proba(in_pandas(PROBS, ["x", "y", "x"]))


def test_predictions_with_classes_in_another_order_are_not_calibrated():
    fitted = VectorScaling().fit(in_pandas(PROBS, NAMES), LABELS)
    turned = Predictions(PROBS[:, [2, 0, 1]], LABELS, classes=["z", "x", "y"])
    with pytest.raises(InputError, match=r"classes of predictions must be in the order .* number 0 is 'z' instead of"):
        calibrate(fitted, turned)


class TestModel:
    def test_features_are_those_of_the_estimator(self):
        features = in_pandas(np.log(PROBS), ["a", "b", "c"])
        model = CalibratedModel(LogisticRegression(), "vs").fit(features, LABELS)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        assert not hasattr(model.calibrator_, "feature_names_in_")
        with pytest.raises(ValueError, match="feature names"):
            model.predict_proba(features[["c", "a", "b"]])

    def test_an_estimator_whose_classes_are_not_sorted_is_read_by_name(self):
        turned = in_pandas(PROBS[:, [2, 0, 1]], ["z", "x", "y"])
        model = CalibratedModel(TemperatureScaling(), "identity").fit(turned, LABELS)
        alone = TemperatureScaling().fit(PROBS, PREDICTIONS.labels).predict_proba(PROBS)
        assert model.classes_.tolist() == NAMES
        assert model.predict_proba(turned) == pytest.approx(alone, abs=1e-12)
        assert np.array_equal(model.predict(turned), np.array(NAMES)[PROBS.argmax(axis=1)])


@each("build", EVERY)
def test_nothing_is_predicted_before_a_fit(build):
    for method in (build().predict, build().predict_proba):
        with pytest.raises(NotFittedError):
            method(PROBS)


@pytest.mark.parametrize("logits", [np.log(PROBS), 3 * np.log(PROBS) + 5], ids=["log-probabilities", "logits"])
def test_logits_have_the_remedy_of_calibrators(logits):
    for call in (
        lambda: TemperatureScaling().fit(logits, PREDICTIONS.labels),
        lambda: TemperatureScaling().fit(PROBS, PREDICTIONS.labels).predict_proba(logits),
    ):
        with pytest.raises(InputError, match='Build the calibrator with scores="logits"') as caught:
            call()
        assert "from_logits" not in str(caught.value)
    TemperatureScaling(scores="logits").fit(logits, PREDICTIONS.labels)


def test_proportions_have_the_remedy_of_calibrators():
    with pytest.raises(InputError, match="Divide each row by its sum") as caught:
        TemperatureScaling().fit(PROBS / 2, PREDICTIONS.labels)
    assert "renormalise" not in str(caught.value)


OLD = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
scored_by_probabilities = pytest.mark.skipif(OLD, reason="scikit-learn scores probabilities of classifiers only")


class TestSearch:
    search = staticmethod(
        lambda scoring: GridSearchCV(TemperatureScaling(), {"scores": ["probs"]}, scoring=scoring, error_score="raise")
    )

    def test_names_without_their_order_are_refused_with_a_remedy(self):
        with pytest.raises(InputError, match=r"labels are names like '[xyz]'") as caught:
            self.search("neg_log_loss").fit(PROBS, LABELS)
        assert "GridSearchCV" in str(caught.value)
        assert "classes=np.unique(labels)" in str(caught.value)
        assert "np.str_" not in str(caught.value)

    @scored_by_probabilities
    def test_the_remedy_gives_the_result_of_numbers(self):
        numbers = self.search("neg_log_loss").fit(PROBS, PREDICTIONS.labels)
        names = self.search("neg_log_loss").fit(PROBS, LABELS, classes=np.unique(LABELS))
        assert names.best_score_ == pytest.approx(numbers.best_score_, rel=1e-12)
        assert names.best_estimator_.classes_.tolist() == NAMES

    @scored_by_probabilities
    def test_classes_in_any_order_are_scored_by_name_with_our_scorers(self):
        turned, classes = PROBS[:, [2, 0, 1]], ["z", "x", "y"]
        expected = cross_val_score(TemperatureScaling(), PROBS, PREDICTIONS.labels, scoring="neg_log_loss")
        ours = self.search(scorer("nll")).fit(turned, LABELS, classes=classes)
        assert ours.best_score_ == pytest.approx(expected.mean(), rel=1e-12)

    @both_frames
    @scored_by_probabilities
    def test_a_frame_brings_the_order_with_it(self, frame):
        search = self.search("neg_log_loss").fit(frame(PROBS, NAMES), LABELS)
        assert search.best_estimator_.feature_names_in_.tolist() == NAMES
        numbers = self.search("neg_log_loss").fit(PROBS, PREDICTIONS.labels)
        assert search.best_score_ == pytest.approx(numbers.best_score_, rel=1e-12)
