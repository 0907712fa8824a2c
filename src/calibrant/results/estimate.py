"""The outcome of measuring."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrant.results.reading import Readable


@dataclass(frozen=True, kw_only=True, repr=False)
class Description(Readable):
    """How a metric or a test is presented to a reader.

    Attributes
    ----------
    label : str
        A short name.
    meaning : str
        One sentence: what a metric measures, or what a test can see.
    caution : str
        Where it misleads, or what its validity rests on.
    better : {"lower", "higher", "none"}
        Which values of a metric are better; "none" if it describes rather than judges.
    group : str
        The heading under which it is shown.
    principal : bool
        Whether it is shown by default.
    """

    label: str
    meaning: str = ""
    caution: str = ""
    better: str = "none"
    group: str = ""
    principal: bool = False


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Estimate(Readable):
    """Value of a metric.

    Attributes
    ----------
    name : str
        The metric with its settings.
    value : float
    details : mapping
        What else the metric has to say, such as the number of bins that hold data.
    about : Description or None
        How the metric is presented, if it is one.
    """

    name: str
    value: float
    details: Mapping[str, Any] = field(default_factory=dict)
    about: Description | None = None
