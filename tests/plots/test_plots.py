"""Plots: what they hold, that they can be rendered, and that they leave matplotlib as it was."""

import inspect
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import FillBetweenPolyCollection, LineCollection, PathCollection, PolyCollection
from matplotlib.figure import Figure

from binary_cases import binary
from calibrant import Predictions, reliability_curve
from calibrant.counts import LaplaceCorrection
from calibrant.curves import classwise_curves, isotonic_curve, kernel_curve
from calibrant.plots import plot_calibration_map, plot_classwise, plot_reliability, plot_roc, plot_tree
from calibrant.plots.canvas import PALETTE
from calibrant.results import CalibrationMap
from calibrant.roc import calibration_map, convex_hull, hull_probabilities, roc_curve
from calibrant.trees import ProbabilityTree, tree_diagram
from simulate import calibrated, sharpened


def rendered(ax):
    """Render once, where a file is rendered twice, and return the picture as an array of grey values."""
    ax.figure.set_dpi(60)
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].mean(axis=2) / 255


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def of_kind(ax, kind):
    return [artist for artist in ax.get_children() if type(artist) is kind]


def line(ax, label):
    return next(found for found in ax.lines if found.get_label() == label)


@pytest.fixture
def document():
    """The ranking of ten rows, and the tree, of the seed document."""
    return roc_curve(np.arange(10, 0, -1), [1, 1, 0, 1, 1, 0, 1, 1, 0, 0])


CURVES = {
    "binned": reliability_curve,
    "kernel": partial(kernel_curve, bandwidth=0.1),
    "kernel with a band": partial(kernel_curve, bandwidth=0.1, n_resamples=39, rng=0),
    "isotonic": partial(isotonic_curve, n_resamples=39, rng=0),
    "simultaneous": partial(isotonic_curve, n_resamples=39, simultaneous=True, rng=0),
    "confidence": partial(isotonic_curve, n_resamples=39, band="confidence", rng=0),
}


class TestReliability:
    @pytest.mark.parametrize("kind", CURVES)
    def test_every_kind_has_a_square_a_diagonal_a_number_and_a_histogram(self, kind):
        p = binary(400, seed=1, sharpness=1.7)
        curve = CURVES[kind](p)
        ax = plot_reliability(curve)
        assert ax.get_aspect() == 1
        assert ax.get_xlim() == ax.get_ylim() == (-0.025, 1.025)
        assert line(ax, "perfectly calibrated").get_xydata().tolist() == [[0, 0], [1, 1]]
        *sides, text = ax.texts
        assert [side.get_text() for side in sides] == ["predicted\ntoo low", "predicted\ntoo high"]
        assert text.get_text() == f"{curve.error.name} {curve.error.value:#.3g}\n400 rows"
        (strip,) = ax.child_axes
        bars = [path.vertices[:, 1] for one in of_kind(strip, PolyCollection) for path in one.get_paths()]
        assert all(foot == end == 0 for foot, _, _, end, *_ in bars)
        heights = [height for _, height, *_ in bars]
        rows = np.array([curve.histogram.positives, -curve.histogram.negatives])
        assert heights == pytest.approx((np.sign(rows) * np.sqrt(np.abs(rows) / np.abs(rows).max())).ravel())
        picture = rendered(ax)
        assert 0.02 < (picture < 0.98).mean() < 0.5

    def test_few_points_have_markers_and_whiskers_and_the_off_ones_are_diamonds(self):
        curve = reliability_curve(binary(2000, seed=2, sharpness=2.0))
        off = (curve.predicted < curve.low) | (curve.predicted > curve.high)
        assert 0 < off.sum() < len(off)
        ax = plot_reliability(curve)
        (whiskers,) = of_kind(ax, LineCollection)
        assert np.array(whiskers.get_segments())[:, :, 1] == pytest.approx(np.column_stack([curve.low, curve.high]))
        fine, bad = of_kind(ax, PathCollection)
        points = np.column_stack([curve.predicted, curve.observed])
        assert fine.get_offsets().tolist() == points[~off].tolist()
        assert bad.get_offsets().tolist() == points[off].tolist()
        assert labels(ax) == ["perfectly calibrated", "95% confidence interval", "limits miss the diagonal"]

    def test_many_points_have_a_band_and_the_stretches_outside_are_drawn_again(self):
        curve = isotonic_curve(binary(2000, seed=3, sharpness=2.0), n_resamples=199, simultaneous=True, rng=0)
        ax = plot_reliability(curve)
        (band,) = of_kind(ax, FillBetweenPolyCollection)
        assert band.get_datalim(ax.transData).y1 == pytest.approx(curve.high.max())
        assert labels(ax) == ["perfectly calibrated", "95% consistency band, simultaneous", "outside the band"]
        outside = (curve.observed < curve.low) | (curve.observed > curve.high)
        assert np.isfinite(line(ax, "outside the band").get_ydata()).tolist() == outside.tolist()

    def test_nothing_is_marked_if_all_is_well_or_there_is_no_band(self):
        p = calibrated(n=300, k=2)
        whole = isotonic_curve(p, level=0.999, n_resamples=1999, simultaneous=True, rng=0)
        assert labels(plot_reliability(whole)) == ["perfectly calibrated", "99.9% consistency band, simultaneous"]
        assert labels(plot_reliability(kernel_curve(p, bandwidth=0.1))) == ["perfectly calibrated"]

    def test_more_classes_name_confidence_and_correctness(self):
        ax = plot_reliability(reliability_curve(calibrated(k=4)))
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("Confidence in the predicted class", "How often it is right")
        assert [text.get_text() for text in ax.child_axes[0].texts][:2] == ["wrong", "right"]

    def test_a_curve_without_error_and_histogram_is_drawn(self):
        ax = plot_reliability(replace(reliability_curve(binary(50)), error=None, histogram=None))
        assert ax.texts[-1].get_text() == "50 rows"
        assert next(text.get_text() for text in ax.child_axes[0].texts) == "rows"  # Their outcomes are not known.

    def test_one_row_is_drawn(self):
        ax = plot_reliability(reliability_curve(Predictions([0.3], labels=[1])))
        rendered(ax)
        assert ax.texts[-1].get_text().endswith("1 row")

    def test_the_strip_of_a_subplot_stays_inside_the_figure(self):
        figure = Figure(figsize=(9, 4), layout="constrained")
        for ax in figure.subplots(1, 2):
            assert plot_reliability(reliability_curve(binary(300)), ax) is ax
            ax.set_title("A title")
        figure.draw_without_rendering()
        for ax in figure.axes:
            top = ax.child_axes[0].get_window_extent().y1
            assert top <= ax.title.get_window_extent().y0
            assert ax.title.get_window_extent().y1 <= figure.bbox.y1


class TestClasswise:
    def test_few_classes_have_a_name_each_and_the_average_is_on_top(self):
        curves = classwise_curves(sharpened(calibrated(n=500, k=4), 0.5), partial(kernel_curve, bandwidth=0.1))
        ax = plot_classwise(curves)
        worst = np.argsort([-curve.error.value for curve in curves.curves], kind="stable")
        assert [label.partition(":")[0] for label in labels(ax)] == [
            "perfectly calibrated", *map(str, worst), "average of 4 classes",
        ]  # fmt: skip
        assert [line.get_color() for line in ax.lines[1:5]] == [PALETTE[k] for k in worst]  # Whatever the order is.
        average = next(found for found in ax.lines if str(found.get_label()).startswith("average"))
        assert average.get_ydata().tolist() == curves.average.observed.tolist()
        assert average.get_zorder() == max(found.get_zorder() for found in ax.lines)
        assert average.get_linewidth() > 2 * ax.lines[1].get_linewidth()
        rendered(ax)

    def test_of_a_hundred_classes_the_worst_five_are_named_and_all_are_drawn(self):
        rng = np.random.default_rng(0)
        probs = rng.dirichlet(np.full(100, 0.05), 1500)
        rows = [rng.choice(100, p=row) for row in probs]
        curves = classwise_curves(Predictions(probs, rows), reliability_curve)
        ax = plot_classwise(curves)
        (grey,) = of_kind(ax, LineCollection)
        assert len(grey.get_segments()) == 95
        worst = np.argsort([-curve.error.value for curve in curves.curves], kind="stable")[:5]
        assert [label.partition(":")[0] for label in labels(ax)[1:6]] == [str(k) for k in worst]
        rendered(ax)

    @pytest.mark.parametrize("name", ["_hidden", "$x^", "very long " * 9, "模型"])
    def test_names_of_any_kind_are_shown(self, name):
        p = calibrated(n=200, k=3)
        p = Predictions(p.probs, p.labels, classes=[name, "b", "c"])
        ax = plot_classwise(classwise_curves(p, partial(kernel_curve, bandwidth=0.1)))
        assert len(labels(ax)) == 5
        assert max(map(len, labels(ax))) < 50
        if name.isascii():
            rendered(ax)


class TestRanking:
    def test_the_roc_curve_of_the_document_is_drawn_with_its_hull_and_two_concavities(self, document):
        hull = convex_hull(document)
        ax = plot_roc(document, hull)
        assert labels(ax) == ["chance: AUC 0.5", "concavities", "convex hull: AUC 0.833", "ROC curve: AUC 0.750"]
        drawn = line(ax, "ROC curve: AUC 0.750").get_xydata()
        assert drawn.tolist() == np.column_stack([document.false_positive_rate, document.true_positive_rate]).tolist()
        assert line(ax, "convex hull: AUC 0.833").get_xydata().tolist() == hull.vertices.tolist()
        assert len(ax.patches) == 2
        assert ax.get_aspect() == 1
        rendered(ax)

    def test_a_roc_curve_is_drawn_without_hull(self, document):
        assert labels(plot_roc(document)) == ["chance: AUC 0.5", "ROC curve: AUC 0.750"]

    def test_the_maps_of_the_document_are_drawn_together(self, document):
        """Without correction 0, 2/3, 1; with the Laplace correction 1/3, 3/5, 2/3: equal pools stay separate."""
        hull = convex_hull(document, merge_equal=False)
        plain, smoothed = calibration_map(hull), calibration_map(hull, LaplaceCorrection(), name="Laplace")
        assert plain.probability == pytest.approx([0, 0, 2 / 3, 2 / 3, 1, 1])
        assert smoothed.probability == pytest.approx([1 / 3, 1 / 3, 3 / 5, 3 / 5, 2 / 3, 2 / 3])
        assert plain.count.tolist() == [1, 1, 3, 3, 1, 1]
        ax = plot_calibration_map([plain, smoothed])
        assert labels(ax) == ["empirical probability", "Laplace"]
        styles = [line(ax, label).get_linestyle() for label in labels(ax)]
        assert styles[0] != styles[1]
        rendered(ax)

    def test_a_drawn_map_is_the_map_itself(self):
        rng = np.random.default_rng(1)
        scores, events = rng.normal(size=60), rng.integers(0, 2, 60)
        hull = convex_hull(roc_curve(scores, events))
        x, y = line(plot_calibration_map(calibration_map(hull)), "empirical probability").get_xydata().T
        assert np.all(np.diff(x) >= 0)
        assert np.all(np.diff(y) >= 0)
        inside = np.linspace(scores.min(), scores.max(), 997)
        assert np.interp(inside, x, y) == pytest.approx(hull_probabilities(hull, inside), abs=1e-12)

    @pytest.mark.parametrize("scores", [[-np.inf, 1, 2, np.inf], [0, 0, 0, 0], [-np.inf, -np.inf, np.inf, np.inf]])
    def test_infinite_and_equal_scores_are_drawn(self, scores):
        one = calibration_map(convex_hull(roc_curve(scores, [0, 1, 0, 1])))
        assert isinstance(one, CalibrationMap)
        rendered(plot_calibration_map(one))


class TestTree:
    @pytest.fixture
    def spam(self):
        X = np.array([[0, 0]] * 60 + [[0, 1]] * 15 + [[1, 0]] * 25)
        y = np.repeat(["spam", "ham", "spam", "ham", "spam", "ham"], [20, 40, 10, 5, 20, 5])
        return tree_diagram(ProbabilityTree().fit(X, y), ["Viagra", "lottery"])

    def test_the_tree_of_the_document_has_counts_and_probabilities_in_each_leaf(self, spam):
        ax = plot_tree(spam)
        texts = [text.get_text() for text in ax.texts]
        assert texts[:4] == ["yes", "no", "yes", "no"]
        assert set(texts[4:]) == {
            "Viagra <= 0.5?",
            "lottery <= 0.5?",
            "→ ham\nham: 40 (0.667)\nspam: 20 (0.333)",
            "→ spam\nham: 5 (0.333)\nspam: 10 (0.667)",
            "→ spam\nham: 5 (0.200)\nspam: 20 (0.800)",
        }
        widths = [bar.get_width() for bar in ax.patches]
        assert [a / (a + b) for a, b in zip(widths[::2], widths[1::2], strict=True)] == pytest.approx(
            [2 / 3, 1 / 3, 0.2]
        )
        rendered(ax)

    def test_texts_of_leaves_do_not_overlap(self, spam):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 3))
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
        big = tree_diagram(ProbabilityTree(LaplaceCorrection(), max_leaf_nodes=12).fit(X, y))
        for diagram in (spam, big):
            ax = plot_tree(diagram)
            ax.figure.draw_without_rendering()
            boxes = [text.get_window_extent() for text in ax.texts if text.get_text().startswith("→")]
            assert len(boxes) == len(diagram.counts)
            assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
            assert all(ax.figure.bbox.y0 <= box.y0 and box.x0 >= 0 for box in boxes)

    def test_yes_leads_to_the_left(self, spam):
        ax = plot_tree(spam)
        places = {text.get_text(): text.get_position() for text in ax.texts}
        root, child = places["Viagra <= 0.5?"], places["lottery <= 0.5?"]
        assert child[0] < root[0]
        assert child[1] < root[1]

    def test_many_classes_list_the_most_probable_ones(self):
        diagram = tree_diagram(
            ProbabilityTree(max_leaf_nodes=1).fit(np.zeros((21, 1)), np.repeat(range(6), range(1, 7)))
        )
        (text,) = plot_tree(diagram).texts
        assert text.get_text().splitlines() == [
            "→ 5", "5: 6 (0.286)", "4: 5 (0.238)", "3: 4 (0.190)", "2: 3 (0.143)", "and 2 more",
        ]  # fmt: skip

    def test_a_deep_tree_is_drawn_without_recursion(self):
        n = 350
        tree = ProbabilityTree(random_state=0).fit(np.arange(n)[:, None], np.arange(n) % 2)
        assert tree.tree_.get_depth() == n - 1
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(len(inspect.stack(0)) + 200)  # Enough for matplotlib, too little for the tree.
        try:
            diagram = tree_diagram(tree)
            ax = plot_tree(diagram)
        finally:
            sys.setrecursionlimit(before)
        assert max(ax.figure.get_size_inches()) <= 40
        assert len(ax.texts) == 2 * n - 1


class TestManners:
    def test_global_state_stays_as_it_was(self, document):
        code = (
            "import matplotlib as mpl, sys; before = mpl.rcParams.copy();"
            "from calibrant import Predictions, plots, reliability_curve;"
            "from calibrant.roc import roc_curve;"
            "ax = plots.plot_reliability(reliability_curve(Predictions([0.2, 0.9], labels=[0, 1])));"
            "ax = plots.plot_roc(roc_curve([1, 2], [0, 1]));"
            "print('matplotlib.pyplot' in sys.modules);"  # Before the parameters are read: that resolves the backend.
            "print(all(mpl.rcParams[key] == before[key] for key in before if key != 'backend'))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
        assert done.stdout.split() == ["False", "True"]

    def test_without_matplotlib_the_extra_is_named(self, monkeypatch, document):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(ModuleNotFoundError, match=r'pip install "calibrant\[plot\]"'):
            plot_roc(document)

    def test_every_plot_draws_on_given_axes(self, document):
        p = calibrated(n=100, k=3)
        tree = tree_diagram(ProbabilityTree().fit([[0], [1]], [0, 1]))
        calls = [
            (plot_reliability, reliability_curve(p)),
            (plot_classwise, classwise_curves(p, reliability_curve)),
            (plot_roc, document),
            (plot_calibration_map, calibration_map(convex_hull(document))),
            (plot_tree, tree),
        ]
        for plot, result in calls:
            ax = Figure().add_subplot()
            assert plot(result, ax=ax) is ax
            assert len(ax.get_children()) > 12
