"""When a change began, and whether it has passed."""

from typing import NamedTuple

import numpy as np

from calibrant.scale.over_time.evidence import FirstDay, accumulate, begun, log_sum, posterior
from calibrant.scale.over_time.stream import Stream

SURE = 0.95
"""Probability that the first day lies in its range, and probability from which a change counts as passed."""


class When(NamedTuple):
    """Indices of days, and the probability that the change lasts."""

    alarm: int
    peak: int  # The largest evidence from the alarm on.
    since: int  # The most likely first day of the change; its range follows.
    earliest: int
    latest: int
    until: int  # The most likely last day of a change that has passed; otherwise the last day of all.
    lasts: float  # Probability that the change, or another that followed it, lasts up to the last day of all.


def date_change(stream: Stream, alarm: int, peak: int) -> When:
    r"""Return when a change began and whether it has passed, by the likelihood of every first and last day.

    Notes
    -----
    With the factors :math:`F_{kt}` of `accumulate`, against the line that the evidence opposes at its peak, the days up
    to e have the likelihood ratio :math:`L(s, e) = \frac1K \sum_k \prod_{t=s}^e F_{kt}` if a change began with day s.
    All first days have the same prior probability, so :math:`A(e) = \sum_{s \le e} L(s, e)` says how likely a change up
    to day e is. Let a be the day of the alarm, T the last day, and :math:`\hat e` the day from a to T - 1 with the
    largest A. Three cases have the same prior probability. Their likelihoods are

    - :math:`A(T)` if the change lasts as it is,
    - :math:`\bar A = \frac{1}{T - a} \sum_{e=a}^{T-1} A(e)` if it ended with one of these days,
    - :math:`\bar A \cdot B` if another change followed. B is the likelihood ratio of the days after :math:`\hat e`
      alone, averaged over alternatives; with a reference, it is the least against any line of the ellipse.

    The change has passed if the posterior probability of the second case is at least 95%. Days without rows have B = 1
    and do not raise it. The last day of the change is then :math:`\hat e`, and otherwise T. The first day is the s with
    the largest :math:`L(s, e)` for this last day e, and the range has 95% of the posterior distribution of s, given e.
    """
    factors = stream.log_factors(peak)
    last = len(factors) - 1
    ends = log_sum(accumulate(factors, np.full(last + 1, 1 / (last + 1))).log_parts)
    until, lasts = last, 1.0
    if alarm < last:
        likeliest = alarm + int(np.argmax(ends[alarm:last]))
        ended = float(log_sum(ends[alarm:last])) - np.log(last - alarm)
        other = float(stream.anew(likeliest + 1, FirstDay()).log_e[-1])
        lasts = float(posterior(np.array([ends[last], ended + other, ended]))[:2].sum())
        until = likeliest if lasts <= 1 - SURE else last
    likelihoods = begun(factors[: until + 1])
    shares = posterior(likelihoods)
    order = np.argsort(-shares, kind="stable")
    likely = order[: 1 + int(np.searchsorted(np.cumsum(shares[order]), SURE))]
    return When(alarm, peak, int(np.argmax(likelihoods)), int(likely.min()), int(likely.max()), until, lasts)
