"""Several models on the same rows: values, intervals, and paired differences."""

from calibrant.comparison.core import DEFAULT_METRICS, compare

__all__ = ["DEFAULT_METRICS", "compare"]
