"""How well predictions rank the outcomes: the diagram of ROC curves."""

from collections.abc import Sequence

from calibrant._border.numerals import number
from calibrant.report.diagram import X, Y, framed, layer, probes, stops
from calibrant.report.series import Series
from calibrant.results import ROCOutline
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element

N_PROBES = 12


def ranked(series: Sequence[Series]) -> list[Series]:
    """Return the series that have a ROC curve."""
    return [s for s in series if s.assessment.ranking is not None]


def roc_diagram(series: Sequence[Series]) -> Element:
    """Draw all ROC curves."""
    layers = [layer(s, _curve(s, s.assessment.ranking)) for s in series if s.assessment.ranking is not None]
    parts = [svg.line(X(0), Y(0), X(1), Y(1), "diagonal"), *layers]
    return framed(parts, Y, ("False positive rate", "True positive rate"), "roc")


def _curve(series: Series, ranking: ROCOutline) -> list[Element]:
    run, rise, hull = ranking.false_positive_rate, ranking.true_positive_rate, ranking.hull
    found = [(_at(ranking, i), (X(run[i]), Y(rise[i]))) for i in probes(len(run), N_PROBES)]
    return [
        svg.polyline(X.each(hull[:, 0]), Y.each(hull[:, 1]), "curve hull"),
        svg.polyline(X.each(run), Y.each(rise), "curve"),
        *stops(series, found),
    ]


def _at(ranking: ROCOutline, i: int) -> dict[str, str]:
    return {
        "Threshold": number(float(ranking.score[i])),
        "False positive rate": number(float(ranking.false_positive_rate[i])),
        "True positive rate": number(float(ranking.true_positive_rate[i])),
    }


def subject(series: Sequence[Series]) -> str:
    """Say what is ranked."""
    if any(s.assessment.n_classes > 2 for s in series):
        return "Rows are ranked by confidence; a row is positive if its predicted class is right."
    return "Rows are ranked by the predicted probability of the second class."
