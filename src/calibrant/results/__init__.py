"""Outcomes: frozen, inert, and written out by one recursion."""

from calibrant._border.lazy import from_stub

# Frozen dataclasses take time to make, and a command needs few of them.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
