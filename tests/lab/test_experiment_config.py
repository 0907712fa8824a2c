"""Configs of experiments: what is accepted, and what is said about what is not."""

from pathlib import Path

import pytest

from calibrant import InputError
from calibrant.lab.experiment import read_config, shipped_configs
from calibrant.lab.experiment.config import DEFAULT_METRICS, LOSSES, MODELS, PENALTIES
from calibrant.lab.experiment.read import as_config, as_content
from experiment_cases import CONFIG, TRAINED, write_config
from naming import each

PIPELINE = '[[pipelines]]\nname = "x"\nnetwork = "ce"\ncalibrator = "ts"\n'


def test_a_config_is_read_with_its_defaults(tmp_path):
    text = f'title = "t"\n[data]\nsource = "logits"\nfolder = "here"\n{PIPELINE}'
    config = read_config(write_config(tmp_path, text))
    assert config.seeds == (0,)
    assert config.data.folder == tmp_path / "here"
    assert config.evaluation.baseline == "x"
    assert config.evaluation.metrics == DEFAULT_METRICS
    assert (config.evaluation.resamples, config.evaluation.level, config.evaluation.folds) == (1000, 0.95, 5)
    assert config.learning is None


@pytest.mark.parametrize("name", ["demo", "digits", "fashion-mnist", "fashion-mnist-logits"])
def test_shipped_configs_are_valid_and_survive_being_stored(name):
    assert name in shipped_configs()
    config = read_config(name)
    assert as_config(as_content(config), "stored", Path()) == config


def test_the_shipped_experiment_has_the_pipelines_and_ablations_of_its_question():
    config = read_config("fashion-mnist")
    found = {(p.network, p.calibrator) for p in config.pipelines}
    for calibrator in ("ts", "ts>iop-diag", "ts>iop-oi", "ts>irova", "iop-diag>ts", "irova>ts", "identity"):
        assert ("focal-3", calibrator) in found
    assert {("ce", "ts"), ("ce", "identity"), ("focal-2", "ts"), ("focal-5", "ts"), ("flsd-53", "ts")} <= found
    assert config.evaluation.baseline == "B0 CE>TS"
    assert {n.name: n.start for n in config.networks if n.start} == dict.fromkeys(
        ("focal-2", "focal-3", "focal-5", "flsd-53"), "ce"
    )
    assert (config.learning.sizes[0], config.learning.sizes[-1]) == (500, 30_000)
    assert config.seeds == (0, 1, 2)


def test_the_shipped_experiment_on_logits_differs_only_in_what_must_be_trained():
    trained, given = read_config("fashion-mnist"), read_config("fashion-mnist-logits")
    assert given.data.has_logits
    assert given.evaluation == trained.evaluation
    assert given.learning == trained.learning
    assert given.pipelines == tuple(p for p in trained.pipelines if p.network != "focal-3-scratch")


def test_networks_come_after_those_that_they_start_from(tmp_path):
    first, rest = TRAINED.split("[networks.ce]")
    ce, focal = rest.split("[networks.focal-3]")
    focal, others = focal.split("[[pipelines]]", 1)
    text = f"{first}[networks.focal-3]{focal}[networks.ce]{ce}[[pipelines]]{others}"
    assert [n.name for n in read_config(write_config(tmp_path, text)).networks] == ["ce", "focal-3"]


def test_losses_have_penalties_and_schedules_watch_the_calibrated_log_loss(tmp_path):
    text = TRAINED.replace('loss = "ce"', 'loss = "ce+8*mmce"\npatience = 2\nwatch = "calibrated-nll"')
    config = read_config(write_config(tmp_path, text))
    assert config.networks[0].loss == "ce+8*mmce"
    assert config.networks[0].schedule == {"epochs": 3, "patience": 2, "watch": "calibrated-nll"}
    assert as_config(as_content(config), "stored", Path()) == config


def test_names_of_losses_and_models_are_those_of_training():
    training = pytest.importorskip("calibrant.lab.training", exc_type=ImportError)
    assert set(LOSSES) == set(training.LOSSES)
    assert set(PENALTIES) == set(training.PENALTIES)
    assert set(MODELS) == set(training.MODELS)


CHANGES = [
    ('title = "Two networks"', "", "title is required"),
    ('title = "Two networks"', 'titel = "x"\ntitle = "y"', "titel is not a known key. Did you mean title?"),
    (
        "seeds = {seeds}",
        "seeds = []",
        r"seeds must be a list of distinct whole numbers of at least 0, not empty, but is \[\]",
    ),
    ("seeds = {seeds}", "seeds = [1, 1]", "seeds must be a list of distinct"),
    ("seeds = {seeds}", "seeds = [true]", "seeds must be a list of distinct"),
    (
        'source = "logits"',
        'source = "cifar"',
        r"\[data\]: source must be one of digits, fashion-mnist, logits, bundled",
    ),
    ('folder = "{folder}"', "", r"\[data\]: folder is required"),
    ('folder = "{folder}"', "folder = 3", r"\[data\]: folder must be a string"),
    ('calibrator = "identity"', 'calibrator = "tz"', r"number 1: calibrator: .*'tz' is not one. Did you mean 'ts'"),
    ('network = "ce"\ncalibrator = "ts"', 'network = ""\ncalibrator = "ts"', "number 2: network must be a string"),
    ('name = "raw"', 'name = "raw"\ncolour = "red"', "number 1: colour is not a known key. Known keys are calibrator,"),
    ('name = "raw"', 'name = "B0 CE>TS"', "number 2: name must be different from the names before, but is 'B0 CE>TS'"),
    ('baseline = "B0 CE>TS"', 'baseline = "B9"', r"\[evaluation\]: baseline must be one of raw, B0 CE>TS, focal"),
    ('"ece-20"', '"ece-21"', r"each of metrics must be one of accuracy, .*ece-20, but is 'ece-21'"),
    ("resamples = 60", "resamples = 5", "resamples must be a whole number of at least 50, but is 5"),
    ("resamples = 60", "level = 95", r"level must be a number between 0 and 1, but is 95"),
    ("sizes = [40, 240]", "sizes = [0]", r"\[learning\]: sizes must be a list of distinct whole numbers of at least 1"),
    ('calibrators = ["ts", "irova"]', 'calibrators = "ts"', "calibrators must be a list of distinct names"),
    ('calibrators = ["ts", "irova"]', 'calibrators = ["ts>x"]', r"\[learning\]: calibrators: .*'x' in 'ts>x' is not"),
    ("repeats = 2", 'metrics = ["kde-ece"]', "each of metrics must be one of accuracy"),
    ("[learning]", "[networks.ce]\nmodel = 'mlp'\n[learning]", "no networks are trained if the source is logits"),
]


@each("old, new, message", CHANGES)
def test_a_wrong_value_is_named_with_its_file_its_key_and_what_is_allowed(tmp_path, old, new, message):
    assert old in CONFIG
    with pytest.raises(InputError, match=message) as error:
        read_config(write_config(tmp_path, CONFIG.replace(old, new, 1)))
    assert str(error.value).startswith("config.toml: ")


TRAINING_CHANGES = [
    ('loss = "ce"', 'loss = "mse"', r"\[networks\]: \[ce\]: loss must be one of ce, label-smoothing"),
    ('loss = "ce"', 'loss = "ce+8*mce"', r"\[ce\]: a penalty added to a loss must be one of mmce, .* but is 'mce'"),
    ('loss = "ce"', 'loss = "ce+-8*mmce"', r"\[ce\]: the weight of a penalty must be a positive number, but is '-8'"),
    ("epochs = 3", 'watch = "ece"', r"\[ce\]: watch must be one of loss, calibrated-nll, but is 'ece'"),
    ('start = "ce"', 'start = "cf"', r"\[networks\]: focal-3.start must be one of ce, focal-3, but is 'cf'"),
    ('start = "ce"', 'start = "focal-3"', "focal-3.start must be a network that does not start from this one"),
    ("epochs = 3", "epochs = 0", r"\[ce\]: epochs must be a whole number of at least 1, but is 0"),
    ("epochs = 3", "learning_rate = -1", r"\[ce\]: learning_rate must be a positive number, but is -1"),
    ("epochs = 3", "learning_rate = 0", r"\[ce\]: learning_rate must be a positive number, but is 0"),
    ("epochs = 3", "held_out = 1", r"\[ce\]: held_out must be in \[0, 1\), but is 1"),
    ("epochs = 3", "held_out = 'x'", r"\[ce\]: held_out must be a finite number of at least 0, but is 'x'"),
    ("epochs = 3", "patience = 2\nheld_out = 0", r"\[ce\]: patience needs held-out rows, but held_out is 0"),
    ("epochs = 3", "epoch = 3", r"\[ce\]: epoch is not a known key. Did you mean epochs?"),
    ('network = "ce"', 'network = "cee"', "number 1: network must be one of ce, focal-3, but is 'cee'"),
]


@each("old, new, message", TRAINING_CHANGES)
def test_a_wrong_network_is_named(tmp_path, old, new, message):
    assert old in TRAINED
    with pytest.raises(InputError, match=message):
        read_config(write_config(tmp_path, TRAINED.replace(old, new, 1)))


def test_what_is_no_toml_is_refused_with_the_line(tmp_path):
    with pytest.raises(InputError, match=r"config.toml is not a TOML file: .*line 1"):
        read_config(write_config(tmp_path, "title = x"))


def test_an_unknown_name_lists_the_shipped_configs():
    with pytest.raises(
        FileNotFoundError, match=r"digit is neither a file nor a shipped config. The shipped configs are demo, digits,"
    ):
        read_config("digit")
