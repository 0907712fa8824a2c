"""The figures and tables about decisions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from calibrant._border.numerals import count, number, percent, signed
from calibrant._border.types import FloatArray
from calibrant.report.diagram import BOTTOM, LEFT, SIDE, TOP, X, Y, clipped, framed, layer, probes, stops
from calibrant.report.series import Series
from calibrant.report.tables import limits_text, signed_limits
from calibrant.results import DecisionCurve, DecisionReport, Decisions, Interval, RiskCoverage
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale
from calibrant.results.drawing.thinning import evenly_spaced
from calibrant.results.words.decisions import FEW

N_PROBES = 12

SMALL = 0.02
"""If net benefit stays below this, it is shown per thousand rows: the axis has no room for many digits."""


def found_in(report: DecisionReport, series: Sequence[Series]) -> list[tuple[Series, Decisions]]:
    """Return the series that the report covers, each with its decisions."""
    return [(s, report.models[s.key]) for s in series if s.key in report.models]


def cost_rows(report: DecisionReport) -> list[tuple[str, str, str, str, str]]:
    """Return the cost of acting by the first model, after a fix, on all rows and on none.

    Each row has a label, the cost and its limits, and the difference from the first row and its limits.
    """
    cost, change = next(iter(report.models.values())).cost, report.change
    if cost is None:
        return []
    rows = [(f"From {number(cost.threshold)} on", number(cost.cost.value), limits_text(cost.cost), "", "")]
    if change is not None:
        label = f"After {change.method}, from {number(cost.best_if_calibrated)} on"
        rows.append((label, number(change.after.value), limits_text(change.after), *_difference(change.cost)))
    rows.append(("On all", number(cost.treat_all), "", *_difference(_turned(cost.over_all))))
    rows.append(("On none", number(cost.treat_none), "", *_difference(_turned(cost.over_none))))
    return rows


def _difference(over: Interval) -> tuple[str, str]:
    return signed(over.value), signed_limits(over)


def _turned(over: Interval) -> Interval:
    low, high = (None if end is None else -end for end in (over.high, over.low))
    return replace(over, value=-over.value, low=low, high=high)


def decision_diagram(report: DecisionReport, series: Sequence[Series]) -> Element | None:
    """Draw net benefit against the threshold, with joint bands."""
    own = [(s, d.curve) for s, d in found_in(report, series) if d.curve is not None]
    if not own:
        return None
    first, cost = own[0][1], next(iter(report.models.values())).cost
    x = Scale(0, float(first.thresholds[-1]), LEFT, LEFT + SIDE)
    y = _heights([curve for _, curve in own])
    unit = 1 if y.high > SMALL else 1000
    everyone = svg.polyline(x.each(first.thresholds), y.each(first.treat_all), "strategy")
    parts = [everyone, svg.line(x.start, y(0), x.stop, y(0), "axis")]
    if cost is not None:
        parts.append(svg.line(x(cost.best_if_calibrated), TOP, x(cost.best_if_calibrated), BOTTOM, "decided"))
    parts += [layer(s, [*_bands(curve, x, y), *_line(s, curve, x, y)]) for s, curve in own]
    axis = Scale(y.low * unit, y.high * unit, y.start, y.stop)
    label = "Net benefit" if unit == 1 else "Net benefit per 1,000 rows"
    return framed([clipped(parts)], axis, ("Threshold", label), "decision-curve", x)


def _heights(curves: Sequence[DecisionCurve]) -> Scale:
    tops = [curve.net_benefit.joint_high for curve in curves]
    high = max([curves[0].prevalence, *(float(top.max(initial=0.0, where=np.isfinite(top))) for top in tops)]) or 0.1
    return Scale(-0.25 * high, 1.05 * high, BOTTOM, TOP)


def _bands(curve: DecisionCurve, x: Scale, y: Scale) -> Iterator[Element]:
    """Draw the joint band wherever there is one."""
    band = curve.net_benefit
    columns = zip(curve.thresholds.tolist(), band.joint_low.tolist(), band.joint_high.tolist(), strict=True)
    for known, run in groupby(columns, key=lambda point: bool(np.isfinite(point[1]))):
        points = [*run]
        if known and len(points) > 1:
            yield svg.band(
                [x(t) for t, _, _ in points],
                [y(low) for _, low, _ in points],
                [y(high) for _, _, high in points],
                "band",
            )


def _line(series: Series, curve: DecisionCurve, x: Scale, y: Scale) -> list[Element]:
    xs, ys = x.each(curve.thresholds), y.each(curve.net_benefit.value)
    found = [(_at(curve, i), (xs[i], ys[i])) for i in probes(len(xs), N_PROBES)]
    return [svg.polyline(xs, ys, "curve"), *stops(series, found)]


def _at(curve: DecisionCurve, i: int) -> dict[str, str]:
    band = curve.net_benefit
    return {
        "Threshold": number(float(curve.thresholds[i])),
        "Net benefit": number(float(band.value[i])),
        "All thresholds": _between(band.joint_low[i], band.joint_high[i]),
        "Acting on all": number(float(curve.treat_all[i])),
    }


def _between(low: float, high: float) -> str:
    return f"{number(float(low))} to {number(float(high))}" if np.isfinite(low) else "no limits"


def risk_diagram(report: DecisionReport, series: Sequence[Series]) -> Element | None:
    """Draw the error rate of answers against the share of rows that are answered."""
    own = [(s, d.selective) for s, d in found_in(report, series) if d.selective is not None]
    if not own:
        return None
    wanted = next(iter(report.models.values())).guarantee
    tops = [float(curve.risk.max()) for _, curve in own] + ([wanted.max_risk] if wanted is not None else [])
    y = Scale(0, 1.08 * max(tops) or 1.0, Y.start, Y.stop)
    parts = [layer(s, _risks(s, curve, y)) for s, curve in own]
    if wanted is not None:
        parts.append(svg.line(X(0), y(wanted.max_risk), X(1), y(wanted.max_risk), "diagonal"))
        if wanted.threshold is not None:
            parts.append(svg.line(X(wanted.coverage), BOTTOM, X(wanted.coverage), TOP, "decided"))
    return framed(parts, y, ("Coverage: share of rows answered", "Error rate of answers"), "risk-coverage")


def _risks(series: Series, curve: RiskCoverage, y: Scale) -> list[Element]:
    kept = evenly_spaced(len(curve.coverage))
    few = len(kept) <= FEW
    xs, ys = X.each(curve.coverage[kept]), y.each(curve.risk[kept])
    chosen = range(len(kept)) if few else probes(len(kept), N_PROBES)
    found = [(_answered(curve, int(kept[j])), (xs[j], ys[j])) for j in chosen]
    line = svg.polyline(xs, ys, "curve vague" if few else "curve")
    return [line, *stops(series, found, "point" if few else "point probe")]


def _answered(curve: RiskCoverage, i: int) -> dict[str, str]:
    return {
        "Confidence at least": number(float(curve.thresholds[i])),
        "Coverage": percent(float(curve.coverage[i])),
        "Error rate": percent(float(curve.risk[i])),
        "Answers": f"{count(int(curve.errors[i]))} of {count(int(curve.count[i]))} wrong",
    }


def record(report: DecisionReport) -> dict[str, object]:
    """Return the numbers behind the figures as rows, for the data of a page."""
    return {
        "curves": [
            row for name, d in report.models.items() if d.curve is not None for row in _curve_rows(name, d.curve)
        ],
        "risks": [
            row for name, d in report.models.items() if d.selective is not None for row in _risk_rows(name, d.selective)
        ],
    }


def _curve_rows(name: str, curve: DecisionCurve) -> Iterator[dict[str, object]]:
    band, over = curve.net_benefit, curve.over_all
    columns = {
        "threshold": curve.thresholds,
        "net_benefit": band.value,
        "low": band.low,
        "high": band.high,
        "joint_low": band.joint_low,
        "joint_high": band.joint_high,
        "treat_all": curve.treat_all,
        "over_all": over.value,
        "over_all_low": over.low,
        "over_all_high": over.high,
        "loss": curve.loss,
        "standardised": curve.standardised,
        "avoided": curve.avoided,
    }
    yield from _rows(name, columns)


def _risk_rows(name: str, curve: RiskCoverage) -> Iterator[dict[str, object]]:
    kept = evenly_spaced(len(curve.coverage))
    fields = ("thresholds", "coverage", "risk", "count", "errors")
    yield from _rows(name, {field.removesuffix("s"): getattr(curve, field)[kept] for field in fields})


def _rows(name: str, columns: dict[str, FloatArray]) -> Iterator[dict[str, object]]:
    lists = {
        key: [value if np.isfinite(value) else None for value in column.tolist()] for key, column in columns.items()
    }
    for values in zip(*lists.values(), strict=True):
        yield {"predictions": name, **dict(zip(lists, values, strict=True))}
