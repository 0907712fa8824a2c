"""The certified answers, and the command that compares with them."""

import json
import math

import pytest

from calibrant.cli import main
from calibrant.cli.work import selfcheck as certified
from calibrant.cli.work.selfcheck import certified_values


def test_every_certified_value_is_checked_and_agrees():
    values = {value.name: value for value in certified_values()}
    assert set(values) == set(certified.certificate()["values"])
    assert [name for name, value in values.items() if not value.passed] == []


def test_the_shipped_answers_are_those_of_the_script_that_made_them():
    certify = pytest.importorskip("certification.certify")
    assert certify.certificate() == certified.certificate()


def test_answers_have_thirty_digits():
    for name, answer in certified.certificate()["values"].items():
        digits = answer.lstrip("-").replace(".", "").lstrip("0")
        assert len(digits) >= 29, name


def test_a_method_that_is_wrong_in_the_tenth_digit_fails_the_check(monkeypatch, capsys):
    wrong = {**certified.CHECKS, "event/nll": (lambda: 0.76530353989921984 * (1 + 1e-10), certified.EXACT)}
    monkeypatch.setattr(certified, "CHECKS", wrong)
    assert main(["selfcheck", "--quiet"]) == 1
    assert "event/nll must agree in 12 digits, but does in 10.0" in capsys.readouterr().err


def test_a_method_that_gives_no_number_fails_the_check():
    found = certified._compare("x", "0.5", math.nan, 8)
    assert not found.passed
    assert found.digits == 0


def test_progress_reaches_the_end():
    seen = []
    certified_values(lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(certified.CHECKS), len(certified.CHECKS))


def test_json_holds_every_value(capsys):
    assert main(["selfcheck", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert {value["name"] for value in values} == set(certified.CHECKS)


def test_the_table_fits_eighty_columns(capsys):
    assert main(["selfcheck"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-2] == f"{len(certified.CHECKS)} of {len(certified.CHECKS)} values agree with their certified answers."
    assert lines[-1].startswith("Core: compiled, level v")
