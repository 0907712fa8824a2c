"""ROC curve, area under it and convex hull: the worked example, ties, weights, bad input."""

import numpy as np
import pandas as pd
import pytest

from calibrant import InputError, Predictions
from calibrant.counts import LaplaceCorrection, MEstimate, RelativeFrequency
from calibrant.metrics import SquaredError
from calibrant.metrics.decomposition import segment_decomposition
from calibrant.roc import auc, convex_hull, hull_probabilities, roc_curve, segment_probabilities
from calibrant.roc.merging import merging_steps
from naming import each

RANKING = [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]
"""The ten labels of the document, from the highest score to the lowest."""

SCORES = [0.95, 0.9, 0.85, 0.7, 0.6, 0.55, 0.5, 0.4, 0.3, 0.1]
"""Scores of our own: the document shows its only in a picture."""


def hull_of(labels, weights=None, **options):
    return convex_hull(roc_curve(np.arange(len(labels), 0, -1), labels, weights), **options)


class TestTheDocument:
    def test_area_of_the_ranking_and_of_its_hull(self):
        hull = hull_of(RANKING)
        assert auc(SCORES, RANKING) == pytest.approx(0.75)
        assert hull.curve.auc == pytest.approx(0.75)
        assert hull.auc == pytest.approx(20 / 24)
        assert round(hull.auc, 2) == 0.83

    def test_hull_vertices_slopes_and_probabilities(self):
        hull = hull_of(RANKING)
        assert hull.vertices == pytest.approx(np.array([[0, 0], [0, 1 / 3], [1 / 2, 1], [1, 1]]))
        assert hull.slope == pytest.approx([np.inf, 4 / 3, 0])
        assert hull.probability == pytest.approx([1, 2 / 3, 0])
        assert hull.positives.tolist() == [2, 4, 0]
        assert hull.negatives.tolist() == [0, 2, 2]
        assert hull.upper.tolist() == [10, 8, 2]
        assert hull.lower.tolist() == [9, 3, 1]

    def test_there_are_two_concavities(self):
        hull = hull_of(RANKING)
        assert hull.concavities.tolist() == [[2, 5], [5, 8]]
        assert hull.concavity_areas == pytest.approx([1 / 24, 1 / 24])

    def test_steps_of_the_merging(self):
        steps = merging_steps(hull_of(RANKING))
        assert steps == [
            "1-1-0-1-1-0-1-1-0-0",
            "1-1-[1/2-1/2]-1-0-1-1-0-0",
            "1-1-[2/3-2/3-2/3]-0-1-1-0-0",
            "1-1-[2/3-2/3-2/3]-[1/2-1/2]-1-0-0",  # The document treats the second concavity in one go.
            "1-1-[2/3-2/3-2/3]-[2/3-2/3-2/3]-0-0",
        ]

    def test_after_calibration_all_error_is_refinement_loss(self):
        hull = convex_hull(roc_curve(SCORES, RANKING))
        p = Predictions(hull_probabilities(hull, SCORES), RANKING)
        parts = segment_decomposition(p, np.repeat([0, 1, 2], [2, 6, 2])).mean
        assert parts.squared_error == pytest.approx(4 / 30)
        assert round(parts.squared_error, 2) == 0.13
        assert parts.refinement == pytest.approx(4 / 30)
        assert parts.calibration == pytest.approx(0, abs=1e-15)
        assert parts.within == 0

    def test_before_calibration_all_error_is_calibration_loss(self):
        p = Predictions(SCORES, RANKING)
        parts = segment_decomposition(p, range(10)).mean
        assert parts.squared_error == pytest.approx(SquaredError()(p))
        assert parts.calibration == pytest.approx(parts.squared_error)
        assert parts.refinement == 0
        assert parts.squared_error > 4 / 30

    def test_laplace_with_equal_neighbours_apart(self):
        hull = hull_of(RANKING, merge_equal=False)
        expected = [2 / 3, 2 / 3, 3 / 5, 3 / 5, 1 / 3, 1 / 3]
        assert segment_probabilities(hull, LaplaceCorrection()) == pytest.approx(expected)
        assert np.diff(hull.bounds).tolist() == [1, 1, 3, 3, 1, 1]

    def test_laplace_with_equal_neighbours_merged(self):
        hull = convex_hull(roc_curve(SCORES, RANKING))
        assert segment_probabilities(hull, LaplaceCorrection()) == pytest.approx([3 / 4, 5 / 8, 1 / 4])
        rows = hull_probabilities(hull, SCORES, LaplaceCorrection())
        assert rows == pytest.approx(np.repeat([3 / 4, 5 / 8, 1 / 4], [2, 6, 2]))

    def test_m_estimate_with_the_share_of_positives_as_prior(self):
        by_hand = [(2 + 0.6) / 3, (4 + 0.6) / 7, 0.6 / 3]
        for prior in ("observed", [0.4, 0.6]):
            assert segment_probabilities(hull_of(RANKING), MEstimate(1, prior)) == pytest.approx(by_hand)

    def test_both_ways_of_cutting_have_the_same_hull(self):
        merged, apart = hull_of(RANKING), hull_of(RANKING, merge_equal=False)
        assert merged.auc == pytest.approx(apart.auc)
        assert np.array_equal(merged.concavities, apart.concavities)
        assert hull_probabilities(merged, range(1, 11)) == pytest.approx(hull_probabilities(apart, range(1, 11)))


def test_no_smoothing_is_the_relative_frequency():
    hull = hull_of(RANKING)
    assert np.array_equal(segment_probabilities(hull), segment_probabilities(hull, RelativeFrequency()))
    assert segment_probabilities(hull) == pytest.approx(hull.probability)


def test_smoothing_that_reverses_small_and_large_segments_is_put_in_order():
    labels = [1, *[0] * 10, *[1] * 89, 0]  # A pool of one positive above a pool of 89 in 99.
    hull = hull_of(labels)
    assert (hull.positives + hull.negatives).tolist() == [1, 99, 1]
    laplace = np.array([2 / 3, 90 / 101, 1 / 3])
    assert laplace[0] < laplace[1]
    joint = (laplace[0] + 99 * laplace[1]) / 100
    assert segment_probabilities(hull, LaplaceCorrection()) == pytest.approx([joint, joint, 1 / 3])


def test_a_perfect_ranking_and_a_reversed_one():
    perfect = hull_of([1, 1, 0, 0])
    assert (perfect.curve.auc, perfect.auc, perfect.probability.tolist()) == (1.0, 1.0, [1.0, 0.0])
    assert len(perfect.merges) == len(perfect.concavities) == 0
    reverse = hull_of([0, 0, 1, 1])
    assert (reverse.curve.auc, reverse.auc, reverse.probability.tolist()) == (0.0, 0.5, [0.5])
    assert reverse.concavity_areas.tolist() == [0.5]


def test_one_score_for_all_is_the_diagonal():
    hull = convex_hull(roc_curve([3, 3, 3, 3], [1, 0, 0, 0]))
    assert hull.curve.auc == hull.auc == 0.5
    assert hull.vertices.tolist() == [[0, 0], [1, 1]]
    assert hull.probability.tolist() == [0.25]
    assert len(hull.concavities) == 0
    assert merging_steps(hull) == ["[1/4-1/4-1/4-1/4]"]


def test_infinite_scores_have_their_place():
    assert auc([np.inf, 2, -np.inf, -np.inf], [1, 0, 1, 0]) == pytest.approx(2.5 / 4)
    hull = convex_hull(roc_curve([np.inf, 2, -np.inf], [1, 1, 0]))
    assert hull_probabilities(hull, [np.inf, 5, 2, 0, -np.inf]).tolist() == [1, 1, 1, 0.5, 0]


def test_only_the_order_of_scores_counts_also_for_new_ones():
    known, new = np.array([5.0, 4, 3, 2, 1]), np.array([6, 5, 4.5, 4, 3.5, 1.5, 0])
    labels = [1, 0, 1, 1, 0]
    plain = hull_probabilities(convex_hull(roc_curve(known, labels)), new)
    warped = hull_probabilities(convex_hull(roc_curve(np.exp(known), labels)), np.exp(new))
    assert plain == pytest.approx([1, 1, 5 / 6, 2 / 3, 2 / 3, 1 / 3, 0])
    assert np.array_equal(plain, warped)


def test_weighted_steps_are_written_as_decimals():
    hull = convex_hull(roc_curve([2, 1], [0, 1], [0.5, 1.5]))
    assert merging_steps(hull) == ["0-1", "[0.75-0.75]"]


def test_rows_without_weight_are_absent():
    curve = roc_curve([4, 3, 2, 1], [1, 0, 1, 0], [1, 0, 1, 1])
    assert curve.scores.tolist() == [4, 2, 1]
    assert curve.auc == 1


def test_containers_and_kinds_of_labels_agree():
    expected = auc(SCORES, RANKING)
    assert auc(pd.Series(SCORES), pd.Series(RANKING).astype(bool)) == expected
    assert auc(np.array(SCORES)[:, None], np.array(RANKING, dtype=float)[:, None]) == expected


@each("label", [0, 1])
@each("function", [roc_curve, auc])
def test_one_class_has_no_area(function, label):
    with pytest.raises(InputError, match=f"both classes, but all rows with positive weight are {label}"):
        function([1, 2, 3], [label] * 3)
    with pytest.raises(InputError, match=f"both classes, but all rows with positive weight are {label}"):
        function([1, 2, 3], [label, label, 1 - label], [1, 1, 0])


@each(
    "scores, labels, weights, kind, message",
    [
        ([1, np.nan, 3], [0, 1, 1], None, InputError, r"row 1 is nan \(1 of 3"),
        ([[1, 2], [3, 4]], [0, 1], None, InputError, r"one number per row, but have shape \(2, 2\)"),
        ([1, 2, 3], [0, 1], None, InputError, "2 labels and 3 rows"),
        ([1, 2], [0, 2], None, InputError, "0 or 1, or booleans, but row 1 is 2"),
        ([1, 2], [-1, 1], None, InputError, "row 0 is -1"),
        ([1, 2], ["ham", "spam"], None, InputError, "row 0 is 'ham'.*labels == name"),
        ([1, 2], np.array(["ham", "spam"]), None, InputError, "row 0 is 'ham'"),
        ([1, 2], [0, np.nan], None, InputError, "row 1 is nan"),
        ([1, 2], [[1, 0], [0, 1]], None, InputError, r"shape \(2, 2\)"),
        ([1, 2], [0, 1], [1, -1], InputError, "weights must be finite and not negative"),
        ([1, 2], [0, 1], [1], InputError, "1 weights and 2 rows"),
        (["a", "b"], [0, 1], None, TypeError, "scores must hold numbers"),
        ([], [], None, InputError, "at least one row"),
    ],
)
def test_bad_input(scores, labels, weights, kind, message):
    with pytest.raises(kind, match=message):
        auc(scores, labels, weights)


def test_misaligned_series_are_refused():
    scores = pd.Series([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="same order"):
        auc(scores, pd.Series([0, 1, 1], index=[2, 1, 0]))
    with pytest.raises(InputError, match="same order"):
        auc(scores, [0, 1, 1], pd.Series([1, 1, 2], index=[2, 1, 0]))


def test_smoothing_must_be_a_rule():
    with pytest.raises(TypeError, match="smoothing must be None or a rule"):
        segment_probabilities(hull_of(RANKING), "laplace")
