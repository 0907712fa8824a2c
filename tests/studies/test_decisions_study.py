"""The study of decisions, small."""

from copy import deepcopy

import numpy as np

from studies.decisions import covering, plan, promising, write
from studies.decisions.covering import RARE


def test_every_part_runs_and_has_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(covering, "N_TRUE", 2000)
    write(tmp_path / "table.md", {unit.name: unit.compute() for unit in plan(1)}, runs=1)
    lines = (tmp_path / "table.md").read_text().splitlines()
    assert sum(line.startswith("| ") for line in lines) == 8 + 3 * 11 + 9 + 8 + 5 + 15 + 6
    assert len({line.count("|") for line in lines if line.startswith("| 14 % events")}) == 2
    assert not any("nan" in line for line in lines)


def test_a_copy_of_a_world_as_a_worker_has_it_is_the_same_world(monkeypatch):
    monkeypatch.setattr(covering, "N_TRUE", 2000)
    for function in (covering.cost, covering.threshold):
        found = [function(world, 300, 20, np.random.default_rng(0)) for world in (RARE, deepcopy(RARE))]
        np.testing.assert_array_equal(*found)


def test_the_possible_coverage_is_that_of_the_true_risk():
    kept = promising.continuous(500, 0.05, 0.1, 3, np.random.default_rng(0))
    assert abs(0.4 * kept.best**2 / 3 - 0.05) < 1e-12
    assert kept.coverage <= 1
