r"""
From a tree to the convex hull
==============================

The course notes on class-probability estimation (クラス確率の推定), step by step: a probability estimation tree, the
squared error and its two parts, smoothed counts, and a ranker that is calibrated by the convex hull of its ROC
curve. The numbers are those of the notes; :doc:`/errata` lists their errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions
from calibrant.counts import LaplaceCorrection, MEstimate, laplace, m_estimate, relative_frequency
from calibrant.metrics import SquaredError, segment_decomposition
from calibrant.plots import plot_calibration_map, plot_roc, plot_tree
from calibrant.roc import auc, calibration_map, convex_hull, hull_probabilities, merging_steps, roc_curve
from calibrant.trees import ProbabilityTree, decide, draw_tree, tree_diagram

# %%
# A tree whose leaves are probabilities
# -------------------------------------
# For a hundred mails, we know whether they contain two words. Two mails are *similar* if they fall into the same
# leaf. The prediction is the share of spam among similar mails.

words = np.array([[0, 0]] * 60 + [[0, 1]] * 15 + [[1, 0]] * 25)
mails = np.repeat(["spam", "ham", "spam", "ham", "spam", "ham"], [20, 40, 10, 5, 20, 5])
tree = ProbabilityTree().fit(words, mails)
print(draw_tree(tree, ["Viagra", "lottery"]))

fig, ax = plt.subplots(figsize=(7, 4))
plot_tree(tree_diagram(tree, ["Viagra", "lottery"]), ax=ax)

# %%
# There are two extremes of similarity. If all mails are similar, every mail gets the base rate. If only equal mails
# are similar and no two are equal, the tree has memorised the labels.

alike = ProbabilityTree(max_leaf_nodes=1).fit(words, mails)
print("all alike:", alike.predict_proba(words[:1]), " decisions of the tree:", decide([0.33, 0.67, 0.80]).tolist())

# %%
# The squared error of every leaf
# -------------------------------
# .. math:: \mathrm{SE}(x) = \tfrac12 \sum_i (\hat p_i(x) - I[c(x) = C_i])^2
#
# summed over the rows of each leaf: 13.33, 3.33 and 4.00, with a mean of 0.21.

p = Predictions(tree.predict_proba(words), mails, classes=tree.classes_)
leaves = segment_decomposition(p, tree.apply(words))
print("leaves:", leaves.squared_error.round(2), " mean:", round(SquaredError()(p), 4))

# %%
# It has two parts: *calibration loss* (distance between predicted and empirical probability) and *refinement loss*
# (what remains when both agree). Predicting the empirical probability of the leaf makes the first 0. Any other
# prediction costs exactly the squared distance:

shifted = Predictions(np.clip(p.positive + 0.1, 0, 1), p.labels)
for name, predictions in {"as it is": p, "0.1 higher": shifted}.items():
    parts = segment_decomposition(predictions, tree.apply(words)).mean
    print(f"{name:>10}: {parts.squared_error:.4f} = {parts.calibration:.4f} + {parts.refinement:.4f}")

# %%
# Small counts
# ------------
# A leaf with two spam mails and no other mail proves little. The *Laplace correction* adds one pseudo-count per class;
# the *m-estimate* adds m pseudo-counts in the proportions of a prior. It is the Laplace correction if m = K and the
# prior is uniform.

for counts in ([2, 0], [20, 5], [200, 50]):
    print(counts, relative_frequency(counts), laplace(counts).round(3), m_estimate(counts, 4, [0.9, 0.1]).round(3))
print(np.allclose(m_estimate([20, 5], 2, [0.5, 0.5]), laplace([20, 5])))
smoothed = ProbabilityTree(MEstimate(4, "observed")).fit(words, mails)
print("leaves, m-estimate:", smoothed.leaf_probs_[:, 1].round(3))

# %%
# A ranker
# --------
# A spam filter whose scores have an unknown scale can only *rank*. In descending order of its scores the mails are
# 1-1-0-1-1-0-1-1-0-0. These are not probabilities, because they do not fall with the scores. Pooling adjacent violators
# repairs this; each pool is a straight segment of the convex hull of the ROC curve.

scores = np.arange(10, 0, -1)
classes = np.array([1, 1, 0, 1, 1, 0, 1, 1, 0, 0])
curve = roc_curve(scores, classes)
hull = convex_hull(curve, merge_equal=False)
print(*merging_steps(hull), sep="\n")
fixed = hull_probabilities(hull, scores)
print(f"AUC {auc(scores, classes):.2f} before, {auc(fixed, classes):.2f} after")

fig, ax = plt.subplots(figsize=(4.5, 4.5))
plot_roc(curve, hull, ax=ax)

# %%
# Calibrated probabilities
# ------------------------
# The empirical probability of each segment is the calibrated score of its rows. Its squared error is 0.13, all of it
# refinement loss. With the Laplace correction, the map stays away from 0 and 1, which ten rows cannot justify: 2/3,
# 3/5, 3/5, 1/3.

print("probabilities:", fixed.round(3), " squared error:", round(SquaredError()(Predictions(fixed, classes)), 3))
print("with Laplace: ", hull_probabilities(hull, scores, LaplaceCorrection()).round(3))

fig, ax = plt.subplots(figsize=(5, 4))
plot_calibration_map([calibration_map(hull), calibration_map(hull, LaplaceCorrection())], ax=ax)

# %%
# For new scores, use the calibrator :class:`~calibrant.calibrators.ROCConvexHull`. It follows the ten labels
# closely, so fit it to separate rows, as many as you have.
