"""The ascending order of binary predictions: sorted once, for bins, pools, running sums and kernel sums alike."""

from calibrant._core.line.boxes import Line
from calibrant.predictions import Predictions


def line_of(view: Predictions) -> Line:
    """Return the predicted probabilities of class 1 in ascending order, kept with the predictions.

    Examples
    --------
    >>> line = line_of(Predictions([0.9, 0.2, 0.4], labels=[1, 0, 0]))
    >>> line.order.tolist(), line.x.tolist()
    ([1, 2, 0], [0.2, 0.4, 0.9])
    """
    return view.once("line", lambda: Line.of(view.positive), of_labels=False)
