"""The page, notebooks and matplotlib draw the same figure of a curve: what each drew is read back as data."""

import re
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection, LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex

from binary_cases import binary
from calibrant import Predictions, reliability_curve
from calibrant.curves import isotonic_curve, kernel_curve
from calibrant.plots import plot_bias, plot_reliability
from calibrant.report import views
from calibrant.report.series import series_of
from calibrant.results.drawing import BLUE, RED
from calibrant.results.drawing.notebook import STYLES
from calibrant.results.drawing.reliability import words_of
from report_cases import Tree, assessment
from simulate import calibrated, sharpened


@dataclass
class Shown:
    """What was read from a figure.

    Marks are (x, y, size / that of the largest, off, faint), whiskers (x, low, high), triangles (x, direction), bars
    (x, height / that of the tallest), lines the points along a stretch.
    """

    marks: list
    triangles: list
    whiskers: list
    band: list
    lines: dict
    bars: list
    ends: tuple
    words: set


def agree(one, other):
    """Compare what two figures show, to a hundredth of a pixel: that is more of a mark or a bar than of an axis."""
    for name, error in {"marks": 4e-3, "bars": 4e-3, "triangles": 2e-4, "whiskers": 2e-4}.items():
        first, second = sorted(getattr(one, name)), sorted(getattr(other, name))
        assert len(first) == len(second), name
        assert np.array(first) == pytest.approx(np.array(second), abs=error), name
    for kind in ("faint", "plain", "off"):
        assert [len(line) for line in one.lines[kind]] == [len(line) for line in other.lines[kind]], kind
        for first, second in zip(one.lines[kind], other.lines[kind], strict=True):
            assert first == pytest.approx(second, abs=2e-4), kind
    for there, back in ((one.band, other.band), (other.band, one.band)):
        if len(there):
            assert np.abs(there[:, None] - back[None]).max(axis=2).min(axis=1).max() < 2e-4
    assert len(one.band) > 0 or not len(other.band)
    assert one.ends == pytest.approx(other.ends, abs=2e-4)


def by_largest(marks):
    largest = max((mark[2] for mark in marks), default=1.0)
    return [(x, y, size / largest, off, faint) for x, y, size, off, faint in marks]


def by_tallest(bars):
    """The page makes the smallest bars taller, so that they are seen."""
    tallest = max(abs(height) for _, height in bars)
    return [(x, np.sign(height) * max(abs(height) / tallest, 0.06)) for x, height in bars]


def drawn(curve, *, tilted):
    """Read the artists of matplotlib."""
    ax = (plot_bias if tilted else plot_reliability)(curve)
    marks, lines = [], {"faint": [], "plain": [], "off": []}
    for one in (one for one in ax.collections if type(one) is PathCollection):
        for (x, y), size, colour in zip(one.get_offsets(), one.get_sizes(), one.get_facecolors(), strict=True):
            marks.append((x, y, size**0.5, to_hex(colour).upper() == RED, colour[3] < 1))
    for one in (one for one in ax.lines if len(one.get_xdata()) > 1 and one.get_color() in (RED, BLUE)):
        points = one.get_xydata()
        kind = "off" if one.get_color() == RED else "faint" if one.get_alpha() else "plain"
        pieces = np.split(points, np.flatnonzero(np.isnan(points[:, 1])))
        pieces = [piece[~np.isnan(piece[:, 1])] for piece in pieces]
        lines[kind] += [piece for piece in pieces if len(piece)]
    segments = [part for one in ax.collections if type(one) is LineCollection for part in one.get_segments()]
    bands = [one.get_paths()[0].vertices for one in ax.collections if type(one) is FillBetweenPolyCollection]
    (strip,) = ax.child_axes
    bars = [path.vertices for one in strip.collections if type(one) is PolyCollection for path in one.get_paths()]
    texts = [text.get_text() for text in [*ax.texts, *strip.texts]]
    return Shown(
        marks=by_largest(marks),
        triangles=[(*one.get_xdata(), 1 if one.get_marker() == "^" else -1) for one in ax.lines if is_triangle(one)],
        whiskers=[(low[0], low[1], high[1]) for low, high in segments],
        band=np.concatenate(bands) if bands else np.empty((0, 2)),
        lines=lines,
        bars=by_tallest([(bar[0, 0], height) for bar in bars if (height := bar[1, 1] - bar[0, 1])]),
        ends=ax.get_ylim() if tilted else (0, 1),
        words={text.replace("-\n", "-").replace("\n", " ") for text in [*texts, ax.get_xlabel(), ax.get_ylabel()]},
    )


def is_triangle(line):
    return line.get_marker() in ("^", "v")


def scales(tree):
    """Return the maps from pixels to data that the labels of the ticks imply."""
    ticks = [(found, text) for found, text in tree.find("text") if re.fullmatch(r"-?\d[\d.]*", text)]
    across = [(float(found["x"]), float(text)) for found, text in ticks if found["text-anchor"] == "middle"]
    up = [(float(found["y"]) - 4, float(text)) for found, text in ticks if found["text-anchor"] == "end"]
    return np.poly1d(np.polyfit(*np.array(across).T, 1)), np.poly1d(np.polyfit(*np.array(up).T, 1))


def read(figure, strip):
    """Read SVG whose elements have the classes of the page."""
    tree = Tree(figure)
    x, y = scales(tree)
    marks, triangles, whiskers, band = [], [], [], np.empty((0, 2))
    lines = {"curve vague": [], "curve": [], "curve strong": []}
    faint = False
    for tag, found, _ in tree.elements:
        class_ = found.get("class", "")
        faint = "vague" in class_ if tag == "g" else tag != "svg" and faint
        points = np.array([[float(v) for v in pair.split(",")] for pair in found.get("points", "").split()])
        if len(points):
            points = np.column_stack([x(points[:, 0]), y(points[:, 1])])
        if class_.startswith("whisker"):
            ends = sorted(y(float(found[key])) for key in ("y1", "y2"))
            whiskers.append((x(float(found["x1"])), *ends))
        elif class_.startswith("marker") and tag == "circle":
            place = x(float(found["cx"])), y(float(found["cy"]))
            marks.append((*place, float(found["r"]), class_ == "marker off", faint))
        elif class_.startswith("marker"):
            triangles.append((points[0][0], 1 if points[0][1] > points[1][1] else -1))
        elif class_ in lines:
            lines[class_].append(points)
        elif class_ == "band":
            band = points
    frame = tree.find("rect", class_="frame")[0][0]
    top = float(frame["y"])
    return Shown(
        marks=by_largest(marks),
        triangles=triangles,
        whiskers=whiskers,
        band=band,
        lines=dict(zip(("faint", "plain", "off"), lines.values(), strict=True)),
        bars=by_tallest([*bars(strip, "share", x, 1), *bars(strip, "share rest", x, -1)]),
        ends=(y(top + float(frame["height"])), y(top)),
        words={text for _, text in [*tree.find("text"), *Tree(strip).find("text")]},
    )


def bars(strip, class_, x, side):
    for found, _ in Tree(strip).find("path", class_=class_):
        for left, height in re.findall(r"M([\d.]+) [\d.-]+v([\d.-]+)h", found["d"]):
            assert float(height) * side < 0  # Pixels are counted downwards.
            yield x(float(left)), -float(height)


def on_the_page(curve, *, tilted):
    whole = assessment(curve=curve)
    view = next(v for v in views.views(series_of(whole)) if v.key == ("bias" if tilted else "binned"))
    html = view.figure.__html__()
    shown = read(html, view.strips[0].__html__())
    probes = Tree(html).find("g", class_="point probe")
    return replace(shown, marks=[]) if probes else shown  # Points of a line are not seen until they are touched.


def in_a_notebook(curve):
    """Give the elements their classes back, by their colours."""
    html = curve._repr_html_()
    for class_, style in sorted(STYLES.items(), key=lambda pair: -len(pair[1])):
        written = " ".join(f'{key}="{value}"' for key, value in style.items())
        html = re.sub(rf" {re.escape(written)}(?=/?>)", f' class="{class_}"', html)
    html = re.sub(r'(<path [^>]*class=)"marker"', r'\1"share"', html)  # Both are blue.
    return read(html, html)


def odd():
    """Return a curve with one wild point of few rows to either side."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.4, 0.6, 20_000)
    y = rng.random(20_000) < p
    return reliability_curve(Predictions(np.append(p, [0.01, 0.99]), np.append(y, [1, 0])))


@cache
def over():
    return binary(2000, seed=2, sharpness=2.0)


def few():
    return Predictions(np.repeat([0.1, 0.3, 0.5, 0.8], 100), labels=np.arange(400) % 10 < 4)


CURVES = {
    "points": lambda: reliability_curve(over()),
    "vague points": lambda: reliability_curve(binary(150, seed=2, sharpness=2.0)),
    "points beyond": odd,
    "confidence": lambda: reliability_curve(sharpened(calibrated(n=500, k=4), 2.0)),
    "a line": lambda: kernel_curve(over(), bandwidth=0.1, n_resamples=39, rng=0),
    "a line with intervals": lambda: isotonic_curve(binary(250, seed=1), n_resamples=39, band="confidence", rng=0),
    "a line alone": lambda: kernel_curve(over(), bandwidth=0.1),
    "points with a band": lambda: isotonic_curve(few(), n_resamples=39, rng=0),
    "no histogram": lambda: replace(reliability_curve(over()), histogram=None),
    "one point": lambda: reliability_curve(Predictions([0.3], labels=[1])),
}


@pytest.mark.parametrize("name", CURVES)
def test_page_notebook_and_matplotlib_show_the_same(name):
    curve = CURVES[name]()
    for tilted in (False, True):
        one, other = drawn(curve, tilted=tilted), on_the_page(curve, tilted=tilted)
        agree(one, other)
        words = words_of([curve], tilted=tilted)
        assert {words.horizontal, words.vertical, words.above, words.below} <= one.words & other.words
        assert {text for text in one.words if text.endswith("%")} <= other.words  # The tallest bar.
    agree(drawn(curve, tilted=False), in_a_notebook(curve))


def test_the_cases_hold_all_that_can_differ():
    """So that agreement of empty lists is not taken for agreement."""
    found = [drawn(curve(), tilted=tilted) for curve in CURVES.values() for tilted in (False, True)]
    assert sum(len(one.triangles) for one in found) == 2
    assert any(one.lines["off"] for one in found)
    assert any(one.lines["faint"] for one in found)
    assert any(len(one.band) for one in found)
    assert {(off, faint) for one in found for *_, off, faint in one.marks} >= {(0, 0), (1, 0), (0, 1)}
    assert any(height < 0 for one in found for _, height in one.bars)


def test_the_scale_of_the_bias_view_fits_all_curves_on_it():
    wide, narrow = CURVES["points"](), reliability_curve(binary(2000, seed=2))
    both = views.views(series_of({"a": assessment(curve=narrow), "b": assessment(curve=wide)}))[-1].figure.__html__()
    frame = Tree(both).find("rect", class_="frame")[0][0]
    assert scales(Tree(both))[1](float(frame["y"])) == pytest.approx(plot_bias(wide).get_ylim()[1], abs=2e-4)
