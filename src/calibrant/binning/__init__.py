"""Binnings: rules that assign probabilities to bins."""

from calibrant.binning.bins import Binning, Bins, Cells, SimplexBinning
from calibrant.binning.interval import EqualMass, EqualWidth
from calibrant.binning.median_variance import MedianVariance

__all__ = ["Binning", "Bins", "Cells", "EqualMass", "EqualWidth", "MedianVariance", "SimplexBinning"]
