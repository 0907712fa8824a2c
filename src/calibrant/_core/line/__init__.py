"""Sums of a one-dimensional kernel over sorted rows, without a loop over pairs.

`sums` and `beta` are compiled; `twin` computes the same in plain NumPy.
"""
