"""The whole report page in one call."""

import os
from collections.abc import Mapping
from pathlib import Path

from calibrant._border.text import printable
from calibrant._border.types import Rng
from calibrant.assessment.assessing import assess
from calibrant.assessment.forecasts import assess_forecasts
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.predictions.two_arrays import as_data
from calibrant.report import render_html
from calibrant.results import Assessment, ForecastAssessment, Page


def show(
    data: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    out: str | os.PathLike[str] | None = None,
    title: str = "Calibration report",
    positive: object = None,
    rng: Rng = 0,
) -> Page:
    """Show predictions on one page: the verdict, reliability diagrams, metrics, tests, classes.

    Parameters
    ----------
    data : array-like of shape (n,), Predictions, Forecasts, or mapping of str to Predictions or Forecasts
        With `y_prob`, the labels. Several models of a mapping are shown side by side.
    y_prob : array-like of shape (n, K) or (n,), or mapping of str to such arrays, optional
        Probabilities, if labels are given: `show(y_true, y_prob)`, or `show(y_true, {"a": y_prob, "b": other})`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given.
    out : path, optional
        Where to write the page, such as "report.html". A notebook shows the page without a file.
    title : str, default="Calibration report"
    positive : optional
        The label whose probability `y_prob` is, if that is one column; by default the second of the sorted labels.
    rng : Generator, int or None

    Returns
    -------
    Page
        The page as `html`, and the assessments on it.
    """
    path = None if out is None else Path(out)
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"out must end in .html or .htm, as a browser needs it, but is {printable(str(path))}.")
    if isinstance(y_prob, Mapping):
        models = {str(name): as_data(data, probs, sample_weight, positive) for name, probs in y_prob.items()}
    elif isinstance(data, Mapping):
        models = {str(name): part for name, part in data.items()}
    else:
        models = {"predictions": as_data(data, y_prob, sample_weight, positive)}
    found = {name: _assessed(model, name, rng) for name, model in models.items()}
    html = render_html(found, title=title)
    if path is not None:
        path.write_text(html, encoding="utf-8")
    return Page(title=title, assessments=found, path=path, html=html)


def _assessed(data: object, name: str, rng: Rng) -> Assessment | ForecastAssessment:
    if isinstance(data, Forecasts):
        return assess_forecasts(data, name=name, rng=rng)
    return assess(data, name=name, rng=rng)
