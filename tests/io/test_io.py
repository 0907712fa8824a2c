"""Reading predictions from every format, without holding much more than the result."""

import gzip
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant import InputError, Predictions
from calibrant.io import column_names, limits, opening, printable, read_column, read_predictions
from calibrant.io.read import read_unlabelled
from io_cases import N_CLASSES, N_ROWS, WRITERS, frame, probabilities

ROWS = "0,.8,.2\n1,.4,.6\n"


def write(folder, text, name="data.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_predictions(tmp_path, name):
    WRITERS[name](tmp_path / name)
    probs, labels = probabilities()
    p = read_predictions(tmp_path / name)
    np.testing.assert_allclose(p.probs, probs, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(p.labels, labels)
    assert p.classes == (0, 1, 2)
    assert not p.is_weighted


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.startswith(("arrays", "lists", "struct"))])
def test_names_and_single_columns_are_read_from_every_format(tmp_path, name):
    WRITERS[name](tmp_path / name)
    names = column_names(tmp_path / name)
    label = "labels" if name.endswith("npz") else "label"
    assert label in names
    values = read_column(tmp_path / name, label)
    assert values.dtype == np.int64
    np.testing.assert_array_equal(values, probabilities()[1])
    if "note" in names:
        assert names == ["note", "label", "proba_0", "proba_1", "proba_2"]
        assert read_column(tmp_path / name, "note").tolist() == frame()["note"].to_list()


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_parquet_of_another_writer_is_read(tmp_path, version, codec, dictionary):
    probs, labels = probabilities()
    cells = pa.FixedSizeListArray.from_arrays(pa.array(probs.astype(np.float32).ravel()), N_CLASSES)
    options = {"data_page_version": version, "compression": codec, "use_dictionary": dictionary}
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"probs": cells, "label": labels}), path, row_group_size=25, **options)
    p = read_predictions(path)
    np.testing.assert_allclose(p.probs, probs, atol=1e-6)
    np.testing.assert_array_equal(p.labels, labels)


def test_single_precision_is_widened_before_anything_is_summed(tmp_path):
    third = np.float32(1 / 3)
    table = pl.DataFrame({"label": [0], "p_0": [third], "p_1": [third], "p_2": [third]}).cast(
        {f"p_{j}": pl.Float32 for j in range(3)}
    )
    table.write_parquet(tmp_path / "a.parquet")
    with pytest.warns(match="fewer rows"):
        p = read_predictions(tmp_path / "a.parquet")
    assert p.probs.dtype == np.float64
    assert p.probs.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("name", ["half.parquet", "half.npz"])
def test_half_precision_keeps_its_wider_tolerance(tmp_path, name):
    probs = np.array([[0.3, 0.69], [0.4, 0.6]], dtype=np.float16)  # The first row sums to 0.99.
    if name.endswith("npz"):
        np.savez(tmp_path / name, probs=probs, labels=[0, 1])
    else:
        pl.DataFrame({"label": [0, 1], "p_0": probs[:, 0], "p_1": probs[:, 1]}).write_parquet(tmp_path / name)
    assert read_predictions(tmp_path / name).probs.sum(axis=1).tolist() == [1, 1]


def test_text_is_read_block_by_block_with_rows_and_lines_intact(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "BLOCK_BYTES", 64)  # Less than a row, so that rows straddle blocks.
    WRITERS["commas.csv"](tmp_path / "a.csv")
    np.testing.assert_allclose(read_predictions(tmp_path / "a.csv").probs, probabilities()[0], atol=1e-15)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    lines[100] = lines[100].replace(lines[100].split(",")[-1], "oops")
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"line 100, column 'proba_2': 'oops' is not a number"):
        read_predictions(tmp_path / "a.csv")


def test_columnar_files_are_converted_batch_by_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "BATCH_ROWS", 7)
    for name in ("table.parquet", "file.arrow", "lists.arrow"):
        WRITERS[name](tmp_path / name)
        np.testing.assert_allclose(read_predictions(tmp_path / name).probs, probabilities()[0], atol=1e-15)


def test_single_precision_is_converted_once_and_batches_of_many_columns_are_short(tmp_path, monkeypatch):
    probs, labels = probabilities()
    single = probs.astype(np.float32)
    frame = pl.DataFrame({f"proba_{j}": column for j, column in enumerate(single.T)} | {"y": labels})
    frame.write_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(limits, "BATCH_CELLS", 3 * frame.width)  # Three rows at a time.
    with opening.open_source(tmp_path / "a.parquet") as source:
        found = source.read({"probs": [f"proba_{j}" for j in range(probs.shape[1])]}).numbers["probs"]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, single)
    np.testing.assert_array_equal(
        read_predictions(tmp_path / "a.parquet").probs, Predictions(single, labels).probs, strict=True
    )


MEASURE = """
import sys
from calibrant.io import limits, opening
from calibrant.io.request import Request
limits.BLOCK_BYTES = 2**20
def load(path):
    with opening.open_source(path) as source:
        columns = source.choose(Request())
        return source.read({"probs": columns.probs}, columns.label).numbers["probs"].nbytes
def peak():  # Not ru_maxrss: a child inherits that from its parent.
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
load(sys.argv[1])
before = peak()
size = load(sys.argv[2])
print(peak() - before, size // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_large_csv_needs_little_more_memory_than_its_matrix(tmp_path):
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    row = b",".join([b"1", b"0.12345678901234567"] * 4) + b"," + b"unneeded " * 30 + b"\n"
    header = b"label,p_0,a,p_1,b,p_2,c,p_3,text\n"
    small.write_bytes(header + b" " + row * 1000)  # The space makes polars read it, whose import is no part of this.
    with large.open("wb") as file:
        file.write(header)
        for _ in range(100):
            file.write(row * 2500)
    out = subprocess.run(
        [sys.executable, "-c", MEASURE, small, large], capture_output=True, text=True, check=True
    ).stdout
    grown, matrix = map(int, out.split())
    assert matrix == 250_000 * 4 * 8 // 1024
    assert grown < matrix + large.stat().st_size / 1024 / 3


def test_only_the_needed_columns_of_a_table_are_looked_at(tmp_path):
    path = write(tmp_path, "id,label,proba_0,proba_1,free text\nx,0,.8,.2,\ny,1,.4,.6,1e400\n")
    assert read_predictions(path).labels.tolist() == [0, 1]


def test_rows_are_renormalised_only_when_asked_for(tmp_path):
    path = write(tmp_path, "y,p_0,p_1\n0,1,3\n".replace("1,3", ".1,.3"))
    with pytest.raises(InputError, match=r"line 2 sums to 0.4"):
        read_predictions(path)
    assert read_predictions(path, renormalise=True).positive.tolist() == [pytest.approx(0.75)]


@pytest.mark.parametrize("keys", [("probs", "labels"), ("predictions", "ground_truth"), ("y_prob", "y_true")])
def test_arrays_are_found_by_their_usual_names(tmp_path, keys):
    probs, labels = probabilities()
    np.savez(tmp_path / "a.npz", **{keys[0]: probs.astype(">f4"), keys[1]: labels, "w": np.arange(N_ROWS)})
    p = read_predictions(tmp_path / "a.npz", weight="w")
    np.testing.assert_allclose(p.probs, probs, atol=1e-6)
    np.testing.assert_array_equal(p.weights, np.arange(N_ROWS))
    with pytest.raises(InputError, match=rf"Did you mean '{keys[1]}'"):
        read_predictions(tmp_path / "a.npz", label=keys[1] + "x")


def test_plain_arrays_need_a_file_of_labels(tmp_path, monkeypatch):
    probs, labels = probabilities()
    monkeypatch.chdir(tmp_path)
    np.save("probs.npy", np.asfortranarray(probs))
    np.save("labels.npy", np.array(["a", "b", "c"])[labels])
    p = read_predictions("probs.npy", label="labels.npy", classes=["a", "b", "c"])
    np.testing.assert_array_equal(p.labels, labels)
    np.testing.assert_allclose(p.probs, probs, atol=1e-15)
    with pytest.raises(InputError, match=r"label='labels.npy'"):
        read_predictions("probs.npy")
    with pytest.raises(FileNotFoundError, match=r"missing.npy does not exist"):
        read_predictions("probs.npy", label="missing.npy")


def test_plain_arrays_without_labels_need_no_file_of_them(tmp_path):
    probs, _ = probabilities()
    np.save(tmp_path / "probs.npy", probs)
    np.testing.assert_allclose(read_unlabelled(tmp_path / "probs.npy", [0, 1, 2]).probs, probs, atol=1e-15)
    with pytest.raises(InputError, match=r"^\S+probs\.npy: 2 classes are needed, .* but there are 3"):
        read_unlabelled(tmp_path / "probs.npy", [0, 1])


@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_fields_with_names_of_any_language_are_read(tmp_path):
    table = np.zeros(3, dtype=[("label", "<i8"), ("p_漢字", "<f8"), ("p_é", "<f8")])
    table["p_漢字"] = 1
    np.save(tmp_path / "a.npy", table)  # In version 3 of the format.
    assert column_names(tmp_path / "a.npy") == ["label", "p_漢字", "p_é"]
    assert read_column(tmp_path / "a.npy", "p_漢字").tolist() == [1, 1, 1]


def test_single_columns_keep_their_type_and_missing_values(tmp_path):
    path = write(tmp_path, "age,sex,share,member,note\n31,m,.5,true,\n45,f,1e-3,False,x\n")
    assert read_column(path, "age").tolist() == [31, 45]
    assert read_column(path, "sex").tolist() == ["m", "f"]
    assert read_column(path, "share").tolist() == [0.5, 0.001]
    assert read_column(path, "member").tolist() == [True, False]
    assert read_column(path, "note").tolist() == [None, "x"]
    with pytest.raises(InputError, match=r"no column 'agee'. Did you mean 'age'"):
        read_column(path, "agee")


def test_blank_lines_marks_and_both_line_ends_do_not_matter(tmp_path):
    text = f"label , proba_0,proba_1\n{ROWS}"
    expected = read_predictions(write(tmp_path, text)).probs.tolist()
    for variant in (text.replace("\n", "\r\n"), "\ufeff" + text, "\n\n" + text.replace("\n", "\n\n"), text.rstrip()):
        assert read_predictions(write(tmp_path, variant)).probs.tolist() == expected
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert read_predictions(tmp_path / "b.csv.gz").probs.tolist() == expected


def test_polars_is_needed_for_tables_only(tmp_path, monkeypatch):
    WRITERS["commas.csv"](tmp_path / "a.csv")
    WRITERS["plain.npz"](tmp_path / "a.npz")
    monkeypatch.setitem(sys.modules, "polars", None)  # Importing it fails.
    assert read_predictions(tmp_path / "a.npz").n_samples == N_ROWS
    with pytest.raises(ImportError, match=r"pip install \"calibrant\[cli\]\""):
        read_predictions(tmp_path / "a.csv")


def test_importing_the_package_does_not_import_polars():
    code = "import sys, calibrant.io; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "text, expected",
    [
        ("plain é 漢字 😀", "plain é 漢字 😀"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[0m\x00", r"\x1b[0m\x00"),
        ("\u202e\u200b\u2028\ufeff", r"\u202e\u200b\u2028\ufeff"),
        (os.fsdecode(b"\xff"), r"\xff"),
        (b"bytes", "bytes"),
        *[(text, text) for text in ("👩\u200d🔬", "\u0645\u06cc\u200c\u062e", "東\u3000京")],
        ("a\xa0b\u2003\ue000", r"a\xa0b\u2003\ue000"),
    ],
)
def test_printable_escapes_what_disturbs_and_nothing_else(text, expected):
    assert printable(text) == expected


def test_printable_cuts_what_is_too_long():
    assert printable("abcdef", limit=4) == "abc…"
    assert printable("abcd", limit=4) == "abcd"
