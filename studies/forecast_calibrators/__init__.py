"""What calibrators of forecasts leave on new rows: coverage, and what the omnibus test still finds."""
