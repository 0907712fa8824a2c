"""Small trainings, shared by the tests of the loop and of its checkpoints."""

import numpy as np
import pytest
import torch
from torch import nn

from calibrant.lab.datasets import Split
from calibrant.lab.training import LOSSES, MODELS, Schedule, train

SHORT = Schedule(epochs=4, learning_rate=0.1, batch_size=32, held_out=0.2, threads=1)


@pytest.fixture(autouse=True)
def one_thread():
    """Small products are slower on several threads, much slower if others work on the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def noisy(n=150, seed=0):
    """Return rows of three classes that overlap, so that a network learns something but not everything."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return Split(rng.normal(0, 1, (n, 6)) + np.eye(3, 6)[labels], labels)


def network(rng=0):
    """Return a network with everything that has a state or is random: batch normalisation and dropout."""
    return nn.Sequential(MODELS["mlp"]((6,), 16, rng=rng), nn.BatchNorm1d(16), nn.Dropout(0.2), linear(rng))


def linear(rng=0):
    layer = nn.Linear(16, 3)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(np.random.default_rng(rng).normal(0, 0.3, (3, 16))))
        layer.bias.zero_()
    return layer


def fitted(model=None, data=None, loss=LOSSES["ce"], schedule=SHORT, **settings):
    """Return a trained network with its history."""
    model = network() if model is None else model
    return model, train(model, noisy() if data is None else data, loss, schedule, **settings)


def same_weights(one, other):
    states = one.state_dict(), other.state_dict()
    return states[0].keys() == states[1].keys() and all(
        torch.equal(states[0][key], states[1][key]) for key in states[0]
    )
