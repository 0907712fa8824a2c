"""Predictions beyond one machine and one day: a mergeable sketch, and engines that fill it."""

from calibrant._border.lazy import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
