"""The page about calibration over time: one story, its evidence, and the days behind it; from results only."""

import math

from calibrant.report import over_time_figures as drawings
from calibrant.report.page import rendered
from calibrant.results import Change, WatchResult
from calibrant.results.writing import count, name, number, percent, signed

ABSENT = "\N{EN DASH}"


def lead(result: WatchResult) -> str:
    """Say what was watched."""
    rows = sum(day.n_samples for day in result.days)
    span = name(result.days[0].name)
    if len(result.days) > 1:
        span = f"{len(result.days)} days, {span} to {name(result.days[-1].name)}"
    return f"{span}; {count(rows)} rows."


def facts(result: WatchResult) -> list[tuple[str, str]]:
    """Return the numbers of the verdict."""
    limit = ("Alarm at evidence", number(math.exp(result.log_limit)))
    promise = ("False alarms, ever", f"at most {percent(result.alpha)}")
    change = result.change
    if change is None:
        top = max(day.log_e for day in result.days)
        return [("Largest evidence", evidence(top)), limit, promise]
    top = max(day.log_e for day in result.days)
    return [
        ("Changed since", name(change.since)),
        ("95% range", f"{name(change.earliest)} to {name(change.latest)}"),
        ("Alarm after", name(change.alarm)),
        ("Predictions are", " and ".join(change.named)),
        ("Shift of log-odds", _with(change, "shift", signed(change.shift))),
        ("Slope of log-odds", _with(change, "slope", number(change.slope))),
        ("Largest evidence", evidence(top)),
        limit,
        promise,
    ]


def _with(change: Change, which: str, written: str) -> str:
    error = getattr(change, f"{which}_error")
    return written if error is None else f"{written} ± {number(error)}"


def evidence(log_e: float) -> str:
    """Write evidence, however large.

    Examples
    --------
    >>> evidence(math.log(20)), evidence(1000.0)
    ('20.0', '10⁴³⁴')
    """
    if log_e < math.log(1e5):
        return number(math.exp(log_e))
    return drawings.power_of_ten(round(log_e / math.log(10)))


def repair_rows(result: WatchResult) -> list[tuple[str, bool, list[str]]]:
    """Return for every repair its name, whether it is the one, and its numbers."""
    repair = None if result.change is None else result.change.repair
    if repair is None:
        return []
    return [
        (
            _capital(each.label.removeprefix("a ")),
            each.name == repair.name,
            [
                str(each.n_parameters),
                number(each.gain),
                number(each.score),
                ABSENT if each.later_gain is None else signed(each.later_gain),
            ],
        )
        for each in repair.candidates
    ]


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def day_rows(result: WatchResult) -> list[tuple[str, list[str]]]:
    """Return every day with its numbers."""

    def pair(value: float | None, error: float | None) -> str:
        return ABSENT if value is None or error is None else f"{signed(value)} ± {number(1.96 * error)}"

    return [
        (
            name(day.name),
            [
                count(day.n_samples),
                ABSENT if day.predicted is None else number(day.predicted),
                ABSENT if day.observed is None else number(day.observed),
                pair(day.shift, day.shift_error),
                pair(day.slope, day.slope_error),
                evidence(day.log_e),
            ],
        )
        for day in result.days
    ]


def render_watch(result: WatchResult, *, title: str = "Calibration over time") -> str:
    """Render a watch as one HTML page that needs only a browser.

    The page makes no network request, has no script, and the same result always gives the same page.

    Parameters
    ----------
    result : WatchResult
    title : str, default="Calibration over time"

    Returns
    -------
    str
        Write it to a file in UTF-8.
    """
    from calibrant import __version__

    return rendered(
        "over_time.html",
        title,
        sheet="over_time.css",
        result=result,
        lead=lead(result),
        facts=facts(result),
        repairs=repair_rows(result),
        rows=day_rows(result),
        drawings=drawings,
        expected_slope=result.reference.get("slope", 1.0),
        expected_shift=result.reference.get("shift", 0.0),
        version=__version__,
    )
