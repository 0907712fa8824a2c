"""The evidence about one binary event over all days."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.scale.over_time.cells import Cells, mapped
from calibrant.scale.over_time.evidence import CoxAlternatives, Start, accumulate
from calibrant.scale.over_time.lines import Line, log_likelihood
from calibrant.scale.over_time.reference import Ellipse, Safe, safe_evidence


@dataclass(frozen=True, eq=False)
class Stream:
    """Days of one event, and the evidence that they have collected."""

    days: list[Cells]  # As predicted.
    expected: list[Cells]  # As predicted, or as the line of the reference period says.
    alternatives: CoxAlternatives
    start: Start
    ellipse: Ellipse | None  # That line, and all others that the reference period does not contradict.
    log_likelihoods: FloatArray  # Of each day under each alternative, (n_days, n_alternatives).
    log_e: FloatArray  # The valid evidence after each day, (n_days,).
    log_plugin: FloatArray  # That against `expected` as if it were known; the same without a reference.
    opposed: FloatArray  # The line that the valid evidence of each day is against, (n_days, 2).

    @property
    def line(self) -> Line | None:
        """The line of the reference period."""
        return None if self.ellipse is None else self.ellipse.line

    def log_factors(self, at: int) -> FloatArray:
        """Return the log-likelihood ratios of all days, against the line that the evidence opposes after one."""
        intercept, slope = self.opposed[at]
        against = [log_likelihood(intercept + slope * day.log_odds, day) for day in self.days]
        return self.log_likelihoods - np.array(against)[:, None]

    def anew(self, first: int, start: Start | None = None) -> "Stream":
        """Return the days from a given one on, with evidence that begins there."""
        return collect(self.days[first:], self.alternatives, start or self.start, self.ellipse)


def collect(days: list[Cells], alternatives: CoxAlternatives, start: Start, ellipse: Ellipse | None = None) -> Stream:
    """Collect evidence against predictions, or against every line of the ellipse."""
    stakes = start.stakes(len(days))
    expected = days if ellipse is None else mapped(days, ellipse.line)
    logs = alternatives.log_likelihoods(expected)
    base = np.array([log_likelihood(day.log_odds, day) for day in expected])
    plugin = accumulate(logs - base[:, None], stakes).log_e
    if ellipse is None:
        safe = Safe(plugin, np.tile([0.0, 1.0], (len(days), 1)))
    else:
        safe = safe_evidence(days, logs, stakes, ellipse)
    return Stream(days, expected, alternatives, start, ellipse, logs, safe.log_e, plugin, safe.lines)
