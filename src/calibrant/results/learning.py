"""Learning curves: how much a calibrator gains from more rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from calibrant._border.numerals import counted, significant
from calibrant.results.readable import Readable

if TYPE_CHECKING:
    from calibrant.results.svg import Element


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LearningPoint(Readable):
    """One metric of one calibrator at one number of fitted rows.

    Attributes
    ----------
    calibrator, metric : str
    size : int
        Rows that the calibrator was fitted to.
    value : float
        Mean over the repeats, on rows that were held out.
    deviation : float
        Standard deviation over the repeats.
    change, change_deviation : float
        Mean and standard deviation of the value minus that of the uncalibrated predictions, on the same rows.
    n_infinite : int
        Repeats whose value is infinite; if there are any, the four numbers above are infinite.
    """

    calibrator: str
    metric: str
    size: int
    value: float
    deviation: float
    change: float
    change_deviation: float
    n_infinite: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LearningCurve(Readable):
    """Quality against the number of rows that calibrators are fitted to.

    Attributes
    ----------
    calibrators, metrics : tuple of str
    sizes : tuple of int
    n_repeats : int
    n_held_out : int
        Number of rows on which each repeat is judged.
    baseline : mapping of str to float
        Every metric of the uncalibrated predictions: its mean over the held-out rows of all repeats.
    points : tuple of LearningPoint
        Calibrator after calibrator, metric after metric, by size.
    settings : mapping
        Seed, version.
    """

    calibrators: tuple[str, ...]
    metrics: tuple[str, ...]
    sizes: tuple[int, ...]
    n_repeats: int
    n_held_out: int
    baseline: Mapping[str, float]
    points: tuple[LearningPoint, ...]
    settings: Mapping[str, object] = field(default_factory=dict)

    def _printed(self) -> list[tuple[str, str]]:
        pairs = [(calibrator, metric) for calibrator in self.calibrators for metric in self.metrics]
        values = ["; ".join(f"{counted(p.size)} {significant(p.value, 4)}" for p in self.of(*pair)) for pair in pairs]
        held = f"{counted(self.n_held_out)}, {self.n_repeats} times"
        rows = [(f"{calibrator}, {metric}", text) for (calibrator, metric), text in zip(pairs, values, strict=True)]
        return [
            *rows,
            *((f"as they are, {m}", significant(v, 4)) for m, v in self.baseline.items()),
            ("judged by", held),
        ]

    def of(self, calibrator: str, metric: str) -> tuple[LearningPoint, ...]:
        """Return the points of this calibrator and metric, by size."""
        start = (self.calibrators.index(calibrator) * len(self.metrics) + self.metrics.index(metric)) * len(self.sizes)
        return self.points[start : start + len(self.sizes)]

    def _in_notebook(self) -> "list[Element]":
        from calibrant.results import notebook

        return notebook.learning(self)
