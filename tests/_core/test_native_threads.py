"""How many threads are used unless the caller says so."""

import os

import pytest

from calibrant._core import threads
from naming import each


@pytest.fixture
def processors(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return monkeypatch


@each(
    "limit, expected", [("1", 1), ("3", 3), (" 2 ", 2), ("2,4", 2), ("8", 4), ("", 4), ("0", 4), ("-1", 4), ("many", 4)]
)
def test_the_usual_variable_limits_the_threads_to_fewer_than_there_are_processors(processors, limit, expected):
    processors.setenv("OMP_NUM_THREADS", limit)
    assert threads.available_threads() == expected


def test_every_processor_is_used_if_nothing_is_said(processors):
    assert threads.available_threads() == 4
    processors.delattr(os, "sched_getaffinity")
    processors.setattr(os, "cpu_count", lambda: 3)
    assert threads.available_threads() == 3


def test_results_come_in_the_order_of_the_jobs_on_any_number_of_threads():
    for n_threads in (1, 2, 5):
        assert list(threads.in_order(lambda job: job * job, range(20), n_threads)) == [job * job for job in range(20)]
        jobs = (job for job in range(20))
        assert list(threads.in_order(lambda job: job * job, jobs, n_threads)) == [job * job for job in range(20)]


def test_jobs_of_an_iterator_are_made_as_they_are_needed():
    made = []

    def jobs():
        for job in range(50):
            made.append(job)
            yield job

    found = threads.in_order(lambda job: job, jobs(), 2)
    assert next(found) == 0
    assert len(made) < 10
    assert list(found) == list(range(1, 50))
