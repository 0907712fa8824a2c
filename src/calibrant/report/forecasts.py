"""Figures of predictive distributions: transforms, coverage, and predicted spread against errors."""

from collections.abc import Sequence

from calibrant._border.numerals import between, count, decimals, number, percent, significant
from calibrant.report.diagram import X, Y, framed, layer, probes, speaking
from calibrant.report.series import ForecastSeries
from calibrant.results import PITHistogram, QuantileCurve, SpreadCurve
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale, element

FEW = 25
"""Up to this number of levels, for example of quantile columns, each is marked."""

FORMS = {"quantile": "Level of the predicted quantile", "interval": "Level of the central interval"}


def having(series: Sequence[ForecastSeries], what: str) -> list[ForecastSeries]:
    """Return the series whose assessment has this figure."""
    return [s for s in series if getattr(s.assessment, what) is not None]


def has_columns(series: Sequence[ForecastSeries]) -> bool:
    """Return whether forecasts are a few quantile columns, each of which is marked."""
    return any(s.assessment.quantiles is not None and len(s.assessment.quantiles.nominal) <= FEW for s in series)


def pit_diagram(series: ForecastSeries, key: str) -> Element:
    """Draw the histogram of the transforms, and the limits of each bar under calibration."""
    found = series.assessment.pit
    if found is None:
        raise TypeError("there is no histogram of transforms to draw.")
    y = Scale(0, 1.08 * max(float(found.count.max()), float(found.high.max())), Y.start, Y.stop)
    spans = [(X(a), X(b)) for a, b in zip(found.lower.tolist(), found.upper.tolist(), strict=True)]
    limits = zip(spans, found.low.tolist(), found.high.tolist(), strict=True)
    ranges = [
        element("rect", x=left, y=y(high), width=right - left, height=y(low) - y(high), class_="chance soft")
        for (left, right), low, high in limits
    ]
    parts = [
        svg.bars(spans, [y(0) - v for v in y.each(found.count)], y(0), "share"),
        *ranges,
        svg.line(X(0), y(found.expected), X(1), y(found.expected), "diagonal"),
        *(_pit_probe(series, found, i, y) for i in range(len(spans))),
    ]
    titles = ("Probability that the forecast gave to smaller values", "Rows")
    return framed([layer(series, parts)], y, titles, key)


def _pit_probe(series: ForecastSeries, found: PITHistogram, i: int, y: Scale) -> Element:
    low, high = float(found.lower[i]), float(found.upper[i])
    said = {
        "Transforms": between((low, high), significant),
        "Rows": count(float(found.count[i])),
        f"{percent(found.level)} if calibrated": f"{count(float(found.low[i]))} to {count(float(found.high[i]))}",
    }
    x, top = X((low + high) / 2), y(float(found.count[i]))
    return speaking(
        series, said, (x, top), [svg.marker(series.shape, x, top, 4, "marker")], "point probe", first=i == 0
    )


def coverage_diagram(series: Sequence[ForecastSeries], what: str, key: str) -> Element:
    """Draw observed against nominal coverage; `what` is "quantiles" or "intervals"."""
    found = [(s, getattr(s.assessment, what)) for s in having(series, what)]
    diagonal = svg.line(X(0), Y(0), X(1), Y(1), "diagonal")
    layers = [layer(s, _coverage(s, curve)) for s, curve in found]
    titles = (FORMS[found[0][1].form], "Share of the values")
    return framed([diagonal, *layers], Y, titles, key)


def _coverage(series: ForecastSeries, curve: QuantileCurve) -> list[Element]:
    xs, ys = X.each(curve.nominal), Y.each(curve.observed)
    band = svg.band(xs, Y.each(curve.low), Y.each(curve.high), "band")
    few = len(xs) <= FEW
    ranges = [svg.line(x, Y(a), x, Y(b), "whisker") for x, a, b in zip(xs, curve.low, curve.high, strict=True) if few]
    points = []
    for i in probes(len(xs)):
        said = {
            "Nominal": percent(round(float(curve.nominal[i]), 4)),
            "Observed": percent(round(float(curve.observed[i]), 4)),
            f"{percent(curve.level)} if calibrated": f"{decimals(curve.low[i])} to {decimals(curve.high[i])}",
        }
        off = not few or not curve.low[i] <= curve.observed[i] <= curve.high[i]
        marker = svg.marker(series.shape, xs[i], ys[i], 4, "marker off" if off else "marker")
        kind = "point" if few else "point probe"
        points.append(speaking(series, said, (xs[i], ys[i]), [marker], kind, first=i == 0))
    return [band, *ranges, svg.polyline(xs, ys, "curve"), *points]


def spread_diagram(series: Sequence[ForecastSeries], key: str) -> Element:
    """Draw the size of the errors against the predicted standard deviation, on one scale for both."""
    found = [(s, s.assessment.spread) for s in series if s.assessment.spread is not None]
    end = 1.05 * max(max(float(c.high.max()), float(c.predicted.max())) for _, c in found)
    x, y = Scale(0, end, X.start, X.stop), Scale(0, end, Y.start, Y.stop)
    diagonal = svg.line(x(0), y(0), x(end), y(end), "diagonal")
    layers = [layer(s, _spread(s, curve, x, y)) for s, curve in found]
    titles = ("Predicted standard deviation", "Root mean squared error")
    return framed([diagonal, *layers], y, titles, key, x)


def _spread(series: ForecastSeries, curve: SpreadCurve, x: Scale, y: Scale) -> list[Element]:
    xs, ys = x.each(curve.predicted), y.each(curve.observed)
    return [svg.polyline(xs, ys, "curve"), *(_spread_point(series, curve, i, x, y) for i in range(len(xs)))]


def _spread_point(series: ForecastSeries, curve: SpreadCurve, i: int, x: Scale, y: Scale) -> Element:
    predicted, low, high = float(curve.predicted[i]), float(curve.low[i]), float(curve.high[i])
    said = {
        "Rows": count(float(curve.count[i])),
        "Predicted": number(predicted),
        "Root mean squared error": number(float(curve.observed[i])),
        f"{percent(curve.level)} interval": f"{number(low)} to {number(high)}",
    }
    place = x(predicted), y(float(curve.observed[i]))
    off = "marker" if low <= predicted <= high else "marker off"
    parts = [svg.line(place[0], y(low), place[0], y(high), "whisker"), svg.marker(series.shape, *place, 4, off)]
    return speaking(series, said, place, parts, "point", first=i == 0)
