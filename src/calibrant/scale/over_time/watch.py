"""Has calibration changed, since when, in which direction, how much, and what repairs it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant import __version__
from calibrant._border.settings import check_level
from calibrant._border.types import FloatArray
from calibrant.results import Change, WatchedDay, WatchResult
from calibrant.scale.over_time import words
from calibrant.scale.over_time.cells import Cells
from calibrant.scale.over_time.change import date_change, describe_change, measured
from calibrant.scale.over_time.days import Days, GivenDay, streams
from calibrant.scale.over_time.evidence import CoxAlternatives, SpreadStart, Start, log_sum
from calibrant.scale.over_time.lines import require_line
from calibrant.scale.over_time.reference import Ellipse
from calibrant.scale.over_time.stream import Stream, collect


@dataclass(frozen=True)
class Watch:
    r"""Watch calibration over days, with a test that stays valid however often one looks.

    Parameters
    ----------
    alpha : float, default=0.05
        Probability of ever raising an alarm, over the whole run, if nothing changes: at most this.
    classwise : bool, default=False
        Watch each of more than two classes against the rest, rather than the top label.
    alternatives : CoxAlternatives
        The changes that evidence is collected for.
    start : SpreadStart or FirstDay
        How the stake is spread over the days on which a change may begin.

    Notes
    -----
    Without a reference, the hypothesis is that predictions are calibrated: outcomes are independent given the
    predictions of the day and the past, and happen with the predicted probabilities. The evidence is a mixture of
    likelihood ratios, `accumulate`, computed from the cells of each day with the mean prediction of the cell's own
    rows. That is exact: for rows :math:`p_i` with mean :math:`\mu` and :math:`c = (q - \mu) / (\mu (1 - \mu))` the
    expectation of the factor is :math:`\prod_i (1 + c (p_i - \mu)) \le \exp(c \sum_i (p_i - \mu)) = 1`. The alarm is
    raised when the evidence reaches :math:`1 / \alpha`.

    With a reference, the hypothesis is that log-odds of outcomes lie on one line of the log-odds of predictions, that
    of the reference period. The evidence is the least against any line in its confidence ellipse of level
    :math:`1 - \alpha / 2` (`safe_evidence`), and the limit is :math:`2 / \alpha`.

    Evidence about several classes is the mean of theirs, which is valid however they depend on each other; with a
    reference, the ellipse of each of K classes has level :math:`1 - \alpha / (2 K)`. Predictions
    of exactly 0 or 1 are left out, as no finite evidence fits them; those that turn out wrong are reported.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((20, 500))
    >>> y = rng.random((20, 500)) < np.where(np.arange(20) < 10, 1, 0.8)[:, None] * p  # from day 11 on, less often
    >>> result = Watch()({f"day {i + 1}": Predictions(p[i], y[i]) for i in range(20)})
    >>> result.change.since, result.change.named[0]
    ('day 11', 'too high')
    """

    alpha: float = 0.05
    classwise: bool = False
    alternatives: CoxAlternatives = CoxAlternatives()
    start: Start = SpreadStart()

    def __post_init__(self) -> None:
        check_level(self.alpha, "alpha")

    def __call__(self, days: Days, reference: GivenDay | None = None) -> WatchResult:
        """Watch days in their order.

        Parameters
        ----------
        days : mapping of str to Sketch or Predictions, or pairs of both
            Each row in one day, days in the order in which their labels were complete. Of a `GroupedSketch`, the rows
            of all groups are watched together.
        reference : Sketch or Predictions, optional
            A period that calibration is compared with; none of its rows is in `days`.
        """
        names, watched, before, top_label = streams(days, reference, classwise=self.classwise)
        level = 1 - self.alpha / 2 / len(watched)  # All ellipses together hold with a probability of 1 - alpha / 2.
        ellipses = {event: Ellipse(require_line(cells, "the reference"), level) for event, cells in before.items()}
        found = {
            event: collect(cells, self.alternatives, self.start, ellipses.get(event))
            for event, cells in watched.items()
        }
        log_e = _log_e(found)
        log_plugin = _mean([stream.log_plugin for stream in found.values()]) if ellipses else None
        limit = float(np.log((2 if ellipses else 1) / self.alpha))
        event, change = self._change(names, found, limit)
        shown = found[event]
        result = WatchResult(
            headline="",
            story=(),
            days=_days(names, shown.days, log_e, log_plugin),
            alpha=self.alpha,
            log_limit=limit,
            change=change,
            notes=words.notes(names, shown.days),
            reference=_measured(before[event]) if before else {},
            settings={"n_events": len(watched), "top_label": top_label, "version": __version__},
        )
        return replace(result, headline=words.headline(result), story=words.story(result))

    def _change(self, names: list[str], found: dict[str, Stream], limit: float) -> tuple[str, Change | None]:
        """Return the event with most evidence, and what changed if the alarm was raised.

        The days after a change that has passed are watched anew. If they raise the alarm again, the newer change is
        returned, with the first alarm.
        """
        log_e = _log_e(found)
        over = np.flatnonzero(log_e >= limit)
        alarm = int(over[0]) if len(over) else len(names) - 1
        peak = alarm + int(np.argmax(log_e[alarm:]))
        event = max(found, key=lambda name: found[name].log_e[peak])
        if not len(over):
            return event, None
        when = date_change(found[event], alarm, peak)
        after, later_log_e = when.until + 1, None
        if after < len(names):
            rest = {each: stream.anew(after) for each, stream in found.items()}
            again, newer = self._change(names[after:], rest, limit)
            if newer is not None:
                return again, replace(newer, alarm=names[alarm])
            later_log_e = float(_log_e(rest).max())
        change = describe_change(found[event], when, names, later_log_e)
        return event, replace(change, class_name=event)


def _log_e(found: dict[str, Stream]) -> FloatArray:
    """Return the evidence about all events after every day."""
    return _mean([stream.log_e for stream in found.values()])


def _mean(logs: list[FloatArray]) -> FloatArray:
    """Return the logarithm of the mean of several processes."""
    return log_sum(np.stack(logs, axis=-1)) - np.log(len(logs))


def _days(
    names: list[str], days: list[Cells], log_e: FloatArray, log_plugin: FloatArray | None
) -> tuple[WatchedDay, ...]:
    return tuple(
        WatchedDay(
            name=name,
            log_e=float(log_e[i]),
            log_e_plugin=None if log_plugin is None else float(log_plugin[i]),
            **_measured(day),
        )
        for i, (name, day) in enumerate(zip(names, days, strict=True))
    )


def _measured(day: Cells) -> dict[str, Any]:
    """Return the summary of one day by itself; its rows include those with certain predictions."""
    return measured(day) | {"n_samples": day.n_rows}
