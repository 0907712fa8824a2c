"""Archives of logits, as sources of an experiment that trains no network."""

import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io import printable
from calibrant.lab.datasets.dataset import logits_folder
from calibrant.lab.experiment.config import Config, Data

PARTS = ("calibration_logits", "calibration_labels", "test_logits", "test_labels")


class Logits(NamedTuple):
    """Logits, (n, K), with labels, (n,), and the names of the K classes."""

    logits: NDArray[np.generic]
    labels: NDArray[np.generic]
    classes: NDArray[np.generic]


def archive_path(config: Config, network: str, seed: int) -> Path:
    """Return the path of the logits of a network: NAME.npz, or seed-0/NAME.npz and so on for several seeds."""
    folder = _folder(config.data)
    nested, flat = folder / f"seed-{seed}" / f"{network}.npz", folder / f"{network}.npz"
    path = flat if len(config.seeds) == 1 and not nested.is_file() else nested
    if not path.is_file():
        found = ", ".join(sorted(str(p.relative_to(folder).with_suffix("")) for p in folder.rglob("*.npz")))
        raise FileNotFoundError(
            f"there are no logits of the network {network!r} for seed {seed} at {printable(path)}. "
            f"{f'The folder has {found}.' if found else 'The folder has no logits.'}"
        )
    return path


def _folder(data: Data) -> Path:
    return logits_folder() if data.folder is None else data.folder


def fingerprint(path: Path, split: str) -> dict[str, int]:
    """Return the checksums of the arrays of a split from the directory of the archive; the arrays are not read."""
    wanted = [f"{name}.npy" for name in (*PARTS, "classes") if name.startswith((split, "classes"))]
    try:
        with zipfile.ZipFile(path) as archive:
            return {info.filename: info.CRC for info in archive.infolist() if info.filename in wanted}
    except zipfile.BadZipFile as error:
        raise InputError(f"{printable(path)} must be an NPZ archive, but is not, or is damaged.") from error


def read_logits(path: Path, split: str) -> Logits:
    """Return the logits of one split from an archive, without reading the others."""
    with np.load(path, allow_pickle=False) as archive:
        missing = [name for name in PARTS if name not in archive]
        if missing:
            raise InputError(f"{printable(path)} must hold {', '.join(PARTS)}, but lacks {', '.join(missing)}.")
        logits, labels = archive[f"{split}_logits"], archive[f"{split}_labels"]
        classes = archive["classes"] if "classes" in archive else np.arange(_width(logits, path))
    if len(classes) != _width(logits, path):
        raise InputError(
            f"classes in {printable(path)} must name the {logits.shape[1]} columns of logits, but there are "
            f"{len(classes)}."
        )
    return Logits(logits, _as_indices(labels, classes), classes.astype(str))


def _width(logits: NDArray[np.generic], path: Path) -> int:
    if logits.ndim != 2:
        raise InputError(f"logits in {printable(path)} must have a column per class, but have shape {logits.shape}.")
    return int(logits.shape[1])


def _as_indices(labels: NDArray[np.generic], classes: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return labels as class indices; strings are looked up in the names of the classes."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    positions = {name: i for i, name in enumerate(classes.astype(str).tolist())}
    unknown = [name for name in np.unique(labels.astype(str)).tolist() if name not in positions]
    if unknown:
        raise InputError(f"labels must be integers or names in classes, but {unknown[0]!r} is neither.")
    return np.array([positions[name] for name in labels.astype(str).tolist()], dtype=np.int64)
