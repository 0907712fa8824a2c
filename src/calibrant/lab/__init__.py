"""Data sets, training, and experiments that compare networks and calibrators."""
