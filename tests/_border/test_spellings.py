"""Names as people write them: in any case and as papers have them, refused where they may mean two things."""

import numpy as np
import pytest

from calibrant import InputError, Predictions, assess, compare, recommend, scorer
from calibrant.advice import calibrate_held_out
from calibrant.advice.learning import learning_curve
from calibrant.calibrators import CALIBRATORS, calibrator_name, parse
from calibrant.calibrators.model import as_calibrator
from calibrant.cli import gates
from calibrant.cli.commands.evaluate import chosen
from calibrant.lab.experiment.read import as_config
from calibrant.metrics import ECE, FORECAST_METRICS, METRICS, Classwise, KdeECE, PerPredictedClass
from calibrant.metrics.names import SPELLINGS, metric_name
from naming import each

BOTH = "'kde-ece-one-vs-rest'.*'kde-ece-per-predicted-class'"


def example(n=120):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), n)
    return Predictions(probs, (rng.random((n, 1)) >= probs.cumsum(axis=1)[:, :-1]).sum(axis=1))


def experiment(metrics=("ece",), calibrator="ts", learning=None):
    return as_config(
        {
            "title": "names",
            "data": {"source": "bundled"},
            "pipelines": [{"name": "one", "network": "ce", "calibrator": calibrator}],
            "evaluation": {"metrics": list(metrics)},
            **({} if learning is None else {"learning": learning}),
        },
        "names.toml",
        None,
    )


class TestMetrics:
    def test_suffixes_say_which_rows(self):
        for short, metric in (("ece", ECE()), ("kde-ece", KdeECE())):
            assert METRICS[f"{short}-one-vs-rest"] == Classwise(metric)
            assert METRICS[f"{short}-per-predicted-class"] == PerPredictedClass(metric)

    def test_the_table_is_plain_and_has_each_metric_once(self):
        assert type(METRICS) is dict
        assert len(set(METRICS.values())) == len(METRICS)
        assert set(SPELLINGS.aliases.values()) <= set(METRICS)
        assert not set(SPELLINGS.aliases) & set(METRICS)
        assert all(name == name.lower() for name in [*METRICS, *FORECAST_METRICS])

    @each(
        "given, meant",
        [
            ("ece-classwise", "ece-one-vs-rest"),
            ("kde-ece-multiclass", "kde-ece-one-vs-rest"),
            ("KDE-ECE", "kde-ece"),
            ("NLL", "nll"),
            ("CRPS", "crps"),
        ],
    )
    def test_other_spellings_are_found(self, given, meant):
        assert metric_name(given) == meant

    def test_everything_that_takes_a_name_takes_the_other_ones(self):
        p, old, new = example(), "ece-classwise", "ece-one-vs-rest"
        assert scorer(old) == scorer(new) == scorer("ECE-one-vs-rest")
        assert list(assess(p, metrics=["NLL", old], n_resamples=19, sections=("metrics",), rng=0).metrics) == [
            "nll",
            new,
        ]
        assert compare({"a": p, "b": p}, [old], n_resamples=19, rng=0).metrics == (new,)
        assert chosen([old, "Brier"], METRICS, ()) == ["brier", new]
        assert gates.failed([f"{old}>=0"], {new: 0.5}, "a") == [f"a: {old}>=0, its {new} is 0.5"]
        gates.check_gates([f"{old}>0.1"], [new])
        curve = learning_curve(["TS"], p, sizes=[50], metrics=[old], n_repeats=1, rng=0)
        assert {point.metric for point in curve.points} == {new}
        learning = {"network": "ce", "calibrators": ["TS"], "sizes": [50], "metrics": [old]}
        config = experiment(["kde-ece-multiclass", "ECE-20"], learning=learning)
        assert config.evaluation.metrics == ("kde-ece-one-vs-rest", "ece-20")
        assert (config.learning.metrics, config.learning.calibrators) == ((new,), ("ts",))

    @each(
        "ask",
        [
            metric_name,
            scorer,
            lambda name: assess(example(), metrics=[name]),
            lambda name: compare({"a": example()}, [name]),
            lambda name: chosen([name], METRICS, ()),
            lambda name: gates.check_gates([f"{name}>1"], [*METRICS]),
            lambda name: experiment([name]),
            lambda name: learning_curve(["ts"], example(), metrics=[name]),
        ],
    )
    def test_a_name_with_two_meanings_is_refused_with_both(self, ask):
        with pytest.raises(InputError, match=BOTH):
            ask("kde-ece-classwise")

    def test_one_metric_under_two_names_is_computed_once(self):
        assert compare({"a": example()}, ["ece-classwise", "ece-one-vs-rest"]).metrics == ("ece-one-vs-rest",)
        with pytest.raises(InputError, match="distinct names"):
            experiment(["ece-classwise", "ece-one-vs-rest"])

    def test_what_is_not_known_stays_refused(self):
        assert metric_name("ece-class") == "ece-class"
        with pytest.raises(InputError, match="metrics must be names in METRICS, but 'ece-class' is not"):
            compare({"a": example()}, ["ece-class"])


class TestCalibrators:
    @each(
        "given, meant",
        [
            ("TS", "ts"),
            ("ETS", "ets"),
            ("IRM", "irm"),
            ("IROvA", "irova"),
            ("hb", "histogram"),
            ("IR", "isotonic"),
            ("Sigmoid", "platt"),
            ("iop-oi", "iop-oi"),
            ("IOP-diag", "iop-diag"),
            ("BBQ", "bbq"),
            ("TS→IROvA", "ts>irova"),
            ("TS > HB", "ts>histogram"),
            *((name, name) for name in CALIBRATORS),
        ],
    )
    def test_other_spellings_are_found(self, given, meant):
        assert calibrator_name(given) == meant
        assert repr(parse(given)) == repr(parse(meant)) == repr(CALIBRATORS[given]())

    @each("refuse", [calibrator_name, parse, as_calibrator, lambda name: calibrate_held_out(example(), name)])
    @each(
        "given, names",
        [
            ("IOP-OI", "'iop-diag'.*'iop-oi'"),
            ("TS>IOP-OI", "'iop-diag'.*'iop-oi'"),
            ("IROvA-TS", "'irova>ts' or 'ts>irova'"),
            ("ts-iop-diag", "'ts>iop-diag' or 'iop-diag>ts'"),
            ("TS>IR-TS", "'isotonic>ts' or 'ts>isotonic'"),
        ],
    )
    def test_a_name_with_two_meanings_is_refused_with_both(self, refuse, given, names):
        with pytest.raises(InputError, match=names):
            refuse(given)

    def test_a_table_complains_as_tables_do(self):
        with pytest.raises(KeyError, match="does not say which is applied first"):
            CALIBRATORS["IROvA-TS"]
        with pytest.raises(KeyError, match=r"Did you mean .*irova"):
            CALIBRATORS["irov"]

    def test_results_have_the_name_of_the_table(self):
        p = example()
        advice = recommend(p, candidates=["TS", "IRM"], n_folds=2, n_resamples=50, rng=0)
        assert [candidate.name for candidate in advice.candidates] == ["identity", "ts", "irm"]
        assert calibrate_held_out(p, "TS", n_folds=2, rng=0)[1].method == "ts"
        assert experiment(calibrator="TS→IROvA").pipelines[0].calibrator == "ts>irova"
