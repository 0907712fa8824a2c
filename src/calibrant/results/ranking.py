"""Results about ranking: ROC curves, their hulls and the maps that follow from them; and probability trees."""

from dataclasses import dataclass
from typing import Literal

from calibrant._border.types import FloatArray, IntArray
from calibrant.results.readable import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ROCCurve(Readable):
    """True against false positive rate of a ranking, from the highest score to the lowest.

    Attributes
    ----------
    scores : ndarray of shape (m,)
        The distinct scores, descending. Rows with the same score are one step of the curve.
    count : ndarray of shape (m,)
        Number of rows at each score.
    positives, negatives : ndarray of shape (m,)
        Weight of these rows, by class.
    false_positive_rate, true_positive_rate : ndarray of shape (m + 1,)
        The points of the curve, from (0, 0) to (1, 1). Point j is reached if the first j scores are called positive.
    auc : float
        Area under the curve.
    """

    scores: FloatArray
    count: IntArray
    positives: FloatArray
    negatives: FloatArray
    false_positive_rate: FloatArray
    true_positive_rate: FloatArray
    auc: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ConvexHull(Readable):
    """Upper convex hull of a ROC curve, segment by segment, from the highest scores to the lowest.

    Attributes
    ----------
    curve : ROCCurve
        The curve that the hull encloses.
    bounds : ndarray of shape (s + 1,)
        Points of the curve that the hull goes through: segment i covers the scores bounds[i] to bounds[i + 1] - 1.
    vertices : ndarray of shape (s + 1, 2)
        Their false and true positive rates.
    lower, upper : ndarray of shape (s,)
        Lowest and highest score of each segment.
    positives, negatives : ndarray of shape (s,)
        Weight in each segment, by class.
    slope : ndarray of shape (s,)
        Descending; infinite where a segment holds no negatives.
    probability : ndarray of shape (s,)
        The empirical probability of each segment, positives / (positives + negatives).
    auc : float
        Area under the hull.
    concavities : ndarray of shape (c, 2)
        The dents that the hull removed: the curve lies below it between the points of each row, and touches it there.
    concavity_areas : ndarray of shape (c,)
        The area of each dent; together they are what the hull adds to the area under the curve.
    merges : ndarray of shape (t, 3)
        The steps of the merging of adjacent violators, in order. A row (a, b, c) merges the pool of the scores a to
        b - 1 with that of the scores b to c - 1, which followed it with a higher probability.
    """

    curve: ROCCurve
    bounds: IntArray
    vertices: FloatArray
    lower: FloatArray
    upper: FloatArray
    positives: FloatArray
    negatives: FloatArray
    slope: FloatArray
    probability: FloatArray
    auc: float
    concavities: IntArray
    concavity_areas: FloatArray
    merges: IntArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ROCOutline(Readable):
    """A ROC curve and its hull, with few enough points to be drawn and written out.

    Attributes
    ----------
    false_positive_rate, true_positive_rate : ndarray of shape (m,)
        Points of the curve, from (0, 0) to (1, 1).
    score : ndarray of shape (m,)
        At each point, the lowest score that is called positive; infinite at the first.
    hull : ndarray of shape (s, 2)
        Corners of the hull.
    auc, hull_auc : float
        Areas under the full curve and under its hull.
    view : {"class", "top-label"}
        What is ranked: class 1, or that the most probable class is right.
    """

    false_positive_rate: FloatArray
    true_positive_rate: FloatArray
    score: FloatArray
    hull: FloatArray
    auc: float
    hull_auc: float
    view: Literal["class", "top-label"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CalibrationMap(Readable):
    """A non-decreasing map from scores to probabilities: constant on segments, and halfway between two of them.

    Attributes
    ----------
    name : str
        The method by which the probabilities were estimated.
    lower, upper : ndarray of shape (s,)
        Lowest and highest score of each segment, ascending.
    probability : ndarray of shape (s,)
        Probability of the positive class in each segment.
    count : ndarray of shape (s,)
        Number of rows behind each segment.
    positives, negatives : ndarray of shape (s,)
        Their weight, by class.
    """

    name: str
    lower: FloatArray
    upper: FloatArray
    probability: FloatArray
    count: IntArray
    positives: FloatArray
    negatives: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TreeDiagram(Readable):
    """A probability tree, ready to be drawn.

    Attributes
    ----------
    questions : tuple of length n_nodes
        What is asked at each node; empty at leaves. Node 0 is the root.
    left, right : ndarray of shape (n_nodes,)
        The node that the answers yes and no lead to; -1 at leaves.
    leaf : ndarray of shape (n_nodes,)
        Number of each leaf, from left to right; -1 at other nodes.
    classes : tuple of length K
    counts, probs : ndarray of shape (n_leaves, K)
        Weight of the training rows of each class, and its probability.
    decisions : tuple of length n_leaves
        The class that is predicted.
    """

    questions: tuple[str, ...]
    left: IntArray
    right: IntArray
    leaf: IntArray
    classes: tuple[str, ...]
    counts: FloatArray
    probs: FloatArray
    decisions: tuple[str, ...]
