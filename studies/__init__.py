"""Simulations of level, power and coverage of what the library computes: `python -m studies NAME`."""
