"""
A scikit-learn classifier
=========================

Two classifiers that are wrong in opposite directions, their reliability curves, and a calibrated model that is trained
and used like any other classifier.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB

from calibrant import Predictions, assess, scorer
from calibrant.calibrators import CalibratedModel
from calibrant.curves import isotonic_curve
from calibrant.plots import plot_reliability

X, y = make_classification(3000, n_features=12, n_informative=4, n_redundant=6, flip_y=0.1, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=1500, random_state=0)

# %%
# Before
# ------
models = {"naive Bayes": GaussianNB(), "forest": RandomForestClassifier(30, min_samples_leaf=20, random_state=0)}
fig, axes = plt.subplots(1, 2, figsize=(8.5, 4))
for ax, (name, model) in zip(axes, models.items(), strict=True):
    p = Predictions.from_estimator(model.fit(X, y), X_test, y_test)
    print(f"{name}: {assess(p, sections=(), rng=0).verdict.headline}")
    plot_reliability(isotonic_curve(p, n_resamples=99, rng=0), ax=ax)
    ax.set_title(name)
fig.tight_layout()

# %%
# After
# -----
# ``CalibratedModel`` scores every training row with a model that was not trained on it, fits one calibrator to these
# scores, and trains the classifier on all rows. It takes any name in ``CALIBRATORS``, or a calibrator.

fig, axes = plt.subplots(1, 2, figsize=(8.5, 4))
for ax, (name, model) in zip(axes, models.items(), strict=True):
    calibrated = CalibratedModel(model, "beta").fit(X, y)
    p = Predictions.from_estimator(calibrated, X_test, y_test)
    print(f"{name}, calibrated: {assess(p, sections=(), rng=0).verdict.headline}")
    plot_reliability(isotonic_curve(p, n_resamples=99, rng=0), ax=ax)
    ax.set_title(f"{name}, calibrated")
fig.tight_layout()

# %%
# In a search
# -----------
# Measures can be used as scorers. Choose by proper scores: calibration errors alone would choose a model that predicts
# the base rate.

for name in ("nll", "ece"):
    print(name, cross_val_score(GaussianNB(), X, y, scoring=scorer(name), cv=3).round(3))
