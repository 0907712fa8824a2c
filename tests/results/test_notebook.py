"""What results show in notebooks: tables and figures that escape everything and never raise."""

import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import calibrant.results
from binary_cases import binary
from calibrant import Forecasts, Normal, Predictions, assess, compare, learning_curve, recommend, reliability_curve
from calibrant.curves import classwise_curves, cumulative_curve, kernel_curve, pit_histogram, quantile_curve
from calibrant.hypotest import ConsistencyTest
from calibrant.metrics import ECE, NLL, decompose
from calibrant.results import Assessment, ClassSummary, Estimate, ForecastAssessment, TestResult, Verdict
from calibrant.results.drawing import RED, notebook
from calibrant.results.drawing.notebook import MOST_ROWS
from simulate import calibrated

ALLOWED = {
    "div", "table", "thead", "tbody", "tr", "th", "td", "p", "b", "details", "summary",
    "svg", "g", "rect", "line", "path", "polyline", "polygon", "circle", "text",
}  # fmt: skip

HOSTILE = [
    "<script>alert(1)</script>", "</td></table><img src=x onerror=alert(1)>", "\"'><svg onload=alert(1)>", "{{7*7}}",
    "</svg><style>*{display:none}</style>", "<!--", "]]>", "&lt;b&gt;", "\x00\x1b[31m", "javascript:alert(1)",
    "a\u202eb", "\ud800", "${1}", "<b", "x" * 5000,
]  # fmt: skip


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_comment(self, data):
        raise AssertionError(data)

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    page = Page()
    page.feed(html)
    page.close()
    return page


def verdict(words="fine"):
    return Verdict(
        code=words, headline=words, explanation=words, error=0.1, expected=0.0, detectable=0.1, gap=0.0, pvalue=0.5,
        level=0.05,
    )  # fmt: skip


def results(words):
    """Results of many kinds with this text in every field that takes one."""
    p = binary(40)
    estimate = Estimate(name=words, value=0.25, details={words: words, "list": [words]})
    test = TestResult(name=words, statistic=1.0, pvalue=0.5, details={words: words})
    shared = {"name": words, "n_samples": 40, "verdict": verdict(words), "metrics": {words: estimate}, "test": test}
    summary = ClassSummary(name=words, n_observed=3, predicted=0.5, observed=0.4, error=0.1)
    classes = Predictions(np.full((6, 2), 0.5), [words, "b"] * 3, classes=[words, "b"])
    yield from (estimate, test, verdict(words), summary)
    yield Assessment(n_classes=2, curve=reliability_curve(p), classes=(summary,), **shared)
    yield ForecastAssessment(law=words, n_dimensions=1, **shared)
    yield compare({words: p, "b": p}, metrics={words + " ": NLL()}, n_resamples=9, rng=0)
    yield classwise_curves(classes, reliability_curve)


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_texts_stay_text(words):
    for result, benign in zip(results(words), results("harmless"), strict=True):
        page, same = read(result._repr_html_()), read(benign._repr_html_())
        assert set(page.tags) <= ALLOWED
        assert page.tags == same.tags
        assert page.attributes == same.attributes
        assert not any(name.startswith("on") for name in page.attributes)
        "".join(page.text).encode()  # No lone surrogates.
        assert "\x1b" not in "".join(page.text)


def test_every_public_result_shows_itself():
    for name in calibrant.results.__all__:
        thing = getattr(calibrant.results, name)
        if isinstance(thing, type):
            assert thing._repr_html_ is not None, name


def test_numbers_are_those_of_the_result():
    p = binary(1000, sharpness=3.0)
    shown = read(ECE().estimate(p)._repr_html_()).text
    assert f"{ECE()(p):.4g}" in shown
    test = ConsistencyTest(ECE(), 99)(p, rng=0)
    shown = read(test._repr_html_()).text
    assert shown[shown.index("p-value") + 1] == "≤ 0.01"


def test_a_verdict_alone_has_no_empty_table():
    alone = assess(calibrated(n=50, k=3), sections=(), n_resamples=19, rng=0)
    assert alone.verdict.headline in alone._repr_html_()
    assert "<table" not in alone._repr_html_()


def test_curves_have_a_figure_and_no_row_of_arrays():
    rng = np.random.default_rng(0)
    f = Forecasts(Normal(rng.normal(size=50), 1.0), rng.normal(size=50))
    p = binary(100)
    for curve in (reliability_curve(p), cumulative_curve(p), pit_histogram(f), quantile_curve(f)):
        page = read(curve._repr_html_())
        assert page.tags.count("svg") == 1
        assert "array" not in "".join(page.text)
        assert "aria-label" in page.attributes


def test_a_reliability_curve_shows_the_points_that_the_page_shows():
    few = Predictions([0.1] * 50 + [0.5] * 50, labels=[0, 1] * 50)  # Half of both happen: 0.1 is off, 0.5 is not.
    shown = reliability_curve(few)._repr_html_()
    assert shown.count("<circle") == len(reliability_curve(few).predicted) == 2
    assert shown.count(RED) == 1  # The point that is off.
    assert "<polygon" not in shown
    many = np.linspace(0.005, 0.995, 1000)
    labels = np.arange(1000) * 0.618 % 1 < 0.25 + 0.5 * many  # Too rare near 1, too frequent near 0.
    line = kernel_curve(Predictions(many, labels=labels), bandwidth=0.1, n_resamples=39, rng=0)
    shown = line._repr_html_()
    assert "<circle" not in shown
    assert shown.count("<polygon") == 1
    assert shown.count(RED) == 2  # At both ends.


def test_a_recommendation_lists_its_candidates_and_a_learning_curve_its_points():
    p = calibrated(n=120, k=3)
    found = recommend(p, candidates=["identity", "ts"], n_resamples=9, rng=0)
    page = read(found._repr_html_())
    assert found.headline in page.text
    assert page.tags.count("tr") == 1 + len(found.candidates)
    curve = learning_curve(["ts"], p, sizes=[20, 40], metrics={"nll": NLL()}, n_repeats=2, rng=0)
    assert read(curve._repr_html_()).tags.count("tr") == 1 + len(curve.points)


def test_a_long_table_is_cut_and_says_so():
    names = [f"class {k}" for k in range(100)]
    probs = np.random.default_rng(0).dirichlet(np.ones(100), 200)
    curves = classwise_curves(Predictions(probs, np.arange(200) % 100, classes=names), reliability_curve)
    page = read(curves._repr_html_())
    assert page.tags.count("tr") == MOST_ROWS + 2
    assert f"and {100 - MOST_ROWS} more" in page.text
    assert len(curves._repr_html_()) < 20_000


def test_results_without_a_table_of_their_own_show_their_fields():
    parts = decompose(binary(100))
    page = read(parts._repr_html_())
    assert "miscalibration" in page.text
    assert "ScoreDecomposition" in page.text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "text", object(), 10**400])
def test_values_that_do_not_belong_never_raise(value):
    shown = Estimate(name="x", value=value)._repr_html_()
    assert shown is None or "table" in shown


def test_a_failure_falls_back_to_the_plain_text(monkeypatch):
    monkeypatch.setitem(notebook.TABLES, "Estimate", lambda _: 1 / 0)
    assert Estimate(name="x", value=1.0)._repr_html_() is None


def test_jinja_is_not_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "<table>" in Estimate(name="x", value=1.0)._repr_html_()
