"""What a command imports: libraries that take longer to load than the command to compute stay out where not needed."""

import json
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

import calibrant

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
import json, sys
from calibrant.cli import main
asked, *commands = map(json.loads, sys.argv[1:])
found = []
for command in commands:
    before = set(sys.modules)
    code = main(command)
    found.append([code, [name for name in asked if name in sys.modules and name not in before]])
print(json.dumps(found))
"""


def loaded_by(asked, commands, folder):
    """Run commands in one process, one after the other, and return what each has loaded that was not there before."""
    words = [json.dumps([*part]) for part in (sorted(asked), *commands)]
    run = subprocess.run([sys.executable, "-c", RUN, *words], cwd=folder, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout.splitlines()[-1])
    assert all(code == 0 for code, _ in found)
    return {command: set(loaded) for command, (_, loaded) in zip(commands, found, strict=True)}


FEW = ("--resamples", "19")
EVALUATE_CSV, EVALUATE, REPORT = ("evaluate", "a.csv", *FEW), ("evaluate", "a.npz", *FEW), ("report", "a.npz", *FEW)
COMMANDS = (
    EVALUATE_CSV,
    EVALUATE,
    REPORT,
    ("evaluate", "a.csv", "--fail-if", "ece>0.9", "--json", *FEW),
    ("test", "a.npz", *FEW),
    ("test", "a.npz", "--test", "omnibus", "spiegelhalter", "hosmer-lemeshow", "cox", *FEW),
    ("groups", "a.npz"),
    ("compare", "a.npz", "b.npz", *FEW),
    ("fit", "a.npz", "--out", "c.json"),
    ("apply", "a.npz", "--calibrator", "c.json", "--out", "d.npz"),
    ("recommend", "a.npz", *FEW),
    ("--version",),
    ("apply", "--help"),
)
"""Commands, none of which needs a heavy library, in the order in which one process runs them."""

SPLINE = ("fit", "a.npz", "--method", "spline", "--out", "c.json")
"""Which SciPy fits."""

UNUSED = {
    "calibrant.calibrators",
    "calibrant.forecasts.location_scale",
    "calibrant.hypotest.cox",
    "calibrant.metrics.forecasts.scores",
    "calibrant.scale.sketch",
    "numpy.ma",
    "polars",
}
"""What no evaluation of classes needs."""


def modules_of_the_way():
    """Return the modules that contributors read of: on the way to the verdict, and from there to the page."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    steps = re.findall(r"^\d\. .*(?:\n   .*)*", text, re.MULTILINE)
    assert 8 <= len(steps) <= 10
    page = next(i for i, step in enumerate(steps) if "calibrant report" in step)
    return [
        {f"calibrant.{name.replace('/', '.')}" for step in part for name in re.findall(r"`([a-z_/]+)\.py`", step)}
        for part in (steps[:page], steps[page:])
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports")
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 200)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    np.savez(folder / "a.npz", probs=probs, labels=labels, part=np.arange(200) % 2)
    np.savez(folder / "b.npz", probs=(probs + 1 / 3) / 2, labels=labels)
    table = np.column_stack([probs, labels])
    np.savetxt(folder / "a.csv", table, delimiter=",", header="proba_0,proba_1,proba_2,y", comments="")
    return folder


@pytest.fixture(scope="module")
def loaded(folder):
    """What every command has loaded."""
    return loaded_by(HEAVY.union(UNUSED, ["scipy"], *modules_of_the_way()), (*COMMANDS, SPLINE), folder)


def test_heavy_libraries_are_loaded_where_they_are_needed_only(loaded):
    assert {command: loaded[command] & HEAVY for command in COMMANDS} == {command: set() for command in COMMANDS}


def test_the_check_sees_what_is_loaded(loaded):
    """A spline of two classes is SciPy's, and the check says so."""
    assert "scipy.interpolate" in loaded[SPLINE]


def test_what_computes_nothing_loads_no_tests(folder):
    commands = [("--version",), ("apply", "--help")]
    assert loaded_by(["calibrant.hypotest", "calibrant.predictions"], commands, folder) == {
        command: set() for command in commands
    }


def test_an_evaluation_loads_what_it_uses(loaded):
    for command in (EVALUATE_CSV, EVALUATE):
        assert not loaded[command] & UNUSED


def test_a_report_needs_no_scipy(loaded):
    """Nor do the evaluations before it: whatever a report loads is seen."""
    for command in (EVALUATE_CSV, EVALUATE, REPORT):
        assert "scipy" not in loaded[command]


def test_no_import_closes_a_circle():
    """Neither at the top of a module nor inside a function, nor by a name that a package imports when it is used."""
    grimp = pytest.importorskip("grimp")  # Which import-linter needs, and the oldest dependencies do not have.
    graph = grimp.build_graph("calibrant", exclude_type_checking_imports=True)
    imported = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    root = Path(calibrant.__file__).parent
    stubs = {".".join(stub.relative_to(root.parent).parent.parts): stub for stub in root.glob("?*/**/__init__.pyi")}
    assert "calibrant.results" in stubs
    for package, stub in stubs.items():
        imported[package].update(re.findall(r"^from (calibrant\S*) import", stub.read_text(), re.MULTILINE))
    TopologicalSorter(imported).prepare()  # Raises CycleError, which names the modules of a circle.


def test_a_module_is_imported_by_a_text_only_on_first_use():
    """Such imports are seen by no contract, so each is listed here."""
    root = Path(calibrant.__file__).parent
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if "import_module(" in path.read_text()}
    assert found == {"_border/lazy.py", "cli/application.py"}


def test_the_way_of_a_prediction_is_the_one_that_contributors_read(loaded):
    """Every module that the list names is imported by the command of its step."""
    verdict, page = modules_of_the_way()
    assert len(verdict) >= 10
    assert verdict <= loaded[EVALUATE_CSV]
    assert page <= loaded[EVALUATE_CSV] | loaded[REPORT]
