"""ECE sweep against the loop over all numbers of bins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binary_cases import published
from calibrant import InputError, Predictions
from calibrant.metrics import ECE, SweepECE
from calibrant.metrics import sweep_ece as module
from naming import each
from properties import examples

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
reproducible = settings(derandomize=True)


def bins_of(probs, weights, n_bins):
    """Bin of every row: where the weight before its prediction lies, in units of a bin."""
    total = sum(weights)
    index = []
    for value in probs:
        before = sum(w for v, w in zip(probs, weights, strict=True) if v < value)
        index.append(min(n_bins - 1, int(before * n_bins / total)))
    return np.array(index)


def sweep_by_definition(probs, labels, weights):
    """Return the error and the number of bins, trying every number of bins in turn."""
    probs, labels, weights = (np.asarray(a)[np.asarray(weights) > 0] for a in (probs, labels, weights))
    best = np.zeros(len(probs), int)
    for n_bins in range(2, len(set(probs.tolist())) + 1):
        index = bins_of(probs, weights, n_bins)
        used = sorted(set(index.tolist()))
        hits = [int((weights * labels)[index == b].sum()) for b in used]
        mass = [int(weights[index == b].sum()) for b in used]
        if any(hits[i] * mass[i + 1] > hits[i + 1] * mass[i] for i in range(len(used) - 1)):
            break
        best = index
    used = sorted(set(best.tolist()))
    error = sum(abs((weights * (probs - labels))[best == b].sum()) for b in used) / weights.sum()
    return error, len(used)


@reproducible
@given(st.integers(1, 40), st.sampled_from([3, 10, 1000]), st.booleans(), st.booleans(), st.integers(0, 2**31))
def test_the_loop_over_all_numbers_of_bins_agrees(n, levels, weighted, informative, seed):
    rng = np.random.default_rng(seed)
    probs = rng.integers(0, levels + 1, n) / levels
    labels = (rng.random(n) < (probs if informative else 0.5)).astype(int)
    weights = rng.integers(0, 4, n) if weighted else np.ones(n, int)
    weights[0] = 1
    estimate = SweepECE().estimate(Predictions(probs, labels, weights))
    error, used = sweep_by_definition(probs, labels, weights)
    assert estimate.details["bins_used"] == used
    assert estimate.value == pytest.approx(error, abs=1e-12)


@examples(50, derandomize=True)
@given(st.integers(2, 40), st.integers(0, 2**31))
def test_numbers_of_bins_tried_in_blocks_of_any_size_agree(n, seed):
    rng = np.random.default_rng(seed)
    probs = np.sort(rng.random(n))
    labels = (np.arange(n) + rng.integers(-2, 3, n) > n / 2).astype(int)  # Nearly separated: many bins.
    p = Predictions(probs, labels)
    whole = SweepECE().estimate(p)
    before, module.EDGES_PER_BLOCK = module.EDGES_PER_BLOCK, 1
    try:
        assert SweepECE().estimate(p).details == whole.details
    finally:
        module.EDGES_PER_BLOCK = before
    assert whole.details["bins_used"] == sweep_by_definition(probs, labels, np.ones(n, int))[1]


def test_fractional_weights_do_not_fall_by_rounding():
    rng = np.random.default_rng(0)
    weights = rng.random(400)
    probs = np.sort(rng.random(400))
    p = Predictions(probs, np.arange(400) >= 150, weights)
    assert SweepECE().estimate(p).details["bins_used"] == pytest.approx(400, abs=160)
    whole = SweepECE().estimate(Predictions(probs, np.arange(400) >= 150))
    assert whole.details["bins_used"] == 400


@each("scale", [1e-200, 0.1, 3.0, 1e200])
def test_the_scale_of_the_weights_does_not_matter(scale):
    p = published()
    scaled = Predictions(p.probs, p.labels, np.full(p.n_samples, scale))
    assert SweepECE()(scaled) == pytest.approx(SweepECE()(p), rel=1e-9)


@pytest.mark.parametrize("sharpness, expected", [(1.0, 0.0117500), (2.0, 0.0798146)])
def test_simulated_data_of_the_calzone_project(sharpness, expected):
    estimate = SweepECE().estimate(published(sharpness))
    assert estimate.value == pytest.approx(expected, abs=5e-8)
    assert estimate.details == {"bins_used": 17}


def test_other_norms_use_the_same_bins():
    p = Predictions([0.1, 0.2, 0.3, 0.35, 0.6, 0.7, 0.8, 0.9], [0, 0, 1, 0, 1, 0, 1, 1])
    gaps = np.array([0.15, 0.325 - 0.5, 0.65 - 0.5, 0.85 - 1])
    assert SweepECE(norm=2)(p) == pytest.approx(np.sqrt((gaps**2).mean()))
    assert SweepECE(norm=np.inf)(p) == pytest.approx(0.175)


def test_a_ranking_that_is_the_wrong_way_round_has_one_bin():
    p = Predictions([0.1, 0.2, 0.7, 0.9], [1, 1, 0, 0])
    assert SweepECE().estimate(p).details == {"bins_used": 1}
    assert SweepECE()(p) == pytest.approx(0.025)


def test_bad_norms_are_refused_as_by_ece():
    for metric in (ECE, SweepECE):
        with pytest.raises(InputError, match="norm must be a number of at least 1"):
            metric(norm=0.5)
