"""`calibrant demo`: a real experiment on the logits of networks that come with the package."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant._typing import Progress
    from calibrant.results import Assessment


def demo(*, out: Path = Path("demo"), seed: int = 0, json: bool = False, quiet: bool = False) -> None:
    """Calibrate two networks for Fashion-MNIST in several ways, and say which differences are more than chance.

    The networks were trained with cross entropy and fine-tuned with focal loss; their logits come with the package, and
    nothing is trained. It takes about a minute. OUT/index.html compares all pipelines, OUT/report.html looks closely at
    one network before and after temperature scaling.

    Example: calibrant demo --out demo

    Parameters
    ----------
    out
        Folder for the pages and tables.
    seed
        Seed of the redraws behind the verdicts.
    json
        Print JSON instead of text.
    quiet
        Show no progress.
    """
    from calibrant.cli import show
    from calibrant.cli.experiment import print_result, step_bar
    from calibrant.experiment import run
    from calibrant.experiment.output import without_curves
    from calibrant.io import write_text
    from calibrant.report import render_html

    with step_bar(quiet=quiet or json) as (progress, note):
        result = run("demo", out, progress=progress, note=note)
    with show.progress_bar("judging before and after", quiet=quiet or json) as progress:
        assessments = _before_and_after(seed, progress)
    page = render_html(assessments, title="Fashion-MNIST: a network before and after temperature scaling")
    write_text(out / "report.html", page)
    if json:
        show.print_json(without_curves(result))
        return
    for name, assessment in assessments.items():
        show.print_heading(name)
        show.print_verdict(assessment)
    print_result(result)
    show.print_path("comparison", out / "index.html")
    show.print_path("report", out / "report.html")


def _before_and_after(seed: int, progress: "Progress") -> dict[str, "Assessment"]:
    from calibrant.assess import assess
    from calibrant.calibrators import TemperatureScaling, calibrate
    from calibrant.datasets import load_logits

    calibration, test = load_logits("ce")
    fix = TemperatureScaling(scores="logits").fit(calibration.log_probs, calibration.labels)
    models = {"CE": test, "CE > ts": calibrate(fix, test)}
    found = {}
    for done, (name, predictions) in enumerate(models.items()):
        found[name] = assess(predictions, name=name, rng=seed)
        progress(done + 1, len(models))
    return found
