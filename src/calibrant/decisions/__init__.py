"""Decisions: what predictions cost and are worth, where to act, when to abstain, and which base rate holds."""

from calibrant.decisions.base_rate import estimate_base_rate
from calibrant.decisions.base_rates import estimate_base_rates
from calibrant.decisions.cost import cost_difference, expected_cost
from calibrant.decisions.curve import decision_curve, decision_difference
from calibrant.decisions.moved import move_base_rate
from calibrant.decisions.selective import binomial_upper, coverage_at_risk, risk_coverage
from calibrant.decisions.summary import DecisionPlan
from calibrant.decisions.threshold import best_threshold
from calibrant.metrics.costs import Costs

__all__ = [
    "Costs",
    "DecisionPlan",
    "best_threshold",
    "binomial_upper",
    "cost_difference",
    "coverage_at_risk",
    "decision_curve",
    "decision_difference",
    "estimate_base_rate",
    "estimate_base_rates",
    "expected_cost",
    "move_base_rate",
    "risk_coverage",
]
