"""Several calibrators fitted to the same rows; compositions share the fits of common first stages."""

from collections.abc import Iterator, Sequence
from copy import copy

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.progress import listening, tell
from calibrant._core.threads import in_order, one_blas_thread
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.combinations.compose import Compose
from calibrant.calibrators.combinations.members import all_converged
from calibrant.calibrators.estimator import clone

Path = tuple[str, ...]


class SharedStages:
    """Fit every distinct stage of several calibrators once; other calibrators than compositions have one stage.

    The searches start at `near`, fits of the same stages to similar rows.
    """

    def __init__(self, members: Sequence[Calibrator], near: "SharedStages | None" = None) -> None:
        self.members = list(members)
        self.near = near
        self.fits: dict[Path, Calibrator] = {}
        self._paths = [_path(member) for member in self.members]
        self._shared = {path[:i] for path in self._paths for i in range(1, len(path))}

    @one_blas_thread()  # Stages are fitted in threads already.
    def learn(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Fit every stage to the output of the stages before it; stages at the same depth are fitted in parallel."""
        outputs: dict[Path, FloatArray] = {(): log_probs}
        stages = {
            path[: i + 1]: stage
            for path, member in zip(self._paths, self.members, strict=True)
            for i, stage in enumerate(_stages(member))
        }

        def task(here: Path) -> tuple[Calibrator, FloatArray | None]:
            before = outputs[here[:-1]]
            with listening(None):  # Stages that are fitted in parallel cannot share a progress bar.
                fit = self._fitted(here, stages[here], (before, labels, weights))
            return fit, fit.transform(before) if here in self._shared else None

        for depth in range(1, 1 + max(map(len, stages), default=0)):
            jobs = [path for path in stages if len(path) == depth]
            for here, (fit, after) in zip(jobs, in_order(task, jobs), strict=True):
                self.fits[here] = fit
                tell(len(self.fits), len(stages))
                if after is not None:
                    outputs[here] = after

    def transform(self, log_probs: FloatArray) -> Iterator[FloatArray]:
        """Yield the calibrated log-probabilities of each member, in order."""
        outputs: dict[Path, FloatArray] = {(): log_probs}
        for path in self._paths:
            result = log_probs
            for i in range(1, len(path) + 1):
                here = path[:i]
                result = outputs[here] if here in outputs else self.fits[here].transform(result)
                if here in self._shared:
                    outputs[here] = result
            yield result

    def fitted(self, place: int) -> Calibrator:
        """Return the fitted member at a place."""
        member, path = self.members[place], self._paths[place]
        stages = [self.fits[path[: i + 1]] for i in range(len(path))]
        if not isinstance(member, Compose):
            return copy(stages[0]).set_params(scores=member.scores)
        whole = Compose([clone(stage) for stage in member.stages])
        whole.stages_ = stages
        whole.converged_ = all_converged(stages)
        return whole

    def converged(self, place: int) -> bool:
        """Return whether all stages of a member that report convergence have converged."""
        path = self._paths[place]
        return all_converged([self.fits[path[: i + 1]] for i in range(len(path))])

    def _fitted(self, path: Path, stage: Calibrator, rows: tuple[FloatArray, IntArray, FloatArray]) -> Calibrator:
        if self.near is None:
            fresh: Calibrator = clone(stage)
            return fresh.learn(*rows)
        return copy(self.near.fits[path]).learn_again(*rows)


def _stages(member: Calibrator) -> list[Calibrator]:
    return list(member.stages) if isinstance(member, Compose) else [member]


def _path(member: Calibrator) -> Path:
    """Return keys of the stages: stages of the same class with the same settings have the same key."""
    return tuple(f"{type(stage).__name__}{_settings(stage)!r}" for stage in _stages(member))


def _settings(stage: Calibrator) -> dict[str, object]:
    """Return all settings except `scores`, because a stage is given log-probabilities."""
    return {name: value for name, value in stage.get_params().items() if name != "scores"}
