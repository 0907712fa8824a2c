"""The figures of the report, drawn from results."""

from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap

import numpy as np

from calibrant._border.numerals import number
from calibrant._border.types import FloatArray, IntArray
from calibrant.report.diagram import X, Y, framed, layer, stops
from calibrant.report.series import Series
from calibrant.results import ROCOutline, TestResult, Verdict, state
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale, element

N_NULL_BINS = 30
FLOOR = 122.0


def gauge(verdict: Verdict, limit: float, *, small: bool = False) -> Element:
    """Draw the error on a line from 0 to `limit`, with the range that chance explains."""
    width = 96 if small else 240
    x = Scale(0, limit, 0, width)
    error, expected, detectable = (x.cut(value) for value in (verdict.error, verdict.expected, verdict.detectable))
    parts = [
        element("rect", x=x.start, y=8, width=x.span, height=8, rx=2, class_="track"),
        element("rect", x=x.start, y=8, width=detectable, height=8, rx=2, class_="zone"),
        svg.line(expected, 4, expected, 20, "expected"),
        *_tolerance(verdict, x, limit),
        *_limits(verdict, x, limit),
        element("circle", cx=error, cy=12, r=6, class_="error"),
    ]
    known = "" if verdict.low is None else f", limits {number(verdict.low)} to {number(verdict.high or 0.0)}"
    label = (
        f"Calibration error {number(verdict.error)}{known}; chance explains errors up to {number(verdict.detectable)} "
        f"and gives {number(verdict.expected)} on average; tolerance {number(verdict.tolerance)}."
    )
    class_ = f"gauge small {state(verdict)}" if small else "gauge"
    return svg.image(parts, width, 24, label, class_)


def _limits(verdict: Verdict, x: Scale, limit: float) -> list[Element]:
    """Draw the limits of the error, if there are any."""
    if verdict.low is None or verdict.high is None:
        return []
    return [svg.line(x(min(verdict.low, limit)), 12, x(min(verdict.high, limit)), 12, "reach")]


def _tolerance(verdict: Verdict, x: Scale, limit: float) -> list[Element]:
    """Draw the tolerance, if it is on the scale."""
    if not verdict.tolerance <= limit:
        return []
    return [svg.line(x(verdict.tolerance), 1, x(verdict.tolerance), 23, "tolerance")]


def gauge_limit(verdicts: Sequence[Verdict]) -> float:
    """Return the end of a scale that all gauges of a page share."""
    values = np.array([[v.error, v.detectable, v.expected, v.tolerance, v.high or 0.0] for v in verdicts])
    return 1.04 * float(values.max(initial=0.0, where=np.isfinite(values))) or 1.0


def share_bar(value: str, limit: str) -> Element:
    """Draw a number of a table as a short bar; `limit` has the full length."""
    share = float(value) / (float(limit) or 1.0)
    width = 60 * share if np.isfinite(share) else 0.0
    bar = element("rect", x=0, y=2, width=width, height=8, rx=1)
    return element("svg", bar, viewBox="0 0 60 12", class_="bar", aria_hidden="true")


def null_bins(test: TestResult) -> tuple[FloatArray, IntArray]:
    """Return edges and counts of the histogram of the draws under calibration."""
    draws = np.asarray(test.null, dtype=float)
    draws = draws[np.isfinite(draws)]
    low, high = (float(draws.min()), float(draws.max())) if len(draws) else (0.0, 1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # One value, up to rounding: give it a bin of its own.
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    counts, edges = np.histogram(draws, bins=N_NULL_BINS, range=(low, high))
    return edges, counts


N_LETTERS = 34
"""Number of letters that fit below a histogram; a longer title is broken into lines."""


def null_histogram(test: TestResult, title_id: str, axis: str = "Statistic under calibration") -> Element:
    """Draw the histogram of the statistic under calibration, and a line at the observed value."""
    edges, counts = null_bins(test)
    inside = bool(np.isfinite(test.statistic))
    low, high = float(edges[0]), float(edges[-1])
    if inside:
        low, high = min(low, test.statistic), max(high, test.statistic)
    margin = 0.04 * (high - low)
    x = Scale(low - margin, high + margin, 6, 234)
    y = Scale(0, max(int(counts.max()), 1), FLOOR, 26)
    spans = [(x(a), x(b)) for a, b in pairwise(edges.tolist())]
    heights = [y.start - y(c) for c in counts.tolist()]
    first, *more = wrap(axis, N_LETTERS)
    parts = [
        svg.bars(spans, heights, y.start, "null"),
        svg.axis_below(x, y.start, first, about=3),
        *(svg.text((x.start + x.stop) / 2, y.start + 50 + 14 * i, line, "label") for i, line in enumerate(more)),
        *(_observed(x(test.statistic), test.statistic, x) if inside else ()),
    ]
    view = f"0 0 240 {164 + 14 * len(more)}"
    return element("svg", *parts, viewBox=view, class_="chart", role="img", aria_labelledby=title_id)


def _observed(position: float, statistic: float, x: Scale) -> tuple[Element, Element]:
    anchor = "end" if position > (x.start + x.stop) / 2 else "start"
    label = svg.text(position + (5 if anchor == "start" else -5), 12, f"observed {number(statistic)}", "value", anchor)
    return svg.line(position, 2, position, FLOOR, "observed"), label


N_PROBES = 12


def ranked(series: Sequence[Series]) -> list[Series]:
    """Return the series that have a ROC curve."""
    return [s for s in series if s.assessment.ranking is not None]


def roc_diagram(series: Sequence[Series]) -> Element:
    """Draw all ROC curves."""
    layers = [layer(s, _curve(s, s.assessment.ranking)) for s in series if s.assessment.ranking is not None]
    parts = [svg.line(X(0), Y(0), X(1), Y(1), "diagonal"), *layers]
    return framed(parts, Y, ("False positive rate", "True positive rate"), "roc")


def _curve(series: Series, ranking: ROCOutline) -> list[Element]:
    run, rise, hull = ranking.false_positive_rate, ranking.true_positive_rate, ranking.hull
    found = [(_at(ranking, i), (X(run[i]), Y(rise[i]))) for i in range(0, len(run), max(1, len(run) // N_PROBES))]
    return [
        svg.polyline(X.each(hull[:, 0]), Y.each(hull[:, 1]), "curve hull"),
        svg.polyline(X.each(run), Y.each(rise), "curve"),
        *stops(series, found),
    ]


def _at(ranking: ROCOutline, i: int) -> dict[str, str]:
    return {
        "Threshold": number(float(ranking.score[i])),
        "False positive rate": number(float(ranking.false_positive_rate[i])),
        "True positive rate": number(float(ranking.true_positive_rate[i])),
    }


def ranking_subject(series: Sequence[Series]) -> str:
    """Say what is ranked."""
    if any(s.assessment.n_classes > 2 for s in series):
        return "Rows are ranked by confidence; a row is positive if its predicted class is right."
    return "Rows are ranked by the predicted probability of the second class."
