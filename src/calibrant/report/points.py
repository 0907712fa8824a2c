"""The points of a reliability curve, in numbers and in words."""

from dataclasses import dataclass

from calibrant.report.text import count, number, percent
from calibrant.results import ReliabilityCurve

VAGUE = 0.3
"""Points whose confidence interval is wider are drawn faintly: few rows stand behind them, and they catch the eye."""

LIMITS = {"confidence": "interval", "consistency": "band"}
"""What the limits of a curve are called, by the kind of its band."""


@dataclass(frozen=True)
class Point:
    """One point of a curve."""

    predicted: float
    observed: float
    low: float | None
    high: float | None
    lower: float
    upper: float
    count: float
    weight: float
    total: float
    band: str

    @property
    def share(self) -> float:
        """The weight, of that of all points."""
        return self.weight / self.total

    @property
    def percentage(self) -> str:
        """The share in words."""
        return f"{100 * self.share:.1f} %"

    @property
    def off(self) -> bool:
        """Whether the limits speak against calibration here."""
        if self.low is None or self.high is None:
            return False
        inside = self.predicted if self.band == "confidence" else self.observed
        return not self.low <= inside <= self.high

    @property
    def vague(self) -> bool:
        """Whether a confidence interval says little."""
        if self.low is None or self.high is None or self.band != "confidence":
            return False
        return self.high - self.low > VAGUE

    @property
    def range(self) -> str:
        """The predictions that the point summarises."""
        return f"{position(self.lower)} to {position(self.upper)}"

    @property
    def limits(self) -> str:
        """The limits."""
        return "none" if self.low is None or self.high is None else f"{position(self.low)} to {position(self.high)}"


def position(value: float) -> str:
    """Return a probability with three decimals: ends of intervals line up better than with significant digits."""
    return f"{value:.3f}" if 0 < value < 1 else number(value).removesuffix(".00")


def points(curve: ReliabilityCurve) -> list[Point]:
    """Return the points of a curve, in the order of the curve."""
    names = ("predicted", "observed", "low", "high", "lower", "upper", "count", "weight")
    empty = [None] * len(curve.predicted)
    columns = [empty if getattr(curve, key) is None else getattr(curve, key).tolist() for key in names]
    total = float(curve.weight.sum()) or 1.0
    rows = zip(*columns, strict=True)
    return [Point(**dict(zip(names, row, strict=True)), total=total, band=curve.band) for row in rows]


def facts(point: Point, curve: ReliabilityCurve) -> dict[str, str]:
    """Return what a point says when it is pointed at."""
    found = {
        "Predictions": point.range,
        "Rows": f"{count(point.count)} ({point.percentage})",
        "Mean prediction": number(point.predicted),
        "Frequency": number(point.observed),
    }
    if curve.low is not None:
        found[f"{percent(curve.level)} {LIMITS[curve.band]}"] = point.limits
    return found
