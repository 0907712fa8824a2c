"""Several cases in one test, where each takes less time than a test of its own would cost."""

import inspect
from contextlib import contextmanager
from functools import wraps

import pytest


@contextmanager
def case(name):
    """Let whatever fails inside say which case it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"case: {name}")
        raise


def each(names, rows):
    """Call a test, or every test of a class, with each of these rows, as `pytest.mark.parametrize` does.

    All of them are one test for pytest, whose own work for a test takes longer than most rows. Every row is tried, and
    those that fail are named. What the test gets from fixtures is made once, so rows must leave it as it is.

    Parameters
    ----------
    names : str
        Of the arguments, with commas between them.
    rows : iterable
        Their values: tuples if there are several arguments. Of a mapping, the values, which its keys name.

    Returns
    -------
    callable
        A decorator, whose `rows` are the names of the rows.
    """
    table = list(_table([name.strip() for name in names.split(",")], rows))
    if not table:
        raise ValueError("rows must hold at least one row, but there is none.")

    def decorate(test):
        if not isinstance(test, type):
            return _over(table, test)
        for name in [name for name in vars(test) if name.startswith("test_")]:
            setattr(test, name, _over(table, getattr(test, name)))
        return test

    decorate.rows = [name for name, _ in table]
    return decorate


def _table(words, rows):
    """Yield the name and the arguments of every row."""
    keys = iter(rows)
    for row in rows.values() if isinstance(rows, dict) else rows:
        values = dict(zip(words, row if len(words) > 1 else [row], strict=True))
        shown = ", ".join(f"{word}={value!r}"[:200] for word, value in values.items())
        yield next(keys) if isinstance(rows, dict) else shown, values


def _over(table, test):
    """Return a test that calls another with every row of a table."""

    @wraps(test)
    def every_row(*args, **given):
        failed = []
        for name, row in table:
            try:
                test(*args, **given, **row)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (all of them are raised below)
                error.add_note(f"row: {name}")
                failed.append(error)
        if len(failed) == 1:
            raise failed[0]
        if failed:
            raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows fail", failed)

    signature = inspect.signature(test)
    rest = [parameter for name, parameter in signature.parameters.items() if name not in table[0][1]]
    every_row.__signature__ = signature.replace(parameters=rest)
    return every_row
