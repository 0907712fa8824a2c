"""The search for groups in which predictions are off, although all rows together may look fine."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._border.convert import convert
from calibrant._border.settings import check_count, check_level, check_option
from calibrant._border.types import BoolArray, FloatArray, IntArray, Rng
from calibrant._core.progress import portion
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.groups.cells import Grid, Sizes, affordable_depth, without_alike_levels, without_rare_levels
from calibrant.groups.columns import Levels, as_table, cut_into_levels
from calibrant.groups.findings import Searched, explain, headline
from calibrant.groups.subjects import Classes, Distributions, Subject
from calibrant.groups.tested import FINE_CUTS, Part, draw_half, tested_cells, tested_leaves
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.resampling.seeds import version_and_seed
from calibrant.results import GroupFindings


@dataclass(frozen=True)
class GroupSearch:
    r"""Search for groups of rows in which predictions are off beyond chance.

    Parameters
    ----------
    depth : int, default=3
        Groups are intersections of levels of up to this many columns.
    leaves : int, default=6
        Largest number of leaves of the tree; 1 for no tree.
    alpha : float, default=0.05
        If the predictions are right, the probability that any group is found is at most this.
    least_rows : int, default=50
        Least number of rows of a group, which also needs 5 expected rows of the rarer outcome.
    cuts : int, default=2
        Number of quantiles at which columns of numbers are cut for the list of groups: 2 give thirds.
    classes : {"top", "each"}, default="top"
        The event with more than two classes: that the predicted class is right, or every class against the rest.

    Notes
    -----
    Two searches share `alpha` equally.

    1. *Cells.* The list of groups is fixed by features and predictions before looking at any label: every intersection
       of levels that is large enough, and all rows. Every group is tested on all rows. If the predictions are right,
       the number of events in a group is a sum of independent events with known probabilities; its two-sided p-value is
       exact up to 500 rows, and a saddlepoint approximation above (`calibrant.groups.event_sums`). Holm's method
       accounts for the number of groups. For a fixed list this finds more than testing on a second half of the rows.
    2. *Tree.* A tree is grown on the residuals of one half of the rows, with columns of numbers in finer cuts, sets of
       categories, and the prediction itself as a column. Its leaves are tested on the other half, again with Holm's
       method: a group that was found by looking at labels cannot be tested on these labels.

    Levels of a column that hold nearly the same rows as a level of an earlier one are left out, as are groups with
    nearly all rows of a larger group (more than 80%), columns with one value, and columns of texts that name rows.
    Missing values form their own level. Weights are relative: :math:`z_S = \sum_S w (y - p) / \sqrt{\sum_S w^2 p (1 -
    p)}`. With clusters, halves hold whole clusters, and variances are those of sums over clusters.

    *Forecasts.* The transform :math:`u = F(y)` is uniform if the forecast is right; for ensembles it is a randomised
    rank, and for quantiles a random number between two levels. Every group is tested for its mean, 1/2, and for that of
    :math:`(2 u - 1)^2`, 1/3: forecasts that are too low or too high, too narrow or too wide. Both tests belong to one
    list. Their sums are those of independent variables of a known law, whose tail is approximated by the formula of
    Lugannani and Rice. The tree may also split by median and width of the forecasts, except for ensembles: a target is
    exchangeable with the members, but not independent of how far apart these happen to be. For the same reason no
    feature may be computed from the members. The worth of a fix is the decrease of the CRPS.

    Limits of a group's size account for the selection of the groups that were found: with R of m found, each has the
    level 1 - R alpha / m, so that the expected share of limits that miss is at most alpha (Benjamini and Yekutieli).
    They include 0 only if the events scatter more than predicted, as around over-confident predictions, or rows have
    weights: the predictions are then off, but not certainly in one direction.

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
        check_level(self.alpha, "alpha")
        check_option(self.classes, "classes", "top", "each")

    def __call__(
        self,
        data: object,
        y_prob: object = None,
        sample_weight: object = None,
        *,
        features: object,
        clusters: object = None,
        rng: Rng = None,
    ) -> GroupFindings:
        """Search predictions, labels and probabilities, or forecasts.

        Parameters
        ----------
        data : Predictions, Forecasts, or array-like of shape (n,)
            With `y_prob`, the labels.
        y_prob, sample_weight : array-like, optional
        features : data frame, mapping of names to arrays, or array of shape (n, d)
            Features of the same rows; data frames of polars, pandas and others that narwhals supports.
        clusters : array-like of shape (n,), optional
            Rows with the same value may depend on each other.
        rng : Generator, int or None
            Draws the halves; for ensembles and quantiles, also the transforms within their intervals.
        """
        given = as_data(data, y_prob, sample_weight)
        found = given if isinstance(given, Forecasts) else check_predictions(given, "data")
        self._check_rows(found)
        table = as_table(features, found.n_samples)
        cluster = _cluster_codes(clusters, found.n_samples)
        present = found.weights > 0
        if not present.all():
            found = found.take(present)
            table = {name: values[present] for name, values in table.items()}
            cluster = None if cluster is None else cluster[present]
        generator = np.random.default_rng(rng)
        subject: Subject = (
            Distributions(found, cluster, generator)
            if isinstance(found, Forecasts)
            else Classes.of(found, self.classes, cluster)
        )
        columns, left_out = _levels(table, self.cuts)
        half = draw_half(subject.evidence[0].rows, cluster, generator)
        grid = Grid(tuple(columns), tuple(each.codes(table[each.name]) for each in columns))
        depth = affordable_depth(len(columns), self.depth)
        with portion(0, 3):
            leaves = self._leaves(subject, grid, table, half)
        share = 0.5 if leaves.n_tested else 1.0
        sizes = Sizes([each.rows for each in subject.evidence], self.least_rows)
        distinct = without_alike_levels(without_rare_levels(grid, self.least_rows))
        with portion(1, 3):
            cells = tested_cells(subject.evidence, distinct, sizes, depth, share * self.alpha)
        with portion(2, 3):
            return self._findings(
                Searched(subject, half, cells, leaves, self.alpha, share), depth, left_out, columns, rng
            )

    def _check_rows(self, data: Predictions | Forecasts) -> None:
        if isinstance(data, Predictions) and data.copies is not None:
            raise InputError("a sketch holds no features. Search the rows that it was made of.")
        if np.count_nonzero(data.weights) < 2 * self.least_rows:
            raise InputError(
                f"at least {2 * self.least_rows} rows are needed to search for groups of {self.least_rows}, but there "
                f"are {np.count_nonzero(data.weights)} with weight. Use more rows, or a smaller least_rows."
            )

    def _leaves(self, subject: Subject, grid: Grid, table: dict[str, NDArray[np.generic]], half: BoolArray) -> Part:
        """Test the leaves of a tree, which may cut columns of numbers more finely than the list does."""
        if self.leaves == 1 or min(half.sum(), (~half).sum()) < 2 * self.least_rows:
            return Part([], 0)
        columns = _finer(grid, table) | _own(subject.columns)
        return tested_leaves(subject.evidence, columns, half, self.leaves, self.least_rows)

    def _findings(
        self, searched: Searched, depth: int, left_out: dict[str, str], columns: list[Levels], rng: Rng
    ) -> GroupFindings:
        found, n_found = searched.found()
        n = len(searched.half)
        outcome = GroupFindings(
            headline="",
            explanation="",
            found=found,
            n_found=n_found,
            overall=searched.overall(),
            n_cells=searched.cells.n_tested,
            n_leaves=searched.leaves.n_tested,
            detectable=searched.detectable(self.least_rows),
            alpha=self.alpha,
            depth=depth,
            n_samples=n,
            event=searched.subject.event,
            columns=tuple(each.name for each in columns),
            left_out=left_out,
            settings=asdict(self) | version_and_seed(rng),
        )
        return replace(outcome, headline=headline(outcome), explanation=explain(outcome))


def _levels(table: dict[str, NDArray[np.generic]], cuts: int) -> tuple[list[Levels], dict[str, str]]:
    """Return the levels of the columns that can be used, and why the others cannot."""
    read = {name: cut_into_levels(name, values, cuts) for name, values in table.items()}
    left_out = {name: each for name, each in read.items() if isinstance(each, str)}
    columns = [each for each in read.values() if isinstance(each, Levels)]
    if not columns:
        why = "; ".join(f"{name!r}: {reason}" for name, reason in left_out.items())
        raise InputError(f"features must have a column that can define groups, but have none ({why}).")
    return columns, left_out


def _finer(grid: Grid, table: dict[str, NDArray[np.generic]]) -> dict[Levels, IntArray]:
    """Return the columns with finer cuts of numbers, and the levels of the rows."""
    found = {}
    for levels, codes in zip(grid.levels, grid.codes, strict=True):
        fine = cut_into_levels(levels.name, table[levels.name], FINE_CUTS) if levels.is_cut else levels
        if isinstance(fine, Levels):
            found[fine] = fine.codes(table[levels.name]) if levels.is_cut else codes
    return found


def _own(columns: Mapping[str, FloatArray]) -> dict[Levels, IntArray]:
    """Return the columns that come from the forecasts themselves, cut into levels, and the levels of the rows."""
    found = {name: cut_into_levels(name, values, FINE_CUTS) for name, values in columns.items()}
    return {each: each.codes(columns[name]) for name, each in found.items() if isinstance(each, Levels) and each.is_cut}


def _cluster_codes(clusters: object, n: int) -> IntArray | None:
    if clusters is None:
        return None
    values = convert(clusters, "clusters").values.ravel()
    if len(values) != n:
        raise InputError(f"clusters must have one value per row, but there are {len(values)} for {n} rows.")
    texts: list[str] = [*map(str, values.tolist())]
    table = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.array([*map(table.__getitem__, texts)], dtype=np.int64)
