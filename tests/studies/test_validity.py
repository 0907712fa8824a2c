"""The simulations behind the validity tables: limits against SciPy, worlds, and runs that stop and continue."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from scipy import stats

from calibrant.lab.store import Store, locked
from one_process import one_process
from studies.simulations import command_line
from studies.simulations.limits import band_width, clopper_pearson, departure
from studies.simulations.units import load
from studies.validity import STUDY, cells
from studies.validity.battery import BATTERY
from studies.validity.cells import DEFECTS, SHAPES, Cell
from studies.validity.summaries import summarise
from studies.validity.units import Unit, plan

TINY = r"^(flat K=2 n=20|normal K=- n=20|bad-class K=10 n=100) (cox|spiegelhalter|skce-block-20?|skce-bootstrap)$"
PAGES = ("null.csv", "null.md", "ecdf.csv", "power.csv", "power.md")


@pytest.mark.parametrize(("hits", "total"), [(0, 50), (1, 50), (7, 200), (199, 200), (200, 200)])
@pytest.mark.parametrize("level", [0.95, 0.999])
def test_the_interval_is_that_of_scipy(hits, total, level):
    expected = stats.binomtest(hits, total).proportion_ci(level, method="exact")
    assert clopper_pearson(hits, total, level) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_departures_are_the_one_sided_kolmogorov_statistics_of_scipy(seed):
    pvalues = np.random.default_rng(seed).beta(1.0, 0.7 + 0.3 * seed, 300).round(2)
    found = departure(pvalues)
    assert found.excess == pytest.approx(stats.kstest(pvalues, "uniform", alternative="greater").statistic)
    assert found.deficit == pytest.approx(stats.kstest(pvalues, "uniform", alternative="less").statistic)


@pytest.mark.parametrize("total", [50, 300, 2000])
def test_the_band_covers_the_exact_one_and_is_hardly_wider(total):
    exact = stats.ksone.isf(0.001, total)
    assert exact <= band_width(total, 0.999) <= 1.02 * exact


def verdicts(pvalues):
    summary = summarise(Unit(Cell("flat", 20, 2, len(pvalues)), "cox"), pvalues)
    return summary.level_verdict, summary.whole_verdict


def test_wrong_levels_and_wrong_distributions_are_found():
    uniform = np.random.default_rng(0).random(2000)
    assert verdicts(uniform) == ("as stated", "as stated")
    assert verdicts(uniform**1.3) == ("too often", "too often")
    assert verdicts(uniform**0.7) == ("too seldom", "too seldom")
    assert verdicts(np.where(uniform < 0.03, uniform / 3, uniform)) == ("too often", "as stated")
    assert verdicts(np.where(uniform > 0.5, 0.5, uniform)) == ("as stated", "too often")
    assert verdicts(np.clip(uniform, 0.005, 1.0) ** np.where(uniform < 0.5, 0.7, 1.5))[1] == "too often and too seldom"


def test_refused_sets_are_counted_and_not_rejected():
    pvalues = np.array([0.001, np.nan, np.nan, 0.5])
    summary = summarise(Unit(Cell("flat", 20, 2, 4), "cox"), pvalues)
    assert summary.refused == 2
    assert [rate.value for rate in summary.rates] == [0.25, 0.25, 0.25]
    everything = summarise(Unit(Cell("flat", 20, 2, 4), "skce-block-20"), np.full(4, np.nan))
    assert (everything.level_verdict, everything.whole_verdict) == ("refuses", "refuses")


def test_every_unit_has_a_file_of_its_own(tmp_path):
    units = plan()
    assert len({unit.filename for unit in units}) == len(units)
    assert len({unit.settings for unit in units}) == len(units)
    grid = [unit.cell for unit in units if unit.cell.is_null and not unit.cell.is_special]
    assert {cell.sets for cell in grid if cell.n <= 300} == {2000}
    assert {unit.test for unit in units} == set(BATTERY)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
def test_simulated_labels_follow_the_predictions(shape, k):
    """Sums of residuals within 4.4 standard errors of 0 for every class, with every weight (1, p)."""
    p = cells.simulate(Cell(shape, 20_000, k, 1), np.random.default_rng(5))
    for weight in (np.ones_like(p.probs), p.probs):
        error = np.sqrt((weight**2 * p.probs * (1 - p.probs)).sum(axis=0))
        assert np.all(np.abs((weight * p.residuals).sum(axis=0)) < 4.4 * error)
    assert np.all(p.probs[np.arange(p.n_samples), p.labels] > 0)


def test_shapes_are_what_their_names_say():
    rng = np.random.default_rng(0)
    for k in (2, 3, 10):
        assert len(np.unique(SHAPES["two-point"](rng, 200, k), axis=0)) == 2
        extreme = SHAPES["zero-one"](rng, 2000, k)
        certain = (extreme == 1.0).any(axis=1)
        assert 0.2 < certain.mean() < 0.7
        assert k == 2 or np.any((extreme == 0.0).any(axis=1) & ~certain)
        assert SHAPES["peaked"](rng, 2000, k).max(axis=1).mean() > SHAPES["flat"](rng, 2000, k).max(axis=1).mean()


def test_normal_forecasts_have_uniform_probability_integral_transforms():
    f = cells.simulate(Cell("normal", 5000, 0, 1), np.random.default_rng(1))
    assert stats.kstest(f.distribution.cdf(f.targets), "uniform").pvalue > 1e-3


def test_rotation_keeps_the_top_label_and_moves_all_others():
    truth = np.array([[0.1, 0.6, 0.05, 0.25], [0.4, 0.3, 0.2, 0.1]])
    assert DEFECTS["rotation"](truth).tolist() == [[0.25, 0.6, 0.1, 0.05], [0.4, 0.1, 0.3, 0.2]]


def test_weights_are_those_of_the_cell_and_leave_the_rest_as_it_is():
    plain, weighted = (
        cells.simulate(Cell("flat", 50, 3, 1, weights=name), np.random.default_rng(3)) for name in ("none", "lognormal")
    )
    assert np.array_equal(plain.probs, weighted.probs)
    assert np.array_equal(plain.labels, weighted.labels)
    assert not plain.is_weighted
    assert weighted.is_weighted


@pytest.mark.parametrize(("shape", "share"), [("rare-2%", 0.02), ("rare-0.5%", 0.005), ("rare", 0.5 / 20.5)])
def test_rare_events_are_as_rare_as_they_say(shape, share):
    assert SHAPES[shape](np.random.default_rng(0), 100_000, 2)[:, 1].mean() == pytest.approx(share, rel=0.1)


def test_sure_networks_are_right_in_most_rows():
    assert SHAPES["sure"](np.random.default_rng(0), 20_000, 10).max(axis=1).mean() == pytest.approx(0.95, abs=0.005)


def test_defects_of_log_odds_keep_what_they_should():
    truth = SHAPES["rare-2%"](np.random.default_rng(0), 500, 2)
    odds = np.log(truth[:, 1] / truth[:, 0])
    steep, shifted = DEFECTS["slope-0.6"](truth), DEFECTS["intercept-0.5"](truth)
    found = np.log(steep[:, 1] / steep[:, 0])
    assert np.polyfit(found, odds, 1)[0] == pytest.approx(0.6)
    assert steep[:, 1].mean() == pytest.approx(truth[:, 1].mean())
    assert np.log(shifted[:, 1] / shifted[:, 0]) == pytest.approx(odds + 0.5)


def test_defects_by_hand():
    truth = np.array([[0.2, 0.8]])
    assert DEFECTS["temperature-0.5"](truth) == pytest.approx(np.array([[0.04, 0.64]]) / 0.68)
    assert DEFECTS["bad-class"](truth) == pytest.approx(np.array([[0.4, 0.8]]) / 1.2)
    for defect in DEFECTS.values():
        assert defect(truth).sum() == pytest.approx(1.0)
    assert truth.tolist() == [[0.2, 0.8]]


def test_more_sets_only_add_to_the_first():
    few, many = (Unit(Cell("flat", 100, 3, sets), "skce-bootstrap").compute() for sets in (3, 6))
    assert many[:3] == few
    assert len(set(many)) > 1


CELLS = (*(Cell(shape, 20, 3, 16) for shape in SHAPES), Cell("normal", 20, 0, 10))
REDUCED = {
    name: [Unit(cell, name) for cell in CELLS if entry.takes(cell) and (name == "omnibus" or not cell.is_special)]
    for name, entry in BATTERY.items()
    if entry.promise != "asymptotic"
}


@pytest.mark.parametrize("name", REDUCED)
def test_exact_tests_hold_their_level(name):
    """The reduced grid: 16 sets of 20 rows of three classes for every shape, 10 of forecasts, judged together.

    The committed table has 2000 sets for each, judged alone.
    """
    pvalues = np.array([pvalue for unit in REDUCED[name] for pvalue in unit.compute()], dtype=float)
    assert len(pvalues) >= 64
    summary = summarise(REDUCED[name][0], pvalues)
    assert not summary.rejects_too_often
    assert not summary.rises_above
    assert summary.refused == 0
    assert summarise(REDUCED[name][0], pvalues / 4).rejects_too_often or BATTERY[name].promise == "bound"


def main(*arguments):
    return command_line.run(STUDY, [str(argument) for argument in arguments])


def run(folder, *options, sets=8):
    arguments = ["--out", folder / "out", "--cache", folder / "cache", "--sets", sets, "--jobs", 1, "--only", TINY]
    with one_process():
        assert main(*arguments, *options) == 0
    return {page: (folder / "out" / page).read_bytes() for page in PAGES}


def stamps(folder):
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in (folder / "cache" / "steps").iterdir()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    return folder, run(folder)


def test_tables_name_what_is_complete_and_what_is_missing(finished):
    _, pages = finished
    null = pages["null.csv"].decode().splitlines()
    assert len(null) == 1 + 8
    assert any(line.startswith("flat,2,20,none,skce-block-20,asymptotic,8,8,0.0000") for line in null)
    assert "- flat K=2 n=100 cox\n" in pages["null.md"].decode()
    assert "- flat K=2 n=20 cox\n" not in pages["null.md"].decode()
    assert "| cox | " in pages["power.md"].decode()
    assert "| cme | not computed |" in pages["power.md"].decode()


def test_a_second_run_computes_nothing(finished):
    folder, pages = finished
    before = stamps(folder)
    assert run(folder) == pages
    assert stamps(folder) == before


def test_other_settings_are_computed_anew_and_tables_alone_run_nothing(finished):
    folder, pages = finished
    before = stamps(folder)
    assert run(folder, "--tables", sets=9) != pages
    assert stamps(folder) == before
    assert run(folder, "--tables") == pages


def test_rows_of_tables_are_kept_if_their_units_are_not_in_the_cache(finished, tmp_path):
    _, pages = finished
    for page in PAGES:
        (tmp_path / page).write_bytes(pages[page])
    arguments = ["--sets", "8", "--jobs", "1", "--only", "^flat K=2 n=20 (cox|ecce)$", "--cache", tmp_path / "cache"]
    with one_process():
        assert main(*arguments, "--out", tmp_path, "--keep") == 0
    old, new = pages["null.csv"].decode().splitlines(), (tmp_path / "null.csv").read_text().splitlines()
    assert set(old) < set(new)
    assert len(new) == len(old) + 1
    assert (tmp_path / "power.md").read_bytes() == pages["power.md"]
    assert main(*arguments, "--out", tmp_path, "--tables") == 0
    assert len((tmp_path / "null.csv").read_text().splitlines()) == 1 + 2


DAMAGES = {
    "truncated": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "one digit": lambda content: content.replace(b"1", b"2", 1),
    "a value short": lambda content: json.dumps(json.loads(content)[1:]).encode(),
}


def test_damaged_files_are_done_again(finished):
    folder, pages = finished
    files = sorted((folder / "cache" / "steps").glob("*.json"))
    contents = {path: path.read_bytes() for path in files}
    for path, damage in zip(files, DAMAGES.values(), strict=False):
        path.write_bytes(damage(contents[path]))
    before = stamps(folder)
    assert run(folder) == pages
    assert {path: path.read_bytes() for path in files} == contents
    redone = {name for name, stamp in stamps(folder).items() if before[name] != stamp}
    assert redone == {path.name + end for path in files[: len(DAMAGES)] for end in ("", ".sha256")}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_not_read(finished, tmp_path, damage):
    folder, _ = finished
    unit = Unit(Cell("flat", 20, 2, 8), "spiegelhalter")
    assert load(unit, Store(folder / "cache")) is not None
    shutil.copytree(folder / "cache", tmp_path, dirs_exist_ok=True)
    assert load(unit, Store(tmp_path)) is not None
    path = tmp_path / "steps" / unit.filename
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert load(unit, Store(tmp_path)) is None


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_a_run_of_two_workers_that_is_interrupted_continues_to_the_same_tables(finished, tmp_path):
    arguments = ["--out", tmp_path / "out", "--cache", tmp_path / "cache", "--sets", "8", "--jobs", "2"]
    slow = [*map(str, arguments), "--only", f"{TINY}|n=1000 consistency-skce$"]
    command = [sys.executable, "-m", "studies", "validity", *slow]
    seals = {f"{path.name}.sha256" for path in (finished[0] / "cache" / "steps").glob("*.json")}
    assert len(seals) == 13
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, text=True) as process:
        deadline = time.monotonic() + 60
        while not seals <= {path.name for path in tmp_path.glob("cache/steps/*.sha256")}:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        # A terminal sends it to all, the youngest first: workers may have ended before their parent hears of it.
        for worker in psutil.Process(process.pid).children():
            worker.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "call again to continue" in errors
    assert "\n[11/" in errors
    assert not (tmp_path / "out").exists()
    # What came after the seals, and a file that was being written.
    for path in [*tmp_path.glob("cache/steps/*consistency-skce*"), *tmp_path.glob("cache/steps/.*")]:
        path.unlink()
    done = sorted((tmp_path / "cache" / "steps").iterdir())
    for path in done[:2]:  # As if the interrupt had come before the last unit: without its values and their seal.
        path.unlink()
    kept = stamps(tmp_path)
    assert run(tmp_path) == finished[1]
    after = stamps(tmp_path)
    assert {name for name in after if name not in kept} == {path.name for path in done[:2]}
    assert all(after[name] == stamp for name, stamp in kept.items())


def test_a_study_that_is_running_is_refused_and_its_tables_are_not(finished, tmp_path, capsys):
    options = ["--cache", finished[0] / "cache", "--sets", 8, "--out", tmp_path]
    with locked(finished[0] / "cache", "study"):
        assert main(*options) == 2
        assert "another process is running the study" in capsys.readouterr().err
        assert main(*options, "--tables") == 0
    assert (tmp_path / "null.csv").read_bytes() == finished[1]["null.csv"]


@pytest.mark.parametrize(
    ("options", "message"), [(["--sets", "0"], "at least 1"), (["--only", "("], "regular expression")]
)
def test_bad_options_are_refused(options, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(*options)
    assert message in capsys.readouterr().err


def committed(page):
    with Path(__file__).parents[2].joinpath("docs", "validity", page).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_committed_table_shows_every_test_and_no_guarantee_broken():
    rows = committed("null.csv")
    assert {row["test"] for row in rows} == set(BATTERY)
    broken = [row for row in rows if row["promise"] != "asymptotic" and "too often" in (row["levels"] + row["whole"])]
    assert broken == []
    assert len({(row["predictions"], row["classes"], row["n"], row["weights"]) for row in rows}) == len(
        cells.null_cells()
    )


def test_the_committed_table_shows_that_only_full_tests_see_a_rotation():
    rates = {
        row["test"]: float(row["rate_0.05"])
        for row in committed("power.csv")
        if row["n"] == "300" and row["defect"] == "rotation"
    }
    assert rates["consistency-skce"] > 0.5
    assert max(rates["consistency-top-label"], rates["consistency-ece"], rates["spiegelhalter"]) < 0.1


def test_the_committed_table_shows_that_the_omnibus_test_is_never_far_behind_the_best():
    """At most 0.15 behind the best of all others in any column, 0.08 on average.

    Tests that reject calibrated rare events too often are no measure where events are rare.
    """
    rare = [row for row in committed("null.csv") if row["predictions"] == "rare" and row["weights"] == "none"]
    liberal = {row["test"] for row in rare if "too often" in row["levels"]}
    columns = {}
    for row in committed("power.csv"):
        if not (row["predictions"].startswith("rare") and row["test"] in liberal):
            column = (row["defect"], row["predictions"], row["n"])
            columns.setdefault(column, {})[row["test"]] = float(row["rate_0.05"])
    behind = [max(rates.values()) - rates["omnibus"] for rates in columns.values()]
    assert len(behind) == len(cells.power_cells())
    assert max(behind) <= 0.15
    assert np.mean(behind) <= 0.08
