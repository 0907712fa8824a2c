"""JSON Lines: fields as columns, answers of language models, and everything that can be wrong with them."""

import gzip
import json

import numpy as np
import pytest

from calibrant import DataWarning, InputError, read_forecasts, read_predictions
from calibrant.io import read_column
from calibrant.io.opening import open_source
from io_cases import failure, probabilities


def write(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_fields_are_columns_and_lists_are_whole_rows(tmp_path):
    probs, labels = probabilities()
    named = [{"label": int(y), **{f"p{j}": v for j, v in enumerate(row)}} for row, y in zip(probs, labels, strict=True)]
    lists = [{"probs": row.tolist(), "label": int(y)} for row, y in zip(probs, labels, strict=True)]
    for rows in (named, lists):
        found = read_predictions(write(tmp_path / "a.jsonl", rows))
        np.testing.assert_allclose(found.probs, probs, rtol=1e-15)
        assert found.labels.tolist() == labels.tolist()
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    assert read_predictions(tmp_path / "b.jsonl.gz").labels.tolist() == labels.tolist()


def test_answers_of_a_language_model(tmp_path):
    rows = [
        {"question": "2 + 2?", "label": "4", "answer": "4", "confidence": 0.9, "correct": True},
        {"question": "3 + 3?", "label": "6", "answer": "7", "confidence": "0.25", "correct": False},
    ]
    found = read_predictions(write(tmp_path / "answers.jsonl", rows))
    assert found.positive.tolist() == [0.9, 0.25]
    assert found.labels.tolist() == [1, 0]
    assert found.classes == ("wrong", "right")
    assert read_column(tmp_path / "answers.jsonl", "question").tolist() == ["2 + 2?", "3 + 3?"]
    percent = [{"confidence": "90 %", "correct": 1}, {"confidence": 25, "correct": 0}]
    path = write(tmp_path / "percent.jsonl", percent)
    assert read_predictions(path, percent=True).positive.tolist() == [0.9, 0.25]


def test_text_labels_and_missing_fields(tmp_path):
    rows = [{"y": "yes", "p": 0.75}, {"y": "no"}, {"y": None, "p": 0.5}, {"p": 0.5}, {"y": "no", "p": None}]
    path = write(tmp_path / "a.jsonl", rows)
    assert "in 4 of 5 rows ('p' 2, 'y' 2), the first on line 2, column 'p'" in failure(path, positive="yes")
    with pytest.warns(DataWarning, match=r"4 of 5 rows \('p' 2, 'y' 2\): these rows are left out"):
        found = read_predictions(path, positive="yes", drop_missing=True)
    assert found.positive.tolist() == [0.75]


def test_forecasts(tmp_path):
    path = write(tmp_path / "f.jsonl", [{"y": 1.0, "draws": [1, 2]}, {"y": 2, "draws": [3, 4.5]}])
    assert read_forecasts(path).distribution.draws.ravel().tolist() == [1, 2, 3, 4.5]


@pytest.mark.parametrize(
    "content, words",
    [
        ('{"p": 0.5, "y": 1}\n{"p": "high", "y": 1}', "line 2, column 'p': 'high' is not a number"),
        ('{"p": "50%", "y": 1}', "'50%' is not a number. If all of them are percentages, read them with percent=True"),
        ('{"p": 0.5, "y": 1}\n{"p": {}, "y": 1}', "line 2, column 'p': there must be one value"),
        ('{"p": 0.5, "y": [1]}', "line 1, column 'y': there must be one value"),
        ('{"p": 0.5, "y": 1}\n[1, 2]', "line 2: every line must hold a JSON object"),
        ('{"p": 0.5, "y": 1}\n{"p": 0.5', "line 2: this is not a JSON object"),
        (
            '{\n"p": 0.5\n}',
            "line 1: this is not a JSON object (the object does not end on the line on which it begins)",
        ),
        ('{"p": 0.5, "y": 1}\n{"p": ' + "[" * 100_000, "line 2: this is not a JSON object"),
        ('{"p": 1' + "0" * 400 + ', "y": 1}', "line 1, column 'p' is inf"),
        ('{"p": Infinity, "y": 1}', "must be finite, but line 1"),
        ('{"probs": [0.5, 0.5], "y": 1}\n{"probs": [1], "y": 1}', "line 2, column 'probs': every cell must hold"),
        ('{"probs": [1], "y": 1}\n{"probs": ["1"], "y": 1}', "line 2, column 'probs': there must be a list of numbers"),
        ('{"probs": [1], "y": 1}\n{"probs": 1, "y": 1}', "line 2, column 'probs': there must be a list of numbers"),
        ('{"prob_a": [0.5, 0.5], "prob_b": [0.1, 0.9], "y": 1}', "holds a whole row of probabilities in each cell, so"),
        ("{}", "has no column named label"),
        ('{"y": 1, "draw_1": 2, "draw_2": 3}', "name the draws of the ensemble with draws='draw_*'"),
    ],
)
def test_trouble_is_told_with_its_line(tmp_path, content, words):
    assert words in failure(tmp_path / "a.jsonl", content)


def test_a_list_is_no_weight(tmp_path):
    path = tmp_path / "a.jsonl"
    words = "column 'w' must hold numbers, but its type is list"
    assert words in failure(path, '{"p": 0.5, "y": 1, "w": [1, 2]}', weight="w")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_file_that_has_lost_rows_when_one_is_located_has_changed(tmp_path, name):
    (tmp_path / name).write_text("y,p\n1,0.5\n" if name == "a.csv" else '{"y": 1, "p": 0.5}\n')
    with open_source(tmp_path / name) as source, pytest.raises(InputError, match="changed while it was being read"):
        source.place(1)
