"""How often the omnibus test rejects forecasts that are right, and forecasts that are wrong."""
