"""Base classes of metrics."""
