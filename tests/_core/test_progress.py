"""Steps that long work tells, as a bar hears them."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from calibrant import Predictions
from calibrant._core.progress import listening, portion, tell, told
from calibrant.calibrators import CALIBRATORS
from calibrant.groups import GroupBoosting, GroupSearch

RNG = np.random.default_rng(5)
PROBS = RNG.dirichlet(np.ones(3), 300)
LABELS = (PROBS.cumsum(axis=1) > RNG.random((300, 1))).argmax(axis=1)
FEATURES = {"region": RNG.choice(["north", "south"], 300), "age": RNG.integers(20, 80, 300)}


@pytest.fixture
def heard():
    """Return what a listener hears."""
    return []


@pytest.fixture(autouse=True)
def _listen(heard):
    with listening(lambda done, total: heard.append((done, total))):
        yield


def test_parts_of_parts_never_go_back_and_end_at_the_whole(heard):
    for i in range(3):
        with portion(i, 3):
            for _ in told("abcd", 4):
                with portion(0, 2):
                    tell(1, 7)
        tell(i + 1, 3)
    shares = [done / total for done, total in heard if total != 3 * 2 * 7]
    assert shares == sorted(shares)
    assert heard[-1] == (3, 3)


def test_only_the_innermost_listener_hears_and_none_after_it(heard):
    inner = []
    with listening(lambda *step: inner.append(step)):
        tell(1, 2)
    with pytest.raises(KeyError), listening(inner.append):
        raise KeyError
    tell(5)
    assert (inner, heard) == ([(1, 2)], [(5, 0)])


def test_other_threads_are_not_heard(heard):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(tell, 1, 2).result()
    assert heard == []


def known(heard):
    """Return the shares of the whole, without steps of a search whose end nobody knows."""
    return [done / total for done, total in heard if total]


@pytest.mark.parametrize("method", ["irova", "ts>irova", "vs>ts>irm", "iop-deep", "stack"])
def test_what_is_fitted_in_parts_counts_them(method, heard):
    CALIBRATORS[method]().fit(PROBS, LABELS)
    shares = known(heard)
    assert len(set(shares)) > 1
    assert all(before <= after for before, after in pairwise(shares))
    assert shares[-1] == 1 or method in ("iop-deep", "stack")  # These may need less.


@pytest.mark.parametrize("method", ["ts", "vs", "ms", "dirichlet", "platt", "beta", "iop-diag"])
def test_what_is_fitted_by_a_search_counts_its_steps(method, heard):
    calibrator = CALIBRATORS[method]()
    binary = method in ("platt", "beta")
    calibrator.fit(PROBS[:, 1] if binary else PROBS, LABELS == 1 if binary else LABELS)
    assert known(heard) == []
    assert heard[:2] == [(1, 0), (2, 0)]


def test_a_search_for_groups_counts_to_its_end(heard):
    predicted = Predictions(np.full(300, 0.5), (FEATURES["region"] == "north").astype(int))
    found = GroupSearch(least_rows=20)(predicted, features=FEATURES, rng=0)
    shares = known(heard)
    assert found.n_found > 0
    assert len(set(shares)) >= 5
    assert (shares == sorted(shares), shares[-1]) == (True, 1.0)


def test_a_fix_of_groups_counts_its_steps(heard):
    labels = FEATURES["region"] == "north"
    fixed = GroupBoosting(least_rows=20).fit(Predictions(np.full(300, 0.5), labels), features=FEATURES)
    assert len(fixed.offsets_) > 0
    assert heard[0] == (1, 0)
