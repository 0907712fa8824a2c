"""Logistic recalibration: slope, intercept and the likelihood ratio."""

from itertools import product
from math import erfc, exp, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import chi2, norm
from sklearn.linear_model import LogisticRegression

from binary_cases import PUBLISHED_INTERCEPT, PUBLISHED_SLOPE, binary, published
from calibrant import InputError, Predictions
from calibrant.hypotest.cox import EPSILON, CoxTest, _tail
from naming import each


def is_refused(probs, labels):
    try:
        CoxTest()(Predictions(probs, labels))
    except InputError:
        return True
    return False


def negative_log_likelihood(line, log_odds, labels, weights):
    return weights @ np.logaddexp(0, np.where(labels == 1, -1, 1) * (line[0] + line[1] * log_odds))


def test_published_values():
    """calzone's documentation prints slope, intercept and the interval 0.93729 to 1.05121 of the slope."""
    result = CoxTest()(published())
    assert result.estimate == result.details["slope"] == pytest.approx(PUBLISHED_SLOPE, rel=1e-12)
    assert result.details["intercept"] == pytest.approx(PUBLISHED_INTERCEPT, rel=1e-11)
    low, high = PUBLISHED_SLOPE + norm.ppf([0.025, 0.975]) * result.details["slope_se"]
    assert (low, high) == pytest.approx((0.93729, 1.05121), abs=5e-6)
    assert result.details["calibration_in_the_large"] == pytest.approx(-0.0451562, abs=5e-8)
    assert result.pvalue == pytest.approx(0.5206, abs=5e-5)


def test_published_values_of_sharpened_predictions():
    result = CoxTest()(published(2.0))
    assert result.details["calibration_in_the_large"] == pytest.approx(-0.0744578, abs=5e-8)
    assert result.pvalue == pytest.approx(2e-154, rel=0.1)


@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_finds_the_same_line(weighted):
    p = binary(700, sharpness=1.7, shift=0.4, weighted=weighted)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(logit(p.positive)[:, None], p.labels, sample_weight=p.weights)
    result = CoxTest()(p)
    assert result.details["slope"] == pytest.approx(model.coef_[0, 0], rel=1e-7)
    assert result.details["intercept"] == pytest.approx(model.intercept_[0], rel=1e-7)


def test_statistic_and_errors_match_a_general_minimiser():
    p = binary(700, sharpness=1.7, shift=0.4)
    data = logit(p.positive), p.labels, p.weights
    fit = minimize(negative_log_likelihood, [0.0, 1.0], args=data, method="BFGS", options={"gtol": 1e-8})
    result = CoxTest()(p)
    assert result.statistic == pytest.approx(2 * (negative_log_likelihood([0, 1], *data) - fit.fun), rel=1e-9)
    assert result.pvalue == pytest.approx(chi2.sf(result.statistic, 2), rel=1e-9)
    design = np.column_stack([np.ones(700), data[0]])
    mean = expit(design @ fit.x)
    errors = np.sqrt(np.diag(np.linalg.inv((design * (mean * (1 - mean))[:, None]).T @ design)))
    assert [result.details["intercept_se"], result.details["slope_se"]] == pytest.approx(errors, rel=1e-5)
    large = minimize(lambda a: negative_log_likelihood([a[0], 1.0], *data), [0.0], options={"gtol": 1e-8})
    assert result.details["calibration_in_the_large"] == pytest.approx(large.x[0], abs=1e-7)
    variance = np.sum(expit(large.x + data[0]) * expit(-large.x - data[0]))
    assert result.details["calibration_in_the_large_se"] == pytest.approx(variance**-0.5, rel=1e-6)


def test_two_distinct_predictions_are_fitted_exactly():
    """Frequencies 3/10 and 7/10 at predictions 0.1 and 0.9: the line passes through both log-odds."""
    p = Predictions([0.1] * 10 + [0.9] * 10, [1] * 3 + [0] * 7 + [1] * 7 + [0] * 3)
    result = CoxTest()(p)
    assert result.details["slope"] == pytest.approx(logit(0.7) / logit(0.9), rel=1e-12)
    assert result.details["intercept"] == pytest.approx(0, abs=1e-12)
    likelihoods = 20 * (0.7 * np.log(0.7 / 0.9) + 0.3 * np.log(0.3 / 0.1))
    assert result.statistic == pytest.approx(2 * likelihoods, rel=1e-12)


@pytest.mark.parametrize("sharpness, direction", [(2.0, "over-confident"), (0.5, "under-confident")])
def test_a_slope_below_one_means_overconfidence(sharpness, direction):
    result = CoxTest()(binary(5000, sharpness=sharpness))
    assert result.estimate == pytest.approx(1 / sharpness, abs=4 * result.details["slope_se"])
    assert result.details["direction"] == direction


def test_calibration_in_the_large_is_positive_if_the_event_is_predicted_too_rarely():
    result = CoxTest()(binary(5000, shift=-0.5))
    assert result.details["calibration_in_the_large"] == pytest.approx(
        0.5, abs=4 * result.details["calibration_in_the_large_se"]
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_standard_errors_are_the_spread_of_the_estimates(weighted):
    n = 2500 if weighted else 600  # So that no labels are redrawn, which takes longer than all else.
    results = [CoxTest()(binary(n, seed, weighted=weighted)).details for seed in range(100)]
    assert not any(details["redraws"] for details in results)
    for name in ("slope", "intercept", "calibration_in_the_large"):
        spread = np.std([details[name] for details in results])
        stated = np.mean([details[name + "_se"] for details in results])
        assert stated == pytest.approx(spread, rel=4 / np.sqrt(200))  # the spread's own error is 1 / sqrt(2 * 100)


def test_classes_may_be_exchanged():
    p = binary(400, sharpness=1.3, shift=0.3)
    result, mirrored = CoxTest()(p), CoxTest()(Predictions(1 - p.positive, 1 - p.labels))
    assert mirrored.statistic == pytest.approx(result.statistic)
    assert mirrored.details["slope"] == pytest.approx(result.details["slope"])
    assert mirrored.details["intercept"] == pytest.approx(-result.details["intercept"])


def information(p, log_odds, power):
    """The sum of w**power mu (1 - mu) (1, z)(1, z)', with normalised weights."""
    weights = p.weights * p.weights.sum() / np.sum(p.weights**2)
    design = np.column_stack([np.ones(p.n_samples), logit(p.positive)])
    return (design * (weights**power * expit(log_odds) * expit(-log_odds))[:, None]).T @ design


def weighted_by_confidence():
    """Weights that have much to do with the predictions, so that the two eigenvalues differ."""
    p = binary(500, sharpness=1.2, shift=1.0)
    return Predictions(p.positive, p.labels, np.exp(0.7 * np.abs(logit(p.positive) - 2)))


def test_the_null_law_of_weighted_rows_is_that_of_the_docstring():
    p = weighted_by_confidence()
    h, j = (information(p, logit(p.positive), power) for power in (1, 2))
    scales = np.linalg.eigvals(np.linalg.solve(h, j))
    assert scales.max() > 1.5 * scales.min()
    result = CoxTest()(p)
    assert result.details["closed_form"] == pytest.approx(_tail(result.statistic, scales), rel=1e-9)


@pytest.mark.filterwarnings("ignore::calibrant.exceptions.DataWarning")
def test_redrawn_labels_that_would_be_refused_are_left_out():
    """Given that labels are not refused, the p-value of five rows is at most t with a chance of at most t."""
    probs = np.array([0.1, 0.3, 0.4, 0.7, 0.8])
    every = np.array(list(product((0, 1), repeat=5)))
    chance = np.where(every == 1, probs, 1 - probs).prod(axis=1)
    p = Predictions(probs, every[9])
    statistics = CoxTest().redrawn(p, p.weights)(every.T)
    refused = np.array([is_refused(probs, labels) for labels in every])
    assert np.array_equal(np.isnan(statistics), refused)
    result = CoxTest()(p, rng=0)
    above = chance[statistics >= result.statistic - 1e-9].sum() / chance[~refused].sum()
    assert result.pvalue == pytest.approx(above, abs=4 / np.sqrt(result.details["redraws"]))
    assert result.details["redraws"] == pytest.approx(999 * chance[~refused].sum(), abs=4 * np.sqrt(999 / 4))
    assert result.details["smallest_pvalue"] == 1 / (1 + result.details["redraws"])


def test_few_rows_are_rejected_as_often_as_stated():
    """By chi-squared, 0.115 of 4000 such data sets were rejected at the level 0.10."""
    rng = np.random.default_rng(0)
    rejected = 0
    for seed in range(50):
        probs = rng.dirichlet(np.ones(10), 30)
        p = Predictions(probs, (probs.cumsum(axis=1) > rng.random((30, 1))).argmax(axis=1))
        rejected += CoxTest()(p, rng=seed).pvalue <= 0.1
    assert rejected <= 5 + 3 * np.sqrt(50 * 0.1 * 0.9)


def test_the_errors_of_weighted_rows_are_those_of_the_docstring():
    p = weighted_by_confidence()
    details = CoxTest()(p).details
    h, j = (information(p, details["intercept"] + details["slope"] * logit(p.positive), power) for power in (1, 2))
    errors = np.sqrt(np.diag(np.linalg.inv(h) @ j @ np.linalg.inv(h)))
    assert [details["intercept_se"], details["slope_se"]] == pytest.approx(errors, rel=1e-9)
    h, j = (information(p, details["calibration_in_the_large"] + logit(p.positive), power)[0, 0] for power in (1, 2))
    assert details["calibration_in_the_large_se"] == pytest.approx(np.sqrt(j) / h, rel=1e-9)


@each("scales", [(1.0, 1.0), (0.4, 1.6), (0.01, 3.0)])
@each("statistic", [0.0, 0.5, 6.0, 60.0])
def test_tail_of_a_sum_of_two_scaled_squares(scales, statistic):
    """Condition on the second variable and integrate over it; each half line apart."""

    def given(z):
        # The density of a normal number, and the tail of chi-squared with one degree of freedom.
        left = max(statistic - scales[1] * z**2, 0.0) / scales[0]
        return 2 * exp(-(z**2) / 2) / sqrt(2 * pi) * erfc(sqrt(left / 2))

    reached = np.sqrt(statistic / scales[1])
    expected = quad(given, 0, reached, epsabs=0, epsrel=1e-11, limit=500)[0] + 2 * norm.sf(reached)
    assert _tail(statistic, np.array(scales)) == pytest.approx(expected, rel=1e-9)


def test_certain_predictions_are_clipped_and_counted():
    p = binary(400)
    probs = np.concatenate([p.positive, [0.0, 1.0, 1.0]])
    result = CoxTest()(Predictions(probs, np.append(p.labels, [0, 1, 1])))
    clipped = CoxTest()(Predictions(probs.clip(EPSILON, 1 - EPSILON), np.append(p.labels, [0, 1, 1])))
    assert (result.details["clipped"], clipped.details["clipped"], result.details["epsilon"]) == (3, 0, EPSILON)
    assert result.estimate == pytest.approx(clipped.estimate, rel=1e-6)


def test_huge_logits_converge():
    """Newton's method starts far from saturation and halves steps that overshoot."""
    rng = np.random.default_rng(0)
    result = CoxTest()(Predictions.from_logits(rng.choice([-900.0, -30.0, 3.0, 900.0], 400), rng.integers(0, 2, 400)))
    assert abs(result.estimate) < 5 * result.details["slope_se"]
    assert result.details["clipped"] > 250


def test_newtons_steps_are_halved_where_they_would_diverge():
    """Plain steps from (0, 0) run away on these rows; at the maximum both sums of residuals are 0."""
    probs = np.repeat(
        [0.001532661642, 0.011748569976, 0.183567816105, 0.998971802818, 0.999440786915], [1, 40, 76, 2203, 151]
    )
    labels = np.repeat([0, 1, 1, 1, 0], [1, 40, 76, 2203, 151])
    details = CoxTest()(Predictions(probs, labels)).details
    residuals = labels - expit(details["intercept"] + details["slope"] * logit(probs))
    assert residuals.sum() == pytest.approx(0, abs=1e-6)
    assert residuals @ logit(probs) == pytest.approx(0, abs=1e-6)


def test_one_outcome_is_refused():
    with pytest.raises(InputError, match="both outcomes must occur, but all 2 rows have outcome 1"):
        CoxTest()(Predictions([0.2, 0.7], [1, 1]))


def test_constant_predictions_are_refused():
    with pytest.raises(InputError, match="predictions must differ for a slope"):
        CoxTest()(Predictions([0.3] * 6, [0, 1] * 3))


@pytest.mark.parametrize(
    "probs, labels",
    [([0.2, 0.4, 0.5, 0.8], [0, 0, 1, 1]), ([0.2, 0.4, 0.5, 0.8], [1, 1, 0, 0]), ([0.2, 0.4, 0.4, 0.8], [0, 0, 1, 1])],
    ids=["rising", "falling", "tied at the threshold"],
)
def test_separated_outcomes_are_refused(probs, labels):
    with pytest.raises(InputError, match="must overlap, but a threshold separates them"):
        CoxTest()(Predictions(probs, labels))


def test_a_fit_that_does_not_converge_is_an_error(monkeypatch):
    monkeypatch.setattr("calibrant._core.logistic.MAX_ITERATIONS", 2)
    with pytest.raises(InputError, match=r"must have a maximum, but none was found: .* almost separated"):
        CoxTest()(binary(400, sharpness=0.2))


def test_weights_that_leave_one_row_are_refused():
    """Where the weights of the others are lost beside it, nothing determines a slope."""
    with pytest.raises(InputError, match="must have a maximum, but none was found"):
        CoxTest()(Predictions([0.0, 0.9, 0.3, 0.1], [1, 0, 1, 0], [1e-20, 1e-60, 1.0, 1e-60]))
