"""`calibrant report`: the verdict, the diagram and the tables as one HTML page."""

from pathlib import Path

from calibrant.cli.options import Options


def report(file: Path, /, *, options: Options = Options(), out: Path = Path("report.html")) -> None:
    """Write one self-contained HTML page about the predictions in FILE.

    Example: calibrant report predictions.parquet --out report.html

    Parameters
    ----------
    file
        CSV, Parquet, Arrow IPC or NPZ with a column a class and a column of labels.
    out
        Where to write the page.
    """
    from calibrant.cli import show
    from calibrant.io import check_writable, write_text
    from calibrant.report import render_html

    check_writable(out)
    assessment = options.assess(file)
    write_text(out, render_html(assessment, title=f"Calibration of {file.name}"))
    show.print_verdict(assessment)
    show.print_path("page", out)
