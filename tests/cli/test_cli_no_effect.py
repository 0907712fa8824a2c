"""Options that would have no effect are refused before anything is read, with the reason and what to do."""

from dataclasses import MISSING, fields

import pytest

from calibrant.cli import main
from calibrant.cli.options.engines import Engine
from calibrant.cli.options.judging import Comparing, Judging
from calibrant.cli.options.reading import Source
from calibrant.hypotest import TESTS
from calibrant.scale import Sketch, write_sketch
from tests.naming import each

FORECASTS = ("--label", "y", "--mean", "mu", "--sd", "sigma")

COMMANDS = {
    "evaluate": ("evaluate", "bad.csv"),
    "test": ("test", "bad.csv"),
    "groups": ("groups", "bad.csv"),
    "compare": ("compare", "bad.csv", "bad2.csv"),
    "recommend": ("recommend", "bad.csv"),
    "fit": ("fit", "bad.csv"),
    "apply": ("apply", "bad.csv", "--calibrator", "bad.json", "--out", "out.csv"),
    "report": ("report", "bad.csv"),
}
"""Every command that reads classes or forecasts, with files that hold neither: what is refused late names the file."""

OF_BOTH = {"label", "weight", "drop_missing", "json", "quiet"}
"""Options of classes that mean the same for forecasts."""

WORDS = {"engine": "local", "waves": "8", "scheduler": "tcp://nowhere", "master": "local[2]"}


def given(field):
    """Return an option as it would be written: switches without a value."""
    option = f"--{field.name.replace('_', '-')}"
    return (option,) if field.default is False else (option, WORDS.get(field.name, "7"))


def options_of(kind, left_out=frozenset()):
    found = [field for field in fields(kind) if field.name not in left_out]
    assert all(field.default is not MISSING for field in found)
    return [given(field) for field in found]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("bad.csv", "bad2.csv", "bad.json"):
        (tmp_path / name).write_text("no,predictions\n1,2\n")
    for name in ("a.sketch", "b.sketch"):
        write_sketch(Sketch().update([0.2, 0.9, 0.6, 0.3], [0, 1, 1, 0]), name)

    def run(*words):
        code = main([*words])
        return code, capsys.readouterr().err

    return run


def is_refused(run, words, option, *told):
    code, err = run(*words)
    assert (code, len(err.splitlines())) == (2, 1), (words, err)
    assert err.startswith(f"calibrant: {option} "), (words, err)
    assert all(text in err for text in told), (words, err)


@each("name", [*COMMANDS])
def test_options_of_classes_are_refused_with_forecasts(name, run):
    for words in options_of(Source, OF_BOTH):
        is_refused(run, (*COMMANDS[name], *FORECASTS, *words), words[0], "is for classes", "Remove it.")


@each("name", ["evaluate", "report", "fit"])
def test_engines_are_refused_with_forecasts(name, run):
    for words in options_of(Engine):
        is_refused(run, (*COMMANDS[name], *FORECASTS, *words), words[0], "sketches of classes", "Remove it.")


@each("name", ["evaluate", "report", "fit"])
def test_options_of_rows_are_refused_with_sketches(name, run):
    of_all = {"json", "quiet", "resamples", "seed", "tolerance", "by"}
    for words in [*options_of(Judging, of_all), *options_of(Engine), *([("--by", "x")] if name != "fit" else [])]:
        is_refused(run, (name, "a.sketch", *words), words[0], "Leave it out", "calibrant sketch")


def test_days_that_are_sketches_have_no_columns(run):
    for words in options_of(Source, {"json", "quiet"}):
        is_refused(run, ("watch", "a.sketch", "b.sketch", *words), words[0], "all days are sketches", "Leave it out")
        is_refused(run, ("watch", "b.sketch", "--reference", "a.sketch", *words), words[0])
    assert main(["watch", "a.sketch", "b.sketch", "--quiet"]) == 0


def test_two_sketches_are_compared_without_options_of_models(run):
    """A gate that was passed over looked as if it had been passed."""
    more = [("--metrics", "ece"), ("--baseline", "a"), ("--id", "row"), ("--cluster", "x"), ("--fail-if", "ece>0")]
    more += [("--fail-if-worse-than", "a"), ("--differences", "percentile"), ("--bandwidth", "own")]
    for words in (*options_of(Comparing, {"json", "quiet", "resamples", "seed"}), *more):
        is_refused(run, ("compare", "a.sketch", "b.sketch", *words), words[0], "hold no rows", "Leave it out")
    is_refused(run, ("compare", "a.sketch", "b.sketch", "--resamples", "0"), "--resamples")


REFUSED = [
    ("evaluate bad.csv --engine local --waves 0", "--waves must be a whole number of at least 1"),
    ("sketch bad.csv --waves 0 --out x.sketch", "--waves must be a whole number of at least 1"),
    ("report bad.csv --engine local --waves -1", "--waves must be a whole number of at least 1"),
    ("fit bad.csv --engine local --waves 8", "--waves is for the kernel error"),
    ("fit bad.csv --engine local --raw-logits --method vs", "--raw-logits needs rows in memory"),
    ("fit bad.csv --engine local --features x", "the fix of groups needs rows in memory"),
    ("fit bad.csv --scheduler tcp://x", "--scheduler needs --engine dask"),
    ("report bad.csv --engine local --features x", "--features needs rows of predictions"),
    ("report bad.csv --folds 7", "--folds is for --calibrate"),
    ("report bad.csv --mean m --sd s --calibrate conformal --folds 7", "--folds has no effect on conformal"),
    ("report bad.csv --confidence 0.9", "--confidence is for limits"),
    ("evaluate bad.csv --confidence 0.9", "--confidence is for limits"),
    ("evaluate bad.csv --confidence 0.9 --base-rate 0.1", "--confidence is for limits"),
    ("groups bad.csv --mean m --sd s --every-class", "--every-class is for classes"),
    ("compare bad.csv bad2.csv --mean m --sd s --bandwidth own", "--bandwidth is for classes"),
    ("compare bad.csv bad2.csv --mean m --sd s --cluster x", "--cluster is for classes"),
    ("compare bad.csv bad2.csv --mean m --sd s --differences percentile", "--differences is for classes"),
    ("compare bad.csv bad2.csv --mean m --sd s --resamples 99", "--resamples is for classes"),
    ("test bad.csv --quantiles q* --kernel gaussian", "--kernel needs whole distributions"),
    ("test bad.csv --test cox --kernel gaussian", "--kernel is for the kernel tests, but cox has none"),
    ("test bad.csv --test skce omnibus --kernel gaussian", "--kernel is for the kernel tests, but omnibus has none"),
    ("test bad.csv --mean m --sd s --calibrator bad.json --seed 3", "--seed has no effect here"),
    ("test bad.csv --mean m --sd s --calibrator bad.json --resamples 9", "--resamples has no effect here"),
    ("test bad.csv --by x", "Unknown option: --by"),
    ("apply bad.csv --calibrator bad.json --trained-rate 0.3 --out o.csv", "--trained-rate needs --base-rate"),
    ("apply bad.csv --calibrator bad.json --weight w --out o.csv", "--weight has no effect here"),
    ("apply bad.csv --base-rate 0.1 --trained-rate 0.3 --positive x --out o.csv", "--positive x has no effect"),
]


@each("words, told", REFUSED)
def test_what_would_have_no_effect_is_refused_at_once(words, told, run):
    code, err = run(*words.split())
    assert (words, code, told in err, len(err.splitlines())) == (words, 2, True, 1), err


@each("name", [*TESTS])
def test_a_kernel_is_refused_by_tests_that_give_the_same_answer_without_it(name):
    """What a test takes a kernel for is read off the test; so the rule is compared with what a kernel changes."""
    from calibrant.hypotest.suited import configured, takes_kernel
    from calibrant.predictions import Predictions

    p = Predictions([0.2, 0.7, 0.4, 0.9], [0, 1, 0, 1])
    changes = configured(name, p, 99, "gaussian") != configured(name, p, 99)
    assert changes == takes_kernel(TESTS[name])


def test_a_column_of_the_other_class_is_not_calibrated_as_if_it_were_the_one(run, tmp_path):
    """--positive no was passed over, and probabilities of no were mapped as those of yes."""
    rows = "".join(f"{p},{'yes' if (i * 7) % 10 < 10 * p else 'no'}\n" for i, p in enumerate([0.1, 0.3, 0.6, 0.9] * 10))
    (tmp_path / "two.csv").write_text("score,y\n" + rows)
    assert run("fit", "two.csv", "--positive", "yes", "--method", "platt", "--out", "c.json")[0] == 0
    apply = ("apply", "two.csv", "--calibrator", "c.json", "--out", "out.csv", "--positive")
    is_refused(run, (*apply, "no"), "--positive no", "has no effect", "the column of yes")
    assert run(*apply, "yes")[0] == 0
