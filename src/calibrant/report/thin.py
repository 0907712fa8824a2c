"""Results reduced to what a page shows: curves of a few hundred points, and the classes with the largest errors."""

from dataclasses import replace

from calibrant._border.numerals import count, decimals, number, percent
from calibrant.results import Assessment, ClasswiseCurves, ReliabilityCurve
from calibrant.results.drawing.reliability import LIMITS, worst_first
from calibrant.results.drawing.thinning import thin_curve


def position(value: float) -> str:
    """Return a probability with three decimals, which line up better than significant digits."""
    return decimals(value) if 0 < value < 1 else number(value).removesuffix(".00")


def facts(curve: ReliabilityCurve, i: int) -> dict[str, str]:
    """Return what the tooltip of a point of a curve says."""
    share = float(curve.weight[i]) / (float(curve.weight.sum()) or 1.0)
    found = {
        "Predictions": f"{position(float(curve.lower[i]))} to {position(float(curve.upper[i]))}",
        "Rows": f"{count(float(curve.count[i]))} ({percent(share, 1)})",
        "Mean prediction": number(float(curve.predicted[i])),
        "Frequency": number(float(curve.observed[i])),
    }
    if curve.low is not None and curve.high is not None:
        limits = f"{position(float(curve.low[i]))} to {position(float(curve.high[i]))}"
        found[f"{percent(curve.level)} {LIMITS[curve.band]}"] = limits
    return found


N_PANELS = 24
"""Number of classes that are drawn, those with the largest errors; the table holds all of them."""


def lighten(assessment: Assessment) -> Assessment:
    """Return the assessment as a page shows it."""
    return replace(
        assessment,
        curve=None if assessment.curve is None else thin_curve(assessment.curve),
        curves={name: thin_curve(curve) for name, curve in assessment.curves.items()},
        classwise=None if assessment.classwise is None else _worst_classes(assessment.classwise),
    )


def _worst_classes(classwise: ClasswiseCurves) -> ClasswiseCurves:
    worst = worst_first(classwise.curves)[:N_PANELS]
    return ClasswiseCurves(
        names=tuple(classwise.names[i] for i in worst),
        curves=tuple(thin_curve(replace(classwise.curves[i], histogram=None)) for i in worst),
        average=thin_curve(classwise.average),
    )
