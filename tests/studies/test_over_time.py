"""The study of calibration over time, small."""

import numpy as np

from studies.over_time import runs, write
from studies.over_time.runs import Shift
from studies.over_time.worlds import COMMON, RARE


def test_worlds_have_the_share_of_events_that_their_names_say():
    rng = np.random.default_rng(0)
    for world, share in ((COMMON, 0.3), (RARE, 0.01)):
        z = world.log_odds(200_000, rng)
        assert abs(world.outcomes(z, rng).mean() / share - 1) < 0.1


def test_every_part_runs_and_has_its_row(tmp_path):
    rng = np.random.default_rng(1)
    big = Shift("shift 2", 2.0, 1.0, "too low")
    run = runs.one_run(COMMON, big, 500, 11_000, rng)
    late = runs.one_run(COMMON, big, 500, 11_000, rng, 20_000)
    found = {
        "null 30 %": runs.alarms(COMMON, 3, 50, rng),
        "safe 30 % 500": runs.against_reference(COMMON, 2, 3, (500, 100), rng)._asdict(),
        "power 30 % shift 2": [run, None],
        "reference 20000 30 % shift 2": [late],
        "compare 30 % none": runs.rejections(COMMON, 2, 300, rng)._asdict(),
    }
    assert run.delay == 500
    assert run.right
    assert run.off == 0
    write(tmp_path / "table.md", found)
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "| 30 % shift 2 | none | 500 | 500 | 100.0% | 0 | 1 of 2 |" in text
    assert "| 30 % shift 2 | 20000 | " in text
    assert text.count("\n## ") == 4
