"""Reliability curves by kernel regression, and the curves of all classes."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from binary_cases import binary
from calibrant import DataWarning, InputError, Predictions, reliability_curve, to_frame
from calibrant.binning import EqualWidth
from calibrant.curves import classwise_curves, isotonic_curve, kernel_curve
from calibrant.curves import view as views
from calibrant.metrics import ECE, KdeECE
from naming import each
from simulate import calibrated, sharpened

KERNELS = {
    "gaussian": lambda u: np.exp(-(u**2) / 2),
    "triweight": lambda u: np.clip(1 - u**2, 0, None) ** 3,
    "epanechnikov": lambda u: np.clip(1 - u**2, 0, None),
}


@each("kernel", list(KERNELS))
def test_the_curve_is_the_weighted_mean_of_the_neighbours_and_their_mirror_images(kernel):
    p = binary(150, seed=1, weighted=True)
    curve = kernel_curve(p, 21, kernel=kernel, bandwidth=0.15)
    assert curve.predicted == pytest.approx(np.linspace(0, 1, 21), abs=1e-12)
    weights = sum(
        KERNELS[kernel]((curve.predicted[:, None] - image) / 0.15)
        for image in (p.positive, -p.positive, 2 - p.positive)
    )
    expected = weights @ (p.weights * p.labels) / (weights @ p.weights)
    assert curve.observed == pytest.approx(expected, abs=1e-9)


def test_the_beta_kernel_and_the_rules_of_kde_ece_are_accepted():
    p = binary(200, seed=2)
    widths = {rule: kernel_curve(p, bandwidth=rule).error.details["bandwidth"] for rule in ("cv", "silverman")}
    assert widths["silverman"] == pytest.approx(1.06 * p.positive.std(ddof=1) * 200**-0.2, rel=1e-9)
    assert widths["cv"] != widths["silverman"]
    curve = kernel_curve(p, kernel="beta", bandwidth=0.01)
    assert np.corrcoef(curve.predicted, curve.observed)[0, 1] > 0.9
    assert "beta" in curve.kind


def test_grid_points_without_neighbours_are_left_out():
    curve = kernel_curve(Predictions([0.1, 0.12, 0.9], labels=[0, 1, 1]), 11, bandwidth=0.02)
    assert curve.predicted.round(3).tolist() == [0.1, 0.9]
    assert (curve.count.tolist(), curve.weight.tolist()) == ([2, 1], [2.0, 1.0])
    assert (curve.lower.round(3).tolist(), curve.upper.round(3).tolist()) == ([0.0, 0.5], [0.5, 1.0])


def test_the_curve_ends_with_the_predictions_however_wide_the_kernel():
    curve = kernel_curve(Predictions([0.31, 0.4, 0.59], labels=[0, 1, 1]), 11, bandwidth=0.5)
    assert curve.predicted.round(3).tolist() == [0.3, 0.4, 0.5, 0.6]


@pytest.mark.parametrize("probs", [[0.123456], [0.123456] * 5])
def test_predictions_that_are_alike_make_one_point(probs):
    curve = kernel_curve(Predictions(probs, labels=[1] * len(probs)), bandwidth=1e-4, n_resamples=99, rng=0)
    assert curve.predicted == pytest.approx([0.123456])
    assert (curve.observed.tolist(), curve.count.tolist(), curve.low) == ([1.0], [len(probs)], None)


def test_the_error_is_the_mean_distance_to_the_curve():
    p = binary(300, seed=3, sharpness=2.0)
    curve = kernel_curve(p, 1001, bandwidth=0.1)
    images = (p.positive, -p.positive, 2 - p.positive)
    weights = sum(KERNELS["gaussian"]((p.positive[:, None] - image) / 0.1) for image in images)
    expected = np.abs(weights @ p.labels / weights.sum(axis=1) - p.positive).mean()
    assert curve.error.name == "mean gap"
    assert curve.error.value == pytest.approx(expected, abs=1e-4)


@each("boundary, images", [("none", 1), ("reflect", 3), ("mirror", 3)])
def test_mirror_images_count_if_asked_for(boundary, images):
    p = binary(300, seed=3, sharpness=2.0)
    curve = kernel_curve(p, [0.02, 0.5, 0.98], bandwidth=0.1, boundary=boundary, n_resamples=39, rng=0)
    positions = np.concatenate([p.positive, -p.positive, 2 - p.positive][:images])
    weights = KERNELS["gaussian"]((curve.predicted[:, None] - positions) / 0.1)
    expected = weights @ np.tile(p.labels, images) / weights.sum(axis=1)
    assert curve.observed == pytest.approx(expected, abs=1e-9)
    assert (curve.low <= curve.high).all()


def test_bandwidths_are_chosen_with_the_boundary():
    p = binary(300, seed=3, sharpness=2.0)
    for boundary in ("none", "reflect"):
        chosen = KdeECE(boundary=boundary).fit_bandwidth(p).bandwidth
        assert kernel_curve(p, boundary=boundary).error.details["bandwidth"] == chosen


def test_names_are_read_in_any_case():
    p = binary(50)
    one, other = (
        kernel_curve(p, kernel=k, bandwidth=h) for k, h in (("Gaussian", "Silverman"), ("gaussian", "silverman"))
    )
    assert (one.kind, one.observed.tolist()) == (other.kind, other.observed.tolist())
    assert KdeECE("Beta", "Silverman", "mirror") == KdeECE("beta", "silverman", "reflect")
    with pytest.raises(InputError, match='boundary must be one of "reflect", "none"'):
        kernel_curve(p, boundary="wrap")


def test_without_redraws_there_is_no_band_and_the_seed_decides_it_otherwise():
    p = binary(100)
    settings = {"bandwidth": 0.1, "n_resamples": 39}
    assert kernel_curve(p).low is None
    assert to_frame(kernel_curve(p), backend="polars").shape[1] == 6
    one, same, other = (kernel_curve(p, rng=seed, **settings).high.tolist() for seed in (1, 1, 2))
    assert one == same != other


@each(
    "settings, message",
    [
        ({"grid": 1}, "grid must have at least 2 points"),
        ({"grid": [0.5, 1.5]}, "grid must hold points from 0 to 1, but goes from 0.5 to 1.5"),
        ({"grid": [0.5, np.nan]}, "grid must hold points from 0 to 1"),
        ({"bandwidth": 0}, "bandwidth must be positive"),
        ({"bandwidth": "wide"}, "bandwidth must be one of"),
        ({"kernel": "box"}, "kernel must be one of"),
        ({"n_resamples": -1}, "n_resamples must be a whole number, 0 for no band"),
        ({"n_resamples": 10}, "n_resamples must be 0, or at least 39"),
        ({"level": 0}, "level must be a number between 0 and 1"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        kernel_curve(binary(30), **settings)


class TestClasswise:
    def test_there_is_the_curve_of_every_class_against_the_rest(self):
        p = Predictions(calibrated(k=3).probs, calibrated(k=3).labels, classes=["a", "b", "c"])
        curves = classwise_curves(p, partial(kernel_curve, bandwidth=0.1))
        assert curves.names == ("a", "b", "c")
        for c, curve in enumerate(curves.curves):
            alone = kernel_curve(p.one_vs_rest(c), bandwidth=0.1)
            assert curve.observed.tolist() == alone.observed.tolist()

    def test_the_average_is_the_mean_over_classes_with_equal_weight(self):
        p = calibrated(n=600, k=3, seed=4)
        curves = classwise_curves(p, partial(kernel_curve, bandwidth=0.2))
        columns = [curve.observed[:90] for curve in curves.curves]
        assert curves.average.predicted[:90] == pytest.approx(np.arange(90) / 100, abs=1e-12)
        assert curves.average.observed[:90] == pytest.approx(np.mean(columns, axis=0), abs=1e-12)
        assert curves.average.error.value == pytest.approx(np.mean([c.error.value for c in curves.curves]), abs=1e-12)
        assert curves.average.count.sum() == 600 * 3

    def test_the_average_leaves_out_classes_that_do_not_reach_a_probability(self):
        probs = np.array([[0.6, 0.4, 0.0], [0.8, 0.2, 0.0], [0.7, 0.3, 0.0], [0.5, 0.4, 0.1]])
        curves = classwise_curves(Predictions(probs, [0, 0, 1, 2]), isotonic_of_few, grid=11)
        assert curves.average.predicted.round(3).tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
        first = curves.curves[0]
        expected = np.interp([0.5, 0.6, 0.7, 0.8], first.predicted, first.observed)
        assert curves.average.observed[-4:] == pytest.approx(expected, abs=1e-12)

    def test_any_function_of_binary_predictions_draws_the_curves(self):
        p = sharpened(calibrated(k=4), 0.5)
        curves = classwise_curves(p, partial(reliability_curve, bins=EqualWidth(5)))
        errors = [ECE(bins=EqualWidth(5))(p.one_vs_rest(c)) for c in range(4)]
        assert [curve.error.value for curve in curves.curves] == pytest.approx(errors, rel=1e-12)

    def test_a_class_that_never_occurs_and_is_never_predicted_has_a_curve(self):
        with pytest.warns(DataWarning, match="class 2 never occurs"):
            p = Predictions(np.column_stack([calibrated(k=2).probs, np.zeros(400)]), calibrated(k=2).labels)
        last = classwise_curves(p).curves[2]
        assert (last.predicted.tolist(), last.observed.tolist()) == ([0.0], [0.0])

    def test_rows_predicted_as_a_class_have_a_curve_of_their_own(self):
        source = sharpened(calibrated(n=900, k=3, seed=5), 2.0)
        weights = np.random.default_rng(0).exponential(size=900)
        p = Predictions(source.probs, source.labels, weights, classes=["a", "b", "c"])
        draw = partial(kernel_curve, bandwidth=0.1)
        curves = classwise_curves(p, draw, rows="predicted")
        own = [p.predicted == c for c in range(3)]
        alone = [Predictions(p.probs[rows, c], p.labels[rows] == c, weights[rows]) for c, rows in enumerate(own)]
        for curve, view in zip(curves.curves, alone, strict=True):
            assert curve.observed.tolist() == draw(view).observed.tolist()
            assert curve.count.sum() == view.n_samples
        shares = [weights[rows].sum() for rows in own]
        errors = [curve.error.value for curve in curves.curves]
        assert curves.average.error.value == pytest.approx(np.average(errors, weights=shares))
        assert curves.average.count.sum() == 900
        at = [np.interp(0.6, curve.predicted, curve.observed) for curve in curves.curves]
        average = curves.average
        found = np.interp(0.6, average.predicted, average.observed)
        assert found == pytest.approx(np.average(at, weights=shares), abs=1e-12)

    def test_classes_that_are_never_predicted_have_no_curve_of_predicted_rows(self):
        p = Predictions(
            [[0.6, 0.4, 0.0], [0.5, 0.1, 0.4], [0.7, 0.1, 0.2], [0.3, 0.5, 0.2]], [0, 2, 1, 1], [1.0] * 3 + [0.0]
        )
        assert classwise_curves(p, isotonic_of_few, rows="predicted").names == ("0",)
        with pytest.raises(InputError, match='rows must be "all" or "predicted"'):
            classwise_curves(p, rows="some")

    def test_the_curves_become_one_long_frame(self):
        curves = classwise_curves(calibrated(k=3), partial(kernel_curve, bandwidth=0.2))
        frame = to_frame(curves, backend="polars")
        assert frame.columns[:3] == ["class", "predicted", "observed"]
        assert frame["class"].unique(maintain_order=True).to_list() == ["0", "1", "2"]
        assert len(frame) == sum(len(c.predicted) for c in curves.curves)


def isotonic_of_few(p):
    return isotonic_curve(p, n_resamples=39, rng=0)


@each("convention", ["calibrant", "guo", "torchmetrics"])
def test_the_error_of_a_binned_curve_is_the_ece(convention):
    p = Predictions([0.0, 0.0, 0.2, 0.7, 0.7, 0.9, 1.0], labels=[0, 1, 1, 0, 1, 1, 1], weights=[1, 2, 1, 1, 3, 1, 1])
    bins = EqualWidth(4) if convention == "calibrant" else EqualWidth(4, convention=convention)
    curve = reliability_curve(p, bins)
    assert (curve.error.name, curve.error.value) == ("ECE", pytest.approx(ECE(bins=bins)(p), rel=1e-12))


def test_the_histogram_holds_the_weight_of_every_row_by_outcome():
    p = binary(500, seed=9, weighted=True)
    for curve in (reliability_curve(p), kernel_curve(p, bandwidth=0.1), isotonic_of_few(p)):
        edges, event = curve.histogram.edges, p.labels == 1
        for found, rows in ((curve.histogram.positives, event), (curve.histogram.negatives, ~event)):
            expected = [p.weights[rows & (p.positive >= lo) & (p.positive < hi)].sum() for lo, hi in pairwise(edges)]
            assert found == pytest.approx(expected, rel=1e-9)


def test_cells_of_many_positions_are_counted_block_by_block(monkeypatch):
    rng = np.random.default_rng(0)
    positions, weights, points = rng.random((50, 3)), rng.integers(0, 3, 50).astype(float), np.array([0.1, 0.3, 0.8])
    repeated = np.repeat(weights, 3)
    whole = views.cells_around(points, positions.ravel(), repeated)
    monkeypatch.setattr(views, "CELLS_AT_ONCE", 7)
    for found, expected in zip(views.cells_around(points, positions, weights), whole, strict=True):
        np.testing.assert_array_equal(found, expected)
    nearest = np.abs(positions[:, :, None] - points).argmin(axis=2).ravel()
    assert whole[3].tolist() == [repeated[nearest == c].sum() for c in range(3)]
    assert whole[2].tolist() == [np.sum((nearest == c) & (repeated > 0)) for c in range(3)]
