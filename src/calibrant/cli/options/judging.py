"""Options of the commands that judge predictions."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant.cli.options.reading import INPUT, JUDGING, EitherSource, Seed
from calibrant.cli.printing import show

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import TypedDict, Unpack

    import numpy as np
    from numpy.typing import NDArray

    from calibrant.forecasts import Forecasts
    from calibrant.predictions import Predictions
    from calibrant.results import Assessment, ForecastAssessment
    from calibrant.scale.reading import AnySketch

    class Asked(TypedDict, total=False):
        """Arguments of `calibrant.assess` that choose what is computed."""

        sections: Sequence[str]
        metrics: Sequence[str]
        by: object


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True, kw_only=True)
class Options(EitherSource):
    """Which columns to read, and how to judge them."""

    resamples: Annotated[
        int, Parameter(group=JUDGING, help="Number of redraws of labels, or of rows, behind the verdict.")
    ] = 999
    seed: Annotated[Seed, Parameter(help="Seed of the random redraws.")] = 0

    def check(self) -> None:
        """Refuse impossible numbers, before anything is read."""
        from calibrant._border.settings import check_count

        super().check()
        check_count(self.resamples, "n_resamples")


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True, kw_only=True)
class Grouping(Options):
    """Which columns to read, how to judge them, and in which groups."""

    by: Annotated[str | None, Parameter(help="Column of groups, which are judged separately.")] = None


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True, kw_only=True)
class Comparing(Grouping):
    """Which columns to read, and how often to resample the rows that models share."""

    resamples: Annotated[int, Parameter(group=JUDGING, help="Number of bootstrap samples of the rows.")] = 1000


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True, kw_only=True)
class Judging(Grouping):
    """Which columns to read, how to judge them, and which errors do not matter."""

    tolerance: Annotated[float, Parameter(group=JUDGING, help="Largest calibration error that does not matter.")] = 0.02

    def check(self) -> None:
        """Refuse impossible numbers, before anything is read."""
        from calibrant.assessment.verdict import check_tolerance

        super().check()
        check_tolerance(self.tolerance)

    def grouped(self, files: "Sequence[Path]") -> "tuple[Predictions, NDArray[np.generic] | None]":
        """Read class predictions and the group of each row, None without --by."""
        predictions, others = self.rows(files, self.by)
        return predictions, others.get(self.by or "")

    def grouped_forecasts(self, files: "Sequence[Path]") -> "tuple[Forecasts, NDArray[np.generic] | None]":
        """Read forecasts and the group of each row, None without --by."""
        forecasts, others = self.forecasts(files, self.by)
        return forecasts, others.get(self.by or "")

    def assess(
        self, predictions: "Predictions | AnySketch", name: str, what: str, **asked: "Unpack[Asked]"
    ) -> "Assessment":
        """Assess predictions or a sketch as the options say, with a progress bar labelled `what`."""
        from calibrant.assessment.assessing import assess

        with show.progress_bar(what, quiet=self.silent) as progress:
            return assess(
                predictions,
                name=name,
                n_resamples=self.resamples,
                tolerance=self.tolerance,
                progress=progress,
                rng=self.seed,
                **asked,
            )

    def assess_forecasts(
        self, forecasts: "Forecasts", name: str, by: "NDArray[np.generic] | None" = None
    ) -> "ForecastAssessment":
        """Assess predictive distributions as the options say, with a progress bar."""
        from calibrant.assessment.forecasts import assess_forecasts

        with show.progress_bar(f"judging {name}", quiet=self.silent) as progress:
            return assess_forecasts(
                forecasts,
                name=name,
                n_resamples=self.resamples,
                by=by,
                tolerance=self.tolerance,
                progress=progress,
                rng=self.seed,
            )
