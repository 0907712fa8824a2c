"""When a change began and whether it has passed: a slow oracle, and changes that last, pass, come back or stay open."""

import numpy as np
import pytest

from calibrant import Predictions, as_record
from calibrant._core.laws import expit
from calibrant.report.over_time import facts, render_watch
from calibrant.scale import Sketch
from calibrant.scale.over_time import CoxAlternatives, SpreadStart, Watch
from calibrant.scale.over_time.change import date_change
from calibrant.scale.over_time.days import cells_of
from calibrant.scale.over_time.stream import collect

N_BEFORE = 5


def rows(seed, n_rows, shift):
    rng = np.random.default_rng(seed)
    z = rng.normal(-1, 1.3, n_rows)
    return Predictions(expit(z), rng.random(n_rows) < expit(z + shift))


def days(*parts, seed=0):
    """Five calibrated days of 1000 rows, then parts of (days, rows per day, shift of log-odds)."""
    every = [part for n_days, *part in ((N_BEFORE, 1000, 0.0), *parts) for _ in range(n_days)]
    return {f"day {i + 1:02d}": rows(100 * seed + i, *part) for i, part in enumerate(every)}


def slow_dates(watched, alarm):
    """Return first day, last day and the probability that the change lasts: sums over every cell, one by one."""
    lines, centres, seen = CoxAlternatives().lines(), [], []
    cells = [cells_of(day, None) for day in watched]

    def factor(k, t, centre):
        shift, slope = lines[k]
        total = 0.0
        for z, n, events in zip(cells[t].log_odds, cells[t].count, cells[t].events, strict=True):
            p, q = expit(z), expit(centre + shift + slope * (z - centre))
            total += events * np.log(q / p) + (n - events) * np.log((1 - q) / (1 - p))
        return total

    def centre_of(some):
        z, n = (np.concatenate([getattr(day, what) for day in some]) for what in ("log_odds", "count"))
        return np.average(z, weights=n * expit(z) * expit(-z))

    n_days, n_lines = len(cells), len(lines)
    for day in cells:
        seen.append(day)
        centres.append(centre_of(seen))
    table = [[factor(k, t, centres[t]) for k in range(n_lines)] for t in range(n_days)]

    def ratio(s, e):
        return np.mean([np.exp(sum(table[t][k] for t in range(s, e + 1))) for k in range(n_lines)])

    up_to = [sum(ratio(s, e) for s in range(e + 1)) for e in range(n_days)]
    last = n_days - 1
    likeliest = max(range(alarm, last), key=lambda e: up_to[e])
    ended = np.mean(up_to[alarm:last])
    after = [
        [factor(k, t, centre_of(cells[likeliest + 1 : t + 1])) for k in range(n_lines)]
        for t in range(likeliest + 1, n_days)
    ]
    other = np.mean([np.exp(sum(day[k] for day in after)) for k in range(n_lines)])
    passed = ended / (ended + ended * other + up_to[last])
    until = likeliest if passed >= 0.95 else last
    return max(range(until + 1), key=lambda s: ratio(s, until)), until, 1 - passed


@pytest.mark.parametrize(
    "parts", [[(2, 200, 0.8), (3, 200, 0.0)], [(5, 150, 0.6)], [(2, 150, 0.8), (2, 20, 0.0)]], ids=str
)
def test_dates_are_those_of_the_definition(parts):
    every = list(days(*parts).values())[3:]
    stream = collect([cells_of(day, None) for day in every], CoxAlternatives(), SpreadStart())
    alarm = 3
    found = date_change(stream, alarm, alarm + int(np.argmax(stream.log_e[alarm:])))
    since, until, lasts = slow_dates(every, alarm)
    assert (found.since, found.until) == (since, until)
    assert found.lasts == pytest.approx(lasts, rel=1e-6, abs=1e-12)


def test_a_change_that_lasts_is_measured_on_all_days_since():
    result = Watch()(days((12, 1000, 0.4)))
    change, story = result.change, " ".join(result.story)
    assert (change.since, change.until, change.after) == ("day 06", None, None)
    assert change.lasts > 0.95
    assert change.n_samples == 12_000
    assert change.repair.fitted + change.repair.later == tuple(f"day {i:02d}" for i in range(6, 18))
    assert "It lasts up to day 17 with a probability of 95% or more." in story
    assert result.kind == "bad"


def test_a_change_that_passed_is_told_as_passed_and_needs_no_repair():
    watched = days((2, 1000, -0.7), (10, 1000, 0.0))
    result = Watch()(watched)
    change, story = result.change, " ".join(result.story)
    assert (change.since, change.until, change.after.name) == ("day 06", "day 07", "day 08")
    assert change.alarm in ("day 06", "day 07")  # It stays raised.
    assert change.lasts < 0.05
    assert (change.n_samples, change.after.n_samples) == (2000, 10_000)
    assert abs(change.after.shift) < 4 * change.after.shift_error
    alone = Watch()({name: day for name, day in watched.items() if name > "day 07"})
    assert change.after.log_e == max(day.log_e for day in alone.days) < result.log_limit
    assert result.headline == (
        "A change of calibration seems to have passed: from day 06 to day 07, predictions were too high."
    )
    assert "It has ended with a probability of 95% or more, most likely with day 07." in story
    assert "A watch that begins with day 08 finds no sign of a change" in story
    assert "there are none yet" not in story
    repair = change.repair
    assert (repair.name, repair.intercept, repair.slope) == ("none", 0.0, 1.0)
    assert repair.fitted == ("day 06", "day 07")
    assert repair.later == tuple(f"day {i:02d}" for i in range(8, 18))
    level = next(each for each in repair.candidates if each.name == "intercept")
    assert level.gain > 0 > level.later_gain
    assert "nothing is to be repaired now. On 10 later days, a new base rate (prior shift)" in story
    assert f"would raise the sum of log losses by {-level.later_gain:.1f} per 1000 rows" in story


@pytest.mark.parametrize("shift", [0.0, 0.6])
def test_few_rows_after_a_change_leave_its_end_open(shift):
    result = Watch()(days((3, 1000, 0.6), (2, 15, shift)))
    change = result.change
    assert (change.since, change.until, change.after) == ("day 06", None, None)
    assert change.lasts > 0.05
    assert change.n_samples == 3030
    assert change.repair.later[-1] == "day 10"
    assert "It lasts up to day 10 with a probability of " in " ".join(result.story)


def test_days_without_rows_are_no_sign_of_an_end():
    result = Watch()(days((3, 1000, 0.6)) | {f"day 1{i}": Sketch() for i in range(9)})
    assert result.change.until is None
    assert result.change.lasts >= 2 / 3 - 1e-9


def test_a_smaller_change_after_a_large_one_has_not_passed():
    found = [Watch()(days((3, 1000, 0.8), (10, 1000, 0.3), seed=seed)).change for seed in range(5)]
    assert all(change.until is None for change in found)


def test_a_change_that_lasts_is_rarely_told_as_passed():
    found = [Watch()(days((8, 150, 0.5), seed=seed)).change for seed in range(40)]
    assert sum(change is not None and change.until is not None for change in found) <= 2


def test_the_last_of_two_changes_that_passed_is_told():
    result = Watch()(days((2, 1000, 0.9), (8, 1000, 0.0), (2, 1000, -0.6), (12, 1000, 0.0)))
    change = result.change
    assert (change.alarm, change.since, change.until) == ("day 06", "day 16", "day 17")
    assert change.named[0] == "too high"
    assert result.story[1].startswith("Something else was wrong before")


def test_a_change_against_a_reference_passes_too():
    reference = rows(7, 5000, 0.5)
    watched = days((2, 1000, 1.4), (10, 1000, 0.5))
    watched |= {name: rows(i, 1000, 0.5) for i, name in enumerate(watched) if i < N_BEFORE}
    result = Watch()(watched, reference)
    assert (result.change.since, result.change.until) == ("day 06", "day 07")
    assert (result.change.repair.intercept, result.change.repair.slope) == (0.0, 1.0)
    assert result.headline.startswith("A change of calibration against the reference period seems to have passed")


def test_the_page_and_the_record_tell_the_same_story():
    result = Watch()(days((1, 2000, -0.9), (6, 1000, 0.0)))
    page, record = render_watch(result), as_record(result)
    assert "passed: on day 06, predictions were too high." in result.headline
    assert result.headline in page
    assert all(sentence in page for sentence in result.story)
    assert 'class="card watch-card unclear"' in page
    assert page.count(">passed</text>") == page.count(">changed</text>") == 3
    assert "as the change seems to have passed, none is taken" in page
    shown = dict(facts(result))
    assert (shown["Changed from"], shown["Passed after"], shown["Predictions were"]) == ("day 06", "day 06", "too high")
    assert (record["change"]["until"], record["change"]["after"]["name"]) == ("day 06", "day 07")
    assert record["change"]["repair"]["name"] == "none"


@pytest.mark.parametrize("n_later", [100, 200, 300])
def test_a_change_does_not_begin_with_days_after_which_there_are_no_rows(n_later):
    wrong, right = (
        Sketch().update([0.5] * 50, [0, 0, 0, 0, 1] * 10),
        Sketch().update([0.5] * n_later, [0, 1] * (n_later // 2)),
    )
    found = Watch()({"1": wrong, "2": right, "3": Sketch(), "4": Sketch()})
    assert (found.change.since, found.change.latest, found.change.until) == ("1", "2", None)
    assert found.change.n_samples == 50 + n_later
