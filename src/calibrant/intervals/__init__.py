"""Confidence limits, by methods whose coverage was simulated."""

from calibrant._border.lazy import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
