"""Compiled headers of Parquet files: whatever they recognise, the definition in Python finds too."""

import io

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant._core.library import library
from calibrant._core.parquet import chunks_of, unpacked_sizes
from calibrant.io import limits
from oracles import parquet as oracle

pytestmark = pytest.mark.skipif(library() is None, reason="nothing is compiled")

ROWS = 300


def table():
    rng = np.random.default_rng(0)
    names = np.array([f"a long name of a class, number {i}" for i in range(20)])
    return {
        "p": rng.random(ROWS),
        "y": rng.integers(0, 2, ROWS).astype(np.int8),
        "text": names[rng.integers(0, 20, ROWS)],
    }


def by_polars():
    pl.DataFrame(table() | {"rows": [[0.5, 0.5]] * ROWS}).write_parquet(content := io.BytesIO(), row_group_size=100)
    return content.getvalue()


def by_arrow(version):
    options = {"row_group_size": 150, "data_page_size": 300, "write_batch_size": 20, "data_page_version": version}
    parquet.write_table(pa.table(table()), content := io.BytesIO(), **options)
    return content.getvalue()


FILES = {"polars": by_polars, "arrow, 1": lambda: by_arrow("1.0"), "arrow, 2": lambda: by_arrow("2.0")}


def footer_of(content):
    return content[-8 - int.from_bytes(content[-8:-4], "little") : -8]


def reader(content):
    return lambda position, size: content[position : position + size]


def changes(content, start, end):
    """Yield copies with one byte changed, for every byte, and with more bytes changed at random."""
    rng = np.random.default_rng(1)
    for at in range(start, end):
        for byte in {content[at] ^ 1 << rng.integers(8), int(rng.integers(256))} - {content[at]}:
            yield content[:at] + bytes([byte]) + content[at + 1 :]
    for _ in range(200):
        copy = bytearray(content)
        for at in rng.integers(start, end, 3):
            copy[at] = rng.integers(256)
        yield bytes(copy)


@pytest.mark.parametrize("name", FILES)
def test_whole_files_are_recognised(name):
    content = FILES[name]()
    chunks = chunks_of(footer_of(content))
    assert chunks == oracle.chunks_of(footer_of(content))
    assert sum(chunk.values for chunk in chunks if chunk.name == b"p") == ROWS
    sizes = unpacked_sizes(chunks, reader(content))
    for i, (chunk, size) in enumerate(zip(chunks, sizes, strict=True)):
        assert 0 < size < len(content) * limits.MAX_RATIO
        assert unpacked_sizes([chunk], reader(content)) == [size]
        assert oracle.has_possible_pages(content, chunk)
        one_more = [*chunks[:i], chunk._replace(values=chunk.values + 1), *chunks[i + 1 :]]
        assert unpacked_sizes(one_more, reader(content)) is None
        assert unpacked_sizes(chunks[: i + 1], reader(content[: chunk.position + 4])) is None


@pytest.mark.parametrize("name", FILES)
def test_what_is_recognised_in_a_damaged_footer_is_what_the_other_reader_finds(name):
    footer = footer_of(FILES[name]())
    assert all(chunks_of(footer[:end]) is None for end in range(len(footer)))
    recognised = 0
    for damaged in changes(footer, 0, len(footer)):
        found = chunks_of(damaged)
        recognised += found is not None
        assert found is None or found == oracle.chunks_of(damaged)
    assert recognised > 50  # Most bytes are of texts and statistics.


@pytest.mark.parametrize("name", FILES)
def test_pages_that_are_recognised_in_damaged_headers_are_accepted_by_the_other_reader(name):
    content = FILES[name]()
    recognised = refused = 0
    for chunk in chunks_of(footer_of(content))[:3]:
        for damaged in changes(content, chunk.position, chunk.position + 40):
            is_right = unpacked_sizes([chunk], reader(damaged)) is not None
            recognised += is_right
            refused += not is_right
            assert not is_right or oracle.has_possible_pages(damaged, chunk)
    assert min(recognised, refused) > 20


def test_headers_with_long_texts_and_empty_columns_are_read():
    long = pa.table({"text": ["x" * 100_000 + str(i) for i in range(3)]})
    parquet.write_table(long, content := io.BytesIO(), compression="none", data_page_version="2.0")
    chunks = chunks_of(footer_of(content.getvalue()))
    [size] = unpacked_sizes(chunks, reader(content.getvalue()))
    assert size > 300_000
    parquet.write_table(pa.table({"p": pa.array([], pa.float64())}), content := io.BytesIO())
    assert unpacked_sizes(chunks_of(footer_of(content.getvalue())), reader(content.getvalue())) == [0]
