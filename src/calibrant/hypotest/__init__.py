"""Tests of calibration: frozen settings called on `Predictions` or `Forecasts`."""

from calibrant._border.lazy import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
