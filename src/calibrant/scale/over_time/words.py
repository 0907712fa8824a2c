"""A watch in words: one story, from whether calibration changed to what repairs it."""

import math

from calibrant._border.numerals import as_given, count, counted, decimals, percent, significant
from calibrant.results import Change, Repair, WatchedDay, WatchResult
from calibrant.results.over_time import WIDE
from calibrant.scale.over_time.cells import Cells
from calibrant.scale.over_time.change import SURE
from calibrant.scale.over_time.days import missing_dates

LISTED = 5


def headline(result: WatchResult) -> str:
    """Say in one sentence whether calibration changed."""
    change, n_days = result.change, len(result.days)
    compared = " against the reference period" if result.reference else ""
    if change is None:
        return f"No sign of a change of calibration{compared} in {counted(n_days, 'day')}."
    what = "confidences" if result.settings.get("top_label") else "predictions"
    what += f" of class {change.class_name}" if change.class_name else ""
    found = " and ".join(change.named)
    if change.until is not None:
        return f"A change of calibration{compared} seems to have passed: {_span(change)}, {what} were {found}."
    if change.since == result.days[0].name and not compared:
        return f"Not calibrated from the first day on: {what} are {found}."
    return f"Calibration has changed{compared}: since {change.since}, {what} are {found}."


def _span(change: Change) -> str:
    """Name the days of a change that has passed."""
    return f"on {change.since}" if change.since == change.until else f"from {change.since} to {change.until}"


def story(result: WatchResult) -> tuple[str, ...]:
    """Tell what was found, in sentences."""
    change = result.change
    chance = percent(result.alpha)
    limit = odds(result.log_limit)
    if change is None:
        top = max(result.days, key=lambda day: day.log_e)
        calm = (
            f"The evidence was largest after {top.name}, {odds(top.log_e)}; the alarm is at {limit}, which is reached "
            f"with a probability of at most {chance} if nothing changes, however often one looks."
        )
        return (calm, *_plugin(result))
    reached = next(day.log_e for day in result.days if day.name == change.alarm)
    alarm = (
        f"The alarm was raised after {change.alarm}, when the evidence was {odds(reached)}, with the limit at {limit}. "
        f"If nothing changes, it is ever raised with a probability of at most {chance}, however often one looks."
    )
    return (
        alarm,
        *_when(change, result),
        *_sizes(change, result),
        *_repairs(change, result.log_limit),
        *_plugin(result),
    )


def _plugin(result: WatchResult) -> list[str]:
    """Say what the evidence would be if the reference were known."""
    found = [day.log_e_plugin for day in result.days if day.log_e_plugin is not None]
    if not found:
        return []
    rows = counted(result.reference["n_samples"], "row")
    sentence = (
        f"If the calibration of the reference were known exactly, the evidence would have reached {odds(max(found))}, "
        f"with the limit at {as_given(1 / result.alpha)}; as it is estimated from {rows}, the least evidence against "
        "any line that it allows counts."
    )
    return [sentence]


def _when(change: Change, result: WatchResult) -> list[str]:
    names = [day.name for day in result.days]
    late = names.index(change.since) > names.index(change.alarm)
    first = ["Something else was wrong before: this change came after that alarm."] if late else []
    if change.earliest == change.latest:
        began = f"It began with {change.since}, with a probability of 95% or more."
    else:
        likely = f"with a probability of 95% from {change.earliest} to {change.latest}"
        began = f"It most likely began with {change.since}, and {likely}."
    return [*first, began + _end(change, last=names[-1])]


def _end(change: Change, last: str) -> str:
    """Say whether the change lasts, if there is a day after the alarm by which to tell."""
    if change.until is not None:
        return f" It has ended with a probability of 95% or more, most likely with {change.until}."
    if change.alarm == last:
        return ""
    chance = "95% or more" if change.lasts >= SURE else percent(change.lasts, 0)
    return f" It lasts up to {last} with a probability of {chance}."


def _sizes(change: Change, result: WatchResult) -> list[str]:
    """Say how large the change is or was and, if it has passed, what the days after it are like."""
    if change.after is None:
        return [_size("From then on", change, change, result)]
    during = _span(change)
    calm = (
        f"A watch that begins with {change.after.name} finds no sign of a change: its evidence was at most "
        f"{odds(change.after.log_e)}, with the limit at {odds(result.log_limit)}."
    )
    after = _size(f"Since {change.after.name}", change.after, change, result)
    return [_size(during[0].upper() + during[1:], change, change, result), after, calm]


def _size(when: str, rows: Change | WatchedDay, change: Change, result: WatchResult) -> str:
    expected = "expected from the reference" if result.reference else "predicted"
    event = f"class {change.class_name} was observed" if change.class_name else "the event happened"
    event = "the predicted class was right" if result.settings.get("top_label") else event
    observed, predicted = (percent(value or 0.0) for value in (rows.observed, rows.predicted))  # There are rows.
    found = f"{when}, {event} in {observed} of {counted(rows.n_samples, 'row')}, where {predicted} was {expected}"
    if rows.shift is not None:
        found += f": a shift of log-odds by {with_limits(rows.shift, rows.shift_error)}"
    if rows.slope is not None:
        found += f"; their slope is {with_limits(rows.slope, rows.slope_error, sign=False)}"
    return f"{found}."


def with_limits(value: float, error: float | None, *, sign: bool = True) -> str:
    """Write a value with its 95% limits."""
    if error is None:
        return decimals(value, sign=sign)
    low, high = (decimals(value + side * WIDE * error, sign=sign) for side in (-1, 1))
    return f"{decimals(value, sign=sign)} (95% limits {low} to {high})"


def _repairs(change: Change, log_limit: float) -> list[str]:
    if change.repair is None:
        return []
    return _repair(change.repair, log_limit) if change.until is None else _unneeded(change.repair)


def _unneeded(repair: Repair) -> list[str]:
    """Say what the best repair of a change that has passed would do to the days after it."""
    best = max(repair.candidates, key=lambda candidate: candidate.score)
    needless = "What repairs it: nothing is to be repaired now."
    if best.name == "none" or best.later_gain is None:
        return [needless]
    days = counted(len(repair.fitted), "day")
    effect = f"fitted to the {days} of the change, would {_effect(best.later_gain, 'lower', 'raise')}"
    return [f"{needless} On {counted(len(repair.later), 'later day')}, {best.label}, {effect}."]


def _effect(gain: float, lower: str = "lowers", higher: str = "raises") -> str:
    """Say what a repair does to the log loss.

    Examples
    --------
    >>> _effect(-44.4)
    'raises the sum of log losses by 44.4 per 1000 rows'
    """
    return f"{higher if gain < 0 else lower} the sum of log losses by {_gain(abs(gain))} per 1000 rows"


def _repair(repair: Repair, log_limit: float) -> list[str]:
    own = next(candidate for candidate in repair.candidates if candidate.name == repair.name)
    if repair.name == "none":
        return ["What repairs it: no repair is supported by the outcomes so far."]
    found = f"What repairs it: {own.label}{_formula(repair)}, fitted to {_fitted_to(repair)}."
    best = max(repair.candidates, key=lambda candidate: candidate.score)
    more = (
        f"; on all rows together its log-likelihood less a penalty is within 2 of the best, {best.name}"
        if best.name != repair.name
        else ""
    )
    found += f" There it {_effect(own.fitted_gain)}{more}."
    return [found, _later(repair, own.later_gain, log_limit)]


def _fitted_to(repair: Repair) -> str:
    """Name the days of the repair, which are fewer than those of the slope and shift before it."""
    fitted, later = len(repair.fitted), len(repair.later)
    if later:
        first = "the first" if fitted == 1 else f"the first {count(fitted)}"
        return f"{first} of these {count(fitted + later)} days (shift and slope above: to all)"
    return "this day" if fitted == 1 else f"these {count(fitted)} days"


def _formula(repair: Repair) -> str:
    if repair.intercept is None or repair.slope is None:
        return ""
    if repair.name == "intercept" and abs(repair.slope - 1) < 1e-9:
        return f": add {decimals(repair.intercept, sign=True)} to the log-odds"
    if repair.name == "slope" and abs(repair.intercept) < 1e-9:
        return f": divide the log-odds by {decimals(1 / repair.slope)}"
    where = " on top of the line of the reference" if repair.name in ("intercept", "slope") else ""
    return f"{where}: new log-odds are {decimals(repair.intercept)} + {decimals(repair.slope)} times those predicted"


def _later(repair: Repair, gain: float | None, log_limit: float) -> str:
    if gain is None or repair.later_log_e is None:
        return "It has not been judged on other days, as there are none yet."
    where = f"On {counted(len(repair.later), 'later day')} it {_effect(gain)}"
    evidence = f"the repaired predictions (evidence {odds(repair.later_log_e)})"
    if gain < 0:
        known = "and they contradict" if repair.later_log_e >= log_limit else "though they do not contradict"
        return f"{where}, {known} {evidence}: do not use it yet."
    if repair.later_log_e >= log_limit:
        return f"{where}, but they contradict {evidence}: refit."
    return f"{where}, and they do not contradict {evidence}."


def notes(names: list[str], days: list[Cells]) -> tuple[str, ...]:
    """Say what is worth knowing about the days."""
    found = []
    refuted = [name for name, day in zip(names, days, strict=True) if day.n_refuted]
    if refuted:
        wrong, certain = (sum(getattr(day, what) for day in days) for what in ("n_refuted", "n_certain"))
        found.append(
            f"{counted(wrong, 'row')} of {count(certain)} that were predicted with exactly 0 or 1 were wrong, "
            f"which refutes these predictions outright: {listed(refuted)}. Such rows do not count as evidence."
        )
    empty = [name for name, day in zip(names, days, strict=True) if not day.n_rows]
    if empty:
        found.append(f"No rows, hence no evidence: {listed(empty)}.")
    missing = missing_dates(names)
    if missing:
        found.append(
            f"Missing: {listed(missing)}. If they arrive later, append them; never insert them before days that have "
            "been looked at."
        )
    return tuple(found)


def listed(names: list[str]) -> str:
    """Return names in a row, and how many more there are."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def odds(log_e: float) -> str:
    """Write evidence: how many times the stake.

    Examples
    --------
    >>> odds(math.log(20)), odds(math.log(5849)), odds(100.0)
    ('20', '5,850', '10^43')
    """
    if log_e >= math.log(1e5):
        return f"10^{decimals(log_e / math.log(10), 0)}"
    rounded = float(significant(math.exp(log_e)))
    return count(rounded) if rounded >= 1000 else as_given(rounded)


def _gain(gain: float) -> str:
    """Return a gain in at least three digits, and never as a power of ten.

    Examples
    --------
    >>> _gain(1001.4), _gain(32.41)
    ('1,001', '32.4')
    """
    return count(gain) if abs(gain) >= 100 else significant(gain)
