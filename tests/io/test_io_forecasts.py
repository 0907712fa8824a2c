"""Reading forecasts: normal laws and ensembles, from every format, found by name or asked for."""

import io
import re
import sys
import tracemalloc

import numpy as np
import polars as pl
import pytest

from calibrant import DataWarning, InputError
from calibrant.forecasts import Normal, Samples
from calibrant.io import limits, read_forecasts
from forecast_cases import ENSEMBLE, MEANS, MEMBERS, NORMAL, SDS, TARGETS, WEIGHTS, WRITERS, archived, failure, write


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_normal_forecasts(tmp_path, name):
    WRITERS[name](tmp_path / name, NORMAL)
    f = read_forecasts(tmp_path / name, weight="w")
    assert type(f.distribution) is Normal
    assert f.distribution.loc.tolist() == MEANS
    assert f.distribution.scale.tolist() == SDS
    assert f.targets.tolist() == TARGETS
    assert f.weights.tolist() == WEIGHTS


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_ensembles(tmp_path, name):
    WRITERS[name](tmp_path / name, ENSEMBLE)
    f = read_forecasts(tmp_path / name)
    assert type(f.distribution) is Samples
    assert f.distribution.draws.tolist() == MEMBERS
    assert f.targets.tolist() == TARGETS
    assert not f.is_weighted


@pytest.mark.parametrize("target", ["target", "targets", "y", "y_true", "label", "observed", "value"])
@pytest.mark.parametrize(
    "mean, sd", [("mean", "sd"), ("mu", "std"), ("loc", "sigma"), ("prediction", "scale"), ("y_pred", "stdev")]
)
def test_columns_are_found_by_their_usual_names(tmp_path, target, mean, sd):
    f = read_forecasts(write(tmp_path, f"{sd},{target},{mean}\n.5,3,2\n"))
    assert (f.targets[0], f.distribution.loc[0], f.distribution.scale[0]) == (3, 2, 0.5)


def test_the_first_of_several_usual_names_is_taken(tmp_path):
    f = read_forecasts(write(tmp_path, "value,y,y_pred,mu,scale,std\n1,2,3,4,5,6\n"))
    assert (f.targets[0], f.distribution.loc[0], f.distribution.scale[0]) == (2, 4, 6)


def test_columns_that_are_asked_for_are_not_found_again_for_another_role(tmp_path):
    path = write(tmp_path, "target,value,mean,mu,sd,std\n1,2,3,4,5,6\n")
    with pytest.warns(DataWarning, match="'std' is taken as standard deviations, by its name: name it with sd="):
        f = read_forecasts(path, mean="target", weight="sd")
    assert (f.targets[0], f.distribution.loc[0], f.distribution.scale[0], f.weights[0]) == (2, 1, 6, 5)
    f = read_forecasts(path, target="mean")  # Nothing is said if both are found by their names.
    assert (f.targets[0], f.distribution.loc[0], f.distribution.scale[0]) == (3, 4, 5)
    assert "no other column named mean or mu or loc" in failure(path, target="mean", weight="mu", sd="sd")
    f = read_forecasts(path, draws=["target", "s*"])
    assert (f.targets.tolist(), f.distribution.draws.tolist()) == ([2], [[1, 5, 6]])


@pytest.mark.parametrize("prefix", ["draw_", "sample_", "member_"])
def test_draws_are_found_and_sorted_naturally(tmp_path, prefix):
    order = [10, 2, 0, 1]
    path = write(
        tmp_path, f"y,{','.join(f'{prefix}{j}' for j in order)},{prefix}id\n7,{','.join(map(str, order))},99\n"
    )
    assert read_forecasts(path).distribution.draws.tolist() == [[0, 1, 2, 10]]


def test_patterns_of_draws_are_tried_in_order_and_means_before_them(tmp_path):
    path = write(tmp_path, "y,member_0,sample_0,draw_0\n1,2,3,4\n")
    assert read_forecasts(path).distribution.draws.tolist() == [[4]]
    assert read_forecasts(path, draws="member_*").distribution.draws.tolist() == [[2]]
    path = write(tmp_path, "y,draw_0,draw_1,mean,sd\n1,2,3,4,5\n")
    assert read_forecasts(path).distribution.loc.tolist() == [4]
    assert read_forecasts(path, draws="draw_*").distribution.draws.tolist() == [[2, 3]]


def test_draws_that_are_listed_keep_their_order_and_patterns_leave_out_other_roles(tmp_path):
    path = write(tmp_path, "y_true,y_2,y_10,w,draw_a\n1,2,3,.5,4\n")
    assert read_forecasts(path, draws=["y_10", "draw_a", "y_2"]).distribution.draws.tolist() == [[3, 4, 2]]
    f = read_forecasts(path, draws="*", weight="w")
    assert f.targets.tolist() == [1]
    assert sorted(f.distribution.draws[0].tolist()) == [2, 3, 4]
    assert read_forecasts(path, draws="y_*").distribution.draws.tolist() == [[2, 3]]
    assert "no forecasts" in failure(path)


def test_a_column_without_a_name_is_no_draw(tmp_path):
    path = write(tmp_path, ",y,a,b\n0,1,2,3\n")  # As written by pandas with its index.
    assert read_forecasts(path, draws="*").distribution.draws.tolist() == [[2, 3]]


@pytest.mark.parametrize("dtype", [pl.List(pl.Float32), pl.Array(pl.Float64, 3), pl.List(pl.Int8)])
@pytest.mark.parametrize("column", ["draws", "samples", "cloud"])
def test_one_column_of_lists_holds_all_draws(tmp_path, monkeypatch, dtype, column):
    monkeypatch.setattr(limits, "BATCH_ROWS", 2)
    members = [[1, 2, 0], [-2, -3, -1], [31, 25, 30]]
    table = pl.DataFrame({"y": TARGETS, column: members}, schema_overrides={column: dtype})
    table.write_parquet(tmp_path / "a.parquet")
    options = {"draws": column} if column == "cloud" else {}
    assert read_forecasts(tmp_path / "a.parquet", **options).distribution.draws.tolist() == members


def test_arrays_of_draws_may_have_vectors_as_targets(tmp_path):
    draws = np.random.default_rng(0).normal(size=(4, 5, 2)).astype("<f4")
    np.savez(tmp_path / "a.npz", samples=draws, targets=draws[:, 0], mass=np.arange(4))
    f = read_forecasts(tmp_path / "a.npz", weight="mass")
    np.testing.assert_array_equal(f.distribution.draws, draws)
    np.testing.assert_array_equal(f.targets, draws[:, 0])
    assert f.weights.tolist() == [0, 1, 2, 3]
    table = np.zeros(4, dtype=[("y", "<f4", 2), ("draws", "<f4", (5, 2))])
    table["y"], table["draws"] = draws[:, 1], draws
    np.save(tmp_path / "a.npy", table)
    np.testing.assert_array_equal(read_forecasts(tmp_path / "a.npy").distribution.draws, draws)


def test_one_standard_deviation_in_an_archive_serves_all_rows(tmp_path):
    np.savez(tmp_path / "a.npz", mu=MEANS, sigma=0.5, y=TARGETS)
    assert read_forecasts(tmp_path / "a.npz").distribution.scale.tolist() == [0.5, 0.5, 0.5]


def test_plain_arrays_are_draws_and_need_a_file_of_targets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("draws.npy", MEMBERS)
    np.save("targets.npy", TARGETS)
    np.save("weights.npy", WEIGHTS)
    f = read_forecasts("draws.npy", target="targets.npy", weight="weights.npy")
    assert f.distribution.draws.tolist() == MEMBERS
    assert f.targets.tolist() == TARGETS
    assert f.weights.tolist() == WEIGHTS
    for options, expected in [
        ({}, "pass target='targets.npy'"),
        ({"target": "y"}, "pass target='targets.npy'"),
        ({"target": "targets.npy", "draws": "x"}, "leave out mean=, sd=, draws= and quantiles="),
        ({"target": "targets.npy", "weight": "w"}, "'w' must be the path of an .npy file"),
    ]:
        with pytest.raises(InputError, match=re.escape(expected)):
            read_forecasts("draws.npy", **options)
    np.save("draws.npy", [[1, 2], [3, np.nan]])
    assert "missing in 1 of 2 rows ('draws' 1), the first on row 1" in failure("draws.npy", target="targets.npy")


def test_polars_is_needed_for_tables_only(tmp_path, monkeypatch):
    archived(tmp_path / "a.npz", NORMAL)
    WRITERS["a.csv"](tmp_path / "a.csv", NORMAL)
    monkeypatch.setitem(sys.modules, "polars", None)  # Importing it fails.
    assert read_forecasts(tmp_path / "a.npz").n_samples == 3
    with pytest.raises(ImportError, match=r"pip install \"calibrant\[cli\]\""):
        read_forecasts(tmp_path / "a.csv")


def test_targets_of_a_large_table_are_not_held_as_text(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "BLOCK_BYTES", 100_000)
    monkeypatch.setattr("calibrant.io.delimited.MOST_BYTES", 0)  # It counts as large.
    n = 50_000
    buffer = io.StringIO()
    np.savetxt(
        buffer, np.random.default_rng(3).uniform(1, 2, size=(n, 3)), delimiter=",", header="y,mean,sd", comments=""
    )
    path = write(tmp_path, buffer.getvalue())
    tracemalloc.start()
    try:
        f = read_forecasts(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert f.n_samples == n
    assert peak < 3 * (4 * n * 8)  # Targets, means, deviations and weights, twice while they are copied and checked.
