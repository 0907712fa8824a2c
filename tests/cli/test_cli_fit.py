"""`calibrant fit` and `calibrant apply` as a user meets them."""

import csv
import gzip
import json
import subprocess
import sys
from contextlib import chdir
from datetime import date
from shutil import copytree

import numpy as np
import polars as pl
import pytest

from calibrant import InputError, read_predictions
from calibrant.calibrators import IsotonicCalibration, TemperatureScaling, load, parse, save
from calibrant.cli import main
from calibrant.io import read_column
from calibrant.io.rewrite import rewrite_probabilities
from calibrant.metrics import NLL
from simulate import calibrated, sharpened

NAMES = np.array(["ash", "birch", "cedar"])


def data(seed, k=3):
    return sharpened(calibrated(n=400, k=k, seed=seed), 0.4)


def frame(p):
    """A table with columns before, between and after the probabilities."""
    n = p.n_samples
    return pl.DataFrame(
        {
            "id": [f"{i:05d}" for i in range(n)],
            "proba_birch": p.probs[:, 1],
            "note": [' "quoted", and\nbroken ' if i % 7 == 0 else "" for i in range(n)],
            "proba_ash": p.probs[:, 0],
            "proba_cedar": p.probs[:, 2],
            "price": [f"{i / 4:.2f}" for i in range(n)],
            "label": NAMES[p.labels],
        }
    )


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a file to fit on, another to apply to, and the calibrator, to copy from."""
    where = tmp_path_factory.mktemp("fitted")
    frame(data(0)).write_csv(where / "fit.csv")
    frame(data(1)).write_csv(where / "new.csv")
    with chdir(where):
        assert main(["fit", "fit.csv", "--method", "ts>irm", "--out", "cal.json"]) == 0
    return where


@pytest.fixture
def folder(fitted, tmp_path, monkeypatch):
    """A folder with a file to fit on, another to apply to, and the calibrator."""
    copytree(fitted, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return main([str(argument) for argument in arguments])


def cells(path, separator=","):
    with path.open(newline="") as file:
        return list(csv.reader(file, delimiter=separator))


def expected():
    """What the calibrator makes of the file to apply to, in the order of the classes."""
    return load("cal.json").predict_proba(data(1).probs)


class TestFit:
    def test_the_calibrator_is_the_one_of_python(self, folder):
        p = data(0)
        by_hand = parse("ts>irm").fit(p.probs, p.labels)
        assert np.array_equal(load("cal.json").predict_proba(p.probs), by_hand.predict_proba(p.probs))
        assert load("cal.json").classes_.tolist() == NAMES.tolist()

    def test_what_was_learnt_is_printed_with_a_warning_of_optimism(self, folder, capsys):
        assert run("fit", "fit.csv", "--method", "ts", "--out", "ts.json") == 0
        out = capsys.readouterr().out.replace(" \n", " ")  # Sentences are folded.
        temperature = load("ts.json").temperature_
        assert f"temperature: {temperature:.6g}" in out
        assert '"after" is too optimistic' in out
        assert "0.00% of the predicted classes have changed." in out
        assert "The calibrator is at ts.json" in out

    def test_json_holds_the_same_numbers(self, folder, capsys):
        capsys.readouterr()
        assert run("fit", "fit.csv", "--method", "svs", "--out", "svs.json", "--json") == 0
        record = json.loads(capsys.readouterr().out)
        assert record["learnt"]["class"] == "StructuredScaling"
        assert record["learnt"]["temperature_scaling"]["temperature"] > 1
        assert record["in_sample"]["before"]["nll"]["value"] == pytest.approx(NLL()(data(0)), rel=1e-9)
        assert record["in_sample"]["after"]["nll"]["value"] < record["in_sample"]["before"]["nll"]["value"]
        assert record["n_samples"] == 400
        assert record["sha256"] in (folder / "svs.json").read_text()

    @pytest.mark.parametrize("method", ["irova", "bbq", "isotonic", "ets", "iop-diag"])
    def test_every_kind_of_calibrator_can_be_described(self, folder, method, capsys):
        assert run("fit", "fit.csv", "--method", method, "--out", "c.json", "--json") == 0
        assert run("fit", "fit.csv", "--method", method, "--out", "c.json") == 0

    def test_logits_are_fitted_as_logits(self, folder):
        p = data(0)
        np.savez("logits.npz", logits=5 + 2 * p.log_probs, labels=p.labels)
        assert run("fit", "logits.npz", "--logits", "--method", "ts", "--out", "ts.json") == 0
        by_hand = TemperatureScaling(scores="logits").fit(2 * p.log_probs, p.labels)
        assert load("ts.json").temperature_ == pytest.approx(by_hand.temperature_, rel=1e-9)

    def test_weights_are_used(self, folder):
        p = data(0)
        weights = np.arange(400) % 3
        np.savez("weighted.npz", probs=p.probs, labels=p.labels, w=weights)
        assert run("fit", "weighted.npz", "--weight", "w", "--out", "ts.json") == 0
        copies = np.repeat(np.arange(400), weights)
        by_hand = TemperatureScaling().fit(p.probs[copies], p.labels[copies])
        assert load("ts.json").temperature_ == pytest.approx(by_hand.temperature_, rel=1e-9)

    def test_an_unknown_method_is_named_before_anything_is_read(self, folder, capsys):
        assert run("fit", "missing.csv", "--method", "ts>irn", "--out", "c.json") == 2
        assert "irm" in capsys.readouterr().err
        assert not (folder / "c.json").exists()

    def test_a_forgotten_quotation_mark_is_noticed(self, folder):
        with (folder / "irm").open("wb") as output:
            ran = subprocess.run(
                [sys.executable, "-m", "calibrant", "fit", "fit.csv", "--method", "ts", "--out", "c.json"],
                stdout=output, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
            )  # fmt: skip
        assert ran.returncode == 2
        assert "--method 'ts>irm'" in ran.stderr
        assert not (folder / "c.json").exists()

    def test_the_data_is_never_overwritten(self, folder, capsys):
        before = (folder / "fit.csv").read_bytes()
        assert run("fit", "fit.csv", "--out", "fit.csv") == 2
        assert "--out is fit.csv itself" in capsys.readouterr().err
        assert (folder / "fit.csv").read_bytes() == before

    def test_a_target_that_cannot_be_written_is_found_first(self, folder, capsys):
        assert run("fit", "missing.csv", "--out", "nowhere/c.json") == 3
        assert "nowhere/c.json cannot be written: there is no folder" in capsys.readouterr().err


class TestApply:
    def test_every_other_cell_of_a_csv_stays_the_same_text(self, folder):
        assert run("apply", "new.csv", "--calibrator", "cal.json", "--out", "out.csv", "--replace") == 0
        before, after = cells(folder / "new.csv"), cells(folder / "out.csv")
        assert after[0] == before[0]
        assert len(after) == len(before) == 401
        others = [0, 2, 5, 6]
        assert [[row[j] for j in others] for row in after] == [[row[j] for j in others] for row in before]
        probs = np.array([[float(row[j]) for j in (3, 1, 4)] for row in after[1:]])
        assert np.array_equal(probs, expected())

    @pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "csv.gz", "tsv"])
    def test_a_csv_becomes_any_table(self, folder, ending):
        assert run("apply", "new.csv", "--calibrator", "cal.json", "--out", f"out.{ending}", "--replace") == 0
        assert np.array_equal(read_predictions(f"out.{ending}", classes=NAMES).probs, expected())

    def test_texts_of_a_csv_become_numbers_only_without_loss(self, folder):
        assert run("apply", "new.csv", "--calibrator", "cal.json", "--out", "out.parquet", "--replace") == 0
        table = pl.read_parquet("out.parquet")
        assert table["id"].to_list()[:2] == ["00000", "00001"]
        assert table["price"].to_list()[:3] == [0.0, 0.25, 0.5]
        assert table["note"].to_list()[:2] == [' "quoted", and\nbroken ', None]
        assert table.columns == frame(data(1)).columns

    @pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
    def test_other_columns_of_a_table_keep_their_types(self, folder, ending):
        table = frame(data(1)).with_columns(
            day=pl.lit(date(2026, 1, 2)), tags=pl.lit(["a", "b"]), small=pl.lit(3, dtype=pl.Int8)
        )
        writers = {"parquet": table.write_parquet, "arrow": table.write_ipc, "arrows": table.write_ipc_stream}
        writers[ending](f"new.{ending}")
        assert run("apply", f"new.{ending}", "--calibrator", "cal.json", "--out", f"out.{ending}", "--replace") == 0
        readers = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "arrows": pl.read_ipc_stream}
        result = readers[ending](f"out.{ending}")
        assert result.schema == table.schema
        others = [name for name in table.columns if not name.startswith("proba_")]
        assert result.select(others).equals(table.select(others))
        assert np.array_equal(result.select([f"proba_{n}" for n in NAMES]).to_numpy(), expected())

    def test_other_arrays_of_an_archive_stay_the_same_bytes(self, folder):
        images = np.random.default_rng(0).integers(0, 255, (400, 4), dtype=np.uint8)
        np.savez_compressed("new.npz", images=images, probs=data(1).probs.astype(np.float32), names=NAMES)
        assert run("apply", "new.npz", "--calibrator", "cal.json", "--out", "out.npz", "--replace") == 0
        result = np.load("out.npz", allow_pickle=False)
        assert result.files == ["images", "probs", "names"]
        assert np.array_equal(result["images"], images)
        assert result["names"].tolist() == NAMES.tolist()
        assert result["probs"] == pytest.approx(expected(), abs=1e-3)
        assert result["probs"].dtype == np.float64

    def test_one_column_means_class_1(self, folder):
        p = data(0, k=2)
        pl.DataFrame({"p": p.positive, "y": p.labels}).write_csv("two.csv")
        assert run("fit", "two.csv", "--method", "platt", "--out", "cal.json") == 0
        pl.DataFrame({"x": range(400), "p": data(1, k=2).positive}).write_parquet("new.parquet")
        assert run("apply", "new.parquet", "--calibrator", "cal.json", "--out", "out.parquet", "--replace") == 0
        result = pl.read_parquet("out.parquet")
        assert result.columns == ["x", "p"]
        by_hand = load("cal.json").predict_proba(data(1, k=2).positive)[:, 1]
        assert np.array_equal(result["p"].to_numpy(), by_hand)

    @pytest.mark.parametrize("kind", [pl.List(pl.Float64), pl.Array(pl.Float64, 3)], ids=["list", "array"])
    def test_a_column_of_whole_rows_stays_one(self, folder, kind):
        np.savez("fit.npz", probs=data(0).probs, labels=data(0).labels)
        assert run("fit", "fit.npz", "--out", "cal.json") == 0
        rows = pl.Series("probs", data(1).probs.tolist(), dtype=kind)
        pl.DataFrame({"probs": rows, "x": range(400)}).write_parquet("new.parquet")
        assert run("apply", "new.parquet", "--calibrator", "cal.json", "--out", "out.parquet", "--replace") == 0
        result = pl.read_parquet("out.parquet")
        assert result.schema["probs"] == kind
        assert np.array_equal(np.array(result["probs"].to_list()), expected())

    def test_logits_stay_logits(self, folder):
        p = data(1)
        pl.DataFrame({f"logit_{name}": 3 + p.log_probs[:, j] for j, name in enumerate(NAMES)}).write_csv("new_z.csv")
        assert run("apply", "new_z.csv", "--logits", "--calibrator", "cal.json", "--out", "out.csv", "--replace") == 0
        logits = pl.read_csv("out.csv").to_numpy()
        assert np.exp(logits) == pytest.approx(expected(), abs=1e-12)

    def test_logits_are_no_percentages(self, folder, capsys):
        assert run("apply", "new.csv", "--logits", "--percent", "--calibrator", "cal.json", "--out", "out.csv") == 2
        assert "--percent is for probabilities, but --logits means" in capsys.readouterr().err

    def test_classes_are_matched_by_name(self, folder):
        table = frame(data(1))
        other = table.select("proba_cedar", "id", "proba_ash", "proba_birch")
        other.write_csv("other.csv")
        assert run("apply", "other.csv", "--calibrator", "cal.json", "--out", "out.csv", "--replace") == 0
        result = pl.read_csv("out.csv")
        assert np.array_equal(result.select([f"proba_{n}" for n in NAMES]).to_numpy(), expected())

    def test_rows_that_were_fitted_on_are_noticed(self, folder, capsys):
        assert run("apply", "fit.csv", "--calibrator", "cal.json", "--out", "out.csv", "--replace") == 0
        assert "the calibrator was fitted on these rows" in capsys.readouterr().err
        assert run("apply", "new.csv", "--calibrator", "cal.json", "--out", "out.csv", "--replace") == 0
        assert capsys.readouterr().err == ""

    def test_json_says_what_was_done(self, folder, capsys):
        capsys.readouterr()
        assert run("apply", "new.csv", "--calibrator", "cal.json", "--out", "out.csv", "--json", "--replace") == 0
        record = json.loads(capsys.readouterr().out)
        assert record["n_samples"] == 400
        assert record["columns"] == ["proba_ash", "proba_birch", "proba_cedar"]
        assert record["changed"] == 0.0

    def test_the_share_of_changed_classes_is_counted(self, folder, capsys):
        assert run("fit", "fit.csv", "--method", "ms", "--out", "cal.json") == 0
        capsys.readouterr()
        assert run("apply", "new.csv", "--calibrator", "cal.json", "--out", "out.csv", "--json", "--replace") == 0
        share = np.mean(expected().argmax(axis=1) != data(1).predicted)
        assert json.loads(capsys.readouterr().out)["changed"] == pytest.approx(share, abs=1e-12)
        assert share > 0

    def test_the_input_is_replaced_only_if_asked(self, folder, capsys):
        before = (folder / "new.csv").read_bytes()
        assert run("apply", "new.csv", "--calibrator", "cal.json", "--out", "./new.csv") == 2
        assert "allow it with --overwrite" in capsys.readouterr().err
        assert (folder / "new.csv").read_bytes() == before
        assert run("apply", "new.csv", "--calibrator", "cal.json", "--out", "new.csv", "--overwrite", "--replace") == 0
        assert np.array_equal(read_predictions("new.csv", classes=NAMES).probs, expected())


class TestRefusals:
    def fails(self, capsys, *arguments, code=2):
        capsys.readouterr()
        assert run("apply", *arguments) == code
        return capsys.readouterr().err

    def test_a_bad_row_is_named_by_its_line_and_nothing_is_written(self, folder, capsys):
        table = frame(data(1)).with_columns(note=pl.lit("")).with_row_index()
        table.with_columns(
            proba_ash=pl.when(pl.col("index") == 7).then(1.5).otherwise(pl.col("proba_ash"))
        ).write_csv("bad.csv")  # fmt: skip
        message = self.fails(capsys, "bad.csv", "--calibrator", "cal.json", "--out", "out.csv")
        assert "line 9, column 'proba_ash'" in message
        assert not (folder / "out.csv").exists()

    def test_another_number_of_classes(self, folder, capsys):
        p = data(0, k=2)
        np.savez("two.npz", probs=p.probs, labels=p.labels)
        message = self.fails(capsys, "two.npz", "--calibrator", "cal.json", "--out", "out.npz")
        assert "the 3 classes that the calibrator was fitted on, but have 2" in message
        frame(data(1)).drop("proba_ash").write_csv("two.csv")
        message = self.fails(capsys, "two.csv", "--calibrator", "cal.json", "--out", "out.csv")
        assert "there are 3 classes ('ash', 'birch', 'cedar') and 2 columns" in message

    def test_other_classes(self, folder, capsys):
        frame(data(1)).rename({"proba_ash": "proba_oak"}).write_csv("other.csv")
        message = self.fails(capsys, "other.csv", "--calibrator", "cal.json", "--out", "out.csv")
        assert "no probability column for class 'ash'" in message

    def test_a_calibrator_that_is_none(self, folder, capsys):
        message = self.fails(capsys, "new.csv", "--calibrator", "fit.csv", "--out", "out.csv", code=3)
        assert "fit.csv cannot be used as a calibrator" in message
        assert "does not exist" in self.fails(capsys, "new.csv", "--calibrator", "no.json", "--out", "out.csv", code=3)
        message = self.fails(capsys, "new.csv", "--calibrator", "cal.json", "--out", "cal.json")
        assert "--out is cal.json itself" in message

    def test_a_calibrator_of_raw_scores(self, folder, capsys):
        save(IsotonicCalibration(scores="raw").fit([1.0, 2.0], [0, 1]), "raw.json")
        assert "raw scores" in self.fails(capsys, "new.csv", "--calibrator", "raw.json", "--out", "out.csv")

    @pytest.mark.parametrize(
        ("file", "out", "message"),
        [
            ("new.csv", "out.xlsx", "must have an extension that names its format: .csv"),
            ("new.csv", "out.npz", "holds a table, so the output must end in .csv or .parquet"),
            ("new.npz", "out.csv", "holds arrays, so the output must end in .npz"),
            ("new.npy", "out.npz", "must be an NPZ file"),
            ("nested.parquet", "out.csv", "CSV cannot hold lists"),
        ],
    )
    def test_formats_that_do_not_fit(self, folder, capsys, file, out, message):
        np.savez("new.npz", probs=data(1).probs)
        np.save("new.npy", data(1).probs)
        frame(data(1)).with_columns(tags=pl.lit(["a", "b"])).write_parquet("nested.parquet")
        assert message in self.fails(capsys, file, "--calibrator", "cal.json", "--out", out)
        assert not (folder / out).exists()

    def test_a_damaged_archive_member_that_is_only_copied(self, folder, capsys):
        np.savez("new.npz", probs=data(1).probs, other=np.arange(1000))
        content = bytearray((folder / "new.npz").read_bytes())
        content[content.rindex(np.arange(500, 501).tobytes())] ^= 1
        (folder / "new.npz").write_bytes(content)
        message = self.fails(capsys, "new.npz", "--calibrator", "cal.json", "--out", "out.npz", code=3)
        assert "cannot be read as NPZ" in message
        assert not (folder / "out.npz").exists()


def test_gzip_files_do_not_depend_on_the_clock(folder):
    for name in ("1.csv.gz", "2.csv.gz"):
        rewrite_probabilities("new.csv", name, lambda values: values, replace=True)
    assert (folder / "1.csv.gz").read_bytes() == (folder / "2.csv.gz").read_bytes()
    with gzip.open("1.csv.gz") as content:
        assert pl.read_csv(content.read()).equals(pl.read_csv("new.csv"))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_other_cell_and_the_line_ends_of_a_text_table_stay(folder, end):
    lines = [
        '"id", p_0 ,note,p_1',
        '007,0.25,"",0.75',
        '"a""b", 0.5,"one\rcell",0.5',
        "",
        'x,0.5,"two\nlines, one cell",.5',
        "y,1,ž,0",
    ]
    (folder / "odd.csv").write_bytes(end.join(lines).encode())
    rewrite_probabilities("odd.csv", "out.csv", lambda values: values / 2, replace=True)
    changed = [
        ["id", " p_0 ", "note", "p_1"],
        ["007", "0.125", "", "0.375"],
        ['a"b', "0.25", "one\rcell", "0.25"],
        ["x", "0.25", "two\nlines, one cell", "0.25"],
        ["y", "0.5", "ž", "0.0"],
    ]
    assert cells(folder / "out.csv") == changed
    assert (folder / "out.csv").read_bytes().endswith(f"y,0.5,ž,0.0{end}".encode())


def test_another_separator_keeps_every_cell(folder):
    (folder / "odd.csv").write_text('p;note\n0.5;a\tb\n0.25;"c;d"\n')
    rewrite_probabilities("odd.csv", "out.tsv", lambda values: values, replace=True)
    assert cells(folder / "out.tsv", "\t") == [["p", "note"], ["0.5", "a\tb"], ["0.25", "c;d"]]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_quotation_marks_that_can_be_read_in_two_ways_are_read_in_one(folder, ending):
    (folder / "odd.csv").write_text('p,note,g\n.25,x,1\n.5,"x, "a"""\nz",1\n')  # Three rows to other readers.
    rewrite_probabilities("odd.csv", f"out.{ending}", lambda values: values / 2)
    assert read_column(f"out.{ending}", "calibrated_p").tolist() == [0.125, 0.25]
    assert read_column(f"out.{ending}", "note").tolist() == read_column("odd.csv", "note").tolist()


def test_labels_are_not_taken_for_probabilities(folder):
    pl.DataFrame({"p_a": [0.2], "p_b": [0.8], "p_label": ["a"]}).write_csv("odd.csv")
    assert rewrite_probabilities("odd.csv", "out.csv", lambda v: v[:, ::-1], label="p_label", replace=True) == (
        "p_a",
        "p_b",
    )
    assert pl.read_csv("out.csv").row(0) == (0.8, 0.2, "a")
    with pytest.raises(InputError, match="'a' is not a number"):
        rewrite_probabilities("odd.csv", "out.csv", lambda v: v)


class TestRawLogits:
    @pytest.fixture
    def files(self, tmp_path, monkeypatch):
        """Logits with an offset in every row, of which the second column is written first."""
        monkeypatch.chdir(tmp_path)
        for name, seed in (("fit", 0), ("new", 1)):
            p = data(seed)
            offsets = np.random.default_rng(seed).normal(size=(p.n_samples, 1))
            logits = np.log(p.probs) + offsets * (1 + p.labels[:, None])
            columns = {f"logit_{NAMES[k]}": logits[:, k] for k in (1, 0, 2)}
            pl.DataFrame({**columns, "label": NAMES[p.labels]}).write_csv(f"{name}.csv")
            np.save(f"{name}.npy", logits)
        return tmp_path

    def test_fit_and_apply_do_what_python_does(self, files, capsys):
        assert run("fit", "fit.csv", "--raw-logits", "--method", "vs>guard", "--out", "cal.json") == 0
        assert "vs>guard of raw logits, fitted to 400 rows" in capsys.readouterr().out
        by_hand = parse("vs>guard", scores="raw-logits").fit(np.load("fit.npy"), data(0).labels)
        expected = by_hand.predict_proba(np.load("new.npy"))
        assert load("cal.json").predict_proba(np.load("new.npy")) == pytest.approx(expected, abs=1e-12)
        assert run("apply", "new.csv", "--logits", "--calibrator", "cal.json", "--out", "out.csv", "--replace") == 0
        assert "calibrated by vs>guard of raw logits" in capsys.readouterr().out
        assert read_predictions("out.csv", logits=True).probs == pytest.approx(expected, abs=1e-12)

    def test_the_measures_are_those_of_the_raw_map(self, files, capsys):
        assert run("fit", "fit.csv", "--raw-logits", "--method", "vs", "--json", "--out", "cal.json") == 0
        told = json.loads(capsys.readouterr().out)
        assert told["scores"] == "raw-logits"
        result = load("cal.json").predict_proba(np.load("fit.npy"))
        loss = -np.log(result[np.arange(400), data(0).labels]).mean()
        assert told["in_sample"]["after"]["nll"]["value"] == pytest.approx(loss, abs=1e-12)

    def test_what_cannot_be_is_refused_with_a_remedy(self, files, capsys):
        def refused(*arguments):
            assert run(*arguments) == 2
            return capsys.readouterr().err

        out = ("--out", "cal.json")
        assert "write --logits instead of --raw-logits" in refused("fit", "fit.csv", "--raw-logits", *out)
        told = refused("fit", "fit.csv", "--raw-logits", "--method", "ts>irova", *out)
        assert "A temperature before it can be left out" in told
        assert "--renormalise is for" in refused("fit", "fit.csv", "--raw-logits", "--renormalise", "--method=vs", *out)
        logits = np.load("fit.npy")
        logits[5, 2] = -np.inf
        np.savez("bad.npz", logits=logits, labels=data(0).labels)
        told = refused("fit", "bad.npz", "--raw-logits", "--method", "vs", *out)
        assert "row 5, column 'logits', entry 2 is -inf" in told
        assert "With --logits, -inf is allowed." in told
        assert run("fit", "fit.csv", "--raw-logits", "--method", "vs", "--quiet", *out) == 0
        capsys.readouterr()
        told = refused("apply", "new.csv", "--probs", "logit_*", "--calibrator", "cal.json", "--out", "out.csv")
        assert "add --logits" in told


@pytest.mark.parametrize("stem", ["p_", ""], ids=["a usual name", "named after the labels"])
def test_calibrated_columns_beside_the_old_ones_are_pointed_out(tmp_path, capsys, stem):
    """After `apply`, a second `evaluate` of the table had judged the old columns without a word."""
    path, calibrator, out = tmp_path / "p.csv", tmp_path / "c.json", tmp_path / "out.csv"
    rows = np.linspace(0.05, 0.95, 60)
    labels = np.arange(60) % 3 > 0
    path.write_text(
        "\n".join(
            [f"{stem}a,{stem}b,label", *(f"{1 - p},{p},{'ab'[int(y)]}" for p, y in zip(rows, labels, strict=True))]
        )
    )
    assert main(["fit", str(path), "--method", "ts", "--out", str(calibrator), "--quiet"]) == 0
    assert main(["apply", str(path), "--calibrator", str(calibrator), "--out", str(out), "--quiet"]) == 0
    capsys.readouterr()
    few = ["--metrics", "nll", "--resamples", "19"]
    assert main(["evaluate", str(out), *few]) == 0
    assert f"'{stem}a', '{stem}b' are read, not the calibrated probabilities" in capsys.readouterr().err
    assert main(["evaluate", str(out), *few, "--probs", f"calibrated_{stem}*"]) == 0
    assert main(["evaluate", str(path), *few]) == 0
    assert "calibrated probabilities" not in capsys.readouterr().err


def test_what_a_stack_has_learnt_fits_on_a_screen(folder, capsys):
    assert main(["fit", "fit.csv", "--method", "stack", "--out", "stack.json"]) == 0
    out = capsys.readouterr().out
    assert "weights: " in out
    assert "gradient norm" not in out
    assert len(out.splitlines()) < 60
    assert main(["fit", "fit.csv", "--method", "stack", "--out", "stack.json", "--json"]) == 0
    assert "gradient_norm" in capsys.readouterr().out
