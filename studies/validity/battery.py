"""The tests under examination, and what each of them promises."""

from dataclasses import dataclass
from typing import Literal

from calibrant.hypotest import (
    AsymptoticSKCETest,
    BlockSKCETest,
    CalibrationTest,
    CMETest,
    ConsistencyTest,
    DistributionFreeSKCETest,
    OmnibusTest,
)
from calibrant.hypotest.cox import CoxTest
from calibrant.hypotest.cumulative import ECCETest
from calibrant.hypotest.hosmer_lemeshow import HosmerLemeshowTest
from calibrant.hypotest.spiegelhalter import SpiegelhalterTest
from calibrant.metrics import SKCE
from studies.validity.cells import Cell

N_RESAMPLES = 199
"""Redraws and bootstrap replicates: 0.01, 0.05 and 0.10 are multiples of 1 / (199 + 1)."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A test and its promise.

    Attributes
    ----------
    test : CalibrationTest
    promise : {"exact", "bound", "asymptotic"}
        "exact": the level holds at every number of rows, and is reached up to ties; "bound": it holds, and is seldom
        reached; "asymptotic": it is reached in the limit of many rows.
    cost : float
        Milliseconds on 1000 rows of two classes, roughly, to run cheap work first.
    forecasts : bool
        Whether it tests predictive distributions too.
    special : bool
        Whether it is run outside the full grid too; costly variants of another test are not.
    large : bool
        Whether it is run on many rows too; what takes pairs of rows is not.
    """

    test: CalibrationTest
    promise: Literal["exact", "bound", "asymptotic"]
    cost: float
    forecasts: bool = True
    special: bool = True
    large: bool = False

    def takes(self, cell: Cell) -> bool:
        """Whether the test is for data of this kind."""
        if cell.is_large:
            return self.large
        return (self.forecasts or cell.n_classes > 0) and (self.special or not cell.is_special)


BATTERY: dict[str, Entry] = {
    "omnibus": Entry(OmnibusTest(N_RESAMPLES), "exact", 12, forecasts=False, large=True),
    "consistency-ece": Entry(ConsistencyTest(n_resamples=N_RESAMPLES), "exact", 3, forecasts=False, large=True),
    "consistency-top-label": Entry(
        ConsistencyTest(n_resamples=N_RESAMPLES, null="top-label"), "exact", 3, forecasts=False, large=True
    ),
    "consistency-skce": Entry(ConsistencyTest(SKCE(), N_RESAMPLES), "exact", 60),
    "consistency-skce-biased": Entry(ConsistencyTest(SKCE(unbiased=False), N_RESAMPLES), "exact", 60),
    "distribution-free": Entry(DistributionFreeSKCETest(), "bound", 20, special=False),
    "distribution-free-biased": Entry(DistributionFreeSKCETest(SKCE(unbiased=False)), "bound", 20, special=False),
    "skce-bootstrap": Entry(AsymptoticSKCETest(n_resamples=N_RESAMPLES), "asymptotic", 45),
    "skce-spectral": Entry(
        AsymptoticSKCETest(n_resamples=N_RESAMPLES, method="spectral"), "asymptotic", 200, special=False
    ),
    "skce-block-2": Entry(BlockSKCETest(blocksize=2), "asymptotic", 5),
    "skce-block-20": Entry(BlockSKCETest(blocksize=20), "asymptotic", 9),
    "cme": Entry(CMETest(), "asymptotic", 30),
    "spiegelhalter": Entry(SpiegelhalterTest(), "asymptotic", 0.1, forecasts=False, large=True),
    "hosmer-lemeshow": Entry(HosmerLemeshowTest(), "asymptotic", 0.5, forecasts=False, large=True),
    "cox": Entry(CoxTest(), "asymptotic", 1, forecasts=False, large=True),
    "ecce": Entry(ECCETest(), "asymptotic", 0.2, forecasts=False, large=True),
    "ecce-range": Entry(ECCETest("range"), "asymptotic", 0.3, forecasts=False, large=True),
}
"""Every test by its name in the tables. The last five reduce more than two classes to confidence and correctness."""


def estimated_seconds(name: str, cell: Cell) -> float:
    """Return about how long the test takes on all data sets of a cell; only the order matters."""
    entry = BATTERY[name]
    redraws = isinstance(entry.test, ConsistencyTest)
    if redraws and cell.n_classes == 0:  # The kernel of the targets is evaluated anew for every redraw.
        return cell.sets * (1 + 0.3 * cell.n) / 1000
    share = (cell.n / 1000) ** 1.25  # Measured: in small sets the overhead hides the square.
    classes = max(1.0, cell.n_classes / 3) if redraws else 1.0
    return cell.sets * (0.2 + entry.cost * share * classes) / 1000
