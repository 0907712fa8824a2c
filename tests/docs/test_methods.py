"""Every method after the verdict has its definition, values, simulation, and is shown: the table is kept true."""

import re

from calibrant import decisions
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS
from calibrant.lab.experiment.config import PENALTIES
from doc_pages import DOCS, GALLERY, ROOT
from naming import each

LINES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (DOCS / "methods.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]
ROWS = {line[0]: line[1:] for line in LINES}
NAMES = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row)]
HELPERS = {"Costs", "DecisionPlan", "binomial_upper", "move_base_rate"}
"""Settings and parts of what is in the table."""


def test_every_method_is_in_the_table():
    wanted = {*FORECAST_CALIBRATORS, *PENALTIES, "GroupSearch", "GroupBoosting", *decisions.__all__} - HELPERS
    assert wanted - set(NAMES) == set()


@each("row", list(ROWS))
def test_what_the_table_names_exists(row):
    *tests, docs, gallery, shown = ROWS[row]
    for proof in ", ".join([*tests, shown]).split(", "):
        file, _, name = proof.partition("::")
        home = ROOT / "tests" if name else DOCS
        text = (home / file).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text, proof
    page, picture = docs.split(", ")
    assert f"({picture})" in (DOCS / page).read_text(encoding="utf-8")
    assert (DOCS / picture).exists()
    scripts = "".join(path.read_text(encoding="utf-8") for path in GALLERY if path.name[:2] in gallery.split(", "))
    for name in re.findall(r"`([^`]+)`", row):
        in_a_loop = name in PENALTIES and "PENALTIES.items()" in scripts
        assert in_a_loop or re.search(rf"\b{re.escape(name)}[\"(]", scripts), name


@each("name", list(FORECAST_CALIBRATORS))
def test_the_page_of_calibrators_speaks_of_each_outside_its_table(name):
    text = (DOCS / "forecast_calibrators.md").read_text(encoding="utf-8")
    outside = re.sub(r"<!-- forecast calibrators -->.*?<!-- end of forecast calibrators -->", "", text, flags=re.DOTALL)
    assert re.search(rf"(`|--method |--calibrate |>){re.escape(name)}\b", outside), name
