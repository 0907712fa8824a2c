"""Small plain tables are read without polars, to the same numbers, and everything else with it."""

import numpy as np
import pytest

from calibrant._border.files import open_regular
from calibrant.exceptions import InputError
from calibrant.io import read_predictions
from calibrant.io.delimited import Delimited
from calibrant.io.tables import Table
from naming import each

HEADER, ROWS = "id,p_0,p_1,y,w\n", "a,0.25,0.75,cat,1\nb,1e-1,9E-01,dog,2\n"
NUMBERS = {"probs": ("p_0", "p_1"), "weights": ("w",)}


def both(path):
    """Return what is read with and without polars, the latter None if it cannot be."""
    with open_regular(path) as file:
        table = Delimited(file)
        return Table.read(table, NUMBERS, "y"), table._read_plain(NUMBERS, "y")


def texts(coded):
    return coded.map(coded.texts, np.object_).tolist()


def write(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    return path


def assert_same(tmp_path, text):
    expected, found = both(write(tmp_path, text))
    assert found.numbers.keys() == expected.numbers.keys()
    for name in NUMBERS:
        assert found.numbers[name].dtype == expected.numbers[name].dtype
        assert np.array_equal(found.numbers[name], expected.numbers[name])
    assert texts(found.label) == texts(expected.label)


@each(
    "text",
    {
        "as it is": HEADER + ROWS,
        "without a last line end": HEADER + ROWS[:-1],
        "carriage returns": (HEADER + ROWS).replace("\n", "\r\n"),
        "semicolons": (HEADER + ROWS).replace(",", ";"),
        "tabs": (HEADER + ROWS).replace(",", "\t"),
        "a mark at the beginning": "\ufeff" + HEADER + ROWS,
        "quotes in the header": HEADER.replace("id", '"id, or name"') + ROWS,
        "signs and points": HEADER + "a,+.5,5.e-1,1,-0\n",
        "spaces in a label": HEADER + ROWS.replace("cat", "a cat"),
        "labels that are numbers": HEADER + ROWS.replace("cat", "1.0").replace("dog", "01"),
        "labels that mean nothing": HEADER + ROWS.replace("cat", "NA"),
    },
)
def test_plain_tables_are_read_to_the_same_columns(tmp_path, text):
    assert_same(tmp_path, text)


def test_every_digit_is_read_alike(tmp_path):
    rng = np.random.default_rng(0)
    any_bits = rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    any_bits = any_bits[np.isfinite(any_bits)]
    digits = [*map(repr, any_bits.tolist()), *(f"{x:.30f}" for x in rng.random(3000)), "5e-324", "1e-400", "1.7e308"]
    assert_same(tmp_path, HEADER + "".join(f"a,{x},0.5,{i % 7},1\n" for i, x in enumerate(digits)))


@each(
    "text",
    {
        "quotes": HEADER + ROWS.replace("cat", '"cat"'),
        "a space before a number": HEADER + ROWS.replace("0.25", " 0.25"),
        "a space after a label": HEADER + ROWS.replace("cat", "cat "),
        "no label": HEADER + ROWS.replace("cat", ""),
        "no number": HEADER + ROWS.replace("0.25", ""),
        "a mark of what is missing": HEADER + ROWS.replace("0.25", "nan"),
        "infinity": HEADER + ROWS.replace("0.25", "inf"),
        "other letters": HEADER + ROWS.replace("cat", "Käfer"),
        "endless digits": HEADER + ROWS.replace("0.25", "0.25" + "0" * 1000),
        "a blank line": HEADER + ROWS.replace("\nb", "\n\nb"),
    },
)
def test_what_is_unusual_is_left_to_polars(tmp_path, text):
    assert both(write(tmp_path, text))[1] is None


@each(
    "text, message",
    {
        "a text": (HEADER + ROWS.replace("1e-1", "x"), "line 3, column 'p_0': 'x' is not a number"),
        "underscores": (HEADER + ROWS.replace("1e-1", "0_1"), "line 3, column 'p_0': '0_1' is not a number"),
        "two signs": (HEADER + ROWS.replace("1e-1", "--1"), "line 3, column 'p_0': '--1' is not a number"),
        "too few fields": (HEADER + ROWS.replace("b,", ""), "line 3: the row has 4 fields"),
        "fields moved to the next row": (HEADER + ROWS.replace(",1\n", "\n1,"), "line 2: the row has 4 fields"),
        "a NUL byte": (HEADER + ROWS.replace("b,", "\0,"), "line 3: there is a NUL byte"),
        "a lone carriage return": (HEADER + ROWS.replace("1\nb", "1\rb"), "line 2"),
        "no rows": (HEADER, "has columns but no rows"),
        "too large": (HEADER + ROWS.replace("1e-1", "1e999"), "line 3"),
    },
)
def test_errors_are_located_as_before(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_predictions(write(tmp_path, text), weight="w")


def test_large_tables_are_read_by_polars(tmp_path, monkeypatch):
    path = write(tmp_path, HEADER + ROWS.replace("cat", "0").replace("dog", "1"))
    seen = []

    def unusual(cells):
        seen.append(len(cells))
        raise ValueError

    monkeypatch.setattr("calibrant.io.delimited._coded", unusual)
    read_predictions(path)
    monkeypatch.setattr("calibrant.io.delimited.MOST_BYTES", path.stat().st_size - len(HEADER) - 1)
    read_predictions(path)
    assert seen == [2]
