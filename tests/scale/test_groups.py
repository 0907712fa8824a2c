"""A sketch per group: the same bytes from any split, and those of the groups' own rows."""

from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant import InputError, Predictions, assess
from calibrant.cli import main
from calibrant.scale import GroupedSketch, Reading, Sketch, grouped, read_sketch, sketch_dask, sketch_files
from calibrant.scale.dask_engine import local_cluster
from calibrant.scale.grouped import merged
from scale_cases import classes, smooth, weights_of

GOLDEN = Path(__file__).parent / "golden"


def rows(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    p, y = smooth(n, rng)
    return p.astype(np.float32), y.astype(np.int8), np.array(["north", "south", "east"])[rng.integers(0, 3, n)], rng


def test_groups_are_sketches_of_their_rows():
    p, y, g, _ = rows()
    found = GroupedSketch().update(p, y, g)
    assert [*found] == ["east", "north", "south"]
    for name in found:
        assert found[name] == Sketch().update(p[g == name], y[g == name])
    assert found.total() == Sketch().update(p, y)
    assert (found.n_samples, found.counters.rows, len(found)) == (1200, 1200, 3)


@pytest.mark.parametrize("weighted", [False, True])
def test_any_split_gives_the_same_bytes(weighted):
    p, y, g, rng = rows()
    w = weights_of(1200, rng) if weighted else None
    whole = GroupedSketch().update(p, y, g, w)
    for _ in range(3):
        parts = np.split(rng.permutation(1200), np.sort(rng.integers(0, 1201, 5)))
        found = [GroupedSketch().update(p[i], y[i], g[i], None if w is None else w[i]) for i in parts]
        assert reduce(add, found).to_bytes() == whole.to_bytes()
    assert GroupedSketch.from_bytes(whole.to_bytes()).to_bytes() == whole.to_bytes()
    assert whole + GroupedSketch() == whole == GroupedSketch() + whole


def test_sums_of_packed_sketches_are_those_of_sketches():
    rng = np.random.default_rng(1)
    p, y = classes(300, 3, rng)
    w = weights_of(300, rng)
    cases = [
        (Sketch(3, features=4).update(p[:100], y[:100]), Sketch(3, features=4).update(p[100:], y[100:])),
        (Sketch(3).update(p[:100], y[:100]), Sketch(3).update(p[100:], y[100:], w[100:])),
        (Sketch(3).update(p[:100], y[:100], w[:100]), Sketch(3)),
    ]
    for first, second in cases:
        assert Sketch.from_packed(merged(first.packed(), second.packed())) == first + second
        assert Sketch.from_packed(merged(second.packed(), first.packed())) == first + second


def test_every_flipped_byte_is_refused():
    data = GroupedSketch().update([0.3, 0.6], [1, 0], ["a", "b"]).to_bytes()
    for place in range(0, len(data), 7):
        broken = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(InputError, match=r"not a sketch|damaged"):
            GroupedSketch.from_bytes(broken)


def test_files_of_version_1_are_read_for_ever():
    """The bytes are in the repository; what they hold is written here by hand."""
    found = read_sketch(GOLDEN / "groups-v1.sketch")
    assert {name: found[name].n_samples for name in found} == {"a": 2, "b": 1}
    assert found["a"].cells().means.tolist() == [0.25, 0.75]
    assert found["a"].cells().events.tolist() == [0, 1]
    assert found.to_bytes() == (GOLDEN / "groups-v1.sketch").read_bytes()


def test_too_many_groups_are_named(monkeypatch):
    monkeypatch.setattr(grouped, "MOST_GROUPS", 3)
    with pytest.raises(InputError, match="at most 3 groups, but 'd' is one more"):
        GroupedSketch().update([0.5] * 4, [0, 1, 0, 1], [*"abcd"])
    with pytest.raises(InputError, match="same classes"):
        GroupedSketch() + GroupedSketch(Sketch(3))


def test_groups_are_judged_as_those_of_rows():
    p, y, g, _ = rows(3000)
    p = np.round(p.astype(float), 2)
    settings = {"sections": ("groups",), "n_resamples": 99, "rng": 0}
    found = assess(GroupedSketch().update(p, y, g), **settings)
    expected = assess(Predictions(p, y), by=g, **settings)
    assert found.n_samples == 3000
    for name, part in expected.groups.items():
        mine = found.groups[name]
        assert (mine.n_samples, mine.verdict.code) == (part.n_samples, part.verdict.code)
        for key in ("accuracy", "nll", "ece", "rms-debiased"):
            assert mine.metrics[key].value == pytest.approx(part.metrics[key].value, rel=1e-8)
    assert found.adjusted.keys() == expected.adjusted.keys()


@pytest.fixture
def folder(tmp_path):
    p, y, g, _ = rows()
    frame = pl.DataFrame({"p": p, "y": y, "region": g})
    for i in range(3):
        frame[400 * i : 400 * (i + 1)].write_parquet(tmp_path / f"part-{i}.parquet")
    return tmp_path, GroupedSketch().update(p, y, g)


def test_engines_give_the_same_bytes(folder):
    import distributed

    path, expected = folder
    files = [str(file) for file in sorted(path.glob("*.parquet"))]
    reading = Reading.of(files[0], by="region")
    assert sketch_files(files, reading).sketch == expected
    workers = local_cluster(processes=False, n_workers=1)
    with workers as cluster, distributed.Client(cluster, set_as_default=False) as client:
        assert sketch_dask(files, reading, client=client).sketch.to_bytes() == expected.to_bytes()
    with pytest.raises(InputError, match="nowhere"):
        Reading.of(files[0], by="nowhere")


def test_the_commands(folder, capsys, monkeypatch):
    path, expected = folder
    monkeypatch.chdir(path)
    quick = ["--resamples", "99", "--quiet", "--metrics", "ece"]
    assert main(["evaluate", "part-*.parquet", "--engine", "local", "--by", "region", *quick]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("north", "south", "east", "1,200 rows"))
    assert main(["sketch", "part-*.parquet", "--by", "region", "--out", "all.sketch", "--quiet"]) == 0
    assert "3 groups" in capsys.readouterr().out
    assert read_sketch("all.sketch") == expected
    assert main(["evaluate", "all.sketch", "--json", *quick]) == 0
    assert '"south"' in capsys.readouterr().out
    assert main(["sketch", "part-*.parquet", "--out", "plain.sketch", "--quiet"]) == 0
    assert main(["evaluate", "all.sketch", "plain.sketch", *quick]) == 2
