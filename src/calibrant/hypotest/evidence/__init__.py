"""What the omnibus test looks at: statistics that need no fit to the labels, evaluated on many redraws of them."""
