"""Linear algebra on one thread, so that no number depends on how many there are."""

import threading
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

import calibrant.hypotest  # noqa: F401 (so that everything is loaded)
from calibrant import Predictions
from calibrant._blas import MANY_ROWS, one_blas_thread, one_blas_thread_for
from calibrant.calibrators import CALIBRATORS
from calibrant.metrics import NLL
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
def test_few_rows_do_not_change_a_setting():
    with one_blas_thread_for(MANY_ROWS - 1):
        assert threads() == {2}
    with one_blas_thread_for(MANY_ROWS):
        assert threads() == {1}


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("what", ["fit", "predict_proba", "metric"])
def test_long_sums_are_computed_on_one_thread(what, monkeypatch):
    seen = []
    scores = np.log(np.random.default_rng(0).dirichlet(np.ones(3), MANY_ROWS))
    labels = scores.argmax(axis=1)
    labels[::4] = 0
    identity = CALIBRATORS["identity"](scores="logits").fit(scores, labels)
    kind, name = (NLL, "per_row") if what == "metric" else (type(identity), "_fit" if what == "fit" else "_apply")
    plain = getattr(kind, name)
    monkeypatch.setattr(kind, name, lambda *args: (seen.append(threads()), plain(*args))[1])
    if what == "metric":
        NLL()(Predictions.from_logits(scores, labels))
    elif what == "fit":
        identity.fit(scores, labels)
    else:
        identity.predict_proba(scores)
    assert seen == [{1}]
    assert threads() == {2}


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("name", ["ms", "dirichlet"])
def test_the_number_of_threads_changes_no_bit(name):
    p = calibrated(n=3000, k=10)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(CALIBRATORS[name]().fit(p.probs, p.labels).predict_proba(p.probs))
    assert found[0].tobytes() == found[1].tobytes()
