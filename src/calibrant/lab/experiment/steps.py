"""Steps: units of work, identified by everything that determines their result."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from calibrant.lab.store import filename

FORMAT = 1
"""Version of the format of the step files; a change invalidates all of them."""


@dataclass(frozen=True)
class Kind:
    """A kind of work: the ending of its files, its relative duration, and the only split that it can use."""

    suffix: str
    cost: int = 1
    split: str | None = None


KINDS: Mapping[str, Kind] = {
    "train": Kind(".pt", cost=100, split="train"),
    "logits-calibration": Kind(".npz", split="calibration"),
    "logits-test": Kind(".npz", split="test"),
    "fit": Kind(".json"),
    "tune": Kind(".npz", cost=4),
    "evaluate": Kind(".json", cost=20),
    "learn": Kind(".json"),
}
"""The kinds of work, each after those whose results it uses."""


@dataclass(frozen=True, eq=False)
class Step:
    """A unit of work."""

    kind: str  # A key of `KINDS`.
    name: str  # Unique in the experiment, and part of the file name.
    settings: Mapping[str, Any]  # Everything that determines the result, except the steps that it needs; plain values.
    needs: Mapping[str, "Step"] = field(default_factory=dict)  # Steps whose results are used, by their role.
    words: str = ""  # Description of the work, for the progress display.

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
        return filename(self.name, self.digest, KINDS[self.kind].suffix)

    @property
    def split(self) -> str:
        """The split whose rows the step uses; other steps must see none, but use the results of these."""
        split = KINDS[self.kind].split
        if split is None:
            raise RuntimeError(f"the step {self.name!r} must not see the splits of the data.")
        return split

    @property
    def cost(self) -> int:
        """Relative share of the progress bar."""
        return KINDS[self.kind].cost

    def with_needs(self) -> Iterator["Step"]:
        """Yield all steps that this one needs, directly or indirectly, and finally itself."""
        for step in self.needs.values():
            yield from step.with_needs()
        yield self
