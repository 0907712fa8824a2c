"""Sketches of many files on a Dask cluster: a task per file, merged as a tree."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from calibrant._border.types import Progress
from calibrant.exceptions import InputError
from calibrant.scale.local import Sketched, part_of
from calibrant.scale.reading import Reading
from calibrant.scale.saved import read_bytes

MERGED = 4
"""Number of sketches that one task adds up."""

RETRIES = 1
"""How often a task that failed is run again; one whose worker died is always run again."""

Part = tuple[bytes, dict[str, str]]


def sketch_dask(
    files: Sequence[str],
    reading: Reading,
    *,
    scheduler: str | None = None,
    client: Any = None,
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> Sketched:
    """Return the sketch of many files, which every worker must be able to read under their names.

    Parameters
    ----------
    files : sequence of str
    reading : Reading
    scheduler : str, optional
        Address of a scheduler, as tcp://host:8786; by default workers are started on this machine.
    client : distributed.Client, optional
        A client to use in place of these.
    skip_bad : bool, default=False
        Leave out files that cannot be read, and name them, rather than stop.
    progress : callable, optional
        Called with (files done, files in all).
    """
    with connected(scheduler, client) as cluster:
        # Without pure=False a file that was written anew would give what was computed of the old one.
        parts = cluster.map(_part, files, reading=reading, skip_bad=skip_bad, pure=False, retries=RETRIES)
        _wait(parts, cluster.loop, progress)
        for place, (future, file) in enumerate(zip(parts, files, strict=True)):
            if future.status == "error":
                parts[place] = _alone(cluster, file, reading, skip_bad)
        while len(parts) > 1:
            groups = [parts[start : start + MERGED] for start in range(0, len(parts), MERGED)]
            parts = [cluster.submit(_merged, *group, pure=False, retries=RETRIES) for group in groups]
        data, bad = parts[0].result()
    return Sketched(read_bytes(data), bad)


def connected(scheduler: str | None, client: Any = None) -> Any:
    """Return a client to work with: the one given, one of a scheduler, or one of workers on this machine."""
    if client is not None:
        return nullcontext(client)
    distributed = _distributed()
    if scheduler is not None:
        return distributed.Client(scheduler, set_as_default=False)
    return _local(distributed)


@contextmanager
def _local(distributed: Any) -> Iterator[Any]:
    """Start workers on this machine, and stop them in the end."""
    with (
        distributed.LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError('Dask is not installed: pip install "calibrant[dask]".') from error
    return distributed


def _wait(parts: Sequence[Any], loop: Any, progress: Progress | None) -> None:
    """Wait for all files; stop at one that cannot be read, but not at one whose workers died."""
    distributed = _distributed()
    for count, future in enumerate(distributed.as_completed(parts, loop=loop), 1):
        error = future.exception() if future.status == "error" else None
        if error is not None and not isinstance(error, distributed.KilledWorker):
            for other in parts:
                other.cancel()
            raise error
        if progress is not None:
            progress(count, len(parts))


def _alone(client: Any, file: str, reading: Reading, skip_bad: bool) -> Any:
    """Read a file while no other is read: when a worker dies, Dask suspects every file that waited for it."""
    distributed = _distributed()
    future = client.submit(_part, file, reading=reading, skip_bad=skip_bad, pure=False, retries=RETRIES)
    error = future.exception()  # Waits.
    if isinstance(error, distributed.KilledWorker):
        raise InputError(
            f"{file}: every worker that read it died. It may need more memory than they have, or be "
            "damaged: write it in smaller files, or leave it out."
        ) from error
    return future


def _part(file: str, reading: Reading, skip_bad: bool) -> Part:
    found = part_of(file, reading, skip_bad=skip_bad)
    return found.sketch.to_bytes(), dict(found.bad)


def _merged(first: Part, *others: Part) -> Part:
    total, bad = read_bytes(first[0]), dict(first[1])
    for data, more in others:
        total, bad = total + read_bytes(data), bad | more
    return total.to_bytes(), bad
