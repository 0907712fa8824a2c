"""`calibrant demo`: a real experiment on logits that come with the package."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from calibrant.cli.options.reading import JUDGING, Json, Out, Quiet, Seed
from calibrant.cli.printing import show
from calibrant.io import write_text

if TYPE_CHECKING:
    from calibrant.lab.experiment.config import Config
    from calibrant.results import Assessment


def command(
    *,
    out: Out = Path("demo"),
    resamples: Annotated[int, Parameter(group=JUDGING, validator=Number(gte=50))] = 1000,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Calibrate two networks for Fashion-MNIST in several ways, and compare the results.

    One network was trained with cross entropy, the other fine-tuned with focal loss. Their logits come with the
    package, so nothing is trained, and the demo takes about half a minute. OUT/index.html compares all pipelines;
    OUT/report.html shows one network in detail, before and after temperature scaling.

    For example:
      calibrant demo
      calibrant demo --out pages --quiet

    Parameters
    ----------
    out
        Folder for the pages and tables.
    resamples
        Number of bootstrap samples of the test rows, shared by all pipelines; at least 50.
    seed
        Seed of the redraws behind the verdicts.
    """
    from calibrant.cli.printing.assessments import print_verdict
    from calibrant.cli.printing.experiment import print_result, step_bar
    from calibrant.lab.experiment import run
    from calibrant.lab.experiment.output import without_curves
    from calibrant.report import render_html

    with step_bar(quiet=quiet or json) as (progress, note):
        result = run(_config(resamples), out, progress=progress, note=note)
    assessments = _before_and_after(seed, quiet=quiet or json)
    page = render_html(assessments, title="Fashion-MNIST: a network before and after temperature scaling")
    write_text(out / "report.html", page)
    if json:
        show.print_json(without_curves(result))
        return
    for name, assessment in assessments.items():
        show.print_heading(name)
        print_verdict(assessment)
    print_result(result)
    show.print_path("comparison", out / "index.html")
    show.print_path("report", out / "report.html")


def _config(resamples: int) -> "Config":
    from calibrant.lab.experiment import read_config

    config = read_config("demo")
    return replace(config, evaluation=replace(config.evaluation, resamples=resamples))


def _before_and_after(seed: int, *, quiet: bool) -> dict[str, "Assessment"]:
    from calibrant.assessment.assessing import assess
    from calibrant.calibrators import TemperatureScaling, calibrate
    from calibrant.lab.datasets import load_logits

    calibration, test = load_logits("ce")
    fix = TemperatureScaling(scores="logits").fit(calibration.log_probs, calibration.labels)
    models = {"CE": test, "CE > ts": calibrate(fix, test)}
    found = {}
    for name, predictions in models.items():
        with show.progress_bar(f"judging {name}", quiet=quiet, then=f"measuring {name}") as progress:
            found[name] = assess(predictions, name=name, progress=progress, rng=seed)
    return found
