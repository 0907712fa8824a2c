"""Sketches of many files, or of a data frame, on a Spark cluster: a sketch per partition, merged at the driver."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.scale.local import Sketched
from calibrant.scale.reading import AnySketch, Reading, Rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame, SparkSession

BATCH_ROWS = 2**18
"""Rows that Spark passes to Python at a time: with its default, 10 000, a run takes half as long again."""

MASTER = "local[*,4]"
"""This machine with all its cores; a task is tried four times. Without the second number, Spark never tries again."""

_FILE = re.compile(r"(?:file|hdfs|s3a?|abfss?|gs|dbfs):/[^\s,;'\"]+")


def sketch_spark(
    files: Sequence[str],
    reading: Reading,
    *,
    master: str | None = None,
    skip_bad: bool = False,
    session: "SparkSession | None" = None,
) -> Sketched:
    """Return the sketch of Parquet files, which Spark reads by itself.

    Parameters
    ----------
    files : sequence of str
        Names that the workers know, such as those of a shared folder, HDFS or an object store.
    reading : Reading
    master : str, optional
        Address of the cluster, such as spark://host:7077; by default this machine.
    skip_bad : bool, default=False
        Whether files that Spark cannot read are left out and named, rather than end the run.
    session : SparkSession, optional
        A session to use instead of a new one.
    """
    spark = session_of(master) if session is None else session
    try:
        left, bad = list(files), dict[str, str]()
        while True:
            try:
                return Sketched(_of_files(spark, left, reading), bad)
            except InputError as error:
                damaged = [file for file in left if str(error).startswith(f"{file}: ")]
                if not skip_bad or not damaged or len(left) == 1:
                    raise
                bad[damaged[0]] = str(error)
                left.remove(damaged[0])
    finally:
        if session is None:
            spark.stop()


def session_of(master: str | None = None) -> "SparkSession":
    """Return a session whose workers run this Python."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ImportError('Spark is not installed: pip install "calibrant[spark]"; it needs Java 17.') from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("calibrant").config("spark.ui.enabled", "false")
    if master is not None or "MASTER" not in os.environ:
        builder = builder.master(master or MASTER)
    return builder.getOrCreate()


def sketch_frame(frame: "DataFrame", reading: Reading) -> AnySketch:
    """Return the sketch of a Spark data frame; a few rows of each partition are in memory at a time.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    reading : Reading
        Its columns are those of the data frame.
    """
    chosen = frame.select(*reading.texts, *reading.numbers)
    return merge_rows(chosen.mapInArrow(partition_sketch(reading), "sketch binary"), reading)


def merge_rows(frame: "DataFrame", reading: Reading) -> AnySketch:
    """Return the sum of the sketches in the rows of a Spark data frame."""
    rows = frame.toLocalIterator()  # One by one: with many classes, each takes megabytes.
    return reading.total(bytes(row[0]) for row in rows)


def partition_sketch(reading: Reading) -> "Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]]":
    """Return the function from the batches of a partition to one row that holds its sketch."""

    def run(batches: "Iterator[RecordBatch]") -> "Iterator[RecordBatch]":
        import pyarrow as pa

        total = reading.empty()
        for batch in batches:
            columns = reading.columns
            scores = [_numbers(batch, name) for name in columns.probs]
            weights = _numbers(batch, columns.weight) if columns.weight else None
            together = scores[0] if len(scores) == 1 else np.column_stack(scores)
            groups = _numbers(batch, reading.by) if reading.by else None
            reading.add(total, Rows(together, _numbers(batch, columns.label), weights, groups))
        yield pa.RecordBatch.from_pydict({"sketch": pa.array([total.to_bytes()], pa.binary())})

    return run


def _numbers(batch: "RecordBatch", name: str) -> NDArray[np.number]:
    return batch.column(name).to_numpy(zero_copy_only=False)


def _of_files(spark: "SparkSession", files: Sequence[str], reading: Reading) -> AnySketch:
    other = [file for file in files if not file.endswith((".parquet", ".pq"))]
    if other:
        raise InputError(
            f"the Spark engine reads Parquet files only, but {other[0]} is not one. Use --engine local or dask."
        )
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH_ROWS))
    # Patterns were expanded before; brackets in names of files are not patterns.
    try:
        return sketch_frame(spark.read.parquet(*(_literal(file) for file in files)), reading)
    except Exception as error:
        file = _named(str(error), files)
        if file is None:
            raise
        raise InputError(f"{file}: Spark cannot read it. Write the file again, or leave it out.") from error


def _literal(file: str) -> str:
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", file if "://" in file else str(Path(file).absolute()))


def _named(message: str, files: Sequence[str]) -> str | None:
    """Return the file that an error of Spark names."""
    places = {str(Path(file).absolute()) if "://" not in file else file: file for file in files}
    for found in _FILE.findall(message):
        path = unquote(urlparse(found).path if found.startswith("file:") else found).rstrip(".)")
        if path in places:
            return places[path]
    return next((file for place, file in places.items() if place in message), None)
