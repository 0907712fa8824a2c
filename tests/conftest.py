"""What several files of tests share: a browser, and small experiments before and after they are run."""

import gc
import linecache
import os
import sys
from copy import copy
from pathlib import Path
from shutil import copytree

import pytest
from _pytest.doctest import DoctestModule
from _pytest.runner import runtestprotocol
from hypothesis import settings

from browser import CHROMIUM, FLAGS, Tabs
from experiment_cases import SHORT, write_config, write_logits
from near import compare_at_once
from properties import USUAL

# How long a case takes says nothing here: machines are busy, and the first case imports and compiles.
settings.register_profile("calibrant", deadline=None, max_examples=USUAL)
settings.register_profile("thorough", deadline=None, max_examples=10 * USUAL)
settings.load_profile("calibrant")
compare_at_once()

TESTS = Path(__file__).parent

SLOW = frozenset(TESTS.joinpath("slow.txt").read_text(encoding="utf-8").split())
"""Functions that took 0.03 s of the processor or more for a case, or 0.5 s for all, when they were measured last."""


SLOW_FIXTURES = frozenset(["chromium", "finished", "null_pvalues", "pointwise", "small_finished", "trained"])
"""What takes long to make and is shared: a browser, experiments, simulations. No single test shows its time."""


class Examples:
    """Where examples are looked for; this file is asked about tests only, a plugin about all files."""

    @staticmethod
    def pytest_ignore_collect(collection_path):
        """Pass over code without examples: to look for them is to import it."""
        is_code = collection_path.suffix == ".py" and TESTS not in collection_path.parents
        return True if is_code and ">>>" not in collection_path.read_text(encoding="utf-8") else None


def pytest_configure(config):
    """Let the second process collect the folders from the last to the first.

    In a new clone every test is compiled first, in both processes: they meet in the middle, and each finds the other
    half done.
    """
    config.pluginmanager.register(Examples())
    if "PYTEST_XDIST_WORKER" in os.environ:
        gc.disable()  # Until all is collected: hardly anything is left behind before.
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1" and config.args == config.getini("testpaths"):
        folders = [path for place in config.args for path in sorted(Path(config.rootpath, place).iterdir())]
        names = [str(path) for path in folders if path.is_dir() or path.name.startswith("test_")]
        config.args[:] = [name for name in reversed(names) if not name.endswith("__pycache__")]


def pytest_collection_modifyitems(items):
    """Mark what is slow, so that `-m "not slow"` leaves it out; the order is the same in all processes."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Tests of one file stay in their order. Those that need the browser come first, so that one process starts one.
        shown = {item.path for item in items if "chromium" in getattr(item, "fixturenames", ())}
        items.sort(key=lambda item: (item.path not in shown, item.path))
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW or SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for examples in the code only, not in docstrings of tests."""
    found = yield
    return [each for each in found if not isinstance(each, DoctestModule)]


def pytest_collection_finish():
    """Leave what was imported and collected out of all later rounds of the garbage collector: it stays to the end."""
    if "torch" in sys.modules:
        import without_compiler  # noqa: F401 (which takes as long to load as all trainings of the tests)
    linecache.clearcache()  # Of all sources that were looked at: before every example, each is looked for again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(7000)  # Ten times the usual number: tests make many objects and few cycles.
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _commands_are_read_once():
    """Remember what cyclopts finds out about a function: a user runs one command, the tests run the same ones often."""
    try:
        from cyclopts.argument import _collection
    except ImportError:  # Not part of its interface: other versions have other modules.
        _collection = None
    with pytest.MonkeyPatch.context() as patch:
        for name in {"extract_docstring_help", "_resolve_groups_from_callable"} & set(dir(_collection)):
            patch.setattr(_collection, name, _remembered(getattr(_collection, name)))
        collection = getattr(_collection, "ArgumentCollection", None)
        if hasattr(collection, "_from_callable"):
            patch.setattr(collection, "_from_callable", _remembered(collection._from_callable, _without_words))
        yield


def _remembered(function, copied=copy):
    found = {}

    def remembering(command, *arguments, **named):
        named = {name: tuple(value) if name == "reserved" else value for name, value in named.items()}  # A generator.
        key = (command, command.__doc__, arguments, tuple(named.items()))  # Help sets the lines of a docstring anew.
        if key not in found:
            found[key] = function(command, *arguments, **named)
        return copied(found[key])

    return remembering


def _without_words(collection):
    """Copy the arguments of a command, each of which takes its words from the command line, as new ones."""
    copies = {id(argument): copy(argument) for argument in collection}
    for argument in copies.values():
        argument.tokens = []
        argument.children = type(collection)(copies[id(child)] for child in argument.children)
    return type(collection)(copies.values())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Let a process report what counts: the call, and whatever does not pass.

    To send and read that nothing happened before and after it takes a third of pytest's own work for a test. It is
    done where somebody asks: for durations, or for a file of all reports.
    """
    asked = item.config.option.durations is not None or item.config.option.xmlpath
    if asked or "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    tell = item.ihook
    tell.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            tell.pytest_runtest_logreport(report=report)
    tell.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="session")
def chromium():
    """Start the browser once: to start it takes as long as four pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield Tabs(launched)
        launched.close()


@pytest.fixture
def small(tmp_path):
    """Return the config of an experiment that takes a moment, and a folder to run it in."""
    write_logits(tmp_path / "logits")
    return write_config(tmp_path, SHORT), tmp_path / "out"


@pytest.fixture(scope="module")
def small_finished(tmp_path_factory):
    """Return config and folder of a finished run to copy from."""
    from calibrant.lab.experiment import run  # Here, as this file is loaded by the process that hands out tests too.

    folder = tmp_path_factory.mktemp("small")
    write_logits(folder / "logits")
    run(write_config(folder, SHORT), folder / "out")
    return folder


@pytest.fixture
def done(small_finished, tmp_path):
    """Return config and folder of a finished run that may be changed."""
    copytree(small_finished, tmp_path, dirs_exist_ok=True)
    return tmp_path / "config.toml", tmp_path / "out"
