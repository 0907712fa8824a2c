"""Many columns of weights and labels: equal to one at a time, in bounded memory, compiled like plain."""

import tracemalloc

import numpy as np
import pytest

from calibrant import Predictions
from calibrant._core.line.beta import BetaSums
from calibrant._core.line.boxes import Line
from calibrant._core.line.sums import KernelSums
from calibrant.metrics import KdeECE
from calibrant.resampling.redraws import draw_counts
from calibrant.smoothing.gaps import row_gaps
from cores import core, on_threads
from naming import each
from simulate import calibrated

EVERY_KERNEL = each("kernel", ["gaussian", "triweight", "epanechnikov", "beta"])


def rows(seed, n):
    rng = np.random.default_rng(seed)
    c = np.round(rng.beta(3, 1, n), 4)
    return Predictions(c, (rng.random(n) < c**1.5).astype(int), rng.exponential(size=n))


@EVERY_KERNEL
@each("isolated", ["drop", "zero"])
@each("norm", [1, 2, 1.5])
def test_compiled_and_plain_replicates_agree(kernel, isolated, norm):
    p, rng = rows(1, 300), np.random.default_rng(1)
    W = rng.integers(0, 3, (300, 11)).astype(float)
    labels = rng.integers(0, 2, (300, 11))
    h = 1e-7 if kernel == "beta" else 0.001  # Narrow, so that some rows are alone.
    metric = KdeECE(kernel, h, norm=norm, isolated=isolated)
    assert metric.details(p)["isolated"] > 0
    found = []
    for name in ("", "numpy"):
        with core(name):
            found.append((metric.prepare(p)(W), metric.prepare_labels(p)(labels)))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-9)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-9)


@EVERY_KERNEL
def test_replicates_of_many_rows_equal_reweighted_and_relabelled_data(kernel):
    p, rng = rows(2, 1500), np.random.default_rng(2)
    metric = KdeECE(kernel, 0.01)
    W, labels = draw_counts(1500, 5, rng), rng.integers(0, 2, (1500, 5))
    reweighted = [metric(Predictions(p.probs, p.labels, column)) for column in W.T]
    relabelled = [metric(p.with_labels(column)) for column in labels.T]
    for columns in (W, np.ascontiguousarray(W), np.asfortranarray(W)):
        assert metric.prepare(p)(columns) == pytest.approx(reweighted, rel=1e-10)
    assert metric.prepare_labels(p)(np.asfortranarray(labels)) == pytest.approx(relabelled, rel=1e-10)
    assert metric.prepare_labels(p)(labels) == pytest.approx(relabelled, rel=1e-10)


def test_relabelled_classes_are_reduced_to_right_and_wrong():
    p, labels = calibrated(n=2500, k=4), np.random.default_rng(3).integers(0, 4, (2500, 3))
    metric = KdeECE(bandwidth=0.05)
    expected = [metric(p.with_labels(column)) for column in labels.T]
    assert metric.prepare_labels(p)(labels) == pytest.approx(expected, rel=1e-10)


def test_a_replicate_that_leaves_no_neighbours_takes_frequency_0():
    p = Predictions([0.2, 0.6], labels=[1, 1])
    W = np.array([[1.0, 1.0], [0.0, 1.0]])
    # Alone, the first row is compared with 0; together, each with the other's outcome.
    assert KdeECE(bandwidth=0.5).prepare(p)(W) == pytest.approx([0.2, 0.6])


@EVERY_KERNEL
def test_the_number_of_threads_changes_nothing(kernel):
    rng = np.random.default_rng(4)
    c, y, W = rng.random(2000), rng.integers(0, 2, 2000).astype(float), rng.random((2000, 13))
    line = Line.of(c)
    sums = BetaSums(line, 0.01) if kernel == "beta" else KernelSums(line, 0.01, kernel)
    gaps = row_gaps(sums, c, 1, drop=True)
    found = []
    for n_threads in (1, 3):
        with on_threads(n_threads):
            found.append([gaps.of_weights(y, W), gaps.of_labels(W > 0.5, c)])
    assert np.array_equal(*found)


def test_memory_does_not_grow_with_the_number_of_replicates():
    p, rng = rows(5, 4000), np.random.default_rng(5)
    W = draw_counts(4000, 600, rng)
    labels = rng.integers(0, 2, (4000, 600), dtype=np.int8)
    metric = KdeECE(bandwidth=0.02)
    by_weights, by_labels = metric.prepare(p), metric.prepare_labels(p)
    by_weights(W[:, :9]), by_labels(labels[:, :9])
    tracemalloc.start()
    by_weights(W)
    by_labels(labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6  # The sums of all replicates would take 38 MB.
