"""`calibrant test` as a user meets it."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant import Predictions, assess, read_predictions
from calibrant.cli import main
from calibrant.hypotest import TESTS
from calibrant.metrics import ECE, SKCE
from simulate import calibrated, sharpened


def write(path, p):
    columns = {f"proba_{c}": p.probs[:, c] for c in range(p.n_classes)}
    pl.DataFrame(columns | {"label": p.labels}).write_csv(path)
    return str(path)


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "good.csv", calibrated(n=400))


@pytest.fixture
def bad(tmp_path):
    return write(tmp_path / "bad.csv", sharpened(calibrated(n=400), 0.4))


def test_the_default_is_the_exact_test_of_the_verdict_in_words(good, bad, capsys):
    assert main(["test", good, "--resamples", "99"]) == 0
    pvalue = assess(read_predictions(good), sections=(), n_resamples=99, rng=0).test.pvalue
    assert f"omnibus: the data is consistent with calibration, p = {pvalue:.2g}" in capsys.readouterr().out
    assert main(["test", bad, "--resamples", "99"]) == 0
    out = capsys.readouterr().out
    assert "speaks against calibration, p ≤ 0.01" in out
    assert "Exact for independent rows" in out
    assert "p-values of its parts, each by itself: slope of all classes: ≤ 0.01; mean per class" in " ".join(
        out.split()
    )


def test_the_verdict_and_the_test_name_what_revealed_it_alike(tmp_path, capsys):
    p = calibrated(n=1500, k=4)
    order, rows = np.argsort(-p.probs, axis=1), np.arange(1500)[:, None]
    probs = p.probs.copy()
    probs[rows, order[:, 1:]] = p.probs[rows, np.roll(order[:, 1:], 1, axis=1)]  # The runners-up are rotated.
    path = write(tmp_path / "rotated.csv", Predictions(probs, p.labels))
    words = "what revealed it: the runners-up, by the slope of all classes; the confidence alone shows nothing."
    for command in (["evaluate", path, "--metrics", "accuracy"], ["test", path]):
        assert main([*command, "--resamples", "99"]) == 0
        assert words in " ".join(capsys.readouterr().out.split())
    assert main(["test", path, "--resamples", "99", "--json"]) == 0
    assert f"what revealed it: {json.loads(capsys.readouterr().out)['omnibus']['revealed_by']}." == words


def test_nothing_is_revealed_by_calibrated_rows(good, capsys):
    assert main(["test", good, "--resamples", "99", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["omnibus"]["revealed_by"] == ""


@pytest.mark.parametrize(
    "options, name, metric",
    [
        (["--test", "consistency"], "consistency", ECE()),
        (["--kernel", "exponential"], "consistency", SKCE()),
        (["--test", "skce"], "skce", SKCE()),
        (["--test", "skce-block"], "skce-block", SKCE(blocksize=20)),
        (["--test", "skce-distribution-free"], "skce-distribution-free", SKCE()),
    ],
)
def test_what_was_estimated_has_a_name(bad, capsys, options, name, metric):
    assert main(["test", bad, "--resamples", "99", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{name}: ")
    value = metric(read_predictions(bad))
    assert f"  {type(metric).__name__} {value:.4g}; this test speaks against calibration from about" in lines[1]


def test_several_tests_come_with_adjusted_pvalues(good, capsys):
    assert main(["test", good, "--test", "consistency", "skce", "cme", "--resamples", "99", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert list(record) == ["consistency", "skce", "cme"]
    for entry in record.values():
        assert entry["adjusted"] >= entry["result"]["pvalue"]
        assert entry["result"]["null"] is None
    assert main(["test", good, "--test", "all", "--resamples", "19"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in TESTS)
    assert "Holm" in out


def rare_events(path, spoilt):
    """Write 100 rows of 2.4% on average with weights, and rows of weight 0 that would refute anything."""
    rng = np.random.default_rng(4)
    probs = np.append(rng.beta(0.5, 20, 100), np.full(spoilt, 0.01))
    labels = np.append(rng.random(100) < probs[:100], np.ones(spoilt)).astype(int)
    weights = np.append(rng.uniform(0.5, 1.5, 100), np.zeros(spoilt))
    pl.DataFrame({"proba_1": probs, "label": labels, "w": weights}).write_csv(path)
    return [str(path), "--probs", "proba_1", "--label", "label", "--weight", "w", "--resamples", "99", "--json"]


@pytest.mark.filterwarnings("ignore::calibrant.exceptions.DataWarning")
def test_rows_of_weight_0_are_absent_and_refusals_are_shown(tmp_path, capsys):
    records = []
    for name, spoilt in (("clean.csv", 0), ("spoilt.csv", 30)):
        assert main(["test", *rare_events(tmp_path / name, spoilt), "--test", "all"]) == 0
        records.append(json.loads(capsys.readouterr().out))
    assert records[0] == records[1]
    assert {"skce", "skce-block", "cme"} <= {name for name, entry in records[0].items() if "refused" in entry}
    assert main(["test", *rare_events(tmp_path / "rare.csv", 0), "--test", "skce"]) == 2
    needed = "--test skce: the large-sample distribution of the SKCE needs at least 50 effective events"
    assert needed in capsys.readouterr().err


def test_a_gate_fails_with_code_one(good, bad, capsys):
    assert main(["test", bad, "--resamples", "99", "--fail-below", "0.05"]) == 1
    assert "calibrant: failed: omnibus: its p-value 0.01 is below 0.05" in capsys.readouterr().err
    assert main(["test", good, "--resamples", "99", "--fail-below", "0.05"]) == 0
    capsys.readouterr()


def test_a_gate_that_can_never_fail_is_refused(bad, capsys):
    for words, least, enough in (
        (["--fail-below", "0.01"], "no p-value is below 0.01", "999"),
        (["--fail-below", "0.02", "--test", "omnibus", "consistency"], "adjusted for 2 tests, is below 0.02", "999"),
    ):
        assert main(["test", bad, "--resamples", "99", *words]) == 2
        told, printed = (found := capsys.readouterr()).err, found.out
        assert printed == ""  # Not what the test found, of which the gate would be a part.
        assert least in told
        assert f"Raise --resamples, for example to {enough}." in told
        assert main(["test", bad, "--resamples", enough, *words]) == 1
        capsys.readouterr()
    assert main(["test", bad, "--fail-below", "0.0001", "--test", "cox", "omnibus"]) == 1  # cox has a closed form
    assert main(["test", bad, "--fail-below", "0"]) == 2


def test_the_kernel_can_be_chosen(good, capsys):
    arguments = ["--test", "consistency", "skce", "skce-distribution-free", "cme", "--kernel", "gaussian", "--json"]
    assert main(["test", good, *arguments, "--resamples", "19"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert all("GaussianKernel" in entry["result"]["name"] for entry in record.values())


def test_forecasts_are_tested_with_the_kernel_error(tmp_path, capsys):
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=100), rng.uniform(0.5, 2, 100)
    path = tmp_path / "forecasts.parquet"
    pl.DataFrame({"mean": mean, "sd": sd, "y": rng.normal(mean, sd / 4)}).write_parquet(path)
    arguments = ["--mean", "mean", "--sd", "sd", "--resamples", "99", "--json", "--kernel", "exponential"]
    assert main(["test", str(path), *arguments]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["consistency"]["result"]["pvalue"] == 0.01
    assert "Wasserstein" in record["consistency"]["result"]["name"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--test", "t-test"], "--test must be"),
        (["--kernel", "white"], "--kernel must be one of"),
        (["--resamples", "0"], "--resamples must be a whole number"),
    ],
)
def test_mistakes_give_one_line(good, arguments, words, capsys):
    assert main(["test", good, *arguments]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_every_test_states_its_limits():
    for test in TESTS.values():
        assert test.about().meaning
        assert test.about().caution
