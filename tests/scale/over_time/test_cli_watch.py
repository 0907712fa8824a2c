"""`calibrant watch` and `calibrant compare` of sketches, as they are called."""

import json

import numpy as np
import pytest

from calibrant._core.laws import expit
from calibrant.cli import main
from calibrant.scale import GroupedSketch, Sketch
from calibrant.scale.over_time import Watch, compare_periods


def write_day(folder, name, seed, shift=0.0, n_rows=500):
    rng = np.random.default_rng(seed)
    z = rng.normal(-1, 1.3, n_rows)
    sketch = Sketch().update(expit(z), rng.random(n_rows) < expit(z + shift))
    (folder / f"{name}.sketch").write_bytes(sketch.to_bytes())
    return folder / f"{name}.sketch"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return a folder of calm days, and one whose days change with day 8."""
    found = {}
    for kind, shift in (("calm", 0.0), ("changed", 0.9)):
        found[kind] = tmp_path_factory.mktemp(kind)
        for i in range(1, 13):
            write_day(found[kind], f"day {i}", i, shift if i >= 8 else 0.0)
    return found


def test_a_change_is_told_and_fails_the_gate_if_wanted(folders, capsys):
    assert main(["watch", str(folders["changed"])]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Calibration has changed: since day 8, predictions are too low." in told
    assert "What repairs it: a new base rate (prior shift): add +0." in told
    assert main(["watch", str(folders["changed"]), "--fail-if-drift", "--json"]) == 1
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert err.startswith("calibrant: failed: the alarm was raised after day ")
    assert record["change"]["since"] == "day 8"
    assert [day["name"] for day in record["days"]] == [f"day {i}" for i in range(1, 13)]  # 9 before 10
    assert main(["watch", str(folders["calm"]), "--fail-if-drift"]) == 0
    assert "No sign of a change of calibration in 12 days." in capsys.readouterr().out


def test_a_reference_is_the_sum_of_its_sketches_and_is_not_watched(folders, capsys):
    reference = [str(folders["changed"] / f"day {i}.sketch") for i in range(1, 6)]
    assert main(["watch", str(folders["changed"]), "--json", "--alpha", "0.1", "--reference", *reference]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["reference"]["n_samples"] == 2500
    assert len(record["days"]) == 7
    assert record["log_limit"] == pytest.approx(np.log(20))
    assert record["days"][0]["log_e_plugin"] is not None


def test_a_pattern_that_the_shell_left_alone_names_days_and_reference(folders, capsys):
    days, reference = str(folders["changed"] / "day *.sketch"), str(folders["changed"] / "day [1-5].sketch")
    assert main(["watch", days, "--json", "--reference", reference]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["reference"]["n_samples"] == 2500
    assert [day["name"] for day in record["days"]] == [f"day {i}" for i in range(6, 13)]


def test_files_of_predictions_are_days_and_reference_too(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for i in range(5):
        p = rng.random(300).round(3)
        y = (rng.random(300) < p).astype(int)
        np.savetxt(
            tmp_path / f"{i}.csv", np.column_stack([y, p]), delimiter=",", header="y,score", comments="", fmt="%g"
        )
    assert main(["watch", str(tmp_path), "--label", "y", "--probs", "score"]) == 0
    assert "in 5 days" in capsys.readouterr().out
    options = ["--label", "y", "--probs", "score", "--json", "--reference", str(tmp_path / "[01].csv")]
    assert main(["watch", str(tmp_path), *options]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["reference"]["n_samples"] == 600
    assert [day["name"] for day in record["days"]] == ["2", "3", "4"]


def test_the_page_is_written(folders, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["watch", str(folders["changed"]), "--out", str(page)]) == 0
    assert "The page is at" in capsys.readouterr().out
    assert "since day 8" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["watch"], 2, "must name at least one day"),
        (["watch", "{empty}"], 2, "must name at least one day, but holds none"),
        (["watch", "{empty}/no.sketch"], 3, "no.sketch"),
        (["watch", "{bad}"], 3, "damaged"),
        (["watch", "{calm}", "{changed}"], 2, "day 1 occurs twice"),
        (["watch", "{calm}", "--alpha", "0"], 2, "alpha must be"),
        (["watch", "{calm}", "--out", "x.txt"], 2, "must end in .html"),
        (["watch", "{calm}", "--reference", "{calm}/day 1.sketch", "b.csv"], 2, "names both"),
        (["compare", "{calm}/day 1.sketch", "a.csv"], 2, "but got both"),
        (["compare", "{calm}/day 1.sketch"], 2, "two sketches, but 1"),
    ],
)
def test_what_cannot_be_watched_is_refused(folders, tmp_path, capsys, arguments, code, message):
    places = {"empty": tmp_path / "empty", "bad": tmp_path / "bad", **folders}
    places["empty"].mkdir()
    places["bad"].mkdir()
    content = bytearray((folders["calm"] / "day 1.sketch").read_bytes())
    content[len(content) // 2] ^= 1
    (places["bad"] / "day 1.sketch").write_bytes(bytes(content))
    assert main([argument.format(**places) for argument in arguments]) == code
    assert message in capsys.readouterr().err


def test_two_sketches_are_compared(folders, capsys):
    pair = [str(folders["changed"] / f"day {i}.sketch") for i in (1, 9)]
    assert main(["compare", *pair]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "(p < 0.001): at the same prediction the event is more frequent" in told
    assert main(["compare", *pair, "--json", "--resamples", "99"]) == 0
    assert json.loads(capsys.readouterr().out)["omnibus_pvalue"] == 0.01


def test_sketches_of_groups_stand_for_their_rows_together(folders, tmp_path, capsys):
    rng, z = np.random.default_rng(3), np.random.default_rng(4).normal(-1, 1.3, 500)
    labels = rng.random(500) < expit(z)
    plain, grouped = Sketch().update(expit(z), labels), GroupedSketch().update(expit(z), labels, ["a", "b"] * 250)
    other = folders["calm"] / "day 2.sketch"
    (tmp_path / "g.sketch").write_bytes(grouped.to_bytes())
    (tmp_path / "p.sketch").write_bytes(plain.to_bytes())
    outputs = []
    for name in ("g", "p"):
        assert main(["compare", str(tmp_path / f"{name}.sketch"), str(other), "--json"]) == 0
        outputs.append(json.loads(capsys.readouterr().out)["statistic"])
        assert main(["watch", str(other), "--reference", str(tmp_path / f"{name}.sketch"), "--json"]) == 0
        outputs.append(json.loads(capsys.readouterr().out)["days"])
    assert outputs[:2] == outputs[2:]
    assert Watch()({"day": grouped}).days[0].log_e == Watch()({"day": plain}).days[0].log_e
    with pytest.raises(TypeError, match="days must be Sketch or Predictions, but first is int"):
        compare_periods(1, plain)
