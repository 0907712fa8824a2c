"""The plots of cumulative and bias views, forecasts, parts, comparisons and null draws."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from binary_cases import binary
from calibrant import Forecasts, InputError, Normal, Predictions, compare, plots, reliability_curve
from calibrant.binning import EqualMass
from calibrant.calibrators.forecasts import ConformalIntervals, check_intervals
from calibrant.curves import (
    classwise_curves,
    cumulative_curve,
    isotonic_curve,
    kernel_curve,
    pit_histogram,
    quantile_curve,
    spread_curve,
)
from calibrant.metrics import ECE, NLL, Accuracy, decompose
from calibrant.results import Compared, Difference, ScoreDecomposition, TestResult
from simulate import calibrated


def forecasts(n=600, scale=0.7, seed=0):
    rng = np.random.default_rng(seed)
    mean, sd = rng.normal(size=n), np.exp(rng.normal(size=n))
    return Forecasts(Normal(mean, scale * sd), mean + sd * rng.normal(size=n))


def certain():
    return Predictions([0.0, 1.0, 0.5], labels=[0, 1, 0]).take([0, 1])


@pytest.fixture(scope="module")
def over():
    return binary(1500, seed=2, sharpness=1.8)


@pytest.fixture(scope="module")
def comparison(over):
    models = {"raw": over, "_other$": binary(1500, seed=2)}
    return compare(models, metrics={"ece": ECE(), "nll": NLL(), "accuracy": Accuracy()}, n_resamples=49, rng=0)


@pytest.fixture(scope="module")
def calls(over, comparison):
    f = forecasts()
    null = TestResult(name="t", statistic=3.0, pvalue=0.01, null=np.random.default_rng(0).normal(size=99))
    ten = calibrated(n=400, k=10)
    return {
        "cumulative": (plots.plot_cumulative, cumulative_curve(over)),
        "bias": (plots.plot_bias, reliability_curve(over)),
        "bias with a band": (plots.plot_bias, isotonic_curve(over, n_resamples=39, rng=0)),
        "pit": (plots.plot_pit, pit_histogram(f)),
        "quantiles": (plots.plot_quantiles, quantile_curve(f)),
        "intervals": (plots.plot_quantiles, quantile_curve(f, form="interval")),
        "columns": (plots.plot_quantiles, quantile_curve(f, [0.05, 0.25, 0.5, 0.75, 0.95])),
        "conformal": (plots.plot_intervals, check_intervals(ConformalIntervals(), f, rng=0)),
        "spread": (plots.plot_spread, spread_curve(f)),
        "parts": (plots.plot_decomposition, {"raw": decompose(over), "other": decompose(binary(1500, seed=2))}),
        "comparison": (plots.plot_comparison, comparison),
        "null": (plots.plot_null, null),
        "classwise": (plots.plot_classwise, classwise_curves(ten, partial(kernel_curve, bandwidth=0.1))),
    }


NAMES = (
    "cumulative", "bias", "bias with a band", "pit", "quantiles", "intervals", "columns", "conformal", "spread",
    "parts", "comparison", "null", "classwise",
)  # fmt: skip


def picture(ax):
    """Render once, where a file is rendered twice, and return an array of grey values."""
    ax.figure.set_dpi(40)
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].mean(axis=2) / 255


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def texts(ax):
    """Everything written on the axes, with its place in pixels."""
    ax.figure.draw_without_rendering()
    written = [*ax.texts, ax.xaxis.label, ax.yaxis.label]
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())  # Ticks beyond are not drawn.
        marks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        written += [label for place, label in marks if low <= place <= high]
    if ax.get_legend():
        written += [*ax.get_legend().get_texts(), ax.get_legend().get_title()]
    shown = [text for text in written if text.get_text().strip() and text.get_visible()]
    return [(text.get_text(), text.get_window_extent()) for text in shown]


@pytest.mark.parametrize("name", NAMES)
def test_every_plot_draws_on_given_axes_and_on_its_own(name, calls):
    plot, result = calls[name]
    ax = Figure().add_subplot()
    assert plot(result, ax=ax) is ax
    assert 0.005 < (picture(plot(result)) < 0.9).mean() < 0.6


def test_columns_of_quantiles_are_marked_one_by_one():
    f = forecasts(scale=0.5)
    few = plots.plot_quantiles(quantile_curve(f, [0.05, 0.25, 0.75, 0.95]))
    inside, outside = few.collections[-2:]
    assert len(inside.get_offsets()) + len(outside.get_offsets()) == 4
    assert len(outside.get_offsets()) >= 2
    many = plots.plot_quantiles(quantile_curve(f))
    assert not any(len(part.get_offsets()) > 1 for part in many.collections)


def test_targets_outside_their_interval_are_marked_and_infinite_ones_reach_the_edge():
    check = check_intervals(ConformalIntervals(), forecasts(n=200), rng=0)
    missed = (check.rows.target < check.rows.low) | (check.rows.target > check.rows.high)
    assert len(plots.plot_intervals(check).collections[-1].get_offsets()) == missed.sum() > 0
    endless = check_intervals(ConformalIntervals(level=0.999), forecasts(n=200), rng=0)
    ax = plots.plot_intervals(endless)
    assert np.isfinite(ax.get_ylim()).all()
    assert "outside" not in labels(ax)


@pytest.mark.parametrize("name", NAMES)
def test_in_one_column_of_a_paper_no_texts_overlap_and_all_are_inside(name, calls):
    plot, result = calls[name]
    ax = plot(result, Figure(figsize=(3.3, 4.4), layout="constrained").add_subplot())
    found = texts(ax)
    edge = ax.figure.bbox
    for i, (written, box) in enumerate(found):
        assert box.x0 >= edge.x0 - 1, written
        assert box.x1 <= edge.x1 + 1, written
        assert box.y0 >= edge.y0 - 1, written
        assert box.y1 <= edge.y1 + 1, written
        for other, place in found[:i]:
            assert not box.padded(-1).overlaps(place.padded(-1)), (written, other)


class TestCumulative:
    def test_the_path_the_triangle_and_the_worst_interval_are_drawn(self, over):
        curve = cumulative_curve(over)
        ax = plots.plot_cumulative(curve)
        path = next(one for one in ax.lines if len(one.get_xdata()) == len(curve.share))
        assert path.get_ydata().tolist() == curve.cumulative.tolist()
        triangle = ax.patches[0].get_xy()
        assert np.ptp(triangle[:, 1]) == pytest.approx(4 * curve.sigma)
        assert labels(ax)[1].endswith("too high" if curve.worst.net < 0 else "too low")
        assert f"{curve.ecce.value / curve.sigma:.1f}" in ax.texts[0].get_text()

    def test_certain_predictions_have_neither_triangle_nor_interval(self):
        ax = plots.plot_cumulative(cumulative_curve(certain()))
        assert not ax.patches
        assert ax.get_legend() is None
        picture(ax)


class TestBias:
    def test_points_are_prediction_minus_frequency_with_their_limits(self, over):
        curve = reliability_curve(over)
        ax = plots.plot_bias(curve)
        drawn = next(one for one in ax.lines if len(one.get_xdata()) == len(curve.predicted))
        assert drawn.get_ydata().tolist() == (curve.predicted - curve.observed).tolist()
        (whiskers,) = [one for one in ax.collections if hasattr(one, "get_segments") and len(one.get_segments()) > 2]
        ends = np.array(whiskers.get_segments())[:, :, 1]
        assert ends == pytest.approx(np.column_stack([curve.predicted - curve.high, curve.predicted - curve.low]))

    def test_one_wild_bin_of_few_rows_does_not_set_the_scale(self):
        rng = np.random.default_rng(0)
        p = rng.uniform(0.4, 0.6, 20_000)
        y = rng.random(20_000) < p
        ax = plots.plot_bias(reliability_curve(Predictions(np.append(p, 0.99), np.append(y, 0))))
        assert ax.get_ylim()[1] < 0.2
        assert [one.get_marker() for one in ax.lines].count("^") == 1

    def test_a_curve_without_limits_error_and_histogram_is_drawn(self, over):
        curve = replace(kernel_curve(over, bandwidth=0.1), error=None, histogram=None)
        ax = plots.plot_bias(curve)
        assert ax.get_legend() is None
        picture(ax)

    def test_perfect_predictions_are_drawn(self):
        picture(plots.plot_bias(reliability_curve(certain())))


class TestForecasts:
    def test_bars_are_percent_and_those_outside_the_limits_have_a_colour_of_their_own(self):
        histogram = pit_histogram(forecasts())
        off = (histogram.count < histogram.low) | (histogram.count > histogram.high)
        ax = plots.plot_pit(histogram)
        heights = [bar.get_height() for bar in ax.patches]
        assert sorted(heights) == pytest.approx(sorted(histogram.count / 6))
        assert len({bar.get_facecolor() for bar in ax.patches[: (~off).sum()]}) == 1
        assert len(ax.patches) == len(off)
        assert 0 < off.sum() < len(off)

    def test_calibrated_forecasts_have_nothing_marked(self):
        f = forecasts(scale=1.0)
        assert labels(plots.plot_pit(pit_histogram(f, level=0.9999))) == ["99.99% by chance"]
        ax = plots.plot_quantiles(quantile_curve(f, level=0.9999))
        assert labels(ax) == ["calibrated", "99.99% by chance"]

    def test_intervals_say_which_side_is_which(self):
        words = [text.get_text() for text in plots.plot_quantiles(quantile_curve(forecasts(), form="interval")).texts]
        assert words[:2] == ["too wide", "too narrow"]

    @pytest.mark.parametrize(("sds", "scale"), [((1.0, 2.0), "linear"), ((0.1, 10.0), "log")])
    def test_spreads_that_differ_much_are_on_logarithmic_axes(self, sds, scale):
        rng = np.random.default_rng(0)
        sd = np.repeat(sds, 200)
        curve = spread_curve(Forecasts(Normal(np.zeros(400), sd), sd * rng.normal(size=400)), EqualMass(2))
        ax = plots.plot_spread(curve)
        assert (ax.get_xscale(), ax.get_yscale()) == (scale, scale)
        assert ax.get_xlim() == ax.get_ylim()
        picture(ax)

    def test_forecasts_without_errors_are_drawn(self):
        picture(plots.plot_spread(spread_curve(Forecasts(Normal([0.0, 1.0], 1.0), [0.0, 1.0]))))


class TestDecomposition:
    def test_bars_are_the_parts_of_every_model(self, over):
        parts = decompose(over)
        ax = plots.plot_decomposition(parts)
        assert [bar.get_width() for bar in ax.patches] == [
            parts.miscalibration, parts.discrimination, parts.uncertainty,
        ]  # fmt: skip
        both = plots.plot_decomposition({"a": parts, "b": parts})
        assert len(both.patches) == 6
        assert [label.partition(":")[0] for label in labels(both)] == ["a", "b"]

    def test_what_bins_add_is_a_fourth_part(self):
        one = ScoreDecomposition(
            score="log", method="bins", view="binary", value=0.5, miscalibration=0.1, discrimination=0.2,
            uncertainty=0.59, within=0.01,
        )  # fmt: skip
        assert len(plots.plot_decomposition(one).patches) == 4

    def test_different_scores_are_refused(self, over):
        with pytest.raises(InputError, match="of one score, but are of log, squared-error"):
            plots.plot_decomposition({"a": decompose(over), "b": decompose(over, score="log")})


class TestComparison:
    def test_better_is_left_also_where_more_is_better(self, comparison):
        up = Difference(value=0.1, low=0.05, high=0.15, pvalue=0.01, adjusted=0.02, is_significant=True)
        entry = Compared(model="_other$", metric="accuracy", better="higher", value=0.9, difference=up)
        changed = replace(comparison, entries=(*comparison.entries[:5], entry))
        ax = plots.plot_comparison(changed)
        points = [one for one in ax.lines if one.get_marker() == "o" and len(one.get_xdata()) == 1]
        assert points[-1].get_xdata()[0] == pytest.approx(-0.1 / 0.15)
        assert points[-1].get_markerfacecolor() == points[-1].get_color()
        assert ax.texts[-1].get_text() == "+0.1"

    def test_infinite_and_missing_differences_are_shown(self, comparison):
        far = Difference(
            value=float("inf"), low=float("-inf"), high=float("inf"), pvalue=1, adjusted=1,
            is_significant=False,
        )  # fmt: skip
        entries = list(comparison.entries)
        entries[3] = replace(entries[3], difference=None)
        entries[4] = replace(entries[4], difference=far)
        ax = plots.plot_comparison(replace(comparison, entries=tuple(entries)))
        assert [text.get_text() for text in ax.texts][:2] == ["none", "+∞"]
        picture(ax)

    def test_a_baseline_alone_is_refused(self, comparison):
        alone = replace(comparison, models=("raw",), entries=comparison.entries[:3])
        with pytest.raises(InputError, match="a model besides the baseline"):
            plots.plot_comparison(alone)


class TestNull:
    def test_draws_and_statistic_are_drawn_with_the_p_value_as_a_bound(self):
        draws = np.random.default_rng(0).random(99)
        test = TestResult(name="t", statistic=2.0, pvalue=0.01, null=draws)
        ax = plots.plot_null(test)
        assert sum(bar.get_height() for bar in ax.patches) == 99
        assert ax.get_legend().get_title().get_text() == "p ≤ 0.01"
        assert labels(ax) == ["by chance, if calibrated", "observed 2.00"]
        exact = plots.plot_null(replace(test, pvalue=0.5))
        assert exact.get_legend().get_title().get_text() == "p = 0.5"

    @pytest.mark.parametrize("statistic", [0.25, np.inf])
    def test_equal_draws_and_an_infinite_statistic_are_drawn(self, statistic):
        picture(plots.plot_null(TestResult(name="t", statistic=statistic, pvalue=1, null=np.full(9, 0.25))))

    def test_a_test_without_draws_is_refused(self):
        with pytest.raises(InputError, match="but t kept none"):
            plots.plot_null(TestResult(name="t", statistic=1.0, pvalue=0.5))


def test_the_legend_of_the_classes_covers_no_curve_in_small_figures(calls):
    plot, result = calls["classwise"]
    for width in (3.3, 5.0, 9.0):
        ax = plot(result, Figure(figsize=(width, 4.4), layout="constrained").add_subplot())
        ax.figure.draw_without_rendering()
        assert not ax.get_legend().get_window_extent().padded(-1).overlaps(ax.get_window_extent().padded(-1))
