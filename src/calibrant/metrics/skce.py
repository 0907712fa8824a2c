"""The squared kernel calibration error, of class predictions and of predictive distributions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.settings import check_count
from calibrant._border.types import Evaluator, FloatArray
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.kernels.algebra import JointKernel
from calibrant.kernels.discrepancy import Data, check_kernel, pair_matrix, row_sums, tune
from calibrant.kernels.general import GeneralKernel, as_sampled
from calibrant.kernels.pairs import PairMatrix
from calibrant.kernels.radial import RadialKernel
from calibrant.kernels.random_features import feature_pairs
from calibrant.kernels.redrawn import per_pair, relabelled, retargeted
from calibrant.metrics.base.counted import CountedMetric, as_counted_metric
from calibrant.metrics.base.kernel import Affordable, KernelMetric, monte_carlo_error
from calibrant.metrics.base.metric import Metric, Weights, relative
from calibrant.predictions import Predictions

MOST_SORTED = 2_000_000
"""Largest number of rows of two classes that are sorted for sums over all pairs of them."""

REDRAWN_ROWS = 1000
"""Number of targets to redraw for the values by chance of few rows; with more rows, each target is redrawn once."""


@dataclass(frozen=True)
class SKCE(KernelMetric):
    r"""Squared kernel calibration error.

    Parameters
    ----------
    kernel : tensor product of kernels, or callable, optional
        On pairs of a prediction and a target. Default: see `calibrant.kernels.discrepancy.default_kernel`. A callable
        is given two pairs ``(prediction, target)``, a prediction being a vector of probabilities or a distribution of
        one row; it is slow. On forecasts it is averaged over 64 draws of each row, or as many as
        `calibrant.kernels.SampledKernel` says; the details of the estimate hold the standard error of that.
    unbiased : bool, default=True
        The unbiased estimate may be negative, and is on average 0 for calibrated predictions; the biased one is never
        negative.
    blocksize : int or callable, optional
        Average the estimates of consecutive blocks of m rows, in time O(n m) instead of O(n^2). A callable is
        given n. An incomplete last block is left out. Default: one block.
    features : int, optional
        Approximate the kernel by D random waves, in time O(n D K): for many rows of many classes. The details
        of the estimate hold the standard error of this approximation.

    Notes
    -----
    With the matrix :math:`H` of `calibrant.kernels.pairs` and weights :math:`w`, the estimate of a block is

    .. math:: \frac{\sum_{i \ne j} w_i w_j H_{ij}}{\sum_{i \ne j} w_i w_j} \text{ (unbiased)}, \qquad
        \frac{\sum_{i, j} w_i w_j H_{ij}}{\sum_{i, j} w_i w_j} \text{ (biased)};

    over several blocks, numerators and denominators are summed. Two classes and an exponential kernel take
    O(n log n) for the whole; memory is O(n) always.

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests in multi-class classification: a unifying framework",
    NeurIPS 2019; "Calibration tests beyond classification", ICLR 2021.

    Examples
    --------
    >>> from calibrant.kernels import GaussianKernel, WhiteKernel
    >>> p = Predictions([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], labels=[1, 0, 0]).take([0, 1])
    >>> round(SKCE(GaussianKernel() @ WhiteKernel())(p), 4)  # residuals (-1, 1) and (1, -1): -2 / e
    -0.7358
    """

    label = "SKCE"
    meaning = "Squared kernel calibration error over all classes at once; may be negative by chance."
    principal = True
    methods = ("law",)
    cells = True
    kernel: JointKernel | GeneralKernel | None = None
    unbiased: bool = True
    blocksize: int | Callable[[int], int] | None = None
    features: int | None = None

    def _takes_copies(self, data: object) -> bool:
        """Return whether copies are admitted: cells give sums over all pairs, but not blocks or random waves."""
        whole = self.features is None and (self.blocksize is None or isinstance(self.blocksize, Affordable))
        return whole or getattr(data, "copies", None) is None

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        if self.features is not None:
            check_count(self.features, "features")
            if self.blocksize is not None:
                raise InputError("features and blocksize exclude each other: pass one of them.")
        if self.blocksize is not None and not callable(self.blocksize):
            self._check_blocksize(self.blocksize)

    @property
    def weights(self) -> Weights:  # type: ignore[override]  # depends on a setting
        """The biased estimate counts copies of a row as rows; the unbiased one never pairs a row with its copies."""
        return "pairs" if self.unbiased else "frequency"

    @property
    def limits(self) -> str | None:
        """The law of the unbiased estimate is known."""
        return "law" if self.unbiased else None

    @property
    def is_unbiased(self) -> bool:
        """Whether it is 0 on average for a calibrated model."""
        return self.unbiased

    @property
    def least_rows(self) -> int:  # type: ignore[override]  # likewise
        """Smallest number of rows."""
        return 2 if self.unbiased else 1

    def rows_in_block(self, data: Data) -> int:
        """Return the number of rows per block for this data."""
        n = data.n_samples
        if isinstance(self.blocksize, Affordable):
            n_classes = data.n_classes if isinstance(data, Predictions) else 1
            return n if self.sorts_pairs(data) else self.blocksize(n, n_classes)
        size = self.blocksize(n) if callable(self.blocksize) else self.blocksize or n
        self._check_blocksize(size)
        if size > n:
            raise InputError(f"blocksize must be at most the number of rows, {n}, but is {size}.")
        return int(size)

    def sorts_pairs(self, data: Data) -> bool:
        """Return whether sorting gives the sums over all pairs in about a second: default kernel, two classes."""
        if self.kernel is not None or not isinstance(data, Predictions):
            return False
        return data.n_classes == 2 and data.n_samples <= MOST_SORTED

    def prepare(self, data: Data) -> Evaluator:
        """Return the map from weights, (n, B), to B estimates."""
        if data.n_samples < self.least_rows:
            raise InputError("the unbiased SKCE needs at least two rows, but there is one. Pass SKCE(unbiased=False).")
        size, kernel = self.rows_in_block(data), tune(self.kernel, data)
        pairs = pair_matrix(data, kernel) if self.features is None else feature_pairs(data, kernel, self.features)
        if size < data.n_samples:
            return self._block_evaluator(pairs, size)
        diagonal = None if self.unbiased else pairs.diagonal()

        def evaluate(weights: FloatArray) -> FloatArray:
            weights = relative(weights)
            return self._mean(pairs.quadratic_forms(weights), weights, diagonal)

        return evaluate

    def value(self, data: Data) -> float:
        """Return the value at the data's own weights, cached with class predictions for `KCE` as well."""
        self.check(data)
        if not isinstance(data, Predictions):
            return super().value(data)
        squared = self.squared
        return data.once(("pairs", squared), lambda: squared._value(data))  # noqa: SLF001 (its own class)

    @property
    def squared(self) -> "SKCE":
        """The squared error itself, of which subclasses are functions."""
        return SKCE(self.kernel, self.unbiased, self.blocksize, self.features)

    def _value(self, data: Predictions) -> float:
        """Return the value from the sums of all rows if there is one block: confidence limits need these sums too."""
        if data.copies is not None:
            return self._of_cells(data)
        weights = data.weights[:, None]
        if data.n_samples < self.least_rows or self.features or self.rows_in_block(data) < data.n_samples:
            return float(self.prepare(data)(weights)[0])
        kernel, weights = tune(self.kernel, data), relative(weights)
        diagonal = None if self.unbiased else pair_matrix(data, kernel).diagonal()
        return float(self._mean(weights[:, 0] @ row_sums(data, kernel), weights, diagonal)[0])

    def _of_cells(self, data: Predictions) -> float:
        """Return the value of the cells of a sketch, whose rows also form pairs within a cell."""
        kernel, weights = tune(self.kernel, data), relative(data.weights)
        diagonal, own = pair_matrix(data, kernel).diagonal(), data.squares(weights)
        different = float(weights @ row_sums(data, kernel) + (weights**2 - own) @ diagonal)
        total, square = float(weights.sum()) ** 2, float(own.sum())
        if self.unbiased:
            return float(per_pair(np.array(different), np.array(total - square)))
        return (different + float(own @ diagonal)) / total

    def prepare_labels(self, data: Data) -> Evaluator:
        """Return the map from labels or targets, (n, B), to B estimates; the kernel of the predictions is shared."""
        kernel = tune(self.kernel, data)
        size = self.rows_in_block(data)
        if size < data.n_samples or self.features is not None or not isinstance(kernel, JointKernel):
            return Metric.prepare_labels(replace(self, kernel=kernel), data)
        if isinstance(data, Predictions):
            return relabelled(data, kernel, unbiased=self.unbiased)
        return retargeted(data, kernel, unbiased=self.unbiased)

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return the map from event counts in the cells of a sketch to values; redraws share the lengthscale."""
        if predictions.copies is None:
            return None
        return as_counted_metric(predictions, replace(self, kernel=tune(self.kernel, predictions)))

    def details(self, data: Data) -> Mapping[str, object]:
        """Give the lengthscale, the block size if it is not the whole, and the Monte Carlo error if there is one."""
        kernel = tune(self.kernel, data)
        size = self.rows_in_block(data)
        details: dict[str, object] = {"blocksize": size} if size < data.n_samples else {}
        if isinstance(kernel, JointKernel) and isinstance(kernel.terms[0].predictions, RadialKernel):
            details["lengthscale"] = kernel.terms[0].predictions.lengthscale
        if isinstance(data, Forecasts) and not isinstance(kernel, JointKernel):
            details["draws"] = as_sampled(kernel).n_draws
        return details | monte_carlo_error(self._estimates(data, kernel))

    def _estimates(self, data: Data, kernel: object) -> FloatArray | None:
        """Return independent estimates whose mean is the value, where it is a Monte Carlo mean."""
        if self.features is not None and self.features > 1:
            pairs = feature_pairs(data, kernel, self.features).weighted(data.weights)
            total, square = data.weights.sum() ** 2, (data.weights**2).sum()
            sums = 2 * pairs.estimates()
            return sums / (total - square) if self.unbiased else (sums + pairs.diagonal().sum()) / total
        return self.batch_values(data)

    def by_chance(self, data: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray | None:
        r"""Return B estimates that calibrated forecasts have by chance.

        Targets are drawn from the forecasts, only once if there are many rows. Under calibration the expected pair
        value of a row is 0, so that :math:`\sum_{i \ne j} \epsilon_i \epsilon_j w_i w_j H_{ij}` with random signs
        :math:`\epsilon` varies as the sum over pairs does (a wild bootstrap). None for ensembles: their members stand
        for the whole law, so that a calibrated one has an error that is not 0 on average, by an unknown amount.
        """
        from calibrant.forecasts import Samples

        if not self.unbiased or self.features or isinstance(data.distribution, Samples):
            return None
        kernel, weights = tune(self.kernel, data), relative(data.weights)[:, None]
        drawn = data.distribution.sample(rng, min(n_redraws, max(1, REDRAWN_ROWS // data.n_samples)))
        signs = weights * rng.choice([-1.0, 1.0], size=(data.n_samples, n_redraws))
        parts = np.array_split(signs, drawn.shape[1], axis=1)
        sums = [
            pair_matrix(data.with_targets(drawn[:, b]), kernel).quadratic_forms(part) for b, part in enumerate(parts)
        ]
        return per_pair(np.concatenate(sums), weights.sum(axis=0) ** 2 - (weights**2).sum(axis=0))

    def _check_blocksize(self, size: object) -> None:
        check_count(size, "blocksize")
        if self.unbiased and size == 1:
            raise InputError("blocksize must be at least 2 for the unbiased estimate, but is 1.")

    def _mean(self, different: FloatArray, weights: FloatArray, diagonal: FloatArray | None) -> FloatArray:
        """Return the mean over pairs, given the sum over pairs of different rows for each column of weights."""
        total, square = weights.sum(axis=0) ** 2, (weights**2).sum(axis=0)
        if diagonal is None:
            return per_pair(different, total - square)
        return np.asarray((different + diagonal @ weights**2) / total)

    def _block_evaluator(self, pairs: PairMatrix, size: int) -> Evaluator:
        n = pairs.n // size * size
        diagonal = pairs.diagonal()[:n]

        def evaluate(weights: FloatArray) -> FloatArray:
            weights = relative(weights)
            different = np.array([2 * pairs.weighted(column).block_sums(size).sum() for column in weights.T])
            blocks = weights[:n].reshape(-1, size, weights.shape[1]).sum(axis=1)
            total, square = (blocks**2).sum(axis=0), (weights[:n] ** 2).sum(axis=0)
            if self.unbiased:
                return per_pair(different, total - square)
            return (different + diagonal @ weights[:n] ** 2) / total

        return evaluate
