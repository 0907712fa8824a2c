"""Certified answers: whether this machine computes what the definitions say."""

from calibrant.selfcheck.checks import selfcheck

__all__ = ["selfcheck"]
