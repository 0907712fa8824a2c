"""Save calibrators to files and load them: JSON with a checksum, which cannot run code."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from calibrant._border.files import open_regular, write_atomically
from calibrant._border.numerals import count
from calibrant._border.sealed import seal, unseal
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.encoding import decode, encode
from calibrant.calibrators.estimator import Estimator, check_is_fitted
from calibrant.exceptions import FileError, InputError

if TYPE_CHECKING:
    from calibrant.calibrators.forecasts import ForecastCalibrator

Stored = Union[Calibrator, "ForecastCalibrator"]
"""A calibrator of classes or of predictive distributions."""

FORMAT = 1
"""Number of the current format; older ones can be read too."""

MAX_FILE_BYTES = 100 * 2**20
"""Largest file that is written or read."""


@dataclass(frozen=True)
class StoredCalibrator:
    """The content of a file.

    Attributes
    ----------
    calibrator : Calibrator or ForecastCalibrator
    details : dict
        What was stored with it.
    sha256 : str
        The checksum, which identifies this calibrator.
    """

    calibrator: Any
    details: dict[str, Any]
    sha256: str


def save(calibrator: Stored, path: str | os.PathLike[str], *, details: Mapping[str, object] | None = None) -> str:
    """Write a fitted calibrator to a file, completely or not at all.

    Parameters
    ----------
    calibrator : Calibrator or ForecastCalibrator
        Fitted, and of a class of calibrant: other classes could not be loaded again. For a `CalibratedModel`, save its
        `calibrator_`.
    path : str or path
        Usually with the extension .json. An existing file is replaced.
    details : mapping, optional
        Strings and numbers to store with it, such as the name of the model.

    Returns
    -------
    str
        The checksum in the file.

    Notes
    -----
    Settings and learnt numbers are written as JSON, and arrays as base64 of 64-bit little-endian numbers, so the loaded
    calibrator gives the same probabilities to the last bit.
    """
    if not isinstance(calibrator, Estimator):
        raise TypeError(
            f"calibrator must be a calibrator, but is {calibrator!r:.80}. For a CalibratedModel, save its calibrator_."
        )
    check_is_fitted(calibrator)
    if isinstance(calibrator, Calibrator) and not hasattr(calibrator, "classes_"):
        raise InputError(
            "the calibrator must know its classes, but it was fitted inside another one. Save the outer calibrator."
        )
    _check(calibrator)
    from calibrant import __version__

    head = {"format": FORMAT, "calibrant": __version__, "sha256": "", "details": dict(details or {})}
    encoded = encode(calibrator)
    try:
        content, checksum = seal({**head, "calibrator": encoded})
    except TypeError as error:
        raise TypeError(f"details must be strings and numbers: {error}.") from error
    if len(content) > MAX_FILE_BYTES:
        raise InputError(
            f"the file would have {count(len(content))} bytes, more than the {count(MAX_FILE_BYTES)} that `load` "
            "accepts. Choose a calibrator with fewer parameters."
        )
    with write_atomically(path) as file:
        file.write(content)
    return checksum


def load(path: str | os.PathLike[str]) -> Any:
    """Return the calibrator, of classes or of predictive distributions, from a file that `save` has written.

    Nothing in the file is executed, and only classes of calibrant are instantiated. The checksum must match, and the
    content must make sense: a negative temperature, for instance, is refused.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    InputError
        If the content is damaged or does not describe a calibrator.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.calibrators import TemperatureScaling
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save(TemperatureScaling().fit([0.9, 0.8, 0.9], [1, 0, 1]), f"{folder}/ts.json")
    ...     load(f"{folder}/ts.json")
    TemperatureScaling()
    """
    return load_with_details(path).calibrator


def load_with_details(path: str | os.PathLike[str]) -> StoredCalibrator:
    """Return the calibrator in a file, with the details stored with it and its checksum."""
    with open_regular(path) as file:
        try:
            content = file.handle.read(MAX_FILE_BYTES + 1)
            document, checksum = unseal(content, "calibrator", newest=FORMAT, most_bytes=MAX_FILE_BYTES)
            calibrator, details = decode(document["calibrator"]), document.get("details")
            _check(calibrator if isinstance(details, dict) else None)
        except InputError as error:
            raise FileError(f"{file.name} cannot be used as a calibrator: {error}") from error
    return StoredCalibrator(calibrator, document["details"], checksum)


def _check(calibrator: object) -> None:
    """Refuse a calibrator that no fit can give."""
    from calibrant.calibrators.forecasts import ForecastCalibrator
    from calibrant.calibrators.stored_checks import check_learnt, check_usable, check_usable_forecasts

    if not isinstance(calibrator, (Calibrator, ForecastCalibrator)):
        raise InputError("it does not describe a calibrator.")
    check_learnt(calibrator)
    if isinstance(calibrator, Calibrator):
        check_usable(calibrator)
    else:
        check_usable_forecasts(calibrator)
