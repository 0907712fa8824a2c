"""Read a table of a TOML file key by key; every error names the file, the key, and what is allowed."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NoReturn, TypeGuard

from calibrant.exceptions import InputError

REQUIRED = object()
"""Marks a key without a default."""


@dataclass
class Table:
    """A table of a TOML file."""

    content: Mapping[str, object]
    where: str  # The start of error messages: the file, and the name of the table if it has one.
    read: set[str] = field(default_factory=set)  # Keys that were asked for; `finish` refuses all others.

    def refuse(self, key: str, required: str, found: object) -> NoReturn:
        """Raise the error about a value."""
        raise InputError(f"{self.where}: {key} must be {required}, but is {found!r:.80}.")

    def get(self, key: str, default: object = REQUIRED) -> object:
        """Return a value, unchecked."""
        if not self.has(key) and default is REQUIRED:
            given = f"the keys are {', '.join(self.content)}" if self.content else "the table is empty"
            raise InputError(f"{self.where}: {key} is required, but {given}.")
        return self.content.get(key, default)

    @contextmanager
    def located(self, what: str = "") -> Iterator[None]:
        """Say in which table, and in what of it, an error in the body has its cause."""
        try:
            yield
        except InputError as error:
            raise InputError(f"{self.where}: {what}{error}") from error

    def has(self, key: str) -> bool:
        """Return whether a key is present; it is known from now on."""
        self.read.add(key)
        return key in self.content

    def optional_text(self, key: str) -> str | None:
        """Return a string, or None if the key is missing."""
        return self.text(key) if self.has(key) else None

    def text(self, key: str, choices: Collection[str] | None = None, default: object = REQUIRED) -> str:
        """Return a string that is not empty, and one of the choices if these are given."""
        value = self.get(key, default)
        if choices is not None and (not isinstance(value, str) or value not in choices):
            self.refuse(key, f"one of {', '.join(choices)}", value)
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, "a string that is not empty", value)
        return value

    def whole(self, key: str, default: object = REQUIRED, *, least: int = 0) -> int:
        """Return an integer."""
        value = self.get(key, default)
        if not _is_whole(value, least):
            self.refuse(key, f"a whole number of at least {least}", value)
        return value

    def share(self, key: str, default: float) -> float:
        """Return a number between 0 and 1."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
            self.refuse(key, "a number between 0 and 1", value)
        return float(value)

    def wholes(self, key: str, default: object = REQUIRED, *, least: int = 0) -> tuple[int, ...]:
        """Return a list of distinct integers, not empty."""
        value = self.get(key, default)
        entries = [entry for entry in value if _is_whole(entry, least)] if _is_list(value) else []
        if not entries or entries != value:
            self.refuse(key, f"a list of distinct whole numbers of at least {least}, not empty", value)
        return tuple(entries)

    def texts(self, key: str, choices: Collection[str] | None, default: object = REQUIRED) -> tuple[str, ...]:
        """Return a list of distinct strings, not empty."""
        value = self.get(key, default)
        entries = list(value) if isinstance(value, tuple) else value
        if not _is_list(entries):
            self.refuse(key, "a list of distinct names, not empty", value)
        names = []
        for entry in entries:
            if not isinstance(entry, str) or (choices is not None and entry not in choices):
                allowed = "a string" if choices is None else f"one of {', '.join(choices)}"
                self.refuse(f"each of {key}", allowed, entry)
            names.append(entry)
        return tuple(names)

    def table(self, key: str, default: object = REQUIRED) -> "Table":
        """Return a table inside this one."""
        value = self.get(key, default)
        if not isinstance(value, Mapping):
            self.refuse(key, f"a table, [{key}]", value)
        return Table(value, f"{self.where}: [{key}]")

    def tables(self, key: str) -> list["Table"]:
        """Return the tables of an array that is not empty."""
        value = self.get(key)
        if not isinstance(value, list) or not value or not all(isinstance(entry, Mapping) for entry in value):
            self.refuse(key, f"at least one table, [[{key}]]", value)
        return [Table(entry, f"{self.where}: [[{key}]] number {i}") for i, entry in enumerate(value, 1)]

    def finish(self) -> None:
        """Refuse keys that were never read."""
        unknown = [key for key in self.content if key not in self.read]
        if unknown:
            close = get_close_matches(unknown[0], self.read, n=1)
            advice = f"Did you mean {close[0]}?" if close else f"Known keys are {', '.join(sorted(self.read))}."
            raise InputError(f"{self.where}: {unknown[0]} is not a known key. {advice}")


def _is_whole(value: object, least: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list) and bool(value) and len({repr(entry) for entry in value}) == len(value)
