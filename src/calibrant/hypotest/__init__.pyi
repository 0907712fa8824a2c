from calibrant.hypotest.contract import CalibrationTest as CalibrationTest
from calibrant.hypotest.binary import BinaryTest as BinaryTest
from calibrant.hypotest.block import BlockSKCETest as BlockSKCETest
from calibrant.hypotest.classical import (
    HosmerLemeshowTest as HosmerLemeshowTest,
    SpiegelhalterTest as SpiegelhalterTest,
)
from calibrant.hypotest.consistency import ConsistencyTest as ConsistencyTest
from calibrant.hypotest.cox import CoxTest as CoxTest
from calibrant.hypotest.cumulative import ECCETest as ECCETest
from calibrant.hypotest.distribution_free import DistributionFreeSKCETest as DistributionFreeSKCETest
from calibrant.hypotest.holm import holm as holm
from calibrant.hypotest.mean_embedding import CMETest as CMETest
from calibrant.hypotest.omnibus import OmnibusTest as OmnibusTest
from calibrant.hypotest.skce import AsymptoticSKCETest as AsymptoticSKCETest
from calibrant.hypotest.table import TESTS as TESTS
