"""Drawings of results for pages and notebooks, and what they share with figures by matplotlib."""

BLUE, RED = "#0072B2", "#D55E00"
"""Colours of a curve and of what is off: they stay apart for colour-blind readers and in print."""
