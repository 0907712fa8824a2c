"""The four verbs: measure, test, fix and show, for two arrays, predictions and forecasts."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import brier_score_loss

import calibrant
from calibrant import (
    Forecasts,
    InputError,
    Normal,
    Predictions,
    ReliabilityDisplay,
    compare,
    fix,
    interval,
    measure,
    reliability_curve,
    show,
)
from calibrant.calibrators import CALIBRATORS, Identity, TemperatureScaling, VectorScaling, calibrate
from calibrant.curves import kernel_curve
from calibrant.hypotest import TESTS, CoxTest
from calibrant.metrics import ECE, METRICS
from calibrant.results import as_record, to_frame
from naming import each

RNG = np.random.default_rng(0)
Y_PROB = RNG.random(400)
Y_TRUE = (RNG.random(400) < Y_PROB**2).astype(int)
WEIGHTS = RNG.integers(1, 4, 400)
NAMES = np.array(["no", "yes"])[Y_TRUE]
SAME = Predictions(Y_PROB, Y_TRUE, WEIGHTS)
WEATHER = Forecasts(Normal(Y_PROB[:100], 1.0), Y_PROB[:100])


def test_measure_takes_any_names_of_metrics():
    found = measure(Y_TRUE, Y_PROB, WEIGHTS, metrics=METRICS)
    assert {**found} == {name: metric(SAME) for name, metric in METRICS.items()}
    assert {**measure(SAME, metrics=("ECE", "brier"))} == {name: METRICS[name](SAME) for name in ("ece", "brier")}
    assert measure(SAME, metrics={"mine": ECE(bins=3)})["mine"] == ECE(bins=3)(SAME)
    assert measure(Y_TRUE, Y_PROB, metrics="ece")["ece"] == ECE()(Y_TRUE, Y_PROB)


def test_measures_are_a_mapping_that_prints_as_a_table():
    found = measure(Y_TRUE, Y_PROB, metrics=("nll", "accuracy"))
    lines = [f"  nll       {found['nll']:.4g}", f"  accuracy  {found['accuracy']:.4g}"]
    assert repr(found).splitlines() == ["Measures of 400 rows", *lines]
    assert found["accuracy"] == 301 / 400
    assert "<td>0.7525</td>" in found._repr_html_()
    assert as_record(found)["estimates"]["nll"]["value"] == found["nll"]
    assert to_frame(found)["value"].to_list() == [*found.values()]


def test_forecasts_are_measured_and_tested():
    assert "crps" in measure(WEATHER)
    assert {*measure(WEATHER, metrics="mace")} == {"mace"}
    assert calibrant.test(WEATHER, rng=0).pvalue == 0.001


def test_test_runs_the_test_behind_the_verdict_or_any_other():
    assert calibrant.test(Y_TRUE, Y_PROB, rng=0).pvalue == TESTS["omnibus"](SAME, rng=0).pvalue
    assert calibrant.test(Y_TRUE, Y_PROB, test="Cox").statistic == CoxTest()(Y_TRUE, Y_PROB).statistic
    assert calibrant.test(SAME, test="Hosmer_Lemeshow").name == repr(TESTS["hosmer-lemeshow"])
    assert calibrant.test(SAME, test=CoxTest()).statistic == CoxTest()(SAME).statistic


def test_fix_fits_what_is_named_or_recommended():
    fixed = fix(Y_TRUE, Y_PROB, WEIGHTS, method="beta")
    np.testing.assert_array_equal(
        fixed.predict_proba(Y_PROB), CALIBRATORS["beta"]().fit(Y_PROB, Y_TRUE, WEIGHTS).predict_proba(Y_PROB)
    )
    np.testing.assert_array_equal(fixed.predict_proba(SAME), fixed.predict_proba(Y_PROB))
    better = fix(Y_TRUE[:200], Y_PROB[:200], rng=0).predict_proba(Y_PROB[200:])
    assert measure(Y_TRUE[200:], better)["nll"] < measure(Y_TRUE[200:], Y_PROB[200:])["nll"] - 0.02
    calibrated = (RNG.random(400) < Y_PROB).astype(int)
    assert isinstance(fix(calibrated, Y_PROB, rng=0), Identity)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_every_calibrator_fits_predictions(name):
    p = Predictions(Y_PROB[:100], NAMES[:100], WEIGHTS[:100], classes=["no", "yes"])
    fitted = CALIBRATORS[name]().fit(p)
    same = CALIBRATORS[name]().fit(p.probs, p.labels, p.weights, classes=p.classes)
    np.testing.assert_allclose(fitted.predict_proba(p), same.predict_proba(p.probs), rtol=1e-12, atol=0)
    assert fitted.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(calibrate(fitted, p).probs, fitted.predict_proba(p), rtol=1e-12, atol=1e-300)


def test_calibrators_of_logits_fit_predictions_and_others_say_why_not():
    fitted = TemperatureScaling(scores="logits").fit(SAME)
    np.testing.assert_allclose(fitted.predict_proba(SAME), fitted.predict_proba(SAME.log_probs))
    with pytest.raises(InputError, match='scores="raw-logits" cannot be derived from Predictions'):
        VectorScaling(scores="raw-logits").fit(SAME)
    with pytest.raises(TypeError, match="pass nothing else"):
        TemperatureScaling().fit(SAME, Y_TRUE)
    with pytest.raises(InputError, match="look swapped: here the probabilities come first"):
        TemperatureScaling().fit(Y_TRUE, Y_PROB)
    with pytest.raises(InputError, match="must be in the order of the classes"):
        fix(NAMES, Y_PROB, method="ts", positive="yes").predict_proba(Predictions(1 - Y_PROB, NAMES, positive="no"))


def test_show_makes_a_page_of_one_or_several_models(tmp_path):
    page = show(Y_TRUE, {"raw": Y_PROB, "<squared>": Y_PROB**2}, out=tmp_path / "report.html", title="Two <models>")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page.html
    assert [*page.assessments] == ["raw", "<squared>"]
    assert "Two &lt;models&gt;" in page.html
    frame = page._repr_html_()
    assert frame.count("<iframe") == 1
    assert "<script" not in frame
    assert len(repr(page)) < 600
    assert page.assessments["raw"].verdict.headline[:60] in repr(page)
    assert [*show({"a": SAME}).assessments] == ["a"]
    assert show(WEATHER).assessments["predictions"].law == "Normal"
    with pytest.raises(InputError, match=r"out must end in \.html or \.htm, .*page\.png\.$"):
        show(SAME, out=tmp_path / "page.png")
    assert not (tmp_path / "page.png").exists()


def test_positive_names_the_class_of_one_column():
    assert Predictions(Y_PROB, NAMES, positive="yes").labels.tolist() == Y_TRUE.tolist()
    assert Predictions(1 - Y_PROB, NAMES, positive="no").labels.tolist() == (1 - Y_TRUE).tolist()
    assert Predictions(1 - Y_PROB, Y_TRUE, positive=0).classes == (1, 0)
    assert Predictions([0.1, 0.2], [0, 0], positive="0").labels.tolist() == [1, 1]
    assert Predictions([0.1, 0.2], [1, 1], positive="0").labels.tolist() == [0, 0]
    assert Predictions([0.1, 0.2], [1.0, 0.0], positive="1").labels.tolist() == [1, 0]
    assert Predictions([0.1, 0.2], [True, False], positive=False).labels.tolist() == [0, 1]
    assert Predictions([0.1, 0.2], ["no", "no"], positive="yes").classes == ("no", "yes")
    assert Predictions([0.1, 0.2], ["yes", "yes"], positive="yes").classes == ("not yes", "yes")
    logits = np.log(Y_PROB / (1 - Y_PROB))
    assert Predictions.from_logits(-logits, NAMES, positive="no").classes == ("yes", "no")
    reverse = measure(NAMES, 1 - Y_PROB, positive="no", metrics="ece")
    assert reverse["ece"] == ECE()(1 - Y_TRUE, 1 - Y_PROB)


@each(
    "call, words",
    [
        (lambda: Predictions(Y_PROB, NAMES, positive="Yes"), "there is no 'Yes': 'no', 'yes'. Did you mean 'yes'"),
        (lambda: Predictions([0.1] * 3, ["a", "b", "c"], positive="a"), "there are 3 classes: 'a', 'b', 'c'"),
        (lambda: Predictions(SAME.probs, NAMES, positive="yes"), "positive is for one column.*but probs has 2"),
        (lambda: Predictions(Y_PROB, NAMES, classes=["no", "yes"], positive="yes"), "Pass one of them"),
        (lambda: Predictions(Y_PROB, NAMES), "or for one column positive="),
        (lambda: Predictions(Y_TRUE, Y_PROB), "look swapped"),
        (lambda: measure(Y_PROB, Y_TRUE), "look swapped"),
        (lambda: calibrant.test(Y_PROB, Y_TRUE), "look swapped"),
        (lambda: fix(Y_PROB, Y_TRUE), "look swapped"),
        (lambda: show(Y_PROB, Y_TRUE), "look swapped"),
        (lambda: measure(SAME, metrics="eec"), "names in METRICS, but 'eec' is not. Did you mean 'ece'"),
        (lambda: measure(SAME, metrics=ECE(bins=10)), "Name it"),
        (lambda: measure(SAME, metrics=["nll", ECE(bins=10)]), "Name it"),
        (lambda: measure(WEATHER, metrics="ece"), "names in FORECAST_METRICS, but 'ece' is not"),
        (lambda: calibrant.test(SAME, test="coxx"), "name in TESTS, but is 'coxx'. Did you mean 'cox'"),
        (lambda: fix(SAME, method="sigmod"), "Did you mean 'platt'"),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_one_row_is_measured_by_what_needs_no_pairs():
    found = measure([1], [0.75])
    assert "skce" not in found
    assert found["brier"] == 0.125
    with pytest.raises(InputError, match="the unbiased SKCE needs at least two rows"):
        measure([1], [0.75], metrics="skce")


def test_forecasts_are_sent_where_they_are_assessed():
    with pytest.raises(TypeError, match="Pass them to assess_forecasts"):
        calibrant.assess(WEATHER)


def test_probabilities_that_are_none_are_named():
    with pytest.raises(TypeError, match="or two arrays: labels, then probabilities"):
        measure([0, 1], None)


def test_a_display_says_what_it_shows():
    display = ReliabilityDisplay.from_predictions([0, 1, 1], [0.2, 0.4, 0.9], name="first")
    assert repr(display) == "ReliabilityDisplay(first: 3 points of 3 rows; drawn in figure_)"
    assert repr(ReliabilityDisplay(display.curve)) == "ReliabilityDisplay(3 points of 3 rows)"


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_markers_at_the_ends_are_whole():
    """The radius of a marker, in points, is no more than the room that the axes leave beyond 0 and 1."""
    display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0])
    display.figure_.canvas.draw()
    to_points = 72 / display.figure_.dpi
    (left, bottom), (right, top) = display.ax_.get_window_extent().get_points() * to_points
    ends = display.ax_.transData.transform([(0, 0), (1, 1)]) * to_points
    room = [*(ends[0] - (left, bottom)), *((right, top) - ends[1])]
    assert min(room) >= (display.line_.get_markersize() + display.line_.get_markeredgewidth()) / 2


def test_a_fitted_calibrator_shows_what_it_learnt():
    scaled = fix(Y_TRUE, Y_PROB, method="ts")
    assert repr(scaled) == "TemperatureScaling()"
    assert str(scaled) == f"TemperatureScaling(), fitted: temperature_ {scaled.temperature_:.4g}"
    platt = fix(Y_TRUE, Y_PROB, method="platt")
    assert str(platt) == f"PlattScaling(), fitted: slope_ {platt.slope_:.4g}, intercept_ {platt.intercept_:.4g}"
    assert str(TemperatureScaling()) == "TemperatureScaling()"
    stack = fix(Y_TRUE, Y_PROB, method="stack")
    members = ", ".join(type(member).__name__ for member in stack.calibrators_)
    weights = ", ".join(f"{weight:.4g}" for weight in stack.weights_)
    assert str(stack) == f"StackedCalibration(), fitted: calibrators_ [{members}], weights_ [{weights}]"
    assert str(fix(Y_TRUE, Y_PROB, method="isotonic")) == "IsotonicCalibration()"


def test_the_sum_in_the_brier_score_is_said():
    shown = repr(measure(Y_TRUE, Y_PROB, metrics=("brier", "accuracy")))
    assert brier_score_loss(Y_TRUE, Y_PROB) == pytest.approx(measure(Y_TRUE, Y_PROB)["brier"] / 2)
    words = "brier is summed over the classes: for two classes it is twice the score of scikit-learn"
    assert shown.endswith(f"\n  ({words})")
    assert "sum over" not in repr(measure(Y_TRUE, Y_PROB, metrics="accuracy"))


def test_one_row_is_not_rows():
    assert repr(measure([1], [0.6], metrics="brier")).splitlines()[0] == "Measures of 1 row"


def test_models_can_be_compared_by_labels_and_probabilities():
    y, weight = [1, 0] * 20, [1.0, 2.0] * 20
    probs = {"a": [0.6, 0.4] * 20, "b": [0.9, 0.2] * 20}
    held = {name: Predictions(q, y, weight) for name, q in probs.items()}
    found = compare(y, probs, ["brier"], sample_weight=weight, rng=0)
    assert repr(found) == repr(compare(held, ["brier"], rng=0))
    with pytest.raises(TypeError, match="Predictions hold their weights"):
        compare(held, ["brier"], sample_weight=weight)


def test_intervals_print_the_name_of_the_table_and_what_chance_does():
    found = interval(Y_TRUE, Y_PROB, "rms-debiased", rng=0)
    lines = dict(line.split(maxsplit=1) for line in repr(found).splitlines()[1:])
    assert lines["name"] == "rms-debiased"
    assert lines["null"] == f"up to {found.null[1]:.4g}"
    assert " ECE(bins=" in repr(interval(Y_TRUE, Y_PROB, ECE(bins=7), rng=0))


def test_labels_alone_are_refused():
    for verb in (measure, calibrant.test, fix, show):
        with pytest.raises(TypeError, match=r"Predictions( or Forecasts)?, but (is of type|got) ndarray"):
            verb(Y_TRUE)


def test_a_display_draws_several_models_on_one_axis():
    first = ReliabilityDisplay.from_predictions(NAMES, Y_PROB, WEIGHTS, name="first", positive="yes")
    model = DummyClassifier().fit(Y_PROB[:, None], NAMES)
    second = ReliabilityDisplay.from_estimator(model, Y_PROB[:, None], NAMES, ax=first.ax_, color="black")
    third = ReliabilityDisplay(kernel_curve(SAME), name="third").plot(first.ax_)
    assert first.figure_ is second.figure_ is third.figure_
    assert first.ax_ is third.ax_
    np.testing.assert_array_equal(first.line_.get_ydata(), reliability_curve(SAME).observed)
    assert second.line_.get_color() == "black"
    assert len({display.line_.get_color() for display in (first, second, third)}) == 3
    names = [text.get_text().split(",")[0] for text in first.ax_.get_legend().get_texts()]
    assert names == ["perfectly calibrated", "first", "DummyClassifier", "third"]
    assert (first.ax_.get_xlabel(), first.ax_.get_ylabel()) == ("Predicted probability", "Observed frequency")


def test_a_display_takes_the_curve_and_axes_that_it_is_given():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    display = ReliabilityDisplay.from_predictions(SAME, curve=kernel_curve, ax=ax)
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.line_.get_xdata(), kernel_curve(SAME).predicted)
