"""Calibrators of predictive distributions in files."""

import numpy as np
import pytest

from calibrant import Forecasts, InputError, Normal, Quantiles
from calibrant.calibrators import load, save
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS, ForecastCalibrator, SpreadScaling, StudentScaling
from calibrant.calibrators.store import load_with_details
from forecast_laws import g1, g2
from stored_cases import as_array, forge

FIT, TEST, _ = g1()
LEVELS = np.array([0.05, 0.5, 0.95])


def data_for(calibrator):
    if calibrator.accepts == "ensemble":
        return g2()
    if calibrator.accepts == "quantiles":
        return [Forecasts(Quantiles(LEVELS, f.distribution.quantile(LEVELS)), f.targets) for f in (FIT, TEST)]
    return FIT, TEST


@pytest.mark.parametrize("name", [*FORECAST_CALIBRATORS, "shift-scale>pit"])
def test_every_calibrator_comes_back_the_same(name, tmp_path):
    calibrator = FORECAST_CALIBRATORS[name]()
    fit, test = data_for(calibrator)
    before = calibrator.fit(fit)
    checksum = save(before, tmp_path / "c.json", details={"model": "m"})
    found = load_with_details(tmp_path / "c.json")
    assert (found.sha256, found.details) == (checksum, {"model": "m"})
    after = found.calibrator
    assert repr(after) == repr(before)
    levels = [0.1, 0.5, 0.8]
    assert np.array_equal(
        after.apply(test.distribution).quantile(levels), before.apply(test.distribution).quantile(levels)
    )


@pytest.mark.parametrize(
    "name, key, value, words",
    [
        ("scale", "factor_", -1.0, "factor_ of SpreadScaling must be a positive number"),
        ("scale", "factor_", "wide", "factor_ of SpreadScaling must be"),
        ("scale", "dim_", 0, "must have the number of coordinates"),
        ("student", "df_", 0.5, "df_ of StudentScaling must exceed 1"),
        ("shift-scale", "shift_", {"float": "inf"}, "shift_ of ShiftScaling must be finite"),
        ("pit", "levels_", as_array([0.2, 0.1]), "must have the same length and be strictly increasing"),
        ("quantile-shift", "shifts_", as_array([0.0]), "with one shift each"),
        ("inflate", "shift_", as_array([np.inf]), "must be finite numbers"),
        ("shift-scale>pit", "stages_", [], "must be calibrators of forecasts"),
        ("spread-by-level", "slope_", None, "must be finite"),
    ],
)
def test_what_no_fit_can_give_is_refused(name, key, value, words, tmp_path):
    calibrator = FORECAST_CALIBRATORS[name]()
    path = tmp_path / "c.json"
    save(calibrator.fit(data_for(calibrator)[0]), path)
    forge(path, lambda whole: whole["calibrator"]["fitted"].update({key: value}))
    with pytest.raises(InputError, match=words):
        load(path)


def test_a_stage_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "c.json"
    save(SpreadScaling().fit(FIT), path)
    forge(path, lambda whole: whole["calibrator"].update({"class": "TemperatureScaling", "params": {}, "fitted": {}}))
    with pytest.raises(InputError, match="cannot be used as a calibrator"):
        load(path)


def test_classes_of_your_own_are_refused(tmp_path):
    class Mine(ForecastCalibrator):
        def _fit(self, forecasts):
            self.a_ = 1.0

        def _apply(self, distribution):
            return distribution

    with pytest.raises(TypeError, match="only calibrators of calibrant can be saved"):
        save(Mine().fit(FIT), tmp_path / "c.json")


def test_an_infinite_number_of_degrees_of_freedom_is_kept(tmp_path):
    f = Forecasts(Normal(np.zeros(200), 1.0), np.random.default_rng(0).uniform(-1, 1, 200))
    save(StudentScaling().fit(f), tmp_path / "c.json")
    assert load(tmp_path / "c.json").df_ == np.inf
