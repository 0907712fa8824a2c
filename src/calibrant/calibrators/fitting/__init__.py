"""Numerical machinery of the fits: likelihoods, their minima, and the scores that they depend on."""
