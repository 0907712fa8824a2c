"""The outcome of measuring with several metrics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from calibrant.results.estimate import Estimate
from calibrant.results.reading import Readable, aligned


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Measures(Readable, Mapping[str, float]):
    """Values of several metrics by their names: ``measures["ece"]``.

    Attributes
    ----------
    n_samples : int
    estimates : mapping of str to Estimate
        The same values with their details, and with what each metric means.
    """

    n_samples: int
    estimates: Mapping[str, Estimate]

    def __getitem__(self, name: str) -> float:
        return self.estimates[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __repr__(self) -> str:
        rows = [(name, f"{estimate.value:.4g}") for name, estimate in self.estimates.items()]
        return aligned(f"Measures of {self.n_samples:,} rows", rows)
