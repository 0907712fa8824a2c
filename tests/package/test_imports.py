"""What a command imports: libraries that take longer to load than the command to compute stay out where not needed."""

import subprocess
import sys

import numpy as np
import pytest

HEAVY = {
    "matplotlib",
    "pandas",
    "scipy.interpolate",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.stats",
    "sklearn",
    "torch",
}

RUN = """
import sys
from calibrant.cli import main
code = main(sys.argv[2:])
loaded = [name for name in sys.argv[1].split(",") if name in sys.modules]
print("loaded:", *loaded)
sys.exit(code)
"""

ALLOWED = {
    ("evaluate", "a.npz"): set(),
    ("evaluate", "a.csv"): set(),
    ("evaluate", "a.csv", "--fail-if", "ece>0.9", "--json"): set(),
    ("test", "a.npz"): set(),
    ("test", "a.npz", "--test", "omnibus", "spiegelhalter", "hosmer-lemeshow", "cox"): set(),
    ("compare", "a.npz", "b.npz", "--resamples", "100"): set(),
    # The isotonic curve is SciPy's.
    ("report", "a.npz"): {"scipy.optimize", "scipy.interpolate", "scipy.spatial"},
    ("fit", "a.npz", "--out", "c.json"): set(),
    ("apply", "a.npz", "--calibrator", "c.json", "--out", "d.npz"): set(),
    ("recommend", "a.npz"): set(),
    ("--version",): set(),
    ("apply", "--help"): set(),
}
"""Commands, and which of the heavy libraries each may load."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports")
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 200)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    np.savez(folder / "a.npz", probs=probs, labels=labels)
    np.savez(folder / "b.npz", probs=(probs + 1 / 3) / 2, labels=labels)
    table = np.column_stack([probs, labels])
    np.savetxt(folder / "a.csv", table, delimiter=",", header="proba_0,proba_1,proba_2,y", comments="")
    return folder


@pytest.mark.parametrize("command", ALLOWED, ids=" ".join)
def test_heavy_libraries_are_loaded_where_they_are_needed_only(command, folder):
    asked = ",".join(sorted(HEAVY))
    run = subprocess.run(
        [sys.executable, "-c", RUN, asked, *command], cwd=folder, capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.splitlines()[-1].removeprefix("loaded:").split())
    assert loaded <= ALLOWED[command]


def test_the_check_sees_what_is_loaded(folder):
    """A spline of two classes is SciPy's, and the check says so."""
    command = [sys.executable, "-c", RUN, "scipy.interpolate", "fit", "a.npz", "--method", "spline", "--out", "c.json"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "loaded: scipy.interpolate"
