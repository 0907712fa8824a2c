"""A classifier and a calibrator as one scikit-learn classifier."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from calibrant._border.checks import as_weights, check_copies
from calibrant._border.convert import convert
from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray, IntArray
from calibrant._border.warn import warn
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.combinations.compose import parse
from calibrant.calibrators.inputs import warn_of_impossible_labels
from calibrant.calibrators.model_scores import Response, class_log_probs, gathered, score_fold
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from sklearn.utils.metadata_routing import MetadataRouter


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A classifier with calibrated probabilities; by default the calibrator is fitted to out-of-fold scores.

    Parameters
    ----------
    estimator : classifier
        Any classifier with scikit-learn's interface.
    calibrator : Calibrator or str, default="ts"
        A calibrator, which is cloned, or a name such as "ts" or "ts>irm". Its own `scores` is ignored, but
        "raw-logits" is refused, because the calibrator is given log-probabilities.
    cv : int, splitter, iterable of splits, or "prefit", default=5
        How the scores are computed that the calibrator is fitted to. With folds, each row is scored by an estimator
        that was trained without it; one calibrator is fitted to the scores of all rows, and the estimator is trained
        again on all rows. An integer is a number of stratified folds. "prefit" uses a trained estimator; pass rows to
        `fit` that it was not trained on.
    response : {"predict_proba", "predict_log_proba", "decision_function"}, default="predict_proba"
        The scoring method. The output of a decision function is taken as logits, or for two classes as log-odds.
        Log-probabilities are more accurate than probabilities near 0.

    Attributes
    ----------
    estimator_ : classifier
        Trained on all rows; if "prefit", the given one.
    calibrator_ : Calibrator
        Fitted to the scores; the part that `save` stores and that can be exported.
    classes_ : ndarray of shape (K,)
    n_features_in_, feature_names_in_
        Those of the estimator, if it has them.

    Notes
    -----
    If a class does not occur in the training rows of a fold, it has probability 0 for the test rows of that fold. The
    calibrator is then fitted without the test rows of this class, with a `DataWarning`.

    Weights are passed to the calibrator, and to the estimator if its `fit` accepts `sample_weight`. With scikit-learn's
    metadata routing enabled, the estimator and the splitter are given what they request.

    In a search over parameters, which clones, a fitted estimator must be wrapped in scikit-learn's `FrozenEstimator`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CalibratedModel(GaussianNB(), "ts", response="predict_log_proba").fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    estimator_: Any
    calibrator_: Calibrator
    classes_: NDArray[np.generic]

    def __init__(
        self, estimator: Any, calibrator: Calibrator | str = "ts", cv: object = 5, response: Response = "predict_proba"
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.response = response

    def fit(self, X: object, y: object, sample_weight: object = None, **fit_params: object) -> Self:
        """Train the estimator, unless it is trained already, and fit the calibrator.

        Parameters
        ----------
        X : array-like with n rows
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        **fit_params
            Passed to the estimator's `fit`; those with n entries are restricted to the training rows of each fold.
        """
        from sklearn.utils import indexable
        from sklearn.utils.multiclass import check_classification_targets

        check_option(self.response, "response", *get_args(Response))
        X, y = indexable(X, y)
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        weights = _weights(sample_weight, len(labels))
        if isinstance(self.cv, str):
            self._take_fitted()
            log_probs = class_log_probs(self.estimator_, X, self.classes_, self.response)
            return self._fit_calibrator(log_probs, self._indices(labels), weights)
        self.classes_ = _distinct(labels)
        params, split_params = self._routed(sample_weight, weights, fit_params)
        folds = [
            score_fold(clone(self.estimator), X, labels, split, params, (self.classes_, self.response))
            for split in self._splits(X, labels, split_params)
        ]
        rows, log_probs = gathered(folds)
        self._fit_calibrator(log_probs, self._indices(labels)[rows], weights[rows])
        self.estimator_ = clone(self.estimator).fit(X, labels, **params)
        return self

    def predict_proba(self, X: object) -> FloatArray:
        """Return calibrated probabilities, of shape (n, K)."""
        check_is_fitted(self)
        log_probs = class_log_probs(self.estimator_, X, self.classes_, self.response)
        return self.calibrator_.calibrated(log_probs, log_probs)[0]

    def predict(self, X: object) -> NDArray[np.generic]:
        """Return the most probable class of every row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    @property
    def n_features_in_(self) -> int:
        """Number of features that the estimator was trained on."""
        return self._of_estimator("n_features_in_")

    @property
    def feature_names_in_(self) -> NDArray[np.str_]:
        """Names of the features that the estimator was trained on."""
        return self._of_estimator("feature_names_in_")

    def get_metadata_routing(self) -> "MetadataRouter":
        """Return scikit-learn's metadata routing: `fit` passes metadata to the estimator and the splitter."""
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        if hasattr(self.cv, "split"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self) and "calibrator_" in vars(self)

    def _of_estimator(self, name: str) -> Any:
        if "estimator_" not in vars(self):
            raise AttributeError(f"CalibratedModel has no {name} before it is fitted.")
        return getattr(self.estimator_, name)

    def _take_fitted(self) -> None:
        if self.cv != "prefit":
            raise InputError(f'cv must be a number of folds, a splitter, splits, or "prefit", but is {self.cv!r}.')
        check_is_fitted(self.estimator)
        self.estimator_ = self.estimator
        self.classes_ = np.asarray(self.estimator.classes_)

    def _indices(self, labels: object) -> IntArray:
        places = {name: k for k, name in enumerate(self.classes_.tolist())}
        given = np.asarray(labels).tolist()
        indices = np.array([places.get(label, -1) for label in given], dtype=np.int64)
        if (indices < 0).any():
            row = int((indices < 0).argmax())
            raise InputError(
                f"y must hold classes that the estimator was trained on, but row {row} is {given[row]!r:.60}. "
                "Drop such rows, or train the estimator with them."
            )
        return indices

    def _routed(
        self, sample_weight: object, weights: FloatArray, fit_params: Mapping[str, object]
    ) -> tuple[dict[str, object], dict[str, object]]:
        """Return the arguments for the estimator's `fit` and for the splitter."""
        from sklearn import get_config
        from sklearn.utils.metadata_routing import process_routing

        given = dict(fit_params)
        if sample_weight is not None:
            given["sample_weight"] = weights
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given)
            return dict(routed.estimator.fit), dict(routed.get("splitter", {}).get("split", {}))
        if "sample_weight" in given and not has_fit_parameter(self.estimator, "sample_weight"):
            del given["sample_weight"]
            warn(
                f"{type(self.estimator).__name__} is trained without the weights, because its fit has no "
                "sample_weight; the calibrator uses them."
            )
        return given, {}

    def _splits(
        self, X: object, labels: NDArray[np.generic], params: Mapping[str, object]
    ) -> Iterator[tuple[IntArray, IntArray]]:
        from sklearn.model_selection import check_cv

        for train, test in check_cv(self.cv, labels, classifier=True).split(X, labels, **params):
            yield np.arange(len(labels))[train], np.arange(len(labels))[test]

    def _fit_calibrator(self, log_probs: FloatArray, indices: IntArray, weights: FloatArray) -> Self:
        calibrator = clone(as_calibrator(self.calibrator))
        calibrator.classes_ = self.classes_
        self.calibrator_ = calibrator.learn(log_probs, indices, weights)
        warn_of_impossible_labels(calibrator, log_probs, indices, weights)
        return self


def _distinct(labels: NDArray[np.generic]) -> NDArray[np.generic]:
    classes = np.unique(labels)
    if len(classes) < 2:
        raise InputError(f"y must hold at least two classes, but has one class, {classes.tolist()[0]!r:.60}.")
    return classes


def _weights(sample_weight: object, n_rows: int) -> FloatArray:
    if not n_rows:
        raise InputError("X must have at least one row, but has 0 samples.")
    if sample_weight is None:
        return np.ones(n_rows)
    check_copies(sample_weight)
    raw = convert(sample_weight, "sample_weight")
    if not raw.values.any():
        raise InputError("sample_weight must be positive for at least one row, but is zero for all. Leave it out.")
    return as_weights(raw, n_rows)


def as_calibrator(given: object) -> Calibrator:
    """Return a calibrator, given one or its name."""
    if isinstance(given, str):
        return parse(given)
    if not isinstance(given, Calibrator):
        raise TypeError(f'calibrator must be a calibrator such as TemperatureScaling(), or "ts", but is {given!r:.80}.')
    return given
