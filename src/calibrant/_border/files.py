"""Files opened safely, and written atomically: they hold the old or the new content, never a part of it."""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from calibrant._border.text import printable
from calibrant.exceptions import InputError

_PREFIX, _SUFFIX = ".calibrant-", ".tmp"


@dataclass(frozen=True)
class OpenFile:
    """A regular file that is open for reading."""

    handle: BinaryIO
    name: str
    """The path, escaped for messages."""
    suffix: str
    size: int
    modified: int

    def check_unchanged(self) -> None:
        """Refuse a file that another process is still writing."""
        status = os.fstat(self.handle.fileno())
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified):
            raise InputError(f"{self.name} changed while it was being read. Wait until it is written, then try again.")


@contextlib.contextmanager
def open_regular(path: str | os.PathLike[str]) -> Iterator[OpenFile]:
    """Open a file for reading; refuse folders, pipes and devices without waiting for them."""
    name = printable(path)
    with _open(path, name) as handle:
        status = os.fstat(handle.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{name} is not a regular file. Save the data in a file and name that.")
        suffix = PurePath(path).suffix.lower()
        file = OpenFile(handle, name, suffix, status.st_size, status.st_mtime_ns)
        try:
            yield file
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(f"{name} cannot be read: {error.strerror}.") from error


def _open(path: str | os.PathLike[str], name: str) -> BinaryIO:
    def without_waiting(target: str, flags: int) -> int:
        return os.open(target, flags | getattr(os, "O_NONBLOCK", 0))

    try:
        return open(path, "rb", opener=without_waiting)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{name} does not exist. Check the path.") from error
    except IsADirectoryError as error:
        raise IsADirectoryError(f"{name} is a folder. Name one of the files in it.") from error
    except PermissionError as error:
        raise PermissionError(f"{name} cannot be read: permission denied.") from error
    except OSError as error:
        raise OSError(f"{name} cannot be opened: {error.strerror}.") from error
    except ValueError as error:  # A NUL character in the path.
        raise FileNotFoundError(f"{name} does not exist: no file can have such a name.") from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the errors of `write_atomically` now, before long work.

    Raises
    ------
    OSError
        If the target is a folder or a device, if its folder is missing, or if permission is denied.
    """
    with _reported(path):
        _check_target(_resolve(path), printable(path))
        handle, temporary = _create(_resolve(path).parent)
        handle.close()  # Windows cannot remove an open file.
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file completely or not at all.

    The content goes to a temporary file in the same folder, which replaces the target when the body has ended without
    an exception and everything is on the disk. After an exception, KeyboardInterrupt included, the target is as it
    was and the temporary file is gone. A killed process leaves its temporary file behind; the next one that writes to
    the folder removes it.

    Parameters
    ----------
    path : str or path
        A symbolic link is followed. An existing file keeps its permissions.

    Yields
    ------
    file object
        Open for writing bytes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_atomically(f"{folder}/note.txt") as file:
    ...         _ = file.write(b"done")
    ...     Path(folder, "note.txt").read_text()
    'done'
    """
    check_writable(path)
    target = _resolve(path)
    _remove_leftovers(target.parent)
    with _reported(path):
        handle, temporary = _create(target.parent)
    try:
        with _reported(path), contextlib.ExitStack() as until_replaced:
            with handle:
                yield handle
                handle.flush()
                if target.exists():
                    temporary.chmod(stat.S_IMODE(target.stat().st_mode))
                os.fsync(handle.fileno())
                until_replaced.callback(_keep_locked(handle))
            temporary.replace(target)  # Windows cannot replace by an open file.
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    # The file is complete and in place; not every file system can sync a folder.
    with contextlib.suppress(OSError):
        _sync_folder(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text as UTF-8, completely or not at all."""
    with write_atomically(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _check_target(target: Path, name: str) -> None:
    folder = target.parent
    if target.is_dir():
        raise IsADirectoryError(f"{name} is a folder. Name a file in it.")
    if not folder.exists():
        raise FileNotFoundError(f"{name} cannot be written: there is no folder {printable(folder)}. Create it first.")
    if not folder.is_dir():
        raise NotADirectoryError(f"{name} cannot be written: {printable(folder)} is not a folder.")
    if target.exists() and not target.is_file():
        raise OSError(f"{name} is not a regular file and will not be replaced. Name another file.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{name} is read-only. Name another file, or change its permissions.")


def _resolve(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:  # A NUL character in the path.
        raise FileNotFoundError(f"{printable(path)} cannot be written: no file can have such a name.") from error


@contextlib.contextmanager
def _reported(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system about the target or its temporary file into errors that name the target."""
    try:
        yield
    except OSError as error:
        ours = error.filename in (None, str(_resolve(path))) or _PREFIX in str(error.filename)
        if error.errno is None or not ours:
            raise
        raise OSError(f"{printable(path)} cannot be written: {error.strerror}. Nothing was changed.") from error


def _create(folder: Path) -> tuple[BinaryIO, Path]:
    """Create a temporary file, locked while in use, with the default permissions."""
    while True:
        temporary = folder / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
        handle = temporary.open("xb")
        # Another process may have taken it for a leftover in the moment before it was locked.
        if lock(handle) and os.fstat(handle.fileno()).st_nlink:
            return handle, temporary
        handle.close()


def lock(handle: BinaryIO) -> bool:
    """Lock a file until it is closed; return False if another process holds the lock, True if locks do not work."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True
    return True


def _keep_locked(handle: BinaryIO) -> Callable[[], None]:
    """Keep a file locked after it is closed, where there are locks; return a function that releases the lock."""
    try:
        import fcntl  # noqa: F401 (are there locks?)
    except ImportError:
        return lambda: None
    descriptor = os.dup(handle.fileno())
    return lambda: os.close(descriptor)


def _remove_leftovers(folder: Path) -> None:
    """Remove temporary files of killed processes, which are not locked."""
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        for leftover in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
            with contextlib.suppress(OSError), leftover.open("rb") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                leftover.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
