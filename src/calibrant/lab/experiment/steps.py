"""Steps: units of work, identified by everything that determines their result."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from calibrant.lab.store import filename

FORMAT = 1
"""Version of the format of the step files; a change invalidates all of them."""

Kind = Literal["train", "logits-calibration", "logits-test", "tune", "fit", "evaluate", "learn"]

SPLITS: Mapping[Kind, str] = {"train": "train", "logits-calibration": "calibration", "logits-test": "test"}
"""The only split that a step of each kind can use; other steps use the results of these."""

SUFFIXES: Mapping[Kind, str] = {
    "train": ".pt",
    "logits-calibration": ".npz",
    "logits-test": ".npz",
    "tune": ".npz",
    "fit": ".json",
    "evaluate": ".json",
    "learn": ".json",
}

COSTS: Mapping[Kind, int] = {"train": 100, "evaluate": 20, "tune": 4}
"""Relative duration of steps, for the progress bar."""


@dataclass(frozen=True, eq=False)
class Step:
    """A unit of work.

    Attributes
    ----------
    kind : str
        The kind of work.
    name : str
        Unique in the experiment, and part of the file name.
    settings : mapping
        Everything that determines the result, except the steps that it needs; plain values.
    needs : mapping of str to Step
        Steps whose results are used, by their role.
    words : str
        Description of the work, for the progress display.
    """

    kind: Kind
    name: str
    settings: Mapping[str, Any]
    needs: Mapping[str, "Step"] = field(default_factory=dict)
    words: str = ""

    @cached_property
    def digest(self) -> str:
        """Checksum of everything that determines the result, except the code."""
        content = {
            "format": FORMAT,
            "kind": self.kind,
            "settings": self.settings,
            "needs": {role: step.digest for role, step in self.needs.items()},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def filename(self) -> str:
        """Name of the file that holds the result."""
        return filename(self.name, self.digest, SUFFIXES[self.kind])

    @property
    def split(self) -> str:
        """The split whose rows the step uses; an error for a kind that must see none."""
        if self.kind not in SPLITS:
            raise RuntimeError(f"the step {self.name!r} must not see the splits of the data.")
        return SPLITS[self.kind]

    @property
    def cost(self) -> int:
        """Relative share of the progress bar."""
        return COSTS.get(self.kind, 1)

    def with_needs(self) -> Iterator["Step"]:
        """Yield all steps that this one needs, directly or indirectly, and finally itself."""
        for step in self.needs.values():
            yield from step.with_needs()
        yield self
