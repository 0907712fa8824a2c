"""Several cases in one test, where each takes less time than a test of its own would cost."""

from contextlib import contextmanager


@contextmanager
def case(name):
    """Let whatever fails inside say which case it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"case: {name}")
        raise
