"""Everything that a command or a page shows about one set of predictions, in sections that are requested by name."""

from calibrant.assessment.core import OF_GROUPS, assess
from calibrant.assessment.sections import SECTIONS

__all__ = ["OF_GROUPS", "SECTIONS", "assess"]
