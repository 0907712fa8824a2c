"""Sketches of many files on a Dask cluster: a task per file, merged as a tree."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from calibrant._border.numerals import as_given
from calibrant._border.types import Progress
from calibrant.exceptions import InputError
from calibrant.scale.local import Sketched, part_of
from calibrant.scale.reading import Reading

MERGED = 4
"""Number of sketches that one task adds up."""

RETRIES = 1
"""How often a task that failed is run again; one whose worker died is always run again."""

PATIENCE, TO_BEGIN = 60.0, 10
"""Seconds without any worker after which a run stops, and how many times as long it waits for the first one, which the
cluster may still be starting. A scheduler itself would wait for ever."""

DEATHS = 2
"""Workers that may die while a file is read alone. Dask's own limit was reached before, with other files beside it."""

MOST_NAMED = 4
"""Most files that a message names."""

LOST = "distributed.deploy.lost-worker-timeout"
"""Dask's setting for clusters on this machine: the time after which it gives up a lost worker, restarted or not."""

Part = tuple[bytes, dict[str, str]]


def sketch_dask(
    files: Sequence[str],
    reading: Reading,
    *,
    scheduler: str | None = None,
    client: object = None,
    skip_bad: bool = False,
    patience: float = PATIENCE,
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
        A client to use instead.
    skip_bad : bool, default=False
        Leave out files that cannot be read, and name them, rather than stop.
    patience : float, default=60
        Seconds to wait for a worker after all of them are gone; ten times as long for the first one.
    progress : callable, optional
        Called with (files done, files in all).
    """
    with connected(scheduler, client) as cluster:
        # Without pure=False, a rewritten file would give the result that is cached for its old content.
        parts = cluster.map(_part, files, reading=reading, skip_bad=skip_bad, pure=False, retries=RETRIES)
        run = _Run(cluster, patience)
        _wait(run, parts, files, progress)
        for place, (future, file) in enumerate(zip(parts, files, strict=True)):
            if future.status == "error":
                parts[place] = _alone(run, file, reading, skip_bad)
        own = {future.key: file for future, file in zip(parts, files, strict=True)}
        while len(parts) > 1:
            groups = [parts[start : start + MERGED] for start in range(0, len(parts), MERGED)]
            parts = [cluster.submit(_merged, reading, *group, pure=False, retries=RETRIES) for group in groups]
        (whole,) = run.finished(parts, own)
        data, bad = whole.result()
    return Sketched(reading.empty().from_bytes(data), bad)


def connected(scheduler: str | None, client: object = None) -> Any:
    """Return a client to work with: the one given, one of a scheduler, or one of workers on this machine."""
    if client is not None:
        return nullcontext(client)
    distributed = _distributed()
    if scheduler is not None:
        return distributed.Client(scheduler, set_as_default=False)
    return _local(distributed)


@contextmanager
def _local(distributed: ModuleType) -> Iterator[object]:
    """Start workers on this machine, and stop them at the end.

    15 seconds after a worker died, Dask checks whether another has taken its place. If there is none at that moment, as
    between two deaths caused by the same file, it never starts one again. With this setting it always does.
    """
    import dask

    with (
        dask.config.set({LOST: "1 day"}),
        local_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def local_cluster(**settings: object) -> Any:
    """Return workers of one thread each on this machine, without a dashboard.

    The scheduler opens a port for its pages nevertheless: by default 8787, with a warning if that is taken. Here it is
    any free port, which only this machine can reach. `settings` are further ones of `distributed.LocalCluster`.
    """
    pages = {"dashboard_address": "127.0.0.1:0"}
    own = {"threads_per_worker": 1, "dashboard_address": None, "scheduler_kwargs": pages}
    return _distributed().LocalCluster(**own, **settings)


def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError as error:
        raise ImportError('Dask is not installed: pip install "calibrant[dask]".') from error
    return distributed


@dataclass
class _Run:
    """A client, and whether it has had a worker during this run."""

    client: Any
    patience: float
    has_begun: bool = False

    def finished(self, futures: Sequence[object], files: dict[str, str], *, is_alone: bool = False) -> Iterator[Any]:
        """Yield tasks as they end, and stop if there is no worker for too long; `files` are those of tasks by key.

        If a file is read alone, stop also if workers die.
        """
        left = _distributed().as_completed(futures, loop=self.client.loop)
        seen, looked = time.monotonic(), 0.0  # Looks at once: all workers may die before a second look.
        pause = min(0.5 if is_alone else 5.0, self.patience / 4)
        while not left.is_empty():
            done = left.next_batch(block=False)
            yield from done
            now = time.monotonic()
            if done:
                seen, self.has_begun = now, True
                continue
            if now > looked + pause:
                looked = now
                if self.client.nthreads():
                    seen, self.has_begun = now, True
                limit = self.patience * (1 if self.has_begun else TO_BEGIN)
                gone = now > seen + limit
                message = _without_workers(self.client, files, limit, is_alone=is_alone) if gone else None
                if is_alone and max(_deaths(self.client, files).values(), default=0) >= DEATHS:
                    message = _deadly(*files.values())
                if message:
                    self.client.cancel(list(futures), force=True)
                    raise InputError(message)
            time.sleep(0.02)


def _deaths(client: Any, files: dict[str, str]) -> Counter[str]:
    """Count the workers that died while they had a task, by its key; tasks that ended before are not to blame."""
    deaths = [event for _, event in client.get_events("all") if event.get("action") == "remove-worker"]
    ended = {key for event in deaths for key in event.get("lost-computed-tasks", ())}
    suspected = files.keys() - ended
    return Counter(key for event in deaths for key in event.get("processing-tasks", ()) if key in suspected)


def _deadly(file: str) -> str:
    return (
        f"{file}: every worker that read it died. It may need more memory than they have, or be damaged: write it in "
        "smaller files, or leave it out."
    )


def _without_workers(client: object, files: dict[str, str], patience: float, *, is_alone: bool = False) -> str:
    """Say that all workers are gone, and which file they read when they died, or which ones they had.

    Dask does not say which of the tasks of a worker had begun, and a worker that it gives up counts as well: a file
    that only waited may be counted more often than the deadly one. A file that is read alone has killed workers before:
    it is named even if no worker has come back to try it again.
    """
    often = _deaths(client, files)
    most = max(often.values(), default=0)
    suspects = [file for key, file in files.items() if is_alone or (most and often[key] >= min(most, DEATHS))]
    if not suspects:
        return (
            f"the Dask cluster has had no worker for {as_given(patience)} seconds. Start some, or wait longer with "
            "patience=."
        )
    which = suspects[0] if len(suspects) == 1 else f"one of {', '.join(suspects[:MOST_NAMED])}"
    return (
        f"{which}: {most or 'all'} workers died when they read it and none has come back for {as_given(patience)} "
        "seconds. It may need more memory than they have, or be damaged: leave it out, and start workers again."
    )


def _wait(run: _Run, parts: Sequence[Any], files: Sequence[str], progress: Progress | None) -> None:
    """Wait for all files; stop at one that cannot be read, but not at one whose workers died."""
    distributed = _distributed()
    own = {future.key: file for future, file in zip(parts, files, strict=True)}
    for count, future in enumerate(run.finished(parts, own), 1):
        error = future.exception() if future.status == "error" else None
        if error is not None and not isinstance(error, distributed.KilledWorker):
            run.client.cancel(list(parts))
            raise error
        if progress is not None:
            progress(count, len(parts))


def _alone(run: _Run, file: str, reading: Reading, skip_bad: bool) -> Any:
    """Read a file alone: when a worker dies, Dask suspects every file that waited for it."""
    distributed = _distributed()
    future = run.client.submit(_part, file, reading=reading, skip_bad=skip_bad, pure=False, retries=RETRIES)
    for done in run.finished([future], {future.key: file}, is_alone=True):
        error = done.exception()
        if isinstance(error, distributed.KilledWorker):
            raise InputError(_deadly(file)) from error
    return future


def _part(file: str, reading: Reading, skip_bad: bool) -> Part:
    found = part_of(file, reading, skip_bad=skip_bad)
    return found.sketch.to_bytes(), dict(found.bad)


def _merged(reading: Reading, *parts: Part) -> Part:
    total = reading.total(data for data, _ in parts)
    return total.to_bytes(), {file: wrong for _, bad in parts for file, wrong in bad.items()}
