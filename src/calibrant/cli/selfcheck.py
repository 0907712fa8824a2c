"""`calibrant selfcheck`: whether this machine computes the certified values."""

from calibrant._border.numerals import decimals
from calibrant.cli.options import Json, Quiet


def run_selfcheck(*, json: Json = False, quiet: Quiet = False) -> int:
    """Check about fifty values against certified answers, in a few seconds.

    The exit code is 1 if too few digits agree. The answers, certified to 30 digits, were computed from the definitions
    by python -m certification.certify. Data and answers come with the package.

    For example:
      calibrant selfcheck
      calibrant selfcheck --json
    """
    from calibrant._core import description
    from calibrant.cli import show, show_tests
    from calibrant.cli.certified import selfcheck

    with show.progress_bar("computing certified values", quiet=quiet or json) as progress:
        values = selfcheck(progress)
    failed = [value for value in values if not value.passed]
    if json:
        show.print_json(values)
    else:
        show_tests.print_checked(values)
        show.print_lines([f"Core: {description()}."])
    return show.report_failures(
        [f"{v.name} must agree in {v.required} digits, but does in {decimals(v.digits, 1)}." for v in failed]
    )
