"""Observed labels of probability 0: which maps they spoil, and who says so."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from calibrant import DataWarning
from calibrant.calibrators import (
    CALIBRATORS,
    CalibratedModel,
    Ensemble,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    Pooled,
    TemperatureScaling,
    calibrate,
    parse,
)
from calibrant.cli import main
from calibrant.metrics import NLL
from calibrator_cases import EVERY_CALIBRATOR
from naming import each
from simulate import calibrated, sharpened

SENSITIVE = {
    "ts",
    "vs",
    "ms",
    "dirichlet",
    "platt",
    "quadratic",
    "beta",
    "spline",
    "ets",
    "iop-diag",
    "iop-oi",
    "iop-deep",
}
OTHERS = set(CALIBRATORS) - SENSITIVE


def with_zero(k=3, n=600):
    """Over-confident rows, the first of which was certain of another class."""
    p = sharpened(calibrated(n=n, k=k), 0.7)
    probs = p.probs.copy()
    probs[0] = np.eye(k)[(p.labels[0] + 1) % k]
    return probs, p.labels


def test_the_table_says_which_are_sensitive():
    assert {name for name in CALIBRATORS if CALIBRATORS[name]().sensitive_to_zeros} == SENSITIVE


@each("k", [2, 3])
@each("name", sorted(SENSITIVE))
def test_a_map_that_one_row_decides_warns_and_names_the_guard(name, k):
    probs, labels = with_zero(k)
    with pytest.warns(DataWarning, match=re.escape("row 0 has an observed label of probability 0.")) as caught:
        poor = parse(name).fit(probs, labels)
    assert f'"guard>{name}"' in str(caught[0].message)
    guarded = parse(f"guard>{name}").fit(probs, labels)  # Warnings are errors here: it has none.
    new = sharpened(calibrated(n=1000, k=k, seed=1), 0.7)
    # The uniform part of an ensemble makes up for most of a spoilt temperature.
    assert NLL()(calibrate(guarded, new)) < NLL()(calibrate(poor, new)) - (0.0005 if name == "ets" else 0.005)


@each("k", [2, 3])
@each("name", sorted(OTHERS))
def test_a_map_that_one_row_does_not_decide_is_silent(name, k):
    probs, labels = with_zero(k)
    build = EVERY_CALIBRATOR[name]
    result = build().fit(probs, labels)
    new = sharpened(calibrated(n=1000, k=k, seed=1), 0.7)
    guard = parse("guard")  # Isotonic maps give 0 to what happens, with or without zeros.
    with_row, without = (
        NLL()(calibrate(guard.fit(new.probs, new.labels), calibrate(fitted, new)))
        for fitted in (result, build().fit(probs[1:], labels[1:]))
    )
    assert with_row < without + 0.01


def test_a_row_of_weight_0_is_absent_and_several_rows_are_counted():
    probs, labels = with_zero()
    weights = np.ones(len(labels))
    weights[0] = 0
    TemperatureScaling().fit(probs, labels, weights)
    logits = np.log(np.where(probs > 0, probs, 1.0))
    logits[[3, 8], labels[[3, 8]]] = -np.inf
    with pytest.warns(DataWarning, match="2 of 600 rows have an observed label"):
        parse("platt", scores="logits").fit(logits, labels)


@each(
    "calibrator, sensitive",
    [
        (OneVsRest(PlattScaling()), True),
        (Pooled(PlattScaling()), True),
        (OneVsRest(IsotonicCalibration()), False),
        (Ensemble([IsotonicCalibration(), TemperatureScaling()]), True),
        (parse("ts>irm"), True),
        (parse("irm>ts"), False),
    ],
)
def test_a_calibrator_is_as_sensitive_as_what_it_holds(calibrator, sensitive):
    probs, labels = with_zero()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibrator.fit(probs, labels)
    assert len(caught) == sensitive
    assert all(issubclass(warning.category, DataWarning) for warning in caught)


def test_a_calibrator_that_has_no_name_is_written_out():
    assert OneVsRest(PlattScaling()).known_name() == ""
    assert parse("ts>iop-oi").known_name() == "ts>iop-oi"
    probs, labels = with_zero()
    with pytest.warns(DataWarning, match=r"before it: Compose\(\[LaplaceGuard\(\), OneVsRest\(calibrator=PlattScaling"):
        OneVsRest(PlattScaling()).fit(probs, labels)


class Fixed(ClassifierMixin, BaseEstimator):
    """A model that says what it is given."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X


def test_a_calibrated_model_says_so_too():
    probs, labels = with_zero()
    with pytest.warns(DataWarning, match='"guard>beta"'):
        CalibratedModel(Fixed().fit(probs, labels), "beta", cv="prefit").fit(probs, labels)


def test_the_command_says_so_on_standard_error(tmp_path, capsys):
    probs, labels = with_zero(2)
    np.savez(tmp_path / "p.npz", probs=probs, labels=labels)
    out = ["--out", str(tmp_path / "c.json")]
    assert main(["fit", str(tmp_path / "p.npz"), "--method", "beta", *out]) == 0
    assert "note: row 0 has an observed label of probability 0" in (shown := capsys.readouterr()).err
    assert '"guard>beta"' in shown.err
    assert "probability 0" not in shown.out
    assert main(["fit", str(tmp_path / "p.npz"), "--method", "guard>beta", *out]) == 0
    assert "probability 0" not in capsys.readouterr().err
