"""Experiments on logits: steps, damage, what sees the test split, results and commands."""

import csv
import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from browser import needs_chromium
from calibrant import InputError, Predictions
from calibrant.calibrators import TemperatureScaling, calibrate
from calibrant.cli import main
from calibrant.lab.experiment import export_logits, load_result, read_config, run
from calibrant.lab.experiment.plan import make_plan
from calibrant.lab.store import Store
from calibrant.metrics import METRICS
from calibrant.report.experiment import render_experiment
from calibrant.report.experiment_figures import differences
from calibrant.results import known_limits
from experiment_cases import CONFIG, SHORT, SPLITS, outputs, write_config, write_logits


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the folder of a finished run, not to be changed, and its config."""
    folder = tmp_path_factory.mktemp("finished")
    write_logits(folder / "logits")
    config = write_config(folder)
    return run(config, folder / "out"), config, folder / "out"


def test_values_are_those_of_fitting_on_one_split_and_measuring_on_the_other(finished):
    result, config, _ = finished
    with np.load(config.parent / "logits" / "ce.npz") as arrays:
        fit = Predictions.from_logits(arrays["calibration_logits"], arrays["calibration_labels"])
        test = Predictions.from_logits(arrays["test_logits"], arrays["test_labels"])
    scaled = calibrate(TemperatureScaling(scores="logits").fit(fit.log_probs, fit.labels), test)
    for name, p in (("raw", test), ("B0 CE>TS", scaled)):
        for metric in ("nll", "brier", "accuracy"):
            found = result.comparisons[0].entry(name, metric).value
            assert found == pytest.approx(METRICS[metric](p), rel=1e-9, abs=0)
    point = result.learning[0].of("ts", "nll")[-1]
    assert point.size == 240
    assert point.value == pytest.approx(METRICS["nll"](scaled), rel=1e-7, abs=0)


def test_the_number_of_threads_changes_no_byte(tmp_path, monkeypatch):
    monkeypatch.setitem(SPLITS, "calibration", 1000)
    write_logits(tmp_path / "logits")
    config = write_config(tmp_path, CONFIG.split("[learning]", maxsplit=1)[0])
    run(config, tmp_path / "here")
    # One here, as the tests are run with, and three there; or the other way round.
    n_threads = "3" if os.environ.get("OMP_NUM_THREADS") == "1" else "1"
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), n_threads)
    command = [sys.executable, "-m", "calibrant", "experiment", "run", str(config), "--out", str(tmp_path / "there")]
    subprocess.run(command, env=os.environ | variables, check=True, capture_output=True)
    assert outputs(tmp_path / "here") == outputs(tmp_path / "there")


def test_over_confident_logits_are_significantly_worse_than_scaled_ones(finished):
    result, _, _ = finished
    comparison = result.comparisons[0]
    assert comparison.entry("B0 CE>TS", "nll").difference is None
    difference = comparison.entry("raw", "nll").difference
    assert difference.low > 0
    assert difference.adjusted >= difference.pvalue
    assert comparison.entry("raw", "nll").interval.low < comparison.entry("raw", "nll").value
    summary = next(s for s in result.summary if (s.pipeline, s.metric) == ("raw", "nll"))
    assert (summary.n_better, summary.n_worse) == (0, 1)


def test_p_values_are_adjusted_over_the_pipelines_of_each_metric(finished):
    """By hand, for two: the smaller is doubled, the larger is at least that."""
    comparison = finished[0].comparisons[0]
    for metric in comparison.metrics:
        found = [comparison.entry(model, metric).difference for model in ("raw", "focal > ts > irova")]
        first, second = sorted(found, key=lambda difference: difference.pvalue)
        assert first.adjusted == pytest.approx(min(1, 2 * first.pvalue))
        assert second.adjusted == pytest.approx(max(second.pvalue, first.adjusted))


def test_bandwidths_come_from_cross_fitted_predictions_of_the_calibration_split(finished):
    from calibrant.metrics import KdeECE

    result, config, out = finished
    steps = {step.name: step for step in make_plan(read_config(config)).steps}
    tuning = np.load(Store(out).path(steps["seed 0 tune ce ts"]))
    width = float(tuning["confidence_bandwidth"])
    again = KdeECE().fit_bandwidth(Predictions(tuning["probs"].astype(float), tuning["labels"])).bandwidth
    assert width == pytest.approx(again, rel=1e-6)  # What is kept is rounded to single precision.
    assert tuning["probs"].shape == (240, 3)
    with np.load(config.parent / "logits" / "ce.npz") as arrays:
        fit = Predictions.from_logits(arrays["calibration_logits"], arrays["calibration_labels"])
        test = Predictions.from_logits(arrays["test_logits"], arrays["test_labels"])
    map_ = TemperatureScaling(scores="logits").fit(fit.log_probs, fit.labels)
    found = result.comparisons[0].entry("B0 CE>TS", "kde-ece").value
    assert found == pytest.approx(KdeECE(bandwidth=width)(calibrate(map_, test)), rel=1e-6)
    assert found != pytest.approx(KdeECE()(calibrate(map_, test)), rel=1e-6)
    whole = calibrate(map_, fit).probs
    assert np.abs(whole - tuning["probs"]).max() > 1e-4  # Each fold has a temperature of its own.


def test_percentiles_judge_every_metric_where_the_config_asks(finished, tmp_path):
    _, config, _ = finished
    text = config.read_text().split("[learning]")[0].replace("resamples", 'differences = "percentile"\nresamples')
    path = tmp_path / "config.toml"
    path.write_text(text.replace('folder = "logits"', f'folder = "{config.parent / "logits"}"'))
    comparison = run(path, tmp_path / "out").comparisons[0]
    changes = [entry.difference for entry in comparison.entries if entry.difference is not None]
    assert {change.method for change in changes} == {"percentile"}
    assert all(change.is_significant == (change.low > 0 or change.high < 0) for change in changes)
    assert comparison.entry("raw", "ece-20").difference.is_significant
    assert "they contained the true one in" in (tmp_path / "out" / "table.md").read_text(encoding="utf-8")


def test_the_table_has_a_row_for_each_pipeline_and_metric(finished):
    result, _, out = finished
    rows = _rows(out / "table.csv")
    assert [(row["pipeline"], row["metric"]) for row in rows] == [
        (e.model, e.metric) for e in result.comparisons[0].entries
    ]
    assert [float(row["value"]) for row in rows] == [e.value for e in result.comparisons[0].entries]
    curves = _rows(out / "curves.csv")
    assert {row["curve"] for row in curves} == {"confidence", "average", "class a", "class b", "class c"}
    learning = _rows(out / "learning.csv")
    assert len(learning) == 2 * 3 * 2
    text = (out / "table.md").read_text(encoding="utf-8")
    assert "| B0 CE\\>TS | " in text
    assert "*" in next(line for line in text.splitlines() if line.startswith("| raw"))


def _rows(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_a_stored_result_is_the_one_that_was_returned(finished):
    result, _, out = finished
    stored = load_result(out)
    assert stored.pipelines == result.pipelines
    assert stored.summary == result.summary
    for found, expected in zip(stored.comparisons[0].entries, result.comparisons[0].entries, strict=True):
        assert found.value == expected.value
        assert (found.difference is None) == (expected.difference is None)
        if found.difference is not None:
            assert vars(found.difference) == vars(expected.difference)
    assert [vars(p) for p in stored.learning[0].points] == [vars(p) for p in result.learning[0].points]


def test_the_page_loads_nothing_and_escapes_names(small):
    config, out = small
    config.write_text(config.read_text().replace('title = "Two networks"', 'title = "<script>alert(1)</script>"'))
    run(config, out)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "http:" not in page
    assert "https:" not in page
    assert "default-src &#39;none&#39;" in page


def test_only_differences_with_limits_are_drawn_and_the_others_are_named(finished):
    result, _, out = finished
    page = (out / "index.html").read_text(encoding="utf-8")
    drawn = re.findall(r'aria-label="([^"]*): differences from', page)
    assert drawn == ["Log loss (NLL)", "Brier score", "Accuracy"]
    section = page[page.index('id="forest-title"') : page.index('id="curves-title"')]
    entries = result.comparisons[0].entries
    assert section.count('class="dot"') == sum(known_limits(entry.difference) is not None for entry in entries)
    assert "No limits and no stars for KDE-ECE; ECE, 20 bins: " in section
    assert "A line spans the 95% limits of a difference, and has a colour" in section
    assert "over the bootstrap samples" not in section
    assert "The Brier score is summed over the classes: for two classes it is twice the score of scikit-learn." in page


@pytest.mark.parametrize(
    "data, words",
    [("bundled", "200 test rows of the logits that come with calibrant"), ("digits", "200 test rows of digits")],
)
def test_the_page_says_what_the_rows_are_of(finished, data, words):
    assert words in render_experiment(replace(finished[0], data=data))


def test_percentiles_of_differences_are_said_to_be_such(finished):
    result, _, _ = finished
    asked = replace(result, comparisons=(replace(result.comparisons[0], rule="percentile"),))
    assert "a line is the range over the bootstrap samples" in render_experiment(asked)


def test_a_long_title_stands_in_the_middle_of_its_figure(finished):
    drawn = differences(finished[0].comparisons[0], "nll", "Debiased RMS error, one vs rest").__html__()
    (width,) = re.findall(r'viewBox="0 0 (\d+) ', drawn)
    (middle,) = re.findall(r'<text x="(\d+)"[^>]*>Debiased RMS error, one vs rest, difference<', drawn)
    assert float(middle) == float(width) / 2


@needs_chromium
@pytest.mark.parametrize("width", [1280, 375])
def test_text_in_the_figures_of_differences_can_be_read_on_any_screen(finished, chromium, width):
    with chromium.visit(finished[2] / "index.html", viewport={"width": width, "height": 800}) as (page, _):
        sizes = page.evaluate(
            "[...document.querySelectorAll('.forest svg')].map("
            "s => 11 * s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(sizes) == 3
    assert all(9 <= size <= 14 for size in sizes)


def test_several_seeds_are_summarised_by_mean_and_range(tmp_path):
    for seed in (0, 1):
        write_logits(tmp_path / "logits" / f"seed-{seed}", seed=seed)
    result = run(write_config(tmp_path, SHORT, seeds=(0, 1)), tmp_path / "out")
    values = [comparison.entry("raw", "nll").value for comparison in result.comparisons]
    summary = next(s for s in result.summary if (s.pipeline, s.metric) == ("raw", "nll"))
    assert values[0] != values[1]
    assert summary.mean == pytest.approx(sum(values) / 2)
    assert (summary.least, summary.greatest) == (min(values), max(values))
    assert "Mean over 2 seeds" in (tmp_path / "out" / "table.md").read_text(encoding="utf-8")
    assert "Over 2 seeds" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_exported_logits_can_be_the_source_of_the_same_experiment(done, tmp_path):
    config, out = done
    export_logits(out, tmp_path / "exported")
    config.write_text(config.read_text().replace('folder = "logits"', 'folder = "exported"'))
    run(config, tmp_path / "other")
    assert (tmp_path / "other" / "table.csv").read_bytes() == (out / "table.csv").read_bytes()
    export_logits(out, tmp_path / "half", seed=0, dtype="float16")
    assert np.load(tmp_path / "half" / "ce.npz")["test_logits"].dtype == np.float16
    with pytest.raises(InputError, match="seed must be one of 0, but is 7"):
        export_logits(out, tmp_path / "half", seed=7)


def test_archives_that_lack_something_are_refused_with_what_they_lack(tmp_path):
    write_logits(tmp_path / "logits", ["ce"])
    config = write_config(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no logits of the network 'focal' for seed 0 .* The folder has ce"):
        run(config, tmp_path / "out")
    np.savez(tmp_path / "logits" / "focal.npz", calibration_logits=np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"focal.npz must hold calibration_logits, .* but lacks calibration_labels"):
        run(config, tmp_path / "out")
    (tmp_path / "logits" / "focal.npz").write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"focal.npz must be an NPZ archive"):
        run(config, tmp_path / "out")


def test_the_commands_tell_how_far_it_is_and_what_came_out(small, capsys):
    config, out = small
    assert main(["experiment", "status", str(out)]) == 3
    assert "holds no experiment" in capsys.readouterr().err
    assert main(["experiment", "run", str(config), "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "calibrating ce with ts\n" in shown.err
    assert "B0 CE>TS" in shown.out
    assert main(["experiment", "status", str(out)]) == 0
    assert "finished: 11 of 11 steps" in capsys.readouterr().out
    assert main(["experiment", "status", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["is_complete"]
    assert {step["state"] for step in record["steps"]} == {"done"}
    assert main(["experiment", "show", str(out)]) == 0
    text = capsys.readouterr().out
    assert "accuracy" in text
    assert "intervals by formulas for paired test rows" in " ".join(text.split())
    assert main(["experiment", "show", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((out / "results.json").read_text())


def test_an_unfinished_experiment_is_said_to_be_so(done, capsys):
    config, out = done
    step = next(step for step in make_plan(read_config(config)).steps if step.kind == "evaluate")
    Store(out).path(step).unlink()
    (out / "results.json").unlink()
    assert main(["experiment", "status", str(out)]) == 1
    assert "missing  seed 0 evaluate 1" in capsys.readouterr().out
    assert main(["experiment", "show", str(out)]) == 3
    assert "is not finished. Run it again" in capsys.readouterr().err


def test_a_bad_config_is_bad_input(tmp_path, capsys):
    config = write_config(tmp_path, "title = 1")
    assert main(["experiment", "run", str(config), "--out", str(tmp_path / "out")]) == 2
    assert "config.toml: data is required" in capsys.readouterr().err


def test_a_name_that_looks_like_a_formula_is_marked_in_tables(small):
    config, out = small
    config.write_text(config.read_text().replace('"raw"', '"=HYPERLINK(1)"'))
    run(config, out)
    names = {row["pipeline"] for row in _rows(out / "table.csv")}
    assert "'=HYPERLINK(1)" in names
    assert "=HYPERLINK(1)" not in names
    assert any(row["difference_value"].startswith("-") for row in _rows(out / "table.csv"))
