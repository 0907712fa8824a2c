"""The option --base-rate of `calibrant apply`: probabilities of new rows for their own base rate."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from calibrant._border.types import FloatArray

AUTO = "auto"
"""The base rate that is estimated from the rows."""


@dataclass
class Shift:
    """How probabilities are moved, and what was found on the way.

    Attributes
    ----------
    base_rate : str
        As it was given.
    trained_rate : list of float, float or None
        What the probabilities are calibrated for.
    classes : list or None
        Their names, if these are known.
    lines : list of str
        What to print.
    found : dict
        What to write as JSON.
    """

    base_rate: str
    trained_rate: Any
    classes: "Iterable[object] | None" = None
    lines: list[str] = field(default_factory=list)
    found: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(
        cls, base_rate: str, trained_rate: str | None, fitted_to: object, classes: "Iterable[object] | None"
    ) -> "Shift":
        """Check the options, before anything is read; `fitted_to` is the share of each class that a calibrator saw."""
        from calibrant.cli.base_rates import as_numbers
        from calibrant.exceptions import InputError

        if base_rate != AUTO:
            as_numbers(base_rate, "--base-rate")
        if trained_rate is not None:
            return cls(base_rate, as_numbers(trained_rate, "--trained-rate"), classes)
        if fitted_to is None:
            raise InputError(
                "--base-rate needs --trained-rate, the share of the event that the probabilities are calibrated for: "
                "that of the rows the model or its calibrator was fitted to. Calibrators that are fitted from now on "
                "hold it."
            )
        return cls(base_rate, fitted_to, classes)

    def __call__(self, values: "FloatArray", *, logits: bool) -> "FloatArray":
        """Return probabilities, (n, K), or their logarithms, for the base rate."""
        import numpy as np

        from calibrant.calibrators import PriorShift
        from calibrant.calibrators.prior_shift import as_rates
        from calibrant.cli.base_rates import as_numbers

        old = as_rates(self.trained_rate, values.shape[1], "--trained-rate")
        if self.base_rate == AUTO:
            new = self._estimated(np.exp(values) if logits else values, old)
        else:
            new = as_rates(as_numbers(self.base_rate, "--base-rate"), len(old), "--base-rate")
        self.found |= {"trained_rate": old.tolist(), "base_rate": new.tolist()}
        target = "the one estimated" if self.base_rate == AUTO else "the one given"
        shown = f"{old[1]:.4g} to {new[1]:.4g}" if len(old) == 2 else f"the old one to {target}"
        self.lines.append(f"The base rate is moved from {shown}, which is right if each class looks as before.")
        shift = PriorShift(new, trained_rate=old).between(range(len(old)))
        return shift.transform(values) if logits else shift.predict_proba(values)

    def _estimated(self, probs: "FloatArray", old: "FloatArray") -> "FloatArray":
        return self._of_two(probs, old) if len(old) == 2 else self._of_several(probs, old)

    def _of_two(self, probs: "FloatArray", old: "FloatArray") -> "FloatArray":
        import numpy as np

        from calibrant.cli.base_rates import end_words
        from calibrant.decisions import estimate_base_rate
        from calibrant.exceptions import InputError
        from calibrant.results.writing import percent

        found = estimate_base_rate(probs, float(old[-1]))
        self.found["estimate"] = found
        self.lines.append(
            f"Estimated from {found.n_samples:,} rows: base rate {found.value:.4g}, {percent(found.level)} limits "
            f"{found.low:.4g} to {found.high:.4g}. {found.assumption}"
        )
        if not 0 < found.value < 1:
            raise InputError(end_words("FILE", found.value, found.low, found.high))
        return np.array([1 - found.value, found.value])

    def _of_several(self, probs: "FloatArray", old: "FloatArray") -> "FloatArray":

        from calibrant.cli.base_rates import NEVER, usable_shares
        from calibrant.decisions import estimate_base_rates
        from calibrant.results.deciding import base_rates_words

        names = self.classes or [f"class {j}" for j in range(len(old))]
        found = estimate_base_rates(probs, old, classes=names)
        self.found["estimate"] = found
        self.lines.append(base_rates_words(found))
        if (found.value == 0).any():
            self.lines.append(NEVER)
        return usable_shares(found, "FILE")
