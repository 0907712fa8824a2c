"""One sentence and a direction for every metric that the report knows by name."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Entry:
    """How a metric is presented."""

    label: str
    better: Literal["lower", "higher", "none"]
    sentence: str


GLOSSARY: dict[str, Entry] = {
    "accuracy": Entry("Accuracy", "higher", "Share of rows whose most probable class is the observed one."),
    "nll": Entry(
        "Log loss (NLL)",
        "lower",
        "Mean of minus the logarithm of the probability given to the observed class; infinite if one got 0.",
    ),
    "brier": Entry(
        "Brier score",
        "lower",
        "Mean squared distance between the probabilities and the outcome, summed over classes; from 0 to 2.",
    ),
    "squared-error": Entry("Squared error", "lower", "Half the Brier score, from 0 to 1."),
    "ece": Entry(
        "ECE",
        "lower",
        "Expected calibration error: the gap between prediction and frequency, averaged over bins of equal width.",
    ),
    "ece-equal-mass": Entry("ECE, equal mass", "lower", "As ECE, but every bin holds the same share of the rows."),
    "ece-l2": Entry("ECE, root mean square", "lower", "As ECE, but gaps are squared, so that large ones weigh more."),
    "ece-max": Entry("ECE, maximum", "lower", "The largest gap of any bin, however few rows it holds."),
    "ece-debiased": Entry(
        "ECE, debiased",
        "lower",
        "The root-mean-square error without the part that chance adds; 0 if chance explains all.",
    ),
    "rms-debiased": Entry(
        "RMS error, debiased",
        "lower",
        "Root-mean-square gap between prediction and frequency, without what chance adds; it has a valid interval.",
    ),
    "rms-debiased-one-vs-rest": Entry(
        "RMS error, debiased, one against the rest",
        "lower",
        "As RMS error, debiased, for every class against the rest; squares are averaged over classes.",
    ),
    "rms-debiased-per-predicted-class": Entry(
        "RMS error, debiased, per predicted class",
        "lower",
        "As RMS error, debiased, in bins of the rows that are predicted as each class.",
    ),
    "ece-one-vs-rest": Entry(
        "ECE, one vs rest", "lower", "The ECE of every class against the rest, averaged over classes."
    ),
    "ece-per-predicted-class": Entry(
        "ECE, per predicted class", "lower", "The ECE within the rows predicted as each class, weighted by their share."
    ),
    "ece-chance": Entry(
        "ECE by chance", "none", "The ECE that a perfectly calibrated model with the same predictions would show."
    ),
    "ece-simplex": Entry(
        "ECE, all classes",
        "lower",
        "As ECE, for whole probability vectors in the cells of a grid; rough with more than a few classes.",
    ),
    "ece-simplex-median": Entry(
        "ECE, all classes, adaptive", "lower", "As ECE for whole probability vectors, in cells of at least ten rows."
    ),
    "kde-ece": Entry(
        "KDE-ECE", "lower", "As ECE, with the frequency among rows of similar prediction in place of bins."
    ),
    "kde-ece-per-predicted-class": Entry(
        "KDE-ECE, per predicted class",
        "lower",
        "The KDE-ECE within the rows predicted as each class, weighted by their share.",
    ),
    "kde-ece-one-vs-rest": Entry(
        "KDE-ECE, one vs rest", "lower", "The KDE-ECE of every class against the rest, averaged over classes."
    ),
    "dirichlet-ece": Entry(
        "Dirichlet ECE",
        "lower",
        "The KDE-ECE of whole probability vectors, summed over classes; mostly chance with many classes.",
    ),
    "smooth-ece": Entry(
        "Smooth ECE", "lower", "As ECE, with a kernel smoother whose width fits the size of the error."
    ),
    "ece-sweep": Entry(
        "ECE, sweep", "lower", "As ECE, equal mass, with as many bins as leave the frequencies in ascending order."
    ),
    "ecce": Entry(
        "ECCE", "lower", "The furthest that the running sum of outcomes minus predictions goes from 0; needs no bins."
    ),
    "ecce-range": Entry(
        "ECCE, range", "lower", "The largest net error of the predictions in any interval of them; needs no bins."
    ),
    "miscalibration": Entry(
        "Miscalibration", "lower", "What isotonic recalibration would take off the squared error (CORP)."
    ),
    "discrimination": Entry(
        "Discrimination", "higher", "What the order of the predictions takes off the squared error (CORP)."
    ),
    "refinement": Entry("Refinement loss", "lower", "The squared error that isotonic recalibration would leave."),
    "miscalibration-log": Entry(
        "Miscalibration, log", "lower", "What isotonic recalibration would take off the log loss (CORP)."
    ),
    "discrimination-log": Entry(
        "Discrimination, log", "higher", "What the order of the predictions takes off the log loss (CORP)."
    ),
    "reliability": Entry(
        "Reliability", "lower", "Murphy's calibration loss: the squared gap of prediction and frequency over bins."
    ),
    "resolution": Entry("Resolution", "higher", "The variance of the frequencies over bins (Murphy)."),
    "ici": Entry("ICI", "lower", "Integrated calibration index: the mean distance from a smooth calibration curve."),
    "e50": Entry("E50", "lower", "The median distance from a smooth calibration curve."),
    "e90": Entry("E90", "lower", "The distance from a smooth calibration curve that 90 % of the rows do not exceed."),
    "emax": Entry("Emax", "lower", "The largest distance of a prediction from a smooth calibration curve."),
    "cox-slope": Entry(
        "Calibration slope", "none", "Slope of recalibrated log-odds: 1 is right, below 1 is over-confident."
    ),
    "cox-intercept": Entry(
        "Calibration intercept", "none", "Intercept of recalibrated log-odds, fitted with the slope: 0 is right."
    ),
    "in-the-large": Entry(
        "Calibration in the large",
        "none",
        "Shift of log-odds that makes the mean right: 0 is right, positive if too low.",
    ),
    "oe-ratio": Entry(
        "O/E ratio", "none", "Observed over expected events: 1 is right, above 1 the predictions are too low."
    ),
    "skce": Entry(
        "SKCE", "lower", "Squared kernel calibration error over all classes at once; chance may take it below 0."
    ),
    "kce": Entry("KCE", "lower", "Root of the SKCE, with its sign."),
    "mmce": Entry("MMCE", "lower", "Kernel calibration error of the confidence alone; never below 0."),
    "ucme": Entry("UCME", "lower", "Squared mean deviation of labels from predictions near a few test locations."),
    "crps": Entry(
        "CRPS", "lower", "Continuous ranked probability score, in units of the values: rewards sharp and calibrated."
    ),
    "log-score": Entry("Log score", "lower", "Mean of minus the logarithm of the predicted density at the value."),
    "pinball": Entry("Pinball loss", "lower", "Loss of the predicted quantiles, averaged over levels."),
    "interval-score": Entry("Interval score", "lower", "Width of intervals plus a penalty for values outside."),
    "mace": Entry("MACE", "lower", "Mean absolute distance between nominal and observed coverage of quantiles."),
    "rmsce": Entry("RMSCE", "lower", "As MACE, with the root mean square over levels."),
    "mace-interval": Entry("MACE, intervals", "lower", "As MACE, for central intervals."),
    "ence": Entry(
        "ENCE", "lower", "Distance between predicted spread and size of errors, relative to the spread, over bins."
    ),
    "interval-coverage": Entry(
        "Interval coverage", "none", "Share of values in the predicted intervals; its level is right."
    ),
    "interval-width": Entry(
        "Interval width", "none", "Mean width of the predicted intervals: good only beside coverage."
    ),
    "sharpness": Entry("Sharpness", "none", "Root mean predicted variance: good only beside calibration."),
}


def describe(metric: str) -> Entry:
    """Return the entry of a metric; one that is not known goes by its name alone."""
    return GLOSSARY.get(metric, Entry(metric, "none", ""))
