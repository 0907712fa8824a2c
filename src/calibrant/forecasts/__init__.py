"""Predictive distributions with observed targets, and what kernel methods need from them."""

from calibrant._border.lazy import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
