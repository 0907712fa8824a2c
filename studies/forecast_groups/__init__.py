"""How often a search for groups of forecasts finds what is off, and what is not."""
