"""Decisions: what predictions cost and are worth, where to act, when to abstain, and which base rate holds."""

from calibrant._border.lazy import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
