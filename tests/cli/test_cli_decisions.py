"""Costs, risks and base rates on the command line."""

import json

import numpy as np
import pytest

from calibrant import Predictions, assess, read_predictions, render_html
from calibrant.calibrators import PriorShift
from calibrant.cli import main
from calibrant.decisions import Costs, coverage_at_risk, estimate_base_rate, estimate_base_rates, expected_cost

COSTS = ["--cost-fp", "1", "--cost-fn", "20"]


@pytest.fixture
def file(tmp_path):
    """Write 600 rows of predictions that are too extreme."""
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 1.5, 600)
    y = rng.random(600) < 1 / (1 + np.exp(-z))
    rows = (f"{p:.6f},{int(label)}" for p, label in zip(1 / (1 + np.exp(-2 * z)), y, strict=True))
    path = tmp_path / "p.csv"
    path.write_text("\n".join(["proba_1,label", *rows]))
    return path


def record(capsys, *arguments):
    """Return what a command prints as JSON."""
    few = () if "--resamples" in arguments else ("--resamples", "99")
    assert main([*map(str, arguments), "--json", "--metrics", "nll", *few]) == 0
    return json.loads(capsys.readouterr().out)


def test_costs_are_those_of_the_library(file, capsys):
    found = record(capsys, "evaluate", file, *COSTS)["decisions"]
    expected = expected_cost(read_predictions(file), costs=Costs(1, 20))
    cost = found["models"]["p.csv"]["cost"]
    assert cost["threshold"] == 1 / 21
    assert cost["cost"]["value"] == pytest.approx(expected.cost.value)
    assert found["change"]["method"] == "platt"
    assert found["change"]["cost"]["value"] < 0  # It is worth it, as the predictions are twice too extreme.


def test_the_words_of_costs(file, capsys):
    assert main(["evaluate", str(file), *COSTS, "--metrics", "nll"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in (
        "cost per row",
        "after platt",
        "on none",
        "Net benefit at 0.0476:",
        "After a fix, act from 0.0476 on",
    ):
        assert words in shown


def test_a_threshold_alone_has_costs_of_its_own(file, capsys):
    cost = record(capsys, "evaluate", file, "--threshold", "0.2")["decisions"]["models"]["p.csv"]["cost"]
    assert (cost["threshold"], cost["costs"]["false_positive"]) == pytest.approx((0.2, 0.25))
    both = record(capsys, "evaluate", file, *COSTS, "--threshold", "0.5")["decisions"]
    first, last = both["models"].values()
    assert (first["cost"]["threshold"], last["cost"]["threshold"]) == (0.5, 1 / 21)


def test_costs_and_net_benefit_are_one_story_at_a_threshold_that_is_not_that_of_the_costs(file, tmp_path, capsys):
    """The odds of the threshold had been its exchange rate: acting looked worthwhile beside a cost that said no."""
    options, page = ["--cost-fp", "5", "--cost-fn", "1", "--threshold", "0.01"], tmp_path / "page.html"
    cost = record(capsys, "evaluate", file, *options)["decisions"]["models"]["p.csv"]["cost"]
    over_none = cost["over_none"]
    assert cost["exchange_rate"] == 5
    assert cost["net_benefit"]["value"] == pytest.approx(-over_none["value"])
    assert cost["net_benefit"]["low"] == pytest.approx(-over_none["high"])
    assert cost["net_benefit_of_all"] == pytest.approx(cost["treat_none"] - cost["treat_all"])
    words = f"Net benefit at 0.01: {cost['net_benefit']['value']:.4g} ("
    rate = "By the costs, a false positive counts as much as 5 true positives."
    assert main(["evaluate", str(file), *options, "--metrics", "nll"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert main(["report", str(file), *options, "--resamples", "19", "--quiet", "--out", str(page)]) == 0
    html = page.read_text(encoding="utf-8")
    for text in (shown, html):
        assert words in text
        assert rate in text
    assert "The vertical line is the threshold of the costs, 0.833: only there" in html


def test_risks_are_those_of_the_library(file, capsys):
    found = record(capsys, "evaluate", file, "--max-risk", "0.1", "--confidence", "0.9")["decisions"]
    kept = coverage_at_risk(read_predictions(file), max_risk=0.1, confidence=0.9)
    assert found["models"]["p.csv"]["guarantee"]["threshold"] == kept.threshold
    assert found["models"]["p.csv"]["cost"] is None
    assert main(["evaluate", str(file), "--max-risk", "0.0001", "--metrics", "nll"]) == 0
    assert "No threshold can be promised with 95% confidence" in " ".join(capsys.readouterr().out.split())


def test_few_confidences_are_listed(tmp_path, capsys):
    rng = np.random.default_rng(0)
    said = rng.choice([0.95, 0.9, 0.7], 500)
    lines = [json.dumps({"confidence": c, "correct": bool(rng.random() < 0.2 + 0.8 * c)}) for c in said.tolist()]
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(lines))
    assert main(["evaluate", str(file), "--max-risk", "0.1", "--metrics", "aurc"]) == 0
    shown = capsys.readouterr().out
    assert "Only 3 distinct confidences occur" in shown
    assert "0.95" in shown
    file.write_text("\n".join(line for line in lines if "0.95" in line))
    assert main(["evaluate", str(file), "--max-risk", "0.1", "--metrics", "aurc"]) == 0
    assert "Only 1 distinct confidence occurs: all rows are answered, or none." in capsys.readouterr().out


def test_a_base_rate_moves_predictions_and_rows(file, capsys):
    found = record(capsys, "evaluate", file, "--base-rate", "0.02", *COSTS)
    y = read_predictions(file).labels
    old, new = found["decisions"]["base_rate"]["1"]
    assert (old, new) == pytest.approx((y.mean(), 0.02))
    assert found["decisions"]["models"]["p.csv"]["curve"]["prevalence"] == pytest.approx(0.02)
    assert found["settings"]["weighted"] is True
    assert main(["evaluate", str(file), "--base-rate", "0.02", "--metrics", "nll"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("Probabilities and rows are moved to another base rate: class 1 from ")
    assert "to 2%" in shown
    assert "exact" not in shown
    assert shown.count("are only approximate") == 1


def test_nothing_is_said_without_the_options(file, capsys):
    assert "decisions" not in record(capsys, "evaluate", file)


@pytest.mark.parametrize(
    "options, words",
    [
        (["--cost-fp", "0", "--cost-fn", "1"], "--cost-fp must be a cost above 0, but is 0"),
        (["--cost-fp", "1", "--cost-fn=-3"], "--cost-fn must be a cost above 0, but is -3"),
        (["--cost-fp", "nan", "--cost-fn", "1"], "--cost-fp must be a cost above 0, but is nan"),
        (["--cost-fn", "1"], "--cost-fp is missing"),
        (["--threshold", "1"], "--threshold must be above 0 and below 1"),
        (["--max-risk", "5"], "--max-risk must be above 0 and below 1"),
        (["--max-risk", "0.1", "--confidence", "95"], "--confidence must be above 0 and below 1"),
        (["--base-rate", "2%"], "--base-rate must be a share such as 0.02"),
        (["--base-rate", "0"], "--base-rate must be above 0"),
        (["--base-rate", "0.1,0.2,0.7"], "2 shares"),
        (["--mean", "m", "--sd", "s", "--max-risk", "0.1"], "need rows of class predictions"),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_options_without_meaning_are_refused(command, options, words, file, capsys, tmp_path):
    out = ["--out", str(tmp_path / "page.html")] if command == "report" else []
    assert main([command, str(file), *options, *out]) == 2
    assert words in capsys.readouterr().err


def test_costs_of_more_classes_are_refused(tmp_path, capsys):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 60)
    rows = [",".join([*map(str, p), str(rng.integers(3))]) for p in probs]
    file = tmp_path / "three.csv"
    file.write_text("\n".join(["p0,p1,p2,label", *rows]))
    assert main(["evaluate", str(file), *COSTS, "--metrics", "nll"]) == 2
    assert "for two classes, but there are 3" in capsys.readouterr().err
    assert main(["evaluate", str(file), "--max-risk", "0.5", "--base-rate", "0.2,0.3,0.5", "--metrics", "nll"]) == 2
    assert "one of them at a time" in capsys.readouterr().err
    assert main(["evaluate", str(file), "--base-rate", "0.2,0.3,0.5", "--metrics", "nll"]) == 0
    assert "p0 from" in " ".join(capsys.readouterr().out.split()).replace(" 0 from", " p0 from")


class TestApply:
    def test_a_known_base_rate(self, file, tmp_path, capsys):
        out = tmp_path / "out.csv"
        assert main(["apply", str(file), "--base-rate", "0.02", "--trained-rate", "0.3", "--out", str(out)]) == 0
        assert "from 0.3 to 0.02" in capsys.readouterr().out
        p = read_predictions(file).positive
        found = np.loadtxt(out, delimiter=",", skiprows=1)[:, 2]
        assert found == pytest.approx(PriorShift(0.02, 0.3).between([0, 1]).predict_proba(p)[:, 1], abs=1e-12)

    def test_after_a_calibrator_whose_rows_had_another(self, file, tmp_path, capsys):
        fitted, out = tmp_path / "c.json", tmp_path / "out.csv"
        assert main(["fit", str(file), "--method", "platt", "--out", str(fitted)]) == 0
        new = tmp_path / "new.csv"
        new.write_text("proba_1\n0.2\n0.9\n")
        arguments = ["apply", str(new), "--calibrator", str(fitted), "--base-rate", "0.02", "--out", str(out), "--json"]
        capsys.readouterr()
        assert main(arguments) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["trained_rate"][1] == pytest.approx(read_predictions(file).labels.mean())
        assert found["base_rate"] == [0.98, 0.02]

    def test_unknown_shares_of_several_classes(self, tmp_path, capsys):
        rng = np.random.default_rng(0)
        centres = 2.0 * np.eye(3)
        x = rng.standard_normal((800, 3)) + centres[rng.choice(3, 800, p=[0.7, 0.3, 0.0])]
        heights = np.exp(x @ centres.T)
        probs = heights / heights.sum(axis=1, keepdims=True)
        file, out = tmp_path / "new.csv", tmp_path / "moved.csv"
        np.savetxt(file, probs, delimiter=",", header="proba_a,proba_b,proba_c", comments="")
        arguments = ["apply", str(file), "--base-rate", "auto", "--trained-rate", "0.25,0.25,0.5", "--out", str(out)]
        assert main([*arguments, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["estimate"]
        expected = estimate_base_rates(probs, [0.25, 0.25, 0.5])
        assert found["value"] == pytest.approx(expected.value.tolist(), abs=1e-9)
        assert expected.value[2] == 0
        out.unlink()
        assert main(arguments) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "Estimated from 800 rows, with 95% limits: class 0 " in said
        assert "given the share of half a row" in said
        moved = np.loadtxt(out, delimiter=",", skiprows=1)[:, 3:]
        shares = np.append(expected.value[:2], 0.5 / 800)
        odds = probs * (shares / shares.sum()) / [0.25, 0.25, 0.5]
        assert moved == pytest.approx(odds / odds.sum(axis=1, keepdims=True), abs=1e-9)

    def test_an_unknown_base_rate(self, file, tmp_path, capsys):
        out = tmp_path / "out.csv"
        arguments = ["apply", str(file), "--base-rate", "auto", "--trained-rate", "0.5", "--out", str(out), "--json"]
        assert main(arguments) == 0
        found = json.loads(capsys.readouterr().out)["estimate"]
        assert found["value"] == pytest.approx(estimate_base_rate(read_predictions(file), 0.5).value)

    def test_logits_stay_logits(self, tmp_path):
        file, out = tmp_path / "z.csv", tmp_path / "out.csv"
        file.write_text("z\n-1.5\n0.5\n")
        arguments = ["apply", str(file), "--probs", "z", "--logits", "--base-rate", "0.1", "--trained-rate", "0.5"]
        assert main([*arguments, "--out", str(out)]) == 0
        found = np.loadtxt(out, delimiter=",", skiprows=1)[:, 1]
        assert found == pytest.approx(np.array([-1.5, 0.5]) + np.log(0.1 / 0.9), abs=1e-12)

    @pytest.mark.parametrize(
        "options, words",
        [
            ([], "--calibrator or --base-rate is required"),
            (["--base-rate", "0.02"], "needs --trained-rate"),
            (["--base-rate", "0.02", "--trained-rate", "0"], "--trained-rate must be above 0"),
        ],
    )
    def test_what_is_missing_is_said(self, options, words, file, tmp_path, capsys):
        assert main(["apply", str(file), *options, "--out", str(tmp_path / "out.csv")]) == 2
        assert words in capsys.readouterr().err
        assert not (tmp_path / "out.csv").exists()


class TestPage:
    @pytest.fixture
    def file(self, file):
        file.write_text("\n".join(file.read_text().splitlines()[:120]))
        return file

    def test_it_has_the_section_with_its_figures(self, file, tmp_path, capsys):
        page = tmp_path / "page.html"
        options = [*COSTS, "--max-risk", "0.2", "--calibrate", "platt", "--resamples", "99"]
        assert main(["report", str(file), *options, "--out", str(page), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["decisions"]
        text = page.read_text()
        for words in (
            "After platt, from 0.0476 on",
            "decision-curve",
            "risk-coverage",
            "Cost per row of acting on class 1",
            "The vertical line, if there is one, is the coverage of p.csv that keeps it with the stated confidence",
        ):
            assert words in text
        start = text.index('id="data">') + len('id="data">')
        data = json.loads(text[start : text.index("</script>", start)])["decisions"]
        assert {row["predictions"] for row in data["curves"]} == set(found["models"])
        assert data["risks"][-1]["coverage"] == 1

    def test_the_worth_of_a_fix_stands_on_it_as_on_the_screen(self, file, tmp_path, capsys):
        page = tmp_path / "page.html"
        options = [*COSTS, "--resamples", "99"]
        shown = record(capsys, "evaluate", file, *options)["decisions"]["change"]
        assert main(["report", str(file), *options, "--json", "--out", str(page)]) == 0
        found = json.loads(capsys.readouterr().out)["decisions"]
        assert found["change"] == shown
        assert [*found["models"]] == [file.name]
        assert "After platt, from 0.0476 on" in page.read_text()

    def test_without_the_options_there_is_none(self):
        assert "decisions-title" not in render_html(assess([0, 1] * 20, [0.3, 0.7] * 20, sections=["curves"], rng=0))

    def test_several_files_share_the_figures(self, file, tmp_path):
        other, page = tmp_path / "other.csv", tmp_path / "page.html"
        other.write_text(file.read_text())
        options = ["--threshold", "0.2", "--resamples", "99", "--quiet"]
        assert main(["report", str(file), str(other), *options, "--out", str(page)]) == 0
        assert page.read_text().count('data-series="1"') > 1


def test_weights_are_honoured(tmp_path, capsys):
    rng = np.random.default_rng(1)
    p, w = rng.uniform(0.05, 0.95, 300), rng.integers(1, 4, 300)
    y = (rng.random(300) < p).astype(int)
    file = tmp_path / "w.csv"
    file.write_text("\n".join(["proba_1,label,w", *(f"{a},{b},{c}" for a, b, c in zip(p, y, w, strict=True))]))
    found = record(capsys, "evaluate", file, "--weight", "w", *COSTS)["decisions"]["models"]["w.csv"]["cost"]["cost"]
    assert found["value"] == pytest.approx(expected_cost(Predictions(p, y, w), costs=Costs(1, 20)).cost.value)


def test_the_accuracy_of_answers_is_told_from_the_share_of_right_ones(tmp_path, capsys):
    """An answer of confidence 0.3 that is wrong counts as rightly doubted: both numbers stood on one screen."""
    rows = [{"confidence": c, "correct": c > 0.5} for c in [0.9] * 30 + [0.3] * 20]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert main(["evaluate", str(path), "--resamples", "99"]) == 0
    assert "60.0% of the answers are right" in " ".join(capsys.readouterr().out.split())
    path.write_text("\n".join(json.dumps(row) for row in rows[:30] + rows[:2] * 3), encoding="utf-8")
    assert main(["evaluate", str(path), "--resamples", "99"]) == 0
    assert "of the answers are right" not in " ".join(capsys.readouterr().out.split())


def test_a_base_rate_says_that_tests_are_rough(tmp_path, capsys):
    path = tmp_path / "p.csv"
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 200)
    lines = [f"{a:.4f},{int(b < a)}" for a, b in zip(p, rng.random(200), strict=True)]
    path.write_text("\n".join(["proba_1,label", *lines]), encoding="utf-8")
    assert main(["evaluate", str(path), "--base-rate", "0.1", "--resamples", "99"]) == 0
    assert "judge calibration at the base rate of the rows" in " ".join(capsys.readouterr().out.split())


def test_the_page_says_at_the_verdict_what_a_base_rate_has_done(file, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", str(file), "--base-rate", "0.02", "--resamples", "19", "--out", str(page)]) == 0
    assert capsys.readouterr().out.startswith("Probabilities and rows are moved to another base rate")
    html = page.read_text(encoding="utf-8")
    assert html.count("moved to another base rate: class 1 from") == 1
    assert html.index("moved to another base rate: class 1 from") < html.index('<div class="cards">')
    assert html.count('id="decisions-title"') == 1
    section = html[html.index('id="decisions-title"') :].partition("</section>")[0]
    old = np.mean(read_predictions(file).labels)
    yes, no = 0.9 * 0.02 / old, 0.1 * 0.98 / (1 - old)
    assert f'<td class="num">90%</td><td class="num">{100 * yes / (yes + no):.3g}%</td>' in section
    assert "Cost per row" not in section  # Nothing else was asked.


class TestEstimatedBaseRate:
    """--base-rate FILE: estimated from predictions of rows without labels."""

    @pytest.fixture
    def files(self, tmp_path):
        """Write 400 labelled rows with a base rate of 0.3, and 900 new ones with 0.05, calibrated for 0.3."""
        rng = np.random.default_rng(0)

        def scored(n, rate):
            y = rng.random(n) < rate
            return 1 / (1 + np.exp(-2 * (rng.standard_normal(n) + 2 * y) + 2 - np.log(3 / 7))), y

        p, y = scored(400, 0.3)
        rows = [f"{a:.6f},{'yes' if b else 'no'}" for a, b in zip(p, y, strict=True)]
        (tmp_path / "labelled.csv").write_text("\n".join(["p,outcome", *rows]), encoding="utf-8")
        (tmp_path / "new.csv").write_text(
            "\n".join(["p", *(f"{a:.6f}" for a in scored(900, 0.05)[0])]), encoding="utf-8"
        )
        return tmp_path / "labelled.csv", tmp_path / "new.csv"

    OPTIONS = ("--label", "outcome", "--positive", "yes", "--resamples", "99")

    def test_it_is_that_of_the_library(self, files, capsys):
        labelled, new = files
        found = record(capsys, "evaluate", labelled, *self.OPTIONS, "--base-rate", new, *COSTS)["decisions"]
        here = read_predictions(labelled, label="outcome", positive="yes")
        expected = estimate_base_rates(np.loadtxt(new, skiprows=1), here)
        shares = found["population"]["shares"]
        assert (shares["value"][1], shares["low"][1], shares["high"][1]) == pytest.approx(
            (expected.value[1], expected.low[1], expected.high[1])
        )
        assert found["base_rate"]["yes"] == pytest.approx([np.mean(here.labels), expected.value[1]])
        assert found["models"]["labelled.csv"]["curve"]["prevalence"] == pytest.approx(expected.value[1])
        assert found["population"]["test"]["pvalue"] > 0.05

    def test_the_page_shows_both_rates_limits_and_cautions(self, files, tmp_path, capsys):
        labelled, new = files
        page = tmp_path / "page.html"
        assert main(["report", str(labelled), *self.OPTIONS, "--base-rate", str(new), "--out", str(page)]) == 0
        html = page.read_text(encoding="utf-8")
        section = " ".join(html[html.index('id="decisions-title"') :].partition("</section>")[0].split())
        here = read_predictions(labelled, label="outcome", positive="yes")
        found = estimate_base_rates(np.loadtxt(new, skiprows=1), here)
        rates = [f"{100 * rate:.3g}%" for rate in (np.mean(here.labels), found.value[1], found.low[1], found.high[1])]
        cells = '<td class="num">{}</td><td class="num">{}</td><td class="num limits">{} to {}</td>'
        assert cells.format(*rates) in section
        odds = [rate / (1 - rate) for rate in (np.mean(here.labels), found.value[1], found.low[1], found.high[1])]
        moved = [
            f"{100 * odd / odds[0] / (1 + odd / odds[0]):.3g}%" for odd in odds[1:]
        ]  # Of a probability of one half.
        assert cells.format("50%", *moved) in section
        assert "the 900 rows of new.csv, whose labels are not used, and the 400 here" in section
        assert "test of calibration finds nothing against that here" in section
        assert "limits can be far off" not in section

    def test_doubtful_estimates_say_so(self, files, tmp_path, capsys):
        labelled, new = files
        for path in files:
            lines = path.read_text(encoding="utf-8").splitlines()
            cells = [line.split(",") for line in lines[1:]]
            doubled = [[f"{float(p) ** 2 / (float(p) ** 2 + (1 - float(p)) ** 2):.9f}", *rest] for p, *rest in cells]
            path.write_text("\n".join([lines[0], *map(",".join, doubled)]), encoding="utf-8")
        assert main(["evaluate", str(labelled), *self.OPTIONS, "--base-rate", str(new), "--metrics", "nll"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "which these are not (test of calibration here, p ≤ 0.01)" in shown
        assert "Calibrate both files first" in shown

    def test_several_classes(self, tmp_path, capsys):
        rng = np.random.default_rng(1)
        old, new = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
        files = []
        for name, shares, n in (("a.csv", old, 300), ("b.csv", new, 600)):
            y = rng.choice(3, n, p=shares)
            heights = np.exp((rng.standard_normal((n, 3)) + 2 * np.eye(3)[y]) * 2) * old
            probs = heights / heights.sum(axis=1, keepdims=True)
            rows = [",".join([*(f"{v:.6f}" for v in row), "xyz"[k]]) for row, k in zip(probs, y, strict=True)]
            head = "proba_x,proba_y,proba_z,label"
            if name == "b.csv":
                rows, head = [row.rpartition(",")[0] for row in rows], head.rpartition(",")[0]
            (tmp_path / name).write_text("\n".join([head, *rows]), encoding="utf-8")
            files.append(str(tmp_path / name))
        found = record(capsys, "evaluate", files[0], "--base-rate", files[1])["decisions"]
        assert [rates[1] for rates in found["base_rate"].values()] == pytest.approx(new, abs=0.08)
        assert found["population"]["shares"]["classes"] == ["x", "y", "z"]

    def test_what_cannot_be_estimated_is_refused(self, files, tmp_path, capsys):
        labelled, new = map(str, files)
        reported = ["report", labelled, *self.OPTIONS, "--out", str(tmp_path / "page.html")]
        for arguments, words in (
            ([*reported, "--base-rate", "nowhere.csv"], "there is no such file"),
            ([*reported, "--base-rate", new, "--calibrate", "auto"], "predictions of one model without a fix"),
            ([*reported, labelled.replace("labelled", "new"), "--base-rate", new], "predictions of one model"),
            ([*reported, "--base-rate", new, "--max-risk", "0.1"], "Use one of them at a time"),
        ):
            assert main(arguments) == 2, arguments
            assert words in " ".join(capsys.readouterr().err.split())
        files[1].write_text("proba_a,proba_b,proba_c\n0.2,0.3,0.5\n", encoding="utf-8")
        assert main([*reported, "--base-rate", new, "--probs", "p*"]) == 2
        assert "new.csv" in capsys.readouterr().err


def test_a_difference_without_limits_says_why(tmp_path, capsys):
    """A fix that changes few decisions has no limits of its difference, beside costs that have some."""
    rng = np.random.default_rng(4)
    p = rng.beta(1, 3, 600)
    lines = [f"{a:.6f},{int(b < a)}" for a, b in zip(p, rng.random(600), strict=True)]
    path, page = tmp_path / "p.csv", tmp_path / "page.html"
    path.write_text("\n".join(["proba_1,label", *lines]), encoding="utf-8")
    change = record(capsys, "evaluate", path, "--threshold", "0.25")["decisions"]["change"]
    assert change["cost"]["low"] is None
    assert change["before"]["low"] is not None
    words = "No limits for the difference after platt: too few rows contribute to it."
    assert main(["evaluate", str(path), "--threshold", "0.25", "--metrics", "nll"]) == 0
    assert words in " ".join(capsys.readouterr().out.split())
    assert main(["report", str(path), "--threshold", "0.25", "--resamples", "19", "--out", str(page)]) == 0
    assert words in page.read_text(encoding="utf-8")
