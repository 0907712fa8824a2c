"""Plots of results with matplotlib (extra [plot]), which is imported when the first is drawn."""

from calibrant._border.lazy import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
