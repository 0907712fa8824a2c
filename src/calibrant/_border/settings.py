"""Settings that are refused: numbers out of range, and words that name no choice."""

from typing import TypeGuard

import numpy as np

from calibrant.exceptions import InputError


def check_count(value: object, name: str) -> None:
    """Refuse a setting that is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, but is {value!r}.")


def check_not_negative(value: object, name: str) -> None:
    """Refuse a setting that is not a finite number of at least 0."""
    if not (_is_number(value) and 0 <= value < np.inf):
        raise InputError(f"{name} must be a finite number of at least 0, but is {value!r}.")


def check_positive(value: object, name: str) -> None:
    """Refuse a setting that is not a finite number above 0."""
    if not (_is_number(value) and 0 < value < np.inf):
        raise InputError(f"{name} must be a positive number, but is {value!r}.")


def check_option(value: object, name: str, *options: str) -> None:
    """Refuse a setting that is none of several words."""
    if value not in options:
        *others, last = (f'"{option}"' for option in options)
        raise InputError(f"{name} must be {', '.join(others)} or {last}, but is {value!r}.")


def check_level(level: object, name: str = "level") -> None:
    """Refuse a level, such as that of confidence limits, that is not strictly between 0 and 1."""
    if not (_is_number(level) and 0 < level < 1):
        raise InputError(f"{name} must be a number between 0 and 1, but is {level!r}.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
