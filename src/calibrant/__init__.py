"""Measure, test, fix and show the calibration of predicted probabilities.

With labels and probabilities, in the order of scikit-learn::

    calibrant.measure(y_true, y_prob, metrics=("ece", "brier"))  # numbers
    calibrant.test(y_true, y_prob)                               # could it be chance?
    calibrant.fix(y_true, y_prob).predict_proba(new)             # the recommended calibrator, fitted
    calibrant.show(y_true, y_prob, out="report.html")            # one page about all of it

`assess` gives the verdict in words, `interval` confidence limits, `compare` several models, `recommend` advice, and
`ReliabilityDisplay` a figure. `Predictions` holds probabilities, labels and weights, checked once, and everything takes
it in place of two arrays; `Forecasts` holds predictive distributions. Names of what can be chosen are in
`calibrant.metrics.METRICS`, `calibrant.hypotest.TESTS` and `calibrant.calibrators.CALIBRATORS`.
"""

from calibrant._border.lazy import from_stub

__version__ = "0.1.0"

# Names are imported when they are first used, so that `import calibrant` stays light. The distributions of forecasts
# are listed in their own room only: more than half of `help(calibrant)` would be about what they inherit.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__, unlisted="calibrant.forecasts")
