"""Random waves for the kernel calibration error of several classes: integer sums, the same on every machine."""

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.results import Estimate
from calibrant.scale.wave_sums import FINE, MOST_WEIGHTED, WaveSums

LENGTHSCALE = 0.5
"""Default lengthscale of the kernel."""

COARSE = 31
"""Binary digits of the probabilities behind the angles."""

MOST_FEATURES = 2**16

_WORDS = 2**18
"""Number of angles that are computed at a time."""

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Waves:
    r"""The random waves of the exponential kernel of the total variation distance, with equality of labels.

    Parameters
    ----------
    n_classes : int
    features : int
        Number D of frequencies.
    lengthscale : float
        Of the kernel :math:`\exp(-d / \ell)`, d from 0 to 1. It cannot be the median distance, which is only known once
        all rows are.

    Notes
    -----
    With the residuals :math:`r_i` and frequencies :math:`\omega_d`, each a vector of K independent Cauchy numbers of
    scale :math:`1 / (2 \ell)`, the sums :math:`S_d = \sum_i r_i e^{\mathrm i \omega_d^\top p_i}` and
    :math:`T = \sum_i |r_i|^2` give the unbiased estimate

    .. math:: \frac{\frac1D \sum_d |S_d|^2 - T}{N (N - 1)}.

    With weights :math:`w_i` these are sums of :math:`w_i r_i e^{\ldots}` and :math:`w_i^2 |r_i|^2`, over
    :math:`(\sum_i w_i)^2 - \sum_i w_i^2`: a pair of rows weighs the product of their weights.

    Everything is made of integers: Cauchy numbers are ratios of two coordinates of a point in a disc, drawn by
    SplitMix64; angles are whole multiples of :math:`2^{-64}` turns, modulo a turn; cosines and sines, from a table, and
    residuals are rounded to :math:`2^{-15}`.

    References
    ----------
    A. Rahimi, B. Recht, "Random features for large-scale kernel machines", NeurIPS 2007; G. L. Steele, D. Lea,
    C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """

    n_classes: int
    features: int
    lengthscale: float = LENGTHSCALE

    def __post_init__(self) -> None:
        check_count(self.features, "features")
        if self.features > MOST_FEATURES:
            raise InputError(f"features must be a whole number of at most {MOST_FEATURES}, but is {self.features}.")
        if self.n_classes == 2:
            raise InputError("features are for more than two classes: SKCE of two comes from cells. Leave them out.")
        if not 1e-3 <= self.lengthscale <= 1e3:
            raise InputError(f"lengthscale must be from 0.001 to 1000, but is {self.lengthscale}.")

    @cached_property
    def frequencies(self) -> Words:
        """Frequencies in units of 2^-33 turns, (K, D), and a last column of odd numbers for the hash."""
        n = self.n_classes * self.features
        turns = cauchy(n).reshape(self.n_classes, self.features) / (4 * np.pi * self.lengthscale)
        whole = np.rint(np.clip(turns, -(2.0**28), 2.0**28) * 2.0**33).astype(np.int64).view(np.uint64)
        odd = words(self.n_classes, start=2**40) | np.uint64(1)
        return np.hstack([whole, odd[:, None]])

    @property
    def fingerprint(self) -> str:
        """Eight bytes, as text, that identify the frequencies."""
        return hashlib.sha256(self.frequencies.astype("<u8").tobytes()).hexdigest()[:16]

    def empty(self) -> WaveSums:
        """Return the sums of no rows."""
        return WaveSums.empty(2 * self.features, self.n_classes)

    def add(self, sums: WaveSums, probs: FloatArray, labels: IntArray, units: IntArray | None = None) -> None:
        """Add rows to sums, in place; with weights, in units of 2^-20, if the sums have them."""
        step = max(1, _WORDS // max(self.features, self.n_classes))
        step = step if units is None else min(step, MOST_WEIGHTED)
        for start in range(0, len(labels), step):
            rows = slice(start, start + step)
            self._add(sums, probs[rows], labels[rows], None if units is None else units[rows])

    def _add(self, sums: WaveSums, probs: FloatArray, labels: IntArray, units: IntArray | None) -> None:
        whole = np.rint(probs.astype(np.float64) * 2.0**COARSE)
        angles = whole.astype(np.uint64) @ self.frequencies
        block = (mixed(angles[:, -1] + labels.astype(np.uint64)) >> np.uint64(60)).astype(np.int64)
        waves = np.hstack(cosines_and_sines(angles[:, :-1]))
        residuals = -np.rint(whole * 2.0 ** (FINE - COARSE))
        residuals[np.arange(len(labels)), labels] += 2.0**FINE
        sums.add(block, waves, residuals, units)


def words(n: int, start: int = 0) -> Words:
    """Return n numbers of 64 bits by SplitMix64, from a place of its sequence on."""
    with np.errstate(over="ignore"):
        return mixed((np.arange(1 + start, 1 + start + n, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15))


def mixed(z: Words) -> Words:
    """Return numbers whose bits all depend on all bits of the given ones."""
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def cauchy(n: int) -> FloatArray:
    """Return n numbers of the standard Cauchy law: the ratio of the coordinates of points in a disc."""
    found, start = np.empty(0), 0
    while len(found) < n:
        x, y = ((words(2 * n + 16, start)[i::2] >> np.uint64(34)).astype(np.int64) - 2**29 for i in (0, 1))
        inside = (x * x + y * y < 2**58) & (y != 0)
        found, start = np.append(found, x[inside] / y[inside]), start + 2 * n + 16
    return found[:n]


def cosines_and_sines(angles: Words) -> tuple[FloatArray, FloatArray]:
    """Return cosines and sines of angles in units of 2^-64 turns, in whole units of 2^-15.

    Angles are rounded to 2^-16 turns, which adds noise of 3e-5 to each and, on average over rows, nothing.
    """
    steps = ((angles + np.uint64(2**47)) >> np.uint64(48)).astype(np.intp)
    table = _cosines()
    return table[steps], table[(steps + 3 * 2**14) & (2**16 - 1)]


@cache
def _cosines() -> FloatArray:
    """Return the cosines of 2^16 angles of a turn, by a polynomial whose operations are rounded one by one."""
    angles = np.arange(2**13 + 1) * (2 * np.pi * 2.0**-16)  # An eighth of a turn.
    square = angles * angles
    cosine, sine = np.ones_like(angles), np.ones_like(angles)
    for divisor in (132.0, 90.0, 56.0, 30.0, 12.0, 2.0):
        cosine = 1.0 - cosine * square / divisor
    for divisor in (156.0, 110.0, 72.0, 42.0, 20.0, 6.0):
        sine = 1.0 - sine * square / divisor
    quarter = np.rint(np.append(cosine, (sine * angles)[-2::-1]) * 2.0**FINE)
    half = np.append(quarter, -quarter[-2::-1])
    return np.append(half, half[-2:0:-1])


def estimate(sums: WaveSums) -> Estimate:
    """Return the unbiased squared kernel calibration error, with the error of the waves, and the mean over blocks."""
    values = _values(*sums.means(slice(None)))
    parts = [sums.means(b) for b in range(len(sums.rows))]
    blocks = np.array([_values(*part).mean() for part in parts if part[2] > 0])
    details = {
        "features": len(values),
        "monte_carlo_error": float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0,
        "block_mean": float(blocks.mean()) if len(blocks) else 0.0,
        "block_error": float(blocks.std(ddof=1) / np.sqrt(len(blocks))) if len(blocks) > 1 else 0.0,
    }
    return Estimate(name="SKCE by random waves", value=float(values.mean()), details=details)


def _values(waves: FloatArray, squares: float, pairs: float) -> FloatArray:
    """Return the estimate of every frequency, (D,)."""
    lengths = (waves**2).sum(axis=1)
    n = len(lengths) // 2
    return np.asarray((lengths[:n] + lengths[n:] - squares) / (pairs or 1.0))
