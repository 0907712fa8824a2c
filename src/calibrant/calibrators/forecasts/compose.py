"""Compositions of calibrators of predictive distributions, and their table of names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from calibrant._border.spellings import Spellings
from calibrant._core.progress import told
from calibrant.calibrators.estimator import clone
from calibrant.calibrators.forecasts.forecast_calibrator import ForecastCalibrator, Guarantee
from calibrant.calibrators.names import CalibratorTable
from calibrant.calibrators.rules import Rule
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts


def _are_stages(stages: object) -> bool:
    return isinstance(stages, list) and len(stages) > 0 and all(isinstance(s, ForecastCalibrator) for s in stages)


@dataclass(eq=False, repr=False)
class ForecastCompose(ForecastCalibrator):
    """Apply calibrators of predictive distributions one after another.

    Parameters
    ----------
    stages : list of ForecastCalibrator
        In order of application. Each is fitted to the output of the previous ones, on the same rows.

    Attributes
    ----------
    stages_ : list of ForecastCalibrator
        Fitted.

    Examples
    --------
    >>> from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS
    >>> isinstance(FORECAST_CALIBRATORS["shift-scale>pit"](), ForecastCompose)
    True
    >>> FORECAST_CALIBRATORS["shift-scale>pit"]()
    ForecastCompose(stages=[ShiftScaling(), PITMap()])
    """

    stages: Sequence[ForecastCalibrator]

    n_parameters = "those of the stages"
    use_when = "A flexible map is wanted, and a map with few parameters can do the coarse work first."
    rules = (Rule(("stages_",), _are_stages, "must be calibrators of forecasts"),)

    @property
    def accepts(self) -> str:  # type: ignore[override]  # of the first stage
        """What the first stage accepts."""
        return self._members()[0].accepts

    @property
    def keeps_mean(self) -> bool:  # type: ignore[override]  # of all stages
        """Whether all stages keep it."""
        return all(stage.keeps_mean for stage in self._members())

    @property
    def keeps_median(self) -> bool:  # type: ignore[override]  # of all stages
        """Whether all stages keep it."""
        return all(stage.keeps_median for stage in self._members())

    @property
    def has_density(self) -> bool:  # type: ignore[override]  # of all stages
        """Whether all stages leave a density."""
        return all(stage.has_density for stage in self._members())

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]  # of all stages
        """No guarantee for several stages: the last one is fitted to the rows that the others were fitted to."""
        members = self._members()
        return members[0].guarantee if len(members) == 1 else "none"

    @property
    def gives(self) -> str:  # type: ignore[override]  # of the last stage
        """What the last stage gives."""
        return self._members()[-1].gives

    @property
    def least_rows(self) -> int:  # type: ignore[override]  # of all stages
        """The largest number that a stage needs."""
        return max(stage.least_rows for stage in self._members())

    def _members(self) -> list[ForecastCalibrator]:
        stages = self.stages
        if not isinstance(stages, (list, tuple)) or not all(isinstance(one, ForecastCalibrator) for one in stages):
            raise TypeError(f"stages must be a list of calibrators of forecasts, but is {stages!r:.80}.")
        if not stages:
            raise InputError("stages must hold at least one calibrator, but is empty.")
        return list(stages)

    def _fit(self, forecasts: Forecasts) -> None:
        stages = [clone(stage) for stage in self._members()]
        for stage in told(stages, len(stages)):
            forecasts = stage.fit(forecasts).calibrate(forecasts)
        self.stages_ = stages

    def _apply(self, distribution: Distribution) -> Distribution:
        for stage in self.stages_:
            distribution = stage.apply(distribution)
        return distribution


FORECAST_CALIBRATORS: CalibratorTable[ForecastCalibrator] = CalibratorTable('"scale" or "shift-scale>pit"', Spellings())
"""Every calibrator of predictive distributions by its name on the command line; calling the value builds a fresh one.

Names joined by ">", such as "shift-scale>pit", build a composition, in order of application. The rows are in
`calibrant.calibrators.forecasts`.
"""


def forecast_calibrator_name(name: str) -> str:
    """Return the name in FORECAST_CALIBRATORS, or the composition of such names, that a spelling stands for.

    Examples
    --------
    >>> forecast_calibrator_name("Shift-Scale > PIT")
    'shift-scale>pit'
    """
    return FORECAST_CALIBRATORS.full_name(name)


def parse_forecast(name: str) -> ForecastCalibrator:
    """Return the calibrator of forecasts with a name, or the composition of names joined by ">".

    Examples
    --------
    >>> parse_forecast("student")
    StudentScaling()
    """
    return FORECAST_CALIBRATORS[forecast_calibrator_name(name)]()


def composed_forecasts(builders: list[Callable[..., ForecastCalibrator]]) -> ForecastCalibrator:
    """Return the composition of the calibrators that several rows of the table build."""
    return ForecastCompose([build() for build in builders])
