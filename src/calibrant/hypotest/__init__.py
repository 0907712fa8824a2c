"""Tests of calibration: frozen settings called on `Predictions` or `Forecasts`."""

from typing import TYPE_CHECKING

from calibrant._border.lazy import attributes
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
        "CalibrationTest": "calibrant.hypotest.base",
        "BinaryTest": "calibrant.hypotest.binary",
        "BlockSKCETest": "calibrant.hypotest.block",
        "HosmerLemeshowTest": "calibrant.hypotest.classical",
        "SpiegelhalterTest": "calibrant.hypotest.classical",
        "ConsistencyTest": "calibrant.hypotest.consistency",
        "CoxTest": "calibrant.hypotest.cox",
        "ECCETest": "calibrant.hypotest.cumulative",
        "DistributionFreeSKCETest": "calibrant.hypotest.distribution_free",
        "CMETest": "calibrant.hypotest.mean_embedding",
        "OmnibusTest": "calibrant.hypotest.omnibus",
        "AsymptoticSKCETest": "calibrant.hypotest.skce",
        "TESTS": "calibrant.hypotest.table",
    },
)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
