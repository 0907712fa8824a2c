"""Names as people and papers write them, in upper or lower case, where it is clear what is meant."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from calibrant.exceptions import InputError

_SAME_START = 4
"""Names that begin with as many equal letters are alike, however they go on."""


@dataclass(frozen=True)
class Spellings:
    """Other ways to write the names of a table.

    Attributes
    ----------
    aliases : mapping of str to str
        From another name, in lower case, to that of the table.
    ambiguous : mapping of str to str
        From a name, in lower case, that may mean two things, to what it may mean: the end of a sentence.
    """

    aliases: Mapping[str, str] = field(default_factory=dict)
    ambiguous: Mapping[str, str] = field(default_factory=dict)

    def find(self, given: str, known: Collection[str]) -> str:
        """Return the name in the table, or an unknown name unchanged. Refuse what may mean two things.

        Examples
        --------
        >>> Spellings({"hb": "histogram"}).find("HB", ["histogram"])
        'histogram'
        """
        if given in known:
            return given
        name = given.strip().lower().replace("_", "-")
        if name in self.ambiguous:
            raise InputError(f"{given!r} may mean two things: {self.ambiguous[name]}")
        name = self.aliases.get(name, name)
        return name if name in known else given

    def near(self, given: str, known: Collection[str]) -> list[str]:
        """Return the names in the table that were probably meant, at most three, also by another way to write them.

        Examples
        --------
        >>> spellings = Spellings({"sigmoid": "platt", "temperature": "ts"})
        >>> spellings.near("sigmod", ["platt", "ts"]), spellings.near("tempscale", ["platt", "ts"])
        (['platt'], ['ts'])
        """
        words = {
            alias: name for alias, name in self.aliases.items() if len(alias) > 3
        }  # Abbreviations resemble anything.
        written, given = {**words, **{name: name for name in known}}, given.lower()
        close = (
            get_close_matches(given, written, n=3, cutoff=0.6)
            or [name for name in written if name[:_SAME_START] == given[:_SAME_START]]
            or [name for name in get_close_matches(given, known, n=3, cutoff=0.4) if name[:1] == given[:1]]
        )
        return list(dict.fromkeys(written[name] for name in close))[:3]


def meant(name: str, known: Collection[str]) -> str:
    """Return a question after the names that were probably meant, or else all of them.

    Examples
    --------
    >>> meant("eec", ["ece", "nll"]), meant("zzz", ["ece", "nll"])
    ("Did you mean 'ece'?", 'They are: ece, nll.')
    """
    near = get_close_matches(name.lower(), list(known), n=3)
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else f"They are: {', '.join(known)}."
