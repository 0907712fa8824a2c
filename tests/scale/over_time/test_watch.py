"""Watching days: what is found, what is refused, what is said."""

from itertools import islice

import numpy as np
import pytest

from calibrant import InputError, Predictions, as_record
from calibrant._core.laws import expit
from calibrant.scale import Sketch
from calibrant.scale.over_time import Watch
from calibrant.scale.over_time.days import cells_of


def drawn(seed, n_rows=800, shift=0.0, slope=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-1, 1.3, n_rows)
    return expit(z), rng.random(n_rows) < expit(-1 + shift + slope * (z + 1))


def days(n_days=20, first=10, kind=Predictions, **change):
    return {f"2026-03-{i + 1:02d}": kind(*drawn(100 + i, **(change if i >= first else {}))) for i in range(n_days)}


def sketched(p, y):
    return Sketch().update(p, y)


@pytest.mark.parametrize(
    ("change", "direction", "repair"),
    [
        ({"shift": 0.6}, "too low", "intercept"),
        ({"shift": -0.6}, "too high", "intercept"),
        ({"slope": 0.55}, "too extreme", "line"),
        ({"slope": 1.8}, "too timid", "line"),
    ],
)
def test_the_story_of_a_change(change, direction, repair):
    result = Watch()(days(**change))
    found = result.change
    assert found.since == "2026-03-11"
    assert found.earliest <= found.since <= found.latest
    assert "2026-03-11" <= found.alarm <= "2026-03-14"
    assert found.named[0] == direction
    assert found.repair.name == repair
    assert found.repair.later_log_e < result.log_limit
    assert result.headline.startswith("Calibration has changed: since 2026-03-11, predictions are " + direction)
    assert f"raised after {found.alarm}" in result.story[0]
    assert max(day.log_e for day in result.days if day.name < found.alarm) < np.log(20)


def test_the_story_says_which_days_its_numbers_are_of_and_gives_limits():
    """Shift and slope of all days since the change, the repair of the first of them; gains of both in one unit."""
    result = Watch()(days(slope=0.55))
    found, story = result.change, " ".join(result.story)
    low, high = found.slope - 1.96 * found.slope_error, found.slope + 1.96 * found.slope_error
    assert f"slope is {found.slope:.3f} (95% limits {low:.3f} to {high:.3f})" in story
    assert "±" not in story
    repair = found.repair
    n_fitted, n_all = len(repair.fitted), len(repair.fitted) + len(repair.later)
    assert f"fitted to the first {n_fitted} of these {n_all} days (shift and slope above: to all)" in story
    assert story.count("lowers the sum of log losses by") == 2
    chosen = next(each for each in repair.candidates if each.name == repair.name)
    rows = sum(day.n_samples for day in result.days if day.name in repair.fitted)
    assert chosen.fitted_gain == pytest.approx(1000 * chosen.gain / rows)
    assert f"There it lowers the sum of log losses by {chosen.fitted_gain:.3g} per 1000 rows" in story


def test_sizes_are_those_of_the_change():
    found = Watch()(days(shift=0.6, slope=1.0)).change
    assert abs(found.shift - 0.6) < 4 * found.shift_error < 0.2
    assert found.n_samples == 8000
    assert found.observed > found.predicted
    assert found.repair.intercept == pytest.approx(0.6, abs=0.15)
    assert found.repair.fitted[0] == "2026-03-11"
    assert not set(found.repair.fitted) & set(found.repair.later)


def test_calibrated_days_raise_no_alarm():
    result = Watch()(days())
    assert result.change is None
    assert result.headline == "No sign of a change of calibration in 20 days."
    assert max(day.log_e for day in result.days) < result.log_limit == pytest.approx(np.log(20))


def test_what_was_found_does_not_change_with_days_to_come():
    every = days(shift=0.6)
    some = Watch()(dict(islice(every.items(), 12)))
    longer = Watch()(every)
    assert [day.log_e for day in some.days] == [day.log_e for day in longer.days[:12]]


def test_sketches_are_watched_as_rows_are():
    rows, cells = Watch()(days(shift=0.6)), Watch()(days(kind=sketched, shift=0.6))
    np.testing.assert_allclose([day.log_e for day in rows.days], [day.log_e for day in cells.days], atol=0.02)
    assert rows.change.since == cells.change.since
    assert as_record(cells)["change"]["repair"]["name"] == "intercept"


def test_grids_of_sketches_may_differ():
    def coarse(p, y):
        return Sketch(digits=7).update(p, y)

    mixed = days(kind=sketched, shift=0.6) | dict(islice(days(kind=coarse).items(), 5))
    np.testing.assert_allclose(
        [day.log_e for day in Watch()(mixed).days],
        [day.log_e for day in Watch()(days(kind=sketched, shift=0.6)).days],
        atol=0.05,
    )


def test_a_reference_that_is_off_is_no_drift_and_a_change_against_it_is():
    off = {"shift": 0.5, "slope": 0.8}
    reference = sketched(*drawn(1, 30_000, **off))
    steady = {f"day {i}": sketched(*drawn(200 + i, **off)) for i in range(20)}
    assert Watch()(steady).headline.startswith("Not calibrated from the first day on: predictions are too low")
    calm = Watch()(steady, reference)
    assert calm.change is None
    assert calm.log_limit == pytest.approx(np.log(40))
    assert calm.reference["slope"] == pytest.approx(0.8, abs=0.06)
    assert calm.story[-1].startswith("If the calibration of the reference were known exactly, the evidence would have")
    assert "with the limit at 20; as it is estimated from 30,000 rows" in calm.story[-1]
    moved = {f"day {i}": sketched(*drawn(300 + i, shift=1.1, slope=0.8)) for i in range(20, 32)}
    result = Watch()(steady | moved, reference)
    assert result.change.since == "day 20"
    assert result.change.named == ("too low",)
    assert result.change.shift == pytest.approx(0.6, abs=0.15)
    assert result.headline.startswith("Calibration has changed against the reference period: since day 20")
    # The repair is a map of the predictions themselves, with the line of the reference inside.
    assert result.change.repair.name == "intercept"
    assert result.change.repair.slope == pytest.approx(calm.reference["slope"])


def three_classes(seed, n_rows=600, wrong=0.0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.2, (n_rows, 3))
    odds = np.exp(logits + np.array([0.0, 0.0, wrong]))
    y = [rng.choice(3, p=row / row.sum()) for row in odds]
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return Predictions(probs, y, classes=["a", "b", "c"])


def test_classes_are_watched_by_the_top_label_or_each():
    watched = {f"{i}": three_classes(i, wrong=0.0 if i < 5 else 0.9) for i in range(12)}
    each = Watch(classwise=True)(watched)
    assert each.change.class_name == "c"
    assert each.change.since == "5"
    assert each.change.named[0] == "too low"
    assert "class c" in each.headline
    alone = [Watch()({name: day.one_vs_rest(c) for name, day in watched.items()}) for c in range(3)]
    mean = np.mean(np.exp([[day.log_e for day in result.days] for result in alone]), axis=0)
    np.testing.assert_allclose(np.exp([day.log_e for day in each.days]), mean, rtol=1e-9)
    top = Watch()({name: day.top_label() for name, day in watched.items()})
    assert [day.log_e for day in Watch()(watched).days] == [day.log_e for day in top.days]


def test_the_top_label_is_told_as_confidence():
    def sharpened(day):
        squared = day.probs**2.5
        return Predictions(squared / squared.sum(axis=1, keepdims=True), day.labels, classes=["a", "b", "c"])

    result = Watch()({f"{i}": three_classes(i) if i < 5 else sharpened(three_classes(i)) for i in range(10)})
    assert result.headline.startswith("Calibration has changed: since 5, confidences are too ")
    assert "the predicted class was right in" in result.story[2]


def test_the_ellipses_of_all_classes_hold_together():
    """Of K classes each has level 1 - alpha / (2 K): the evidence is that of K watches at alpha / K."""
    reference = three_classes(50, 3000)
    watched = {f"{i}": three_classes(i) for i in range(4)}
    each = Watch(classwise=True)(watched, reference)
    alone = [
        Watch(alpha=0.05 / 3)({name: day.one_vs_rest(c) for name, day in watched.items()}, reference.one_vs_rest(c))
        for c in range(3)
    ]
    mean = np.mean(np.exp([[day.log_e for day in result.days] for result in alone]), axis=0)
    np.testing.assert_allclose(np.exp([day.log_e for day in each.days]), mean, rtol=1e-4)
    assert each.log_limit == pytest.approx(np.log(40))


def test_a_large_change_after_an_early_alarm_is_told_as_such():
    twice = days(8, 2, sketched, shift=0.5) | {f"2026-04-{i:02d}": sketched(*drawn(i, shift=3.0)) for i in range(1, 7)}
    result = Watch()(twice)
    assert result.change.alarm < "2026-04"
    assert result.change.since == "2026-04-01"
    assert result.story[1].startswith("Something else was wrong before")


def test_sketches_of_many_classes_give_the_cells_of_their_views():
    day = three_classes(3)
    sketch = Sketch(classes=["a", "b", "c"]).update(day.probs, day.labels)
    for c in (None, 2):
        rows, cells = cells_of(day, c), cells_of(sketch, c)
        assert cells.n_rows == rows.n_rows == 600
        assert cells.events.sum() == rows.events.sum()


def test_odd_days_are_noted():
    odd = days(12)
    del odd["2026-03-04"]
    odd["2026-03-06"] = Sketch()
    odd = {name: day if name == "2026-03-06" else sketched(day.probs[:, 1], day.labels) for name, day in odd.items()}
    odd["2026-03-12"].update([0.0, 1.0, 1.0], [1, 1, 0])
    result = Watch()(odd)
    assert len(result.notes) == 3
    assert result.notes[0].startswith("2 rows of 3 that were predicted with exactly 0 or 1 were wrong")
    assert result.notes[1] == "No rows, hence no evidence: 2026-03-06."
    assert result.notes[2].startswith("Missing: 2026-03-04.")
    empty = next(day for day in result.days if day.name == "2026-03-06")
    assert (empty.predicted, empty.shift, empty.n_samples) == (None, None, 0)


def test_days_that_cannot_be_watched_are_refused():
    some = days(3, kind=sketched)
    with pytest.raises(InputError, match="at least one day"):
        Watch()({})
    with pytest.raises(InputError, match="2026-03-02 and again hold the same rows"):
        Watch()(some | {"again": some["2026-03-02"]})
    with pytest.raises(InputError, match=r"2026-03-01 has 2 .* and other has 3"):
        Watch()(some | {"other": Sketch(3)})
    with pytest.raises(InputError, match=r"a has 3 .* and the reference has 4"):
        Watch()({"a": Sketch(3)}, Sketch(4))
    with pytest.raises(InputError, match="the reference must have events"):
        Watch()(some, Sketch())
    with pytest.raises(TypeError, match="days must be Sketch or Predictions"):
        Watch()({"a": [1, 2]})
    for alpha in (1.5, "5%"):
        with pytest.raises(InputError, match=f"alpha must be a number between 0 and 1, but is {alpha!r}"):
            Watch(alpha=alpha)


def test_evidence_of_only_empty_days_is_what_is_not_staked_yet():
    result = Watch()({"a": Sketch(), "b": Sketch()})
    assert result.change is None
    assert result.days[-1].log_e <= 0
