"""The sections of the report beyond diagram and tables: parts of scores, fix, classes, ranking, tests, forecasts."""

import json
from dataclasses import replace

import numpy as np
import pytest

from calibrant import Predictions, assess
from calibrant.hypotest import TESTS, CoxTest
from calibrant.metrics import ECE, METRICS
from calibrant.metrics.measuring import principal_metrics
from calibrant.report import (
    decomposition,
    diagram,
    fix,
    metrics,
    ranking,
    render_html,
    tests,
    views,
)
from calibrant.report.diagram import facts
from calibrant.report.page import rounded
from calibrant.report.series import series_of
from calibrant.results import Interval
from calibrant.results.drawing import thinning
from calibrant.results.drawing.reliability import reliability_figure
from report_cases import (
    Tree,
    advised,
    assessment,
    checked,
    comparison,
    consistency,
    curve,
    dense_curve,
    forecast,
    omnibus,
    pictured,
    verdict,
)


class TestThinning:
    def test_short_curves_stay_as_they_are(self):
        short = curve()
        assert thinning.thin_curve(short) is short

    def test_long_curves_keep_ends_rows_and_shape(self):
        long = dense_curve(n_points=5000)
        short = thinning.thin_curve(long)
        assert len(short.predicted) <= thinning.MAX_POINTS
        assert short.predicted[[0, -1]].tolist() == [0, 1]
        assert short.count.sum() == 5000
        assert short.upper[-1] == 1
        drawn = np.interp(long.predicted, short.predicted, short.observed)
        assert np.abs(drawn - long.observed).max() < 0.02

    def test_jumps_stay_jumps(self):
        x = np.linspace(0, 1, 4000)
        kept = thinning.thin(np.column_stack([x, x >= 0.5]))
        after = np.flatnonzero(x[kept] >= 0.5)[0]
        assert x[kept][after] - x[kept][after - 1] == pytest.approx(1 / 3999, rel=1e-6)

    def test_noise_is_thinned_as_much_as_needed(self):
        noise = np.random.default_rng(0).uniform(size=(5000, 2))
        assert 2 <= len(thinning.thin(noise)) <= thinning.MAX_POINTS

    def test_the_worst_classes_are_kept(self):
        many = tuple(f"class {i}" for i in range(40))
        light = series_of(pictured(classes=many))[0].assessment.classwise
        assert light.names == tuple(f"class {i}" for i in range(39, 15, -1))
        assert [c.error.value for c in light.curves] == sorted((c.error.value for c in light.curves), reverse=True)

    def test_records_are_rounded_and_stay_equal_otherwise(self):
        record = {"a": [np.pi, 3, True, None, "x"], "b": {"c": 2.0, "d": 1.5e-12}}
        assert rounded(record) == {"a": [3.141593, 3, True, None, "x"], "b": {"c": 2, "d": 1.5e-12}}


class TestViews:
    def test_all_five_where_there_are_curves_and_two_without(self):
        assert [v.key for v in views.views(series_of(pictured()))] == [
            *("isotonic", "binned", "kernel", "cumulative", "bias")
        ]
        assert [v.key for v in views.views(series_of(assessment()))] == ["binned", "bias"]

    def test_a_curve_is_thick_where_it_leaves_its_band(self):
        own = reliability_figure(dense_curve())
        assert not own.off[own.x < 0.5].any()
        assert own.off.any()
        drawn = views.views(series_of(pictured()))[0].figure.__html__()
        assert drawn.count('class="curve strong"') >= 1

    def test_a_curve_of_few_points_shows_each_of_them(self):
        for n_points in (1, 12):
            few = pictured(classes=("no", "yes"))
            few = replace(few, curves={"isotonic": dense_curve(n_points=n_points)})
            drawn = views.views(series_of(few))[0].figure.__html__()
            assert drawn.count('class="point"') == n_points
            assert "probe" not in drawn

    def test_the_text_says_how_the_curve_is_drawn(self):
        few, many = ({"isotonic": dense_curve(n_points=n)} for n in (12, 1000))
        one = pictured(classes=("no", "yes"))

        def said(*curves):
            shown = {f"model {i}": replace(one, curves=own) for i, own in enumerate(curves)}
            return " ".join(views.views(series_of(shown))[0].reading)

        assert "The curve is thick" in said(many)
        assert "a filled point lies outside it" not in said(many)
        assert "The curve is thick" not in said(few)
        assert "few distinct values, so the curve" in said(few)
        assert "The curve is thick" in said(many, few)
        assert "few distinct values in model 1, so the curve" in said(many, few)

    def test_the_text_speaks_of_events_or_of_right_predictions(self):
        for view, words in (("class", "the event is rarer"), ("top-label", "the model is right less often")):
            one = pictured(classes=("no", "yes") if view == "class" else ("a", "b", "c"))
            one = replace(one, curve=replace(one.curve, view=view), curves={})
            texts = {found.key: " ".join(found.reading) for found in views.views(series_of({"{0}": one}))}
            assert all(words in texts[key] for key in ("binned", "cumulative", "bias"))

    def test_points_name_the_kind_of_their_limits(self):
        assert "90% band" in facts(dense_curve(), 3)
        bare = replace(dense_curve(), low=None, high=None)
        assert not any("%" in key for key in facts(bare, 3))

    def test_the_histogram_hangs_other_rows_below_the_line(self):
        strip = views.views(series_of(pictured()))[0].strips[0].__html__()
        tree = Tree(strip)
        (up, _), (down, _) = tree.find("path", class_="share")[0], tree.find("path", class_="share rest")[0]
        assert up["d"].count("M") == down["d"].count("M") == 4
        assert "v-" in up["d"].split("h")[0]
        assert "v-" not in down["d"].split("h")[0]
        assert "40%" not in strip  # The tallest bar holds 4 of 20 rows.
        assert "20%" in strip

    def test_the_bias_view_centres_on_zero(self):
        drawn = Tree(next(v for v in views.views(series_of(assessment())) if v.key == "bias").figure.__html__())
        zero = drawn.find("line", class_="diagonal")[0][0]
        assert zero["y1"] == zero["y2"] == "200"
        heights = [float(a["cy"]) for a, _ in drawn.find("circle") if a["class"].startswith("marker")]
        assert heights[:2] == [200, 200]  # Two points lie on the diagonal, the others above 0: too high.
        assert heights[2] == heights[3] == heights[4] < 200

    def test_the_running_sum_says_where_the_worst_interval_is(self):
        words = views.reading(series_of(pictured()))
        assert words[-1] == (
            "The largest net error (thick) is in the predictions from 0.1 to 0.4: 28% predicted, 20% observed in "
            "750 rows."
        )
        still = replace(pictured(), cumulative=replace(pictured().cumulative, worst=None))
        assert views.reading(series_of(still))[-1] == "The path never leaves 0."


class TestMetrics:
    def limits(self, name, **changes):
        found = {"low": 0.01, "high": 0.02, "level": 0.9, "method": "m", "value": 0.0}
        return Interval(name=name, **{**found, **changes})

    def test_proper_scores_come_first_and_unusual_metrics_are_folded(self):
        series = series_of(assessment(metrics={"nll": 0.3, "ece": 0.1, "ucme": 0.1, "e50": 0.2, "mine": 1.0}))
        sections = metrics.metric_sections(series)
        assert [(s.label, s.main, [row.key for row in s.rows]) for s in sections] == [
            ("Scores", True, ["nll"]),
            ("Calibration error", True, ["ece"]),
            ("Kernel calibration error", False, ["ucme"]),
            ("Clinical measures", False, ["e50"]),
            ("Others", False, ["mine"]),
        ]

    def test_the_page_of_two_classes_shows_first_what_evaluate_shows(self):
        rng = np.random.default_rng(0)
        probs = rng.random(200)
        found = assess(Predictions(probs, rng.random(200) < probs), n_resamples=19, rng=0)
        sections = metrics.metric_sections(series_of(found))
        shown = [row.key for section in sections if section.main for row in section.rows]
        assert sorted(shown) == sorted(principal_metrics(n_classes=2))
        assert not [row for section in sections for row in section.rows if "-one-vs-rest" in row.key]

    def test_unknown_metrics_alone_are_not_folded(self):
        assert [s.main for s in metrics.metric_sections(series_of(assessment(metrics={"mine": 1.0})))] == [True]

    def test_intervals_stand_beside_values_and_the_range_by_chance_where_there_are_none(self):
        shown = assessment(
            metrics={"nll": 0.015, "ece": 0.05},
            intervals={
                "nll": self.limits("NLL()"),
                "ece": self.limits("ECE()", low=None, high=None, method="none", expected=0.004, null=(0.0, 0.006)),
            },
        )
        rows = {row.key: row.cells[0] for row in metrics.metric_rows(series_of(shown))}
        assert (rows["nll"].interval, rows["nll"].chance) == ("0.0100 to 0.0200", "")
        assert (rows["ece"].interval, rows["ece"].chance) == ("", "up to 0.00600")
        assert [rows[key].beneath for key in rows] == ["0.0100 to 0.0200", "by chance up to 0.00600"]
        assert metrics.metric_notes(series_of(shown)) == []
        source = render_html(shown)
        assert "90% interval" in source
        assert "“If calibrated” holds the range in 95 of 100 data sets of a calibrated model." in source
        assert 'data-sheet="intervals"' in source

    def test_limits_that_are_not_known_to_cover_are_left_out_and_said_to_be(self):
        nothing = self.limits("ECE()", low=None, high=None, method="none", null=(0.0, 0.006), reason="why")
        shown = assessment(metrics={"ece": 0.05}, intervals={"ece": nothing})
        (row,) = metrics.metric_rows(series_of(shown))
        assert (row.cells[0].interval, row.cells[0].beneath) == ("", "by chance up to 0.00600")
        (note,) = metrics.metric_notes(series_of(shown))
        assert note == "No interval of known coverage for ECE: why."
        assert note in render_html(shown)

    def test_limits_that_one_model_lacks_are_said_to_be_those_of_that_model(self):
        """Below a table with limits of the other model, "no interval for NLL" would deny what is shown."""
        nothing = self.limits("NLL()", low=None, high=None, method="none", reason="why")
        without = assessment(metrics={"nll": 0.05}, intervals={"nll": nothing})
        known = assessment(metrics={"nll": 0.05}, intervals={"nll": self.limits("NLL()")})
        (note,) = metrics.metric_notes(series_of({"a": without, "b": known}))
        assert note == "a: no interval of known coverage for Log loss (NLL): why."
        (note,) = metrics.metric_notes(series_of({"a": without, "b": without}))
        assert note == "No interval of known coverage for Log loss (NLL): why."

    def test_metrics_that_are_not_shown_at_first_are_counted_in_notes(self):
        nothing = self.limits("SKCE()", low=None, high=None, method="none", reason="why")
        for others, words in ((["kce"], "; KCE"), (["kce", "mmce"], " and 2 others")):
            keys = ["skce", *others]
            shown = assessment(metrics=dict.fromkeys(keys, 0.05), intervals=dict.fromkeys(keys, nothing))
            (note,) = metrics.metric_notes(series_of(shown))
            assert note == f"No interval of known coverage for SKCE{words}: why."

    def test_the_sum_in_the_brier_score_of_two_classes_is_said(self):
        for classes, said in ((("no", "yes"), True), (("a", "b", "c"), False)):
            notes = metrics.metric_notes(series_of(assessment(classes=classes, metrics={"brier": 0.4})))
            assert any(note.startswith("The Brier score is summed over the classes") for note in notes) == said
        assert metrics.metric_notes(series_of(assessment(classes=("no", "yes"), metrics={"nll": 0.4}))) == []

    def test_without_intervals_there_is_no_level(self):
        assert metrics.interval_level(series_of(assessment())) is None


class TestParts:
    def test_steps_lead_from_uncertainty_to_the_score(self):
        (series,) = series_of(pictured())
        uncertainty, discrimination, miscalibration, score = decomposition.bars(
            decomposition.find(series, "squared-error")
        )
        assert (uncertainty.start, uncertainty.stop) == (0, 0.2)
        assert (discrimination.start, discrimination.stop) == pytest.approx((0.15, 0.2))
        assert (miscalibration.start, miscalibration.stop) == pytest.approx((0.15, 0.18))
        assert (score.written, miscalibration.written) == ("0.180", "+0.0300")

    def test_scores_are_named_by_what_is_scored(self):
        assert decomposition.score_name(series_of(pictured()), "squared-error") == "Squared error of the confidence"
        two = series_of(pictured(classes=("no", "yes")))
        assert decomposition.score_name(two, "squared-error") == "Squared error (half the Brier score)"
        assert decomposition.score_name(two, "log") == "Log loss"

    def test_infinite_scores_are_left_out(self):
        series = series_of(pictured())
        assert decomposition.shown_scores(series) == ["squared-error"]
        assert decomposition.find(series[0], "log") is None


class TestFix:
    def test_changes_are_judged_by_direction_and_significance(self):
        nll, accuracy, ece, brier = fix.changes(comparison(), "after")
        assert (nll.before, nll.after, nll.difference, nll.verdict) == (
            "0.500",
            "0.400",
            "\N{MINUS SIGN}0.100",
            "better",
        )
        assert (accuracy.verdict, accuracy.pvalue) == ("could be chance", "p = 0.004")
        assert ece.limits == "\N{MINUS SIGN}0.0500 to \N{MINUS SIGN}0.0300"
        assert (brier.before, brier.difference, brier.figure) == ("∞", "", None)

    def test_an_interval_that_the_adjusted_pvalue_does_not_confirm_is_named(self):
        one = comparison()
        assert fix.alone(one) == ""
        entry = one.entry("after", "nll")
        doubtful = replace(entry, difference=replace(entry.difference, adjusted=0.1))
        one = replace(one, entries=tuple(doubtful if e is entry else e for e in one.entries))
        assert fix.changes(one, "after")[0].verdict == "could be chance"  # As the p-value beside it says.
        assert fix.alone(one) == (
            " Log loss (NLL): the interval excludes 0, but among several differences this one could be chance."
        )

    def test_a_difference_without_limits_is_not_judged_and_says_why(self):
        one = comparison()
        entry = one.entry("after", "nll")
        unknown = {
            "low": None,
            "high": None,
            "method": "none",
            "is_significant": False,
            "reason": "why",
        }
        changed = replace(entry, difference=replace(entry.difference, **unknown))
        two = replace(one, entries=tuple(changed if e is entry else e for e in one.entries))
        nll = fix.changes(two, "after")[0]
        assert (nll.difference, nll.limits, nll.pvalue, nll.verdict) == ("\N{MINUS SIGN}0.100", "", "", "")
        assert fix.unknown(two) == ["Log loss (NLL): why"]
        assert fix.unknown(one) == []
        assert fix.rule(one) == ""
        assert "percentiles of the difference" in fix.rule(replace(one, rule="percentile"))

    def test_a_rise_of_the_loss_is_worse(self):
        one = comparison()
        entry = one.entry("after", "nll")
        worse = replace(entry, difference=replace(entry.difference, value=0.1, low=0.09, high=0.11))
        assert fix.judged(worse, 0.95) == "worse"
        assert fix.judged(replace(worse, better="none"), 0.95) == ""

    def test_section_shows_method_reasons_and_changed_classes(self):
        pair = {"before": pictured(), "after": pictured()}
        tree = Tree(render_html(pair, comparison=comparison(), fix=advised()))
        text = tree.find("section", aria_labelledby="fix-title")[0][1]
        assert "Use ts: the loss falls." in text
        assert "It is the simplest." in text
        assert "3.25%" in text
        assert "no row was judged by a map that had seen its label" in text
        assert len(tree.find("svg", class_="chart diagram fix-overlay")) == 1

    def test_a_method_that_was_chosen_by_hand_needs_no_reasons(self):
        how = replace(advised("beta"), recommendation=None, converged=False)
        assert fix.headline(how) == "The fix: beta."
        assert "did not converge" in fix.honest(how)

    def test_advice_to_leave_the_predictions_alone_stands_without_a_comparison(self):
        how = advised("identity", headline="Leave the predictions as they are.")
        tree = Tree(render_html(pictured(), fix=how))
        assert "Is there a fix?" in [t for _, t in tree.find("h2")]
        assert tree.find("table", class_="changes") == []

    def test_a_comparison_stands_without_a_fix(self):
        tree = Tree(render_html({"before": pictured(), "after": pictured()}, comparison=comparison()))
        assert "Differences" in [t for _, t in tree.find("h2")]


class TestClassesAndRanking:
    def test_the_average_comes_first_then_the_largest_error(self):
        shown = diagram.panels(series_of(pictured())[0].assessment)
        assert [p.title for p in shown] == ["Average", "cat", "bee", "ant"]
        assert (shown[1].error, shown[1].rows, shown[0].rows) == ("ECE 0.0300", "12 rows", "of 3 classes")
        assert diagram.panels(assessment()) == []

    def test_ranking_shows_areas_and_says_what_is_ranked(self):
        tree = Tree(render_html(pictured()))
        section = tree.find("section", aria_labelledby="roc-title")[0][1]
        assert "0.600" in section
        assert "0.625" in section
        assert "Rows are ranked by confidence" in section
        assert "second class" in ranking.subject(series_of(pictured(classes=("no", "yes"))))
        assert tree.find("polyline", class_="curve hull")

    def test_without_a_ranking_there_is_no_section(self):
        assert 'id="roc-title"' not in render_html(assessment())


def test_errors_of_classes_are_not_called_as_that_of_the_verdict():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 200)
    p = Predictions(probs, (rng.random((200, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, 2))
    found = assess(p, n_resamples=19, sections=["classes", "curves"], rng=0)
    assert [one.error for one in found.classes] == pytest.approx([ECE()(p.one_vs_rest(c)) for c in range(3)], rel=1e-9)
    assert found.verdict.error == pytest.approx(METRICS["rms-debiased"](p), rel=1e-9)
    headings = Tree(render_html(found)).find("section", aria_labelledby="classes-title")[0][1]
    assert "ECE" in headings
    assert "Calibration error" not in headings
    worst = max(found.classes, key=lambda one: one.error)
    assert f"worst: class {worst.name}, ECE 0." in headings


class TestTests:
    def test_every_test_says_what_it_sees(self):
        labels = [test.about().label for test in TESTS.values()]
        assert len(set(labels)) == len(labels)

    def test_rows_hold_pvalues_of_all_series(self):
        more = assessment(
            tests={"cox": replace(consistency(pvalue=0.5), null=None, about=CoxTest().about()), "new": consistency()}
        )
        rows = tests.test_rows(series_of({"a": more, "b": assessment()}))
        assert [row.label for row in rows] == ["omnibus", "Cox", "new"]
        assert rows[1].outcomes == (("p = 0.5", "statistic 0.0537", False), None)
        assert "What it detects" in render_html(more)
        assert "What it detects" not in render_html(assessment())

    def test_parts_of_the_test_are_shown_with_what_gave_it_away(self):
        whole = assessment(test=omnibus())
        rows = tests.part_rows(series_of({"a": whole, "b": assessment()}))
        assert [row.label for row in rows] == ["Slope of all classes", "Mean per class", "Shirt"]
        assert rows[0].outcomes == (("p ≤ 0.01", "too extreme", True), None)
        assert rows[1].outcomes == (("p = 0.25", "class Shirt, too high", False), None)
        section = Tree(render_html(whole)).find("section", aria_labelledby="test-title")[0][1]
        assert "The parts of the test behind the verdict" in section
        assert "log₁₀ p" not in section  # It is a mean that the leads have made smaller than any p-value.
        assert "divided by (1 + g)²" in section
        assert "observed 2.00" in section  # minus the logarithm of the smallest p-value, 0.01
        assert "The parts of the test" not in render_html(assessment())

    def test_every_part_says_what_it_sees(self):
        from calibrant.hypotest import OmnibusTest
        from calibrant.results.words.parts import PARTS
        from simulate import calibrated

        for k in (2, 3):
            details = OmnibusTest(9)(calibrated(n=30, k=k), rng=0).details
            assert {*details["parts"], *details["also"]} <= set(PARTS)


class TestSizes:
    @pytest.mark.parametrize(
        "code, size, how, words",
        [
            ("calibrated", "within tolerance", "good", "Calibrated"),
            ("consistent", "not known", "unclear", "Consistent with calibration"),
            ("biased", "within tolerance", "unclear", "Slightly biased"),
            ("biased", "not known", "unclear", "Biased"),
            ("biased", "beyond tolerance", "bad", "Biased"),
        ],
    )
    def test_colour_and_words_follow_the_size(self, code, size, how, words):
        tree = Tree(render_html(assessment(verdict=verdict(code=code, size=size))))
        assert tree.find("article")[0][0]["class"] == f"card {how}"
        assert tree.find("svg", class_=f"icon {how}")[0][0]["aria-label"] == words

    def test_card_shows_limits_tolerance_and_what_gave_it_away(self):
        card = Tree(render_html(assessment())).find("article")[0][1]
        assert "0.0450 to 0.0610" in card
        assert "the slope (too extreme)" in card
        without = Tree(render_html(assessment(verdict=verdict(low=None, high=None, gave_away=""))))
        assert "not known" in without.find("article")[0][1]
        assert "Revealed by" not in without.find("article")[0][1]
        assert not without.find("line", class_="reach")

    def test_the_gap_is_that_of_the_event_for_two_classes(self):
        assert "Mean gap" in render_html(assessment(classes=("no", "yes")))
        assert "Confidence gap" not in render_html(assessment(classes=("no", "yes")))

    def test_card_says_why_advice_and_verdict_differ(self):
        how = advised()
        why = replace(how, recommendation=replace(how.recommendation, disagreement="Both are right."))
        page = render_html({"a": assessment(), "b": assessment()}, fix=why)
        assert page.count('<p class="note">Both are right.</p>') == 1
        assert "Both are right." in Tree(page).find("p", class_="lead-in")[0][1]


class TestForecasts:
    def test_page_has_its_own_sections_and_question(self):
        tree = Tree(render_html({"narrow": forecast(), "wide": forecast()}))
        assert [t for _, t in tree.find("h2")] == [
            "Verdict",
            "Where the values fall",
            "Coverage",
            "Predicted spread and errors",
            "Metrics",
            "Could it be chance?",
            "Settings",
        ]
        assert tree.find("p", class_="lead")[0][1].endswith("do 80% of the values fall into it?")
        assert {a["data-sheet"] for a, _ in tree.find("details") if "data-sheet" in a} == {
            *("pit", "quantiles", "intervals", "spread", "metrics", "null")
        }

    def test_figures_that_vectors_lack_are_left_out(self):
        bare = replace(forecast(), pit=None, quantiles=None, intervals=None, spread=None)
        titles = [t for _, t in Tree(render_html(bare)).find("h2")]
        assert titles == ["Verdict", "Metrics", "Could it be chance?", "Settings"]

    def test_intervals_have_a_section_with_every_group(self):
        tree = Tree(page := render_html(forecast(), intervals=checked()))
        assert "Intervals with a guarantee" in [t for _, t in tree.find("h2")]
        assert page.count('class="hit missed"') == 2  # One target, and the legend.
        assert [t for _, t in tree.find("th", scope="row") if t in ("all rows", "<a>", "b")] == ["all rows", "<a>", "b"]
        assert "<a>" not in page.replace("&lt;a&gt;", "")
        data = json.loads(tree.find("script", id="data")[0][1])["intervals"]
        assert data["rows"][1] == {"target": 9, "low_before": 1, "high_before": 3, "low": "-inf", "high": 8}
        assert data["parts"][1]["width"] == "inf"

    def test_few_levels_are_marked_one_by_one(self):
        """Those of columns of quantiles; a dense curve shows its points when they are touched."""
        few = render_html(forecast())
        dense = np.linspace(0.01, 0.99, 99)
        curve = replace(forecast().quantiles, nominal=dense, observed=dense, low=dense - 0.1, high=dense + 0.1)
        many = render_html(replace(forecast(), quantiles=curve, intervals=None))
        assert "Each column of quantiles is a point" in few
        assert "Each column of quantiles is a point" not in many

    def test_data_holds_the_curves(self):
        tree = Tree(render_html(forecast()))
        data = json.loads(tree.find("script", id="data")[0][1])["assessments"][0]
        assert data["label"] == "narrow"
        assert data["assessment"]["pit"]["count"] == [30, 20, 20, 30]

    def test_kinds_are_not_mixed(self):
        with pytest.raises(TypeError, match=r"assessments\['b'\] must be a ForecastAssessment, but is Assessment"):
            render_html({"a": forecast(), "b": assessment()})
