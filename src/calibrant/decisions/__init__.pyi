from calibrant.decisions.base_rate import estimate_base_rate as estimate_base_rate
from calibrant.decisions.base_rates import estimate_base_rates as estimate_base_rates
from calibrant.decisions.cost import cost_difference as cost_difference, expected_cost as expected_cost
from calibrant.decisions.curve import decision_curve as decision_curve, decision_difference as decision_difference
from calibrant.decisions.base_rate import move_base_rate as move_base_rate
from calibrant.decisions.selective import (
    binomial_upper as binomial_upper,
    coverage_at_risk as coverage_at_risk,
    risk_coverage as risk_coverage,
)
from calibrant.decisions.plan import DecisionPlan as DecisionPlan
from calibrant.decisions.cost import best_threshold as best_threshold
from calibrant.metrics.costs import Costs as Costs
