"""Temperature, vector and matrix scaling of files by a few passes: each sums a gradient and a Hessian over all rows."""

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.newton import Curve, Minimum, descend, newton_step
from calibrant.binning.cells.weights import ONE
from calibrant.calibrators import MatrixScaling, TemperatureScaling, VectorScaling
from calibrant.calibrators.fitting.log_odds import floored
from calibrant.calibrators.fitting.newton import minimise
from calibrant.calibrators.fitting.softmax import Diagonal, Full, PenalisedLikelihood
from calibrant.calibrators.multiclass.affine import RIDGE, AffineScaling, as_matrix
from calibrant.exceptions import InputError
from calibrant.scale.batch import Counters, clean
from calibrant.scale.pack import CHECK, opened, sealed
from calibrant.scale.reading import Reading

if TYPE_CHECKING:
    from calibrant.calibrators import Calibrator
    from calibrant.scale.local import Sketched

MAGIC, VERSION = b"calibrant passes", 1

METHODS = {"ts": TemperatureScaling, "vs": VectorScaling, "ms": MatrixScaling}
"""What can be fitted by passes, by the names in CALIBRATORS."""

MOST_PARAMETERS = 2000
"""The Hessian of more of them would not fit into the messages between workers."""

LAST = 1e-14
"""A step of the temperature that is expected to gain less than this is the last one."""

NO_LOSS = 1e-9
"""With a smaller mean loss every label is the most probable class, and the loss has no minimum."""


class Pass:
    """Sums over rows at given parameters of a softmax of affine scores, which can be added like sketches.

    Parameters, (K, 2) or (K, K + 1), are factors of log-probabilities, of a class's own or of all, and an intercept.
    """

    def __init__(self, classes: Sequence[Hashable], parameters: FloatArray) -> None:
        self.classes, self.parameters = tuple(classes), parameters
        self.counters = Counters()
        self.mass = np.zeros(len(self.classes))
        self.loss = 0.0
        self.gradient = np.zeros(parameters.size)
        self.hessian = np.zeros((parameters.size, parameters.size))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.counters.rows

    def update(self, probs: object, labels: object, weights: object = None, *, skip_bad: bool = False) -> Self:
        """Add a batch of rows, as `Sketch.update` does."""
        batch = clean(probs, labels, self.classes, skip_bad=skip_bad, weights=weights)
        self.counters = self.counters + Counters(len(batch.labels), batch.n_missing, batch.n_outside)
        if not len(batch.labels):
            return self
        matrix = np.column_stack([1.0 - batch.probs, batch.probs]) if len(self.classes) == 2 else batch.probs
        with np.errstate(divide="ignore"):
            scores = floored(np.log(matrix, dtype=np.float64))
        each = np.ones(len(scores)) if batch.units is None else batch.units / ONE
        k = len(self.classes)
        family = Diagonal if self.parameters.shape[1] == 2 else Full
        likelihood = PenalisedLikelihood(family(scores), batch.labels, each)
        total = float(each.sum())
        loss, gradient = likelihood(self.parameters.ravel())
        self.loss += total * loss
        self.gradient += total * gradient
        self.hessian += total * likelihood.hessian()
        self.mass += np.bincount(batch.labels, each, minlength=k)
        return self

    def __add__(self, other: "Pass") -> "Pass":
        both = Pass(self.classes, self.parameters)
        for name in ("counters", "mass", "loss", "gradient", "hessian"):
            setattr(both, name, getattr(self, name) + getattr(other, name))
        return both

    def to_bytes(self) -> bytes:
        """Return the sums as bytes, which workers send."""
        head = {"classes": list(self.classes), "counters": vars(self.counters), "shape": list(self.parameters.shape)}
        arrays = (self.parameters, self.mass, np.array([self.loss]), self.gradient, self.hessian)
        return sealed(MAGIC, VERSION, json.dumps(head), (array.astype("<f8").tobytes() for array in arrays))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the sums that `to_bytes` wrote."""
        head, end = opened(data, MAGIC, VERSION, "sum of a pass")
        numbers = np.frombuffer(data[:-CHECK], "<f8", offset=end)
        (k, m), size = head["shape"], head["shape"][0] * head["shape"][1]
        parameters, mass, loss, gradient, hessian = np.split(numbers, np.cumsum([size, k, 1, size]))
        found = cls(head["classes"], parameters.reshape(k, m).copy())
        found.counters, found.mass, found.loss = Counters(**head["counters"]), mass.copy(), float(loss[0])
        found.gradient, found.hessian = gradient.copy(), hessian.reshape(size, size).copy()
        return found


@dataclass(frozen=True, eq=False)
class PassReading(Reading):
    """What every file holds, and the parameters at which a pass sums over it."""

    at: FloatArray | None = None

    is_exact: ClassVar[bool] = False

    def empty(self) -> Any:
        """Return sums over no rows."""
        names = super().empty().classes
        return Pass(names, np.tile([1.0, 0.0], (len(names), 1)) if self.at is None else self.at)


Engine = Callable[[PassReading], "Sketched"]
"""Goes through all files, as `sketch_files` does, and returns what it found."""


class Fitted(NamedTuple):
    """A calibrator that was fitted by passes.

    Attributes
    ----------
    calibrator : Calibrator
    n_samples : int
    n_passes : int
    shares : ndarray of shape (K,)
        Of the classes among the rows.
    before, after : float
        Mean log loss of the rows.
    bad : mapping of str to str
        Files that were left out.
    """

    calibrator: "Calibrator"
    n_samples: int
    n_passes: int
    shares: FloatArray
    before: float
    after: float
    bad: dict[str, str]


class _Passes:
    """The mean loss of all rows, plus a square of the distance from a target: what `minimise` takes."""

    def __init__(self, engine: Engine, reading: Reading) -> None:
        self.engine = engine
        self.own = {field.name: getattr(reading, field.name) for field in fields(Reading)}
        self.n_passes, self.bad = 0, dict[str, str]()
        self.target = np.zeros(0)
        self.found = Pass((), np.zeros((0, 2)))

    def sums(self, parameters: FloatArray) -> Pass:
        """Go through all files."""
        result = self.engine(PassReading(**self.own, at=parameters))
        self.n_passes += 1
        self.bad |= dict(result.bad)
        if not result.sketch.n_samples:
            raise InputError("the files hold no rows: nothing can be fitted.")
        self.found = result.sketch
        return self.found

    def around(self, target: FloatArray) -> Self:
        """Choose the target."""
        self.target = target
        return self

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        found = self.sums(x.reshape(self.target.shape))
        away, total = x - self.target.ravel(), found.mass.sum()
        return float(found.loss / total + RIDGE * away @ away), found.gradient / total + 2 * RIDGE * away

    def hessian(self) -> FloatArray:
        """Return the Hessian at the point of the last call."""
        size = len(self.found.gradient)
        return np.asarray(self.found.hessian / self.found.mass.sum() + 2 * RIDGE * np.eye(size))

    def product(self, v: FloatArray) -> FloatArray:
        """Return the product of the Hessian with a vector."""
        return self.hessian() @ v

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the Hessian."""
        return np.diag(self.hessian()).copy()


def fit_passes(engine: Engine, reading: Reading, method: str) -> Fitted:
    """Fit temperature, vector or matrix scaling to all rows of many files, of which few are in memory at any time.

    Parameters
    ----------
    engine : callable
        Goes through the files: ``lambda reading: sketch_files(files, reading)``, or the same with `sketch_dask` or
        `sketch_spark`.
    reading : Reading
    method : {"ts", "vs", "ms"}

    Returns
    -------
    Fitted
        Its calibrator is that of a fit to the rows, to 1e-6.

    Examples
    --------
    >>> import polars as pl
    >>> from tempfile import NamedTemporaryFile
    >>> from calibrant.scale import sketch_files
    >>> with NamedTemporaryFile(suffix=".csv") as file:  # Predictions of 0.8 come true in three of five rows.
    ...     pl.DataFrame({"p": [0.8] * 5, "y": [1, 1, 1, 0, 0]}).write_csv(file.name)
    ...     found = fit_passes(lambda one: sketch_files([file.name], one), Reading.of(file.name), "ts")
    >>> found.calibrator.predict_proba([[0.2, 0.8]]).round(4).tolist()
    [[0.4, 0.6]]
    """
    if method not in METHODS:
        raise InputError(f"passes over files can fit {', '.join(METHODS)}, but not {method}.")
    passes = _Passes(engine, reading)
    identity = np.tile([1.0, 0.0], (reading.n_classes, 1))
    if reading.n_classes * (reading.n_classes + 1 if method == "ms" else 2) > MOST_PARAMETERS:
        raise InputError(
            f"{method} of {reading.n_classes} classes has more than {MOST_PARAMETERS} parameters. Use vs or ts."
        )
    first = passes.sums(identity)
    before, names = first.loss / first.mass.sum(), first.classes
    calibrator = METHODS[method](scores="logits" if reading.logits else "probs")
    calibrator.classes_ = np.array(names)
    found = _temperature(passes, first)
    if isinstance(calibrator, AffineScaling):
        start = np.tile([found.x[0], 0.0], (reading.n_classes, 1))
        found = _centred(minimise(passes.around(start), start.ravel(), max_iter=calibrator.max_iter))
        if method == "ms":
            matrix = as_matrix(found.x.reshape(reading.n_classes, 2))
            found = minimise(passes.around(matrix), matrix.ravel(), max_iter=calibrator.max_iter)
        calibrator._keep(found, reading.n_classes)  # noqa: SLF001 (what its own fit does)
    else:
        calibrator.temperature_, calibrator.gradient_norm_ = 1.0 / float(found.x[0]), found.gradient_norm
        calibrator.converged_, calibrator.n_iter_ = found.converged, found.n_iter
    shares = passes.found.mass / passes.found.mass.sum()
    return Fitted(calibrator, first.n_samples, passes.n_passes, shares, float(before), found.value, passes.bad)


def _temperature(passes: _Passes, first: Pass) -> Minimum:
    """Return the inverse temperature of the smallest mean loss."""
    k, known = len(first.classes), {1.0: first}

    def evaluate(x: FloatArray) -> Curve:
        beta = float(x[0])
        found = known.pop(beta, None) or passes.sums(np.tile([beta, 0.0], (k, 1)))
        slope, curve = found.gradient[::2].sum(keepdims=True), found.hessian[::2, ::2].sum(keepdims=True)
        total = found.mass.sum()
        return float(found.loss / total), slope / total, curve / total

    found = descend(evaluate, newton_step, np.ones(1), last=LAST, max_iter=60)
    if not found.converged or found.x[0] <= 0 or found.value < NO_LOSS:
        raise InputError(
            "no temperature fits these rows: every label is the most probable class, or the columns are not in the "
            "order of the classes. Fit to a part of the rows without --engine to see which."
        )
    return found


def _centred(found: Minimum) -> Minimum:
    """Return the minimum of vector scaling with intercepts whose mean is 0, as that of the target.

    A number added to all intercepts changes no probability. The search leaves it to rounding, which depends on how the
    rows are split, at about 1e-8.
    """
    parameters = found.x.reshape(-1, 2).copy()
    parameters[:, 1] -= parameters[:, 1].mean()
    return found._replace(x=parameters.ravel())
