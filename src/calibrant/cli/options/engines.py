"""Sketches of many files, or of more rows than fit into memory: on this machine, on Dask or on Spark."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from calibrant.cli.printing import show
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.cli.options.reading import EitherSource, Source
    from calibrant.io.request import ReadOptions
    from calibrant.scale.local import Sketched
    from calibrant.scale.passes import Fitted
    from calibrant.scale.reading import AnySketch, Reading

ENGINES = Group("Many files", sort_key=5)

INPUT = Path("/dev/stdin")
"""Standard input; the command replaces - by it."""

SKETCH = ".sketch"
"""Suffix of saved sketches."""


@Parameter(name="*", group=ENGINES)
@dataclass(frozen=True, kw_only=True)
class Engine:
    """How to process files in bounded memory."""

    engine: Annotated[
        Literal["local", "dask", "spark"] | None,
        Parameter(help="Summarise the files in a sketch, in bounded memory: on this machine or on a cluster."),
    ] = None
    scheduler: Annotated[
        str | None, Parameter(help="Address of a Dask scheduler; by default one is started on this machine.")
    ] = None
    master: Annotated[
        str | None, Parameter(help="Spark master, such as spark://host:7077; by default on this machine.")
    ] = None
    skip_bad: Annotated[
        bool, Parameter(help="Skip files that cannot be read and rows that are not predictions, and count them.")
    ] = False

    waves: Annotated[
        int | None,
        Parameter(help="Number of random waves, such as 256; a sketch of more than two classes needs them for SKCE."),
    ] = None

    def check(self, files: Sequence[Path], source: "EitherSource") -> None:
        """Refuse options that would have no effect, before anything is read.

        Parameters
        ----------
        files : sequence of Path
        source : EitherSource
            The options that say how to read them.
        """
        from calibrant.cli.options.reading import first_given

        own = first_given(self)
        if own and source.are_forecasts:
            raise InputError(
                f"{own} is for sketches of classes, but the options describe forecasts, whose rows are read into "
                "memory. Remove it."
            )
        if _are_saved(files):
            if option := own or source.first_of_rows:
                raise InputError(
                    f"{option} says how to read rows, but {SKETCH} files hold no rows. Leave it out, or "
                    "give it to calibrant sketch when they are made."
                )
        else:
            self._check(is_sketched=self._is_sketched(files))

    def takes(self, files: Sequence[Path]) -> bool:
        """Whether the files are sketches or will be sketched, so that no rows are kept."""
        return _are_saved(files) or self.makes_sketch(files)

    def sketch(self, files: Sequence[Path], source: "Source", checkpoint: Path | None = None) -> "AnySketch | None":
        """Return the sketch of the files if they are sketches or are to be sketched; otherwise None."""
        if _are_saved(files):
            return _loaded(files)
        if not self.makes_sketch(files):
            return None
        return self.run(files, source, checkpoint, getattr(source, "by", None)).sketch

    def run(
        self, files: Sequence[Path], source: "Source", checkpoint: Path | None = None, by: str | None = None
    ) -> "Sketched":
        """Sketch the files, and print what was left out."""
        from calibrant.scale.reading import files_of

        self._check(is_sketched=True)
        with _from_input(files) as given:
            names = files_of(given)
            reading = _first(names, source.as_options(), skip_bad=self.skip_bad, by=by, features=self.waves)
            found = self._run(names, reading, source, checkpoint)
        counters = found.sketch.counters
        left_out = {"with missing values": counters.missing, "with invalid probabilities": counters.outside}
        lines = [f"left out: {show.rows(count)} {why}" for why, count in left_out.items() if count]
        for line in (*lines, *(f"left out: {text}" for text in found.bad.values())):
            show.console(stderr=True).print(line, style="yellow", markup=False, highlight=False)
        return found

    def makes_sketch(self, files: Sequence[Path]) -> bool:
        """Whether a sketch is to be made of the files, which are not saved sketches."""
        return not _are_saved(files) and self._is_sketched(files)

    def _is_sketched(self, files: Sequence[Path]) -> bool:
        return self.engine is not None or any(file.is_dir() for file in files)

    def _check(self, *, is_sketched: bool) -> None:
        """Refuse options of engines that would have no effect, or are impossible."""
        from calibrant._border.settings import check_count

        if self.waves is not None:
            check_count(self.waves, "features")
        effects = {
            "--waves": (self.waves is not None, is_sketched, "--engine"),
            "--skip-bad": (self.skip_bad, is_sketched, "--engine"),
            "--scheduler": (self.scheduler is not None, self.engine == "dask", "--engine dask"),
            "--master": (self.master is not None, self.engine == "spark", "--engine spark"),
        }
        for option, (is_given, has_effect, needed) in effects.items():
            if is_given and not has_effect:
                raise InputError(f"{option} needs {needed}. Add that, or leave {option} out.")

    def fit(self, files: Sequence[Path], source: "Source", method: str) -> "Fitted":
        """Fit temperature, vector or matrix scaling by passes over the files."""
        from calibrant.scale.passes import fit_passes
        from calibrant.scale.reading import files_of

        with _from_input(files) as given, self._kept() as kept:
            names = files_of(given)
            reading = _first(names, source.as_options(), skip_bad=self.skip_bad)
            return fit_passes(lambda one: self._run(names, one, source, None, **kept), reading, method)

    @contextmanager
    def _kept(self) -> Iterator[dict[str, Any]]:
        """Keep the connection to a cluster from pass to pass."""
        if self.engine == "dask":
            from calibrant.scale.dask_engine import connected

            with connected(self.scheduler, None) as client:
                yield {"client": client}
        elif self.engine == "spark":
            from calibrant.scale.spark_engine import session_of

            session = session_of(self.master)
            try:
                yield {"session": session}
            finally:
                session.stop()
        else:
            yield {}

    def _run(
        self, names: list[str], reading: "Reading", source: "Source", checkpoint: Path | None, **kept: Any
    ) -> "Sketched":
        from calibrant.scale.dask_engine import sketch_dask
        from calibrant.scale.local import sketch_files
        from calibrant.scale.spark_engine import sketch_spark

        with show.progress_bar("sketching", quiet=source.silent) as progress:
            if self.engine == "spark":
                return sketch_spark(names, reading, master=self.master, skip_bad=self.skip_bad, **kept)
            if self.engine == "dask":
                kept |= {"scheduler": self.scheduler, "progress": progress}
                return sketch_dask(names, reading, skip_bad=self.skip_bad, **kept)
            return sketch_files(names, reading, skip_bad=self.skip_bad, checkpoint=checkpoint, progress=progress)


def _are_saved(files: Sequence[Path]) -> bool:
    return all(file.name.endswith(SKETCH) for file in files)


def _first(
    names: Sequence[str],
    options: "ReadOptions",
    *,
    skip_bad: bool,
    by: str | None = None,
    features: int | None = None,
) -> "Reading":
    """Choose the columns by the first file that can be read."""
    from calibrant.scale.reading import Reading

    for name in names[:-1] if skip_bad else ():
        try:
            return Reading.of(name, skip_bad=True, by=by, features=features, **options)
        except (InputError, OSError):
            continue
    decisive = names[-1] if skip_bad else names[0]
    return Reading.of(decisive, skip_bad=skip_bad, by=by, features=features, **options)


def _loaded(files: Sequence[Path]) -> "AnySketch":
    """Return the sum of saved sketches."""
    from functools import reduce
    from operator import add

    from calibrant.scale import read_sketch

    found = [read_sketch(file) for file in files]
    if len({type(one) for one in found}) > 1:
        raise InputError("sketches of groups and sketches without groups cannot be added. Make all of them with --by.")
    return reduce(add, found)


@contextmanager
def _from_input(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Replace standard input by a temporary file with its content, which may exceed the memory."""
    if INPUT not in files:
        yield list(files)
        return
    import shutil
    import sys
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        with copy.open("wb") as handle:
            shutil.copyfileobj(sys.stdin.buffer, handle)
        yield [copy if file == INPUT else file for file in files]
