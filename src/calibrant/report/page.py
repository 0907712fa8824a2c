"""The page: templates, the data embedded in it, and the policy that lets nothing else run."""

import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant._border import numerals, text
from calibrant.report import (
    decisions,
    decomposition,
    diagram,
    fix,
    forecasts,
    group_search,
    intervals,
    metrics,
    ranking,
    tables,
    tests,
    verdicts,
    views,
)
from calibrant.report.series import AnySeries, ForecastSeries
from calibrant.results import (
    Assessment,
    Comparison,
    DecisionReport,
    Fix,
    ForecastAssessment,
    GroupFindings,
    IntervalCheck,
    as_record,
    state,
)
from calibrant.results.words import decisions as words

if TYPE_CHECKING:
    from jinja2 import Environment


DIGITS = 7


def _assessment(assessment: Assessment | ForecastAssessment) -> dict[str, object]:
    """Return the record of an assessment, without the words that the page shows, and of its groups the verdicts."""
    whole: Any = assessment
    record: dict[str, Any] = as_record(replace(whole, groups={}))
    for result in (record["test"], *record["metrics"].values(), *record.get("tests", {}).values()):
        del result["about"]
    groups = assessment.groups.items()
    held = {str(key): {"n_samples": one.n_samples, "verdict": as_record(one.verdict)} for key, one in groups}
    return record | {"groups": held}


def rounded(value: object) -> object:
    """Return a record with its numbers rounded to seven significant digits.

    Examples
    --------
    >>> rounded({"x": [1 / 3, 2, "a"]})
    {'x': [0.3333333, 2, 'a']}
    """
    if isinstance(value, Mapping):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        short = float(f"{value:.{DIGITS}g}")
        return int(short) if short.is_integer() and math.fabs(short) < 10**DIGITS else short
    return value


@dataclass(frozen=True)
class Verbatim:
    """Text that a template inserts as it is: our own files, and JSON that `embed` made harmless."""

    content: str

    def __html__(self) -> str:
        """Return the text itself."""
        return self.content


@dataclass(frozen=True)
class Kind:
    """What pages about classes and about forecasts say and show differently."""

    question: str
    sections: tuple[str, ...]
    redrawn: str


CLASSES = Kind(
    question="When the model says 80%, is it right 80% of the time?",
    sections=(
        "verdicts",
        "diagram",
        "metrics",
        "fix",
        "decisions",
        "parts",
        "classes",
        "groups",
        "group_search",
        "test",
        "ranking",
        "settings",
    ),
    redrawn="labels drawn from the predictions",
)
FORECASTS = Kind(
    question="When the model gives a range a probability of 80%, do 80% of the values fall into it?",
    sections=("verdicts", "forecasts", "metrics", "fix", "intervals", "groups", "group_search", "test", "settings"),
    redrawn="values drawn from the forecasts",
)


@dataclass(frozen=True)
class Extras:
    """What a page may show beside assessments."""

    comparison: Comparison | None = None
    fix: Fix | None = None
    findings: GroupFindings | None = None
    decisions: DecisionReport | None = None
    intervals: IntervalCheck | None = None


NOTHING_ELSE = Extras()

MODULES: dict[str, Any] = {
    "decisions": decisions,
    "decomposition": decomposition,
    "diagram": diagram,
    "fix": fix,
    "forecasts": forecasts,
    "group_search": group_search,
    "intervals": intervals,
    "metrics": metrics,
    "ranking": ranking,
    "state": state,
    "tables": tables,
    "tests": tests,
    "verdicts": verdicts,
    "views": views,
    "words": words,
}
"""What the templates of the sections call."""


def compose(series: Sequence[AnySeries], title: str, extras: Extras) -> str:
    """Fill the templates."""
    kind = FORECASTS if isinstance(series[0], ForecastSeries) else CLASSES
    return rendered(
        "page.html",
        title,
        script=asset("page.js"),
        series=series,
        single=len(series) == 1,
        **vars(kind),
        comparison=extras.comparison,
        how=extras.fix,
        findings=extras.findings,
        decided=extras.decisions,
        checked=extras.intervals,
        level=metrics.interval_level(series),
        limit=verdicts.gauge_limit([s.assessment.verdict for s in series]),
        data=Verbatim(embed(title, series, extras)),
        version=_version(),
        **MODULES,
    )


def rendered(template: str, title: str, *, sheet: str = "", script: str = "", **content: object) -> str:
    """Fill a template, with the common style sheet, one of its own, and a policy that allows nothing else."""
    style = asset("style.css") + (asset(sheet) if sheet else "")
    own = {"policy": policy(style, script), "style": Verbatim(style), "script": Verbatim(script)}
    return environment().get_template(template).render(title=text.name(title, limit=200), **own, **content)


def embed(title: str, series: Sequence[AnySeries], extras: Extras = NOTHING_ELSE) -> str:
    """Return all numbers of the page as JSON that cannot end its script element."""
    found = {
        "title": title,
        "assessments": [{"label": s.key, "assessment": _assessment(s.assessment)} for s in series],
        "comparison": extras.comparison and replace(extras.comparison, groups={}, about={}),
        "fix": extras.fix and _fix(extras.fix),
        "findings": extras.findings,
        "decisions": extras.decisions and decisions.record(extras.decisions),
        "intervals": extras.intervals and intervals.record(extras.intervals),
    }
    record = {key: rounded(as_record(part)) for key, part in found.items() if part is not None}
    plain = json.dumps(record, allow_nan=False, separators=(",", ":"))
    # json.dumps writes ASCII, so the line separators U+2028 and U+2029 are escaped already.
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _fix(how: Fix) -> Fix:
    """Leave out the fitted calibrator: the method's name says what it is."""
    return replace(how, recommendation=how.recommendation and replace(how.recommendation, calibrator=None))


def policy(style: str, script: str) -> str:
    """Return a content security policy: this style sheet, this script, and nothing from anywhere else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


@cache
def asset(filename: str) -> str:
    """Return a file from the templates folder."""
    return (files("calibrant.report") / "templates" / filename).read_text(encoding="utf-8")


@cache
def environment() -> "Environment":
    """Return the template engine; it escapes everything that does not vouch for itself."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError('the report needs Jinja2: pip install "calibrant[cli]".') from error
    from calibrant.report.compiled import CompiledTemplates

    here = Path(__file__)
    engine = Environment(
        bytecode_cache=CompiledTemplates(here.parent / "templates", f"{_version()} {_changed(here)}"),
        loader=PackageLoader("calibrant.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
        auto_reload=False,  # Nobody changes a template between two pages.
    )
    engine.filters.update(
        name=text.name,
        capital=text.capital,
        number=numerals.number,
        signed=numerals.signed,
        rows=numerals.count,
        percent=numerals.percent,
        pvalue=numerals.pvalue,
    )
    return engine


def _finalize(value: object) -> object:
    """Make control characters visible in whatever a template prints, unless it is markup."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else text.printable(value)


def _changed(file: Path) -> int:
    """Return when a file was last written, or 0 if it is not a file of its own, as in a zip archive."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _version() -> str:
    from calibrant import __version__

    return __version__
