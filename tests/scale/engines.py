"""Dask and Spark for real; `make engines` runs this, which `make test` does not: Spark needs Java."""

import os
import signal
import threading
import time
from pathlib import Path

import dask
import numpy as np
import polars as pl
import pytest
from distributed import Client

from calibrant import InputError
from calibrant.scale import Reading, files_of, fit_passes, sketch_dask, sketch_files, sketch_frame, sketch_spark
from calibrant.scale.dask_engine import LOST, local_cluster
from calibrant.scale.spark_engine import merge_rows, partition_sketch, session_of
from scale_cases import classes, smooth

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve Parquet files of 200 000 rows."""
    folder = tmp_path_factory.mktemp("logs")
    for i in range(12):
        p, y = smooth(200_000, np.random.default_rng(i))
        pl.DataFrame({"p": p.astype(np.float32), "y": y.astype(np.int8)}).write_parquet(
            folder / f"part-{i:02d}.parquet"
        )
    return folder


@pytest.fixture(scope="module")
def case(folder):
    files = files_of([folder])
    reading = Reading.of(files[0])
    return files, reading, sketch_files(files, reading).sketch.to_bytes()


@pytest.fixture(scope="module")
def spark():
    session = session_of("local[2,3]")
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def workers(n):
    cluster = local_cluster(n_workers=n)
    return cluster, Client(cluster, set_as_default=False)


@pytest.mark.parametrize("n", [1, 2])
def test_dask_gives_the_bytes_of_the_local_engine(case, n):
    files, reading, expected = case
    cluster, client = workers(n)
    with cluster, client:
        assert sketch_dask(files, reading, client=client).sketch.to_bytes() == expected


class Slow(Reading):
    """Takes a while for each file, so that a worker can be killed meanwhile."""

    def sketch(self, path):
        time.sleep(0.4)
        return super().sketch(path)


class Deadly(Reading):
    """One file kills the process that reads it."""

    def sketch(self, path):
        if path.endswith("part-07.parquet"):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().sketch(path)


def like(kind, reading):
    return kind(**vars(reading))


def test_a_dask_worker_that_is_killed_changes_nothing(case):
    files, reading, expected = case
    cluster, client = workers(2)
    with cluster, client:
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(1.0, os.kill, (victim, signal.SIGKILL))
        killer.start()
        assert sketch_dask(files, like(Slow, reading), client=client).sketch.to_bytes() == expected
        killer.join()
        assert victim not in client.run(os.getpid).values()


def test_a_file_that_kills_dask_workers_is_named(case):
    files, reading, _ = case
    cluster, client = workers(2)
    started = time.monotonic()
    # Files that wait for the worker are suspected by Dask as well. The second message is for workers that it gives up.
    named = r"part-07\.parquet(: every worker that read it died|[^:]*: \d+ workers died)"
    with cluster, client, pytest.raises(InputError, match=named):
        sketch_dask(files, like(Deadly, reading), client=client)
    assert time.monotonic() - started < 60


def test_a_file_that_kills_dask_workers_for_good_is_named(case):
    """Dask gives up workers that are not back in time: then the run must end, which waited for ever."""
    files, reading, _ = case
    started = time.monotonic()
    with dask.config.set({LOST: "100ms"}):
        cluster, client = workers(2)
        expected = r"part-07\.parquet[^:]*: \d+ workers died when they read it and none has come back for 3 seconds"
        with cluster, client, pytest.raises(InputError, match=expected):
            sketch_dask(files, like(Deadly, reading), client=client, patience=3)
    assert time.monotonic() - started < 60


def test_own_dask_workers_always_come_back(case, monkeypatch):
    files, reading, _ = case
    monkeypatch.setitem(dask.config.config["distributed"]["deploy"], "lost-worker-timeout", "100ms")
    with pytest.raises(InputError, match=r"part-07\.parquet: every worker that read it died"):
        sketch_dask(files, like(Deadly, reading))


def test_a_cluster_without_workers_is_refused(case):
    files, reading, _ = case
    cluster, client = workers(0)
    with cluster, client, pytest.raises(InputError, match=r"has had no worker for 0\.5 seconds\. Start some"):
        sketch_dask(files, reading, client=client, patience=0.05)


def test_a_damaged_file_is_named_by_dask(case, tmp_path):
    files, reading, _ = case
    broken = damaged(files[0], tmp_path)
    cluster, client = workers(1)
    with cluster, client:
        with pytest.raises(InputError, match=r"broken\.parquet"):
            sketch_dask([*files[:2], broken], reading, client=client)
        found = sketch_dask([*files[:2], broken], reading, client=client, skip_bad=True)
    assert ([*found.bad], found.sketch.n_samples) == ([broken], 400_000)


def damaged(file, folder):
    data = bytearray(Path(file).read_bytes())
    data[20:2000] = b"\xff" * 1980
    path = folder / "broken.parquet"
    path.write_bytes(bytes(data))
    return str(path)


def test_spark_gives_the_bytes_of_the_local_engine(case, spark):
    files, reading, expected = case
    assert sketch_spark(files, reading, session=spark).sketch.to_bytes() == expected


def test_a_spark_task_that_fails_once_changes_nothing(case, spark, tmp_path):
    files, reading, expected = case
    flag, run = tmp_path / "failed", partition_sketch(reading)

    def failing(batches):
        for count, batch in enumerate(run(batches)):
            if not flag.exists():
                flag.touch()
                raise RuntimeError(f"batch {count} fails once")
            yield batch

    frame = spark.read.parquet(*files).select("y", "p").mapInArrow(failing, "sketch binary")
    assert merge_rows(frame, reading).to_bytes() == expected
    assert flag.exists()


def test_a_damaged_file_is_named_by_spark(case, spark, tmp_path):
    files, reading, _ = case
    broken = damaged(files[0], tmp_path)
    with pytest.raises(InputError, match=r"broken\.parquet: Spark cannot read it"):
        sketch_spark([*files[:2], broken], reading, session=spark)
    found = sketch_spark([*files[:2], broken], reading, session=spark, skip_bad=True)
    assert ([*found.bad], found.sketch.n_samples) == ([broken], 400_000)


def test_several_classes_and_missing_values_on_spark(spark, tmp_path):
    p, y = classes(3000, 4, np.random.default_rng(0))
    frame = pl.DataFrame({f"p_{c}": p[:, c] for c in range(4)} | {"y": y})
    frame = frame.with_columns(p_1=pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise(pl.col("p_1")))
    frame.write_parquet(tmp_path / "some.parquet")
    file = str(tmp_path / "some.parquet")
    reading = Reading.of(file, skip_bad=True)
    expected = sketch_files([file], reading).sketch
    assert expected.counters.missing == 1
    assert sketch_frame(spark.read.parquet(file), reading).to_bytes() == expected.to_bytes()


@pytest.fixture(scope="module")
def grouped_folder(tmp_path_factory):
    """Four Parquet files of 20 000 rows of three classes, with weights and groups."""
    folder, rng = tmp_path_factory.mktemp("groups"), np.random.default_rng(0)
    for i in range(4):
        p, y = classes(20_000, 3, rng)
        columns = {f"p_{c}": p[:, c] for c in range(3)} | {"y": y, "w": rng.uniform(0.5, 2, len(y))}
        regions = np.array(["north", "south", "east"])[rng.integers(0, 3, len(y))]
        pl.DataFrame(columns | {"region": regions}).write_parquet(folder / f"part-{i}.parquet")
    return files_of([folder])


@pytest.mark.parametrize(
    "options",
    [
        {"weight": "w"},
        {"by": "region"},
        {"features": 16},
        {"by": "region", "weight": "w"},
        {"features": 16, "weight": "w"},
    ],
)
def test_weights_groups_and_waves_have_the_same_bytes_everywhere(grouped_folder, spark, options):
    files, reading = grouped_folder, Reading.of(grouped_folder[0], label="y", probs=["p_*"], **options)
    expected = sketch_files(files, reading).sketch.to_bytes()
    assert sketch_spark(files, reading, session=spark).sketch.to_bytes() == expected
    cluster, client = workers(2)
    with cluster, client:
        assert sketch_dask(files, reading, client=client).sketch.to_bytes() == expected


def test_fits_by_passes_are_the_same_everywhere(grouped_folder, spark):
    files, reading = grouped_folder, Reading.of(grouped_folder[0], label="y", probs=["p_*"])
    expected = fit_passes(lambda one: sketch_files(files, one), reading, "vs").calibrator
    cluster, client = workers(2)
    with cluster, client:
        found = [
            fit_passes(lambda one: sketch_spark(files, one, session=spark), reading, "vs").calibrator,
            fit_passes(lambda one: sketch_dask(files, one, client=client), reading, "vs").calibrator,
        ]
    for one in found:
        np.testing.assert_allclose(one.coef_, expected.coef_, rtol=1e-9)
        np.testing.assert_allclose(one.intercept_, expected.intercept_, atol=1e-9)
