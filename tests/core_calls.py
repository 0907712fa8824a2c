"""One call of every compiled routine, on data large enough for several threads."""

import io
from functools import cache

import numpy as np

from calibrant._core import bins, pairs, redraws
from calibrant._core.distances import RadialMatrix, distances
from calibrant._core.isotonic import isotonic_regression
from calibrant._core.line.beta import BetaSums
from calibrant._core.line.boxes import Line
from calibrant._core.line.gaps import RowGaps
from calibrant._core.line.sums import HeldOut, KernelSums
from calibrant._core.parquet import chunks_of, unpacked_sizes
from calibrant._core.redraws import DEPTH, Rows
from calibrant._core.sketch import are_plain, count_rows, empty_records, sum_scores
from calibrant._core.softmax import pair_sums, residuals_of
from calibrant._core.sorted1d import SortedLine
from calibrant.binning.cells.grid import Grid
from oracles.pairs import simulate


def everything():
    """Return what every routine finds, as a list of arrays."""
    rng = np.random.default_rng(0)
    P, A, _ = simulate(1100, 3, seed=0)
    H = RadialMatrix(P, A)
    x, weights, own = rng.random(3000), rng.random((3000, 21)), rng.integers(0, 2, 3000)
    line, happened = Line.of(x), rng.random(3000) < x
    by_kernel = [KernelSums(line, 0.02, kernel) for kernel in ("gaussian", "triweight", "epanechnikov")]
    gaps = [RowGaps(sums, 1.5, np.full(3000, 1e-9), lambda a, b, c, d: a + b + c + d) for sums in by_kernel[:2]]
    sorted_line = SortedLine.of(x, 0.1)
    return [
        np.array(pairs.pair_sum(H)),
        pairs.row_sums(H),
        pairs.quadratic_forms(H, weights[:1100]),
        pairs.block_sums(H, 20),
        np.array(sorted_line.pair_sum(weights[:, 0])),
        sorted_line.row_sums(weights[:, 0]),
        sorted_line.matmul(weights[:, 0], weights)[0],
        *(sums.leave_one_out(weights) for sums in by_kernel),
        BetaSums(line, 0.001).leave_one_out(weights[:, :3]),
        BetaSums(line, 0.3).leave_one_out(weights[:, :3]),
        *(gap.of_weights(happened, weights) for gap in gaps),
        *(gap.of_labels(weights > 0.5, x) for gap in gaps),
        *HeldOut(line, own, happened > 0.5, weights[:, 0]).sums(by_kernel[0]),
        redraws.count_draws(rng.integers(0, 2**63, 9).astype(np.uint64), 500),
        redraws.count_sums(P[:, 0].copy(), np.array([700, 1100]), np.arange(1102.0), np.arange(99, dtype=np.uint64)),
        bins.bin_index(x, np.array([0.2, 0.7])),
        bins.bin_sums(x, weights[:, 0], own, np.array([0.2, 0.7])),
        bins.bin_columns(weights, x, np.array([0.2, 0.7])),
        isotonic_regression(happened, weights=weights[:, 0]).x,
        *_sketched(x, happened),
        *_of_a_softmax(P, rng),
        _declared(_parquet()),
        distances(P, P[:50], squared=False),
        *(np.asarray(found) for part in _rows(P, rng).redraw(np.arange(40, dtype=np.uint64)) for found in part),
    ]


def _of_a_softmax(P, rng):
    """Derivatives of a likelihood, and the sums that its Hessian is made of."""
    probs, share = np.empty(P.shape), np.full((len(P), 1), 1 / len(P))
    residuals, loss = residuals_of(rng.normal(size=P.shape), rng.integers(0, P.shape[1], len(P)), share, probs)
    return residuals, np.array(loss), probs, pair_sums(probs, share, P)


@cache
def _parquet():
    """Return a file as bytes; it is written once, as polars must not be called again after a fork."""
    import polars as pl

    file = io.BytesIO()
    pl.DataFrame({"p": np.linspace(0.0, 1.0, 1000), "y": np.arange(1000) % 2}).write_parquet(file)
    return file.getvalue()


def _declared(content):
    """Values and unpacked sizes of the columns of a Parquet file."""
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
    chunks = chunks_of(footer)
    return np.array([unpacked_sizes(chunks, lambda at, n: content[at : at + n]), [each.values for each in chunks]])


def _sketched(x, happened):
    """Rows counted into cells, and sums of their scores."""
    records, events = empty_records(Grid().n_cells), happened.view(np.uint8)
    both = (count_rows(x, events, Grid().cuts, records, with_logs=True), sum_scores(x, events, with_logs=True))
    count_rows(x.astype(np.float32), events, Grid().cuts, records)
    return records, np.array([*both, 3 * [are_plain(x, events)]])


def _rows(probs, rng):
    """Rows to redraw, with random features."""
    n, n_classes = probs.shape
    order = np.argsort(-probs, axis=1)
    return Rows(
        probs=probs,
        weights=rng.random(n),
        top=order[:, 0].copy(),
        second=order[:, 1].copy(),
        bins=rng.integers(0, 5, n),
        features=rng.random((n, DEPTH)),
        means=rng.random((n_classes, DEPTH)),
    )
