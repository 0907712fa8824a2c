"""Outcomes: frozen, inert, and written out by one recursion."""

from calibrant._border.lazy import attributes, declared

_HOMES = declared(__file__)  # Frozen dataclasses take time to make, and a command needs few of them.

__all__ = list(_HOMES)

__getattr__ = attributes(__name__, _HOMES)
