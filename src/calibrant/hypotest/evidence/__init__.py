"""Statistics of the omnibus test, which need no fit to the labels and are evaluated on many redraws of them."""
