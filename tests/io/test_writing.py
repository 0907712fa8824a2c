"""Writing: the old content or the new, never half of it, and nothing left behind."""

import errno
import gzip
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant.io import check_writable, read_predictions, write_atomically, write_text
from calibrant.io.rewrite import rewrite_probabilities


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "result.json"
    path.write_bytes(b"old")
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_target_is_replaced_when_the_body_has_ended(target):
    with write_atomically(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert contents(target.parent) == {"result.json": b"new"}


def test_text_is_written_as_utf_8_with_its_line_ends(tmp_path):
    write_text(tmp_path / "a.txt", "é\r\n\n" + os.fsdecode(b"\xff"))
    assert (tmp_path / "a.txt").read_bytes() == "é\r\n\n\\udcff".encode()


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3), OSError("ours")])
def test_an_exception_leaves_everything_as_it_was(target, error):
    def write():
        with write_atomically(target) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert contents(target.parent) == {"result.json": b"old"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_at_the_end_leaves_everything_as_it_was(target, monkeypatch, step):
    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match=r"result.json cannot be written: No space left on device. Nothing was changed"):
        write_text(target, "new")
    monkeypatch.undo()
    assert contents(target.parent) == {"result.json": b"old"}


LIMITED = """
import resource, sys
from calibrant.io import write_text
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    write_text(sys.argv[1], "x" * 100_000)
except OSError as error:
    sys.exit(str(error))
"""


def test_a_disk_that_fills_up_while_writing_leaves_everything_as_it_was(target):
    done = subprocess.run([sys.executable, "-c", LIMITED, target], capture_output=True, text=True, check=False)
    assert "result.json cannot be written: File too large" in done.stderr
    assert contents(target.parent) == {"result.json": b"old"}


SLOW = """
import sys, time
from calibrant.io import write_atomically
with write_atomically(sys.argv[1]) as file:
    file.write(b"x" * 100_000)
    file.flush()
    print("half", flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_cleans_up(target):
    with subprocess.Popen([sys.executable, "-c", SLOW, target], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        # While the first one is alive its temporary file is not a leftover.
        write_text(target, "second")
        assert len(contents(target.parent)) == 2
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert target.read_bytes() == b"second"
    assert len(contents(target.parent)) == 2
    write_text(target, "third")
    assert contents(target.parent) == {"result.json": b"third"}


RACE = """
import sys
from calibrant.io import write_text
for _ in range(200):
    write_text(sys.argv[1], sys.argv[2] * 20_000)
"""


def test_of_two_writers_the_last_complete_one_wins(target):
    writers = [subprocess.Popen([sys.executable, "-c", RACE, target, letter]) for letter in "ab"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(target.read_bytes())
        time.sleep(0.001)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert seen | {target.read_bytes()} <= {b"old", b"a" * 20_000, b"b" * 20_000}
    assert list(contents(target.parent)) == ["result.json"]


@pytest.mark.parametrize("write", [check_writable, lambda path: write_text(path, "new")], ids=["check", "write"])
@pytest.mark.parametrize(
    "name, error, expected",
    [
        (".", IsADirectoryError, "is a folder. Name a file in it"),
        ("missing/a.html", FileNotFoundError, "Create it first"),
        ("result.json/a.html", OSError, "is not a folder"),
        ("pipe", OSError, "is not a regular file and will not be replaced"),
        ("nul\0", OSError, r"nul\x00 cannot be written"),
        ("x" * 300, OSError, "cannot be written: File name too long"),
    ],
)
def test_impossible_targets_are_refused_before_work_starts(target, write, name, error, expected):
    os.mkfifo(target.parent / "pipe")
    with pytest.raises(error) as caught:
        write(target.parent / name)
    assert expected in str(caught.value)
    assert str(caught.value).isprintable()
    assert sorted(path.name for path in target.parent.iterdir()) == ["pipe", "result.json"]


def test_devices_are_never_replaced():
    with pytest.raises(OSError, match="not a regular file"):
        write_text("/dev/null", "gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_read_only_folder_or_file_is_refused_before_work_starts(target, monkeypatch):
    # The tests may run as root, to whom permissions do not apply: the answers of the system are replaced.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"result.json is read-only"):
        check_writable(target)
    monkeypatch.undo()

    def refuse(path, *args, **options):
        raise OSError(errno.EROFS, "Read-only file system", path)

    monkeypatch.setattr("io.open", refuse)  # What pathlib opens files with.
    with pytest.raises(OSError, match=r"result.json cannot be written: Read-only file system"):
        check_writable(target)


def test_permissions_and_links_are_kept(target):
    target.chmod(0o640)
    link = target.parent / "link.json"
    link.symlink_to("result.json")
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    (target.parent / "usual").touch()
    write_text(target.parent / "fresh", "new")
    assert (target.parent / "fresh").stat().st_mode == (target.parent / "usual").stat().st_mode


@pytest.mark.parametrize("with_locks", [True, False])
def test_the_file_is_closed_before_it_replaces_another(tmp_path, monkeypatch, with_locks):
    if not with_locks:
        monkeypatch.setitem(sys.modules, "fcntl", None)  # As on Windows.
    target, replace, open_then = tmp_path / "target", os.replace, []

    def watched(source, destination):
        open_then.append((handle.closed, _descriptors(source)))
        return replace(source, destination)

    monkeypatch.setattr(os, "replace", watched)
    for content in (b"old", b"new"):
        with write_atomically(target) as handle:
            handle.write(content)
    assert target.read_bytes() == b"new"
    # Where there are locks, one more descriptor holds that of the file; elsewhere nothing has it open.
    assert open_then == [(True, 1 if with_locks else 0)] * 2
    assert _descriptors(target) == 0


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.parquet", "rows.npz"])
def test_a_file_that_is_written_over_itself_is_closed_before(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "fcntl", None)  # As on Windows.
    path, replace = tmp_path / name, os.replace
    columns = {"label": [0, 1, 1], "p": [0.25, 0.5, 0.75]}
    if name.endswith(".npz"):
        np.savez(path, labels=columns["label"], probs=columns["p"])
    elif name.endswith(".parquet"):
        pl.DataFrame(columns).write_parquet(path)
    else:
        text = pl.DataFrame(columns).write_csv().encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

    def refuse_open_files(source, destination):
        if _descriptors(source) or _descriptors(destination):
            raise PermissionError(errno.EACCES, "Access is denied", str(destination))
        return replace(source, destination)

    monkeypatch.setattr(os, "replace", refuse_open_files)
    rewrite_probabilities(path, path, lambda values: 1 - values, replace=True)
    assert read_predictions(path, drop_missing=True).positive.tolist() == [0.75, 0.5, 0.25]


def _descriptors(path):
    """Count the descriptors of this process that have the file open."""
    links = [str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return links.count(str(path))
