"""What is compared with what. Imports are inside: a peer that is missing costs its own rows only."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One thing that calibrant and a peer both compute."""

    what: str
    peer: str
    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]
    suits: str = "both"
    note: str = ""

    def suited(self, data):
        return self.suits == "both" or (self.suits == "binary") == data.binary
