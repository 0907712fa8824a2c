"""Tests of calibration: frozen settings called on `Predictions` or `Forecasts`."""

from calibrant._border.lazy import from_stub
from calibrant.hypotest.holm import holm as holm  # Imported eagerly: its module has the same name.

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
