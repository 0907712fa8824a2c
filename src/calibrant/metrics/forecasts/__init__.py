"""Metrics of predictive distributions."""
