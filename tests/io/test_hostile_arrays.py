"""Parquet, Arrow, NPZ and NPY files that are damaged or built to harm."""

import io
import os
import struct
import warnings
import zipfile

import numpy as np
import polars as pl
import pytest

from calibrant import InputError
from calibrant._core.library import library
from calibrant.io import limits, read_column, read_predictions
from io_cases import WRITERS, failure, probabilities

PARQUET_TROUBLE = {
    "numbers as text": ({"label": [0], "p": ["x"]}, "column 'p' must hold numbers, but its type is String"),
    "a structure": ({"label": [0], "p": [{"a": 1}]}, "column 'p' must hold numbers, but its type is Struct"),
    "lists of lists": ({"label": [0], "p": [[[0.5]]]}, "column 'p' must hold numbers"),
    "lists of text": ({"label": [0], "p": [["x"]]}, "column 'p' must hold numbers"),
    "labels in lists": ({"label": [[0]], "p": [0.5]}, "column 'label' must hold whole numbers, booleans or names"),
    "missing number": ({"label": [0, 1], "p": [0.5, None]}, "1 of 2 rows ('p' 1), the first on row 1, column 'p'"),
    "missing label": (
        {"label": [0, None], "p": [0.5, 0.5]},
        "1 of 2 rows ('label' 1), the first on row 1, column 'label'",
    ),
    "ragged lists": ({"label": [0, 1], "probs": [[0.5, 0.5], [1.0]]}, "row 1, column 'probs': every cell"),
    "missing in a list": ({"label": [0, 1], "probs": [[0.5, 0.5], [1.0, None]]}, "row 1, column 'probs'. Fill them in"),
    "empty lists": ({"label": [0], "probs": [[]]}, "row 0, column 'probs': every cell|must hold numbers"),
    "no rows": ({"label": [], "p": []}, "no rows"),
    "huge label": ({"label": pl.Series([2**64 - 1], dtype=pl.UInt64), "p": [0.5]}, "conversion from `u64` to `i64`"),
}


@pytest.mark.parametrize("case", PARQUET_TROUBLE)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_trouble_in_columnar_files_is_told_with_its_row(tmp_path, kind, case):
    data, expected = PARQUET_TROUBLE[case]
    table = pl.DataFrame(data)
    path = tmp_path / f"a.{kind}"
    (table.write_parquet if kind == "parquet" else table.write_ipc)(path)
    message = failure(path)
    assert any(part in message for part in expected.split("|")), message


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.endswith(("sv", "no-extension"))])
def test_a_file_cut_off_anywhere_is_refused(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    for size in (1, 9, len(whole) // 3, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        path.write_bytes(whole[:size])
        if name in ("stream.arrow", "lists.arrow") and size > len(whole) - 10:
            continue  # Of a stream only the mark of its end is missing then, which is optional.
        with pytest.raises(InputError):
            read_predictions(path)


def test_weights_in_lists_are_refused(tmp_path):
    pl.DataFrame({"label": [0], "p": [0.5], "w": [[1.0]]}).write_parquet(tmp_path / "a.parquet")
    message = failure(tmp_path / "a.parquet", weight="w")
    assert "column 'w' must hold numbers, but its type is List(Float64)" in message


def lying_parquet(path, find, replace):
    """Write a Parquet file in which the number of values of a page is replaced."""
    pl.DataFrame({"label": [0] * 50, "p": np.linspace(0, 1, 50)}).write_parquet(path, compression="uncompressed")
    content = path.read_bytes()
    assert find in content
    path.write_bytes(content.replace(find, replace))


@pytest.mark.skipif(library() is None, reason="nothing is compiled")
def test_parquet_that_lies_about_its_size_is_refused_before_allocation(tmp_path):
    path = tmp_path / "a.parquet"
    # In a page header, field 1 (the number of values, an i32) of the data page header: 50 as a zigzag number is 100.
    for lie in (b"\x2c\x15\x63", b"\x2c\x15\x66"):  # -50 and 51.
        lying_parquet(path, b"\x2c\x15\x64", lie)
        assert "size of a page is impossible" in failure(path)
    # In the footer, field 5 of a column, an i64: more values than its pages have.
    lying_parquet(path, b"\x16\x64", b"\x16\x66")
    assert "cannot be read as Parquet" in failure(path)
    lying_parquet(path, b"PAR1", b"PAR2")
    path.write_bytes(b"PAR1" + path.read_bytes()[4:])
    assert "cannot be read as Parquet" in failure(path)
    footer = struct.pack("<I", 2**31)
    path.write_bytes(b"PAR1" + b"\0" * 100 + footer + b"PAR1")
    assert "cannot be read as Parquet" in failure(path)
    nested = b"\x1c" * 100_000  # A structure whose first field is a structure, and so on.
    path.write_bytes(b"PAR1" + nested + struct.pack("<I", len(nested)) + b"PAR1")
    assert "cannot be read as Parquet" in failure(path)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_that_lies_about_its_size_is_refused_before_allocation(tmp_path, kind):
    path = tmp_path / "a.arrow"
    table = pl.DataFrame({"label": ["a long text of more than twelve letters"] * 50, "p": np.linspace(0, 1, 50)})
    (table.write_ipc if kind == "file" else table.write_ipc_stream)(path, compression="uncompressed")
    length = struct.pack("<q", 50 * 8)
    content = path.read_bytes()
    assert length in content
    for lie in (2**47, -400, 50 * 8 + len(content)):
        message = failure(path, content.replace(length, struct.pack("<q", lie)))
        assert "metadata is broken" in message
    rows = struct.pack("<qq", 50, 0)  # Of one column: how many values it has, and how many of them are missing.
    assert content.count(rows) == 2
    for lie in (2**47, -1):
        assert "metadata is broken" in failure(path, content.replace(rows, struct.pack("<qq", lie, 0), 1))


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_that_lies_about_an_unpacked_size_is_refused(tmp_path, kind):
    path = tmp_path / "a.arrow"
    table = pl.DataFrame({"label": [0] * 500, "p": np.zeros(500)})
    (table.write_ipc if kind == "file" else table.write_ipc_stream)(path, compression="zstd")
    unpacked, content = struct.pack("<q", 500 * 8), path.read_bytes()  # In front of what is packed; -1 says it is not.
    assert content.count(unpacked) == 2
    for lie in (-2, -(2**47)):
        assert "metadata is broken" in failure(path, content.replace(unpacked, struct.pack("<q", lie), 1))


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_that_unpacks_to_more_than_the_limit_is_refused(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(limits, "MAX_BYTES", 1_000_000)
    path = tmp_path / "a.arrow"
    table = pl.DataFrame({"label": [0], "p": [0.5], "zeros": [[0] * 200_000]})
    (table.write_ipc if kind == "file" else table.write_ipc_stream)(path, compression="zstd")
    assert path.stat().st_size < 10_000
    assert "would unpack to more than" in failure(path)


def archive(path, members, compression=zipfile.ZIP_DEFLATED):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", compression) as file:
        warnings.simplefilter("ignore")  # Of duplicate names, which are meant here.
        for name, content in members:
            file.writestr(name, content)


def npy(values):
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


def test_archives_built_to_harm_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    probs, labels = probabilities()
    good = [("probs.npy", npy(probs)), ("labels.npy", npy(labels))]
    link = zipfile.ZipInfo("link.npy")
    link.external_attr = 0o120777 << 16
    for extra, expected in [
        (("zeros.npy", bytes(2 * 10**6)), "'zeros.npy', which unpacks to more than 1000 times its size"),
        (("../up.npy", b""), "'../up.npy', which points outside the archive"),
        (("/root.npy", b""), "'/root.npy', which points outside the archive"),
        (("labels.npy", npy(labels)), "'labels.npy' twice"),
        ((link, b"/etc/passwd"), "'link.npy', which is a symbolic link"),
    ]:
        archive(path, [*good, extra])
        assert expected in failure(path)
    archive(path, good, zipfile.ZIP_BZIP2)
    assert "compressed in a way that NumPy does not use" in failure(path)
    archive(path, [("[Content_Types].xml", "")])
    assert "Excel workbook" in failure(path)


def test_the_size_in_the_directory_of_an_archive_is_enforced(tmp_path):
    path = tmp_path / "a.npz"
    probs, labels = probabilities()
    member = npy(probs)
    archive(path, [("probs.npy", member), ("labels.npy", npy(labels))])
    content, size = path.read_bytes(), struct.pack("<I", len(member))
    # The directory claims fewer bytes than the member unpacks to: no more are unpacked.
    path.write_bytes(content.replace(size, struct.pack("<I", 200)))
    assert "probs" in failure(path)
    # It claims more, which is only an allowance.
    path.write_bytes(content.replace(size, struct.pack("<I", len(member) + 8)))
    assert read_predictions(path).n_samples == len(labels)


def test_pickled_arrays_are_never_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    bombs = np.array([Bomb(), Bomb()], dtype=object)
    np.savez(tmp_path / "a.npz", probs=[[0.5, 0.5]] * 2, labels=bombs)
    np.save(tmp_path / "a.npy", bombs)
    assert "pickled Python objects" in failure(tmp_path / "a.npz")
    assert "pickled Python objects" in failure(tmp_path / "a.npy", label="labels.npy")
    assert not (tmp_path / "exploded").exists()


NPY_HEADERS = {
    "too many elements": ("'<f8'", "(1000000000000000000,)", "cannot be understood"),
    "more than fits 64 bits": ("'<f8'", "(4611686018427387904, 0)", "cannot be understood"),
    "negative": ("'<f8'", "(-1, -2)", "cannot be understood"),  # NumPy 2.0 infers a single negative length.
    "too many dimensions": ("'<f8'", "(" + "1, " * 9 + ")", "more bytes than an array of shape (1, 1"),
    "a structure in a structure": ("[('a', [('b', '<f8')])]", "(10,)", "must hold numbers, booleans or text"),
    "too few": ("'<f8'", "(2, 2)", "more bytes than an array of shape (2, 2) has"),
    "not numbers": ("'<M8[ns]'", "(10,)", "must hold numbers, booleans or text, but its type is <M8[ns]"),
    "no bytes": ("'<U0'", "(10,)", "more bytes than"),
    "a call": ("__import__('os').abort()", "(10,)", "cannot be understood"),
    "nothing": ("'<f8'", "", "cannot be understood"),
}


@pytest.mark.parametrize("case", NPY_HEADERS)
def test_an_array_header_that_lies_is_refused_before_allocation(tmp_path, case):
    dtype, shape, expected = NPY_HEADERS[case]
    text = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(80)
    assert expected in failure(tmp_path / "a.npy", content, label="labels.npy")


def test_text_in_arrays_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    letters = np.array([0x110000, 65], dtype="<u4").view("<U1")
    archive(path, [("probs.npy", npy(np.full((2, 2), 0.5))), ("labels.npy", npy(letters))])
    assert "text that is damaged" in failure(path, classes=["A", "B"])
    np.savez(path, probs=np.full((2, 2), 0.5), labels=np.array([b"\xff", b"A"]))
    assert "not UTF-8" in failure(path, classes=["A", "B"])


def test_arrays_of_the_wrong_kind_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    probs, labels = probabilities()
    np.savez("a.npz", probs=probs, labels=labels, complex=probs + 1j)
    np.save("probs.npy", probs)
    np.save("labels.npy", labels)
    np.save("fields.npy", np.zeros(2, dtype=[("a", "f8")]))
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    for path, options, expected in [
        ("a.npz", {"probs": "complex"}, "must hold numbers, booleans or text, but its type is <c16"),
        ("a.npz", {"probs": ["probs", "labels"]}, "probs must name one array"),
        ("a.npz", {"label": "probs"}, "one-hot labels must have exactly one 1"),
        ("a.npz", {"probs": "labels"}, "'labels' is used for label= and for probs="),
        ("probs.npy", {"label": "labels.npy", "probs": "x"}, "leave out probs="),
        ("probs.npy", {"label": "labels.npy", "weight": "w"}, "'w' must be the path of an .npy file"),
        ("probs.npy", {"label": "fields.npy"}, "fields.npy must hold one array"),
        ("fields.npy", {}, "no column named label"),
    ]:
        with pytest.raises(InputError) as caught:
            read_predictions(path, **options)
        assert expected in str(caught.value)
    with pytest.raises(InputError, match=r"one entry per row, but has shape \(60, 3\)"):
        read_column("a.npz", "probs")
    assert "version" in failure(tmp_path / "v.npy", b"\x93NUMPY\x09\x00" + bytes(100))
    archive("torch.npz", [("archive/data.pkl", b"")])
    assert "looks like a PyTorch file" in failure(tmp_path / "torch.npz")


def test_104_a_structured_field_of_several_numbers_must_stand_alone(tmp_path):
    data = np.zeros(4, dtype=[("p_0", float, (2, 2)), ("p_1", float), ("label", int)])
    np.save(tmp_path / "nested.npy", data)
    with pytest.raises(InputError, match="must be the only one"):
        read_predictions(tmp_path / "nested.npy", probs="p_*")
