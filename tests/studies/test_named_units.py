"""Units that are named functions: the same name in every process, other names for other settings."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS
from calibrant.lab.store import Store
from studies import forecast_limits
from studies.__main__ import main
from studies.decisions import plan as decisions
from studies.forecast_calibrators import MADE_FOR, left
from studies.forecast_calibrators import plan as forecast_calibrators
from studies.forecast_calibrators import write as write_calibrators
from studies.forecast_tests import plan as forecast_tests
from studies.groups import World, categories, numbers
from studies.groups import plan as groups
from studies.log_score_limits import plan as log_score_limits
from studies.over_time import plan as over_time
from studies.simulations.units import Simulation, content, load


def test_a_study_is_named_on_the_command_line(monkeypatch, capsys):
    for given in ([], ["nothing"]):
        monkeypatch.setattr(sys, "argv", ["studies", *given])
        assert main() == 2
        found = capsys.readouterr().err
        assert "coverage, decisions, forecast_calibrators, forecast_groups, forecast_limits, forecast_tests" in found
        assert "groups, log_score_limits, over_time, validity." in found


def draw(world, n, rng):
    return [world.n, n, rng.random()]


def test_a_unit_is_computed_with_its_own_random_numbers_and_read_as_it_was(tmp_path):
    unit = Simulation("a, 10 %", draw, (World(5, categories), 7), (2026, 1))
    store = Store(tmp_path)
    assert load(unit, store) is None
    store.write(unit, content(unit))
    assert load(unit, store) == [5, 7, np.random.default_rng([2026, 1]).random()]
    for other in ((World(5, numbers), 7), (World(5, categories), 8), (World(5, categories, 0.1), 7)):
        assert load(Simulation("a, 10 %", draw, other, (2026, 1)), store) is None
    assert load(Simulation("a, 10 %", draw, unit.arguments, (2026, 2)), store) is None


@pytest.mark.parametrize(
    "plan", [groups, over_time, decisions, forecast_limits.plan, forecast_tests, forecast_calibrators, log_score_limits]
)
def test_every_unit_has_a_file_of_its_own(plan):
    assert len({unit.filename for unit in plan()}) == len(plan())


def test_every_calibrator_of_forecasts_has_a_line_in_its_study(tmp_path):
    assert list(MADE_FOR) == list(FORECAST_CALIBRATORS)
    table = (
        Path(__file__).parents[2].joinpath("docs", "validity", "forecast_calibrators.md").read_text(encoding="utf-8")
    )
    assert all(table.count(f"| `{name}` |") == 1 + (name != "identity") for name in MADE_FOR)
    found = {"scale, too narrow": left("scale", 2, False, np.random.default_rng(0))}
    found["cqr, right"] = left("cqr", 2, True, np.random.default_rng(0))
    write_calibrators(tmp_path / "a.md", found)
    assert len([line for line in (tmp_path / "a.md").read_text().splitlines() if line.startswith("| `")]) == 2


def test_the_name_of_a_file_is_the_same_in_another_process():
    code = "from studies.groups import plan; print(*(unit.filename for unit in plan()), sep=';')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip().split(";") == [unit.filename for unit in groups()]


def test_the_study_of_limits_of_forecasts_has_a_line_for_every_world_and_size(tmp_path, monkeypatch):
    monkeypatch.setattr(forecast_limits, "N_TRUE", 2000)
    sets = tuple((n, 1) for n in forecast_limits.SETS)
    rng = np.random.default_rng(0)
    found = {world: forecast_limits.shares(world, sets, rng) for world in forecast_limits.WORLDS}
    forecast_limits.write(tmp_path / "table.txt", found)
    lines = (tmp_path / "table.txt").read_text().splitlines()
    assert lines[1] == "world rows crps log-score pinball interval-score interval-width"
    assert len(lines) == 2 + 8 * 6
    assert {len(line.split()) for line in lines[1:]} == {7}


@pytest.mark.parametrize(
    "plan", [groups, over_time, decisions, forecast_limits.plan, forecast_tests, forecast_calibrators, log_score_limits]
)
def test_units_are_keys(plan):
    """The runner keeps what it found by unit."""
    units = plan()
    assert len(set(units)) == len(units) > 0
