"""Coverage of limits of decisions, and whether promised error rates are kept."""
