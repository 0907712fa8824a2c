"""The table of tests."""

from calibrant.hypotest.block import BlockSKCETest
from calibrant.hypotest.consistency import ConsistencyTest
from calibrant.hypotest.contract import CalibrationTest
from calibrant.hypotest.cox import CoxTest
from calibrant.hypotest.cumulative import ECCETest
from calibrant.hypotest.distribution_free import DistributionFreeSKCETest
from calibrant.hypotest.hosmer_lemeshow import HosmerLemeshowTest
from calibrant.hypotest.mean_embedding import CMETest
from calibrant.hypotest.omnibus import OmnibusTest
from calibrant.hypotest.skce import AsymptoticSKCETest
from calibrant.hypotest.spiegelhalter import SpiegelhalterTest

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
