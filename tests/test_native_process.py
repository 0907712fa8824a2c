"""What the compiled code must not do to the process around it."""

import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest

from calibrant._native import compile as compilation
from calibrant._native import pairs, threads
from calibrant._native.kernel import Kernel
from pair_definition import simulate

KERNEL = Kernel("exponential", "total-variation", 0.4)


def run(code):
    code = f"import sys; sys.path[:0] = {sys.path!r}\n" + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_memory_stays_far_below_the_matrix():
    P, A, _ = simulate(12_000, 5, seed=0)
    pairs.pair_sum(P[:50], A[:50], kernel=KERNEL)
    pairs.row_sums(P[:50], A[:50], kernel=KERNEL)
    tracemalloc.start()
    pairs.pair_sum(P, A, kernel=KERNEL)
    pairs.row_sums(P, A, kernel=KERNEL)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6  # the matrix would take 1.2 GB, the packed inputs take 2 MB


def test_a_process_that_forks_afterwards_lives_on():
    found = run("""
        import os
        from pair_definition import simulate
        from calibrant._native import pairs
        from calibrant._native.kernel import Kernel
        P, A, _ = simulate(3000, 3, seed=0)
        before = pairs.pair_sum(P, A, kernel=Kernel(), n_threads=2)
        child = os.fork()
        if child == 0:
            os._exit(0 if pairs.pair_sum(P, A, kernel=Kernel(), n_threads=2) == before else 1)
        print(os.waitpid(child, 0)[1])
    """)
    assert found.stdout.strip() == "0", found.stderr


def test_the_package_and_the_twin_do_not_import_numba():
    found = run("""
        from calibrant._native import engine
        engine(100, 3)
        print("numba" in sys.modules, "scipy" in sys.modules)
    """)
    assert found.stdout.split() == ["False", "False"], found.stderr


def test_a_disk_that_cannot_be_written_only_costs_the_cache(monkeypatch):
    real = compilation.njit

    def without_locator(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available for file")
        return real(*args, **options)

    monkeypatch.setattr(compilation, "njit", without_locator)
    assert compilation.entry(lambda x: x + 1)(1) == 2


def test_results_come_in_the_order_of_the_jobs():
    import time

    def slow_first(i):
        time.sleep(0.05 if i == 0 else 0.0)
        return i

    assert list(threads.in_order(slow_first, range(50), 4)) == list(range(50))


def test_an_error_in_a_thread_reaches_the_caller():
    def fail(i):
        if i == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        list(threads.in_order(fail, range(10), 2))


def test_an_interrupted_iteration_does_not_wait_for_all_jobs():
    done = []
    results = threads.in_order(lambda i: done.append(i) or i, range(1000), 2)
    assert next(results) == 0
    results.close()
    assert len(done) < 100


def test_global_floating_point_state_is_not_touched():
    before = np.geterr()
    pairs.pair_sum(*simulate(50, 3, seed=1)[:2], kernel=Kernel("gamma-exponential", "euclidean", 1e-3, 0.5))
    assert np.geterr() == before


def test_code_on_disk_is_known_to_be_there(tmp_path):
    from types import SimpleNamespace

    from calibrant._native import must_compile

    P, A, _ = simulate(50, 3, seed=0)
    pairs.pair_sum(P, A, kernel=Kernel())
    assert not must_compile()
    nowhere = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    assert not compilation.is_cached(nowhere)


def test_the_command_line_says_when_it_compiles(monkeypatch, capsys):
    from calibrant import _native
    from calibrant.cli import show

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(_native, "must_compile", lambda: True)
    show.note_compiling(100, 10)
    assert capsys.readouterr().err == ""
    show.note_compiling(100_000, 10)
    assert "compiling the sums over pairs of rows, once on this machine" in capsys.readouterr().err
