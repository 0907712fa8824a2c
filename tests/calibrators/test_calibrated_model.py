"""A classifier and a calibrator as one classifier."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import estimator_checks_generator

from calibrant import DataWarning, InputError
from calibrant.calibrators import CALIBRATORS, CalibratedModel, IsotonicCalibration, TemperatureScaling, load, save
from calibrator_cases import EVERY_CALIBRATOR
from naming import each

CHECKED = [
    CalibratedModel(GaussianNB(), TemperatureScaling(), cv=2),
    CalibratedModel(RidgeClassifier(solver="sparse_cg"), "isotonic", cv=2, response="decision_function"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator, check",
    [pair for model in CHECKED for pair in estimator_checks_generator(model)],
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", type(value).__name__),
)
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


def problem(n_classes=3, n=300, seed=0):
    return make_classification(n, 8, n_informative=5, n_classes=n_classes, random_state=seed)


class TestFolds:
    def test_the_calibrator_sees_scores_of_rows_that_the_estimator_has_not_seen(self):
        X, y = problem()
        model = CalibratedModel(GaussianNB(), TemperatureScaling(), cv=4).fit(X, y)
        held_out = cross_val_predict(GaussianNB(), X, y, cv=StratifiedKFold(4), method="predict_proba")
        expected = TemperatureScaling().fit(held_out, y)
        assert model.calibrator_.temperature_ == pytest.approx(expected.temperature_, rel=1e-9)
        final = expected.predict_proba(GaussianNB().fit(X, y).predict_proba(X))
        assert model.predict_proba(X) == pytest.approx(final, abs=1e-9)

    def test_log_loss_on_new_rows_falls(self):
        X, y = load_digits(return_X_y=True)
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
        plain = MultinomialNB().fit(X_train, y_train).predict_proba(X_test)
        model = CalibratedModel(MultinomialNB(), "ts", response="predict_log_proba").fit(X_train, y_train)
        assert log_loss(y_test, model.predict_proba(X_test)) < 0.5 * log_loss(y_test, plain)

    @each("build", EVERY_CALIBRATOR)
    def test_every_calibrator_can_be_used(self, build):
        X, y = problem()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Matrix scaling of so few rows need not converge.
            probs = CalibratedModel(GaussianNB(), build(), cv=3).fit(X, y).predict_proba(X)
        assert probs.shape == (300, 3)
        assert probs.sum(axis=1) == pytest.approx(1.0, abs=1e-12)

    def test_a_class_that_a_fold_lacks_keeps_its_column(self):
        X, y = problem()
        rare = np.where((y == 2) & (np.arange(300) >= 100), 1, y)
        splits = [(np.arange(100, 300), np.arange(100)), (np.arange(100), np.arange(100, 300))]
        n_lost = int(np.sum(rare[:100] == 2))
        message = f"without {n_lost} rows? whose class does not occur in the training rows of the fold"
        with pytest.warns(DataWarning, match=message):
            model = CalibratedModel(GaussianNB(), "ts", cv=splits).fit(X, rare)
        assert model.predict_proba(X).shape == (300, 3)
        kept = np.flatnonzero(rare[:100] != 2)
        first = GaussianNB().fit(X[100:], rare[100:]).predict_proba(X[kept])
        second = GaussianNB().fit(X[:100], rare[:100]).predict_proba(X[100:])
        scores = np.vstack([np.column_stack([first, np.zeros(len(kept))]), second])
        with pytest.warns(DataWarning, match="class 2 never occurs"):
            expected = TemperatureScaling().fit(scores, np.concatenate([rare[kept], rare[100:]]))
        assert model.calibrator_.temperature_ == pytest.approx(expected.temperature_, rel=1e-9)

    def test_folds_without_a_row_of_a_known_class_are_refused(self):
        X, y = problem(2, n=20)
        order = np.argsort(y, kind="stable")
        zeros, ones = order[: int(np.sum(y == 0))], order[int(np.sum(y == 0)) :]
        with pytest.raises(InputError, match="every class must be both in the training rows"):
            CalibratedModel(GaussianNB(), "ts", cv=[(zeros, ones), (ones, zeros)]).fit(X, y)

    def test_rows_may_be_scored_several_times_or_never(self):
        X, y = problem()
        model = CalibratedModel(GaussianNB(), "ts", cv=ShuffleSplit(3, test_size=0.2, random_state=0)).fit(X, y)
        assert model.calibrator_.temperature_ > 1

    def test_a_row_of_weight_2_counts_as_two(self):
        X, y = problem(2, n=60)
        w = np.arange(60) % 3
        copies = np.repeat(np.arange(60), w)
        half = np.arange(60) < 30
        splits = [(np.flatnonzero(half), np.flatnonzero(~half)), (np.flatnonzero(~half), np.flatnonzero(half))]
        repeated = [(np.flatnonzero(np.isin(copies, a)), np.flatnonzero(np.isin(copies, b))) for a, b in splits]
        one = CalibratedModel(GaussianNB(), "platt", cv=splits).fit(X, y, sample_weight=w)
        other = CalibratedModel(GaussianNB(), "platt", cv=repeated).fit(X[copies], y[copies])
        assert one.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-8)


class TestPrefit:
    def test_the_estimator_is_left_as_it_is(self):
        X, y = problem()
        trained = GaussianNB().fit(X[:150], y[:150])
        model = CalibratedModel(trained, IsotonicCalibration(), cv="prefit").fit(X[150:], y[150:])
        assert model.estimator_ is trained
        by_hand = IsotonicCalibration().fit(trained.predict_proba(X[150:]), y[150:])
        assert np.array_equal(model.predict_proba(X), by_hand.predict_proba(trained.predict_proba(X)))

    def test_classes_that_the_calibration_rows_lack_are_kept(self):
        X, y = problem()
        trained = GaussianNB().fit(X, y)
        some = np.flatnonzero(y != 2)
        model = CalibratedModel(trained, "ts", cv="prefit").fit(X[some], y[some])
        assert model.predict_proba(X).shape == (300, 3)

    def test_unknown_classes_are_refused(self):
        X, y = problem()
        trained = GaussianNB().fit(X[y != 2], y[y != 2])
        row = int(np.flatnonzero(y == 2)[0])
        with pytest.raises(InputError, match=f"y must hold classes that the estimator was trained on, but row {row} "):
            CalibratedModel(trained, "ts", cv="prefit").fit(X, y)

    def test_a_frozen_estimator_survives_a_search(self):
        X, y = problem()
        frozen = FrozenEstimator(GaussianNB().fit(X[:150], y[:150]))
        grid = {"calibrator": ["ts", IsotonicCalibration()]}
        search = GridSearchCV(CalibratedModel(frozen, "ts", cv="prefit"), grid, scoring="neg_log_loss", cv=3)
        search.fit(X[150:], y[150:])
        assert search.predict_proba(X).shape == (300, 3)


class TestResponses:
    def test_a_decision_function_is_read_as_log_odds(self):
        X, y = problem(2)
        svm = LinearSVC(random_state=0).fit(X[:150], y[:150])
        model = CalibratedModel(svm, "platt", cv="prefit", response="decision_function").fit(X[150:], y[150:])
        by_hand = CALIBRATORS["platt"](scores="logits").fit(svm.decision_function(X[150:]), y[150:])
        expected = by_hand.predict_proba(svm.decision_function(X))
        assert model.predict_proba(X) == pytest.approx(expected, abs=1e-12)

    def test_a_decision_function_of_many_classes_is_read_as_logits(self):
        X, y = problem()
        linear = LogisticRegression(C=100.0)
        by_logits = CalibratedModel(linear, "vs", response="decision_function").fit(X, y).predict_proba(X)
        by_probs = CalibratedModel(linear, "vs").fit(X, y).predict_proba(X)
        assert by_logits == pytest.approx(by_probs, abs=1e-6)

    def test_scores_of_pairs_of_classes_are_refused(self):
        X, y = problem(4, n=200)
        with pytest.raises(InputError, match=r"one score for each of 4 classes, but returns the shape \(50, 6\)"):
            CalibratedModel(
                SVC(decision_function_shape="ovo"), "ts", cv=4, response="decision_function",
            ).fit(X, y)  # fmt: skip

    def test_a_method_that_is_not_there_is_named(self):
        X, y = problem()
        with pytest.raises(InputError, match="LinearSVC has no predict_proba"):
            CalibratedModel(LinearSVC(), "ts").fit(X, y)

    def test_log_probabilities_are_exact_where_probabilities_vanish(self):
        X, y = load_digits(return_X_y=True)
        X, y = X[:600], y[:600]
        trained = MultinomialNB().fit(X, y)
        model = CalibratedModel(trained, "ts", cv="prefit", response="predict_log_proba").fit(X, y)
        exact = TemperatureScaling(scores="logits").fit(trained.predict_log_proba(X), y)
        assert model.calibrator_.temperature_ == pytest.approx(exact.temperature_, rel=1e-12)


class TestInScikitLearn:
    def test_settings_of_both_parts_can_be_searched(self):
        X, y = problem()
        pipeline = make_pipeline(StandardScaler(), CalibratedModel(GaussianNB(), TemperatureScaling(), cv=3))
        grid = {"calibratedmodel__estimator__var_smoothing": [1e-9, 1.0], "calibratedmodel__calibrator": ["ts", "vs"]}
        search = GridSearchCV(pipeline, grid, scoring="neg_log_loss", cv=3).fit(X, y)
        assert search.best_score_ > -1.1

    def test_nothing_learnt_is_in_a_clone(self):
        X, y = problem()
        model = CalibratedModel(GaussianNB(), "ts").fit(X, y)
        assert not hasattr(clone(model), "calibrator_")
        assert not hasattr(model.estimator, "classes_")

    def test_names_of_classes_and_features_are_kept(self):
        pd = pytest.importorskip("pandas")
        X, y = problem()
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)])
        names = np.array(["ash", "birch", "cedar"])[y]
        model = CalibratedModel(GaussianNB(), "ts").fit(frame, names)
        assert model.classes_.tolist() == ["ash", "birch", "cedar"]
        assert model.feature_names_in_[0] == "f0"
        assert model.n_features_in_ == 8
        assert set(model.predict(frame)) <= set(names)

    def test_a_temperature_keeps_every_prediction(self):
        X, y = problem()
        model = CalibratedModel(RandomForestClassifier(20, random_state=0), "ts").fit(X, y)
        assert np.array_equal(model.predict(X), model.estimator_.predict(X))

    def test_weights_that_the_estimator_does_not_know_reach_the_calibrator(self):
        X, y = problem()
        w = np.where(y == 0, 5.0, 1.0)
        with pytest.warns(DataWarning, match="KNeighborsClassifier is trained without the weights"):
            weighted = CalibratedModel(KNeighborsClassifier(20), "vs").fit(X, y, sample_weight=w)
        plain = CalibratedModel(KNeighborsClassifier(20), "vs").fit(X, y)
        assert weighted.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.05

    def test_metadata_is_routed_to_estimator_and_splitter(self):
        X, y = problem()
        w = np.where(y == 0, 5.0, 1.0)
        with config_context(enable_metadata_routing=True):
            scaler = StandardScaler().set_fit_request(sample_weight=False)
            inner = make_pipeline(scaler, LogisticRegression().set_fit_request(sample_weight=True))
            model = CalibratedModel(inner, "ts", cv=GroupKFold(5)).set_fit_request(sample_weight=True)
            model.fit(X, y, sample_weight=w, groups=np.arange(300) % 10)
            by_hand = clone(inner).fit(X, y, sample_weight=w)
        assert np.array_equal(model.estimator_.predict_proba(X), by_hand.predict_proba(X))

    def test_further_arguments_are_cut_to_the_folds(self):
        X, y = problem()
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        w = np.where(y == 0, 5.0, 1.0)
        model = CalibratedModel(pipeline, "ts").fit(X, y, logisticregression__sample_weight=w)
        by_hand = clone(pipeline).fit(X, y, logisticregression__sample_weight=w)
        assert np.array_equal(model.estimator_.predict_proba(X), by_hand.predict_proba(X))

    def test_the_calibrator_can_be_saved_and_the_model_says_so(self, tmp_path):
        X, y = problem()
        model = CalibratedModel(GaussianNB(), "vs").fit(X, y)
        with pytest.raises(TypeError, match="save its calibrator_"):
            save(model, tmp_path / "model.json")
        save(model.calibrator_, tmp_path / "vs.json")
        raw = model.estimator_.predict_proba(X)
        assert load(tmp_path / "vs.json").predict_proba(raw) == pytest.approx(model.predict_proba(X), abs=1e-12)


@each(
    "settings, error, message",
    [
        (
            {"response": "predict"},
            InputError,
            'response must be "predict_proba", "predict_log_proba" or "decision_function", but is .predict.',
        ),
        ({"cv": "prefitted"}, InputError, "cv must be a number of folds"),
        ({"calibrator": LogisticRegression()}, TypeError, "calibrator must be a calibrator such as"),
        ({"calibrator": "tss"}, InputError, "ts"),
    ],
)
def test_wrong_settings_are_named(settings, error, message):
    X, y = problem()
    with pytest.raises(error, match=message):
        CalibratedModel(GaussianNB(), **settings).fit(X, y)


def test_one_class_is_refused():
    X, _ = problem()
    with pytest.raises(InputError, match="y must hold at least two classes, but has one class, 7"):
        CalibratedModel(GaussianNB(), "ts").fit(X, np.full(300, 7))
