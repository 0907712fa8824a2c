"""Sketches of many files: the same as of their rows, whatever goes wrong on the way."""

import contextlib
import io
import socket
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant import InputError
from calibrant.cli import main
from calibrant.scale import Reading, Sketch, files_of, local, read_sketch, sketch_dask, sketch_files, write_sketch
from calibrant.scale.dask_engine import _Run, _without_workers, local_cluster
from scale_cases import classes, smooth


@pytest.fixture
def folder(tmp_path):
    """Five Parquet files of 400 rows, and their rows together."""
    p, y = smooth(2000, np.random.default_rng(0))
    p = p.astype(np.float32)
    for i, rows in enumerate(np.split(np.arange(2000), 5)):
        pl.DataFrame({"p": p[rows], "y": y[rows].astype(np.int8)}).write_parquet(tmp_path / f"part-{i}.parquet")
    return tmp_path, Sketch().update(p, y)


def names(folder):
    return files_of([folder / "*.parquet"])


def damage(path):
    data = bytearray(path.read_bytes())
    data[20:60] = b"\xff" * 40
    path.write_bytes(bytes(data))


def test_files_are_their_rows(folder):
    folder, expected = folder
    seen = []
    files = names(folder)
    found = sketch_files(files, Reading.of(files[0]), progress=lambda *step: seen.append(step))
    assert found.sketch == expected
    assert seen[-1] == (5, 5)
    assert sketch_files(files[::-1], Reading.of(files[0])).sketch == expected
    assert files_of([folder]) == files


def test_threads_that_add_to_sketches_of_their_own_give_the_same_bytes(folder, monkeypatch):
    folder, expected = folder
    files = names(folder)
    monkeypatch.setattr(local, "available_threads", lambda: 3)
    assert sketch_files(files * 4, Reading.of(files[0])).sketch == expected + expected + expected + expected
    assert sketch_files([], Reading.of(files[0])).sketch == Sketch()
    damage(Path(files[2]))
    with pytest.raises(InputError, match=r"part-2\.parquet"):
        sketch_files(files * 4, Reading.of(files[0]))


def taken(port):
    """Return a listening socket; if the port is taken already, one on another port."""
    with contextlib.suppress(OSError):
        return socket.create_server(("127.0.0.1", port))
    return socket.create_server(("127.0.0.1", 0))


def test_a_file_that_is_read_alone_is_named_where_no_worker_comes_back():
    import distributed

    nobody = local_cluster(n_workers=0, processes=False)
    with nobody as cluster, distributed.Client(cluster, set_as_default=False) as client:
        future = client.submit(abs, 1, pure=False)
        run = _Run(client, 0.1, has_begun=True)
        with pytest.raises(InputError, match=r"bad\.parquet: all workers died when they read it and none has come"):
            list(run.finished([future], {future.key: "bad.parquet"}, is_alone=True))
        with pytest.raises(InputError, match="has had no worker for"):
            list(run.finished([client.submit(abs, 1, pure=False)], {}))


class Events:
    """A client that knows of workers that died: the tasks that they had, and those that they had ended."""

    def __init__(self, *deaths):
        self.deaths = deaths

    def get_events(self, _topic):
        told = [
            {"action": "remove-worker", "processing-tasks": had, "lost-computed-tasks": ended}
            for had, ended in self.deaths
        ]
        return [(0.0, event) for event in ({"action": "add-worker"}, *told)]


@pytest.mark.parametrize(
    "deaths, named",
    [
        ([("bc", "a"), ("cd", "")], "c.parquet: 2 workers died when they read it"),
        ([("bc", "a"), ("cb", "a")], "one of b.parquet, c.parquet: 2 workers died when they read it"),
        ([("bc", "a"), ("cd", "b"), ("ab", "")], "c.parquet: 2 workers died when they read it"),
        ([("bc", ""), ("cb", ""), ("b", "")], "one of b.parquet, c.parquet: 3 workers died when they read it"),
        ([], "has had no worker for 3 seconds"),
    ],
    ids=["one", "either", "one that ended before", "one that only waited", "none"],
)
def test_files_that_dead_workers_had_are_named_if_they_were_never_read(deaths, named):
    files = {key: f"{key}.parquet" for key in "abcd"}
    assert named in _without_workers(Events(*deaths), files, 3)


def test_dask_gives_the_same_bytes(folder):
    import distributed

    folder, expected = folder
    files = names(folder)
    # Beside a scheduler that has the port of Dask's dashboards: a warning would be an error.
    with (
        taken(8787),
        local_cluster(processes=False, n_workers=1) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        found = sketch_dask(files, Reading.of(files[0]), client=client)
        assert found.sketch.to_bytes() == expected.to_bytes()
        damage(Path(files[2]))
        with pytest.raises(InputError, match=r"part-2\.parquet"):
            sketch_dask(files, Reading.of(files[0]), client=client)
        found = sketch_dask(files, Reading.of(files[0]), client=client, skip_bad=True)
        assert (found.sketch.n_samples, [*found.bad]) == (1600, [files[2]])


def test_other_formats_and_several_classes(tmp_path):
    p, y = classes(300, 3, np.random.default_rng(1))
    frame = pl.DataFrame({f"p_{name}": p[:, c] for c, name in enumerate("abc")} | {"label": [*np.array([*"abc"])[y]]})
    frame[:100].write_csv(tmp_path / "1.csv")
    frame[100:200].write_parquet(tmp_path / "2.parquet")
    frame[200:].write_ndjson(tmp_path / "3.jsonl")
    files = files_of([tmp_path])
    found = sketch_files(files, Reading.of(files[0])).sketch
    assert found == Sketch(classes=["a", "b", "c"]).update(p, np.array([*"abc"])[y])


def test_arrays_of_several_classes_tell_how_many(tmp_path):
    probs, labels = classes(300, 3, np.random.default_rng(2))
    np.savez(tmp_path / "a.npz", probs=probs, labels=labels)
    np.save(tmp_path / "probs.npy", probs)
    np.save(tmp_path / "labels.npy", labels)
    expected = Sketch(3).update(probs, labels)
    apart = {"label": str(tmp_path / "labels.npy")}
    for name, options in {"a.npz": {}, "probs.npy": apart}.items():
        reading = Reading.of(tmp_path / name, **options)
        assert reading.sketch(tmp_path / name) == expected


def test_logits_percentages_and_the_positive_class(tmp_path):
    pl.DataFrame({"p": [0.0, 2.0], "y": [0, 1]}).write_csv(tmp_path / "logits.csv")
    found = sketch_files([str(tmp_path / "logits.csv")], Reading.of(tmp_path / "logits.csv", logits=True)).sketch
    assert found.cells().means.tolist() == pytest.approx([0.5, 1 / (1 + np.exp(-2))], rel=1e-12)
    pl.DataFrame({"p": [50.0, 25.0], "y": ["cat", "dog"]}).write_csv(tmp_path / "percent.csv")
    reading = Reading.of(tmp_path / "percent.csv", percent=True, positive="dog")
    found = sketch_files([str(tmp_path / "percent.csv")], reading).sketch
    assert (found.cells().means.tolist(), found.cells().events.tolist()) == ([0.25, 0.5], [1, 0])
    (tmp_path / "signs.csv").write_text("p,y\n50 %,cat\n25%,dog\n")
    assert reading.sketch(tmp_path / "signs.csv") == found
    with pytest.raises(InputError, match="renormalise is not for sketches"):
        Reading.of(tmp_path / "percent.csv", renormalise=True)


def test_a_damaged_file_is_named_or_counted(folder):
    folder, _ = folder
    files = names(folder)
    damage(folder / "part-3.parquet")
    with pytest.raises(InputError, match=r"part-3\.parquet"):
        sketch_files(files, Reading.of(files[0]))
    found = sketch_files(files, Reading.of(files[0]), skip_bad=True)
    assert (found.sketch.n_samples, [*found.bad]) == (1600, [files[3]])


def test_a_file_with_other_columns_is_named(folder):
    folder, _ = folder
    pl.DataFrame({"q": [0.5], "y": [1]}).write_parquet(folder / "part-9.parquet")
    files = names(folder)
    with pytest.raises(InputError, match=r"part-9\.parquet: column 'p' is missing"):
        sketch_files(files, Reading.of(files[0]))


def test_bad_rows_are_named_or_counted(tmp_path):
    file = str(tmp_path / "bad.parquet")
    pl.DataFrame({"p": [0.5, None, 1.5, float("nan"), 0.25], "y": [1, 0, 1, 1, None]}).write_parquet(file)
    with pytest.raises(InputError, match=r"bad\.parquet.*row 1"):
        sketch_files([file], Reading.of(file))
    counters = sketch_files([file], Reading.of(file, skip_bad=True)).sketch.counters
    assert (counters.rows, counters.missing, counters.outside) == (1, 3, 1)


def test_an_interrupted_run_goes_on_with_the_same_bytes(folder, monkeypatch):
    folder, expected = folder
    files, checkpoint = names(folder), folder / "all.sketch.part"
    monkeypatch.setattr(local, "SAVED_EVERY", -1.0)

    def stop(done, _):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sketch_files(files, Reading.of(files[0]), checkpoint=checkpoint, progress=stop)
    read = []
    monkeypatch.setattr(
        Reading, "sketch", lambda self, path, own=Reading.sketch: (read.append(path), own(self, path))[1]
    )
    assert sketch_files(files, Reading.of(files[0]), checkpoint=checkpoint).sketch.to_bytes() == expected.to_bytes()
    assert read == files[3:]
    assert not checkpoint.exists()


def test_a_checkpoint_of_something_else_is_refused(folder, monkeypatch):
    folder, _ = folder
    files, checkpoint = names(folder), folder / "all.sketch.part"
    checkpoint.write_bytes(b"something")
    with pytest.raises(InputError, match="not a checkpoint"):
        sketch_files(files, Reading.of(files[0]), checkpoint=checkpoint)
    monkeypatch.setattr(local, "SAVED_EVERY", -1.0)
    checkpoint.unlink()

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sketch_files(files, Reading.of(files[0]), checkpoint=checkpoint, progress=stop)
    with pytest.raises(InputError, match="different columns or options"):
        sketch_files(files, Reading.of(files[0], skip_bad=True), checkpoint=checkpoint)


def test_saved_sketches(tmp_path):
    sketch = Sketch().update([0.2, 0.7], [0, 1])
    size = write_sketch(sketch, tmp_path / "a.sketch")
    assert (tmp_path / "a.sketch").stat().st_size == size
    assert read_sketch(tmp_path / "a.sketch") == sketch
    (tmp_path / "b.sketch").write_bytes(b"no")
    with pytest.raises(InputError, match=r"b\.sketch: this is not a sketch"):
        read_sketch(tmp_path / "b.sketch")


def test_the_commands(folder, capsys, monkeypatch):
    folder, expected = folder
    monkeypatch.chdir(folder)
    assert main(["sketch", "part-*.parquet", "--out", "all.sketch", "--quiet"]) == 0
    assert read_sketch("all.sketch") == expected
    assert "2,000 rows, 2 classes" in capsys.readouterr().out
    for given in (["all.sketch"], ["part-*.parquet", "--engine", "local"], [str(folder)]):
        assert main(["evaluate", *given, "--resamples", "99", "--json", "--quiet", "--metrics", "ece"]) == 0
        assert '"n_samples": 2000' in capsys.readouterr().out
    assert main(["fit", "all.sketch", "--method", "platt", "--out", "c.json", "--quiet"]) == 0
    assert "fitted to 2,000 rows" in capsys.readouterr().out
    assert main(["report", "all.sketch", "--resamples", "19", "--out", "page.html", "--quiet"]) == 0
    assert (folder / "page.html").stat().st_size > 10_000
    assert "The calibration error (root mean square, debiased) is" in " ".join(capsys.readouterr().out.split())
    assert main(["sketch", "part-*.parquet", "--out", "w.sketch", "--waves", "8"]) == 2
    assert "--waves is for more than two classes: SKCE of two comes from cells." in capsys.readouterr().err
    assert main(["sketch", "part-*.parquet", "--out", "w.sketch", "--waves", "65537"]) == 2
    assert "--waves must be a whole number of at most 65536, but is 65537." in capsys.readouterr().err


def test_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"p,y\n0.2,0\n0.7,1\n0.9,1\n")))
    assert main(["evaluate", "-", "--engine", "local", "--json", "--resamples", "99", "--metrics", "ece"]) == 0
    assert '"n_samples": 3' in capsys.readouterr().out


@pytest.mark.parametrize(
    "option, needed",
    {
        "--waves 8": "--engine",
        "--skip-bad": "--engine",
        "--scheduler tcp://nowhere": "--engine dask",
        "--engine local --master local[2]": "--engine spark",
    }.items(),
)
def test_an_option_without_effect_is_refused(tmp_path, capsys, option, needed):
    file = tmp_path / "a.csv"
    file.write_text("p,label\n0.5,1\n0.5,0\n")
    assert main(["evaluate", str(file), *option.split()]) == 2
    name = option.replace("--engine local ", "").split()[0]
    assert f"{name} needs {needed}. Add that, or leave {name} out." in capsys.readouterr().err
