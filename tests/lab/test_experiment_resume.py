"""Runs that are killed, at any moment and for real, end as runs that are left alone do."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from calibrant.lab.experiment import read_config, run, status
from calibrant.lab.experiment.plan import make_plan
from calibrant.lab.store import Store
from experiment_cases import CONFIG, TRAINED, outputs, write_config, write_logits

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")

KILLER = """
import json, os, random, signal, sys, time
from pathlib import Path
from calibrant.lab.experiment import run, work
import calibrant.assessment.comparison, calibrant.curves, calibrant.report.experiment
# Forked processes begin with the work.
if sys.argv[4] == "trained":
    from without_compiler import torch
    import calibrant.lab.training
    from calibrant.lab.datasets import load_dataset
    load_dataset("digits")
config, out, rng = sys.argv[1], Path(sys.argv[2]), random.Random(int(sys.argv[3]))
kept, kills, code = {}, 0, 1
while code:
    child = os.fork()
    if not child:
        try:
            run(config, out)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(2)
        os._exit(0)
    if kills < 5:
        time.sleep(rng.uniform(0.0, 0.08 * (kills + 1)))  # The first ones early: a quick run must not end before two.
        os.kill(child, signal.SIGKILL)
    _, ended = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(ended)
    if code > 0:
        sys.exit(code)
    kills += code < 0
    for seal in out.glob("steps/*.sha256"):
        kept.setdefault(seal.name, seal.stat().st_mtime_ns)
redone = [name for name, time in kept.items() if (out / "steps" / name).stat().st_mtime_ns != time]
print(json.dumps({"kills": kills, "redone": redone}))
"""


def run_and_kill(config: Path, out: Path, seed: int, what: str) -> dict:
    """Run in processes that are killed at random moments, five of them at most; the last result counts."""
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(config), str(out), str(seed), what],
        env=os.environ | variables,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(tmp_path):
    write_logits(tmp_path / "logits")
    config = write_config(tmp_path, CONFIG.replace('"kde-ece", ', ""))
    run(config, tmp_path / "whole")
    report = run_and_kill(config, tmp_path / "killed", 1, "logits")
    assert report["kills"] >= 2
    assert report["redone"] == []
    assert outputs(tmp_path / "killed") == outputs(tmp_path / "whole")
    assert status(tmp_path / "killed").is_complete
    assert not status(tmp_path / "killed").is_running


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return config and folder of a run that trained two small networks, not to be changed."""
    torch = pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("trained")
    config = write_config(folder, TRAINED)
    with one_thread(torch):
        run(config, folder / "out")
    return config, folder / "out"


@contextmanager
def one_thread(torch):
    """Use as many threads as killed runs do: the last bit of a network depends on it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_training_that_is_killed_ends_with_the_same_networks(trained, tmp_path):
    config, whole = trained
    report = run_and_kill(config, tmp_path / "killed", 2, "trained")
    assert report["kills"] >= 2
    assert report["redone"] == []
    assert outputs(tmp_path / "killed") == outputs(whole)
    for step in make_plan(read_config(config)).steps:
        if step.kind == "train":
            assert Store(tmp_path / "killed").path(step).read_bytes() == Store(whole).path(step).read_bytes()
    assert not any((tmp_path / "killed" / "checkpoints").iterdir())


def test_other_test_images_change_nothing_but_logits_and_evaluation_of_the_test_split(trained, tmp_path, monkeypatch):
    """The test split of the data set is replaced by noise: networks, fits and bandwidths must be the same bytes."""
    import numpy as np
    import torch

    from calibrant.lab import datasets

    whole = datasets.load_dataset("digits")
    rng = np.random.default_rng(0)
    noise = datasets.Split(rng.normal(size=whole.test.inputs.shape), rng.integers(10, size=len(whole.test.labels)))
    poisoned = datasets.Dataset(whole.name, whole.classes, whole.train, whole.calibration, noise)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: poisoned)
    config, clean = trained
    with one_thread(torch):
        run(config, tmp_path / "out")
    for step in make_plan(read_config(config)).steps:
        same = Store(tmp_path / "out").path(step).read_bytes() == Store(clean).path(step).read_bytes()
        assert same == (step.kind not in {"logits-test", "evaluate"}), step.name


def test_logits_of_trained_networks_are_left_as_archives(trained):
    import numpy as np

    _, out = trained
    with np.load(out / "logits" / "focal-3.npz") as arrays:
        assert arrays["calibration_logits"].shape == arrays["test_logits"].shape == (599, 10)
        accuracy = (arrays["test_logits"].argmax(axis=1) == arrays["test_labels"]).mean()
        assert arrays["classes"].tolist() == list("0123456789")
    assert accuracy > 0.7
