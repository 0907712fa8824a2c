"""Small files of every format, for the tests of reading."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant import InputError
from calibrant.io import printable, read_predictions

N_ROWS, N_CLASSES = 60, 3


def probabilities(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of three classes and labels."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(N_CLASSES), N_ROWS), rng.integers(0, N_CLASSES, N_ROWS)


def frame(seed: int = 0) -> pl.DataFrame:
    """Return them as a table, with a column of text that contains separators, quotes and line ends."""
    probs, labels = probabilities(seed)
    notes = [f'row {i}, "quoted"\nand broken' for i in range(N_ROWS)]
    return pl.DataFrame({"note": notes, "label": labels, **{f"proba_{j}": probs[:, j] for j in range(N_CLASSES)}})


def nested(dtype: pl.DataType) -> pl.DataFrame:
    """Return them as a table with one column of lists or of fixed-size arrays."""
    probs, labels = probabilities()
    return pl.DataFrame({"label": labels, "probs": probs}, schema_overrides={"probs": dtype})


def _structured(path: Path) -> None:
    probs, labels = probabilities()
    values = np.zeros(N_ROWS, dtype=[("label", "<i4"), ("p_0", "<f8"), ("p_1", ">f8"), ("p_2", "<f8")])
    values["label"] = labels
    for j in range(N_CLASSES):
        values[f"p_{j}"] = probs[:, j]
    np.save(path, values)


def _npz(path: Path, save: Callable = np.savez) -> None:
    probs, labels = probabilities()
    save(path, probs=probs, labels=labels)


WRITERS: dict[str, Callable[[Path], object]] = {
    "commas.csv": lambda path: frame().write_csv(path),
    "tabs.tsv": lambda path: frame().write_csv(path, separator="\t"),
    "semicolons.csv": lambda path: frame().write_csv(path, separator=";"),
    "no-extension": lambda path: frame().write_csv(path, separator="|"),
    "zipped.csv.gz": lambda path: path.write_bytes(gzip.compress(frame().write_csv().encode())),
    "table.parquet": lambda path: frame().write_parquet(path),
    "file.arrow": lambda path: frame().write_ipc(path),
    "compressed.feather": lambda path: frame().write_ipc(path, compression="zstd"),
    "stream.arrow": lambda path: frame().write_ipc_stream(path),
    "arrays.parquet": lambda path: nested(pl.Array(pl.Float64, N_CLASSES)).write_parquet(path),
    "lists.parquet": lambda path: nested(pl.List(pl.Float64)).write_parquet(path),
    "lists.arrow": lambda path: nested(pl.List(pl.Float64)).write_ipc_stream(path),
    "plain.npz": _npz,
    "compressed.npz": lambda path: _npz(path, np.savez_compressed),
    "structured.npy": _structured,
}


def failure(path, content=None, error=InputError, **options):
    """Write a file, read it, and return the one line that says what is wrong with it."""
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(error) as caught:
        read_predictions(path, **options)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(printable(path))
    return message.removeprefix(printable(path))
