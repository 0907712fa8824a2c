"""Run all cases and write docs/benchmarks/peers.md and peers.csv."""

import csv
import os
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from peers.calibrators import CALIBRATORS
from peers.data import network, simulated
from peers.measures import MEASURES
from peers.measuring import LIMIT, measured
from peers.page import page

PACKAGES = (
    "scikit-learn", "netcal", "probmetrics", "relplot", "torchmetrics", "uncertainty-calibration", "betacal",
    "venn-abers", "model-diagnostics", "KDEpy",
)  # fmt: skip
SIZES = ((10_000, 2), (10_000, 10), (100_000, 2), (10_000, 100), (1_000_000, 2))
"""Rows and classes, in the order of work."""


def main(folder):
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    rows, failures, exhausted = [], [], set()
    for data in (network(), *(simulated(n, k) for n, k in SIZES)):
        for kind, cases in {"measure": MEASURES, "calibrator": CALIBRATORS}.items():
            for case in cases:
                key = kind, case.what, case.peer
                if not case.suited(data) or key in exhausted:
                    continue
                try:
                    row = measured(case, kind, data)
                except Exception as error:  # noqa: BLE001 (whatever a peer raises is part of the result)
                    failures.append((case.what, case.peer, data.name, f"{type(error).__name__}: {error!s:.80}"))
                    print(f"{data.name} {case.what} {case.peer}: {type(error).__name__}", flush=True)
                    continue
                rows.append(row)
                print(f"{data.name} {row.what} {row.peer}: {row.ratio:.2f} times faster", flush=True)
                if max(row.ours, row.theirs) > LIMIT:
                    exhausted.add(key)
    write(rows, failures, folder)


def write(rows, failures, folder):
    versions = {name: version(name) for name in PACKAGES}
    (folder / "peers.md").write_text(page(rows, failures, versions, LIMIT), encoding="utf-8")
    with (folder / "peers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0].as_record()))
        writer.writeheader()
        writer.writerows(row.as_record() for row in rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
