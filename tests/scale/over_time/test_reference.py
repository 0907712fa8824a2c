"""Drift against an estimated reference: the least evidence over the confidence ellipse."""

import numpy as np
import pytest
from scipy.stats import chi2

from calibrant.scale.over_time import CoxAlternatives, SpreadStart
from calibrant.scale.over_time.lines import fit_line, log_likelihood
from calibrant.scale.over_time.reference import Ellipse, safe_evidence
from calibrant.scale.over_time.stream import collect
from studies.over_time.worlds import COMMON, RARE

CHOICE = (CoxAlternatives(), SpreadStart())


def world_days(world, n_days, n_rows, rng, **change):
    return [world.day(n_rows, rng, **change) for _ in range(n_days)]


def evidence_against(line, days, logs, stakes):
    """E_t of the last day against one line, straight from its definition."""
    against = np.array([log_likelihood(line[0] + line[1] * day.log_odds, day) for day in days])
    total = 1 - stakes.sum()
    for s in range(len(days)):
        total += stakes[s] * np.exp((logs[s:] - against[s:, None]).sum(axis=0)).mean()
    return np.log(total)


@pytest.mark.parametrize(("world", "change"), [(COMMON, {}), (COMMON, {"shift": 0.6}), (RARE, {"slope": 0.6})])
def test_safe_evidence_is_the_least_over_the_ellipse(world, change):
    rng = np.random.default_rng(1)
    days = world_days(world, 6, 400, rng, **change)
    ellipse = Ellipse(fit_line(world.day(5000, rng)), 0.975)
    stream = collect(days, *CHOICE, ellipse)
    turns = np.linspace(0, 2 * np.pi, 120)
    disc = [r * np.array([np.cos(t), np.sin(t)]) for r in np.linspace(0, 1, 12) for t in turns]
    stakes = SpreadStart().stakes(6)
    least = min(evidence_against(line, days, stream.log_likelihoods, stakes) for line in ellipse.lines(np.array(disc)))
    assert stream.log_e[-1] <= least + 1e-9
    assert stream.log_e[-1] == pytest.approx(least, abs=0.02)
    assert evidence_against(stream.opposed[-1], days, stream.log_likelihoods, stakes) == pytest.approx(
        stream.log_e[-1], abs=1e-5
    )
    assert np.all(stream.log_e <= stream.log_plugin + 1e-9)


def test_the_ellipse_holds_the_level_of_chi_squared():
    line = fit_line(COMMON.day(3000, np.random.default_rng(2)))
    edge = Ellipse(line, 0.975).lines(np.array([[0.6, 0.8]]))[0] - [line.intercept, line.slope]
    assert edge @ np.linalg.solve(line.covariance, edge) == pytest.approx(chi2.ppf(0.975, 2))


def test_a_precise_reference_loses_little_evidence():
    rng = np.random.default_rng(3)
    days = world_days(COMMON, 10, 500, rng, shift=0.6)
    ends = []
    for n_rows in (2000, 20_000, 2_000_000):
        ellipse = Ellipse(fit_line(COMMON.day(n_rows, np.random.default_rng(4))), 0.975)
        ends.append(collect(days, *CHOICE, ellipse).log_e[-1])
    assert ends[0] < ends[1] < ends[2]
    assert ends[2] == pytest.approx(collect(days, *CHOICE).log_e[-1], rel=0.05)


def test_an_estimated_reference_raises_false_alarms_only_if_it_is_taken_for_known():
    """20 references of 1000 rows, 20 days of 2000 rows: the safe version stays below its level, the other does not."""
    rng = np.random.default_rng(5)
    safe = known = 0
    for _ in range(20):
        ellipse = Ellipse(fit_line(COMMON.day(1000, rng)), 0.975)
        stream = collect(world_days(COMMON, 20, 2000, rng), *CHOICE, ellipse)
        safe += bool((stream.log_e >= np.log(40)).any())
        known += bool((stream.log_plugin >= np.log(20)).any())
    assert safe <= 4  # P(more | 5%) = 0.003
    assert known >= 6


def test_every_look_is_the_minimum_whatever_was_seen_before():
    rng = np.random.default_rng(7)
    days = world_days(COMMON, 5, 300, rng) + world_days(COMMON, 5, 300, rng, shift=1.0)
    ellipse = Ellipse(fit_line(COMMON.day(3000, rng)), 0.975)
    all_days = collect(days, *CHOICE, ellipse)
    for n_days in (1, 6, 8):
        few = safe_evidence(days[:n_days], all_days.log_likelihoods[:n_days], SpreadStart().stakes(n_days), ellipse)
        assert few.log_e[-1] == pytest.approx(all_days.log_e[n_days - 1], abs=1e-5)
