"""Tests of calibration with kernel calibration errors."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from calibrant import InputError, Predictions
from calibrant.forecasts import Forecasts, Normal
from calibrant.hypotest import AsymptoticSKCETest, BlockSKCETest, CMETest, ConsistencyTest, DistributionFreeSKCETest
from calibrant.hypotest import skce as skce_module
from calibrant.hypotest.skce import _bootstrap
from calibrant.kernels import Euclidean, ExponentialKernel, GaussianKernel, TotalVariation, Wasserstein, WhiteKernel
from calibrant.kernels.discrepancy import pair_matrix
from calibrant.metrics import SKCE, UCME
from naming import each
from oracles.kernels import total_variation
from simulate import calibrated, sharpened

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Labels of one class are the point here.

TV = ExponentialKernel(TotalVariation(), 1.0) @ WhiteKernel()
NORM3 = ExponentialKernel(Euclidean(), 1 / 3) @ WhiteKernel()


def h_matrix(p):
    kernel = [[math.exp(-total_variation(a, b)) for b in p.probs] for a in p.probs]
    return np.array(kernel) * (p.residuals @ p.residuals.T)


def first_form(H, rows):
    """T of the definition: h of the drawn rows, centred by means over the data, summed over pairs i < j."""
    n = len(H)
    total = 0.0
    for i, j in itertools.combinations(range(n), 2):
        a, b = rows[i], rows[j]
        total += H[a, b] - H[a].mean() - H[b].mean() + H.mean()
    return 2 / n * total


def second_form(H, rows):
    """T' of the definition, as it is written."""
    n = len(H)
    pairs = sum(H[rows[i], rows[j]] for i, j in itertools.combinations(range(n), 2))
    return 2 / (n * (n - 1)) * pairs - 2 / n**2 * sum(H[a, r] for a in rows for r in range(n))


def draws_of(n, n_resamples, seed):
    return list(np.random.default_rng(seed).integers(0, n, size=(n_resamples, n)))


def test_replicates_equal_the_definition(monkeypatch):
    monkeypatch.setattr(skce_module, "LEAST_EVENTS", 0.0)
    p = calibrated(n=12, seed=1)
    null = AsymptoticSKCETest(TV, n_resamples=20)(p, rng=7).null
    expected = [second_form(h_matrix(p), rows) for rows in draws_of(12, 20, 7)]
    assert null == pytest.approx(expected, rel=1e-10, abs=1e-14)


def test_both_forms_of_the_definition_count_the_same_replicates(monkeypatch):
    """T > n U exactly if T' > n/(n-1) U - V: the two differ by an increasing map that depends on the data alone."""
    monkeypatch.setattr(skce_module, "LEAST_EVENTS", 0.0)
    p = calibrated(n=12, seed=2)
    H = h_matrix(p)
    n, U, V = 12, SKCE(TV)(p), SKCE(TV, unbiased=False)(p)
    rows = draws_of(n, 200, 0)
    T, T_prime = (np.array([form(H, r) for r in rows]) for form in (first_form, second_form))
    assert T_prime == pytest.approx(T / (n - 1) - H.mean(), rel=1e-9, abs=1e-14)
    statistic = AsymptoticSKCETest(TV, n_resamples=9)(p, rng=0).statistic
    assert statistic == pytest.approx(n / (n - 1) * U - V)
    assert np.array_equal(n * U < T, statistic < T_prime)


def test_published_statistic_and_pvalue():
    rng = np.random.default_rng(1234)
    p = Predictions(rng.dirichlet((3, 2, 5), 100), rng.integers(1, 4, 100) - 1)
    result = AsymptoticSKCETest(TV, n_resamples=19_999)(p, rng=0)
    assert result.estimate == pytest.approx(0.02129650889373521, rel=1e-12)
    assert result.statistic == pytest.approx(-0.006426550757474104, rel=1e-11)
    assert result.pvalue == pytest.approx(0.0066, abs=4 * math.sqrt(0.0066 / 20_000) + 5e-5)


@pytest.fixture(scope="module")
def published():
    """The seeded data of the published Python test suite: calibrated labels, and always the second class."""
    rng = np.random.default_rng(1234)
    probs = rng.dirichlet((1, 1), 500)
    consistent = 1 - (rng.random(500) < probs[:, 0]).astype(int)
    places, targets = rng.dirichlet((1, 1), 5), rng.integers(1, 3, 5) - 1
    return Predictions(probs, consistent), Predictions(probs, np.ones(500, int)), places, targets


def test_published_asymptotic_test(published):
    good, bad, *_ = published
    result = AsymptoticSKCETest(NORM3, n_resamples=4999)(good, rng=0)
    assert result.statistic == pytest.approx(-0.0006669401755004386, rel=1e-10)
    assert result.pvalue == pytest.approx(0.8066, abs=4 * math.sqrt(0.16 / 5000))
    assert AsymptoticSKCETest(NORM3, n_resamples=999)(bad, rng=0).pvalue == 0.001


def test_published_block_test(published):
    good, bad, *_ = published
    result = BlockSKCETest(NORM3, 2)(good)
    assert result.estimate == pytest.approx(-0.01786496888521873, rel=1e-11)
    assert result.details["standard_error"] == pytest.approx(0.010453549063542341, rel=1e-11)
    assert result.statistic == pytest.approx(-1.7089859890287749, rel=1e-11)
    assert stats.norm.sf(result.statistic) == pytest.approx(0.9562732275861167, rel=1e-11)  # As published.
    assert result.pvalue == pytest.approx(stats.t.sf(-1.7089859890287749, 249), rel=1e-11)
    assert result.details["lower_bound"] == 0.0
    result = BlockSKCETest(NORM3, 2)(bad)
    assert stats.norm.sf(result.statistic) == pytest.approx(1.118e-26, rel=1e-3)
    assert result.pvalue == pytest.approx(stats.t.sf(result.statistic, 249), rel=1e-9, abs=0)
    expected = result.estimate - stats.t.ppf(0.95, 249) * result.details["standard_error"]
    assert result.details["lower_bound"] == pytest.approx(expected)


@each("blocksize", [2, 10, 40])
def test_the_block_test_is_the_t_test_of_the_estimates_of_blocks(blocksize):
    p = sharpened(calibrated(n=203, seed=7), 0.9)
    starts = range(0, 203 - blocksize + 1, blocksize)
    estimates = [SKCE(TV)(p.take(range(start, start + blocksize))) for start in starts]
    expected = stats.ttest_1samp(estimates, 0.0, alternative="greater")
    result = BlockSKCETest(TV, blocksize, level=0.9)(p)
    assert result.statistic == pytest.approx(expected.statistic, rel=1e-10)
    assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    assert result.details["lower_bound"] == pytest.approx(max(0.0, expected.confidence_interval(0.9).low), rel=1e-9)
    just_found = result.details["detectable"] / result.details["standard_error"]
    assert stats.t.sf(just_found, len(starts) - 1) == pytest.approx(0.05, rel=1e-9)


def test_published_mean_embedding(published):
    good, bad, places, targets = published
    test = CMETest(UCME(NORM3, places, targets), covariance="sample")
    result = test(good)
    assert result.estimate == pytest.approx(1.7633993805461795e-5, rel=1e-9)
    assert result.details["hotelling"] == pytest.approx(1.098636019228748, rel=1e-8)
    expected = stats.f.sf((500 - 5) / (5 * 499) * 1.098636019228748, 5, 495)
    assert result.pvalue == pytest.approx(expected, rel=1e-8)
    assert test(bad).details["hotelling"] == pytest.approx(8854.364201572589, rel=1e-7)


@pytest.mark.parametrize("data", [calibrated(n=400, seed=3), sharpened(calibrated(n=400, seed=3), 0.8)])
def test_the_spectral_law_agrees_with_the_bootstrap(data):
    bootstrap = AsymptoticSKCETest(TV, n_resamples=4000)(data, rng=0)
    spectral = AsymptoticSKCETest(TV, n_resamples=4000, method="spectral")(data, rng=1)
    assert spectral.statistic == pytest.approx(400 * spectral.estimate)
    # T = (n - 1) (T' + mean of H) has the law that the spectrum approximates.
    H_mean = SKCE(TV, unbiased=False)(data)
    rescaled = 399 * (bootstrap.null + H_mean)
    for level in (0.5, 0.9, 0.95):
        assert np.quantile(spectral.null, level) == pytest.approx(
            np.quantile(rescaled, level), abs=0.12 * spectral.null.std()
        )
    assert spectral.pvalue == pytest.approx(bootstrap.pvalue, abs=0.04)


def test_the_spectrum_of_many_rows_is_that_of_a_sample(monkeypatch):
    data = calibrated(n=600)
    whole = AsymptoticSKCETest(TV, n_resamples=3000, method="spectral")(data, rng=0).null
    monkeypatch.setattr(skce_module, "N_SPECTRAL_ROWS", 300)
    monkeypatch.setattr(skce_module, "N_EIGENVALUES", 20)
    sample = AsymptoticSKCETest(TV, n_resamples=3000, method="spectral")(data, rng=0).null
    assert np.quantile(sample, 0.95) == pytest.approx(np.quantile(whole, 0.95), rel=0.25)
    assert sample.std() == pytest.approx(whole.std(), rel=0.15)


def test_blocks_of_replicates_do_not_matter(monkeypatch):
    p = calibrated(n=80)
    whole = AsymptoticSKCETest(TV, n_resamples=60)(p, rng=3).null
    monkeypatch.setattr(skce_module, "BLOCK_COLUMNS", 7)
    assert AsymptoticSKCETest(TV, n_resamples=60)(p, rng=3).null == pytest.approx(whole, rel=1e-10, abs=1e-15)


def test_distribution_free_bounds_equal_their_formulas():
    p = sharpened(calibrated(n=101, seed=4), 0.2)
    t = SKCE(TV)(p)
    assert DistributionFreeSKCETest(SKCE(TV))(p).pvalue == pytest.approx(math.exp(-50 * t**2 / (2 * 2**2)))
    block = SKCE(TV, blocksize=5)
    pairs = (101 // 5) * (5 // 2)
    assert DistributionFreeSKCETest(block)(p).pvalue == pytest.approx(math.exp(-pairs * block(p) ** 2 / 8))
    biased = SKCE(TV, unbiased=False)
    expected = math.exp(-0.5 * max(0, math.sqrt(101 * biased(p) / 2) - 1) ** 2)
    assert DistributionFreeSKCETest(biased)(p).pvalue == pytest.approx(expected)
    assert DistributionFreeSKCETest(SKCE(TV), bound=1.0)(p).pvalue < DistributionFreeSKCETest(SKCE(TV))(p).pvalue


def test_a_negative_estimate_is_no_evidence():
    p = Predictions(np.tile([[0.9, 0.1], [0.1, 0.9]], (250, 1)), np.tile([1, 0], 250)).take(np.arange(500))
    opposite = SKCE(GaussianKernel(lengthscale=10.0) @ WhiteKernel(), blocksize=2)
    assert opposite(p) < -0.5
    assert DistributionFreeSKCETest(opposite)(p).pvalue == 1.0


def test_consistency_with_skce_computes_the_kernel_once_and_says_the_same(monkeypatch):
    for k, kernel in itertools.product((2, 3), (TV, 2.0 * NORM3 + TV, None)):
        for unbiased in (True, False):
            p = Predictions(calibrated(n=40, k=k).probs, calibrated(n=40, k=k).labels, np.arange(40) % 3 + 0.5)
            metric = SKCE(kernel, unbiased)
            labels = np.random.default_rng(0).integers(0, k, (40, 5))
            slow = [metric(p.with_labels(labels[:, b])) for b in range(5)]
            assert metric.prepare_labels(p)(labels) == pytest.approx(slow, rel=1e-9, abs=1e-14)


def test_consistency_of_forecasts_holds_its_level():
    """80 calibrated sets of 12 normal forecasts: rejections at 0.1 within 3.3 binomial standard errors of 8."""
    test = ConsistencyTest(SKCE(ExponentialKernel(Wasserstein()) @ GaussianKernel(), unbiased=False), n_resamples=19)
    rejected = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        loc, scale = rng.normal(size=12), rng.uniform(0.5, 2, 12)
        f = Forecasts(Normal(loc, scale), rng.normal(loc, scale))
        rejected += test(f, rng=seed).pvalue <= 0.1
    assert abs(rejected - 8) < 3.3 * math.sqrt(80 * 0.1 * 0.9)


@each(
    "test",
    [
        AsymptoticSKCETest(n_resamples=199),
        AsymptoticSKCETest(n_resamples=199, method="spectral"),
        BlockSKCETest(blocksize=10),
        CMETest(),
        CMETest(covariance="sample"),
        ConsistencyTest(SKCE(), 99),
    ],
)
def test_forecasts_are_accepted_and_narrow_ones_rejected(test):
    rng = np.random.default_rng(0)
    loc, scale = rng.normal(size=200), rng.uniform(0.5, 2, 200)
    targets = rng.normal(loc, scale)
    assert test(Forecasts(Normal(loc, scale), targets), rng=0).pvalue > 0.02
    assert test(Forecasts(Normal(loc, scale / 5), targets), rng=0).pvalue < 0.05


def test_top_label_null_sees_only_the_top_label():
    """Rotate the probabilities below the largest: the confidence stays right, the rest becomes wrong."""
    p = calibrated(n=2000, k=4, seed=5)
    order = np.argsort(-p.probs, axis=1)
    rotated = p.probs.copy()
    rows = np.arange(2000)
    for source, target in ((1, 2), (2, 3), (3, 1)):
        rotated[rows, order[:, target]] = p.probs[rows, order[:, source]]
    wrong = Predictions(rotated, p.labels)
    assert ConsistencyTest(n_resamples=199, null="top-label")(wrong, rng=0).pvalue > 0.05
    assert ConsistencyTest(SKCE(), 199)(wrong, rng=0).pvalue == 0.005


def test_smallest_pvalue_and_detectable_error_are_told():
    p = calibrated(n=200, seed=6)
    for test in (AsymptoticSKCETest(TV, 199), AsymptoticSKCETest(TV, 199, "spectral"), ConsistencyTest(SKCE(TV), 199)):
        details = test(p, rng=0).details
        assert details["smallest_pvalue"] == 0.005
        assert 0 < details["detectable"] < 0.05


@each(
    "build, error, words",
    [
        (lambda p: AsymptoticSKCETest(n_resamples=0), InputError, "n_resamples must be a whole number"),
        (lambda p: AsymptoticSKCETest(method="wild"), InputError, 'method must be "bootstrap" or "spectral"'),
        (lambda p: AsymptoticSKCETest(kernel=WhiteKernel()), TypeError, "kernel must be a tensor product"),
        (lambda p: AsymptoticSKCETest()(p.take([0])), InputError, "the test needs at least 2 rows, but there is 1"),
        (lambda p: BlockSKCETest(blocksize=1), InputError, "blocksize must be at least 2"),
        (lambda p: BlockSKCETest(level=1.0), InputError, "level must be a number between 0 and 1"),
        (lambda p: BlockSKCETest(level="high"), InputError, "level must be a number between 0 and 1, but is 'high'"),
        (lambda p: DistributionFreeSKCETest(bound="2"), InputError, "bound must be a positive number, but is '2'"),
        (BlockSKCETest(blocksize=30), InputError, "at least two complete blocks of 30 rows"),
        (lambda p: BlockSKCETest(TV)(p.take([0] * 40)), InputError, "the blocks have no spread"),
        (lambda p: DistributionFreeSKCETest(UCME()), TypeError, "estimator must be an SKCE"),
        (lambda p: DistributionFreeSKCETest(SKCE(features=9)), InputError, "no bound for random features"),
        (
            lambda p: DistributionFreeSKCETest(SKCE(unbiased=False, blocksize=2)),
            InputError,
            "biased estimate in blocks",
        ),
        (DistributionFreeSKCETest(SKCE(lambda a, b: 1.0)), InputError, "bound must be given for a kernel that is a"),
        (lambda p: DistributionFreeSKCETest(bound=0), InputError, "bound must be a positive number, but is 0"),
        (lambda p: CMETest(SKCE()), TypeError, "estimator must be a UCME"),
        (lambda p: CMETest(ridge=-1), InputError, "ridge must be a finite number of at least 0, but is -1"),
        (lambda p: CMETest(ridge="no"), InputError, "ridge must be a finite number of at least 0, but is 'no'"),
        (lambda p: CMETest(covariance="rows"), InputError, 'covariance must be "predictions" or "sample"'),
        (
            lambda p: CMETest(covariance="sample")(p.take([0, 1, 2])),
            InputError,
            "more rows than directions of deviation",
        ),
        (lambda p: CMETest()(p.take([0])), InputError, "the test needs at least 2 rows"),
        (lambda p: CMETest()(Predictions(np.eye(3)[p.labels], p.labels)), InputError, "the predictions are certain"),
        (lambda p: ConsistencyTest(null="half"), InputError, 'null must be "full" or "top-label"'),
    ],
)
def test_bad_settings_are_refused(build, error, words):
    with pytest.raises(error, match=words):
        build(calibrated(n=50))


def test_bootstrap_reports_progress():
    seen = []
    p = calibrated(n=30)
    pairs = pair_matrix(p, TV)
    _bootstrap(pairs, pairs.matmul(np.ones((30, 1)))[:, 0], 40, np.random.default_rng(0), lambda *s: seen.append(s))
    assert seen[-1] == (40, 40)
