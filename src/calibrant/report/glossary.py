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
    "ece-classwise": Entry(
        "ECE, class-wise", "lower", "The ECE of every class against the rest, averaged over classes."
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
    "kde-ece": Entry("KDE-ECE", "lower", "As ECE, with a smooth density estimate in place of bins."),
    "kde-ece-classwise": Entry(
        "KDE-ECE, class-wise", "lower", "The KDE-ECE within the rows predicted as each class, weighted by their share."
    ),
    "kde-ece-multiclass": Entry(
        "KDE-ECE, multi-class", "lower", "The KDE-ECE of every class against the rest, averaged over classes."
    ),
    "smooth-ece": Entry(
        "Smooth ECE", "lower", "As ECE, with a kernel smoother whose width fits the size of the error."
    ),
    "skce": Entry(
        "SKCE", "lower", "Squared kernel calibration error over all classes at once; chance may take it below 0."
    ),
    "kce": Entry("KCE", "lower", "Root of the SKCE, with its sign."),
    "mmce": Entry("MMCE", "lower", "Kernel calibration error of the confidence alone; never below 0."),
    "ucme": Entry("UCME", "lower", "Squared mean deviation of labels from predictions near a few test locations."),
}


def describe(metric: str) -> Entry:
    """Return the entry of a metric; one that is not known goes by its name alone."""
    return GLOSSARY.get(metric, Entry(metric, "none", ""))
