"""The base class of calibrators that contain a list of others."""

from typing import Any, ClassVar, Self

from calibrant.calibrators.calibrator import Calibrator, Level
from calibrant.calibrators.estimator import Estimator, clone
from calibrant.calibrators.inputs import RAW_LOGITS
from calibrant.exceptions import InputError

LEVELS: tuple[Level, ...] = ("low", "medium", "high")
"""Levels of data efficiency and expressiveness, in order."""


class WithMembers(Calibrator):
    """Base of the calibrators that have a list of calibrators as a setting.

    As in a scikit-learn pipeline, the settings of a member are addressed by its name: its class name in lower case,
    followed by -1, -2, ... if there are several members of that class.

    Attributes
    ----------
    list_name : str
        The name of the setting that holds the list.
    """

    list_name: ClassVar[str]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; if deep, also the members, by name, and their settings, as ``name__setting``."""
        settings = super().get_params(deep=deep)
        if deep:
            for name, place in self._places().items():
                member = settings[self.list_name][place]
                settings[name] = member
                settings.update({f"{name}__{key}": value for key, value in member.get_params().items()})
        return settings

    def set_params(self, **params: object) -> Self:
        """Change settings, members or their settings, by the names that `get_params` returns."""
        if self.list_name in params:
            setattr(self, self.list_name, params.pop(self.list_name))
        replaced = {place: params.pop(name) for name, place in self._places().items() if name in params}
        if replaced:
            members = getattr(self, self.list_name)
            setattr(self, self.list_name, [replaced.get(place, member) for place, member in enumerate(members)])
        return super().set_params(**params)

    def _places(self) -> dict[str, int]:
        """Return the index of each member in the list, by name."""
        members = getattr(self, self.list_name)
        if not isinstance(members, (list, tuple)):
            return {}
        names = [type(member).__name__.lower() for member in members]
        return {
            name if names.count(name) == 1 else f"{name}-{names[: place + 1].count(name)}": place
            for place, (name, member) in enumerate(zip(names, members, strict=True))
            if isinstance(member, Estimator)
        }

    def _members(self) -> list[Calibrator]:
        """Return the members, checked."""
        members = getattr(self, self.list_name)
        if not isinstance(members, (list, tuple)):
            raise TypeError(
                f"{self.list_name} must be a list of calibrators, such as [TemperatureScaling(), Identity()], "
                f"but is {members!r:.80}."
            )
        if not members:
            raise InputError(f"{self.list_name} must hold at least one calibrator, but is empty.")
        for i, member in enumerate(members):
            if not isinstance(member, Calibrator):
                raise TypeError(
                    f"{self.list_name} must hold calibrators, but entry {i} is {member!r:.80}. "
                    'Build one from its name with parse("ts").'
                )
        return list(members)

    def _fresh_members(self) -> list[Calibrator]:
        """Return clones, which will be given log-probabilities whatever their `scores`."""
        members = [clone(member) for member in self._members()]
        return [member.set_params(scores="logits") if member.scores == RAW_LOGITS else member for member in members]

    @property
    def preserves_argmax(self) -> bool:  # type: ignore[override]  # of the members
        """Whether every member preserves the argmax."""
        return all(member.preserves_argmax for member in self._members())

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # of the members
        """The sum of the members' numbers of parameters."""
        return " + ".join(member.n_parameters for member in self._members())

    @property
    def data_efficiency(self) -> Level:  # type: ignore[override]  # of the members
        """The level of the member that needs the most rows."""
        return LEVELS[min(LEVELS.index(member.data_efficiency) for member in self._members())]

    @property
    def expressiveness(self) -> Level:  # type: ignore[override]  # of the members
        """The level of the most flexible member."""
        return LEVELS[max(LEVELS.index(member.expressiveness) for member in self._members())]


def all_converged(members: list[Calibrator]) -> bool:
    """Return whether every fitted member that reports convergence has converged."""
    return all(getattr(member, "converged_", True) for member in members)
