"""What every calibrator promises: the tests run over the whole table."""

import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from calibrant import InputError, Predictions
from calibrant.calibrators import CALIBRATORS, CalibratedModel, Calibrator, TemperatureScaling, calibrate
from calibrant.exceptions import DataWarning
from calibrant.metrics import NLL
from calibrator_cases import builders
from naming import case, each
from simulate import calibrated, draw_labels, sharpened

EVERY_CALIBRATOR = builders()  # As the table is now: a test imports this file with one row more.
every_calibrator = each("build", EVERY_CALIBRATOR)


def some_calibrators(holds):
    """Return the rows of the table of which this holds."""
    chosen = {name: build for name, build in EVERY_CALIBRATOR.items() if holds(build())}
    return each("build", chosen)


N = 200
"""Rows: enough for every member of the stack, which takes longer than all others."""
KINDS = {"parametric", "binning", "isotonic", "ensemble", "composition"}
LEVELS = {"high", "medium", "low"}


def is_distribution(probs):
    return np.isfinite(probs).all() and (probs >= 0).all() and np.abs(probs.sum(axis=1) - 1).max() < 1e-12


@cache
def over_confident(k):
    """Return predictions that are further from 1 / k than they should be."""
    return sharpened(calibrated(N, k), 0.5)


@cache
def fitted(build, k):
    """Return an estimator fitted to them, for tests that only ask it; it is fitted once for all of these."""
    p = over_confident(k)
    return build().fit(p.probs, p.labels)


@every_calibrator
@each("k", [2, 3])
class TestEveryCalibrator:
    def test_rows_sum_to_one_nothing_is_changed_weights_equal_copies_and_a_second_fit_forgets_the_first(self, build, k):
        p = over_confident(k)
        copies = np.random.default_rng(0).integers(0, 4, p.n_samples)
        probs, labels, weights = p.probs.copy(), p.labels.copy(), copies.astype(float)
        estimator = build().fit(probs, labels, weights)
        weighted = estimator.predict_proba(probs)
        assert weighted.shape == p.probs.shape
        assert weighted.dtype == np.float64
        assert is_distribution(weighted)
        assert np.array_equal(probs, p.probs)
        assert np.array_equal(labels, p.labels)
        assert np.array_equal(weights, copies)
        rows = np.repeat(np.arange(p.n_samples), copies)
        copied = build().fit(p.probs[rows], p.labels[rows]).predict_proba(p.probs)
        assert weighted == pytest.approx(copied, abs=1e-9)
        estimator.fit(p.probs, p.labels)
        assert np.array_equal(estimator.predict_proba(p.probs), fitted(build, k).predict_proba(p.probs))

    def test_a_clone_forgets_what_was_fitted(self, build, k):
        p = over_confident(k)
        estimator = fitted(build, k)
        with pytest.raises(NotFittedError):
            clone(estimator).predict_proba(p.probs)
        with pytest.raises(NotFittedError):
            calibrate(clone(estimator), p)

    def test_a_clone_has_the_same_settings_and_names_of_classes_change_no_number(self, build, k):
        p = over_confident(k)
        names = np.array(["ant", "bee", "cat"][:k])
        estimator = build()
        copy = clone(estimator)
        assert repr(copy.get_params()) == repr(estimator.get_params())
        assert copy.fit(p.probs, names[p.labels], classes=list(names)) is copy
        assert copy.classes_.tolist() == names.tolist()
        assert np.array_equal(copy.predict_proba(p.probs), fitted(build, k).predict_proba(p.probs))
        assert np.array_equal(copy.predict(p.probs), names[fitted(build, k).predict(p.probs)])

    def test_a_pickled_estimator_gives_the_same_result(self, build, k):
        p = over_confident(k)
        estimator = fitted(build, k)
        again = pickle.loads(pickle.dumps(estimator))  # noqa: S301 (just written)
        assert np.array_equal(again.predict_proba(p.probs), estimator.predict_proba(p.probs))

    def test_the_order_of_rows_does_not_matter(self, build, k):
        p = over_confident(k)
        rows = np.random.default_rng(0).permutation(p.n_samples)
        other = build().fit(p.probs[rows], p.labels[rows]).predict_proba(p.probs)
        assert fitted(build, k).predict_proba(p.probs) == pytest.approx(other, abs=1e-9)

    def test_a_row_is_calibrated_alone_as_among_others(self, build, k):
        p = over_confident(k)
        estimator = fitted(build, k)
        alone = np.vstack([estimator.predict_proba(p.probs[i : i + 1]) for i in range(8)])
        assert alone == pytest.approx(estimator.predict_proba(p.probs)[:8], abs=1e-14)

    def test_calibrate_agrees_with_predict_proba(self, build, k):
        p = over_confident(k)
        estimator = fitted(build, k)
        result = calibrate(estimator, p)
        assert result.probs == pytest.approx(estimator.predict_proba(p.probs), abs=1e-14)
        with np.errstate(divide="ignore"):
            assert result.log_probs == pytest.approx(np.log(result.probs), abs=1e-12)

    def test_logits_equal_probabilities(self, build, k):
        p = over_confident(k)
        logits = np.log(p.probs) + np.linspace(-17.0, 17.0, p.n_samples)[:, None]
        from_logits = build(scores="logits").fit(logits, p.labels).predict_proba(logits)
        assert from_logits == pytest.approx(fitted(build, k).predict_proba(p.probs), abs=1e-8)

    def test_single_precision_gives_the_same_result(self, build, k):
        rng = np.random.default_rng(5)
        counts = 1 + np.array([rng.multinomial(1024 - k, row) for row in rng.dirichlet(np.ones(k), N)])
        probs = counts / 1024  # Exact in single precision: what differs would be the arithmetic.
        labels = draw_labels(probs, rng)
        double = build().fit(probs, labels).predict_proba(probs)
        single = build().fit(probs.astype(np.float32), labels).predict_proba(probs.astype(np.float32))
        assert np.array_equal(single, double)

    def test_another_number_of_classes_is_refused(self, build, k):
        estimator = fitted(build, k)
        with pytest.raises(InputError, match=f"scores must have the {k} classes"):
            estimator.predict_proba(np.full((2, k + 1), 1 / (k + 1)))

    def test_scores_are_never_guessed(self, build, k):
        p = calibrated(N, k)
        with pytest.raises(InputError, match="Are these logits"):
            build().fit(np.log(p.probs) * 3 + 1, p.labels)
        with pytest.raises(InputError, match='scores must be "probs" or "logits"'):
            build(scores="odds").fit(p.probs, p.labels)

    def test_settings_of_numpy_do_not_matter_and_stay(self, build, k):
        p = sharpened(calibrated(N, k), 0.02)
        expected = build().fit(p.probs, p.labels).predict_proba(p.probs)
        with np.errstate(all="raise"):
            result = build().fit(p.probs, p.labels).predict_proba(p.probs)
            assert set(np.geterr().values()) == {"raise"}
        assert np.array_equal(result, expected)


# Bins contain one of their edges, and the rows do not fill all of them alike.
@some_calibrators(lambda calibrator: calibrator.kind != "binning")
@each("k", [2, 3])
def test_the_order_of_classes_does_not_matter(build, k):
    p = over_confident(k)
    order = np.roll(np.arange(k), 1)  # The new column j is the old column order[j].
    labels = np.argsort(order)[p.labels]
    other = build().fit(p.probs[:, order], labels).predict_proba(p.probs[:, order])
    assert other == pytest.approx(fitted(build, k).predict_proba(p.probs)[:, order], abs=1e-8)


@some_calibrators(lambda calibrator: calibrator.preserves_argmax)
@each("k", [2, 3])
@each("dtype", [np.float64, np.float32])
def test_argmax_is_kept_where_promised(build, k, dtype):
    p = over_confident(k)
    estimator = build().fit(p.probs.astype(dtype), p.labels)
    assert estimator.preserves_argmax
    rng = np.random.default_rng(1)
    # Beside ordinary rows: confident ones, where little is left for the others, and rows with a hair between two.
    confident = rng.dirichlet(np.full(k, 0.02), 1000)
    close = rng.dirichlet(np.ones(k), 1000)
    close[:, :2] = close[:, :2].mean(axis=1, keepdims=True)
    close[:, 1] *= 1 + 4 * np.finfo(dtype).eps
    for probs in (p.probs, confident, close):
        given = probs.astype(dtype)
        assert np.array_equal(estimator.predict(given), given.argmax(axis=1))


@some_calibrators(lambda calibrator: calibrator.kind == "parametric")  # Rounding makes ties, which move steps.
@each("k", [2, 3])
def test_rounding_to_single_precision_changes_little(build, k):
    p = over_confident(k)
    single = build().fit(p.probs.astype(np.float32), p.labels).predict_proba(p.probs.astype(np.float32))
    assert single == pytest.approx(fitted(build, k).predict_proba(p.probs), abs=1e-5)


def degenerate_data(k):
    """Data of which a likelihood has no maximum, or a bin no row, by name."""
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(k), 30)
    labels = draw_labels(probs, rng)
    certain = np.eye(k)[rng.integers(0, k, 30)]
    return {
        "one class only": (probs, np.full(30, k - 1)),
        "a class without a row": (probs, labels % (k - 1) if k > 2 else np.zeros(30, dtype=int)),
        "fewer rows than classes": (probs[: k - 1], labels[: k - 1]),
        "one row": (probs[:1], labels[:1]),
        "two rows": (probs[:2], [0, 1]),
        "the same row throughout": (np.repeat(probs[:1], 30, axis=0), labels),
        "uniform": (np.full((30, k), 1 / k), labels),
        "always right": (probs, probs.argmax(axis=1)),
        "always wrong": (probs, probs.argmin(axis=1)),
        "certain and right": (certain, certain.argmax(axis=1)),
        "certain and wrong": (certain, (certain.argmax(axis=1) + 1) % k),
        "certain and sometimes right": (certain, labels),
        "some certain": (np.vstack([certain[:10], probs[10:]]), labels),
        "nearly certain": (np.where(certain == 1, 1 - (k - 1) * 1e-300, 1e-300), labels),
    }


@every_calibrator
@pytest.mark.parametrize("k", [2, 3])
def test_degenerate_data_have_a_result(build, k):
    others = np.vstack([np.eye(k), np.full((1, k), 1 / k), np.random.default_rng(0).dirichlet(np.ones(k), 20)])
    for name, (probs, labels) in degenerate_data(k).items():
        with case(name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator = build().fit(probs, labels)
            assert is_distribution(estimator.predict_proba(np.vstack([probs, others])))


@every_calibrator
def test_metadata_are_complete(build):
    estimator = build()
    assert isinstance(estimator, Calibrator)
    assert estimator.kind in KINDS
    assert estimator.preserves_argmax in (True, False)
    assert estimator.data_efficiency in LEVELS
    assert estimator.expressiveness in LEVELS
    assert estimator.n_parameters
    assert estimator.use_when[0].isupper()
    assert estimator.use_when.endswith(".")
    assert list(estimator.get_params())
    assert "scores" in estimator.get_params()


@each("name", ["ts", "vs", "ms", "dirichlet", "svs", "sms", "ets", "iop-diag", "iop-oi"])  # fmt: skip
def test_optimisers_report_their_convergence(name):
    p = sharpened(calibrated(n=600), 0.4)
    fitted = CALIBRATORS[name]().fit(p.probs, p.labels)
    assert fitted.converged_ is True
    assert fitted.gradient_norm_ < 1e-8
    assert fitted.n_iter_ >= 1


@each(
    "build, category",
    [
        (lambda: CALIBRATORS["vs"]().set_params(max_iter=1), ConvergenceWarning),
        (lambda: CALIBRATORS["guard>iop-diag"]().set_params(orderpreserving__max_iter=1), ConvergenceWarning),
        (CALIBRATORS["ts"], DataWarning),  # An observed label has probability 0.
        # A class is not among the training rows.
        (lambda: CalibratedModel(DummyClassifier(), cv=[(np.arange(20, 40), np.arange(20))]), DataWarning),
    ],
)
def test_warnings_of_a_fit_name_the_line_that_called_it(build, category):
    probs = np.repeat([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]], 20, axis=0)
    probs[:2] = [[1.0, 0.0, 0.0], [0.6, 0.3, 0.1]]
    labels = np.array([2] + [0] * 19 + [0, 1] * 10)
    with pytest.warns((ConvergenceWarning, DataWarning)) as caught:
        build().fit(probs, labels)
    assert category in {record.category for record in caught}
    assert {record.filename for record in caught} == {__file__}


def test_calibrate_keeps_everything_but_the_probabilities():
    p = sharpened(calibrated(), 0.4)
    weighted = Predictions(p.probs, p.labels, np.arange(400.0), classes=["a", "b", "c"])
    result = calibrate(TemperatureScaling().fit(p.probs, p.labels), weighted)
    assert result.classes == ("a", "b", "c")
    assert np.array_equal(result.weights, weighted.weights)
    assert NLL()(result) < NLL()(weighted)
