"""What is shown about one set of predictions, in sections requested by name; several models; forecasts."""
