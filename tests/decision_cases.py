"""The data set of a published tutorial on decision curves."""

from pathlib import Path

import numpy as np

FILE = Path(__file__).parent / "decisions" / "df_binary.csv"


def cancer():
    """Return whether cancer was found, family history, and the predicted probability, of 750 patients."""
    rows = np.loadtxt(FILE, delimiter=",", skiprows=1)
    return rows[:, 0].astype(int), rows[:, 1], rows[:, 2]
