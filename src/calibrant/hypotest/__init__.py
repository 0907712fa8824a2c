"""Tests of calibration: frozen settings called on `Predictions` or `Forecasts`."""

from calibrant.hypotest.base import CalibrationTest
from calibrant.hypotest.block import BlockSKCETest
from calibrant.hypotest.consistency import ConsistencyTest
from calibrant.hypotest.distribution_free import DistributionFreeSKCETest
from calibrant.hypotest.mean_embedding import CMETest
from calibrant.hypotest.skce import AsymptoticSKCETest

__all__ = [
    "TESTS",
    "AsymptoticSKCETest",
    "BlockSKCETest",
    "CMETest",
    "CalibrationTest",
    "ConsistencyTest",
    "DistributionFreeSKCETest",
]

TESTS: dict[str, CalibrationTest] = {
    "consistency": ConsistencyTest(),
    "skce": AsymptoticSKCETest(),
    "skce-block": BlockSKCETest(blocksize=20),
    "skce-distribution-free": DistributionFreeSKCETest(),
    "cme": CMETest(),
}
"""Every test by its name on the command line and in reports."""
