"""Draw what penalties change after temperature scaling, from the table of losses.py.

python benchmarks/losses_figure.py
"""

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parents[1] / "docs"
ROW = re.compile(r"(.+?)  +accuracy.*after T: log loss +(\S+) \+- +(\S+) \((\S+)\) +ECE +(\S+) \+- +(\S+)")


def main():
    """Read the part of the table that compares with cross entropy, and write the picture."""
    text = (DOCS / "benchmarks" / "losses.txt").read_text(encoding="utf-8")
    part = text.split("minus CE, times 1000")[1].split("\n\n")[0]
    found = [ROW.fullmatch(line).groups() for line in part.splitlines()[1:]]
    names = [row[0] for row in found]
    change, seeds, images, ece, ece_seeds = np.array([row[1:] for row in found], dtype=float).T
    rows = np.arange(len(names))
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.0), sharey=True)
    for axes, value, error in ((left, change, np.hypot(seeds, images)), (right, ece, ece_seeds)):
        axes.errorbar(value, rows, xerr=1.96 * error, fmt="o", color="C0", capsize=3)
        axes.axvline(0, color="black", linewidth=0.8)
    left.set(yticks=rows, yticklabels=names, xlabel="log loss after T, minus that of CE, x 1000")
    right.set(xlabel="ECE after T, minus that of CE, x 1000")
    left.invert_yaxis()
    figure.tight_layout()
    figure.savefig(DOCS / "images" / "losses.png", dpi=90)


if __name__ == "__main__":
    main()
