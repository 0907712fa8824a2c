"""`calibrant selfcheck`: whether this machine computes the certified values."""

from typing import TYPE_CHECKING

from rich.text import Text

from calibrant._border.numerals import decimals, significant
from calibrant.cli.options.reading import Json, Quiet
from calibrant.cli.printing import show

if TYPE_CHECKING:
    from calibrant.results import CheckedValue


def command(*, json: Json = False, quiet: Quiet = False) -> int:
    """Check about fifty values against certified answers, in a few seconds.

    The exit code is 1 if too few digits agree. The answers, certified to 30 digits, were computed from the definitions
    by python -m certification.certify. Data and answers come with the package.

    For example:
      calibrant selfcheck
      calibrant selfcheck --json
    """
    from calibrant._core import description
    from calibrant.cli.work.selfcheck import certified_values

    with show.progress_bar("computing certified values", quiet=quiet or json) as progress:
        values = certified_values(progress)
    failed = [value for value in values if not value.passed]
    if json:
        show.print_json(values)
    else:
        show.print_table(("value", "certified", "digits", "needed"), map(_line, values))
        passed = len(values) - len(failed)
        show.print_lines([f"{passed} of {len(values)} values agree with their certified answers."], "bold")
        show.print_lines([f"Core: {description()}."])
    return show.report_failures(
        [f"{v.name} must agree in {v.required} digits, but does in {decimals(v.digits, 1)}." for v in failed]
    )


def _line(value: "CheckedValue") -> list[Text]:
    """Return a value, its certified answer, and how many digits agree; in red if these are too few."""
    cells = (value.name, significant(float(value.certified), 12), decimals(value.digits, 0), str(value.required))
    return [Text(cell, style="" if value.passed else "bold red") for cell in cells]
