"""Linear algebra on one thread, so that no number depends on how many there are."""

import threading
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

import calibrant.hypotest
from calibrant._core.threads import one_blas_thread
from calibrant.calibrators import CALIBRATORS
from naming import each
from simulate import calibrated


def threads():
    scipy.linalg.inv(np.eye(2))
    return {entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas"}


@pytest.fixture
def two():
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this machine has one thread")
        yield


@pytest.mark.usefixtures("two")
def test_there_is_one_thread_inside_and_what_was_set_outside():
    with one_blas_thread():
        assert threads() == {1}
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}
    with pytest.raises(ValueError, match="on purpose"), one_blas_thread():
        raise ValueError("on purpose")
    assert threads() == {2}


@pytest.mark.usefixtures("two")
def test_other_threads_change_no_setting():
    seen = []

    def other():
        with one_blas_thread():
            seen.append(threads())

    for context, expected in ((nullcontext(), {2}), (one_blas_thread(), {1})):
        with context:
            worker = threading.Thread(target=other)
            worker.start()
            worker.join()
            assert threads() == expected
    assert seen == [{2}, {1}]
    assert threads() == {2}


@pytest.mark.usefixtures("two")
@each("name", ["ms", "dirichlet", "sms"])
def test_the_number_of_threads_changes_no_bit(name):
    p = calibrated(n=3000, k=10)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(CALIBRATORS[name]().fit(p.probs, p.labels).predict_proba(p.probs))
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.usefixtures("two")
def test_the_number_of_threads_changes_no_bit_of_a_test():
    p = calibrated(n=3000, k=10)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(calibrant.hypotest.CMETest()(p).pvalue)
    assert found[0] == found[1]
