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
    alternatives : CoxAlternatives
        What evidence is collected for.
    ellipse : Ellipse or None
        That line, and all others that the reference period does not contradict.
    log_likelihoods : ndarray of shape (n_days, n_alternatives)
    log_e, log_plugin : ndarray of shape (n_days,)
        The valid evidence, and that against `expected` as if it were known; the same without a reference.
    opposed : ndarray of shape (n_days, 2)
        The line that the valid evidence of each day is against.
    """

    days: list[Cells]
    expected: list[Cells]
    alternatives: CoxAlternatives
    ellipse: Ellipse | None
    log_likelihoods: FloatArray
    log_e: FloatArray
    log_plugin: FloatArray
    opposed: FloatArray

    @property
    def line(self) -> Line | None:
        """The line of the reference period."""
        return None if self.ellipse is None else self.ellipse.line

    def log_factors(self, at: int) -> FloatArray:
        """Return the log-likelihood ratios of all days, against the line that the evidence opposes after one."""
        intercept, slope = self.opposed[at]
        against = [log_likelihood(intercept + slope * day.log_odds, day) for day in self.days]
        return self.log_likelihoods - np.array(against)[:, None]

    def first(self, n_days: int) -> "Stream":
        """Return the stream as it was after its first days: no later day changes them."""
        return Stream(
            self.days[:n_days],
            self.expected[:n_days],
            self.alternatives,
            self.ellipse,
            self.log_likelihoods[:n_days],
            self.log_e[:n_days],
            self.log_plugin[:n_days],
            self.opposed[:n_days],
        )

    def anew(self, first: int, start: SpreadStart | FirstDay) -> "Stream":
        """Return the days from a given one on, with evidence that begins there."""
        return collect(self.days[first:], self.alternatives, start, self.ellipse)


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
        opposed = np.tile([0.0, 1.0], (len(days), 1))
        return Stream(days, expected, alternatives, ellipse, logs, plugin, plugin, opposed)
    safe = safe_evidence(days, logs, stakes, ellipse)
    return Stream(days, expected, alternatives, ellipse, logs, safe.log_e, plugin, safe.lines)
