"""Raw input to clean arrays: the only place that validates data."""
