"""Several calibrators fitted to the same rows, where compositions that begin alike share what they begin with."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.base import Calibrator
from calibrant.calibrators.compose import Compose
from calibrant.calibrators.estimator import clone
from calibrant.calibrators.members import all_converged

Path = tuple[str, ...]


class SharedStages:
    """Fits of the stages of several calibrators, each once.

    Parameters
    ----------
    members : sequence of Calibrator
        Not fitted. A composition is taken as its stages, any other as one stage.
    near : SharedStages, optional
        Fits of the same stages to much the same rows, from which the searches begin.
    """

    def __init__(self, members: Sequence[Calibrator], near: "SharedStages | None" = None) -> None:
        self.members = list(members)
        self.near = near
        self.fits: dict[Path, Calibrator] = {}
        paths = [_path(member) for member in self.members]
        self._shared = {path[:i] for path in paths for i in range(1, len(path))}

    def learn(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Fit every stage to the output of the stages before it."""
        outputs: dict[Path, FloatArray] = {(): log_probs}
        for member in self.members:
            path = _path(member)
            for i, stage in enumerate(_stages(member)):
                here = path[: i + 1]
                if here not in self.fits:
                    self.fits[here] = self._fitted(here, stage, (outputs[path[:i]], labels, weights))
                if here in self._shared and here not in outputs:
                    outputs[here] = self.fits[here].transform(outputs[path[:i]])

    def transform(self, log_probs: FloatArray) -> Iterator[FloatArray]:
        """Yield calibrated log-probabilities for every member, in order."""
        outputs: dict[Path, FloatArray] = {(): log_probs}
        for member in self.members:
            path = _path(member)
            result = log_probs
            for i in range(1, len(path) + 1):
                here = path[:i]
                result = outputs[here] if here in outputs else self.fits[here].transform(result)
                if here in self._shared:
                    outputs[here] = result
            yield result

    def fitted(self, place: int) -> Calibrator:
        """Return a member, fitted."""
        member = self.members[place]
        path = _path(member)
        stages = [self.fits[path[: i + 1]] for i in range(len(path))]
        if not isinstance(member, Compose):
            return copy(stages[0]).set_params(scores=member.scores)
        whole = Compose([clone(stage) for stage in member.stages])
        whole.stages_ = stages
        whole.converged_ = all_converged(stages)
        return whole

    def converged(self, place: int) -> bool:
        """Return whether all stages of a member have converged, of those that say so."""
        path = _path(self.members[place])
        return all_converged([self.fits[path[: i + 1]] for i in range(len(path))])

    def _fitted(self, path: Path, stage: Calibrator, rows: tuple[FloatArray, IntArray, FloatArray]) -> Calibrator:
        if self.near is None:
            fresh: Calibrator = clone(stage)
            return fresh.learn(*rows)
        return copy(self.near.fits[path]).learn_again(*rows)


def _stages(member: Calibrator) -> list[Calibrator]:
    return list(member.stages) if isinstance(member, Compose) else [member]


def _path(member: Calibrator) -> Path:
    """Return what identifies the stages: stages with the same settings are the same."""
    return tuple(f"{type(stage).__name__}{_settings(stage)!r}" for stage in _stages(member))


def _settings(stage: Calibrator) -> dict[str, Any]:
    """Return all settings but what scores are: a stage is given log-probabilities."""
    return {name: value for name, value in stage.get_params().items() if name != "scores"}
