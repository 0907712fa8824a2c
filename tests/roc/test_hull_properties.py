"""What holds for every ranking, checked against independent algorithms."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score
from sklearn.metrics import roc_curve as sklearn_roc_curve

from calibrant.counts import LaplaceCorrection, MEstimate
from calibrant.roc import auc, convex_hull, hull_probabilities, roc_curve, segment_probabilities
from calibrant.roc.merging import merging_steps, pool
from naming import each
from properties import examples

reproducible = examples(40, derandomize=True)


@st.composite
def rankings(draw, max_weight=4):
    """Scores with many ties, labels of both classes, whole weights of which some are 0."""
    # One byte for a row and one draw for all, because drawing takes most of the time.
    codes = np.frombuffer(draw(st.binary(min_size=2, max_size=40)), np.uint8).astype(int) % (34 * (max_weight + 1))
    rest, labels = np.divmod(codes, 2)
    scores, weights = (part.astype(float) for part in np.divmod(rest, max_weight + 1))
    scores -= 8
    assume(len(set(labels[weights > 0])) == 2)
    return scores, labels, weights


def points_of(curve):
    """Exact points of the curve, in weights rather than rates."""
    points = [(0, 0)]
    for positive, negative in zip(curve.positives.tolist(), curve.negatives.tolist(), strict=True):
        points.append((points[-1][0] + int(negative), points[-1][1] + int(positive)))
    return points


def monotone_chain(points, *, keep_collinear):
    """Andrew's algorithm in exact arithmetic: places of the points on the upper hull."""
    chain = []
    for k, (x, y) in enumerate(points):
        while len(chain) > 1:
            (x0, y0), (x1, y1) = points[chain[-2]], points[chain[-1]]
            turn = (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)
            if turn < 0 or (turn == 0 and keep_collinear):
                break
            chain.pop()
        chain.append(k)
    return chain


@given(rankings())
@reproducible
def test_area_equals_that_of_scikit_learn_with_ties_and_weights(ranking):
    scores, labels, weights = ranking
    assert auc(*ranking) == pytest.approx(roc_auc_score(labels, scores, sample_weight=weights), abs=1e-12)


@given(rankings())
@reproducible
def test_area_is_the_probability_of_a_right_order_with_half_for_ties(ranking):
    scores, labels, weights = ranking
    above = scores[:, None] > scores
    tied = scores[:, None] == scores
    pairs = np.outer(weights * (labels == 1), weights * (labels == 0))
    assert auc(*ranking) == pytest.approx((pairs * (above + tied / 2)).sum() / pairs.sum(), abs=1e-12)


@given(rankings())
@reproducible
def test_curve_equals_that_of_scikit_learn(ranking):
    scores, labels, weights = ranking
    present = weights > 0
    run, rise, thresholds = sklearn_roc_curve(
        labels[present], scores[present], sample_weight=weights[present], drop_intermediate=False
    )
    curve = roc_curve(*ranking)
    assert curve.false_positive_rate == pytest.approx(run, abs=1e-12)
    assert curve.true_positive_rate == pytest.approx(rise, abs=1e-12)
    assert np.array_equal(curve.scores, thresholds[1:])


@given(rankings(), st.booleans())
@reproducible
def test_hull_is_the_upper_hull_of_the_monotone_chain(ranking, merge_equal):
    curve = roc_curve(*ranking)
    chain = monotone_chain(points_of(curve), keep_collinear=not merge_equal)
    assert convex_hull(curve, merge_equal=merge_equal).bounds.tolist() == chain


@given(rankings())
@reproducible
def test_hull_adds_just_the_concavities_to_the_area(ranking):
    hull = convex_hull(roc_curve(*ranking))
    assert hull.auc >= hull.curve.auc - 1e-15
    assert hull.auc - hull.curve.auc == pytest.approx(hull.concavity_areas.sum(), abs=1e-12)
    assert np.all(hull.concavity_areas > 0)


@given(rankings())
@reproducible
def test_hull_probabilities_are_isotonic_regression(ranking):
    scores, labels, weights = ranking
    present = weights > 0
    scores, labels, weights = scores[present], labels[present], weights[present]
    ours = hull_probabilities(convex_hull(roc_curve(scores, labels, weights)), scores)
    theirs = IsotonicRegression().fit(scores, labels, sample_weight=weights).predict(scores)
    assert ours == pytest.approx(theirs, abs=1e-9)


@given(rankings())
@reproducible
def test_probability_follows_from_the_slope(ranking):
    hull = convex_hull(roc_curve(*ranking))
    odds = hull.curve.positives.sum() / hull.curve.negatives.sum()
    finite = np.isfinite(hull.slope)
    assert hull.probability[finite] == pytest.approx(
        hull.slope[finite] * odds / (hull.slope[finite] * odds + 1), abs=1e-12
    )
    assert np.all(hull.probability[~finite] == 1)
    steepness = np.diff(hull.vertices, axis=0)
    assert hull.slope[finite] == pytest.approx(steepness[finite, 1] / steepness[finite, 0])
    assert np.all(hull.probability[1:] < hull.probability[:-1])


@given(rankings())
@reproducible
def test_merges_lead_from_single_scores_to_the_smallest_pools(ranking):
    hull = convex_hull(roc_curve(*ranking), merge_equal=False)
    curve = hull.curve
    ends = set(range(len(curve.scores) + 1))

    def probability(start, stop):
        positive, negative = curve.positives[start:stop].sum(), curve.negatives[start:stop].sum()
        return Fraction(int(positive), int(positive + negative))

    for start, middle, stop in hull.merges.tolist():
        assert {start, middle, stop} <= ends
        assert not ends & (set(range(start + 1, stop)) - {middle})
        assert probability(start, middle) < probability(middle, stop)
        ends.remove(middle)
    assert sorted(ends) == hull.bounds.tolist()


@given(rankings(), st.integers(0, 2**31))
@reproducible
def test_nothing_depends_on_the_order_of_rows(ranking, seed):
    scores, labels, weights = ranking
    order = np.random.default_rng(seed).permutation(len(scores))
    one, other = (convex_hull(roc_curve(*rows)) for rows in (ranking, (scores[order], labels[order], weights[order])))
    assert one.curve.auc == pytest.approx(other.curve.auc, abs=1e-15)
    assert np.array_equal(one.bounds, other.bounds)
    assert np.array_equal(one.merges, other.merges)
    assert merging_steps(one) == merging_steps(other)


@given(rankings(), st.sampled_from([0.1, 1 / 3, 0.7, 1e-200, 1e100]))
@reproducible
def test_the_scale_of_weights_changes_no_pool(ranking, scale):
    scores, labels, weights = ranking
    for merge_equal in (True, False):
        plain = convex_hull(roc_curve(*ranking), merge_equal=merge_equal)
        scaled = convex_hull(roc_curve(scores, labels, weights * scale), merge_equal=merge_equal)
        assert np.array_equal(plain.bounds, scaled.bounds)
        assert np.array_equal(plain.merges, scaled.merges)


def test_pools_that_rounding_keeps_apart_are_one():
    """Weights in tenths have the pools of whole numbers; rounding alone would divide about 1 in 100 of them."""
    rng = np.random.default_rng(0)
    for _ in range(1000):
        positives, negatives = rng.integers(0, 4, (2, rng.integers(2, 7)))
        kept = positives + negatives > 0
        if positives.sum() and negatives.sum():
            steps = np.column_stack([negatives, positives])[kept].cumsum(axis=0).tolist()
            found = pool(0.1 * positives[kept], 0.1 * negatives[kept])
            assert found.tolist() == monotone_chain([(0, 0), *steps], keep_collinear=False), (positives, negatives)


@given(rankings())
@reproducible
def test_whole_weights_equal_copies(ranking):
    scores, labels, weights = ranking
    copies = np.repeat(np.arange(len(scores)), weights.astype(int))
    weighted, copied = convex_hull(roc_curve(*ranking)), convex_hull(roc_curve(scores[copies], labels[copies]))
    assert np.array_equal(weighted.bounds, copied.bounds)
    assert weighted.auc == pytest.approx(copied.auc, abs=1e-15)


@given(rankings(), st.sampled_from([None, LaplaceCorrection(), MEstimate(5, "observed")]), st.booleans())
@reproducible
def test_calibrated_probabilities_never_fall_as_scores_rise(ranking, smoothing, merge_equal):
    hull = convex_hull(roc_curve(*ranking), merge_equal=merge_equal)
    assert np.all(np.diff(segment_probabilities(hull, smoothing)) <= 1e-15)
    assert np.all(np.diff(hull_probabilities(hull, np.linspace(-9, 9, 73), smoothing)) >= -1e-15)


@given(rankings())
@reproducible
def test_a_turned_ranking_has_the_complementary_area(ranking):
    scores, labels, weights = ranking
    assert auc(-scores, labels, weights) == pytest.approx(1 - auc(*ranking), abs=1e-12)
    assert auc(-scores, 1 - labels, weights) == pytest.approx(auc(*ranking), abs=1e-12)


@each("seed", range(3))
def test_real_weights_agree_with_the_monotone_chain(seed):
    rng = np.random.default_rng(seed)
    scores, labels, weights = rng.integers(0, 80, 300), rng.integers(0, 2, 300), rng.lognormal(0, 3, 300)
    curve = roc_curve(scores, labels, weights)
    steps = zip(curve.negatives.tolist(), curve.positives.tolist(), strict=True)
    points = [(Fraction(0), Fraction(0))]
    for negative, positive in steps:
        points.append((points[-1][0] + Fraction(negative), points[-1][1] + Fraction(positive)))
    assert convex_hull(curve).bounds.tolist() == monotone_chain(points, keep_collinear=False)
    assert curve.auc == pytest.approx(roc_auc_score(labels, scores, sample_weight=weights), abs=1e-12)


def test_a_large_ranking_agrees_with_the_monotone_chain():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000).round(3)
    labels = rng.random(20_000) < 1 / (1 + np.exp(-scores))
    curve = roc_curve(scores, labels, rng.integers(0, 3, 20_000))
    for merge_equal in (True, False):
        chain = monotone_chain(points_of(curve), keep_collinear=not merge_equal)
        assert convex_hull(curve, merge_equal=merge_equal).bounds.tolist() == chain
