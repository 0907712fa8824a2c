"""Decisions: costs and net benefit, thresholds, when to abstain, and base rates."""

from calibrant._border.lazy import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
