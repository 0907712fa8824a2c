"""The package as a whole: light to import, documented, one version."""

import importlib
import inspect
import pkgutil
import pydoc
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import calibrant
from calibrant.cli import EXTRAS

ROOT = Path(__file__).parents[2]


def run(code, *flags):
    return subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def modules():
    yield calibrant
    for info in pkgutil.walk_packages(calibrant.__path__, "calibrant."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def public_objects():
    """Yield every module, and every public class, function, method and property that it defines, with its name."""
    for module in modules():
        yield module.__name__, module
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            if name.startswith("_") or not own or not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            yield f"{module.__name__}.{name}", value
            if inspect.isclass(value):
                for member, function in vars(value).items():
                    if not member.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
                        yield f"{module.__name__}.{name}.{member}", function


def test_every_public_name_is_documented():
    things = dict(public_objects())
    assert len(things) > 2000
    assert [name for name, thing in things.items() if not (thing.__doc__ or "").strip()] == []


def test_every_promised_name_can_be_imported():
    for name in calibrant.__all__:
        assert getattr(calibrant, name) is not None
    assert set(calibrant.__all__) <= set(dir(calibrant))


@pytest.mark.parametrize(
    "package",
    [
        "calibrant",
        *(f"calibrant.{room}" for room in ("curves", "forecasts", "hypotest", "io", "results", "scale")),
    ],
)
def test_names_that_are_imported_when_used_are_those_of_the_stub(package):
    module = importlib.import_module(package)
    named = re.findall(r"\b(\w+) as \1\b", Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    assert len(named) > 5
    laws = {"Laplace", "Mixture", "MvNormal", "Normal", "Quantiles", "Recalibrated", "Samples", "Student"}
    assert module.__all__ == sorted(set(named) - laws if package == "calibrant" else named)
    assert set(named) <= set(dir(module))
    things = {name: getattr(module, name) for name in named}
    kinds = (inspect.isclass, inspect.isfunction, inspect.ismodule)  # Others, such as tables, have no name.
    assert all(thing.__name__.endswith(name) for name, thing in things.items() if any(kind(thing) for kind in kinds))
    # Importing a module of the package would put it in the place of a function with its name.
    modules = {path.stem for path in Path(module.__file__).parent.glob("*.py")}
    assert not modules & {name for name, thing in things.items() if not inspect.ismodule(thing)}


def test_help_begins_with_the_four_verbs_and_is_shorter_than_the_laws_of_forecasts_would_make_it():
    text = pydoc.plain(pydoc.render_doc(calibrant))
    assert all(f"calibrant.{verb}(y_true, y_prob" in text[:1000] for verb in ("measure", "test", "fix", "show"))
    most = 1400 if sys.version_info < (3, 13) else 1600  # Since then long signatures are wrapped.
    assert text.count("\n") < most
    assert "class Normal" not in text


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = calibrant.nonsense


def test_the_version_has_one_source():
    assert version("calibrant") == calibrant.__version__


def test_import_is_light():
    """`import calibrant` costs under 0.3 s beyond NumPy, because it loads nothing heavy."""
    loaded = run("import sys, numpy; a = set(sys.modules); import calibrant; print(*(set(sys.modules) - a))").split()
    heavy = {"scipy", "sklearn", "narwhals", "polars", "pandas", "pyarrow", "torch", "rich", "cyclopts"}
    assert not heavy & {name.partition(".")[0] for name in loaded}
    seconds = float(
        run("import numpy, time; t = time.perf_counter(); import calibrant; print(time.perf_counter() - t)").strip()
    )
    assert seconds < 0.3


def test_results_do_not_depend_on_hash_seed_or_optimisation(capsys):
    code = (
        "import numpy as np; from calibrant import Predictions, assess;"
        "r = np.random.default_rng(0); P = r.dirichlet(np.ones(3), 200);"
        "a = assess(Predictions(P, r.integers(0, 3, 200)), n_resamples=19, rng=0);"
        "print(a.verdict.pvalue, [e.value for e in a.metrics.values()])"
    )
    exec(code, {})  # noqa: S102 (our own code)
    assert capsys.readouterr().out == run(code, "-O", "-W", "error")


def test_every_optional_package_is_used():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: entries for name, entries in project["optional-dependencies"].items() if name != "all"}
    packages = {re.match(r"[\w-]+", entry)[0] for entries in extras.values() for entry in entries}
    code = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    unused = {name for name in packages if not re.search(rf"^\s*(import|from) {name}\b", code, re.MULTILINE)}
    assert unused == {"pandas"}  # PySpark refuses to hand over Arrow batches without it, but does not ask for it.
    assert project["optional-dependencies"]["all"] == [f"calibrant[{','.join(extras)}]"]
    assert set(EXTRAS) == packages
    assert all(any(entry.startswith(name) for entry in extras[extra]) for name, extra in EXTRAS.items())


def test_what_contributors_read_names_what_exists():
    """Files, folders and modules are there, words of code occur in it, and no package of the table is left out."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`\n]+)`", text))
    source = ROOT / "src" / "calibrant"
    paths = {word for name in named for word in name.split() if re.fullmatch(r"[\w./]+/[\w./]*|[\w.]+\.pyi?", word)}
    assert len(paths) > 20
    inner = {path.name for path in source.rglob("__init__.py*")}
    missing = [p for p in paths - inner if not any((root / p).exists() for root in (ROOT, source))]
    assert missing == []
    code = "\n".join(
        path.read_text(encoding="utf-8") for path in (*source.rglob("*.py"), *(ROOT / "tests").rglob("*.py"))
    )
    words = set(re.findall(r"[\w-]+", code)) | {path.stem for path in source.rglob("*")}
    named_words = {part for name in named - paths if re.fullmatch(r"[\w.]+", name) for part in name.split(".")}
    assert len(named_words) > 50
    assert named_words - words == set()
    table = re.search(r"\| packages \|.*?\n\n", text, re.DOTALL)[0]
    rooms = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|([^|]*)", table, re.MULTILINE))))
    there = {path.stem for path in source.iterdir() if path.suffix in ("", ".py") and not path.stem.startswith("__")}
    assert rooms == there


def test_the_list_of_slow_tests_names_tests_that_exist():
    for name in (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").split():
        file, *parts = name.split("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        assert all(re.search(rf"(def|class) {part}\b", source) for part in parts), name


def test_names_of_test_files_are_their_own():
    """pytest imports them by name alone: of two files with one name, only one is run."""
    names = [path.name for path in Path(__file__).parents[1].rglob("test_*.py")]
    assert sorted(set(names)) == sorted(names)
