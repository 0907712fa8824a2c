"""Assessment of one set of predictions or forecasts, in sections requested by name, and comparison of several."""
