"""What a calibrator made of predictions, judged on rows that it was not fitted to."""

from dataclasses import dataclass

from calibrant.results.advice import Recommendation
from calibrant.results.reading import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Fix(Readable):
    """A calibrator that was fitted to all folds but one and applied to that one, in turn.

    Attributes
    ----------
    method : str
        The calibrator, as in `CALIBRATORS`, or a composition such as "ts>irm".
    changed : float
        Share of the rows whose predicted class is another one than before.
    n_folds : int
    converged : bool
        Whether the optimiser ended at its optimum in every fold.
    recommendation : Recommendation or None
        Why this calibrator; None if the caller chose it.
    """

    method: str
    changed: float
    n_folds: int
    converged: bool
    recommendation: Recommendation | None = None
