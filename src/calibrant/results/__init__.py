"""Results: frozen dataclasses that print themselves, with `as_record` and `to_frame` for all of them."""

from calibrant._border.lazy import from_stub

# Frozen dataclasses take time to make, and a command needs few of them.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
