"""Missing values counted or left out, percentages, the positive class, numbered columns, and several files."""

import os

import numpy as np
import polars as pl
import pytest

from calibrant import DataWarning, InputError, read_forecasts, read_predictions
from calibrant.io import read_column
from calibrant.io.read import read_labelled
from calibrant.io.request import Request
from io_cases import WRITERS, failure, probabilities

HOLES = "label,p0,p1,w,note\n0,.8,.2,1,a\n,.5,.5,1,b\n1,NA,.3,1,c\n1,.5,nan,,d\n1,.1,.9,2,e\n"


def test_all_missing_values_are_counted_in_one_message(tmp_path):
    path = tmp_path / "a.csv"
    told = failure(path, HOLES, weight="w")
    assert "missing in 3 of 5 rows ('p0' 1, 'p1' 1, 'w' 1, 'label' 1), the first on line 3, column 'label'." in told
    assert "leave these rows out with drop_missing=True" in told


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "jsonl"])
def test_rows_with_missing_values_are_left_out_and_counted(tmp_path, kind):
    frame = pl.read_csv(HOLES.encode(), null_values=["NA", "nan"], schema_overrides={"w": pl.Float64})
    path = tmp_path / f"a.{kind}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc, "jsonl": frame.write_ndjson}[
        kind
    ](path)
    with pytest.warns(DataWarning, match=r"missing in 3 of 5 rows .*: these rows are left out"):
        found, others = read_labelled(path, Request(weight="w", drop_missing=True), ["note"])
    assert found.positive.tolist() == [0.2, 0.9]
    assert found.weights.tolist() == [1, 2]
    assert others["note"].tolist() == ["a", "e"]


@pytest.mark.parametrize("mark", ["", "NA", "nan"])
def test_labels_beside_a_missing_one_stay_numbers(tmp_path, mark):
    path = tmp_path / "a.csv"
    path.write_text(f"y,p\n1,.8\n{mark},.4\n0,.3\n")
    with pytest.warns(DataWarning, match=r"missing in 1 of 3 rows \('y' 1\)"):
        found = read_predictions(path, drop_missing=True)
    assert found.labels.tolist() == [1, 0]
    assert found.positive.tolist() == [0.8, 0.3]


def test_arrays_and_forecasts_are_treated_alike(tmp_path):
    np.savez(tmp_path / "a.npz", probs=[[0.5, 0.5], [np.nan, 1.0], [0.2, 0.8]], labels=[0, 1, 1])
    assert "in 1 of 3 rows ('probs' 1), the first on row 1" in failure(tmp_path / "a.npz")
    with pytest.warns(DataWarning, match="1 of 3 rows"):
        assert len(read_predictions(tmp_path / "a.npz", drop_missing=True)) == 2
    (tmp_path / "f.csv").write_text("y,mean,sd\n1,1,1\n2,,1\n")
    with pytest.warns(DataWarning, match=r"1 of 2 rows \('mean' 1\)"):
        assert len(read_forecasts(tmp_path / "f.csv", drop_missing=True).targets) == 1


def test_nothing_is_said_where_nothing_is_missing_and_nothing_left_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n0,.5\n1,.5\n")
    assert len(read_predictions(tmp_path / "a.csv", drop_missing=True)) == 2
    assert "missing in every row" in failure(tmp_path / "b.csv", "y,p\n0,\n1,\n", drop_missing=True)
    assert "'many' is not a number" in failure(tmp_path / "b.csv", "y,p\n0,\n1,many\n", drop_missing=True)


def test_a_class_may_have_the_name_of_a_missing_value(tmp_path):
    (tmp_path / "a.csv").write_text("y,p_na,p_ne\nna,.5,.5\nne,.2,.8\n")
    assert read_predictions(tmp_path / "a.csv").classes == ("na", "ne")
    (tmp_path / "b.csv").write_text("y,p\nNA,.5\nFR,.2\n")
    assert read_predictions(tmp_path / "b.csv", positive="NA").labels.tolist() == [1, 0]


def test_percentages(tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n0,20%\n1,90 %\n1, 5\n")
    assert read_predictions(tmp_path / "a.csv", percent=True).positive.tolist() == [0.2, 0.9, 0.05]
    (tmp_path / "b.csv").write_text("y,p0,p1\n0,80,20\n1,33.3,66.6\n")
    np.testing.assert_allclose(read_predictions(tmp_path / "b.csv", percent=True).positive, [0.2, 2 / 3])
    assert "Are these percentages? Read them with percent=True." in failure(tmp_path / "b.csv")
    with pytest.raises(InputError, match="percent=True is for probabilities"):
        read_predictions(tmp_path / "b.csv", percent=True, logits=True)


def test_the_positive_class(tmp_path):
    (tmp_path / "a.csv").write_text("y,score\nyes,.9\nno,.2\n")
    assert read_predictions(tmp_path / "a.csv", positive="yes").labels.tolist() == [1, 0]
    assert read_predictions(tmp_path / "a.csv", positive="no").classes == ("yes", "no")
    assert "there is no 'Yes': 'yes', 'no'" in failure(tmp_path / "a.csv", positive="Yes")
    with pytest.raises(InputError, match="both name the classes"):
        read_predictions(tmp_path / "a.csv", positive="yes", classes=["no", "yes"])
    (tmp_path / "b.csv").write_text("y,p0,p1\n0,.8,.2\n")
    assert "is for one probability column, but there are 2" in failure(tmp_path / "b.csv", positive="0")


@pytest.mark.parametrize("stem", ["p", "prob", "proba"])
def test_numbered_columns_are_found(tmp_path, stem):
    (tmp_path / "a.csv").write_text(f"y,{stem}0,{stem}10,{stem}2,price\n" + "2,.1,.2,.7,9\n" * 3)
    found = read_predictions(tmp_path / "a.csv")
    assert found.classes == (0, 2, 10)
    assert found.probs.tolist() == [[0.1, 0.7, 0.2]] * 3
    (tmp_path / "b.csv").write_text(f"y,{stem}1\n1,.7\n")
    assert read_predictions(tmp_path / "b.csv").positive.tolist() == [0.7]
    assert "is the only probability column" in failure(tmp_path / "c.csv", f"y,{stem}0\n1,.7\n")


def test_numbered_logits(tmp_path):
    (tmp_path / "a.csv").write_text("y,logit0,logit1\n1,0,0\n")
    assert read_predictions(tmp_path / "a.csv", logits=True).positive.tolist() == [0.5]
    assert "say so with logits=True" in failure(tmp_path / "a.csv")


def test_rows_of_several_files_follow_one_another(tmp_path):
    paths = [tmp_path / name for name in ("commas.csv", "table.parquet", "file.arrow")]
    for path in paths:
        WRITERS[path.name](path)
    probs, labels = probabilities()
    with pytest.warns(DataWarning, match="every row occurs 3 times"):
        found = read_predictions(paths)
    np.testing.assert_array_equal(found.probs, np.tile(probs, (3, 1)))
    assert found.labels.tolist() == labels.tolist() * 3
    assert read_column(paths, "label").tolist() == labels.tolist() * 3
    one = read_predictions(paths[0])
    assert read_predictions(str(tmp_path / "c*.csv")).probs.tolist() == one.probs.tolist()


def test_a_file_with_the_name_of_a_pattern_is_that_file(tmp_path):
    (tmp_path / "a[1].csv").write_text("y,p\n0,.5\n")
    (tmp_path / "a1.csv").write_text("y,p\n1,.5\n")
    assert read_predictions(tmp_path / "a[1].csv").labels.tolist() == [0]
    assert sorted(read_predictions(tmp_path / "a*.csv").labels.tolist()) == [0, 1]


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    for name, text in {"a": "y,p_x,p_y\nx,.5,.5\n", "b": "y,p_x,p_z\nx,.5,.5\n", "c": "y,p\nyes,.5\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(
        InputError, match=r"must have the same classes to be read as one, but have 'x', 'y' and 'x', 'z'"
    ):
        read_predictions([tmp_path / "a.csv", tmp_path / "b.csv"])
    with pytest.raises(InputError, match=r"a\.csv is given twice"):
        read_predictions([tmp_path / "a.csv", os.path.relpath(tmp_path / "a.csv")])
    with pytest.raises(FileNotFoundError, match=r"z\*\.csv matches no file"):
        read_predictions(tmp_path / "z*.csv")
    with pytest.raises(InputError, match="at least one file"):
        read_predictions([])


def test_the_other_class_may_be_missing_in_some_files(tmp_path):
    for name, labels in {"a": "yes", "b": "no", "c": "never"}.items():
        (tmp_path / f"{name}.csv").write_text(f"y,p\n{labels},.5\n")
    found = read_predictions([tmp_path / "a.csv", tmp_path / "b.csv"], positive="yes")
    assert found.classes == ("no", "yes")
    assert found.labels.tolist() == [1, 0]
    with pytest.raises(InputError, match="same classes"):
        read_predictions(str(tmp_path / "?.csv"), positive="yes")


def test_suspicions_are_those_of_all_rows_together(tmp_path):
    rng = np.random.default_rng(0)
    for label in (0, 1):
        rows = "".join(f"{label},{p}\n" for p in rng.random(60))
        (tmp_path / f"{label}.csv").write_text("y,p\n" + rows)
    with pytest.warns(DataWarning, match="class 1 never occurs"):
        read_predictions(tmp_path / "0.csv")
    read_predictions([tmp_path / "0.csv", tmp_path / "1.csv"])  # A warning would be an error.


def test_capital_letters_do_not_matter_where_nothing_else_is_found(tmp_path):
    (tmp_path / "a.csv").write_text("Label,Prob\n0,.2\n1,.8\n")
    assert read_predictions(tmp_path / "a.csv").positive.tolist() == [0.2, 0.8]
    (tmp_path / "b.csv").write_text("LABEL,label,P,p\n0,1,.2,.3\n")
    assert read_predictions(tmp_path / "b.csv").positive.tolist() == [0.3]


def test_swapped_columns_are_recognised(tmp_path):
    told = failure(tmp_path / "a.csv", "label,p\n.2,0\n.8,1\n")
    assert "name them the other way round with label= and probs=" in told
