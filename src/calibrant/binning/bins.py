"""Base classes of binnings, and their results."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from calibrant._border.types import FloatArray, IntArray
from calibrant.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Cells:
    """The bin of every row.

    Attributes
    ----------
    index : ndarray of shape (n,)
        Bin of each row; -1 if the convention leaves the row out.
    n_bins : int
        Number of bins, empty ones included.
    """

    index: IntArray
    n_bins: int


@dataclass(frozen=True, eq=False)
class Bins(Cells):
    """The bin of every value, and the limits of the bins.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_bins,)
    """

    lower: FloatArray
    upper: FloatArray


class Binning(ABC):
    """A rule that cuts [0, 1] into bins, perhaps by looking at the values (never at the labels)."""

    @property
    def leaves_none_out(self) -> bool:
        """Whether every row is certain to be in a bin."""
        return False

    @abstractmethod
    def cut(self, values: FloatArray, weights: FloatArray) -> Bins:
        """Assign every value to a bin."""

    def cut_view(self, view: Predictions) -> Bins:
        """Assign every prediction of class 1 to a bin, at the rows' own weights; cached with the predictions."""
        return view.once(("cut", self), lambda: self.cut(view.positive, view.weights), of_labels=False)

    def cut_columns(self, values: FloatArray, weights: FloatArray) -> list[Bins]:
        """Assign every value of each column, (n, m), to a bin of that column."""
        return [self.cut(column, weights) for column in values.T]


class SimplexBinning(ABC):
    """A rule that cuts the simplex of probability vectors into cells (never by looking at the labels)."""

    @abstractmethod
    def cells(self, probs: FloatArray, weights: FloatArray) -> Cells:
        """Assign every row of probabilities, (n, K), to a cell."""
