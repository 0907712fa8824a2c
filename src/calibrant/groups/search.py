"""The search for groups in which predictions are off, although all rows together may look fine."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from calibrant import __version__
from calibrant._border.checks import check_count
from calibrant._border.convert import convert
from calibrant._core.laws import normal_quantile
from calibrant._typing import BoolArray, IntArray, Rng
from calibrant.exceptions import InputError
from calibrant.groups.cells import Grid, Rows, Sizes, affordable_depth, alike_levels, common_levels
from calibrant.groups.columns import Levels, as_table, cut_into_levels
from calibrant.groups.evidence import ClusteredRows, Evidence, IndependentRows
from calibrant.groups.halves import draw_half
from calibrant.groups.parts import FINE_CUTS, Part, Tested, tested_cells, tested_leaves
from calibrant.groups.showing import arranged, as_found
from calibrant.groups.words import explain, headline
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.results import Detectable, GroupFindings

SHARES = (0.5, 0.25, 0.1, 0.05)
"""Shares of the rows for which it is said what would have been found."""

POWER = 0.8
"""Probability with which it would have been found."""


@dataclass(frozen=True)
class GroupSearch:
    r"""Search for groups of rows in which predictions are off beyond chance.

    Parameters
    ----------
    depth : int, default=3
        Groups are intersections of levels of up to this many columns.
    leaves : int, default=6
        Leaves of the tree at most; 1 for no tree.
    alpha : float, default=0.05
        If the predictions are right, the probability that any group is found is at most this.
    least_rows : int, default=50
        Rows that a group needs; it also needs 5 expected rows of the rarer outcome.
    cuts : int, default=2
        Quantiles at which columns of numbers are cut for the list of groups: 2 give thirds.
    classes : {"top", "each"}, default="top"
        With more than two classes: whether the predicted class is right, or every class against the rest.

    Notes
    -----
    Two searches share `alpha` equally.

    1. *Cells.* The list of groups is fixed by features and predictions before any label is looked at: every
       intersection of levels that is large enough, and all rows. Every group is tested on all rows. If the predictions
       are right, the number of events in a group is a sum of independent events with known probabilities; its two-sided
       p-value is exact up to 500 rows and a saddlepoint approximation above (`calibrant.groups.tails`). Holm's method
       takes account of the number of groups. For a list that is fixed this finds more than testing on a second half.
    2. *Tree.* One half of the rows grows a tree on the residuals, with columns of numbers in finer cuts, sets of
       categories, and the prediction itself as a column; the other half tests its leaves, again with Holm's method.
       A group that was found by looking at labels cannot be tested on these labels.

    Levels of a column that hold nearly the same rows as a level of an earlier one are left out, as are groups with
    nearly all rows of a larger group (more than 80%), columns with one value, and columns of texts that name rows.
    A missing value is a level of its own. Weights are relative: :math:`z_S = \sum_S w (y - p) / \sqrt{\sum_S w^2 p (1 -
    p)}`. With clusters, halves hold whole clusters, and variances are those of sums over clusters.

    Limits of a group's size belong to the groups that were found: with R of m found, each has the level 1 - R alpha /
    m, so that the expected share of limits that miss is at most alpha (Benjamini and Yekutieli), and none includes 0.

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    Y. Benjamini, D. Yekutieli, "False discovery rate-adjusted multiple confidence intervals for selected parameters",
    Journal of the American Statistical Association 100 (2005).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> region = rng.choice(["north", "south"], 2000)
    >>> predicted = rng.uniform(0.2, 0.8, 2000)
    >>> happened = rng.random(2000) < predicted + np.where(region == "north", 0.1, -0.1)
    >>> found = GroupSearch()(Predictions(predicted, happened), features={"region": region}, rng=0)
    >>> [(group.label, group.direction) for group in found.found if group.stands_alone]
    [('region = south', 'too high'), ('region = north', 'too low')]
    """

    depth: int = 3
    leaves: int = 6
    alpha: float = 0.05
    least_rows: int = 50
    cuts: int = 2
    classes: Literal["top", "each"] = "top"

    def __post_init__(self) -> None:
        for name in ("depth", "leaves", "least_rows", "cuts"):
            check_count(getattr(self, name), name)
        if not isinstance(self.alpha, (int, float)) or not 0 < self.alpha < 1:
            raise InputError(f"alpha must be a number between 0 and 1, but is {self.alpha!r}.")
        if self.classes not in ("top", "each"):
            raise InputError(f'classes must be "top" or "each", but is {self.classes!r}.')

    def __call__(
        self,
        data: Any,
        y_prob: Any = None,
        sample_weight: Any = None,
        *,
        features: Any,
        clusters: Any = None,
        rng: Rng = None,
    ) -> GroupFindings:
        """Search predictions, or labels and probabilities.

        Parameters
        ----------
        data : Predictions, or array-like of shape (n,)
            With `y_prob`, the labels.
        y_prob, sample_weight : array-like, optional
        features : data frame, mapping of names to arrays, or array of shape (n, d)
            Of the same rows. Data frames of polars, pandas and others that narwhals knows.
        clusters : array-like of shape (n,), optional
            Rows with the same value depend on each other.
        rng : Generator, int or None
            Draws the halves.
        """
        predictions = as_data(data, y_prob, sample_weight)
        check_predictions(predictions, "data")
        self._check_rows(predictions)
        table = as_table(features, predictions.n_samples)
        cluster = _cluster_codes(clusters, predictions.n_samples)
        present = predictions.weights > 0
        if not present.all():
            predictions = predictions.take(present)
            table = {name: values[present] for name, values in table.items()}
            cluster = None if cluster is None else cluster[present]
        columns, left_out = _levels(table, self.cuts)
        events = self._events(predictions)
        evidence = [_evidence(view, cluster) for view in events.values()]
        half = draw_half(evidence[0].rows, cluster, np.random.default_rng(rng))
        grid = Grid(tuple(columns), tuple(each.codes(table[each.name]) for each in columns))
        depth = affordable_depth(len(columns), self.depth)
        leaves = self._leaves(evidence, grid, table, half)
        share = 0.5 if leaves.n_tested else 1.0
        sizes = Sizes([each.rows for each in evidence], self.least_rows)
        distinct = alike_levels(common_levels(grid, self.least_rows))
        cells = tested_cells(evidence, distinct, sizes, depth, share * self.alpha)
        return self._findings(
            _Search(self, evidence, [*events], half, cells, leaves, share), depth, left_out, columns, rng
        )

    def _check_rows(self, predictions: Predictions) -> None:
        if predictions.copies is not None:
            raise InputError("a sketch holds no features. Search the rows that it was made of.")
        if np.count_nonzero(predictions.weights) < 2 * self.least_rows:
            raise InputError(
                f"at least {2 * self.least_rows} rows are needed to search for groups of {self.least_rows}, but there "
                f"are {np.count_nonzero(predictions.weights)} with weight. Use more rows, or a smaller least_rows."
            )

    def _events(self, predictions: Predictions) -> dict[str, Predictions]:
        """Return the binary predictions that are searched, by the name of the event."""
        if predictions.n_classes == 2:
            return {str(predictions.classes[1]): predictions}
        if self.classes == "top":
            return {"the predicted class": predictions.top_label()}
        return {str(name): predictions.one_vs_rest(c) for c, name in enumerate(predictions.classes)}

    def _leaves(self, evidence: list[Evidence], grid: Grid, table: dict[str, Any], half: BoolArray) -> Part:
        """Test the leaves of a tree, which may cut columns of numbers finer than the list does."""
        if self.leaves == 1 or min(half.sum(), (~half).sum()) < 2 * self.least_rows:
            return Part([], 0)
        return tested_leaves(evidence, _finer(grid, table), half, self)

    def _findings(
        self, search: "_Search", depth: int, left_out: dict[str, str], columns: list[Levels], rng: Rng
    ) -> GroupFindings:
        found, n_found = search.found()
        n = len(search.half)
        facts: dict[str, Any] = {
            "found": found,
            "n_found": n_found,
            "overall": search.overall(),
            "n_cells": search.cells.n_tested,
            "n_leaves": search.leaves.n_tested,
            "detectable": search.detectable(),
            "alpha": self.alpha,
            "depth": depth,
            "n_samples": n,
            "event": search.events[0] if len(search.events) == 1 else "every class",
            "columns": tuple(each.name for each in columns),
            "left_out": left_out,
            "settings": {**asdict(self), "version": __version__, "seed": rng if isinstance(rng, int) else None},
        }
        outcome = GroupFindings(headline="", explanation="", **facts)
        return GroupFindings(headline=headline(outcome), explanation=explain(outcome), **facts)


@dataclass(frozen=True, eq=False)
class _Search:
    """Everything that was tested, and what of it is shown."""

    search: GroupSearch
    evidence: list[Evidence]
    events: list[str]
    half: BoolArray
    cells: Part
    leaves: Part
    share: float

    def found(self) -> tuple[tuple[Any, ...], int]:
        """Return the groups that were found, arranged, and how many there are."""
        chosen = []
        for part in (self.cells, self.leaves):
            hits = part.hits(self.search.alpha * self.share)
            chosen += [(one, len(hits) * self.search.alpha * self.share / part.n_tested) for one in hits]
        shown = arranged(chosen, self.evidence)
        return tuple(self._as_found(one, level, alone) for one, level, alone in shown), len(chosen)

    def overall(self) -> Any:
        """Return all rows together, for the first event."""
        return self._as_found(self.cells.groups[0], None, True)

    def _as_found(self, one: Tested, level: float | None, alone: bool) -> Any:
        event = self.events[one.event] if len(self.events) > 1 else ""
        return as_found(one, self.evidence[one.event], self.half, event, self.share, level, alone)

    def detectable(self) -> tuple[Detectable, ...]:
        """Return which errors of groups of the list would have been found."""
        rows = self.evidence[0].rows
        spread = float(np.sqrt(rows.variances.sum() / len(rows.probs)))
        far = normal_quantile(1 - self.search.alpha * self.share / self.cells.n_tested / 2) + normal_quantile(POWER)
        sizes = [(share, round(share * len(rows.probs))) for share in SHARES]
        return tuple(
            Detectable(share=share, n_rows=n, size=min(1.0, far * spread / float(np.sqrt(n))))
            for share, n in sizes
            if n >= self.search.least_rows
        )


def _levels(table: dict[str, Any], cuts: int) -> tuple[list[Levels], dict[str, str]]:
    """Return the levels of the columns that can be used, and why the others cannot."""
    read = {name: cut_into_levels(name, values, cuts) for name, values in table.items()}
    left_out = {name: each for name, each in read.items() if isinstance(each, str)}
    columns = [each for each in read.values() if isinstance(each, Levels)]
    if not columns:
        why = "; ".join(f"{name!r}: {reason}" for name, reason in left_out.items())
        raise InputError(f"features must have a column that groups can be made of, but have none ({why}).")
    return columns, left_out


def _finer(grid: Grid, table: dict[str, Any]) -> dict[Levels, IntArray]:
    """Return the columns with numbers in finer cuts, and the levels of the rows."""
    found = {}
    for levels, codes in zip(grid.levels, grid.codes, strict=True):
        fine = cut_into_levels(levels.name, table[levels.name], FINE_CUTS) if levels.is_cut else levels
        if isinstance(fine, Levels):
            found[fine] = fine.codes(table[levels.name]) if levels.is_cut else codes
    return found


def _cluster_codes(clusters: Any, n: int) -> IntArray | None:
    if clusters is None:
        return None
    values = convert(clusters, "clusters").values.ravel()
    if len(values) != n:
        raise InputError(f"clusters must have one value per row, but there are {len(values)} for {n} rows.")
    texts: list[str] = [*map(str, values.tolist())]
    table = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.array([*map(table.__getitem__, texts)], dtype=np.int64)


def _evidence(view: Predictions, cluster: IntArray | None) -> Evidence:
    weights = view.weights / view.weights.mean() if view.is_weighted else np.ones(view.n_samples)
    if np.ptp(weights) < 1e-12:
        weights = np.ones(view.n_samples)
    rows = Rows(view.positive, view.labels.astype(np.float64), weights)
    return IndependentRows(rows) if cluster is None else ClusteredRows(rows, cluster)
