"""Calibrators in files: JSON that cannot run code, with a checksum."""

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
from calibrant.calibrators.stored import check_learnt, check_usable
from calibrant.exceptions import FileError, InputError

if TYPE_CHECKING:
    from calibrant.calibrators.forecasts import ForecastCalibrator

Stored = Union[Calibrator, "ForecastCalibrator"]
"""What can be kept in a file: a calibrator of classes or of predictive distributions."""

FORMAT = 1
"""Number of the newest format; older ones are read too."""

MAX_FILE_BYTES = 100 * 2**20
"""Largest file that is written or read."""


@dataclass(frozen=True)
class StoredCalibrator:
    """The content of a file.

    Attributes
    ----------
    calibrator : Calibrator or ForecastCalibrator
    details : dict
        What was stored beside it.
    sha256 : str
        The checksum, which names this calibrator.
    """

    calibrator: Any
    details: dict[str, Any]
    sha256: str


def save(calibrator: Stored, path: str | os.PathLike[str], *, details: Mapping[str, object] | None = None) -> str:
    """Write a fitted calibrator to a file, completely or not at all.

    Parameters
    ----------
    calibrator : Calibrator or ForecastCalibrator
        Fitted, and of calibrant: a class of your own cannot be loaded again. Of a `CalibratedModel`, save the
        `calibrator_`.
    path : str or path
        Usually with the extension .json. An existing file is replaced.
    details : mapping, optional
        Texts and numbers to be stored beside it, such as the name of the model.

    Returns
    -------
    str
        The checksum in the file.

    Notes
    -----
    Settings and learnt numbers are written as JSON, arrays as base64 of 64-bit little-endian numbers, so that the
    loaded calibrator gives the same probabilities to the last bit.
    """
    if not isinstance(calibrator, Estimator):
        raise TypeError(
            f"calibrator must be a calibrator, but is {calibrator!r:.80}. Of a CalibratedModel, save calibrator_."
        )
    check_is_fitted(calibrator)
    if isinstance(calibrator, Calibrator) and not hasattr(calibrator, "classes_"):
        raise InputError("the calibrator was fitted inside another one and has no classes. Save the outer one.")
    _check(calibrator)
    from calibrant import __version__

    head = {"format": FORMAT, "calibrant": __version__, "sha256": "", "details": dict(details or {})}
    encoded = encode(calibrator)
    try:
        content, checksum = seal({**head, "calibrator": encoded})
    except TypeError as error:
        raise TypeError(f"details must be texts and numbers: {error}.") from error
    if len(content) > MAX_FILE_BYTES:
        raise InputError(
            f"the calibrator would take {count(len(content))} bytes, more than the {count(MAX_FILE_BYTES)} that can "
            "be read. Choose one with fewer parameters."
        )
    with write_atomically(path) as file:
        file.write(content)
    return checksum


def load(path: str | os.PathLike[str]) -> Any:
    """Return the calibrator, of classes or of predictive distributions, in a file that `save` has written.

    Nothing in the file is executed, and only classes of calibrant are built. The content is checked as a whole, by its
    checksum, and in its meaning: a negative temperature or steps that fall are refused.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    InputError
        If the content is damaged, or does not describe a calibrator.
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
    """Return the calibrator in a file, with the details that were stored beside it and the checksum."""
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
    """Refuse what no fit can give."""
    from calibrant.calibrators.forecasts import ForecastCalibrator
    from calibrant.calibrators.forecasts.stored import check_usable_forecasts

    if not isinstance(calibrator, (Calibrator, ForecastCalibrator)):
        raise InputError("it does not describe a calibrator.")
    check_learnt(calibrator)
    if isinstance(calibrator, Calibrator):
        check_usable(calibrator)
    else:
        check_usable_forecasts(calibrator)
