"""Checkpoints: killed at any moment, a training ends as if it had not been."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibrant import InputError
from calibrant.lab.datasets import Split

torch = pytest.importorskip("torch")

from calibrant.lab.training import LOSSES  # noqa: E402
from training_cases import SHORT, fitted, network, noisy, one_thread, same_weights  # noqa: E402, F401 (a fixture)

STOPPING = replace(SHORT, epochs=12, learning_rate=0.3, patience=2)


class KilledError(Exception):
    """Stands for the end of the process."""


def dying_at(step):
    def progress(done, steps):
        if done == step:
            raise KilledError

    return progress


@pytest.mark.parametrize("schedule", [SHORT, STOPPING], ids=["to-the-end", "stopping-early"])
@pytest.mark.parametrize("step", [1, 4, 5, 11])
def test_an_interrupted_training_ends_with_the_same_weights_and_history(tmp_path, schedule, step):
    whole, history = fitted(schedule=schedule, rng=3)
    path = tmp_path / "checkpoint"
    with pytest.raises(KilledError):
        fitted(schedule=schedule, rng=3, checkpoint=path, progress=dying_at(step))
    steps = []
    resumed, again = fitted(schedule=schedule, rng=3, checkpoint=path, progress=lambda done, _: steps.append(done))
    assert same_weights(whole, resumed)
    assert history == again
    assert steps[0] == (step - 1) // 4 * 4 + 1  # Four steps an epoch: at most one of them is done again.


def test_a_killed_process_goes_on(tmp_path):
    code = (
        "import os, signal, sys; import without_compiler; from training_cases import fitted\n"
        "def progress(done, steps):\n"
        "    if done == 10: os.kill(os.getpid(), signal.SIGKILL)\n"
        "fitted(rng=3, checkpoint=sys.argv[1], progress=progress)"
    )
    path = tmp_path / "checkpoint"
    killed = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=Path(__file__).parents[1], check=False, timeout=100
    )
    assert killed.returncode == -signal.SIGKILL
    resumed, _ = fitted(rng=3, checkpoint=path)
    assert same_weights(resumed, fitted(rng=3)[0])


def test_a_training_that_is_over_gives_its_weights_at_once(tmp_path):
    path = tmp_path / "checkpoint"
    first, history = fitted(schedule=STOPPING, checkpoint=path)
    again, same = fitted(schedule=STOPPING, checkpoint=path, progress=dying_at(1))
    assert history == same
    assert same_weights(first, again)


@pytest.mark.parametrize(
    "other",
    [
        {"loss": LOSSES["focal-2"]},
        {"schedule": replace(SHORT, epochs=5)},
        {"rng": 1},
        {"model": network(rng=1)},
        {"data": noisy(seed=1)},
        {"data": Split(noisy().inputs, np.roll(noisy().labels, 1))},
    ],
    ids=["loss", "schedule", "seed", "network", "inputs", "labels"],
)
def test_a_checkpoint_of_another_training_is_refused_and_kept(tmp_path, other):
    path = tmp_path / "checkpoint"
    fitted(checkpoint=path)
    content = path.read_bytes()
    with pytest.raises(InputError, match="belongs to another training"):
        fitted(checkpoint=path, **other)
    assert path.read_bytes() == content


@pytest.mark.parametrize("damage", ["flip", "cut", "header", "empty"])
def test_a_damaged_checkpoint_is_ignored(tmp_path, damage):
    path = tmp_path / "checkpoint"
    whole, _ = fitted(checkpoint=path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes({"flip": content, "cut": content[:200], "header": content[:10], "empty": b""}[damage])
    steps = []
    anew, _ = fitted(checkpoint=path, progress=lambda done, _: steps.append(done))
    assert steps[0] == 1
    assert same_weights(whole, anew)


def test_a_file_that_is_no_checkpoint_is_not_replaced(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("two years of notes")
    with pytest.raises(InputError, match=r"notes\.txt must be a checkpoint, but is not, and is not replaced"):
        fitted(checkpoint=path)
    assert path.read_text() == "two years of notes"


def test_a_folder_that_is_missing_is_noticed_before_training(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        fitted(checkpoint=tmp_path / "none" / "checkpoint", progress=dying_at(1))


def test_a_fresh_seed_has_no_checkpoint(tmp_path):
    with pytest.raises(InputError, match="rng must be a seed if there is a checkpoint"):
        fitted(checkpoint=tmp_path / "checkpoint", rng=None)
