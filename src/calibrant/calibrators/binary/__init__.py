"""Calibrators that are functions of one score, and their extensions to several classes."""
