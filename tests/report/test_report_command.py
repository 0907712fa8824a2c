"""What feeds the report: pictures of predictions, a fix that is judged honestly, and the command."""

import json

import numpy as np
import pytest

from calibrant import InputError, Predictions, assess, recommend
from calibrant.advice import calibrate_held_out
from calibrant.cli import main
from calibrant.metrics import METRICS, decompose
from calibrant.roc import convex_hull, outline, roc_curve
from report_cases import Tree


def over_confident(n=300, *, n_classes=2, seed=0):
    """Return predictions whose log-odds are twice what they should be."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, n_classes)) * 1.5
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return Predictions.from_logits(2 * logits, labels)


class TestOutline:
    def test_keeps_short_curves_whole(self):
        curve = roc_curve([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0])
        drawn = outline(convex_hull(curve))
        assert drawn.false_positive_rate.tolist() == curve.false_positive_rate.tolist()
        assert drawn.score.tolist() == [np.inf, 0.9, 0.8, 0.7, 0.1]
        assert (drawn.auc, drawn.hull_auc) == (0.75, 0.875)

    def test_long_curves_stay_within_a_step(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 2, 5000)
        curve = roc_curve(rng.normal(size=5000) + labels, labels)
        drawn = outline(convex_hull(curve), n_points=100)
        assert len(drawn.score) <= 100
        assert (drawn.false_positive_rate[[0, -1]].tolist(), drawn.true_positive_rate[[0, -1]].tolist()) == (
            [0, 1],
            [0, 1],
        )
        rise = np.interp(curve.false_positive_rate, drawn.false_positive_rate, drawn.true_positive_rate)
        assert np.abs(rise - curve.true_positive_rate).max() <= 2 / 99


DRAWN = ("curves", "classes", "parts", "ranking")


class TestPictures:
    def test_hold_what_the_functions_return(self):
        p = over_confident(n_classes=3)
        found = assess(p, sections=DRAWN, n_resamples=9, rng=0)
        assert found.decompositions[1].miscalibration == decompose(p, "log").miscalibration
        assert found.classwise.names == ("0", "1", "2")
        assert found.ranking.view == "top-label"
        assert set(found.curves) == {"isotonic", "kernel"}
        assert found.curves["kernel"].error.details["bandwidth"] == METRICS["kde-ece"].fit_bandwidth(p).bandwidth
        assert found.cumulative.n_samples == 300

    def test_two_classes_have_no_classwise_curves_and_one_outcome_no_ranking(self):
        p = Predictions([0.2, 0.4, 0.3, 0.6] * 5, labels=[1] * 20)
        found = assess(p, sections=DRAWN, n_resamples=9, rng=0)
        assert found.classwise is None
        assert found.ranking is None

    def test_an_assessment_adjusts_the_pvalues_of_groups(self):
        p = over_confident(200)
        whole = assess(p, sections=("groups",), n_resamples=19, by=["a", "b"] * 100, rng=0)
        raw = sorted(group.test.pvalue for group in whole.groups.values())
        assert min(whole.adjusted.values()) == pytest.approx(min(1.0, 2 * raw[0]))
        assert set(whole.adjusted) == {"a", "b"}


class TestFix:
    def test_every_row_is_calibrated_by_a_fit_to_others(self):
        # Histogram binning of so few rows learns labels by heart: in sample it would be far better than it is.
        p = over_confident(200)
        after, how = calibrate_held_out(p, "histogram", rng=0)
        assert (how.method, how.recommendation, how.n_folds) == ("histogram", None, 5)
        assert after.labels.tolist() == p.labels.tolist()
        rows = after.probs[:, 1]
        assert len(np.unique(rows)) > 20  # Five maps, not one.

    def test_temperature_scaling_helps_and_changes_no_class(self):
        p = over_confident(500, n_classes=3)
        after, how = calibrate_held_out(p, "ts", n_folds=3, rng=0)
        assert METRICS["nll"](after) < METRICS["nll"](p)
        assert how.changed == 0
        assert how.converged

    def test_auto_follows_the_advice(self):
        p = over_confident(300, n_classes=3)
        after, how = calibrate_held_out(p, rng=0)
        assert how.method == how.recommendation.name != "identity"
        # The same folds, so that the page never shows two numbers for one thing.
        advised = how.recommendation.candidate(how.method)
        assert METRICS["nll"](after) == pytest.approx(advised.loss, rel=1e-12, abs=0)
        assert how.changed == advised.changed
        assert recommend(p, rng=0).candidate(how.method).loss == advised.loss  # Nor another than the command recommend.

    def test_the_number_of_folds_is_checked(self):
        with pytest.raises(InputError, match="n_folds must be at least 2, but is 1"):
            calibrate_held_out(over_confident(), "ts", n_folds=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with predictions of three classes in two regions, and forecasts."""
    where = tmp_path_factory.mktemp("command")
    p = over_confident(400, n_classes=3)
    lines = [
        f"{a:.6f},{b:.6f},{c:.6f},{y},{'east' if i % 3 else 'west'}"
        for i, ((a, b, c), y) in enumerate(zip(p.probs, p.labels, strict=True))
    ]
    (where / "p.csv").write_text("\n".join(["proba_0,proba_1,proba_2,label,region", *lines]))
    rng = np.random.default_rng(0)
    rows = [f"{m:.4f},0.5,{m + e:.4f}" for m, e in zip(rng.normal(size=200), rng.normal(size=200), strict=True)]
    (where / "f.csv").write_text("\n".join(["mean,sd,value", *rows]))
    return where


def report(folder, file, *options):
    page = folder / "page.html"
    code = main(["report", str(folder / file), "--resamples", "39", "--quiet", "--out", str(page), *options])
    assert code == 0
    tree = Tree(page.read_text(encoding="utf-8"))
    return tree, json.loads(tree.find("script", id="data")[0][1])


class TestCommand:
    def test_a_fix_is_shown_with_differences_and_groups(self, folder, capsys):
        tree, data = report(folder, "p.csv", "--calibrate", "ts", "--by", "region")
        assert [entry["label"] for entry in data["assessments"]] == ["p.csv", "p.csv > ts"]
        assert data["fix"] == {"method": "ts", "changed": 0, "n_folds": 5, "converged": True, "recommendation": None}
        assert data["comparison"]["baseline"] == "p.csv"
        assert set(data["assessments"][0]["assessment"]["groups"]) == {"east", "west"}
        titles = [t for _, t in tree.find("h2")]
        assert {"Before and after the fix", "Groups", "Classes", "Ranking"} <= set(titles)
        shown = " ".join(capsys.readouterr().out.split())
        assert "p.csv > ts" in shown
        assert "Every row was calibrated by a fit to the other 4 of 5 folds" in shown

    def test_forecasts_have_a_page(self, folder):
        tree, data = report(folder, "f.csv", "--mean", "mean", "--sd", "sd", "--label", "value")
        assert "Coverage" in [t for _, t in tree.find("h2")]
        assert data["assessments"][0]["assessment"]["verdict"]["code"] == "over-confident"

    @pytest.mark.parametrize(
        "options, words",
        [
            (["--calibrate", "magic"], "magic"),
            (["--calibrate", "ts", "--mean", "mean"], "a calibrator must have a known name"),
        ],
    )
    def test_mistakes_are_told_in_one_line(self, folder, capsys, options, words):
        page = folder / "none.html"
        assert main(["report", str(folder / "p.csv"), "--resamples", "39", "--out", str(page), *options]) == 2
        error = capsys.readouterr().err
        assert words in error
        assert error.count("\n") == 1
        assert not page.exists()
