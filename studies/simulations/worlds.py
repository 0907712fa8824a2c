"""Random numbers of simulated data sets."""

import hashlib

import numpy as np

from calibrant._border.types import FloatArray, IntArray


def generators(seed: int, cell: str, index: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Return the random numbers of a data set of a cell, and those of the method that sees it."""
    key = int.from_bytes(hashlib.sha256(cell.encode()).digest()[:4], "little")
    data, method = np.random.SeedSequence(seed, spawn_key=(key, index)).spawn(2)
    return np.random.default_rng(data), np.random.default_rng(method)


def draw(rng: np.random.Generator, probs: FloatArray) -> IntArray:
    """Draw one class from every row."""
    # Not `calibrant.resampling.redraws`: an error there must not cancel against itself here.
    cumulative = np.cumsum(probs, axis=1)
    return (cumulative / cumulative[:, -1:] > rng.random((len(probs), 1))).argmax(axis=1)


def temper(probs: FloatArray, temperature: float) -> FloatArray:
    """Divide the logits of probabilities by the temperature: below 1 makes them more extreme."""
    powers = probs ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)
