"""Units of work: what is computed in one go and kept as one small file."""

import json
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from calibrant._typing import FloatArray
from calibrant.io import write_text


class Unit(ABC):
    """A part of a study; concrete units are frozen dataclasses, so that they can be sent to a worker."""

    content: ClassVar[str]
    """What the values are called in the file."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in progress lines, matched by the option `--only`; no other unit has it."""

    @property
    @abstractmethod
    def settings(self) -> str:
        """Digest of everything that decides the values, except the code itself."""

    @abstractmethod
    def compute(self) -> list[Any]:
        """Return the values, None where there is none."""

    @abstractmethod
    def is_possible(self, values: FloatArray) -> bool:
        """Whether the values of a file can be those of this unit."""

    def path(self, cache: Path) -> Path:
        """Return the file of the unit."""
        return cache / (re.sub(r"[^\w.-]+", "_", self.name) + ".json")


def complete(unit: Unit, cache: Path) -> str:
    """Compute the unit and write its file, all of it or nothing; return the name of the unit."""
    record = {"unit": unit.name, "settings": unit.settings, unit.content: unit.compute()}
    write_text(unit.path(cache), json.dumps(record))
    return unit.name


def load(unit: Unit, cache: Path) -> FloatArray | None:
    """Return the values of a unit, NaN for None; or None if its file is missing, damaged or of other settings."""
    try:
        record = json.loads(unit.path(cache).read_text(encoding="utf-8"))
        if record["settings"] != unit.settings:
            return None
        values = np.array(record[unit.content], dtype=np.float64)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return values if unit.is_possible(values) else None
