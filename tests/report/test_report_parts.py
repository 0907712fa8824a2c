"""The parts of the report: numbers in words, rows of tables, figures."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant._border import numerals
from calibrant.metrics import FORECAST_METRICS, METRICS
from calibrant.report import diagram, metrics, render_html, tables, tests, verdicts, views
from calibrant.report.series import series_of
from calibrant.results.drawing import svg
from naming import each
from report_cases import Tree, assessment, consistency, curve, measured, verdict


def drawn_binned(whole):
    return next(view for view in views.views(series_of(whole)) if view.key == "binned").figure.__html__()


class TestMetricTable:
    def cells(self, **columns):
        pages = {name: assessment(metrics=values) for name, values in columns.items()}
        body = Tree(render_html(pages)).find("table", class_="metrics stacked")[0][1]
        return [line.split() for line in body.splitlines() if line.strip()]

    def rows(self, **columns):
        return metrics.metric_rows(series_of({name: assessment(metrics=values) for name, values in columns.items()}))

    def test_marks_the_best_by_the_direction_of_the_metric(self):
        accuracy, ece = self.rows(a={"accuracy": 0.9, "ece": 0.02}, b={"accuracy": 0.8, "ece": 0.01})
        assert [c.best for c in accuracy.cells] == [True, False]
        assert [c.best for c in ece.cells] == [False, True]

    def test_prefers_any_number_to_infinity(self):
        (row,) = self.rows(a={"nll": np.inf}, b={"nll": 1e6})
        assert [(c.text, c.best) for c in row.cells] == [("∞", False), ("1,000,000", True)]

    def test_values_that_look_equal_are_marked_alike(self):
        (row,) = self.rows(a={"ece": 0.01001}, b={"ece": 0.01002}, c={"ece": 0.3})
        assert [c.best for c in row.cells] == [True, True, False]
        (row,) = self.rows(a={"ece": 0.01001}, b={"ece": 0.01002})
        assert [c.best for c in row.cells] == [False, False]

    def test_marks_nothing_where_no_direction_is_better(self):
        chance, unknown = self.rows(a={"ece-chance": 0.1, "mine": 1.0}, b={"ece-chance": 0.2, "mine": 2.0})
        assert not any(c.best for row in (chance, unknown) for c in row.cells)
        assert (unknown.entry.label, unknown.entry.meaning) == ("mine", "")

    def test_shows_a_dash_where_a_metric_was_not_measured(self):
        (row,) = self.rows(a={"ece": 0.1}, b={})
        assert row.cells[1] is None
        assert Tree(render_html({"a": assessment(), "b": assessment(metrics={})})).find("span", class_="absent")

    def test_page_shows_values_stars_and_arrows(self):
        words = self.cells(a={"nll": 0.5, "accuracy": 0.9}, b={"nll": 0.25, "accuracy": 0.8})
        assert words[1:] == [
            ["Metric", "a", "b"],
            ["Scores"],
            *(["Log", "loss", "(NLL)", "↓"], ["0.500"], ["★", "0.250"]),
            *(["Accuracy", "↑"], ["★", "0.900"], ["0.800"]),
        ]

    def test_explains_infinite_loss(self):
        loss = replace(measured("nll", np.inf), details={"infinite_rows": 1})
        source = render_html({"model": replace(assessment(), metrics={"nll": loss})})
        assert "model: Log loss (NLL) is infinite: what was observed in 1 row was given probability 0." in source

    def test_a_value_that_only_a_penalty_keeps_finite_is_not_shown(self):
        level = replace(measured("in-the-large", 24.43), details={"one_outcome": True})
        source = render_html({"model": replace(assessment(), metrics={"in-the-large": level})})
        shown = source.split("<tbody>")[1]
        assert "24.4" not in shown.split("</table>")[0]
        assert "model: no value for Calibration in the large: all outcomes are alike" in source

    def test_an_error_that_must_be_0_is_not_shown_as_measured(self):
        error = measured("rms-debiased", 0.0)
        source = render_html({"model": replace(assessment(), metrics={"rms-debiased": error})})
        assert "<dd>not known</dd>" not in source
        assert "<dt>Calibration error</dt><dd>" in source
        assert 'class="gauge' in source.split('<ul class="note key">')[0]
        unpaired = replace(error, details={"unpaired": True})
        source = render_html({"model": replace(assessment(), metrics={"rms-debiased": unpaired})})
        assert "<dt>Calibration error</dt><dd>not known</dd>" in source
        assert 'class="gauge' not in source.split('<ul class="note key">')[0]

    def test_directions_are_those_of_the_metrics(self):
        for metric in {**METRICS, **FORECAST_METRICS}.values():
            assert metric.about().better == metric.better


class TestFigures:
    def test_points_are_filled_where_the_interval_misses_the_diagonal(self):
        drawn = drawn_binned(assessment())
        assert drawn.count('class="marker off"') == 3
        assert drawn.count('class="marker"') == 2

    def test_points_say_their_numbers(self):
        points = [a for a, _ in Tree(drawn_binned(assessment())).find("g", role="img")]
        assert points[2]["data-tip"].split("\n") == [
            "model",
            "Predictions\t0.400 to 0.600",
            "Rows\t3 (20.0%)",
            "Mean prediction\t0.500",
            "Frequency\t0.400",
            "90% interval\t0.350 to 0.450",
        ]
        assert [p["tabindex"] for p in points] == ["0", "-1", "-1", "-1", "-1"]

    def test_points_lie_where_the_numbers_say(self):
        drawn = Tree(drawn_binned(assessment()))
        corners = drawn.find("line", class_="diagonal")[0][0]
        left, bottom = float(corners["x1"]), float(corners["y1"])
        side = float(corners["x2"]) - left
        assert side == bottom - float(corners["y2"])  # The axes are square.
        third = drawn.find("circle", class_="marker off")[0][0]
        assert float(third["cx"]) == pytest.approx(left + 0.5 * side, abs=0.01)
        assert float(third["cy"]) == pytest.approx(bottom - 0.4 * side, abs=0.01)

    def test_axes_are_named_by_the_number_of_classes(self):
        two, three = assessment(classes=("no", "yes")), assessment()
        assert "Confidence in the predicted class" in drawn_binned(three)
        assert "Predicted probability" in drawn_binned(two)
        both = views.views(series_of({"two": two, "three": three}))[0].figure.__html__()
        assert ("Predicted probability" in both, "Confidence" in both) == (True, False)

    def test_a_dense_curve_has_a_band_and_no_points(self):
        drawn = drawn_binned(assessment(curve=replace(curve(n_points=200), band="consistency")))
        assert drawn.count('class="band"') == 1
        assert drawn.count('class="point probe"') == diagram.N_PROBES
        assert 'class="whisker"' not in drawn

    def test_histogram_counts_every_draw(self):
        edges, counts = tests.null_bins(consistency())
        assert counts.sum() == 99
        assert len(edges) == len(counts) + 1

    @pytest.mark.parametrize("null", [[0.0] * 9, [0.1, np.nextafter(0.1, 1)], [np.inf] * 3, [np.inf, 0.1, 0.2]])
    def test_histogram_draws_degenerate_laws(self, null):
        test = replace(consistency(), null=np.array(null), statistic=0.1)
        drawn = tests.null_histogram(test, "x").__html__()
        assert "observed 0.100" in drawn
        assert not re.search(r'="(nan|-?inf)"', drawn)

    def test_a_long_title_takes_lines_below_one_another(self):
        long = "Evidence of all parts under calibration, in words"
        drawn = Tree(tests.null_histogram(consistency(), "x", long).__html__())
        lines = [(float(place["y"]), words) for place, words in drawn.find("text", class_="label")]
        assert [words for _, words in lines] == ["Evidence of all parts under", "calibration, in words"]
        assert lines[0][0] < lines[1][0] < float(drawn.find("svg")[0][0]["viewbox"].split()[-1])

    def test_a_test_without_draws_or_with_an_infinite_statistic_is_told_in_words(self):
        tree = Tree(render_html(assessment(test=replace(consistency(), null=None, statistic=2.5))))
        assert "Statistic 2.50. This test makes no redraws." in [t for _, t in tree.find("p", class_="note")]
        drawn = tests.null_histogram(replace(consistency(), statistic=np.inf), "x").__html__()
        assert 'class="observed"' not in drawn

    def test_gauge_stays_inside_its_scale(self):
        limit = verdicts.gauge_limit([verdict(error=np.inf, detectable=0.5), verdict(error=0.25)])
        assert limit == pytest.approx(0.52)
        drawn = Tree(verdicts.gauge(verdict(error=np.inf), limit).__html__())
        assert drawn.find("circle")[0][0]["cx"] == "240"

    def test_curves_beyond_the_sixth_start_hidden(self):
        tree = Tree(render_html({str(i): assessment() for i in range(8)}))
        boxes = [a for a, _ in tree.find("input", type="checkbox")]
        assert ["checked" in a for a in boxes] == [True] * 6 + [False] * 2
        assert {a["data-series"] for _, a, _ in tree.elements if "hidden" in a and "data-series" in a} == {"6", "7"}

    @given(st.floats(-100, 100), st.floats(1e-3, 1e6))
    def test_ticks_are_round_and_inside(self, low, width):
        ticks = [value for value, _ in svg.Scale(low, low + width, 0, 100).ticks()]
        slack = 1e-6 * width
        assert 3 <= len(ticks) <= 8
        assert low - slack <= min(ticks) <= max(ticks) <= low + width + slack

    def test_elements_escape_text_and_attributes(self):
        written = svg.element("text", "<b>&", class_='"x"', data_y=1.5, role=None).__html__()
        assert written == '<text class="&quot;x&quot;" data-y="1.5">&lt;b&gt;&amp;</text>'


class TestTables:
    def test_classes_are_sorted_by_error(self):
        rows = tables.class_rows(assessment(classes=("ant", "bee", "cat")).classes)
        assert [row.name for row in rows] == ["cat", "bee", "ant"]
        assert [row.cells[-1] for row in rows] == [("0.03", "0.0300"), ("0.02", "0.0200"), ("0.01", "0.0100")]
        assert rows[0].cells[3][1] == "+0.0500"

    def test_groups_show_verdict_and_pvalue(self):
        whole = assessment(groups=("north", "south"))
        worse = replace(whole.groups["south"], verdict=verdict(code="consistent", error=0.2))
        rows = tables.group_rows(replace(whole, groups={**whole.groups, "south": worse}))
        assert [(row.name, row.verdict.code) for row in rows] == [("south", "consistent"), ("north", "over-confident")]
        assert rows[0].cells[-2:] == (("0.01", "p ≤ 0.01"), ("0.02", "p ≤ 0.02"))
        assert tables.group_summary(whole) == "2 of 2 with an adjusted p-value of at most 0.05"

    def test_the_verdict_on_a_group_agrees_with_its_adjusted_pvalue(self):
        whole = replace(assessment(groups=("north", "south")), adjusted={"north": 0.05, "south": 0.06})
        assert [row.verdict.code for row in tables.group_rows(whole)] == ["over-confident"] * 2  # p <= 0.06, a bound.
        test = replace(whole.groups["south"].test, pvalue=0.03)
        small = verdict(code="over-confident", error=0.01, size="within tolerance")
        for south, code in ((whole.groups["south"].verdict, "consistent"), (small, "calibrated")):
            groups = {**whole.groups, "south": replace(whole.groups["south"], verdict=south, test=test)}
            found = {row.name: row.verdict for row in tables.group_rows(replace(whole, groups=groups))}
            assert (found["north"].code, found["south"].code) == ("over-confident", code)
            assert found["south"].size != "beyond tolerance"
        assert tables.group_summary(whole).startswith("1 of 2")

    def test_no_groups_no_section(self):
        assert 'id="groups-title"' in render_html(assessment(groups=("north",)))
        assert 'id="groups-title"' not in render_html(assessment())

    def test_settings_are_shown_once_where_they_agree(self):
        rows = tables.setting_rows(
            series_of({"a": assessment(), "b": assessment(settings={"seed": 1, "resamples": 99, "weighted": True})})
        )
        assert rows == [
            ("seed", ["0", "1"]),
            ("resamples", ["99"]),
            ("version", ["0.0", "not given"]),
            ("weighted", ["not given", "yes"]),
        ]


class TestNumbers:
    @each(
        "value, expected",
        [
            (0.0537163, "0.0537"),
            (0.9996, "1.00"),
            (0.09996, "0.100"),
            (12.345, "12.3"),
            (999.4, "999"),
            (999.6, "1,000"),
            (123456.7, "123,457"),
            (1e12, "1.00 \N{MULTIPLICATION SIGN} 10¹²"),
            (0.00012, "0.000120"),
            (1.234e-7, "1.23 \N{MULTIPLICATION SIGN} 10⁻⁷"),
            (0.0, "0"),
            (-0.25, "\N{MINUS SIGN}0.250"),
            (float("inf"), "∞"),
            (float("-inf"), "\N{MINUS SIGN}∞"),
            (float("nan"), "no value"),
        ],
    )
    def test_three_significant_digits(self, value, expected):
        assert numerals.number(value) == expected

    def test_columns_share_their_decimals(self):
        assert numerals.aligned([0.0274, 0.0091, -0.00004]) == ["0.0274", "0.0091", "0.0000"]
        assert numerals.aligned([1234.5, 0.1, float("inf")]) == ["1,235", "0", "∞"]
        assert numerals.aligned([0.0, 0.0]) == ["0.000", "0.000"]

    @pytest.mark.parametrize(
        "value, floor, expected",
        [
            (0.001, 0.001, "p ≤ 0.001"),
            (1 / 10000, 1 / 10000, "p ≤ 0.0001"),
            (0.002, 0.001, "p = 0.002"),
            (0.0004, 0.0001, "p < 0.001"),
            (0.34567, None, "p = 0.35"),
            (1.0, 0.001, "p = 1"),
        ],
    )
    def test_pvalues(self, value, floor, expected):
        assert numerals.pvalue(value, floor) == expected

    def test_the_smallest_pvalue_follows_from_the_draws_if_the_test_does_not_say(self):
        assert tests.smallest_pvalue(consistency()) == 0.01
        assert tests.smallest_pvalue(replace(consistency(), details={"smallest_pvalue": 0.2})) == 0.2
        assert tests.smallest_pvalue(replace(consistency(), null=None)) is None
