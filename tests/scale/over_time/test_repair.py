"""The simplest repair that outcomes support."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant._core.laws import expit
from calibrant.results import Repair
from calibrant.scale.over_time.cells import Cells, gather
from calibrant.scale.over_time.change import describe, find_repair, fit_steps
from calibrant.scale.over_time.lines import Line, log_likelihood
from calibrant.scale.over_time.words import _formula


def day(kind, seed, n_rows=20_000):
    rng = np.random.default_rng(seed)
    z = rng.normal(0.5, 1.5, n_rows)
    fitted = {
        "none": z,
        "intercept": z + 0.4,
        "slope": 0.75 * z,
        "line": 0.75 * z - 0.5,
        "isotonic": np.where(z > 0, 3 * z, 0.3 * z),
    }[kind]
    y = rng.random(n_rows) < expit(fitted)
    return gather(np.stack([expit(-z), expit(z)], axis=1), np.ones(n_rows), y.astype(float))


@pytest.mark.parametrize("kind", ["none", "intercept", "slope", "line", "isotonic"])
def test_the_repair_is_the_one_that_was_needed(kind):
    found = find_repair([day(kind, 1)], [day(kind, 2)])
    assert found.name == kind
    later = {candidate.name: candidate.later_gain for candidate in found.candidates}
    assert later["none"] == 0
    assert later[kind] >= 0.9 * max(later.values())
    if kind != "none":
        assert later[kind] > 1


def test_its_coefficients_are_those_of_the_change():
    found = describe(find_repair([day("line", 3)], []), None)
    assert found["intercept"] == pytest.approx(-0.5, abs=0.08)
    assert found["slope"] == pytest.approx(0.75, abs=0.04)
    assert describe(find_repair([day("none", 3)], []), None)["intercept"] == 0


def test_a_repair_of_recalibrated_predictions_is_a_map_of_predictions():
    before = Line(0.3, 0.8, np.eye(2), 0.0)
    found = find_repair([day("line", 3)], [])
    plain, joined = describe(found, None), describe(found, before)
    z = np.array([-2.0, 1.0])
    again = plain["intercept"] + plain["slope"] * before(z)
    assert joined["intercept"] + joined["slope"] * z == pytest.approx(again)
    steps = describe(find_repair([day("isotonic", 3)], []), before)
    assert np.all(np.diff(steps["log_odds"]) > 0)
    assert np.all(np.diff(steps["repaired"]) > 0)


def test_isotonic_steps_are_the_most_likely_increasing_map():
    cells = Cells(np.array([0.0, 1.0, 2.0]), np.array([10.0, 10.0, 10.0]), np.array([4.0, 2.0, 9.0]))
    steps = fit_steps(cells)
    assert steps.log_odds.tolist() == [0.0, 2.0]
    assert expit(steps.values).tolist() == pytest.approx([6 / 20, 9 / 10])
    assert steps(np.array([-5.0, 1.5, 7.0])) == pytest.approx(steps.values[[0, 0, 1]])


def test_no_step_is_certain():
    cells = Cells(np.array([0.0, 1.0, 2.0]), np.array([9.0, 10.0, 99.0]), np.array([0.0, 5.0, 99.0]))
    steps = fit_steps(cells)
    assert expit(steps.values).tolist() == pytest.approx([0.5 / 10, 0.5, 1 - 0.5 / 100])
    assert np.isfinite(log_likelihood(steps(cells.log_odds), cells))


def test_a_temperature_with_an_intercept_is_said_to_follow_the_line_of_the_reference():
    plain = Repair(name="slope", intercept=0.0, slope=0.5, candidates=(), fitted=("1",), later=())
    assert _formula(plain) == ": divide the log-odds by 2.000"
    after = replace(plain, intercept=0.01)
    told = " on top of the line of the reference: new log-odds are 0.010 + 0.500 times those predicted"
    assert _formula(after) == told
    assert _formula(replace(after, name="line")) == told.removeprefix(" on top of the line of the reference")
