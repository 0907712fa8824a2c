"""The outcome of measuring."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate:
    """Value of a metric.

    Attributes
    ----------
    name : str
        The metric with its settings.
    value : float
    details : mapping
        What else the metric has to say, such as the number of bins that hold data.
    """

    name: str
    value: float
    details: Mapping[str, Any] = field(default_factory=dict)
