"""`calibrant demo`: two classifiers on a bundled data set, before and after a fix."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.predictions import Predictions


def demo(*, out: Path = Path("demo/report.html"), seed: int = 0, json: bool = False, quiet: bool = False) -> None:
    """Train naive Bayes and a random forest on handwritten digits, judge them, fix them, judge them again.

    Parameters
    ----------
    out
        Where to write the HTML page.
    seed
        Seed of the split, of the forest and of the redraws.
    json
        Print JSON instead of text.
    quiet
        Show no progress.
    """
    from calibrant.assess import assess
    from calibrant.cli import show
    from calibrant.io import check_writable, write_text
    from calibrant.report import render_html

    out.parent.mkdir(parents=True, exist_ok=True)
    check_writable(out)
    assessments = {}
    with show.progress_bar("training and judging", quiet=quiet or json) as progress:
        for step, (name, predictions) in enumerate(_models(seed)):
            progress(step, 4)
            assessments[name] = assess(predictions, name=name, rng=seed)
    write_text(out, render_html(assessments, title="Handwritten digits: two classifiers, before and after a fix"))
    if json:
        show.print_json({name: show.without_draws(a) for name, a in assessments.items()})
        return
    for name, assessment in assessments.items():
        show.print_heading(name)
        show.print_verdict(assessment)
    show.print_heading("All numbers, on rows that neither the models nor the fixes have seen")
    show.print_estimates({name: assessment.metrics for name, assessment in assessments.items()})
    show.print_path("page", out)


def _models(seed: int) -> Iterator[tuple[str, "Predictions"]]:
    """Yield the test predictions of each classifier, as it is and after temperature scaling."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.naive_bayes import MultinomialNB

    from calibrant.calibrators import TemperatureScaling, calibrate

    train, calibration, test = _digits(seed)
    models = {"naive Bayes": MultinomialNB(), "random forest": RandomForestClassifier(200, random_state=seed)}
    for name, model in models.items():
        model.fit(*train)
        before = _predict(model, test)
        yield name, before
        fit = _predict(model, calibration)
        fix = TemperatureScaling(scores="logits").fit(fit.log_probs, fit.labels)
        yield f"{name} > ts", calibrate(fix, before)


def _predict(model: Any, part: tuple[Any, Any]) -> "Predictions":
    import numpy as np

    from calibrant.predictions import Predictions

    with np.errstate(divide="ignore"):  # A forest's votes hold exact zeros.
        return Predictions.from_logits(model.predict_log_proba(part[0]), part[1])


def _digits(seed: int) -> tuple[tuple[Any, Any], ...]:
    """Split the bundled digits into 600 rows to train on, 300 to calibrate on and the rest to test on."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=600, random_state=seed, stratify=y)
    X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, train_size=300, random_state=seed, stratify=y_rest)
    return (X_train, y_train), (X_cal, y_cal), (X_test, y_test)
