"""Files that are wrong by accident or by intent: one clear line, never a crash, a hang or a wrong number."""

import errno
import gzip
import io
import os
import re
import warnings

import numpy as np
import polars as pl
import pytest

from calibrant import DataWarning, InputError
from calibrant._border.files import OpenFile
from calibrant.io import limits, read_column, read_predictions
from io_cases import WRITERS, failure, nested, probabilities

HEADER = "label,proba_0,proba_1\n"
GOOD = "0,.8,.2\n"
JUNK = bytes(np.random.default_rng(0).integers(0, 256, 500, dtype=np.uint8))


TEXT_TROUBLE = {
    "empty": ("", "is empty"),
    "blank": ("\n\r\n\n", "only blank lines"),
    "header only": (HEADER, "no rows"),
    "binary junk": (JUNK, "unknown binary data although its extension is .csv"),
    "UTF-16": ((HEADER + GOOD).encode("utf-16"), "UTF-16 text. Save it as UTF-8"),
    "UTF-16 without a mark": ((HEADER + GOOD).encode("utf-16-le"), "unknown binary data"),
    "NUL byte": (HEADER + GOOD + "1,.4\0,.6\n", "line 3: there is a NUL byte"),
    "Latin-1": ((HEADER + GOOD).encode() + b"caf\xe9,.4,.6\n", "line 3: byte 0xe9 is not UTF-8 text"),
    "old Mac": ((HEADER + GOOD).replace("\n", "\r"), "line 1: the line ends with a carriage return alone"),
    "decimal comma": (
        (HEADER + GOOD).replace(",", ";") + "1;0,4;0,6\n",
        "line 3, column 'proba_0': '0,4' is not a number. Use a point",
    ),
    "decimal comma between commas": (HEADER + GOOD + "1,0,4,0,6\n", "line 3: the row has 5 fields"),
    "thousands separator": (HEADER + GOOD + "1,1 000,.6\n", "'1 000' is not a number. Write numbers without thousands"),
    "separator missing": ("label proba_0 proba_1\n0 1 0\n", "must be separated by commas"),
    "trailing comma": (HEADER + GOOD + "1,.4,.6,\n", "line 3: the row has 4 fields, but the header names 3 columns"),
    "short row": (HEADER + GOOD + "1,.4\n", "line 3: the row has 2 fields"),
    "short first row": (HEADER + "1,.4\n" + GOOD, "line 2: the row has 2 fields"),
    "too large": (HEADER + GOOD + "1,1e400,.6\n", "line 3, column 'proba_0' is inf"),
    "hexadecimal": (HEADER + GOOD + "1,0x1,.6\n", "line 3, column 'proba_0': '0x1' is not a number"),
    "not a number": (HEADER + GOOD + "1,.4,nan\n", "the first on line 3, column 'proba_1'"),
    "dash": (HEADER + GOOD + "1,.4,-\n", "the first on line 3, column 'proba_1'"),
    "percentage": (HEADER + GOOD + "1,.4,60%\n", "'60%' is not a number. If all of them are percentages"),
    "empty cell": (HEADER + GOOD + "1,,.6\n", "('proba_0' 1), the first on line 3, column 'proba_0'"),
    "empty label": (HEADER + GOOD + " ,.4,.6\n", "('label' 1), the first on line 3, column 'label'"),
    "after blank lines": (HEADER + "\n\n" + GOOD + "\r\n1,,.6\n", "the first on line 6, column 'proba_0'"),
    "after broken cells": (
        'x,label,p_0,p_1\n"a\n\nb",0,.8,.2\nc,1,z,.6\n',
        "line 5, column 'p_0': 'z' is not a number",
    ),
    "duplicated header": ("label,p_0,p_0\n" + GOOD, "line 1: the column 'p_0' occurs twice"),
    "no header, twice the same": ("0,.5,.5\n1,.5,.5\n", "occurs twice in the header. The first line must name"),
    "no header": ("0,.25,.75\n1,.5,.5\n", "The first line must name the columns"),
    "open quote": ("x," + HEADER + 'a,0,.8,.2\n"b,1,.4,.6\nc,1,.4,.6\n', "line 3: a quotation mark on this line"),
    "stray quote": (
        "x," + HEADER + 'a,0,.8,.2\n5",1,.4,.6\n6",1,.4,.6\n',
        "line 3: there is a quotation mark inside a field",
    ),
    "label outside": (HEADER + GOOD + "2,.4,.6\n", "line 3 is 2"),
    "sum": (HEADER + GOOD + "1,.4,.7\n", "line 3 sums to 1.1"),
    "logits": (HEADER + GOOD + "1,-4,.7\n", "logits=True"),
    "JSON by mistake": ('{"label": 0}', "line 1|no column"),
    "Parquet inside": ("PAR1" + HEADER, "has the extension .csv of CSV, but its content is Parquet"),
}


@pytest.mark.parametrize("case", TEXT_TROUBLE)
def test_trouble_in_text_is_told_with_its_place(tmp_path, case):
    content, expected = TEXT_TROUBLE[case]
    message = failure(tmp_path / "data.csv", content)
    assert any(part in message for part in expected.split("|")), message


def test_missing_and_unknown_columns_are_told_with_what_was_found(tmp_path):
    path = tmp_path / "a.csv"
    assert "no column 'lable'. Did you mean 'label'? Columns found: 'label', 'proba_0', 'proba_1'" in failure(
        path, HEADER + GOOD, label="lable"
    )
    assert "no column that matches 'q_*'. Columns found: 'proba_0', 'proba_1'" in failure(path, probs="q_*")
    assert "no column 'proba0'. Did you mean" in failure(path, probs=["proba0", "proba_1"])
    assert "no column 'w'" in failure(path, weight="w")
    assert "Columns found: 'a', 'b'" in failure(path, "a,b\n1,2\n")
    assert "no probability columns" in failure(path, "label,b\n1,2\n")


@pytest.mark.parametrize(
    "name, content, expected",
    [
        ("a.parquet", HEADER.encode() + GOOD.encode(), "extension .parquet of Parquet, but its content is CSV"),
        ("a.npz", b"\x93NUMPY\x01\x00", "extension .npz of NPZ, but its content is NPY"),
        ("a.gz", HEADER.encode() + GOOD.encode(), "extension .gz of gzip-compressed CSV, but its content is CSV"),
        ("a.parquet", JUNK, "unknown binary data although its extension is .parquet"),
        ("a.pkl", b"\x80\x04\x95abc", "a Python pickle, which is never loaded"),
        ("a.sketch", b"calibrant sketch\x03\x00", "a sketch, which has no rows. Name the files that it was made from"),
        ("a.json", b'[{"label": 0}]', "its content is a JSON array"),
        ("a.dat", b"<!DOCTYPE html>", "HTML or XML"),
        ("a.zst", b"\x28\xb5\x2f\xfdabc", "compressed with zstd"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00abc", "cannot be read as gzip-compressed CSV"),
    ],
)
def test_what_the_content_is_and_what_the_name_says_are_both_told(tmp_path, name, content, expected):
    assert expected in failure(tmp_path / name, content)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(limits, "BLOCK_BYTES", 300)
    assert "line 1: the line is longer than 1,000 bytes" in failure(tmp_path / "a.csv", "x" * 5000)
    assert "line 3: the line is longer" in failure(tmp_path / "a.csv", HEADER + GOOD + "1" * 5000)
    endless = "x," + HEADER + '"a,0,.8,.2\n' + "b,0,.8,.2\n" * 500
    assert "line 2: a quotation mark on this line is never closed" in failure(tmp_path / "a.csv", endless)


def test_a_gzip_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "BLOCK_BYTES", 10_000)
    bomb = gzip.compress((HEADER + GOOD).encode() + b"\n" * 600_000)
    monkeypatch.setattr(limits, "MAX_RATIO", 580_000 // len(bomb))
    monkeypatch.setattr(limits, "RATIO_FREE_BYTES", 0)
    assert "like a decompression bomb" in failure(tmp_path / "a.csv.gz", bomb)


def test_blank_lines_without_end_do_not_become_rows(tmp_path, monkeypatch):
    sizes = []
    read = pl.read_csv
    monkeypatch.setattr(pl, "read_csv", lambda text, **options: (sizes.append(len(text)), read(text, **options))[1])
    path = tmp_path / "a.csv"
    path.write_text(HEADER + GOOD + "\n" * 300_000 + "1,.4,.6\n")
    assert read_predictions(path).labels.tolist() == [0, 1]
    assert max(sizes) < 100
    assert "the first on line 300003, column 'proba_1'" in failure(path, path.read_text().replace(".6", "-"))


def test_more_numbers_than_the_limit_are_refused(tmp_path, monkeypatch):
    for name in ("commas.csv", "table.parquet", "file.arrow", "lists.arrow", "arrays.parquet", "plain.npz"):
        WRITERS[name](tmp_path / name)
    np.save(tmp_path / "a.npy", probabilities()[0])
    monkeypatch.setattr(limits, "MAX_BYTES", 1000)  # The matrix has 60 * 3 * 8 = 1440 bytes.
    for path in tmp_path.iterdir():
        assert "GiB" in failure(path)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_folders_and_pipes_are_refused_at_once(tmp_path, make):
    make(tmp_path / "a.csv")
    failure(tmp_path / "a.csv", error=OSError)


def test_devices_loops_and_impossible_names_are_refused(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in ("/dev/zero", tmp_path / "loop", tmp_path / ("x" * 300), tmp_path / "missing.csv", "nul\0.csv"):
        failure(path, error=OSError)


@pytest.mark.parametrize("error", [PermissionError(errno.EACCES, "Permission denied"), OSError(errno.EIO, "I/O error")])
@pytest.mark.parametrize("call", ["open", "read"])
def test_errors_of_the_system_are_told_in_one_line(tmp_path, monkeypatch, error, call):
    (tmp_path / "a.csv").write_text(HEADER + GOOD)

    def fail(*args):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail) if call == "open" else patch.setattr(OpenFile, "check_unchanged", fail)
        assert re.search(r"cannot be (opened|read): ", failure(tmp_path / "a.csv", error=OSError))


def test_a_file_that_changes_meanwhile_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + GOOD * 100 + GOOD.replace("\n", " \n"))  # With a space, it is read by polars.
    monkeypatch.setattr(limits, "BLOCK_BYTES", 200)
    read = pl.read_csv

    def growing(*args, **options):
        with path.open("a") as file:
            file.write(GOOD)
        return read(*args, **options)

    monkeypatch.setattr(pl, "read_csv", growing)
    assert "changed while it was being read" in failure(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_a_file_that_vanishes_meanwhile_is_read_to_its_end(tmp_path, monkeypatch, kind):
    path = tmp_path / f"a.{kind}"
    table = pl.DataFrame({"label": [0, 1], "p": [0.2, 0.9]})
    {"parquet": table.write_parquet, "arrow": table.write_ipc, "csv": table.write_csv}[kind](path)
    real = os.fstat
    monkeypatch.setattr(os, "fstat", lambda handle: (path.unlink(missing_ok=True), real(handle))[1])
    assert read_predictions(path).labels.tolist() == [0, 1]
    assert not path.exists()


HOSTILE_NAMES = [
    "new\nline.csv",
    "<script>.csv",
    "\u202egnp.csv",
    "x" * 251 + ".csv",
    "-rf.csv",
    "\x1b[31mred.csv",
    "*[0].csv",
]


@pytest.mark.parametrize("name", [*HOSTILE_NAMES, os.fsdecode(b"caf\xe9.csv")])
def test_hostile_file_names_are_read_and_shown_harmlessly(tmp_path, name):
    path = tmp_path / name
    path.write_text(HEADER + GOOD)
    assert read_predictions(path).labels.tolist() == [0]
    assert "no rows" in failure(path, HEADER)
    table = path.with_name(name.removesuffix("csv") + "pq")
    nested(pl.Array(pl.Float64, 3)).write_parquet(io_buffer := io.BytesIO())
    table.write_bytes(io_buffer.getvalue())
    assert read_predictions(table).n_samples == 60


def test_hostile_cells_and_columns_are_shown_harmlessly(tmp_path):
    path = tmp_path / "a.csv"
    red = "\x1b[31m\u202e" + "x" * 10_000
    assert r"'\x1b[31m\u202ex" in failure(path, HEADER + f"0,{red},.2\n")
    assert r"'\x1b[31m\u202ex" in failure(path, f"a,{red}\n1,2\n")
    assert r"\x1b[31m" in failure(path, f"y,p_{red},p_b\nq,.5,.5\n")
    with pytest.raises(InputError) as caught:
        read_column(path, red)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", WRITERS)
def test_flipped_bytes_give_one_clear_line_or_a_valid_result(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    refused = []
    for _ in range(60):
        content = bytearray(whole)
        # Half of the flips hit the beginning, where most formats keep what they say of themselves.
        for _ in range(int(rng.integers(1, 4))):
            reach = min(300, len(content)) if rng.random() < 0.5 else len(content)
            content[int(rng.integers(reach))] = int(rng.integers(256))
        path.write_bytes(content[: int(rng.integers(len(content)))] if rng.random() < 0.2 else content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            try:
                assert np.isfinite(read_predictions(path).probs).all()
            except (InputError, OSError) as error:
                refused.append(str(error))
    assert len(refused) > 10
    assert all(message.isprintable() for message in refused)


@pytest.mark.parametrize("content", ["[" * 100_000, '[{"proba_0": 0.2, "label": 1}]'])
def test_105_json_arrays_are_named_and_never_parsed(tmp_path, content):
    assert "its content is a JSON array" in failure(tmp_path / "a.json", content)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_endless_text_is_refused_where_it_would_be_read(tmp_path, kind):
    frame = pl.DataFrame({"label": [0, 1], "p": [0.2, 0.8], "note": ["a", "x" * (limits.MAX_TEXT_BYTES + 1)]})
    path = tmp_path / f"long.{kind}"
    getattr(frame, f"write_{kind}")(path)
    assert read_predictions(path, label="label", probs="p").n_samples == 2
    with pytest.raises(InputError, match="column 'note': the text is 65,537 bytes long, but 65,536 are allowed"):
        read_column(path, "note")


def test_an_endless_number_is_refused_with_its_line(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("label,p\n0,.2\n1," + "9" * 200_000 + "\n")
    with pytest.raises(InputError, match="line 3: a field is longer than 131,072 characters"):
        read_predictions(path, label="label", probs="p")


def test_a_short_row_does_not_make_up_for_a_long_one_after_the_columns_that_are_read(tmp_path):
    content = "label,p,x,z\n0,.2,5\n1,.8,5,6,7\n"  # As many separators as two full rows.
    assert "line 2: the row has 3 fields" in failure(tmp_path / "a.csv", content)
    assert "line 2: the row has 3 fields" in failure(tmp_path / "a.csv", drop_missing=True)


def test_a_blank_line_does_not_make_up_for_a_row_that_is_too_long(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + GOOD + "\n1,.4,.6,0,.5\n")  # As many separators as three full rows.
    with pytest.raises(InputError, match="line 4: the row has 5 fields"):
        read_column(path, "label")
