"""Units of work: what is computed in one go and kept as one small file."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np

from calibrant import __version__
from calibrant.lab.store import Store, filename, pack_json


class Unit(ABC):
    """A part of a study; concrete units are frozen dataclasses, so that they can be sent to a worker."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in progress lines, matched by the option `--only`; no other unit has it."""

    @property
    @abstractmethod
    def settings(self) -> object:
        """Everything that decides the values, except the code itself and its version: it is written out by `repr`."""

    @abstractmethod
    def compute(self) -> Any:
        """Return the values, as JSON can hold them; None where there is none."""

    def read(self, values: Any) -> Any:
        """Return the values of a file as the tables use them: an array, NaN for None."""
        return np.array(values, dtype=np.float64)

    @property
    def filename(self) -> str:
        """Name of the file that holds the values."""
        digest = hashlib.sha256(repr((__version__, self.settings)).encode()).hexdigest()
        return filename(self.name, digest, ".json")


@dataclass(frozen=True)
class Simulation(Unit):
    """A function that is called with some arguments and then with random numbers; its values are plain.

    Attributes
    ----------
    title : str
        Name of the unit.
    function : callable
        Of the arguments, then a `numpy.random.Generator`. It is defined at the top of a module.
    arguments : tuple
    seed : int or tuple of int
    """

    title: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    seed: int | tuple[int, ...]

    @property
    def name(self) -> str:
        """Name in progress lines, matched by the option `--only`."""
        return self.title

    @property
    def settings(self) -> object:
        """Function, arguments and seed."""
        return self.title, _plain(self.function), _plain(self.arguments), self.seed

    def compute(self) -> Any:
        """Return what the function returns."""
        return self.function(*self.arguments, np.random.default_rng(self.seed))

    def read(self, values: Any) -> Any:
        """Return the values as they are."""
        return values


def _plain(value: object) -> object:
    """Return a value whose `repr` is the same in every process: that of a function holds an address."""
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, [_plain(getattr(value, field.name)) for field in fields(value)]
    return f"{value.__module__}.{value.__qualname__}" if isinstance(value, FunctionType) else value


def simulations(cells: Iterable[tuple[str, Callable[..., Any], tuple[Any, ...]]], seed: int) -> list[Simulation]:
    """Return a unit for every title, function and arguments; each has random numbers of its own."""
    return [Simulation(*cell, (seed, index)) for index, cell in enumerate(cells)]


def content(unit: Unit) -> bytes:
    """Compute a unit; return what its file holds."""
    return pack_json(unit.compute())


def load(unit: Unit, store: Store) -> Any:
    """Return the values of a unit, or None if its file is missing, damaged or of other settings."""
    content = store.find(unit)
    return None if content is None else unit.read(json.loads(content))
