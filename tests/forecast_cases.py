"""Small files of forecasts in every format, for the tests of reading."""

import gzip

import numpy as np
import polars as pl
import pytest

from calibrant import InputError
from calibrant.io import printable, read_forecasts

TARGETS = [1.5, -2.0, 30.0]
MEANS = [1.0, -2.5, 28.0]
SDS = [0.5, 1.0, 4.0]
WEIGHTS = [1.0, 0.0, 2.5]
MEMBERS = [[1.0, 2.0, 0.25], [-2.0, -3.0, -1.0], [31.0, 25.0, 30.0]]

NORMAL = {"note": ['a, "b"\nc'] * 3, "y": TARGETS, "mean": MEANS, "sd": SDS, "w": WEIGHTS}
ENSEMBLE = {"y": TARGETS, "w": WEIGHTS, **{f"draw_{j}": [row[j] for row in MEMBERS] for j in range(3)}}


def structured(path, columns):
    numbers = {name: values for name, values in columns.items() if name != "note"}
    table = np.zeros(len(columns["y"]), dtype=[(name, "<f8") for name in numbers])
    for name, values in numbers.items():
        table[name] = values
    np.save(path, table)


def archived(path, columns):
    np.savez(path, **{name: np.array(values) for name, values in columns.items()})


WRITERS = {
    "a.csv": lambda path, columns: pl.DataFrame(columns).write_csv(path),
    "a.tsv": lambda path, columns: pl.DataFrame(columns).write_csv(path, separator="\t"),
    "a.csv.gz": lambda path, columns: path.write_bytes(gzip.compress(pl.DataFrame(columns).write_csv().encode())),
    "a.parquet": lambda path, columns: pl.DataFrame(columns).write_parquet(path),
    "a.arrow": lambda path, columns: pl.DataFrame(columns).write_ipc(path),
    "stream.arrow": lambda path, columns: pl.DataFrame(columns).write_ipc_stream(path),
    "a.npz": archived,
    "a.npy": structured,
}


def write(folder, text, name="data.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def failure(path, content=None, error=InputError, **options):
    """Write a file, read it, and return the one line that says what is wrong with it."""
    if content is not None:
        path.write_text(content, newline="")
    with pytest.raises(error) as caught:
        read_forecasts(path, **options)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(printable(path))
    return message.removeprefix(printable(path))
