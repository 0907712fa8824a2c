"""Compiled headers of Parquet files: whatever they recognise, the reader in Python finds too."""

import io

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant import InputError
from calibrant._border.files import OpenFile
from calibrant._core.library import library
from calibrant._core.parquet import Chunk, chunks_of, unpacked_sizes
from calibrant.io import limits, parquet_sizes

pytestmark = pytest.mark.skipif(library() is None, reason="nothing is compiled")

ROWS = 300
BROKEN = (IndexError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


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


def chunks_in_python(footer):
    """Return the same by the reader in Python, None if it refuses."""
    try:
        columns = [chunk[3] for group in parquet_sizes._structure(io.BytesIO(footer))[4] for chunk in group[1]]
        return [Chunk(one[3][0], one[5], one.get(11) or one[9]) for one in columns]
    except BROKEN:
        return None


def is_accepted(content, chunk):
    """Whether the reader in Python accepts the pages of a chunk."""
    try:
        parquet_sizes._check_pages(
            OpenFile(io.BytesIO(content), "a", "", len(content), 0), {5: chunk.values, 9: chunk.position}
        )
    except (InputError, *BROKEN):
        return False
    return True


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
    assert chunks == chunks_in_python(footer_of(content))
    assert sum(chunk.values for chunk in chunks if chunk.name == b"p") == ROWS
    sizes = unpacked_sizes(chunks, reader(content))
    for i, (chunk, size) in enumerate(zip(chunks, sizes, strict=True)):
        assert 0 < size < len(content) * limits.MAX_RATIO
        assert unpacked_sizes([chunk], reader(content)) == [size]
        assert is_accepted(content, chunk)
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
        assert found is None or found == chunks_in_python(damaged)
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
            assert not is_right or is_accepted(damaged, chunk)
    assert min(recognised, refused) > 20
