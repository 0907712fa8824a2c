"""Names as people and papers write them, in any case, as long as the meaning is clear."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from calibrant._border.text import suggestion
from calibrant.exceptions import InputError

_SAME_START = 4
"""Names that share this many first letters are considered similar."""


@dataclass(frozen=True)
class Spellings:
    """Alternative spellings of the names in a table.

    Attributes
    ----------
    aliases : mapping of str to str
        From an alternative name, in lower case, to the name in the table.
    ambiguous : mapping of str to str
        From an ambiguous name, in lower case, to its meanings, which end the sentence of the error.
    """

    aliases: Mapping[str, str] = field(default_factory=dict)
    ambiguous: Mapping[str, str] = field(default_factory=dict)

    def find(self, given: str, known: Collection[str]) -> str:
        """Return the name in the table, or an unknown name unchanged; refuse an ambiguous one.

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
        """Return at most three names in the table that were probably meant; alternative spellings count too.

        Examples
        --------
        >>> spellings = Spellings({"sigmoid": "platt", "temperature": "ts"})
        >>> spellings.near("sigmod", ["platt", "ts"]), spellings.near("tempscale", ["platt", "ts"])
        (['platt'], ['ts'])
        """
        # Abbreviations resemble anything.
        words = {alias: name for alias, name in self.aliases.items() if len(alias) > 3 and name in known}
        written, given = {**words, **{name: name for name in known}}, given.lower()
        close = (
            get_close_matches(given, written, n=3, cutoff=0.6)
            or [name for name in written if name[:_SAME_START] == given[:_SAME_START]]
            or [name for name in get_close_matches(given, known, n=3, cutoff=0.4) if name[:1] == given[:1]]
        )
        return list(dict.fromkeys(written[name] for name in close))[:3]


def meant(name: str, known: Collection[str]) -> str:
    """Return "Did you mean ...?" with similar names, or a list of all names.

    Examples
    --------
    >>> meant("eec", ["ece", "nll"]), meant("zzz", ["ece", "nll"])
    ("Did you mean 'ece'?", 'They are: ece, nll.')
    """
    return suggestion(name.lower(), known).strip() or f"They are: {', '.join(known)}."
