"""The estimator interface of scikit-learn, without importing it, which takes over a second."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from calibrant._border.numerals import significant
from calibrant.calibrators.rules import Rule
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from sklearn.utils.metadata_routing import MetadataRequest

Cloned = TypeVar("Cloned")


class Estimator:
    """Base of estimators that scikit-learn can clone, search over, and put into a pipeline.

    Settings are the arguments of the constructor, each stored as an attribute of the same name, as in a dataclass.
    Learnt attributes have names that end in an underscore. scikit-learn is imported only in methods that it calls.

    Attributes
    ----------
    rules : tuple of Rule
        Conditions that learnt attributes must satisfy when they are read from a file; by default none.
    """

    rules: ClassVar[tuple[Rule, ...]] = ()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name; if deep, also the settings of nested estimators, as ``name__setting``."""
        settings: dict[str, Any] = {name: getattr(self, name) for name in sorted(_defaults(type(self)))}
        if deep:
            for name, value in list(settings.items()):
                if _has_settings(value):
                    settings.update({f"{name}__{key}": inner for key, inner in value.get_params().items()})
        return settings

    def set_params(self, **params: object) -> Self:
        """Change settings, by the names that `get_params` returns."""
        nested: dict[str, dict[str, object]] = {}
        own, known = _defaults(type(self)), self.get_params()
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in known:
                settings = f"Its settings are {', '.join(sorted(own))}." if own else "It has no settings."
                raise InputError(f"{name!r} must be a setting of {type(self).__name__}, but is not. {settings}")
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
                known[name] = value
        for name, inner in nested.items():
            known[name].set_params(**inner)
        return self

    def __repr__(self) -> str:
        """Return the constructor call, with the settings that differ from their defaults.

        As in scikit-learn, it is the same before and after `fit`.
        """
        defaults = _defaults(type(self))
        written = {name: (repr(getattr(self, name)), repr(default)) for name, default in defaults.items()}
        changed = [f"{name}={value}" for name, (value, default) in written.items() if value != default]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __str__(self) -> str:
        """Return the constructor call, and the learnt attributes that are short."""
        found = {
            name: _short(value) for name, value in vars(self).items() if name.endswith("_") and name not in _NOT_PRINTED
        }
        learnt = ", ".join(f"{name} {text}" for name, text in found.items() if text)
        return f"{self!r}, fitted: {learnt}" if learnt else repr(self)

    def __sklearn_tags__(self) -> "Tags":
        """Return scikit-learn's default tags."""
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    def get_metadata_routing(self) -> "MetadataRequest":
        """Return the metadata that scikit-learn may pass to `fit`: sample weights."""
        from sklearn.utils.metadata_routing import MetadataRequest

        if hasattr(self, "_metadata_request"):
            return deepcopy(self._metadata_request)
        request = MetadataRequest(owner=self)
        request.fit.add_request(param="sample_weight", alias=None)
        return request

    def set_fit_request(self, *, sample_weight: bool | str | None) -> Self:
        """Set whether scikit-learn passes sample weights to `fit`, if its metadata routing is enabled."""
        request = self.get_metadata_routing()
        request.fit.add_request(param="sample_weight", alias=sample_weight)
        self._metadata_request = request
        return self


_MAX_PRINTED = 8
"""Longer arrays and lists are not printed."""

_NOT_PRINTED = ("classes_", "gradient_norm_", "converged_", "n_iter_", "dim_", "n_features_in_")
"""Learnt attributes that describe the data or the search, not the map."""


def _short(value: object) -> str:
    """Return a number, a few numbers, or the class names of a few estimators, as text; "" for anything else."""
    if isinstance(value, float):
        return significant(value, 4)
    if isinstance(value, list) and 0 < len(value) <= _MAX_PRINTED and all(isinstance(one, Estimator) for one in value):
        return f"[{', '.join(type(one).__name__ for one in value)}]"
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f" and 0 < value.size <= _MAX_PRINTED:
        return f"[{', '.join(significant(one, 4) for one in value.tolist())}]"
    return ""


def clone(estimator: Cloned) -> Cloned:
    """Return an unfitted estimator with the same settings; lists of estimators are cloned entry by entry.

    Examples
    --------
    >>> from calibrant.calibrators import TemperatureScaling
    >>> clone(TemperatureScaling(scores="logits").fit([[2.0, 0.0], [0.0, 1.0]], [0, 0]))
    TemperatureScaling(scores='logits')
    """
    if isinstance(estimator, (list, tuple)):
        return type(estimator)([clone(one) for one in estimator])
    if not _has_settings(estimator):
        return deepcopy(estimator)
    if not isinstance(estimator, Estimator):
        from sklearn.base import clone as clone_foreign

        return clone_foreign(estimator)
    return type(estimator)(**{name: clone(value) for name, value in estimator.get_params(deep=False).items()})


def check_is_fitted(estimator: object) -> None:
    """Refuse an estimator that is not fitted."""
    if isinstance(estimator, type):
        raise TypeError(f"a fitted estimator is needed, but {estimator.__name__} is a class.")
    if not any(name.endswith("_") and not name.startswith("__") for name in vars(estimator)):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(estimator).__name__} is not fitted yet. Call fit first.")


def _defaults(kind: type) -> Mapping[str, object]:
    """Return the settings of a class and their defaults."""
    return _defaults_of(kind.__init__)  # type: ignore[misc]  # What a class has.


@cache
def _defaults_of(start: Callable[..., None]) -> Mapping[str, object]:
    arguments = list(signature(start).parameters.values())[1:]
    any_number = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return {one.name: one.default for one in arguments if one.kind not in any_number}


def _has_settings(value: object) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)
