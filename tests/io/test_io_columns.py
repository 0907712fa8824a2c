"""Which columns are read, and how labels and classes are matched."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from calibrant import InputError
from calibrant.io import read_column, read_predictions
from calibrant.io.rewrite import rewrite_probabilities

ROWS = "0,.8,.2\n1,.4,.6\n"


def write(folder, text):
    path = folder / "data.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("label", ["label", "labels", "target", "y", "y_true", "class", "ground_truth"])
@pytest.mark.parametrize("prefix", ["proba_", "prob_", "p_"])
def test_columns_are_found_by_their_usual_names(tmp_path, label, prefix):
    p = read_predictions(write(tmp_path, f"{label},{prefix}0,{prefix}1\n{ROWS}"))
    assert p.probs.tolist() == [[0.8, 0.2], [0.4, 0.6]]


@pytest.mark.parametrize("name", ["proba", "prob", "probability", "p", "score"])
@pytest.mark.parametrize("labels", ["01", ["False", "true"], ["0.0", "1.0"]])
def test_a_single_column_is_the_probability_of_class_1(tmp_path, name, labels):
    p = read_predictions(write(tmp_path, f"y,{name}\n{labels[0]},.25\n{labels[1]},.75\n"))
    assert p.positive.tolist() == [0.25, 0.75]
    assert p.labels.tolist() == [0, 1]


def test_two_names_for_a_single_column_need_their_order(tmp_path):
    path = write(tmp_path, "y,p\nsick,.25\nwell,.75\n")
    with pytest.raises(InputError, match=r"with positive="):
        read_predictions(path)
    p = read_predictions(path, classes=["well", "sick"])
    assert p.labels.tolist() == [1, 0]
    assert p.classes == ("well", "sick")


def test_the_only_column_must_not_be_that_of_class_0(tmp_path):
    with pytest.raises(InputError, match=r"'p_0' is the only probability column"):
        read_predictions(write(tmp_path, "y,p_0\n0,.8\n"))


def test_columns_are_sorted_naturally(tmp_path):
    order = [10, 2, 0, 1, *range(3, 10)]
    header = ",".join(f"p_{k}" for k in order)
    cells = ",".join("1" if k == 10 else "0" for k in order)
    with pytest.warns(match="fewer rows"):
        p = read_predictions(write(tmp_path, f"y,{header}\n10,{cells}\n"))
    assert p.classes == tuple(range(11))
    assert p.probs[0].tolist() == [0] * 10 + [1]


def test_integer_class_names_are_matched_by_value(tmp_path):
    p = read_predictions(write(tmp_path, "y,p_7,p_3\n7,.8,.2\n3,.4,.6\n"))
    assert p.classes == (3, 7)
    assert p.probs.tolist() == [[0.2, 0.8], [0.6, 0.4]]
    assert p.labels.tolist() == [1, 0]


NAMED = "y,proba_dog,proba_cat\ndog,.8,.2\ncat,.4,.6\n"


def test_names_are_matched_with_columns_whatever_their_order(tmp_path):
    p = read_predictions(write(tmp_path, NAMED))
    assert p.classes == ("cat", "dog")
    assert p.probs.tolist() == [[0.2, 0.8], [0.6, 0.4]]
    assert p.labels.tolist() == [1, 0]
    q = read_predictions(write(tmp_path, NAMED), classes=["dog", "cat"])
    assert q.classes == ("dog", "cat")
    assert q.probs.tolist() == [[0.8, 0.2], [0.4, 0.6]]
    assert q.labels.tolist() == [0, 1]


SPAM = "label,spam,ham,length\nspam,.8,.2,5\nham,.4,.6,7\nspam,.9,.1,3\n"


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "jsonl"])
def test_columns_named_after_the_labels_are_found(tmp_path, kind):
    table = pl.read_csv(SPAM.encode())
    path = tmp_path / f"a.{kind}"
    {"csv": table.write_csv, "parquet": table.write_parquet, "arrow": table.write_ipc, "jsonl": table.write_ndjson}[
        kind
    ](path)
    p = read_predictions(path)
    assert p.classes == ("ham", "spam")
    assert p.probs.tolist() == [[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]
    assert p.labels.tolist() == [1, 0, 1]
    assert read_predictions(path, classes=["spam", "ham"]).labels.tolist() == [0, 1, 0]


def test_columns_named_after_the_classes_need_no_labels(tmp_path):
    (tmp_path / "new.csv").write_text("spam,ham,length\n.8,.2,5\n.4,.6,7\n")
    names = rewrite_probabilities(
        tmp_path / "new.csv", tmp_path / "out.csv", lambda values: values[:, ::-1], classes=["ham", "spam"]
    )
    assert names == ("calibrated_ham", "calibrated_spam")
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == ".8,.2,5,0.8,0.2"


def test_columns_named_after_numeric_labels_are_sorted_by_value(tmp_path):
    p = read_predictions(write(tmp_path, "y,10,2\n10,.8,.2\n2,.4,.6\n"))
    assert p.classes == (2, 10)
    assert p.probs.tolist() == [[0.2, 0.8], [0.6, 0.4]]


def test_usual_names_come_before_those_of_labels(tmp_path):
    path = write(
        tmp_path, SPAM.replace("length", "score").replace(",5", ",.5").replace(",7", ",.7").replace(",3", ",.3")
    )
    assert read_predictions(path, positive="spam").positive.tolist() == [0.5, 0.7, 0.3]


@pytest.mark.parametrize(
    "text, words",
    [
        (SPAM + "eggs,.5,.5,1\n", "'ham', 'spam' are named after labels, but 'eggs' has no column."),
        ("label,spam,ham\nspam,.8,.2\n", "'spam' is named after labels, but no other label occurs."),
        ("label,Spam,ham\nspam,.8,.2\nham,.1,.9\n", "'ham' is named after labels, but 'spam' has no column."),
        ("label,a,b\nspam,.8,.2\nham,.1,.9\n", "nor one per label with its name. Columns found: 'a', 'b'. Name them"),
        ("label,spam,ham,eggs\nspam,.5,.2,.3\nham,.1,.7,.2\n", "line 2 sums to 0.7"),
        ("label,spam,ham\nspam,.8,.2\nham,x,.9\n", "line 3, column 'spam': 'x' is not a number"),
    ],
)
def test_columns_that_only_seem_to_be_named_after_the_labels_are_refused(tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        read_predictions(write(tmp_path, text))
    assert words in str(caught.value)


def test_a_mark_of_a_missing_label_needs_no_column(tmp_path):
    path = write(tmp_path, SPAM + "NA,.5,.5,1\n,.5,.5,1\n")
    with pytest.warns(match=r"missing in 2 of 5 rows \('label' 2\)"):
        assert read_predictions(path, drop_missing=True).classes == ("ham", "spam")


def test_numbers_beside_named_columns_are_refused_when_their_order_is_a_guess(tmp_path):
    numbered = NAMED.replace("\ndog", "\n0").replace("\ncat", "\n1")
    with pytest.raises(InputError, match=r"not clear which column belongs to which class"):
        read_predictions(write(tmp_path, numbered))
    p = read_predictions(write(tmp_path, numbered), probs=["proba_dog", "proba_cat"])
    assert p.labels.tolist() == [0, 1]
    assert p.probs.tolist() == [[0.8, 0.2], [0.4, 0.6]]
    alphabetical = numbered.replace("dog", "zebra").replace("cat", "zoo")
    assert read_predictions(write(tmp_path, alphabetical)).classes == ("zebra", "zoo")


def test_new_names_for_columns_need_columns_in_order(tmp_path):
    with pytest.raises(InputError, match=r"not clear which column"):
        read_predictions(write(tmp_path, NAMED), classes=["a", "b"])
    with pytest.raises(InputError, match=r"no probability column for class 'dgo'. Did you mean 'dog'"):
        read_predictions(write(tmp_path, NAMED), classes=["cat", "dgo"])
    with pytest.raises(InputError, match=r"3 classes \('a', 'b', 'c'\) and 2 columns"):
        read_predictions(write(tmp_path, NAMED), classes=["a", "b", "c"])


@pytest.mark.parametrize("columns", [("False", "True"), ("True", "False")])
def test_booleans_are_matched_with_columns_of_that_name(tmp_path, columns):
    table = pl.DataFrame({"y": [True, False], f"p_{columns[0]}": [0.9, 0.3], f"p_{columns[1]}": [0.1, 0.7]})
    table.write_parquet(tmp_path / "a.parquet")
    p = read_predictions(tmp_path / "a.parquet")
    assert [p.classes[k] for k in p.labels] == ["True", "False"]
    assert p.probs[:, p.classes.index(columns[0])].tolist() == [0.9, 0.3]


def test_patterns_lists_and_exotic_names_choose_columns(tmp_path):
    path = write(tmp_path, "t,^a.*$,*,ab,x[1],x[2]\n1,.5,.1,.1,.3,.7\n0,.6,.2,.2,.9,.1\n")
    assert read_predictions(path, label="t", probs=["x[1]", "x[2]"]).positive.tolist() == [0.7, 0.1]
    assert read_predictions(path, label="t", probs="x?[12]?").positive.tolist() == [0.7, 0.1]
    assert read_predictions(path, label="t", probs="^a.*$").positive.tolist() == [0.5, 0.6]
    assert read_predictions(path, label="t", probs="*").positive.tolist() == [0.1, 0.2]
    with pytest.raises(InputError, match=r"'ab' is named twice"):
        read_predictions(path, label="t", probs=["ab", "a*"])


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
@pytest.mark.parametrize(
    ("options", "name", "roles"),
    [
        ({"weight": "y"}, "y", "label= and for weight="),
        ({"label": "probs", "probs": "probs"}, "probs", "label= and for probs="),
        ({"probs": "probs", "weight": "probs"}, "probs", "weight= and for probs="),
    ],
)
def test_a_column_has_one_role(tmp_path, ending, options, name, roles):
    path = tmp_path / f"a.{ending}"
    columns = {"y": np.array([0, 1]), "probs": np.array([0.2, 0.7])}
    if ending == "npz":
        np.savez(path, **columns)
    else:
        getattr(pl.DataFrame(columns), f"write_{ending}")(path)
    with pytest.raises(InputError, match=f"'{name}' is used for {roles}. Name another"):
        read_predictions(path, **options)


@pytest.mark.parametrize("name", ["probs", "p", "score"])
def test_an_archive_may_name_its_probabilities_as_a_table_does(tmp_path, name):
    np.savez(tmp_path / "a.npz", y=[0, 1], **{name: [0.2, 0.7]})
    assert read_predictions(tmp_path / "a.npz").positive.tolist() == [0.2, 0.7]


def test_weights_are_read(tmp_path):
    p = read_predictions(write(tmp_path, "w,y,p_0,p_1\n2,0,.8,.2\n.5,1,.4,.6\n"), weight="w")
    assert p.weights.tolist() == [2, 0.5]
    with pytest.raises(InputError, match="but line 3, column 'w' is -1"):
        read_predictions(write(tmp_path, "w,y,p_0,p_1\n2,0,.8,.2\n-1,1,.4,.6\n"), weight="w")


def test_logits_are_read_only_when_asked_for(tmp_path):
    path = write(tmp_path, "y,p_0,p_1,logit_0,logit_1\n0,.5,.5,0,0\n1,.5,.5,0,1e3\n")
    assert read_predictions(path).positive.tolist() == [0.5, 0.5]
    assert read_predictions(path, logits=True).positive.tolist() == [0.5, 1]
    path = write(tmp_path, "y,logit_0,logit_1\n0,3,-1\n")
    with pytest.raises(InputError, match=r"logits=True"):
        read_predictions(path)
    with pytest.raises(InputError, match=r"renormalise"):
        read_predictions(path, logits=True, renormalise=True)


def test_new_names_are_given_to_columns_in_their_order(tmp_path):
    p = read_predictions(write(tmp_path, f"y,p_0,p_1\n{ROWS}"), classes=["no", "yes"])
    assert p.classes == ("no", "yes")
    assert p.labels.tolist() == [0, 1]


@pytest.mark.parametrize("labels", [[0.0, 1.0], [False, True], pl.Series([0, 1], dtype=pl.UInt8)])
def test_labels_of_any_numeric_type_are_read(tmp_path, labels):
    pl.DataFrame({"y": labels, "p": [0.2, 0.9]}).write_parquet(tmp_path / "a.parquet")
    assert read_predictions(tmp_path / "a.parquet").labels.tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["dog", "cat"])])
def test_categories_are_read_as_names_and_not_as_codes(tmp_path, dtype):
    table = pl.DataFrame({"y": ["dog", "cat"], "p_cat": [0.1, 0.7], "p_dog": [0.9, 0.3]})
    table.with_columns(pl.col("y").cast(dtype)).write_parquet(tmp_path / "a.parquet")
    assert read_predictions(tmp_path / "a.parquet").labels.tolist() == [1, 0]


def test_a_column_of_lists_stands_alone(tmp_path):
    table = pl.DataFrame({"y": [0], "p_a": [[0.5, 0.5]], "p_b": [0.5]})
    table.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"'p_a' holds a whole row of probabilities in each cell"):
        read_predictions(tmp_path / "a.parquet")


def test_patterns_must_be_text(tmp_path):
    for probs in ([], [0, 1]):
        with pytest.raises(TypeError, match="probs must be a column name"):
            read_predictions(write(tmp_path, f"y,p_0,p_1\n{ROWS}"), probs=probs)


@pytest.mark.parametrize("argument", ["label", "weight"])
def test_names_of_columns_must_be_text(argument, tmp_path):
    with pytest.raises(TypeError, match=f"{argument} must be the name of a column, not 3"):
        read_predictions(write(tmp_path, f"y,p_0,p_1\n{ROWS}"), **{argument: 3})


def test_dates_and_single_columns_are_read_as_they_are(tmp_path):
    days = [date(2026, 11, 1), None]
    pl.DataFrame({"day": days, "n": [1, None]}).write_ipc(tmp_path / "a.arrow")
    assert read_column(tmp_path / "a.arrow", "day").tolist() == days
    assert np.isnan(read_column(tmp_path / "a.arrow", "n")).tolist() == [False, True]
    assert read_column(write(tmp_path, "only\n\nx\n\ny\n"), "only").tolist() == ["x", "y"]
