"""Containers and types, cases 54 to 69: whatever holds the numbers, the predictions are those of a float64 array."""

import subprocess
import sys
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from calibrant import Predictions
from calibrant.metrics import METRICS
from naming import each

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), 30)
LABELS = RNG.integers(0, 3, 30)
NAMES = np.array(["ant", "bee", "cow"])
BY_COLUMN = dict(zip(NAMES.tolist(), PROBS.T, strict=True))
REFERENCE = Predictions(PROBS, LABELS)
GRAD = torch.tensor(PROBS, requires_grad=True)


class Subclass(np.ndarray):
    """An array of a class of its own."""


def reversed_strides():
    return np.ascontiguousarray(PROBS[::-1, ::-1])[::-1, ::-1]


def read_only():
    array = PROBS.copy()
    array.setflags(write=False)
    return array


EXACT = {
    "59-fortran": lambda: np.asfortranarray(PROBS),
    "59-negative-strides": reversed_strides,
    "59-not-contiguous": lambda: np.repeat(PROBS, 2, axis=0)[::2],
    "59-big-endian": lambda: PROBS.astype(">f8"),
    "60-read-only": read_only,
    "57-longdouble": lambda: PROBS.astype(np.longdouble),
    "58-objects": lambda: PROBS.astype(object),
    "58-decimals": lambda: [[Decimal(v) for v in row] for row in PROBS.tolist()],
    "58-fractions": lambda: [[Fraction(v) for v in row] for row in PROBS.tolist()],
    "61-nothing-masked": lambda: np.ma.array(PROBS, mask=False),
    "66-lists": PROBS.tolist,
    "66-tuples-of-arrays": lambda: tuple(PROBS),
    "66-deque": lambda: deque(PROBS),
    "66-polars": lambda: pl.DataFrame(BY_COLUMN),
    "66-polars-lazy": lambda: pl.LazyFrame(BY_COLUMN),
    "66-polars-list": lambda: pl.Series(PROBS.tolist()),
    "66-polars-array": lambda: pl.Series(PROBS),
    "66-polars-list-column": lambda: pl.DataFrame({"p": PROBS.tolist()}),
    "66-polars-array-column": lambda: pl.DataFrame({"p": PROBS}),
    "66-pyarrow": lambda: pa.table(BY_COLUMN),
    "66-pyarrow-batch": lambda: pa.RecordBatch.from_pydict(BY_COLUMN),
    "66-pyarrow-lists": lambda: pa.array(PROBS.tolist()),
    "66-pyarrow-fixed-lists": lambda: pa.array(PROBS.tolist(), pa.list_(pa.float64(), 3)),
    "66-pyarrow-chunked-lists": lambda: pa.chunked_array([PROBS[:10].tolist(), PROBS[10:].tolist()]),
    "66-pandas": lambda: pd.DataFrame(BY_COLUMN),
    "66-pandas-nullable": lambda: pd.DataFrame(BY_COLUMN).convert_dtypes(),
    "66-pandas-pyarrow": lambda: pd.DataFrame(BY_COLUMN).convert_dtypes(dtype_backend="pyarrow"),
    "66-pandas-objects": lambda: pd.DataFrame(BY_COLUMN).astype(object),
    "66-pandas-lists": lambda: pd.Series(PROBS.tolist()),
    "66-pandas-arrays": lambda: pd.Series(list(PROBS)),
    "64-multi-index-columns": lambda: pd.DataFrame(PROBS, columns=pd.MultiIndex.from_product([["p"], NAMES])),
    "67-torch": lambda: torch.tensor(PROBS),
    "67-requires-grad": lambda: GRAD,
    "67-not-a-leaf": lambda: GRAD * 1.0,
    "67-list-of-tensors": lambda: list(torch.tensor(PROBS)),
    "69-subclass": lambda: PROBS.view(Subclass),
}


@each("build", EXACT)
def test_containers_make_no_difference_to_the_last_bit(build):
    p = Predictions(build(), LABELS)
    np.testing.assert_array_equal(p.probs, REFERENCE.probs)
    assert type(p.probs) is np.ndarray
    assert p.probs.dtype == np.float64
    assert p.probs.flags.c_contiguous
    assert not np.shares_memory(p.probs, PROBS)


def test_67_gradients_are_untouched():
    assert GRAD.requires_grad
    assert GRAD.grad is None
    (GRAD * 2).sum().backward()
    assert torch.all(GRAD.grad == 2)
    GRAD.grad = None


def test_60_memory_mapped_files_are_read_and_never_written(tmp_path):
    np.save(tmp_path / "p.npy", PROBS)
    before = (tmp_path / "p.npy").read_bytes()
    p = Predictions(np.load(tmp_path / "p.npy", mmap_mode="r+"), LABELS)
    np.testing.assert_array_equal(p.probs, REFERENCE.probs)
    assert (tmp_path / "p.npy").read_bytes() == before


def test_69_a_broadcast_row_stands_for_every_row():
    p = Predictions(np.broadcast_to([0.2, 0.3, 0.5], (30, 3)), LABELS)
    np.testing.assert_array_equal(p.probs, np.tile([0.2, 0.3, 0.5], (30, 1)))


ROUGH = {
    "54-float32": (lambda: PROBS.astype(np.float32), 1e-6),
    "54-torch-float32": (lambda: torch.tensor(PROBS).float(), 1e-6),
    "55-float16": (lambda: PROBS.astype(np.float16), 1e-3),
    "55-torch-float16": (lambda: torch.tensor(PROBS).half(), 1e-3),
    "55-bfloat16": (lambda: torch.tensor(PROBS).bfloat16(), 1e-2),
    "55-list-of-bfloat16": (lambda: list(torch.tensor(PROBS).bfloat16()), 1e-2),
    "55-pyarrow-float16": (lambda: pa.table({k: v.astype(np.float16) for k, v in BY_COLUMN.items()}), 1e-3),
}


@each("build, tolerance", ROUGH)
def test_less_precise_numbers_are_renormalised_in_float64(build, tolerance):
    p = Predictions(build(), LABELS)
    np.testing.assert_allclose(p.probs, REFERENCE.probs, atol=tolerance)
    np.testing.assert_allclose(p.probs.sum(axis=1), 1, rtol=1e-15)


@each("metric", METRICS)
def test_54_metrics_of_float32_equal_those_of_float64(metric):
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), 200)
    labels = rng.integers(0, 3, 200)
    single = metric(Predictions(probs.astype(np.float32), labels))
    assert single == pytest.approx(metric(Predictions(probs, labels)), abs=1e-5)


def test_55_sums_of_many_rows_do_not_stop_at_2048():
    p = Predictions(np.full(5000, 0.25, np.float16), np.arange(5000) % 4 == 0)
    assert p.weights.sum() == 5000
    assert METRICS["ece"](p) == 0


NAMED = np.array([1, 0, 2, 1])
FOUR = {name: PROBS[:4, j] for j, name in enumerate(NAMES.tolist())}
LABEL_CONTAINERS = {
    "31-list": NAMES[NAMED].tolist,
    "31-array": lambda: NAMES[NAMED],
    "31-objects": lambda: NAMES[NAMED].astype(object),
    "31-string-dtype": lambda: NAMES[NAMED].astype(np.dtypes.StringDType()),
    "66-polars-string": lambda: pl.Series(NAMES[NAMED]),
    "66-polars-categorical": lambda: pl.Series(NAMES[NAMED], dtype=pl.Categorical),
    "66-polars-enum": lambda: pl.Series(NAMES[NAMED], dtype=pl.Enum(NAMES[::-1])),
    "66-polars-column": lambda: pl.DataFrame({"y": NAMES[NAMED]}),
    "66-pyarrow-string": lambda: pa.array(NAMES[NAMED]),
    "66-pyarrow-dictionary": lambda: pa.chunked_array([pa.array(NAMES[NAMED]).dictionary_encode()]),
    "65-pandas-object": lambda: pd.Series(NAMES[NAMED], dtype=object),
    "65-pandas-string": lambda: pd.Series(NAMES[NAMED], dtype="string"),
    "65-pandas-pyarrow-string": lambda: pd.Series(NAMES[NAMED], dtype="string[pyarrow]"),
    "37-pandas-categorical": lambda: pd.Series(pd.Categorical(NAMES[NAMED], categories=NAMES[::-1])),
    "37-bare-categorical": lambda: pd.Categorical(NAMES[NAMED], categories=NAMES[::-1]),
    "66-pandas-index": lambda: pd.Index(NAMES[NAMED]),
    "65-pandas-nullable-integers": lambda: pd.Series(NAMED, dtype="Int64"),
    "65-pandas-pyarrow-integers": lambda: pd.Series(NAMED, dtype="int64[pyarrow]"),
    "66-polars-integers": lambda: pl.Series(NAMED, dtype=pl.UInt8),
    "66-pyarrow-integers": lambda: pa.chunked_array([NAMED]),
    "67-torch-integers": lambda: torch.tensor(NAMED, dtype=torch.int16),
    "67-list-of-scalars": lambda: list(torch.tensor(NAMED)),
    "58-decimal-labels": lambda: [Decimal(v) for v in NAMED.tolist()],
}


@each("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@each("build", LABEL_CONTAINERS)
def test_labels_in_any_container_are_matched_with_column_names(frame, build):
    p = Predictions(frame(FOUR), build())
    assert p.labels.tolist() == NAMED.tolist()
    assert p.classes == tuple(NAMES.tolist())


BOOLEANS = {
    "32-list": lambda: [True, False],
    "65-pandas-boolean": lambda: pd.Series([True, False], dtype="boolean"),
    "66-polars-boolean": lambda: pl.Series([True, False]),
    "66-pyarrow-boolean": lambda: pa.array([True, False]),
    "67-torch-bool": lambda: torch.tensor([True, False]),
}


@each("build", BOOLEANS)
def test_boolean_labels_in_any_container(build):
    assert Predictions([0.3, 0.6], build()).labels.tolist() == [1, 0]


def test_no_container_library_is_imported_for_plain_arrays():
    code = "import sys, calibrant, numpy as np; calibrant.Predictions([[0.2, 0.8]], [1]); "
    code += "calibrant.Predictions(np.array([0.3, 0.6]), np.array([0, 1]), weights=(1, 2)); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "calibrant.predictions" in loaded
    assert not {"pandas", "polars", "pyarrow", "torch", "sklearn", "scipy", "narwhals"} & set(loaded)


@pytest.mark.parametrize("name", ["pandas", "polars", "torch"])  # pyarrow itself loads pandas
def test_only_the_library_of_the_container_is_imported(name, monkeypatch):
    container = {"pandas": pd.Series, "polars": pl.Series, "torch": torch.tensor}[name]([0.3, 0.6])
    for other in {"pandas", "polars", "pyarrow", "torch", "sklearn", "scipy"} - {name}:
        monkeypatch.setitem(sys.modules, other, None)  # Whoever imports it fails.
    assert Predictions(container, [0, 1]).positive == pytest.approx([0.3, 0.6])
