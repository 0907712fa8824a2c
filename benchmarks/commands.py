"""Every command as a whole process, beside 1000 plain NumPy ECEs of the same rows, in one run.

Call it as `python benchmarks/commands.py`, with `--quick` for small files only. Files are generated in a temporary
folder before anything is timed, and the package is compiled, as pip does when it installs. Each command is a process of
its own, as for a user who types it: imports are part of its time. Commands of a few seconds run five times, because the
speed of a shared machine changes from second to second: the shortest run counts, and the longest is shown beside it.
The ratio is that of the wall time to the yardstick; slopes are those of log time against log rows or log classes.
"""

import argparse
import compileall
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import calibrant

BINS, YARDSTICK = 15, 1000
ROWS_AT_ONCE = 5000
ROUNDS, SHORT = 5, 4.0
"""A command whose first run takes less than SHORT seconds is run ROUNDS times."""

LAUNCHER = """
import os, sys, time
start = time.perf_counter()
child = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    print(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, file=file)
sys.exit(os.waitstatus_to_exitcode(status))
"""
# A child's peak begins with that of the process that starts it: this one would be as large as its arrays.


class Case(NamedTuple):
    """A command, the file that it is about, and what the wall time is to be at most."""

    name: str
    arguments: str
    file: str
    seconds: float | None
    quick: bool = True


CASES = (
    Case("evaluate", "evaluate {file}", "300x3.npz", None),
    Case("evaluate", "evaluate {file}", "10000x10.npz", 1.5),
    Case("evaluate", "evaluate {file}", "100000.csv", 1.5),
    Case("evaluate", "evaluate {file}", "100000x10.npz", 4, quick=False),
    Case("evaluate", "evaluate {file}", "1000000.parquet", 5, quick=False),
    Case("evaluate", "evaluate {file}", "10000000.parquet", 40, quick=False),
    Case("evaluate", "evaluate {file}", "10000x100.npz", None, quick=False),
    Case("evaluate", "evaluate {file}", "50000x100.npz", 8, quick=False),
    Case("evaluate", "evaluate {file}", "10000x1000.npz", 10, quick=False),
    Case("evaluate", "evaluate {file}", "50000x1000.npz", 40, quick=False),
    Case("report", "report {file} --out page.html", "10000x10.npz", 3.5),
    Case("report", "report {file} --out page.html", "50000x1000.npz", None, quick=False),
    Case("compare", "compare {file} other.npz --resamples 1000", "10000x10.npz", 4),
    Case("recommend", "recommend {file}", "10000x10.npz", 3),
    Case("test", "test {file}", "10000x10.npz", 1),
    Case("fit ts", "fit {file} --method ts --out ts.json", "10000x10.npz", None),
    Case("fit ts", "fit {file} --method ts --out large.json", "50000x1000.npz", None, quick=False),
    Case("apply", "apply {file} --calibrator ts.json --out out.npz", "10000x10.npz", None),
    Case("apply", "apply {file} --calibrator large.json --out out.npz", "50000x1000.npz", None, quick=False),
    Case("demo", "demo --out demo", "10000x10.npz", 25),
)

GROWTH = (
    ("rows, two classes", ("100000.csv", "1000000.parquet", "10000000.parquet"), (1e5, 1e6, 1e7)),
    ("rows, 10 classes", ("10000x10.npz", "100000x10.npz"), (1e4, 1e5)),
    ("classes, 10 000 rows", ("10000x10.npz", "10000x100.npz", "10000x1000.npz"), (10, 100, 1000)),
    ("rows, 1000 classes", ("10000x1000.npz", "50000x1000.npz"), (1e4, 5e4)),
)
"""Files that show how the cost of `evaluate` grows, and with what."""


class Spent(NamedTuple):
    """What a process needed: seconds by the clock and of the processor, and megabytes at its peak."""

    wall: float
    processor: float
    peak: float


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def many_classes(n, k, seed=0):
    """Return over-confident float32 probabilities and labels, made block by block."""
    rng = np.random.default_rng(seed)
    probs, labels = np.empty((n, k), dtype=np.float32), np.empty(n, dtype=np.int64)
    for start in range(0, n, ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, n))
        logits = 2 * rng.standard_normal((rows.stop - start, k))
        logits[:, 0] += 0.5
        probs[rows] = softmax(logits)
        law = softmax(0.8 * logits).cumsum(axis=1)
        labels[rows] = (law < rng.random((len(law), 1))).sum(axis=1).clip(max=k - 1)
    return probs, labels


def generate(folder, name):
    """Write a file named after its size, unless it exists, and return probabilities of the top class and hits."""
    stem, ending = name.split(".")
    if ending == "npz":
        probs, labels = many_classes(*map(int, stem.split("x")))
        np.savez(folder / name, probs=probs, labels=labels)
        if name == "10000x10.npz":
            other = softmax(0.9 * np.log(probs.astype(float)))
            np.savez(folder / "other.npz", probs=other, labels=labels)
        return probs.max(axis=1), probs.argmax(axis=1) == labels
    import polars as pl

    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, int(stem))
    y = rng.random(len(p)) < p**1.1
    table = pl.DataFrame({"proba_1": p, "y": y.astype(np.int8)})
    (table.write_csv if ending == "csv" else table.write_parquet)(folder / name)
    return p, y


def plain_ece(p, hits):
    """Return the ECE as most people write it."""
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    return np.abs(np.bincount(bins, weights=p - hits, minlength=BINS)).sum() / len(p)


def yardstick(p, hits):
    """Return the seconds of 1000 plain ECEs, timed on fewer where these take long, and scaled up."""
    start = time.perf_counter()
    plain_ece(p, hits)
    times = max(3, min(YARDSTICK, int(1 / max(time.perf_counter() - start, 1e-6))))
    start = time.perf_counter()
    for _ in range(times):
        plain_ece(p, hits)
    return (time.perf_counter() - start) * YARDSTICK / times


def spent(command, folder):
    """Run a command, and return what it needed; its output goes to files beside the data."""
    with (folder / "stdout").open("w") as out, (folder / "stderr").open("w") as err:
        launcher = [sys.executable, "-S", "-c", LAUNCHER, "spent", *command]
        status = subprocess.run(launcher, cwd=folder, stdout=out, stderr=err, check=False).returncode  # noqa: S603 (our own)
    if status:
        raise SystemExit(f"{' '.join(command)} failed: {(folder / 'stderr').read_text()}")
    wall, cpu, peak = map(float, (folder / "spent").read_text().split())
    return Spent(wall, cpu, peak / (1024 if sys.platform != "darwin" else 2**20))


def rounds(command, folder):
    """Run a command, several times if it is short, and return what each run needed."""
    first = spent(command, folder)
    return [first, *(spent(command, folder) for _ in range(ROUNDS - 1 if first.wall < SHORT else 0))]


def compile_package():
    """Compile the package, which an editable installation leaves to the first command."""
    compileall.compile_dir(Path(calibrant.__file__).parent, quiet=1)


def slopes(found):
    for what, files, sizes in GROWTH:
        times = [found.get(("evaluate", file)) for file in files]
        if all(times):
            steps = np.diff(np.log(times)) / np.diff(np.log(sizes))
            print(f"  {what:<22} {' '.join(f'{step:.2f}' for step in steps)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small files only")
    quick = parser.parse_args().quick
    compile_package()
    found, known = {}, {}
    print(f"{os.cpu_count()} processors; ratio: wall time in units of {YARDSTICK} plain NumPy ECEs of the same rows")
    heading = ("command", "file", "wall s", "longest", "cpu s", "peak MB", "plain s", "ratio", "target s", "")
    print("{:<10} {:<18} {:>8} {:>7} {:>8} {:>8} {:>8} {:>7} {:>9} {}".format(*heading))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in CASES:
            if quick and not case.quick:
                continue
            if case.file not in known:
                known[case.file] = yardstick(*generate(folder, case.file))
            arguments = case.arguments.format(file=case.file).split()
            runs = rounds([sys.executable, "-m", "calibrant", *arguments], folder)
            used, longest = min(runs), max(runs)
            found[case.name, case.file] = used.wall
            plain = known[case.file]
            target = "" if case.seconds is None else f"{case.seconds:g}"
            verdict = "" if case.seconds is None else ("ok" if used.wall <= case.seconds else "slow")
            walls = f"{used.wall:>8.2f} {longest.wall:>7.2f}"
            needed = f"{walls} {used.processor:>8.2f} {used.peak:>8.0f} {plain:>8.2f} {used.wall / plain:>7.2f}"
            print(f"{case.name:<10} {case.file:<18} {needed} {target:>9} {verdict}".rstrip(), flush=True)
    print("\nGrowth of evaluate, slopes of log wall time:")
    slopes(found)


if __name__ == "__main__":
    main()
