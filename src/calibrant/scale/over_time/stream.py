"""The evidence about one binary event over all days."""

from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.scale.over_time.alternatives import CoxAlternatives, FirstDay, SpreadStart
from calibrant.scale.over_time.cells import Cells
from calibrant.scale.over_time.evidence import accumulate
from calibrant.scale.over_time.lines import Line, log_likelihood
from calibrant.scale.over_time.reference import Ellipse, safe_evidence


@dataclass(frozen=True, eq=False)
class Stream:
    """Days of one event, and the evidence that they have collected.

    Attributes
    ----------
    days : list of Cells
        As predicted.
    expected : list of Cells
        As expected: as predicted, or as the line of the reference period says.
    line : Line or None
        That line.
    log_likelihoods : ndarray of shape (n_days, n_alternatives)
    log_e, log_plugin : ndarray of shape (n_days,)
        The valid evidence, and that against `expected` as if it were known; the same without a reference.
    opposed : ndarray of shape (n_days, 2)
        The line that the valid evidence of each day is against.
    """

    days: list[Cells]
    expected: list[Cells]
    line: Line | None
    log_likelihoods: FloatArray
    log_e: FloatArray
    log_plugin: FloatArray
    opposed: FloatArray

    def log_factors(self, until: int) -> FloatArray:
        """Return the log-likelihood ratios of the days up to one, against the line that the evidence then opposes."""
        intercept, slope = self.opposed[until]
        seen = self.days[: until + 1]
        against = [log_likelihood(intercept + slope * day.log_odds, day) for day in seen]
        return self.log_likelihoods[: until + 1] - np.array(against)[:, None]


def collect(
    days: list[Cells],
    alternatives: CoxAlternatives,
    start: SpreadStart | FirstDay,
    ellipse: Ellipse | None = None,
) -> Stream:
    """Collect evidence against predictions, or against every line of the ellipse."""
    stakes, line = start.stakes(len(days)), None if ellipse is None else ellipse.line
    expected = days if line is None else [replace(day, log_odds=line(day.log_odds)) for day in days]
    logs = alternatives.log_likelihoods(expected)
    base = np.array([log_likelihood(day.log_odds, day) for day in expected])
    plugin = accumulate(logs - base[:, None], stakes).log_e
    if ellipse is None:
        return Stream(days, expected, line, logs, plugin, plugin, np.tile([0.0, 1.0], (len(days), 1)))
    safe = safe_evidence(days, logs, stakes, ellipse)
    return Stream(days, expected, line, logs, safe.log_e, plugin, safe.lines)
