"""Quality against the number of rows of the calibration set."""

import matplotlib as mpl
import numpy as np
import pytest

from calibrant import InputError, Predictions, as_record, learning_curve, to_frame
from calibrant.calibrators import TemperatureScaling, calibrate
from calibrant.metrics import ECE, NLL, Brier
from calibrant.plots import plot_learning_curve
from naming import each
from simulate import calibrated, sharpened

DATA = sharpened(calibrated(n=500, k=3, seed=2), 0.4)


def test_every_point_is_its_definition():
    curve = learning_curve(["ts", "vs"], DATA, [40, 10], n_repeats=3, metrics=["brier", "nll"], rng=7)
    assert (curve.sizes, curve.n_held_out, curve.calibrators) == ((10, 40), 460, ("ts", "vs"))
    rng = np.random.default_rng(7)
    after, before = [], []
    for _ in range(3):
        order = rng.permutation(500)
        fit = TemperatureScaling().fit(DATA.probs[order[:40]], DATA.labels[order[:40]])
        held_out = DATA.take(order[40:])
        after.append(NLL()(calibrate(fit, held_out)))
        before.append(NLL()(held_out))
    point = curve.of("ts", "nll")[1]
    changes = np.subtract(after, before)
    assert (point.calibrator, point.metric, point.size, point.n_infinite) == ("ts", "nll", 40, 0)
    assert (point.value, point.deviation) == pytest.approx((np.mean(after), np.std(after, ddof=1)), rel=1e-9)
    assert (point.change, point.change_deviation) == pytest.approx((changes.mean(), changes.std(ddof=1)), rel=1e-9)
    assert curve.baseline["nll"] == pytest.approx(np.mean(before), rel=1e-12)


def test_more_rows_help_what_is_flexible_more_than_what_is_stiff():
    curve = learning_curve(["ts", "irova"], DATA, [20, 400], n_repeats=8, rng=0)
    gain = {name: np.subtract(*(point.value for point in curve.of(name, "nll"))) for name in ("ts", "irova")}
    assert gain["irova"] > 3 * gain["ts"] > 0
    small = curve.of("irova", "nll")[0]
    assert small.change > 0  # It does harm with so few rows.


def test_rows_of_weight_0_are_left_out():
    weights = np.r_[np.ones(300), np.zeros(200)]
    part = Predictions(DATA.probs, DATA.labels, weights)
    one = learning_curve(["ts"], part, [50], n_repeats=2, rng=0)
    two = learning_curve(["ts"], DATA.take(np.arange(300)), [50], n_repeats=2, rng=0)
    assert as_record(one) == as_record(two)


def test_infinite_losses_are_said_and_counted():
    p = calibrated(n=400, k=2, seed=0)
    curve = learning_curve(["isotonic", "ts"], p, [20, 100], n_repeats=4, metrics=["nll", "brier"], rng=0)
    point = curve.of("isotonic", "nll")[0]
    assert point.n_infinite > 0
    assert point.value == point.change == point.deviation == np.inf
    assert np.isfinite(curve.of("isotonic", "brier")[0].value)
    assert "nan" not in str(as_record(curve))


def test_one_repeat_has_no_deviation():
    point = learning_curve(["ts"], DATA, [50], n_repeats=1, rng=0).of("ts", "nll")[0]
    assert (point.deviation, point.change_deviation) == (0, 0)


def test_sizes_double_up_to_half_of_the_rows_by_default():
    assert learning_curve(["identity"], DATA, n_repeats=1, rng=0).sizes == (50, 100, 200)


def test_own_metrics_and_calibrators_may_be_given():
    curve = learning_curve(
        {"mine": TemperatureScaling()}, DATA, [50], n_repeats=2, metrics={"top": ECE(), "b": Brier()}, rng=0
    )
    assert (curve.calibrators, curve.metrics) == (("mine",), ("top", "b"))
    assert curve.of("mine", "top")[0].change < 0


def test_as_a_frame_every_point_is_a_row():
    frame = to_frame(learning_curve(["ts", "ets"], DATA, [50, 100], n_repeats=2, rng=0), backend="pandas")
    assert len(frame) == 2 * 2 * 2
    assert frame.columns[:4].tolist() == ["calibrator", "metric", "size", "value"]


def test_the_same_seed_gives_the_same_curve_and_progress_ends_at_the_total():
    seen = []
    one, two = (
        as_record(learning_curve(["ts"], DATA, [20, 50], n_repeats=3, progress=lambda *x: seen.append(x), rng=1))
        for _ in range(2)
    )
    assert one == two
    assert seen == [(i, 6) for i in range(1, 7)] * 2


@each(
    "settings, words",
    [
        ({"sizes": [451]}, "sizes must be from 1 to 450.*the largest is 451"),
        ({"sizes": []}, "there is none"),
        ({"sizes": [0]}, "each of sizes must be a whole number of at least 1"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"metrics": ["eec"]}, "'eec' is not"),
        ({"metrics": []}, "at least one metric"),
        ({"calibrators": []}, "at least one"),
        ({"calibrators": ["tss"]}, "'tss' is not one"),
        ({"predictions": DATA.take(np.arange(60)), "sizes": None}, "at least 100 rows"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, words):
    with pytest.raises(InputError, match=words):
        learning_curve(**({"calibrators": ["ts"], "predictions": DATA, "sizes": [50]} | settings))


def test_one_metric_may_be_given_by_its_name():
    assert learning_curve(["ts"], DATA, [50], n_repeats=1, metrics="brier", rng=0).metrics == ("brier",)


class TestPlot:
    curve = learning_curve(["ts", "irova"], DATA, [20, 100, 400], n_repeats=3, rng=0)

    def test_there_is_a_line_a_calibrator_and_one_for_doing_nothing(self):
        before = dict(mpl.rcParams)
        ax = plot_learning_curve(self.curve)
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[0].startswith("as they are: ")
        assert labels[1:] == ["ts", "irova"]
        assert ax.get_xscale() == "log"
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["20", "100", "400"]
        assert "nll" in ax.get_ylabel()
        assert dict(mpl.rcParams) == before

    def test_wild_values_do_not_stretch_the_axis_but_are_marked(self):
        ax = plot_learning_curve(self.curve)
        wild = self.curve.of("irova", "nll")[0].value
        assert ax.get_ylim()[1] < wild
        marks = [line for line in ax.get_lines() if line.get_marker() == "^"]
        assert [line.get_ydata()[0] for line in marks] == [ax.get_ylim()[1]]

    def test_infinite_values_alone_can_be_drawn(self):
        curve = learning_curve(["isotonic"], calibrated(n=300, k=2, seed=0), [10, 20], n_repeats=2, rng=0)
        ax = plot_learning_curve(curve)
        assert sum(line.get_marker() == "^" for line in ax.get_lines()) == 2
        ax.figure.draw_without_rendering()

    def test_other_metrics_and_axes_may_be_chosen(self):
        ax = plot_learning_curve(self.curve)
        assert plot_learning_curve(self.curve, ax, metric="brier") is ax
        assert "brier" in ax.get_ylabel()
        with pytest.raises(InputError, match="metric must be one of nll, brier, but is 'ece'"):
            plot_learning_curve(self.curve, metric="ece")
