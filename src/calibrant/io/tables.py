"""What all tables share: rows are read in batches, and a cell that is no number is reported with its place."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant._border.numerals import count
from calibrant._border.text import printable, quoted
from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.header import ARGUMENTS
from calibrant.io.polars import pl
from calibrant.io.sources import WIDE, Content, Source
from calibrant.io.values import NUMBER_MARKS, as_array, as_column


class Table(Source):
    """A file with named columns, read in batches of rows."""

    schema: "Mapping[str, pl.DataType]" = {}  # noqa: RUF012 (of formats whose columns have types)
    _width: int | None = None  # How many numbers each cell of a nested column holds.

    @abstractmethod
    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns; numbers may still be texts."""

    @abstractmethod
    def frame(self) -> "pl.DataFrame":
        """Read all columns."""

    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> Content:
        """Read the chosen columns; missing numbers are NaN, and missing labels None."""
        self._check_nested(numbers)
        stacks: dict[str, FloatArray] = {}
        labels, rows = [], 0
        with self.undamaged():
            for frame in self.rows([label] * bool(label), [name for names in numbers.values() for name in names]):
                for argument, names in numbers.items():
                    block = self.matrix(frame, names, rows)
                    shape = (rows + len(block), block.shape[1])
                    limits.check_size(self.file.name, *shape)
                    stack = stacks.setdefault(argument, np.empty((0, shape[1]), block.dtype))
                    stack.resize(shape, refcheck=False)  # In place where the allocator can extend it.
                    stack[rows:] = block
                labels += [_compact(frame[label])] if label else []
                rows += len(frame)
            column = as_column(labels) if label else None
        if not rows:
            raise InputError(f"{self.file.name} has columns but no rows. At least one row is needed.")
        return Content({key: stack if key in WIDE else stack[:, 0] for key, stack in stacks.items()}, column)

    def column(self, name: str) -> NDArray[np.generic]:
        """Read one column of any type."""
        self.header.find(name)
        with self.undamaged():
            return as_array(as_column([_compact(frame[name]) for frame in self.rows([name], [])]))

    def rows(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, with those in `numbers` converted to numbers; values may be missing."""
        start, long, written = 0, self._may_be_text(texts), self._may_be_text(numbers)
        for batch in self.batches(texts, numbers):
            self.file.check_unchanged()
            for name in long:
                self._check_length(batch[name], start)
            yield self._converted(batch, written, start) if written else batch
            start += len(batch)
        self.file.check_unchanged()

    def _may_be_text(self, names: Sequence[str]) -> list[str]:
        """Return the columns that hold texts, or may hold them because the format has no types."""
        return [name for name in names if str(self.schema.get(name, "String")) == "String"]

    def matrix(self, frame: "pl.DataFrame", names: Sequence[str], start: int) -> FloatArray:
        """Return columns of a batch side by side; its first row is row `start` of the file."""
        if names and names[0] in self.nested:
            return self._whole_rows(frame[names[0]].cast(pl.List(pl.Float64)), start)
        # Numbers in single precision stay in it: `Predictions` converts them once.
        dtype = pl.Float32 if all(frame[name].dtype == pl.Float32 for name in names) else pl.Float64
        return np.column_stack([frame[name].cast(dtype).to_numpy() for name in names])

    def _whole_rows(self, every: "pl.Series", start: int) -> FloatArray:
        """Return the matrix in a column whose cells each hold a whole row of numbers."""
        is_there = every.is_not_null().to_numpy()
        cells = every.drop_nulls()
        lengths = cells.list.len().to_numpy()
        if self._width is None:
            self._width = int(lengths[0]) if len(lengths) else 1
        bad = lengths != self._width
        if bad.any() or not self._width:
            row = start + int(np.flatnonzero(is_there)[bad.argmax()])
            raise InputError(
                f"{self._cell(row, every.name)}: every cell must hold as many numbers as the first ({self._width}), "
                f"but this one holds {lengths[bad.argmax()]}."
            )
        matrix = np.full((len(every), self._width), np.nan)
        matrix[is_there] = cells.explode().to_numpy().reshape(-1, self._width)
        return matrix

    def _converted(self, batch: "pl.DataFrame", names: Sequence[str], start: int) -> "pl.DataFrame":
        """Convert texts to numbers, null where a value is missing; refuse other texts with their place."""
        texts = [name for name in names if batch[name].dtype == pl.String]
        if not texts:
            return batch
        bare = pl.selectors.by_name(texts).str.strip_chars()
        if self.percent:
            bare = bare.str.strip_suffix("%").str.strip_chars_end()
        cells = batch.select(pl.when(~bare.str.to_lowercase().is_in(["", *NUMBER_MARKS])).then(bare))
        found = cells.select(pl.all().cast(pl.Float64, strict=False))
        wrong = {name: (cells[name].is_not_null() & found[name].is_null()).arg_true() for name in texts}
        rows = {name: int(places[0]) for name, places in wrong.items() if len(places)}
        if rows:
            name = min(rows, key=lambda each: rows[each])
            cell = batch[name][rows[name]]
            remedy = _remedy(cell.strip())
            raise InputError(f"{self._cell(start + rows[name], name)}: {quoted(cell)} is not a number. {remedy}")
        return batch.with_columns(found)

    def _check_nested(self, numbers: Mapping[str, Sequence[str]]) -> None:
        """Refuse lists where a cell must hold one number, and several columns of lists."""
        for argument, names in numbers.items():
            name = next(filter(self.nested.__contains__, names), None)
            if name is not None and argument not in WIDE:
                raise self._wrong_type(name, "numbers")
            if name is not None and len(names) > 1:
                raise InputError(
                    f"{self.file.name}: column {quoted(name)} holds {WIDE[argument]} in each cell, so it must be the "
                    f"only one. Name it alone with {ARGUMENTS.get(argument, argument)}=."
                )

    def _wrong_type(self, name: str, needed: str) -> InputError:
        return InputError(
            f"{self.file.name}: column {quoted(name)} must hold {needed}, but its type is "
            f"{printable(str(self.schema.get(name, 'list')), 60)}. Convert it before saving, or choose another column."
        )

    def _cell(self, row: int, column: str) -> str:
        """Return the place of a cell, for messages."""
        return f"{self.file.name}, {self.place(row)}, column {quoted(column)}"

    def _check_length(self, cells: "pl.Series", start: int) -> None:
        """Refuse endless texts, which would take much time and memory to copy, compare or print."""
        lengths = cells.str.len_bytes().fill_null(0)
        row = lengths.arg_max()
        if row is not None and lengths[row] > limits.MAX_TEXT_BYTES:
            raise InputError(
                f"{self._cell(start + row, cells.name)}: the text is {count(lengths[row])} bytes long, but "
                f"{count(limits.MAX_TEXT_BYTES)} are allowed. Is it the right column, and is every quotation mark "
                "closed?"
            )


def _compact(cells: "pl.Series") -> "pl.Series":
    """Return text as codes, which take less memory."""
    return cells.cast(pl.Categorical) if cells.dtype == pl.String else cells


def _remedy(cell: str) -> str:
    """Return advice on a cell that should hold a number."""
    if re.fullmatch(r"[-+]?[0-9]*,[0-9]+", cell):
        return "Use a point as the decimal separator, and no thousands separator."
    if re.fullmatch(r"[-+]?[0-9][0-9 _'’.,\u00a0\u202f]*", cell):  # noqa: RUF001 (typographic thousands signs)
        return "Write numbers without thousands separators."
    if cell.endswith("%"):
        return "If all of them are percentages, read them with percent=True."
    return "Write a number or drop the row."
