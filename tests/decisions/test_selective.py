"""Selective prediction: risk-coverage curves, their areas, and coverage with a guarantee."""

import warnings
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, chi2, poisson

from calibrant import DataWarning, InputError, Predictions, compare, interval, read_predictions
from calibrant.decisions import binomial_upper, coverage_at_risk, risk_coverage
from calibrant.intervals.sandwich import conditional_ratio
from calibrant.metrics import AUGRC, AURC, ExcessAURC
from calibrant.roc import auc
from naming import each
from properties import examples

CONFIDENCE = [0.99, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.55, 0.52, 0.5]
ERRORS = np.array([0, 0, 1, 0, 0, 1, 0, 1, 1, 0])


def answered(confidence, errors, weights=None):
    """Return confidences in answers, of which some are wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # Small examples look suspicious.
        return Predictions(confidence, 1 - np.asarray(errors, dtype=int), weights, classes=("wrong", "right"))


def mean_risk(errors):
    """Return the mean error rate of the first k answers, in this order."""
    return sum(sum(errors[:k]) / k for k in range(1, len(errors) + 1)) / len(errors)


def orders(confidence, errors):
    """Yield the errors in every order that the confidences allow."""
    groups = [
        [e for c, e in zip(confidence, errors, strict=True) if c == value]
        for value in sorted(set(confidence), reverse=True)
    ]
    for parts in product(*(set(permutations(group)) for group in groups)):  # Each stands for equally many.
        yield [e for part in parts for e in part]


class TestAreas:
    def test_reference_values(self):
        p = answered(CONFIDENCE, ERRORS)
        assert AURC()(p) == pytest.approx(0.262182540, abs=1e-9)  # MAPIE 1.6: 1 - 0.737817460
        assert ExcessAURC()(p) == pytest.approx(0.149563492, abs=1e-9)
        assert AUGRC()(p) == pytest.approx(0.16, abs=1e-12)

    def test_ties_count_by_expectation(self):
        confidence, errors = [0.9] * 3 + [0.7] * 2 + [0.5], [1, 0, 0, 0, 1, 1]
        assert AURC()(answered(confidence, errors)) == pytest.approx(0.379166667, abs=1e-9)
        every = [mean_risk(order) for order in orders(confidence, errors)]
        assert AURC()(answered(confidence, errors)) == pytest.approx(np.mean(every), abs=1e-12)
        assert max(every) - min(every) > 0.25

    @given(st.lists(st.tuples(st.sampled_from([0.5, 0.6, 0.8]), st.integers(0, 1)), min_size=1, max_size=7))
    @examples(30)
    def test_they_are_the_means_over_all_orders_of_ties(self, rows):
        confidence, errors = zip(*rows, strict=True)
        p = answered(confidence, errors)
        every = [*orders(confidence, errors)]
        best = mean_risk(sorted(errors))
        assert AURC()(p) == pytest.approx(np.mean([mean_risk(order) for order in every]), abs=1e-12)
        assert ExcessAURC()(p) == pytest.approx(AURC()(p) - best, abs=1e-12)
        areas = [np.trapezoid([0, *np.cumsum(order)], dx=1) / len(order) ** 2 for order in every]
        assert AUGRC()(p) == pytest.approx(np.mean(areas), abs=1e-12)

    def test_augrc_is_accuracy_and_ranking(self):
        rng = np.random.default_rng(0)
        confidence = rng.random(200).round(1)
        errors = rng.random(200) < 0.4 * (1 - confidence)
        right, a = 1 - errors.mean(), auc(confidence, ~errors)
        expected = (1 - a) * right * (1 - right) + (1 - right) ** 2 / 2
        assert AUGRC()(answered(confidence, errors)) == pytest.approx(expected, abs=1e-12)

    def test_the_best_order_has_no_excess_at_any_weights(self):
        rng = np.random.default_rng(0)
        errors, weights = rng.random(50) < 0.3, rng.uniform(0.1, 5, 50)
        ranked = np.where(errors, 0.2, 0.8) + 0.1 * rng.random(50)
        assert ExcessAURC()(answered(ranked, errors, weights)) == pytest.approx(0, abs=1e-12)
        for _ in range(20):
            assert ExcessAURC()(answered(rng.random(50), errors, weights)) > 0

    def test_weights_are_those_of_the_definition(self):
        rng = np.random.default_rng(1)
        confidence, errors, w = rng.random(30), rng.integers(0, 2, 30), rng.uniform(0.1, 3, 30)
        order = np.argsort(-confidence)
        mass, wrong = np.cumsum(w[order]), np.cumsum((w * errors)[order])
        expected = np.sum(w[order] * wrong / mass) / mass[-1]
        assert AURC()(answered(confidence, errors, w)) == pytest.approx(expected, abs=1e-12)

    def test_classes_are_judged_by_the_most_probable(self):
        p = Predictions([0.2, 0.9, 0.6], [0, 0, 1])
        assert AURC()(p) == AURC()(p.top_label()) == AURC()(answered([0.8, 0.9, 0.6], [0, 1, 0]))


class TestLimits:
    METRICS = (AURC(), ExcessAURC(), AUGRC())

    @each("metric", METRICS)
    @each("digits", [1, 9])
    def test_influences_are_derivatives_by_the_weights(self, metric, digits):
        rng = np.random.default_rng(0)
        weights = rng.choice([0.0, 0.5, 1.0, 2.0], 40)
        p = answered(rng.random(40).round(digits), rng.random(40) < 0.3, weights)
        evaluate, found = metric.prepare(p), metric.influence(p)
        for i in range(40):
            step = np.zeros(40)
            step[i] = 1e-5 * weights[i]
            up, down = evaluate(np.stack([weights + step, weights - step], axis=1))
            assert found[i] == pytest.approx((up - down) / 2e-5, abs=1e-9)

    def test_the_variance_is_about_that_of_the_jackknife(self):
        """By leaving out one row after another, the slow way."""
        rng = np.random.default_rng(1)
        c = rng.random(300)
        errors = (rng.random(300) < 0.4 * (1 - c)).astype(int)
        left = np.array([AURC()(answered(np.delete(c, i), np.delete(errors, i))) for i in range(300)])
        jackknife = 299 / 300 * np.sum((left - left.mean()) ** 2)
        assert np.sum(AURC().influence(answered(c, errors)) ** 2) == pytest.approx(jackknife, rel=0.03)

    def test_limits_cover(self):
        """Uniform confidences, wrong with probability 0.4 (1 - c)^2: AURC is 0.4 / 9, AUGRC 0.4 / 12."""
        runs, hits = 80, np.zeros(2)
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            c = rng.random(300)
            p = answered(c, rng.random(300) < 0.4 * (1 - c) ** 2)
            for k, (metric, true) in enumerate([(AURC(), 0.4 / 9), (AUGRC(), 0.4 / 12)]):
                found = interval(p, metric)
                hits[k] += found.low <= true <= found.high
        assert np.all(np.abs(hits / runs - 0.95) < 3.5 * np.sqrt(0.05 * 0.95 / runs))

    def test_a_difference_of_models_is_paired(self):
        rng = np.random.default_rng(2)
        c = rng.random(1000)
        errors = rng.random(1000) < 0.4 * (1 - c) ** 2
        models = {"a": answered(c, errors), "b": answered(np.clip(c + 0.01 * rng.random(1000), 0, 1), errors)}
        change = compare(models, metrics=["aurc"], rng=0).entry("b", "aurc").difference
        alone = interval(models["a"], "aurc")
        assert change.method == "sandwich"
        assert change.high - change.low < 0.3 * (alone.high - alone.low)

    def test_a_difference_needs_fifty_wrong_answers(self):
        """With thirty, 89 % of limits of 95 % contained the true difference."""
        rng = np.random.default_rng(4)
        errors = np.arange(400) < 40
        models = {name: answered(rng.random(400), errors) for name in "ab"}
        change = compare(models, metrics=["aurc"], rng=0).entry("b", "aurc").difference
        assert change.low is None
        assert "50 wrong answers" in change.reason

    def test_few_errors_have_a_reason_instead(self):
        curve = risk_coverage(answered(np.linspace(0.9, 1, 200), [1] * 3 + [0] * 197))
        assert curve.areas["AURC"].low is None
        assert "wrong and right answers" in curve.areas["AURC"].reason

    def test_limits_that_chance_alone_gives_cover(self):
        """Uniform confidences, six wrong answers on average: limits are given from ten on, where usual ones miss."""
        given = hits = 0
        for seed in range(1500):
            rng = np.random.default_rng([seed, 1])
            c = rng.random(300)
            errors = rng.random(300) < 0.06 * (1 - c) ** 2
            if errors.sum() < 10:
                continue
            found = interval(answered(c, errors), AURC())
            given, hits = given + 1, hits + (found.low <= 0.06 / 9 <= found.high)
        assert given > 50
        assert hits / given > 0.95 - 3 * np.sqrt(0.05 * 0.95 / given)

    @each("count, least", [*((count, 10) for count in (11, 12, 15, 20, 40)), (60, 50), (90, 50)])
    def test_the_lower_limit_is_that_of_a_truncated_law(self, count, least):
        usual = chi2.ppf(0.025, 2 * count) / 2  # Garwood's limit of a Poisson mean.
        mean = conditional_ratio(count, least, 0.025) * usual
        assert poisson.sf(count - 1, mean) / poisson.sf(least - 1, mean) == pytest.approx(0.025, rel=1e-6)

    @each("count, least, rows", [(12, 10, 20), (30, 25, 100), (70.5, 60.25, 300), (55, 50, 1e6)])
    def test_counts_of_a_known_number_of_rows_are_binomial(self, count, least, rows):
        usual = beta.ppf(0.025, count, rows - count + 1)  # Clopper and Pearson's limit of a share.
        share = conditional_ratio(count, least, 0.025, rows) * usual
        both = (beta.cdf(share, k, rows - k + 1) for k in (count, least))
        assert next(both) / next(both) == pytest.approx(0.025, rel=1e-6)

    def test_ends_of_the_truncated_law(self):
        assert conditional_ratio(10, 10, 0.025) == 0  # Any mean gives at least ten, given that there are ten.
        assert conditional_ratio(250, 250, 0.025, rows=300) == 0
        assert conditional_ratio(300, 250, 0.025, rows=300) == pytest.approx(1, abs=1e-6)
        assert conditional_ratio(4, 10, 0.025) == 1  # Limits that were asked for by name.
        assert conditional_ratio(200, 10, 0.025) == pytest.approx(1, abs=1e-9)

    def test_wrong_answers_of_little_confidence_count(self):
        """All answers have confidences below one half: the wrong ones are no rows that are predicted wrongly."""
        rng = np.random.default_rng(5)
        p = answered(rng.uniform(0.1, 0.4, 200), rng.random(200) < 0.7)
        assert interval(p, AURC()).method == "sandwich"

    def test_the_curve_holds_them(self):
        rng = np.random.default_rng(3)
        p = answered(rng.random(500), rng.random(500) < 0.3)
        narrow, wide = risk_coverage(p, level=0.5).areas["AURC"], risk_coverage(p).areas["AURC"]
        assert wide.low < narrow.low < narrow.value == AURC()(p) < narrow.high < wide.high


class TestCurve:
    def test_points_are_those_of_a_loop(self):
        rng = np.random.default_rng(0)
        confidence = rng.random(300).round(2)
        errors = (rng.random(300) < 0.3).astype(int)
        curve = risk_coverage(answered(confidence, errors))
        assert curve.n_distinct == len(np.unique(confidence)) == len(curve.thresholds)
        for t, coverage, risk in zip(curve.thresholds, curve.coverage, curve.risk, strict=True):
            chosen = confidence >= t
            assert (coverage, risk) == pytest.approx((chosen.mean(), errors[chosen].mean()), abs=1e-12)
        assert curve.aurc == AURC()(answered(confidence, errors))

    def test_rows_without_weight_are_absent(self):
        full = risk_coverage(answered(CONFIDENCE, ERRORS))
        more = risk_coverage(answered([*CONFIDENCE, 0.97], [*ERRORS, 1], [3.0] * 10 + [0.0]))
        assert more.risk == pytest.approx(full.risk, abs=1e-12)
        assert more.n_samples == 10


class TestGuarantee:
    def test_exact_upper_limits(self):
        assert binomial_upper(0, 100, 0.05) == pytest.approx(0.029513050, abs=1e-9)
        assert binomial_upper(5, 100, 0.05) == pytest.approx(0.102253378, abs=1e-9)
        assert binomial_upper(10, 1000, 0.001) == pytest.approx(0.023963813, abs=1e-9)
        assert binomial_upper(39, 1100, 0.05) == pytest.approx(0.046056307, abs=1e-9)
        assert binomial_upper(7, 7, 0.05) == 1.0

    def test_the_limit_is_where_so_few_errors_have_probability_delta(self):
        from scipy.special import bdtr

        for k, n in ((0, 10), (3, 50), (20, 21)):
            assert bdtr(k, n, binomial_upper(k, n, 0.1)) == pytest.approx(0.1, abs=1e-12)

    def test_a_reference_sequence(self):
        rng = np.random.default_rng(5)
        c = rng.uniform(size=2000)
        errors = rng.uniform(size=2000) < 0.4 * (1 - c) ** 2
        assert errors.sum() == 296
        found = coverage_at_risk(answered(c, errors), max_risk=0.05, coverages=np.arange(2, 21) / 20)
        assert (found.coverage, found.count, found.errors) == (0.55, 1100, 39)
        assert found.threshold == np.sort(c)[-1100]
        assert found.high <= 0.05 < found.steps[-1].high
        strict = coverage_at_risk(answered(c, errors), max_risk=0.02, coverages=np.arange(2, 21) / 20)
        assert strict.threshold is None  # The first test, of 200 rows, fails.
        assert coverage_at_risk(answered(c, errors), max_risk=0.02).coverage == 0.4  # It begins with 500 rows.

    def test_ties_go_together(self):
        """Language models say 0.9 and 0.7, and little else."""
        confidence = [0.95] * 100 + [0.9] * 300 + [0.7] * 100
        errors = [0] * 99 + [1] + [0] * 297 + [1] * 3 + [1] * 60 + [0] * 40
        found = coverage_at_risk(answered(confidence, errors), max_risk=0.05)
        assert (found.threshold, found.coverage, found.errors, found.n_distinct) == (0.9, 0.8, 4, 3)
        assert [step.threshold for step in found.steps] == [0.9, 0.7]

    def test_the_row_that_sets_the_threshold_is_left_out(self):
        c = np.linspace(1, 0.01, 100)
        errors = np.zeros(100)
        errors[99] = 1
        (step,) = coverage_at_risk(answered(c, errors), max_risk=0.1, coverages=[1.0]).steps
        assert step.high == pytest.approx(binomial_upper(0, 99, 0.05))
        errors[[99, 98]] = 0, 1
        (step,) = coverage_at_risk(answered(c, errors), max_risk=0.1, coverages=[1.0]).steps
        assert step.high == pytest.approx(binomial_upper(1, 99, 0.05))

    def test_too_few_rows_have_a_reason(self):
        found = coverage_at_risk(answered([0.9] * 20, [0] * 20), max_risk=0.05)
        assert found.threshold is None
        assert found.reason == "60 rows without any error would be needed at least, but there are 20 in all"
        wrong = coverage_at_risk(answered([0.9] * 200, [1] * 50 + [0] * 150), max_risk=0.05)
        high = beta.ppf(0.95, 50 + 1, 199 - 50)  # The row that sets the threshold is a right one, and not counted.
        assert wrong.reason == (
            f"of all 200 rows 50 are wrong, so that the error rate may be as high as {100 * high:.1f}%, not 5% "
            "(exact, by Clopper and Pearson, from 199 rows: the row that sets the threshold is not counted)"
        )
        some = coverage_at_risk(
            answered([0.9] * 100 + [0.6] * 100, [1] * 30 + [0] * 170), max_risk=0.02, coverages=[0.5]
        )
        assert some.reason.startswith("of the 100 most confident rows 30 are wrong")
        one = coverage_at_risk(answered([0.9] * 60, [1] + [0] * 59), max_risk=0.05)
        assert one.reason.startswith("of all 60 rows 1 is wrong")

    def test_the_promise_is_kept(self):
        """In at most delta of all runs is the true error rate above the wanted one; the naive choice breaks half."""
        rng, runs, delta = np.random.default_rng(0), 200, 0.1
        broken = naive = 0
        coverage = []
        for _ in range(runs):
            c = np.sort(rng.uniform(size=1000))[::-1]
            errors = rng.uniform(size=1000) < 0.4 * (1 - c) ** 2
            found = coverage_at_risk(answered(c, errors), max_risk=0.05, confidence=1 - delta)
            coverage.append(found.coverage)
            broken += found.threshold is not None and true_risk(found.threshold) > 0.05
            observed = np.cumsum(errors) / np.arange(1, 1001)
            naive += true_risk(c[np.flatnonzero(observed <= 0.05)[-1]]) > 0.05
        assert broken / runs <= delta + 2 * np.sqrt(delta * (1 - delta) / runs)
        assert naive / runs > 0.45
        assert np.mean(coverage) > 0.45  # The largest that is possible is 0.612.

    def test_the_promise_is_kept_with_few_distinct_confidences(self):
        rng, runs, delta = np.random.default_rng(1), 200, 0.1
        values, shares = np.array([0.99, 0.95, 0.9, 0.8, 0.6]), np.array([0.2, 0.3, 0.25, 0.15, 0.1])
        error = np.array([0.02, 0.04, 0.08, 0.2, 0.4])
        true = np.cumsum(shares * error) / np.cumsum(shares)
        broken = 0
        for _ in range(runs):
            which = rng.choice(5, 400, p=shares)
            p = answered(values[which], rng.random(400) < error[which])
            found = coverage_at_risk(p, max_risk=0.045, confidence=1 - delta)
            broken += found.threshold is not None and true[values == found.threshold][0] > 0.045
        assert broken / runs <= delta + 2 * np.sqrt(delta * (1 - delta) / runs)

    def test_the_surest_of_few_confidences_can_be_promised(self):
        """All of 130 answers with confidence 1 are right, of 338 with 0.95 a ninth are wrong: the first are safe."""
        confidence = np.repeat([1.0, 0.95, 0.6], [130, 338, 1000])
        wrong = np.concatenate([np.zeros(130), np.arange(338) % 9 == 0, np.arange(1000) % 3 == 0])
        found = coverage_at_risk(1 - wrong, confidence, max_risk=0.1)
        assert (found.threshold, found.count, found.errors) == (1.0, 130, 0)
        assert [step.count for step in found.steps] == [130, 468]

    def test_what_has_no_exact_law_is_refused(self):
        with pytest.raises(InputError, match="equal weight"):
            coverage_at_risk(answered([0.9, 0.8], [0, 0], [1, 2]), max_risk=0.1)
        assert coverage_at_risk(answered([0.9, 0.8], [0, 0], [2, 2]), max_risk=0.1).n_samples == 2
        for bad in (0, 1, -1, float("nan")):
            with pytest.raises(InputError, match="max_risk must be"):
                coverage_at_risk(answered([0.9, 0.8], [0, 0]), max_risk=bad)
        with pytest.raises(InputError, match="coverages must be shares"):
            coverage_at_risk(answered([0.9, 0.8], [0, 0]), max_risk=0.1, coverages=[0.0, 1])


def true_risk(threshold):
    """Return the error rate of uniform confidences c >= t with errors of probability 0.4 (1 - c)^2."""
    return 0.4 * (1 - threshold) ** 2 / 3


def test_answers_of_a_language_model_from_a_file(tmp_path):
    file = tmp_path / "answers.jsonl"
    lines = [f'{{"confidence": {c}, "correct": {str(not e).lower()}}}' for c, e in zip(CONFIDENCE, ERRORS, strict=True)]
    file.write_text("\n".join(lines))
    p = read_predictions(file)
    assert AURC()(p) == pytest.approx(0.262182540, abs=1e-9)
    assert risk_coverage(p).thresholds.tolist() == CONFIDENCE
