"""Names as people and papers write them, in upper or lower case, where it is clear what is meant."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from calibrant.exceptions import InputError


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
        name = given.strip().lower()
        if name in self.ambiguous:
            raise InputError(f"{given!r} may mean two things: {self.ambiguous[name]}")
        name = self.aliases.get(name, name)
        return name if name in known else given
