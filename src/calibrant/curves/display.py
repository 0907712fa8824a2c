"""A reliability diagram with the interface of scikit-learn's displays."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from calibrant._border.numerals import counted
from calibrant.curves.binned import reliability_curve
from calibrant.plots.reliability import add_reliability
from calibrant.predictions import Classifier, Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.results import ReliabilityCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


class ReliabilityDisplay:
    """A reliability diagram; several models are drawn on the same axes.

    Parameters
    ----------
    curve : ReliabilityCurve
        A curve of any kind.
    name : str, default=""
        Name of the model in the legend.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    line_ : matplotlib.lines.Line2D

    Examples
    --------
    >>> first = ReliabilityDisplay.from_predictions([0, 1, 1], [0.2, 0.4, 0.9], name="first")
    >>> second = ReliabilityDisplay.from_predictions([0, 1, 1], [0.1, 0.8, 0.9], name="second", ax=first.ax_)
    >>> second.figure_ is first.figure_
    True
    """

    ax_: "Axes"
    figure_: "Figure"
    line_: "Line2D"

    def __init__(self, curve: ReliabilityCurve, *, name: str = "") -> None:
        self.curve = curve
        self.name = name

    def __repr__(self) -> str:
        what = f"{counted(len(self.curve.predicted), 'point')} of {counted(int(self.curve.count.sum()))}"
        drawn = "; drawn in figure_" if hasattr(self, "figure_") else ""
        return f"ReliabilityDisplay({f'{self.name}: ' if self.name else ''}{what}{drawn})"

    def plot(self, ax: "Axes | None" = None, *, name: str | None = None, **settings: object) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Any axes, such as those of another display; by default those of a new figure that pyplot does not manage.
        name : str, optional
            Name of the model in the legend.
        **settings
            Properties of the line, such as ``color`` or ``linestyle``.
        """
        self.ax_, self.line_ = add_reliability(self.curve, ax, name=self.name if name is None else name, **settings)
        self.figure_ = self.ax_.get_figure(root=True)  # type: ignore[assignment]  # axes that are drawn have one
        return self

    @classmethod
    def from_predictions(
        cls,
        y_true: object,
        y_prob: object = None,
        sample_weight: object = None,
        *,
        curve: Callable[[Predictions], ReliabilityCurve] = reliability_curve,
        positive: object = None,
        name: str = "",
        ax: "Axes | None" = None,
        **settings: Any,
    ) -> Self:
        """Compute the curve of labels and probabilities, or of `Predictions`, and draw it.

        Parameters
        ----------
        y_true : array-like of shape (n,), or Predictions
        y_prob : array-like of shape (n, K) or (n,)
            More than two classes are shown as confidence against correctness.
        sample_weight : array-like of shape (n,), optional
        curve : callable, default=reliability_curve
            The function that computes the curve, such as `kernel_curve` or `isotonic_curve`.
        positive : optional
            The label whose probability `y_prob` gives, if it is one column.
        name, ax, **settings
            As for `plot`.
        """
        predictions = check_predictions(as_data(y_true, y_prob, sample_weight, positive), "y_true")
        return cls(curve(predictions), name=name).plot(ax, **settings)

    @classmethod
    def from_estimator(
        cls,
        model: Classifier,
        X: object,
        y: object,
        sample_weight: object = None,
        *,
        name: str | None = None,
        **settings: Any,
    ) -> Self:
        """Compute the curve of the predictions of a fitted classifier, and draw it.

        Parameters
        ----------
        model : object with `predict_proba` and `classes_`
        X : array-like of shape (n, d)
            Rows that the model was not fitted to.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        name : str, optional
            By default the name of the model's class.
        **settings
            As for `from_predictions`.
        """
        predictions = Predictions.from_estimator(model, X, y, sample_weight)
        shown = type(model).__name__ if name is None else name
        return cls.from_predictions(predictions, name=shown, **settings)
