"""Tests of calibration: frozen settings called on `Predictions` or `Forecasts`."""

from typing import TYPE_CHECKING

from calibrant._lazy import attributes
from calibrant.hypotest.holm import holm

if TYPE_CHECKING:
    from calibrant.hypotest.base import CalibrationTest
    from calibrant.hypotest.binary import BinaryTest
    from calibrant.hypotest.block import BlockSKCETest
    from calibrant.hypotest.classical import HosmerLemeshowTest, SpiegelhalterTest
    from calibrant.hypotest.consistency import ConsistencyTest
    from calibrant.hypotest.cox import CoxTest
    from calibrant.hypotest.cumulative import ECCETest
    from calibrant.hypotest.distribution_free import DistributionFreeSKCETest
    from calibrant.hypotest.mean_embedding import CMETest
    from calibrant.hypotest.omnibus import OmnibusTest
    from calibrant.hypotest.skce import AsymptoticSKCETest
    from calibrant.hypotest.table import TESTS

__all__ = [
    "TESTS",
    "AsymptoticSKCETest",
    "BinaryTest",
    "BlockSKCETest",
    "CMETest",
    "CalibrationTest",
    "ConsistencyTest",
    "CoxTest",
    "DistributionFreeSKCETest",
    "ECCETest",
    "HosmerLemeshowTest",
    "OmnibusTest",
    "SpiegelhalterTest",
    "holm",
]

__getattr__ = attributes(
    __name__,
    {
        "hypotest.base": "CalibrationTest",
        "hypotest.binary": "BinaryTest",
        "hypotest.block": "BlockSKCETest",
        "hypotest.classical": "HosmerLemeshowTest SpiegelhalterTest",
        "hypotest.consistency": "ConsistencyTest",
        "hypotest.cox": "CoxTest",
        "hypotest.cumulative": "ECCETest",
        "hypotest.distribution_free": "DistributionFreeSKCETest",
        "hypotest.mean_embedding": "CMETest",
        "hypotest.omnibus": "OmnibusTest",
        "hypotest.skce": "AsymptoticSKCETest",
        "hypotest.table": "TESTS",
    },
)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
