"""The runner that experiments and studies share: order, workers, damage, and runs that are killed."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pytest

from calibrant.lab import runner
from calibrant.lab.store import Store


@dataclass(frozen=True)
class Number:
    """A unit whose result is its name."""

    value: int
    seconds: float = 0.0

    @property
    def filename(self):
        return f"{self.value}.txt"


def spell(unit):
    time.sleep(unit.seconds)
    return f"number {unit.value}".encode()


UNITS = [Number(value) for value in range(6)]


def run(folder, units=UNITS, jobs=0):
    """Complete what is missing; return what was computed, in order."""
    store, told = Store(folder), []
    runner.complete(store.missing(units), store, spell, lambda unit, _: told.append(unit.value), jobs=jobs)
    assert [store.read(unit) for unit in units] == [spell(unit) for unit in units]
    return told


def test_units_are_computed_in_order_once_and_again_where_files_are_damaged(tmp_path):
    assert run(tmp_path, UNITS[:2]) == [0, 1]
    assert run(tmp_path) == [2, 3, 4, 5]
    Store(tmp_path).path(UNITS[3]).write_bytes(b"number 4")
    Store(tmp_path).path(UNITS[1]).unlink()
    assert run(tmp_path) == [1, 3]
    assert run(tmp_path) == []


def test_workers_keep_the_same_and_every_unit_is_told(tmp_path):
    assert sorted(run(tmp_path, jobs=2)) == [0, 1, 2, 3, 4, 5]


def fail(unit):
    if unit.value == 3:
        raise ZeroDivisionError
    return spell(unit)


@pytest.mark.parametrize("jobs", [0, 1])
def test_what_was_complete_before_a_failure_is_kept(tmp_path, jobs):
    told = []
    with pytest.raises(ZeroDivisionError):
        runner.complete(UNITS, Store(tmp_path), fail, lambda unit, _: told.append(unit.value), jobs=jobs)
    assert told == [0, 1, 2]
    assert run(tmp_path) == [3, 4, 5]


KILLED = """
from test_runner import *
run(Path(sys.argv[1]), [*UNITS[:3], Number(3, 60.0), Number(4, 60.0)], int(sys.argv[2]))
"""


@pytest.mark.skipif(os.name != "posix", reason="kills processes")
@pytest.mark.parametrize("jobs", [0, 2])
def test_a_run_that_is_killed_continues(tmp_path, jobs):
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(jobs)]
    with subprocess.Popen(command, cwd=Path(__file__).parent, start_new_session=True) as process:
        deadline = time.monotonic() + 60
        while len(list(tmp_path.glob("steps/*.sha256"))) < 3:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    assert run(tmp_path) == [3, 4, 5]


def test_an_interrupt_that_a_callback_of_the_pool_swallows_is_no_failure():
    def fail():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise BrokenProcessPool

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), runner._own_interrupt_first():
        fail()
    assert signal.getsignal(signal.SIGINT) is before


def test_workers_have_one_thread_and_the_parent_keeps_its_own():
    before = dict(os.environ)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=runner.start_worker) as pool:
        assert [pool.submit(os.getenv, name).result() for name in runner.THREAD_VARIABLES] == ["1"] * 4
    assert dict(os.environ) == before


def test_nothing_loads_numpy_before_the_threads_are_set():
    code = "import sys, calibrant.lab.runner, studies.__main__; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
