"""How often limits of scores of forecasts contain the true value."""
