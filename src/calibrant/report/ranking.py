"""The ROC curve of the ranking, and its convex hull."""

from collections.abc import Sequence

from calibrant.report import svg
from calibrant.report.diagram import X, Y, framed, layer, speaking
from calibrant.report.series import Series
from calibrant.report.svg import Element
from calibrant.results import ROCOutline
from calibrant.results.writing import number

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
    run, rise = ranking.false_positive_rate.tolist(), ranking.true_positive_rate.tolist()
    hull = ranking.hull.tolist()
    step = max(1, len(run) // N_PROBES)
    probes = [_probe(series, ranking, i, first=i == 0) for i in range(0, len(run), step)]
    return [
        svg.polyline([X(a) for a, _ in hull], [Y(b) for _, b in hull], "curve hull"),
        svg.polyline([X(a) for a in run], [Y(b) for b in rise], "curve"),
        *probes,
    ]


def _probe(series: Series, ranking: ROCOutline, i: int, *, first: bool) -> Element:
    run, rise = float(ranking.false_positive_rate[i]), float(ranking.true_positive_rate[i])
    said = {
        "Threshold": number(float(ranking.score[i])),
        "False positive rate": number(run),
        "True positive rate": number(rise),
    }
    marker = svg.marker(series.shape, X(run), Y(rise), 4, "marker off")
    return speaking(series, said, (X(run), Y(rise)), [marker], "point probe", first=first)


def subject(series: Sequence[Series]) -> str:
    """Say what is ranked."""
    if any(s.assessment.n_classes > 2 for s in series):
        return "Rows ranked by confidence; positive are those whose predicted class is right."
    return "Rows ranked by the predicted probability of the second class."
