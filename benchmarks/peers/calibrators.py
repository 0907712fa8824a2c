"""Calibrators: fitted to the first half of the rows, applied to the second."""

import numpy as np

from peers.cases import Case


def ours(name):
    def calibrated(d):
        from calibrant.calibrators import parse

        h = d.half
        return parse(name).fit(d.given[:h], d.labels[:h]).predict_proba(d.given[h:])

    return calibrated


def scikit_learn(method):
    def calibrated(d):
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        class Given(ClassifierMixin, BaseEstimator):
            """A classifier whose inputs are its probabilities."""

            def fit(self, x, y):  # noqa: ARG002 (the contract of scikit-learn)
                self.classes_ = np.arange(x.shape[1])
                return self

            def predict_proba(self, x):
                return x

            def predict(self, x):
                return x.argmax(axis=1)

        h = d.half
        model = FrozenEstimator(Given().fit(d.probs, d.labels))
        return CalibratedClassifierCV(model, method=method).fit(d.probs[:h], d.labels[:h]).predict_proba(d.probs[h:])

    return calibrated


def netcal(room, name, **settings):
    def calibrated(d):
        import importlib

        h = d.half
        peer = getattr(importlib.import_module(f"netcal.{room}"), name)(**settings)
        peer.fit(d.given[:h], d.labels[:h])
        return both(peer.transform(d.given[h:]))

    return calibrated


def probmetrics(name):
    def calibrated(d):
        from probmetrics.calibrators import (
            ETSCalibrator,
            MatrixScalingCalibrator,
            TemperatureScalingCalibrator,
            VectorScalingCalibrator,
            get_calibrator,
        )

        own = {
            "ts": TemperatureScalingCalibrator,
            "vs": VectorScalingCalibrator,
            "ms": MatrixScalingCalibrator,
            "ets": ETSCalibrator,
        }
        h = d.half
        peer = own[name]() if name in own else get_calibrator(name)
        return peer.fit(d.probs[:h], d.labels[:h]).predict_proba(d.probs[h:])

    return calibrated


def betacal(d):
    from betacal import BetaCalibration

    h = d.half
    return both(BetaCalibration("abm").fit(d.p1[:h, None], d.labels[:h]).predict(d.p1[h:, None]))


def venn_abers(d):
    from venn_abers import VennAbersCalibrator

    h = d.half
    return VennAbersCalibrator().predict_proba(
        p_cal=d.probs[:h], y_cal=d.labels[:h], p_test=d.probs[h:], p0_p1_output=False, va_type="one_vs_all"
    )


def uncertainty(name):
    def calibrated(d):
        import calibration as peer

        h = d.half
        found = getattr(peer, name)(h, num_bins=15)
        found.train_calibration(d.probs[:h], d.labels[:h])
        return found.calibrate(d.probs[h:])

    return calibrated


def logistic_regression(d):
    from sklearn.linear_model import LogisticRegression

    h, logs = d.half, np.log(np.maximum(d.probs, 1e-300))
    return LogisticRegression(C=np.inf, max_iter=1000).fit(logs[:h], d.labels[:h]).predict_proba(logs[h:])


def both(p):
    """Return the probabilities of both classes."""
    p = np.asarray(p)
    return np.column_stack([1 - p, p]) if p.ndim == 1 else p


CALIBRATORS = (
    Case("ts", "scikit-learn", ours("ts"), scikit_learn("temperature")),
    Case("ts", "netcal", ours("ts"), netcal("scaling", "TemperatureScaling")),
    Case("ts", "probmetrics", ours("ts"), probmetrics("ts")),
    Case("vs", "probmetrics", ours("vs"), probmetrics("vs"), "classes"),
    Case("vs", "netcal", ours("vs"), netcal("scaling", "LogisticCalibration"), "classes"),
    Case("ms", "probmetrics", ours("ms"), probmetrics("ms"), "classes"),
    Case("ms", "scikit-learn", ours("ms"), logistic_regression, "classes", "logistic regression on log p"),
    Case("svs", "probmetrics", ours("svs"), probmetrics("svs"), "classes"),
    Case("sms", "probmetrics", ours("sms"), probmetrics("sms"), "classes"),
    Case("ets", "probmetrics", ours("ets"), probmetrics("ets"), "classes"),
    Case("platt", "scikit-learn", ours("platt"), scikit_learn("sigmoid"), "binary"),
    Case("platt", "netcal", ours("platt"), netcal("scaling", "LogisticCalibration"), "binary"),
    Case("quadratic", "probmetrics", ours("quadratic"), probmetrics("quadratic-scaling"), "binary"),
    Case("beta", "betacal", ours("beta"), betacal, "binary"),
    Case("beta", "netcal", ours("beta"), netcal("scaling", "BetaCalibration"), "binary"),
    Case("beta", "probmetrics", ours("beta"), probmetrics("beta"), "binary", "calls betacal"),
    Case("histogram", "netcal", ours("histogram"), netcal("binning", "HistogramBinning", bins=15)),
    Case(
        "histogram",
        "uncertainty-calibration",
        ours("histogram"),
        uncertainty("HistogramMarginalCalibrator"),
        "classes",
        "equal-mass bins; rows there do not sum to 1",
    ),
    Case("bbq", "netcal", ours("bbq"), netcal("binning", "BBQ")),
    Case("isotonic", "scikit-learn", ours("isotonic"), scikit_learn("isotonic")),
    Case("isotonic", "netcal", ours("isotonic"), netcal("binning", "IsotonicRegression")),
    Case("venn-abers", "venn-abers", ours("venn-abers"), venn_abers),
    Case("venn-abers", "probmetrics", ours("venn-abers"), probmetrics("ivap"), "binary", "calls venn-abers"),
)
