"""Measures and curves: functions of labels and probabilities that return a number."""

import numpy as np

from peers.cases import Case

BINS = 15


def ours(name):
    def measure(d):
        from calibrant.metrics import METRICS

        return METRICS[name](d.labels, d.given)

    return measure


def chosen(build):
    """Return a measure with settings; `build` is called when it is needed."""
    return lambda d: build()(d.labels, d.given)


def netcal(name, **settings):
    def measure(d):
        import netcal.metrics as peer

        return getattr(peer, name)(**settings).measure(d.given, d.labels)

    return measure


def torchmetrics(norm):
    def measure(d):
        import torch
        from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

        probs, labels = torch.from_numpy(d.given), torch.from_numpy(d.labels)
        if d.binary:
            return float(binary_calibration_error(probs, labels, n_bins=BINS, norm=norm))
        return float(multiclass_calibration_error(probs, labels, d.shape[1], n_bins=BINS, norm=norm))

    return measure


def uncertainty(name, **settings):
    def measure(d):
        import calibration as peer

        return getattr(peer, name)(d.given, d.labels, **settings)

    return measure


def relplot(name, **settings):
    def measure(d):
        import relplot.metrics as peer

        return getattr(peer, name)(d.confidence, d.hits, **settings)

    return measure


def probmetrics(name):
    def measure(d):
        import torch
        from probmetrics.metrics import Metrics

        found = Metrics.from_names([name]).compute_all_from_labels_probs(
            torch.from_numpy(d.labels), torch.from_numpy(d.probs)
        )
        return float(found[name])

    return measure


def sklearn(name, **settings):
    def measure(d):
        import sklearn.metrics as peer

        return getattr(peer, name)(d.labels, d.given, **settings)

    return measure


def their_accuracy(d):
    from sklearn.metrics import accuracy_score

    return accuracy_score(d.labels, d.probs.argmax(axis=1))


def sklearn_curve(d):
    from sklearn.calibration import calibration_curve

    observed, predicted = calibration_curve(d.hits, d.confidence, n_bins=BINS)
    return float(np.abs(observed - predicted).max())


def our_curve(d):
    from calibrant import reliability_curve
    from calibrant.binning import EqualWidth

    curve = reliability_curve(d.labels, d.given, EqualWidth(BINS))
    return float(np.abs(curve.observed - curve.predicted).max())


def our_auc(d):
    from calibrant.roc import auc

    return auc(d.p1, d.labels)


def our_parts(d):
    from calibrant.metrics import Miscalibration

    return Miscalibration()(d.labels, d.given)


def their_parts(d):
    from model_diagnostics.scoring import SquaredError, decompose

    return decompose(d.hits, d.confidence, scoring_function=SquaredError())["miscalibration"][0]


def kde_by_kdepy(d):
    """Return the integral form of the KDE-ECE, on a grid of 2^12 points, by the FFT of KDEpy; mirrored at 0 and 1."""
    from KDEpy import FFTKDE

    grid, h = np.linspace(-1.0, 2.0, 3 * 2**12), bandwidth(d)
    everywhere = np.concatenate([-d.confidence, d.confidence, 2 - d.confidence])
    happened = everywhere[np.tile(d.hits == 1, 3)]
    density = FFTKDE(kernel="triweight", bw=h / 3).fit(everywhere).evaluate(grid)
    hits = FFTKDE(kernel="triweight", bw=h / 3).fit(happened).evaluate(grid) * d.hits.mean()
    inside = (grid >= 0) & (grid <= 1) & (density > 0)
    gap = np.abs(hits[inside] - grid[inside] * density[inside])
    return float(3 * gap.sum() * (grid[1] - grid[0]))


def kde_integral(d):
    from calibrant.metrics import KdeECE

    return KdeECE(kernel="triweight", bandwidth=bandwidth(d), form="integral")(d.labels, d.given)


def bandwidth(d):
    return float(1.06 * d.confidence.std() * len(d.labels) ** -0.2 * 3)


def forecasts(d):
    from calibrant import Forecasts, Normal

    return Forecasts(Normal(d.loc, d.scale), d.targets)


def our_ence(d):
    from calibrant.binning import EqualWidth
    from calibrant.metrics import ENCE

    return ENCE(EqualWidth(10))(forecasts(d))


def their_ence(d):
    from netcal.metrics import ENCE

    return float(np.mean(ENCE(bins=10).measure((d.loc, d.scale), d.targets)))


def our_crps(d):
    from calibrant import Forecasts, Samples
    from calibrant.metrics import CRPS

    return CRPS()(Forecasts(Samples(d.draws), d.targets))


def their_crps(d):
    import torch
    from torchmetrics.functional.regression import continuous_ranked_probability_score

    return float(continuous_ranked_probability_score(torch.from_numpy(d.draws), torch.from_numpy(d.targets)))


def _equal_mass():
    from calibrant.binning import EqualMass
    from calibrant.metrics import ECE

    return ECE(EqualMass(BINS))


MEASURES = (
    Case("ece", "netcal", ours("ece"), netcal("ECE", bins=BINS)),
    Case("ece", "torchmetrics", ours("ece"), torchmetrics("l1"), note="single precision inside"),
    Case("ece", "uncertainty-calibration", ours("ece"), uncertainty("get_ece", num_bins=BINS), "classes"),
    Case("ece", "relplot", ours("ece"), relplot("binnedECE", nbins=BINS), note="is handed the confidences"),
    Case("ece", "probmetrics", ours("ece"), probmetrics("ece-15"), "classes"),
    Case("ece-l2", "torchmetrics", ours("ece-l2"), torchmetrics("l2")),
    Case("ece-max", "torchmetrics", ours("ece-max"), torchmetrics("max")),
    Case("ece-max", "netcal", ours("ece-max"), netcal("MCE", bins=BINS)),
    Case("ece-equal-mass", "uncertainty-calibration", chosen(_equal_mass), uncertainty("get_ece_em"), "classes"),
    Case(
        "ece-one-vs-rest",
        "uncertainty-calibration",
        ours("ece-one-vs-rest"),
        uncertainty("get_ece", num_bins=BINS, mode="marginal"),
        "classes",
    ),
    Case(
        "ece-debiased",
        "uncertainty-calibration",
        ours("ece-debiased"),
        uncertainty("lower_bound_scaling_top_ce"),
        "classes",
        note="equal-mass bins there, equal-width bins here",
    ),
    Case("smooth-ece", "relplot", ours("smooth-ece"), relplot("smECE"), note="too large there, see disagreements"),
    Case("smooth-ece", "probmetrics", ours("smooth-ece"), probmetrics("smece"), note="calls relplot"),
    Case("kde-ece, integral", "KDEpy", kde_integral, kde_by_kdepy, note="the recipe of Mix-n-Match, mirrored"),
    Case("mmce", "netcal", ours("mmce"), netcal("MMCE"), "classes"),
    Case("miscalibration", "model-diagnostics", our_parts, their_parts),
    Case("nll", "scikit-learn", ours("nll"), sklearn("log_loss")),
    Case("brier", "scikit-learn", ours("brier"), sklearn("brier_score_loss", scale_by_half=False)),
    Case("accuracy", "scikit-learn", ours("accuracy"), their_accuracy, note="argmax, then accuracy_score"),
    Case("auc", "scikit-learn", our_auc, sklearn("roc_auc_score"), "binary"),
    Case("crps of 20 draws", "torchmetrics", our_crps, their_crps, "binary"),
    Case("ence", "netcal", our_ence, their_ence, "binary"),
    Case("reliability_curve", "scikit-learn", our_curve, sklearn_curve, note="limits and histogram here, points there"),
)
