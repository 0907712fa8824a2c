"""Sketches of many rows: speed against polars reading the same columns, memory, clusters, sizes and errors.

    python benchmarks/scale.py [--rows 300000000] [--spark] [--only local] [--folder FOLDER]

Files are generated in a temporary folder, two columns each, and removed in the end; in a folder that is named they are
kept and used again.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from calibrant import Predictions
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import METRICS, SKCE, KdeECE
from calibrant.roc import auc
from calibrant.scale import Reading, Sketch, files_of, sketch_dask, sketch_files, sketch_spark

ROWS_PER_FILE = 1_000_000


def expit(x):
    return 1 / (1 + np.exp(-x))


def write_files(folder, n_files):
    """Write files of a million rows: predictions in single precision, labels of a byte."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(len(list(folder.iterdir())), n_files):
        rng = np.random.default_rng(i)
        x = rng.normal(0, 1.5, ROWS_PER_FILE)
        y = rng.random(ROWS_PER_FILE) < expit(0.9 * x)
        frame = pl.DataFrame({"p": expit(x).astype(np.float32), "y": y.astype(np.int8)})
        frame.write_parquet(folder / f"part-{i:04d}.parquet")


def read_only(files):
    """Read the two columns of every file with polars, in the same batches, and do nothing with them."""
    for file in files:
        for _ in pl.scan_parquet(file).select("y", "p").collect_batches():
            pass


def read_together(files):
    """Read the same by one scan of all files, as somebody would who has no need to say which file is damaged."""
    for _ in pl.scan_parquet(files).select("y", "p").collect_batches():
        pass


def read_whole(files):
    """Read the same into memory, by the call with which polars reads files."""
    pl.read_parquet(files, columns=["y", "p"])


def turns(*runs, times=7):
    """Return the wall and processor times of functions that take turns."""
    found = [[] for _ in runs]
    for _ in range(times):
        for own, run in zip(found, runs, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            own.append((time.perf_counter() - wall, time.process_time() - cpu))
    return [np.array(own) for own in found]


def peak_memory(folder, n_files):
    """Return the largest memory of a process that sketches the first files, in MB."""
    code = (
        "import resource, sys; from calibrant.scale import *;"
        "files = files_of([sys.argv[1]])[:int(sys.argv[2])]; sketch_files(files, Reading.of(files[0]));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    found = subprocess.run(  # noqa: S603 (our own)
        [sys.executable, "-c", code, str(folder), str(n_files)], check=True, capture_output=True, text=True
    )
    return int(found.stdout)


def ratios(files, reading):
    """Print the times to sketch and to read files, and the ratios of their shortest and of their median times."""
    print(f"\nLocal engine, {len(files)} files of a million rows, two columns")
    ways = {
        "sketched": lambda: sketch_files(files, reading),
        "read_parquet": lambda: read_whole(files),
        "file by file": lambda: read_only(files),
        "all in batches": lambda: read_together(files),
    }
    sketched, *others = turns(*ways.values())
    print(f"  {'':14}  M rows/s   shortest: wall  processor   median: wall  processor")
    for name, own in zip(ways, (sketched, *others), strict=True):
        wall, cpu = own.min(axis=0)
        speed = len(files) * ROWS_PER_FILE / wall / 1e6
        middle = np.median(own, axis=0)
        print(f"  {name:14} {speed:9.1f} {wall:14.3f} s {cpu:8.3f} s {middle[0]:12.3f} s {middle[1]:8.3f} s")
    for name, own in zip(list(ways)[1:], others, strict=True):
        least, middle = sketched.min(axis=0) / own.min(axis=0), np.median(sketched, axis=0) / np.median(own, axis=0)
        print(f"  ratio to {name:14} {least[0]:15.2f} {least[1]:10.2f} {middle[0]:14.2f} {middle[1]:10.2f}")


def local(folder, n_files):
    files = files_of([folder])
    reading = Reading.of(files[0])
    # First, because a process begins with the largest memory of the one that started it.
    print("\nLargest memory of a process")
    for count in (1, 10, 100):
        if count <= n_files:
            print(f"  {count * ROWS_PER_FILE:>11,} rows: {peak_memory(folder, count):5d} MB")
    for count in sorted({min(20, n_files), min(100, n_files)}):
        ratios(files[:count], reading)
    start = time.perf_counter()
    size = sum(Path(file).stat().st_size for file in files)
    found = sketch_files(files, reading).sketch
    took = time.perf_counter() - start
    print(f"\n{len(files)} different files, {size / 1e6:,.0f} MB, {found.n_samples:,} rows: {took:.1f} s,")
    print(f"  {found.n_samples / took / 1e6:.1f} M rows/s, {len(found.to_bytes()):,} bytes")
    print(f"  so 1,000,000,000 rows take about {took * 1e9 / found.n_samples:.0f} s")
    return found


def report(name, start, run, same):
    print(f"  {name}: start {start:5.1f} s, run {run:5.1f} s, same bytes: {same}")


def clusters(folder, with_spark):
    from distributed import Client

    from calibrant.scale.dask_engine import local_cluster

    files = files_of([folder])[:20]
    reading = Reading.of(files[0])
    expected = sketch_files(files, reading).sketch.to_bytes()
    print("\nClusters on this machine, 20 files of a million rows")
    for n in (1, 2):
        start = time.perf_counter()
        with (
            local_cluster(n_workers=n) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            ready = time.perf_counter()
            same = sketch_dask(files, reading, client=client).sketch.to_bytes() == expected
            report(f"Dask, {n} workers", ready - start, time.perf_counter() - ready, same)
    if with_spark:
        from calibrant.scale.spark_engine import session_of

        start = time.perf_counter()
        session = session_of("local[2,3]")
        session.sparkContext.setLogLevel("OFF")
        ready = time.perf_counter()
        same = sketch_spark(files, reading, session=session).sketch.to_bytes() == expected
        report("Spark, local[2]", ready - start, time.perf_counter() - ready, same)
        session.stop()


def sizes():
    print("\nSizes and times of one sketch, a million rows of two classes, 200 000 of 10, 5000 of 1000")
    rng = np.random.default_rng(0)
    for k, n in ((2, 1_000_000), (10, 200_000), (1000, 5000)):
        odds = np.exp(rng.normal(0, 2, (n, k)))
        p, y = odds / odds.sum(axis=1, keepdims=True), rng.integers(0, k, n)
        sketch = Sketch(k)
        start = time.process_time()
        sketch.update(p[:, 1] if k == 2 else p, y)
        added = time.process_time() - start
        data = sketch.to_bytes()
        start = time.process_time()
        _ = sketch + sketch
        merged = time.process_time() - start
        start = time.process_time()
        Sketch.from_bytes(data)
        read = time.process_time() - start
        memory = sum(line.records.nbytes for line in sketch._lines) / 1e6  # noqa: SLF001 (only to measure it)
        print(
            f"  K = {k:4d}: {memory:7.1f} MB in memory, {len(data) / 1e6:7.2f} MB in bytes, "
            f"{added / n * 1e9:8.1f} ns a row, merge {merged * 1e3:6.1f} ms, from bytes {read * 1e3:6.1f} ms"
        )


def shapes(n):
    """Return the shapes of predictions that the errors are measured on."""
    rng = np.random.default_rng(0)
    x, rare, sure = rng.normal(0, 1.5, n), rng.normal(-8, 1.5, n), rng.normal(0, 6, n)
    trees = rng.binomial(100, rng.beta(0.5, 0.8, n)) / 100
    return {
        "smooth": (expit(x), rng.random(n) < expit(0.9 * x)),
        "rare": (expit(rare), rng.random(n) < expit(0.9 * rare)),
        "sure": (expit(sure).astype(np.float32), rng.random(n) < expit(sure / 2)),
        "forest": (trees, rng.random(n) < 0.9 * trees + 0.03),
        "half": (expit(x).astype(np.float16).astype(float), rng.random(n) < expit(0.9 * x)),
    }


MEASURED = (
    "accuracy", "nll", "brier", "ece", "ece-equal-mass", "rms-debiased", "smooth-ece", "ecce", "miscalibration",
    "cox-slope", "cox-intercept", "in-the-large",
)  # fmt: skip

GIVEN = {
    "kde-ece, 0.02": KdeECE(bandwidth=0.02),
    "skce, 0.2": SKCE(ExponentialKernel(TotalVariation(), 0.2) @ WhiteKernel()),
}


def errors(n=1_000_000):
    print(f"\nErrors against the same of the rows, relative (of the intercepts absolute), {n:,} rows of five shapes")
    print(f"  {'':16}" + "".join(f"{shape:>10}" for shape in shapes(10)))
    found = {}
    for shape, (p, y) in shapes(n).items():
        sketch, rows = Sketch().update(p, y), Predictions(p, y)
        cells = sketch.one_vs_rest(1)
        exact = {"nll": sketch.nll, "brier": sketch.brier, "accuracy": sketch.accuracy}
        for name in MEASURED:
            metric = METRICS[name]
            true, value = metric(rows), exact.get(name, metric(cells) if name not in exact else 0.0)
            scale = 1.0 if name in ("cox-intercept", "in-the-large") else true
            found[name, shape] = 0.0 if true == value else abs(value - true) / abs(scale)
        for name, metric in GIVEN.items():
            found[name, shape] = abs(metric(cells) / metric(rows) - 1)
        true = auc(rows.positive, rows.labels)
        found["auc", shape] = abs(auc(cells.positive, cells.labels, cells.weights) - true) / true
    for name in (*MEASURED, *GIVEN, "auc"):
        print(f"  {name:16}" + "".join(f"{found[name, shape]:10.0e}" for shape in shapes(10)))


def splits(n=200_000, times=200):
    """Count the distinct bytes of many random splits."""
    import hashlib
    from functools import reduce
    from operator import add

    rng = np.random.default_rng(0)
    x = rng.normal(0, 1.5, n)
    p, y = expit(x), rng.random(n) < expit(x)
    found = set()
    for _ in range(times):
        order = rng.permutation(n)
        cuts = np.sort(rng.integers(0, n + 1, rng.integers(0, 50)))
        parts = [Sketch().update(p[rows], y[rows]) for rows in np.split(order, cuts)]
        rng.shuffle(parts)
        found.add(hashlib.sha256(reduce(add, parts).to_bytes()).hexdigest())
    print(f"\n{times} random splits of {n:,} rows into up to 50 parts, in random order: {len(found)} distinct bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=300_000_000)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--only", choices=["local", "clusters", "sketches"])
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    print(f"peak memory at the start: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
    with tempfile.TemporaryDirectory() as temporary:
        folder, n_files = asked.folder or Path(temporary) / "logs", max(20, asked.rows // ROWS_PER_FILE)
        if asked.only != "sketches":
            write_files(folder, n_files)
        if asked.only in (None, "local"):
            local(folder, n_files)
        if asked.only in (None, "clusters"):
            clusters(folder, asked.spark)
    if asked.only in (None, "sketches"):
        sizes()
        errors()
        splits()


if __name__ == "__main__":
    main()
