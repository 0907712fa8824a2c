"""The page: templates, the data embedded in it, and the policy that lets nothing else run."""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from calibrant.report import diagram, figures, tables, text
from calibrant.report.series import Series
from calibrant.results import as_record

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Verbatim:
    """Text that a template inserts as it is: our own files, and JSON that `embed` made harmless."""

    content: str

    def __html__(self) -> str:
        """Return the text itself."""
        return self.content


def compose(series: Sequence[Series], title: str) -> str:
    """Fill the templates."""
    style, script = asset("style.css"), asset("page.js")
    return (
        environment()
        .get_template("page.html")
        .render(
            title=text.name(title, limit=200),
            series=series,
            single=len(series) == 1,
            limit=figures.gauge_limit([s.assessment.verdict for s in series]),
            policy=policy(style, script),
            style=Verbatim(style),
            script=Verbatim(script),
            data=Verbatim(embed(title, series)),
            version=_version(),
        )
    )


def embed(title: str, series: Sequence[Series]) -> str:
    """Return all numbers of the page as JSON that cannot end its script element."""
    entries = [{"label": s.key, "assessment": as_record(s.assessment)} for s in series]
    plain = json.dumps({"title": title, "assessments": entries}, allow_nan=False, separators=(",", ":"))
    # json.dumps writes ASCII, so the line separators U+2028 and U+2029 are escaped already.
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


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
        raise ImportError("the report needs Jinja2: pip install 'calibrant[cli]'.") from error
    engine = Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    engine.filters.update(
        name=text.name,
        number=text.number,
        signed=text.signed,
        rows=text.count,
        percent=text.percent,
    )
    engine.globals.update(figures=figures, diagram=diagram, tables=tables)
    return engine


def _finalize(value: Any) -> Any:
    """Make control characters visible in whatever a template prints, unless it is markup."""
    return value if hasattr(value, "__html__") or not isinstance(value, str) else text.printable(value)


def _version() -> str:
    from calibrant import __version__

    return __version__
