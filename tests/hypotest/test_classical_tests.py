"""Spiegelhalter's and Hosmer and Lemeshow's tests, and what all tests in closed form share."""

import json
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, norm
from sklearn.linear_model import LogisticRegression

from binary_cases import binary, published
from calibrant import InputError, Predictions
from calibrant._core.laws import SMALLEST_PVALUE
from calibrant.binning import EqualMass
from calibrant.hypotest.cox import CoxTest
from calibrant.hypotest.cumulative import ECCETest
from calibrant.hypotest.hosmer_lemeshow import HosmerLemeshowTest
from calibrant.hypotest.spiegelhalter import SpiegelhalterTest
from calibrant.metrics import ECE, Brier
from calibrant.results import as_record
from naming import each
from simulate import calibrated, sharpened

ALL = [SpiegelhalterTest(), HosmerLemeshowTest(), CoxTest(), ECCETest("mad"), ECCETest("range")]

N_SETS = 200


def closed_form(result):
    """Return the p-value of the law for large samples, which small data sets replace by redraws."""
    return result.details.get("closed_form", result.pvalue)


@pytest.fixture(scope="module")
def null_pvalues():
    """p-values of the closed forms on calibrated data sets of 1000 rows."""
    sets = [binary(1000, seed) for seed in range(N_SETS)]
    return {repr(test): np.array([test.examine(p, p.weights).pvalue for p in sets]) for test in ALL}


@pytest.fixture(scope="module")
def weighted_sets():
    """Calibrated data sets of 1000 rows of exponential weights."""
    return [binary(1000, seed, weighted=True) for seed in range(200)]


@each("test", ALL)
class TestEveryTest:
    def test_level_is_nearly_exact_at_1000_rows(self, test, null_pvalues):
        """Within the 99.9% binomial range of 0.05, plus 0.005 for the asymptotics; ECCE may be lower by 0.02 more."""
        rejected = np.mean(null_pvalues[repr(test)] <= 0.05)
        chance = norm.isf(0.0005) * np.sqrt(0.05 * 0.95 / N_SETS)
        caution = 0.02 if isinstance(test, ECCETest) else 0.0
        assert 0.05 - chance - 0.005 - caution < rejected < 0.05 + chance + 0.005

    def test_pvalues_are_nearly_uniform_on_calibrated_data(self, test, null_pvalues):
        """Kolmogorov's distance from the diagonal is below its 99.9% bound, plus 0.02 for the asymptotics."""
        ascending = np.sort(null_pvalues[repr(test)])
        grid = np.arange(N_SETS + 1) / N_SETS
        distance = max(np.max(grid[1:] - ascending), np.max(ascending - grid[:-1]))
        assert distance < 1.95 / np.sqrt(N_SETS) + 0.02

    def test_weights_do_not_inflate_the_level(self, test, weighted_sets):
        """Exponential weights: taken as numbers of rows, they would double the variance and reject 17%."""
        rejected = np.mean([test.examine(p, p.weights).pvalue <= 0.05 for p in weighted_sets])
        assert rejected < 0.05 + norm.isf(0.0005) * np.sqrt(0.05 * 0.95 / len(weighted_sets)) + 0.01

    def test_overconfidence_is_found(self, test):
        results = [test(binary(1000, seed, sharpness=3.0), rng=0) for seed in range(20)]
        assert max(closed_form(result) for result in results) < 1e-4
        assert max(result.pvalue for result in results) <= 0.001

    def test_the_order_of_rows_does_not_matter(self, test):
        p = Predictions(np.round(binary(300).positive, 2), binary(300).labels, binary(300, weighted=True).weights)
        shuffled = p.take(np.random.default_rng(1).permutation(300))
        assert test(shuffled).statistic == pytest.approx(test(p).statistic, rel=1e-9)

    def test_the_scale_of_weights_does_not_matter(self, test):
        p = binary(300, weighted=True)
        scaled = Predictions(p.positive, p.labels, p.weights * 1e250)
        assert test(scaled, rng=0).pvalue == pytest.approx(test(p, rng=0).pvalue, rel=1e-9)
        equal = Predictions(p.positive, p.labels, np.full(300, 7.0))
        assert test(equal, rng=0).pvalue == pytest.approx(test(binary(300), rng=0).pvalue, rel=1e-9)

    def test_rows_without_weight_are_absent(self, test):
        p = binary(300)
        more = Predictions(np.append(p.positive, [0.0, 1.0]), np.append(p.labels, [1, 0]), [1.0] * 300 + [0.0] * 2)
        assert test(more, rng=0).pvalue == pytest.approx(test(p, rng=0).pvalue, rel=1e-9)

    def test_many_classes_mean_confidence_against_correctness(self, test):
        p = sharpened(calibrated(n=400, k=4), 0.7)
        assert test(p, rng=0).pvalue == test(p.top_label(), rng=0).pvalue
        assert test(p).details["view"] == "top-label"
        assert test(p.top_label()).details["view"] == "binary"

    def test_the_seed_decides_at_most_and_the_result_can_be_written_out(self, test):
        result = test(binary(100), rng=np.random.default_rng(1), progress=None)
        assert result.pvalue == test(binary(100), rng=1).pvalue
        assert result.name == repr(test)
        json.dumps(as_record(result), allow_nan=False)

    def test_pvalues_stop_at_the_smallest_normal_number(self, test):
        result = test(binary(20_000, shift=6.0), rng=0)
        assert closed_form(result) == SMALLEST_PVALUE > 0
        assert result.pvalue == result.details["smallest_pvalue"]

    def test_decisions_are_refused(self, test):
        with pytest.warns(match="these are decisions"):
            p = Predictions([0.0, 1.0, 1.0, 0.0, 0.4], [0, 1, 0, 0, 1], [1.0, 1.0, 1.0, 1.0, 0.0])
        with pytest.raises(
            InputError, match=r"all 4 are exactly 0 or 1, .* one wrong row refutes them, and 1 is wrong"
        ):
            test(p)

    def test_arrays_are_not_predictions(self, test):
        with pytest.raises(TypeError, match="tests Predictions, but got ndarray"):
            test(np.array([0.1, 0.9]))

    def test_a_calm_setting_of_numpy_is_not_needed(self, test):
        """Tails underflow; that must not raise when the caller asks NumPy to raise."""
        with np.errstate(all="raise"):
            assert 0 < test(binary(20_000, shift=6.0)).pvalue <= 1


class TestSpiegelhalter:
    def test_published_examples(self):
        small = SpiegelhalterTest()(Predictions([0.1, 0.9, 0.21, 0.9, 0.5], [0, 1, 0, 1, 0]))
        assert small.details["z"] == pytest.approx(-0.757, abs=5e-4)  # MAPIE's documentation
        two_sided = SpiegelhalterTest()(Predictions([0.8, 0.3, 0.5, 0.5, 0.7, 0.1], [1, 0, 1, 0, 1, 0]))
        assert two_sided.details["z"] == pytest.approx(-1.030244, abs=5e-7)
        # MAPIE prints the upper tail, 0.8486; the test is two-sided.
        assert closed_form(two_sided) == pytest.approx(2 * (1 - 0.8486), abs=2e-4)

    def test_published_values_of_5000_rows(self):
        result = SpiegelhalterTest()(published())
        assert result.details["z"] == pytest.approx(0.3763269161877356, rel=1e-12)
        assert result.pvalue == pytest.approx(0.7066738713391099, rel=1e-12)
        assert SpiegelhalterTest()(published(2.0)).details["z"] == pytest.approx(29.6255, abs=5e-5)

    def test_the_estimate_is_the_excess_of_the_squared_error(self):
        p = binary(300, sharpness=2.0, weighted=True)
        expected = np.average(p.positive * (1 - p.positive), weights=p.weights)
        assert SpiegelhalterTest()(p).estimate == pytest.approx(Brier()(p) / 2 - expected)

    def test_weights_by_hand(self):
        result = SpiegelhalterTest()(Predictions([0.9, 0.8], [0, 1], [2.0, 1.0]))
        assert result.estimate == pytest.approx((2 * 0.72 - 0.12) / 3)
        assert result.statistic == pytest.approx((2 * 0.72 - 0.12) / np.sqrt(4 * 0.64 * 0.09 + 0.36 * 0.16))

    def test_small_pvalues_keep_their_digits(self):
        result = SpiegelhalterTest()(binary(1000, sharpness=3.0))
        assert result.statistic > 10
        assert np.log(result.pvalue) == pytest.approx(np.log(2) + norm.logsf(result.statistic), rel=1e-12)

    @pytest.mark.parametrize("sharpness, direction", [(2.0, "over-confident"), (0.5, "under-confident")])
    def test_direction(self, sharpness, direction):
        assert SpiegelhalterTest()(binary(1000, sharpness=sharpness)).details["direction"] == direction

    def test_one_row_is_enough(self):
        result = SpiegelhalterTest()(Predictions([0.8], [0]))  # (-0.8)(-0.6) / (0.6 sqrt(0.16)) = 2
        assert result.statistic == pytest.approx(2.0)
        assert closed_form(result) == pytest.approx(0.0455, abs=5e-5)
        assert result.pvalue == pytest.approx(0.2, abs=0.05)  # The exact one: a row of probability 0.8 is wrong.

    def test_predictions_that_do_not_enter_are_refused(self):
        with pytest.raises(InputError, match="must differ from 0, 1/2 and 1, but none does"):
            SpiegelhalterTest()(Predictions([0.5, 0.5, 1.0, 0.0], [0, 1, 1, 0]))


def hosmer_lemeshow_by_definition(probs, labels, n_groups):
    """Split the sorted rows, which have no ties, into equal groups and add up."""
    groups = np.array_split(np.argsort(probs), n_groups)
    means = [(len(g), probs[g].mean(), labels[g].mean()) for g in groups]
    return sum(n * (y - p) ** 2 / (p * (1 - p)) for n, p, y in means)


class TestHosmerLemeshow:
    @each("n_groups", [1, 4, 10])
    def test_definition(self, n_groups):
        p = binary(400, sharpness=1.5)
        result = HosmerLemeshowTest(n_groups)(p)
        assert result.statistic == pytest.approx(hosmer_lemeshow_by_definition(p.positive, p.labels, n_groups))
        assert closed_form(result) == pytest.approx(chi2.sf(result.statistic, n_groups), rel=1e-12)
        assert result.estimate == pytest.approx(ECE(EqualMass(n_groups))(p))

    def test_published_values(self):
        result = HosmerLemeshowTest(fitted=True)(published())
        assert result.statistic == pytest.approx(3.69495, abs=5e-6)
        assert result.pvalue == result.details["pvalue_fitted"] == pytest.approx(chi2.sf(3.69495, 8), abs=1e-6)
        assert result.details["pvalue_new_data"] == pytest.approx(chi2.sf(3.69495, 10), abs=1e-6)
        assert HosmerLemeshowTest()(published(2.0)).statistic == pytest.approx(1857.584, abs=5e-4)

    def test_fitted_predictions_lose_two_degrees_of_freedom(self):
        """On the rows that a logistic regression was fitted to, the statistic has mean g - 2, not g."""
        rng = np.random.default_rng(0)
        statistics = []
        for _ in range(50):
            x = rng.normal(size=(500, 1))
            labels = (rng.random(500) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
            probs = LogisticRegression(C=np.inf, solver="newton-cholesky").fit(x, labels).predict_proba(x)
            statistics.append(HosmerLemeshowTest(fitted=True)(Predictions(probs, labels)).statistic)
        assert np.mean(statistics) == pytest.approx(8, abs=3 * np.sqrt(2 * 8 / 50))

    def test_equal_predictions_share_a_group(self):
        p = Predictions([0.1] * 30 + [0.1 + 1e-14] * 30 + [0.6] * 40, [0] * 54 + [1] * 46)
        result = HosmerLemeshowTest(10)(p)
        assert result.details["groups"] == 2
        assert result.statistic == pytest.approx(60 * 0 + 40 * 0.4**2 / 0.24)
        assert result.details["smallest_expected"] == pytest.approx(6)

    def test_a_certain_group_that_is_right_counts_neither_in_the_sum_nor_in_the_freedom(self):
        rest = Predictions([0.3] * 20 + [0.7] * 20, [0, 1] * 20)
        more = Predictions([0.0] * 20 + [0.3] * 20 + [0.7] * 20, [0] * 20 + [0, 1] * 20)
        with_certain, without = HosmerLemeshowTest()(more), HosmerLemeshowTest()(rest)
        assert with_certain.statistic == pytest.approx(without.statistic)
        assert closed_form(with_certain) == pytest.approx(closed_form(without))
        assert (with_certain.details["groups"], with_certain.details["certain_groups"]) == (2, 1)

    def test_a_certain_group_that_is_wrong_once_refutes_calibration(self):
        p = Predictions([1.0] * 20 + [0.5] * 20, [0] + [1] * 19 + [0, 1] * 10)
        result = HosmerLemeshowTest()(p)
        assert result.statistic == np.inf
        assert result.pvalue == SMALLEST_PVALUE

    def test_weights_by_hand(self):
        p = Predictions([0.5, 0.5, 0.5], [1, 1, 0], [2.0, 1.0, 1.0])  # sum of w (y - p) = 1, of w**2 p (1 - p) = 1.5
        result = HosmerLemeshowTest()(p)
        assert result.statistic == pytest.approx(1 / 1.5)
        assert result.details["smallest_expected"] == pytest.approx(4**2 / 6 / 2)

    def test_the_law_of_few_rows_is_that_of_all_their_labels(self):
        """The p-value of 3996 redraws against the sum over all 128 labels of seven rows, with and without weights."""
        probs, labels = np.linspace(0.02, 0.6, 7), [0, 0, 1, 0, 1, 0, 1]
        every = np.array(list(product([0, 1], repeat=7)))
        chances = np.where(every, probs, 1 - probs).prod(axis=1)
        for weights in (np.ones(7), np.linspace(1, 2, 7)):
            p = Predictions(probs, labels, weights)
            test, shares = HosmerLemeshowTest(3), weights / weights.max()
            statistics = np.array([test.examine(p.with_labels(own), shares).statistic for own in every])
            exact = chances[statistics >= test(p, rng=0).statistic - 1e-9].sum()
            found = np.concatenate([test.null(p, shares, seed, None) for seed in range(4)])
            reached = np.mean(found >= test(p, rng=0).statistic - 1e-9)
            assert reached == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / len(found)))

    def test_weights_that_are_all_the_same_change_nothing(self):
        p = binary(60)
        thrice = Predictions(p.probs, p.labels, np.full(60, 3.0))
        assert HosmerLemeshowTest()(thrice, rng=0).pvalue == HosmerLemeshowTest()(p, rng=0).pvalue

    def test_a_group_between_two_edges_without_a_row(self):
        p = Predictions([0.1] * 4 + [0.7] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
        result = HosmerLemeshowTest(4)(p, rng=0)  # 4 * 0.15**2 / 0.09 and 4 * 0.05**2 / 0.21
        assert result.statistic == pytest.approx(1 + 1 / 21)
        assert result.details["groups"] == 2

    def test_too_few_groups_for_fitted_predictions(self):
        with pytest.raises(InputError, match="n_groups must be at least 3 for fitted predictions, but is 2"):
            HosmerLemeshowTest(2, fitted=True)
        p = Predictions([0.2] * 10 + [0.6] * 10, [0, 1] * 10)
        assert HosmerLemeshowTest()(p).details["pvalue_fitted"] is None
        with pytest.raises(InputError, match="need at least 3 groups, but ties leave 2"):
            HosmerLemeshowTest(fitted=True)(p)

    @each("n_groups", [0, 2.5, "10"])
    def test_bad_settings(self, n_groups):
        with pytest.raises(InputError, match="n_groups must be a whole number"):
            HosmerLemeshowTest(n_groups)
        with pytest.raises(TypeError, match="fitted must be True or False"):
            HosmerLemeshowTest(fitted="yes")


@each("test", [SpiegelhalterTest(), HosmerLemeshowTest(), ECCETest(), ECCETest("range"), CoxTest()])
def test_what_is_said_of_the_law_is_so(test):
    """Labels are redrawn where few events decide, and nowhere else, by those tests that say so."""
    few, many = (test(binary(n), rng=0).details["redraws"] for n in (40, 5000))
    assert many == 0
    assert (few > 0) == ("redrawing the labels" in test.about().caution)


@each("test", [HosmerLemeshowTest(), ECCETest(), ECCETest("range"), CoxTest()])
@each("weighted", [False, True])
@each("decimals", [16, 1])
def test_redrawn_labels_have_the_statistic_of_the_test_itself(test, weighted, decimals):
    """Of single and of tied predictions; the sum of the rows of a tie counts, in whatever order they stand."""
    rng = np.random.default_rng(0)
    drawn = binary(40, weighted=weighted)
    p = Predictions(np.round(np.clip(drawn.positive, 0.1, 0.9), decimals), drawn.labels, drawn.weights)
    labels = np.column_stack([p.labels, *((rng.random(40) < p.positive).astype(int) for _ in range(8))])
    weights = p.weights / p.weights.max()
    alone = [test.examine(p.with_labels(column), weights).statistic for column in labels.T]
    np.testing.assert_allclose(test.redrawn(p, weights)(labels), alone, rtol=1e-8)
