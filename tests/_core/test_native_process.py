"""What the compiled code must not do to the process around it."""

import subprocess
import sys
import textwrap
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest

from calibrant._core import pairs, threads
from calibrant._core.distances import Kernel, RadialMatrix
from calibrant._core.library import Matrix, Strip, required
from calibrant._core.line import beta
from core_calls import everything
from cores import LEVELS, core, on_threads
from oracles.pairs import simulate

KERNEL = Kernel("exponential", "total-variation", 0.4)


def run(code):
    code = f"import sys; sys.path[:0] = {sys.path!r}\n" + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_memory_stays_far_below_the_matrix():
    P, A, _ = simulate(12_000, 5, seed=0)
    pairs.pair_sum(RadialMatrix(P[:50], A[:50], kernel=KERNEL))
    pairs.row_sums(RadialMatrix(P[:50], A[:50], kernel=KERNEL))
    tracemalloc.start()
    pairs.pair_sum(RadialMatrix(P, A, kernel=KERNEL))
    pairs.row_sums(RadialMatrix(P, A, kernel=KERNEL))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6  # the matrix would take 1.2 GB, the packed inputs take 2 MB


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_every_level_of_the_processor_finds_the_same(level):
    with core(level):
        found = everything()
    for ours, theirs in zip(found, everything(), strict=True):
        # Whole numbers, those of sketches among them, are the same on every machine; others differ by rounding.
        atol = 0.0 if theirs.dtype.kind in "iu" else 1e-12 * np.abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol)


def test_a_process_that_forks_afterwards_finds_the_same_bits():
    found = run("""
        import os
        import numpy as np
        from core_calls import everything
        from cores import on_threads
        with on_threads(2):
            before = everything()
            child = os.fork()
            if child == 0:
                os._exit(0 if all(map(np.array_equal, everything(), before)) else 1)
        print(os.waitpid(child, 0)[1])
    """)
    assert found.stdout.strip() == "0", found.stderr


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
    pairs.pair_sum(
        RadialMatrix(*simulate(50, 3, seed=1)[:2], kernel=Kernel("gamma-exponential", "euclidean", 1e-3, 0.5))
    )
    assert np.geterr() == before


def test_six_threads_at_once_get_the_same_bits():
    with on_threads(1):
        alone = everything()
    for n_threads in (1, 2):
        with on_threads(n_threads), ThreadPoolExecutor(6) as pool:
            for together in pool.map(lambda _: everything(), range(3)):
                assert all(map(np.array_equal, alone, together))


def test_no_routine_is_left_out_of_these_calls(monkeypatch):
    core, called = required(), set()
    for name, routine in core.routines.items():
        monkeypatch.setitem(core.routines, name, lambda *a, of=routine, name=name: (called.add(name), of(*a)))
    with patch.object(beta, "_FEW_PAIRS", 2_000_000):  # The wider of the two Beta kernels goes by boxes.
        everything()
    assert called == set(core.routines) - {"sizes", "log"}  # These are tested elsewhere.


def test_arrays_of_another_kind_are_refused_before_they_reach_the_compiled_code():
    numbers = np.zeros(8)
    with pytest.raises(TypeError, match="must be contiguous and of float64"):
        Strip.of(width=1, charges=numbers[::2], moments=numbers, out=numbers)
    with pytest.raises(TypeError, match="must be of float64, but is of float32"):
        Matrix.view(np.zeros((2, 2), dtype=np.float32))
    with pytest.raises(Exception, match="array must have data type float64"):
        required().exp(np.zeros(8, dtype=np.float32), 8)
    with pytest.raises(Exception, match="array must be contiguous"):
        required().exp(numbers[::2], 4)
    with pytest.raises(Exception, match="must be an ndarray"):
        required().exp([0.0], 1)
