"""How many examples of a property are tried."""

from hypothesis import settings

USUAL = 100
"""Number of examples of a property in a usual run, unless a test says otherwise."""


def examples(n, *, derandomize=False):
    """Return settings for n examples in a usual run, and for as many times more as a thorough run has.

    A number written into `settings` would hold in a thorough run too.
    """
    return settings(max_examples=n * settings.default.max_examples // USUAL, derandomize=derandomize)
