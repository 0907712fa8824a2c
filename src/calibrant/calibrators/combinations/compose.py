"""Compositions: one calibrator after another, also by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.progress import portion, tell
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator, are_calibrators
from calibrant.calibrators.combinations.members import WithMembers, all_converged
from calibrant.calibrators.estimator import clone
from calibrant.calibrators.inputs import RAW_LOGITS
from calibrant.calibrators.names import CALIBRATORS, THEN, calibrator_name
from calibrant.calibrators.rules import Rule
from calibrant.exceptions import InputError


def _starts_raw(scores: object, stages: Sequence[Calibrator]) -> bool:
    """Return whether only the first stage takes raw logits, and only if the composition does."""
    return [stage.scores == RAW_LOGITS for stage in stages] == [scores == RAW_LOGITS] + [False] * (len(stages) - 1)


@dataclass(eq=False, repr=False)
class Compose(WithMembers):
    """Apply calibrators one after another.

    Parameters
    ----------
    stages : list of Calibrator
        In order of application. Their own `scores` are ignored: the first stage is given what `scores` of the
        composition states, and every other stage the log-probabilities of the one before it.
    scores : {"probs", "logits", "raw-logits"}, default="probs"

    Attributes
    ----------
    stages_ : list of Calibrator
        Fitted.
    converged_ : bool
        Whether every stage that reports convergence has converged.

    Notes
    -----
    The stages are fitted in order, each to the output of the previous ones on the same rows; as in the published
    compositions, no rows are held out between them. A stage that is flexible enough to fit its rows exactly therefore
    leaves nothing for the next one to learn.

    If a stage gives a class probability 0, as binary isotonic regression can, scaling methods after it keep it at 0;
    while they are fitted, the probability counts as the smallest normal number.

    The predicted class is preserved if every stage preserves it.

    References
    ----------
    J. Zhang, B. Kailkhura, T. Y.-J. Han, "Mix-n-Match: ensemble and compositional methods for uncertainty calibration
    in deep learning", ICML 2020.

    Examples
    --------
    >>> from calibrant.calibrators import LaplaceGuard, TemperatureScaling
    >>> both = Compose([TemperatureScaling(), LaplaceGuard()])
    >>> both.fit([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0]).predict_proba([0.9, 1.0])[:, 1].round(3).tolist()
    [0.7, 0.9]
    >>> both.preserves_argmax
    True
    """

    stages: Sequence[Calibrator]
    scores: Literal["probs", "logits", "raw-logits"] = "probs"

    kind = "composition"
    use_when = "A flexible map is wanted, and a map with few parameters can do the coarse work first."
    list_name = "stages"
    rules = (
        Rule(("stages_",), are_calibrators, "must be calibrators"),
        Rule(("scores", "stages_"), _starts_raw, "must agree: only the first stage takes raw logits, if any does"),
    )

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        stages = self._fresh_members()
        if self.scores == RAW_LOGITS:
            stages[0].set_params(scores=RAW_LOGITS)
        for i, stage in enumerate(stages):
            with portion(i, len(stages)):
                stage.learn_from(log_probs, labels, weights)
            tell(i + 1, len(stages))
            if i + 1 < len(stages):
                log_probs = stage.transform_from(log_probs)
        self.stages_ = stages
        self.converged_ = all_converged(stages)

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        for stage in self.stages_:
            log_probs = stage.transform_from(log_probs)
        return log_probs

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        for stage in self.stages_:
            x = ops.log_softmax(stage.operations(x, k))
        return x

    def known_name(self) -> str:
        """Return the names of the stages in `CALIBRATORS`, such as "ts>beta"; "" if one of them has none."""
        names = [stage.known_name() for stage in self._members()]
        return THEN.join(names) if all(names) else ""

    @property
    def accepts_raw_logits(self) -> bool:  # type: ignore[override]  # of the first stage
        """Whether the first stage accepts them: later stages are given log-probabilities."""
        return self._members()[0].accepts_raw_logits

    @property
    def sensitive_to_zeros(self) -> bool:  # type: ignore[override]  # of the first stage
        """Whether the first stage is, because only that one is given the original zeros."""
        return self._members()[0].sensitive_to_zeros

    def check_raw_logits(self) -> None:
        """Refuse raw logits if the first stage does."""
        first = clone(self._members()[0]).set_params(scores=RAW_LOGITS)
        try:
            first.check_raw_logits()
        except InputError as error:
            raise InputError(
                f"only the first stage of a composition is given raw logits, and this first stage does not accept "
                f"them: {error} A temperature before it can be left out: maps of raw logits do not depend on the scale."
            ) from error


def parse(name: str, scores: Literal["probs", "logits", "raw-logits"] = "probs") -> Calibrator:
    """Return the calibrator of a name, or the composition of names joined by ">" in order of application.

    Parameters
    ----------
    name : str
        Such as "ts" or "ts>irova". `CALIBRATORS` lists the names; `calibrator_name` documents other spellings.
    scores : {"probs", "logits", "raw-logits"}, default="probs"

    Examples
    --------
    >>> parse("ts>guard")
    Compose(stages=[TemperatureScaling(), LaplaceGuard()])
    """
    return CALIBRATORS[calibrator_name(name)](scores=scores)


def composed(
    builders: list[Callable[..., Calibrator]], scores: Literal["probs", "logits", "raw-logits"] = "probs"
) -> Calibrator:
    """Return the composition of the calibrators that several rows of the table build."""
    stages = [build() for build in builders]
    if scores == RAW_LOGITS:  # A builder may choose other defaults for raw logits, as irova does.
        stages[0] = builders[0](scores=scores)
    return Compose(stages, scores)
