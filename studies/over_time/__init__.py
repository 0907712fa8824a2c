"""How often `Watch` and `compare_periods` raise false alarms, how soon true ones, and whether they say what changed."""
