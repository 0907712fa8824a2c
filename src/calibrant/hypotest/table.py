"""The table of tests, and a function that runs one of them."""

from calibrant._border.spellings import Spellings, meant
from calibrant._border.types import Rng
from calibrant.exceptions import InputError
from calibrant.hypotest.block import BlockSKCETest
from calibrant.hypotest.calibration_test import CalibrationTest
from calibrant.hypotest.consistency import ConsistencyTest
from calibrant.hypotest.cox import CoxTest
from calibrant.hypotest.cumulative import ECCETest
from calibrant.hypotest.distribution_free import DistributionFreeSKCETest
from calibrant.hypotest.hosmer_lemeshow import HosmerLemeshowTest
from calibrant.hypotest.mean_embedding import CMETest
from calibrant.hypotest.omnibus.omnibus import OmnibusTest
from calibrant.hypotest.skce import AsymptoticSKCETest
from calibrant.hypotest.spiegelhalter import SpiegelhalterTest
from calibrant.predictions.two_arrays import as_data
from calibrant.results import TestResult

TESTS: dict[str, CalibrationTest] = {
    "omnibus": OmnibusTest(),
    "consistency": ConsistencyTest(),
    "skce": AsymptoticSKCETest(),
    "skce-block": BlockSKCETest(blocksize=20),
    "skce-distribution-free": DistributionFreeSKCETest(),
    "cme": CMETest(),
    "spiegelhalter": SpiegelhalterTest(),
    "hosmer-lemeshow": HosmerLemeshowTest(),
    "cox": CoxTest(),
    "ecce": ECCETest(),
    "ecce-range": ECCETest("range"),
}
"""Every test by its name on the command line and in reports."""


def test(
    data: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    test: str | CalibrationTest | None = None,
    positive: object = None,
    rng: Rng = None,
) -> TestResult:
    """Test whether predictions are calibrated, up to chance.

    Parameters
    ----------
    data : array-like of shape (n,), Predictions or Forecasts
        With `y_prob`, the labels.
    y_prob : array-like of shape (n, K) or (n,), optional
        Probabilities, if labels are given: `test(y_true, y_prob)`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given.
    test : name in TESTS or CalibrationTest, optional
        By default "omnibus", the exact test behind the verdict.
    positive : optional
        The label whose probability `y_prob` is, if that is one column; by default the second of the sorted labels.
    rng : Generator, int or None

    Returns
    -------
    TestResult

    Examples
    --------
    >>> from calibrant import test
    >>> test([0, 1] * 20, [0.9] * 40, rng=0).pvalue
    0.001
    """
    known = as_data(data, y_prob, sample_weight, positive)
    return _chosen("omnibus" if test is None else test)(known, rng=rng)


test.__test__ = False  # type: ignore[attr-defined]  # pytest would take it for a test wherever it is imported.


def _chosen(test: str | CalibrationTest) -> CalibrationTest:
    """Return a test, given itself or its name."""
    if isinstance(test, CalibrationTest):
        return test
    if not isinstance(test, str):
        raise TypeError(f"test must be a name in TESTS or a test such as CoxTest(), but is {test!r:.60}.")
    name = Spellings().find(test, TESTS)
    if name not in TESTS:
        raise InputError(f"test must be a name in TESTS, but is {test!r}. {meant(name, TESTS)}")
    return TESTS[name]
