"""Time and memory of two functions that take turns."""

import ctypes
import gc
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

LIMIT = 1.0
"""Where a side took more seconds than this, more rows and classes are not tried."""


@dataclass(frozen=True)
class Row:
    """What one case did on one data set: seconds of the processor, megabytes, and results."""

    kind: str
    what: str
    peer: str
    data: str
    n: int
    k: int
    ours: float
    theirs: float
    ours_mb: float
    theirs_mb: float
    value: float
    peer_value: float
    nll: float
    peer_nll: float
    brier: float
    peer_brier: float
    note: str

    @property
    def ratio(self):
        return self.theirs / self.ours

    as_record = asdict


def measured(case, kind, data, rounds=5):
    """Return a row: the least processor time over rounds in which both take turns, and the memory of a call of each."""
    sides = {"ours": case.ours, "theirs": case.theirs}
    results = {name: side(data) for name, side in sides.items()}  # Imports, and threads that start once.
    best = dict.fromkeys(sides, np.inf)
    for _ in range(rounds):
        for name, side in sides.items():
            start = time.process_time()
            side(data)
            best[name] = min(best[name], time.process_time() - start)
        if max(best.values()) > 2 * LIMIT:
            break
    memory = {name: megabytes(lambda side=side: side(data)) for name, side in sides.items()}
    n, k = data.shape
    found = scores(results, data) if kind == "calibrator" else values(results)
    return Row(
        kind, case.what, case.peer, data.name, n, k, best["ours"], best["theirs"], memory["ours"], memory["theirs"],
        *found, case.note,
    )  # fmt: skip


def values(results):
    return float(results["ours"]), float(results["theirs"]), np.nan, np.nan, np.nan, np.nan


def scores(results, data):
    """Return the largest difference of probabilities, and log loss and Brier score of held-out rows, ours first."""
    labels = data.labels[data.half :]
    rows, hot = np.arange(len(labels)), np.eye(data.shape[1])[labels]
    q, r = results["ours"], np.asarray(results["theirs"])
    loss = [-np.log(np.maximum(p[rows, labels], 1e-12)).mean() for p in (q, r)]
    brier = [((p - hot) ** 2).sum(axis=1).mean() for p in (q, r)]
    return np.abs(q - r).max(), np.nan, *map(float, loss), *map(float, brier)


def megabytes(call):
    """Return how far the memory of the process rises during a call; not known outside Linux."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        call()
        return np.nan
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # Memory that was freed would be used again without being counted.
    reset.write_text("5")
    before = field(status, "VmRSS")
    call()
    return max(0.0, field(status, "VmHWM") - before)


def field(status, name):
    return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith(name))
