"""The compiled library: a C interface of plain pointers and sizes, loaded once; absent where it could not be built.

Each routine exists once per level of the processor, so that one file serves all of them. The caller checks sizes; types
and layouts of arrays are checked here; the C code trusts both. A call releases the interpreter's lock.
"""

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from _ctypes import _CArgObject
    from collections.abc import Callable

    Routine = Callable[..., None]

WHOLE, REAL = ctypes.c_int64, ctypes.c_double


class Record(ctypes.Structure):
    """A C structure that keeps the arrays to which it points alive."""

    _fields_: ClassVar[list[tuple[str, Any]]] = []

    @classmethod
    def of(cls, **values: object) -> Self:
        """Return the structure with these numbers, arrays and structures."""
        record = cls()
        record.kept = values
        for name, kind in cls._fields_:
            setattr(record, name, _as_field(values[name], name, kind))
        return record

    kept: dict[str, object]


def _as_field(value: Any, name: str, kind: object) -> Any:
    if kind is WHOLE or kind is REAL:
        return int(value) if kind is WHOLE else float(value)
    if kind is not ctypes.c_void_p:
        return value
    if value.dtype not in _NUMBER_TYPES or not value.flags.c_contiguous:
        raise TypeError(f"{name} must be contiguous and of float64 or int64, but is {value.dtype}.")
    return _address(value)


_NUMBER_TYPES = frozenset({np.dtype(np.float64), np.dtype(np.int64)})


def _address(array: NDArray[np.generic]) -> int:
    """Return where an array begins, in a third of the time that `array.ctypes.data` takes."""
    address: int = array.__array_interface__["data"][0]
    return address


def _fields(pointers: str = "", wholes: str = "", reals: str = "", **records: object) -> list[tuple[str, Any]]:
    """Return whole numbers, real numbers, pointers and structures in this order, as the C code declares them."""
    kinds = ((wholes, WHOLE), (reals, REAL), (pointers, ctypes.c_void_p))
    return [(name, kind) for names, kind in kinds for name in names.split()] + [*records.items()]


class Points(Record):
    """Rows and columns of `depth` numbers each, padded with zeros to whole panels."""

    _fields_ = [*_fields("rows columns totals"), *_fields(wholes="depth")]


class Problem(Record):
    """All parameters of H."""

    _fields_ = [*_fields(points=Points, residuals=Points), *_fields("", "distance power profile", "scale shape")]


class Job(Record):
    """Rows and columns of a rectangle of H made of whole panels."""

    _fields_ = _fields(wholes="row row_end column column_end")


class BoxesRecord(Record):
    """Occupied boxes; see `line.boxes.Boxes`."""

    _fields_ = [*_fields(wholes="occupied n_boxes"), *_fields("starts ids centres scales")]


class Sources(Record):
    """The rows that sums run over, and the kernel; see `line.sums`."""

    _fields_ = _fields("x translations edge", "n reflect code terms degree reach", "per_bandwidth", boxes=BoxesRecord)


class PlanRecord(Record):
    """How the sums of each target box are computed; see `line.sums`."""

    _fields_ = _fields("x own whole whole_rows rows way", "leave_out", boxes=BoxesRecord)


class Strip(Record):
    """Some columns of charges, their moments and sums."""

    _fields_ = _fields("charges moments out", "width")


class Matrix(Record):
    """A matrix in memory, with the steps from row to row and from column to column."""

    _fields_ = [*_fields("at"), *_fields(wholes="row column")]

    @classmethod
    def view(cls, array: NDArray[np.generic], dtype: type = np.float64) -> Self:
        """Return a matrix of this type without copying it."""
        if array.dtype != dtype:
            raise TypeError(f"the matrix must be of {np.dtype(dtype)}, but is of {array.dtype}.")
        matrix = cls(_address(array), *(step // array.itemsize for step in array.strides))
        matrix.kept = {"at": array}
        return matrix


class EventsRecord(Record):
    """Rows of every box, those with the event first; see `line.replicates`."""

    _fields_ = _fields("rows places middle happened")


class Work(Record):
    """Memory of one thread for a group of replicates."""

    _fields_ = _fields("weights moments")


class FoldsRecord(Record):
    """Rows with their folds, and memory; see `line.held_out`."""

    _fields_ = _fields("fold weights hits translations moments", "n_folds")


class Kernels(Record):
    """The Beta kernels of sources; see `line.beta`."""

    _fields_ = _fields("a c constant")


class RowsRecord(Record):
    """Predictions, weights, the two most probable classes and a bin of every row; see `redraws`."""

    _fields_ = _fields("probs weights top second bins", "n n_classes")


class RowWork(Record):
    """Memory for one row of predictions; see `redraws`."""

    _fields_ = _fields("cumulative logs odds uniform guides", "n_guides")


class RedrawnSums(Record):
    """Sums over drawn labels; see `redraws`."""

    _fields_ = _fields("logs classes hits seconds")


_Start = ctypes.c_char * 0


class _Array(NamedTuple):
    """An argument that takes contiguous arrays of one type, or of any type if another argument gives it.

    It does the same as `numpy.ctypeslib.ndpointer`, which for a few hundred rows takes longer than most routines.
    """

    dtype: np.dtype[np.generic] | None

    def from_param(self, array: object) -> "ctypes.c_void_p | _CArgObject":
        """Return the address of an array, which the caller keeps alive."""
        if not isinstance(array, np.ndarray):
            raise TypeError("argument must be an ndarray")
        if self.dtype is not None and array.dtype != self.dtype:
            raise TypeError(f"array must have data type {self.dtype}")
        if not array.flags.c_contiguous:
            raise TypeError("array must be contiguous")
        if array.flags.writeable:  # As a buffer: the fastest way, but only for writeable arrays.
            return ctypes.byref(_Start.from_buffer(array))  # type: ignore[arg-type]  # A buffer by type from 3.12 on.
        return ctypes.c_void_p(_address(array))


_REALS, _WHOLES, _BITS, _COUNTS, _LABELS, _EVENTS = (
    _Array(np.dtype(kind)) for kind in (np.float64, np.int64, np.uint64, np.uint16, np.int32, np.uint8)
)
_NUMBERS = _Array(None)

_SIGNATURES: dict[str, tuple[object, ...]] = {
    "sizes": (_WHOLES,),
    "exp": (_REALS, WHOLE),
    "log": (_REALS, WHOLE),
    "totals": (WHOLE, Points, WHOLE),
    "pair_sum": (Problem, Job, _REALS),
    "block_sums": (Problem, WHOLE, WHOLE, _REALS),
    "row_sums": (Problem, Job, _REALS, _REALS, _REALS),
    "forms": (Problem, Job, WHOLE, WHOLE, _REALS, _REALS),
    "sorted_sum": (_WHOLES, _REALS, _REALS, WHOLE, _REALS),
    "sorted_rows": (_WHOLES, _REALS, _REALS, _REALS, WHOLE, _REALS),
    "sorted_product": (_WHOLES, _REALS, _REALS, WHOLE, _REALS, _REALS, WHOLE, WHOLE, WHOLE),
    "bin_index": (Matrix, _REALS, WHOLE, WHOLE, _WHOLES),
    "bin_sums": (Matrix, _REALS, _WHOLES, _REALS, WHOLE, WHOLE, _REALS),
    "bin_columns": (Matrix, _REALS, _REALS, WHOLE, WHOLE, WHOLE, _REALS),
    "softmax_residuals": (_REALS, _WHOLES, _REALS, WHOLE, WHOLE, _REALS, _REALS),
    "softmax_curvature": (_REALS, _REALS, _REALS, *5 * [WHOLE], _REALS, _REALS),
    "isotonic": (_REALS, _REALS, WHOLE, _WHOLES, _REALS, _REALS, _REALS, _WHOLES),
    "sketch_records": (_NUMBERS, WHOLE, _EVENTS, *3 * [WHOLE], _EVENTS, _LABELS, _REALS, _WHOLES, WHOLE, _WHOLES),
    "parquet_chunks": (ctypes.c_char_p, WHOLE, WHOLE, _WHOLES, _WHOLES),
    "parquet_pages": (ctypes.c_char_p, _WHOLES, WHOLE, _WHOLES),
    "sketch_plain": (_NUMBERS, WHOLE, _NUMBERS, WHOLE, _WHOLES),
    "sketch_scores": (_REALS, _EVENTS, WHOLE, WHOLE, _WHOLES),
    "distances": (WHOLE, Points, WHOLE, WHOLE, WHOLE, _REALS),
    "draw_counts": (_BITS, WHOLE, WHOLE, _COUNTS, _REALS),
    "count_sums": (_REALS, _WHOLES, WHOLE, _REALS, _BITS, WHOLE, _REALS, _REALS),
    "redraw": (RowsRecord, _BITS, WHOLE, RowWork, RedrawnSums, _LABELS),
    "feature_sums": (_LABELS, WHOLE, WHOLE, WHOLE, _REALS, WHOLE, WHOLE, WHOLE, _REALS),
    "squared_gaps": (_REALS, WHOLE, _REALS, WHOLE, _REALS),
    "collect": (_REALS, BoxesRecord, _REALS, WHOLE, WHOLE, _REALS),
    "line_sums": (Sources, Strip, PlanRecord, WHOLE, WHOLE),
    "pack": (Matrix, _WHOLES, WHOLE, WHOLE, WHOLE, WHOLE, _REALS),
    "unpack": (_REALS, _WHOLES, WHOLE, WHOLE, WHOLE, WHOLE, _REALS),
    "pack_weights": (Matrix, _REALS, _WHOLES, WHOLE, WHOLE, WHOLE, _REALS),
    "pack_hits": (Matrix, _REALS, _WHOLES, WHOLE, WHOLE, WHOLE, _REALS),
    "replicate_gaps": (Sources, EventsRecord, PlanRecord, Work, _REALS, _REALS, REAL, WHOLE, _REALS),
    "held_out": (Sources, FoldsRecord, PlanRecord, _REALS),
    "gaps": (_REALS, Matrix, Matrix, Matrix, _REALS, REAL, WHOLE, WHOLE, _REALS),
    "beta_sums": (Kernels, Strip, _REALS, _REALS, _WHOLES, WHOLE, WHOLE, WHOLE),
    "interpolate": (_REALS, BoxesRecord, _REALS, _REALS, WHOLE, Strip),
}
"""Arguments of each routine; all of them write into arrays that they are given."""


class Library(NamedTuple):
    """The routines at one level, and the sizes for which arrays are packed."""

    level: str
    lanes: int
    tile: int
    strip: int
    routines: "dict[str, Routine]"

    @property
    def panel(self) -> int:
        """Number of columns that are adjacent in memory, class by class; tiles are whole panels."""
        return 2 * self.lanes

    def __getattr__(self, name: str) -> "Routine":
        return self.routines[name]


@cache
def library() -> Library | None:
    """Return the compiled library at the highest level that this processor runs, or None if there is none.

    The environment variable CALIBRANT_CORE selects another level, such as "v1", or "numpy" for none; CALIBRANT_LIBRARY
    selects another file.
    """
    wanted = os.environ.get("CALIBRANT_CORE", "")
    files = [os.environ.get("CALIBRANT_LIBRARY", ""), *map(str, Path(__file__).parent.glob("c/core.*"))]
    if wanted == "numpy" or not any(files):
        return None
    try:
        loaded = ctypes.CDLL(next(filter(None, files)))
    except OSError:  # Built for another machine, as in a folder that two systems share.
        return None
    highest = loaded.calibrant_level()
    levels = [f"v{level}" for level in (4, 3, 1) if level <= highest]
    return _at_level(loaded, wanted or next(level for level in levels if hasattr(loaded, f"calibrant_{level}_sizes")))


def required() -> Library:
    """Return the library, for callers that have made sure that there is one."""
    found = library()
    if found is None:
        raise RuntimeError("the compiled library is missing.")
    return found


def _at_level(loaded: ctypes.CDLL, level: str) -> Library:
    routines = {}
    for name, kinds in _SIGNATURES.items():
        routine = getattr(loaded, f"calibrant_{level}_{name}")
        routine.restype = None
        routine.argtypes = [
            ctypes.POINTER(kind) if isinstance(kind, type) and issubclass(kind, Record) else kind for kind in kinds
        ]
        routines[name] = routine
    sizes = np.empty(3, dtype=np.int64)
    routines["sizes"](sizes)
    lanes, tile, strip = sizes.tolist()
    return Library(level, lanes, tile, strip, routines)
