"""Experiments: data sets, training, and the comparison of networks and calibrators."""
