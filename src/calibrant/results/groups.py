"""Results of the search for groups in which predictions are off, and of fixing them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calibrant._border.numerals import counted, decimals, significant
from calibrant.results.readable import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FoundGroup(Readable):
    """A group of rows, and how far its predictions are off.

    Attributes
    ----------
    label : str
        The group in words, such as "region = north and age > 50".
    columns : tuple of str
        The columns that define it.
    source : {"cell", "leaf"}
        "cell" if it is on the list that was fixed beforehand and is tested on all rows; "leaf" if it is a leaf of the
        tree, tested on the half of the rows that the tree has not seen.
    event : str
        The class whose probability is off, if several classes were searched.
    n_rows : int
        Rows of the group among the rows that it was tested on.
    share : float
        Share of the group among the rows that it was tested on, by weight.
    observed, predicted : float
        Frequency of the event, and its mean predicted probability.
    size : float
        Observed minus predicted: above 0, predictions are too low.
    low, high : float or None
        Limits of the size. Of all limits shown for groups that were found, at most the share `alpha` is expected to
        miss. None for a group that was not found.
    z : float
        Standardised size: its standard deviation is 1 if the predictions are right.
    pvalue, adjusted : float
        The p-value of the number of events in this group, and the same adjusted for all groups that were tested.
    worth : float
        By how much the log loss of all rows falls if the group's log-odds are shifted by one number, which is learnt
        from rows other than those it is measured on. It may be negative.
    stands_alone : bool
        Whether the group is off beyond what the stronger groups before it explain.
    what : {"probability", "bias", "spread"}
        What is off: a probability or, for forecasts, their location or their spread. For "bias", `observed` is the
        mean of the transforms u and `predicted` is 1/2; for "spread", `observed` is the mean of (2 u - 1)^2 and
        `predicted` is 1/3. For both, `worth` is about the CRPS.
    coverage : float or None
        For forecasts, the share of targets in central intervals of probability 0.9.

    Examples
    --------
    >>> numbers = dict(n_rows=100, share=0.1, observed=0.5, predicted=0.25, size=0.25, low=0.1, high=0.4)
    >>> tested = dict(z=5.8, pvalue=1e-8, adjusted=1e-6, worth=0.01, stands_alone=True)
    >>> group = FoundGroup(label="age > 50", columns=("age",), source="cell", event="", **numbers, **tested)
    >>> group.headline
    'age > 50: too low by 0.25'
    >>> FoundGroup(label="all rows", columns=(), source="cell", event="", what="spread", **numbers, **tested).direction
    'too narrow'
    """

    label: str
    columns: tuple[str, ...]
    source: str
    event: str
    n_rows: int
    share: float
    observed: float
    predicted: float
    size: float
    low: float | None
    high: float | None
    z: float
    pvalue: float
    adjusted: float
    worth: float
    stands_alone: bool
    what: str = "probability"
    coverage: float | None = None

    @property
    def direction(self) -> str:
        """Whether predictions are "too low" or "too high" in the group, or forecasts "too narrow" or "too wide"."""
        above, below = ("too narrow", "too wide") if self.what == "spread" else ("too low", "too high")
        return above if self.size > 0 else below

    @property
    def is_on_half(self) -> bool:
        """Whether its numbers are from half of the rows: those that the tree has not seen."""
        return self.source == "leaf"

    @property
    def headline(self) -> str:
        """The group, and how far its predictions are off."""
        return f"{self.label}: {self.direction} by {significant(abs(self.size))}"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Detectable(Readable):
    """The error that a search would find in four of five cases.

    Attributes
    ----------
    share : float
        Share of all rows in the group.
    n_rows : int
    size : float
        Mean of observed minus predicted.

    Examples
    --------
    >>> Detectable(share=0.1, n_rows=600, size=0.0784).headline
    '0.0784 in 600 rows'
    """

    share: float
    n_rows: int
    size: float

    @property
    def headline(self) -> str:
        """The error and the rows of the group."""
        return f"{significant(self.size)} in {counted(self.n_rows)}"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GroupFindings(Readable):
    """The groups in which predictions are off beyond chance, and how many were searched.

    Attributes
    ----------
    headline, explanation : str
        The outcome in words.
    found : tuple of FoundGroup
        Groups with an adjusted p-value of at most `alpha`: first those that stand alone, in the order in which they
        explain the others, then those that overlap with them, the largest z first.
    n_found : int
        Number of groups found; `found` holds at most a hundred of them.
    overall : FoundGroup
        All rows together.
    n_cells, n_leaves : int
        Groups of the list, and leaves of the tree, that were tested.
    detectable : tuple of Detectable
        What would have been found, for groups of several sizes.
    alpha : float
        If all predictions are right, the probability that anything is found is at most this.
    depth : int
        The largest number of columns that define a group of the list. It is smaller than asked if there are very many
        columns.
    n_samples : int
    event : str
        The event whose probability was predicted; "forecasts" if predictive distributions were searched.
    columns : tuple of str
        Columns that define groups.
    left_out : mapping of str to str
        Columns that are not used, and why.
    settings : mapping
    """

    headline: str
    explanation: str
    found: tuple[FoundGroup, ...]
    n_found: int
    overall: FoundGroup
    n_cells: int
    n_leaves: int
    detectable: tuple[Detectable, ...]
    alpha: float
    depth: int
    n_samples: int
    event: str
    columns: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def of_forecasts(self) -> bool:
        """Whether predictive distributions were searched, not probabilities."""
        return self.overall.coverage is not None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GroupStep(Readable):
    """One step of group boosting: a group whose log-odds are shifted.

    Attributes
    ----------
    label : str
        The group in words.
    offset : float
        What is added to the log-odds of its rows.
    z : float
        Standardised sum of the residuals of its rows before the step.
    n_rows : int
        Rows of the group that it was learnt from.
    event : str
        The class whose log-odds are shifted, if there are more than two.

    Examples
    --------
    >>> GroupStep(label="age > 50", offset=0.5, z=5.0, n_rows=400).headline
    'age > 50: log-odds +0.500 (z = 5.0, 400 rows)'
    >>> GroupStep(label="age > 50", offset=0.5, z=5.0, n_rows=400, event="cat").headline
    'age > 50: log-odds of cat +0.500 (z = 5.0, 400 rows)'
    """

    label: str
    offset: float
    z: float
    n_rows: int
    event: str = ""

    @property
    def headline(self) -> str:
        """The group and its step."""
        of = f" of {self.event}" if self.event else ""
        return (
            f"{self.label}: log-odds{of} {decimals(self.offset, sign=True)} (z = {decimals(self.z, 1)}, "
            f"{counted(self.n_rows)})"
        )


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GroupFix(Readable):
    """The steps that fix groups.

    Attributes
    ----------
    headline : str
    steps : tuple of GroupStep
        In the order in which they were taken.
    slope : float
        The factor by which all log-odds are multiplied after the steps.
    bar : float
        The absolute z that a group had to exceed.
    n_candidates : int
        Groups that could have been fixed.
    n_samples : int
        Rows that the steps were learnt from.

    Examples
    --------
    >>> step = GroupStep(label="age > 50", offset=0.5, z=5.0, n_rows=400)
    >>> GroupFix(headline="1 step among 9 groups.", steps=(step,), slope=1.01, bar=3.1, n_candidates=9, n_samples=2000)
    GroupFix
      outcome  1 step among 9 groups.
      step 1   age > 50: log-odds +0.500 (z = 5.0, 400 rows)
      then     log-odds times 1.01
      entry    |z| above 3.10, 2,000 rows
    """

    headline: str
    steps: tuple[GroupStep, ...]
    slope: float
    bar: float
    n_candidates: int
    n_samples: int
