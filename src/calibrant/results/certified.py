"""Outcomes of checking this machine against certified values."""

from dataclasses import dataclass

from calibrant.results.reading import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CheckedValue(Readable):
    """A value that this machine computed, beside its certified answer.

    Attributes
    ----------
    name : str
    certified : str
        The answer in 30 digits.
    found : float
    digits : float
        Number of significant digits that agree, at most 17.
    required : int
        Number that must.
    """

    name: str
    certified: str
    found: float
    digits: float
    required: int

    @property
    def passed(self) -> bool:
        """Whether enough digits agree."""
        return self.digits >= self.required
