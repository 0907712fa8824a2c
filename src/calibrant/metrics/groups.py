"""Headings under which metrics are shown, in this order."""

SCORES = "Scores"
CALIBRATION = "Calibration error"
PARTS = "Parts of a score"
KERNEL = "Kernel calibration error"
CLINICAL = "Clinical measures"
QUANTILES = "Calibration of quantiles and intervals"
SHARPNESS = "Sharpness"
