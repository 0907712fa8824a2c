"""The training loop: what it learns, what it leaves alone, and that a seed decides everything."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.calibrators import TemperatureScaling, calibrate
from calibrant.lab.datasets import Dataset, Split, load_dataset
from calibrant.lab.experiment import run
from calibrant.lab.schedule import best_epoch, is_over
from calibrant.metrics import NLL, Accuracy

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 (PyTorch may be missing)

from calibrant.lab.training import (  # noqa: E402
    LOSSES,
    MODELS,
    PENALTIES,
    Epoch,
    Schedule,
    load_weights,
    parse_loss,
    predict_logits,
    save_weights,
    write_logits,
)
from calibrant.lab.training.trainer import Trainer  # noqa: E402
from training_cases import SHORT, fitted, network, noisy, one_thread, same_weights  # noqa: E402, F401 (a fixture)


class TestLearning:
    def test_a_perceptron_learns_the_digits(self):
        data = load_dataset("digits")
        model, history = fitted(MODELS["mlp"]((64,), 10), data.train, schedule=Schedule(epochs=15, held_out=0))
        assert np.mean(predict_logits(model, data.test.inputs).argmax(axis=1) == data.test.labels) > 0.9
        assert history.epochs[-1].loss < history.epochs[0].loss / 5
        assert history.kept == 15

    def test_a_convolutional_network_learns_where_a_stroke_is(self):
        rng = np.random.default_rng(0)
        labels = np.arange(80) % 2
        images = rng.normal(0, 0.5, (80, 1, 8, 8))
        images[labels == 0, 0, 2, :] += 2
        images[labels == 1, 0, :, 5] += 2
        data = Split(images, labels)
        model, _ = fitted(MODELS["cnn"]((1, 8, 8), 2), data, schedule=replace(SHORT, held_out=0))
        assert np.mean(predict_logits(model, data.inputs).argmax(axis=1) == labels) > 0.95

    def test_fine_tuning_with_the_focal_loss_lowers_the_confidence(self):
        data = noisy()
        sure = Schedule(epochs=60, learning_rate=0.1, held_out=0)
        model, _ = fitted(MODELS["mlp"]((6,), 3), data, schedule=sure)
        before = torch.tensor(predict_logits(model, data.inputs)).softmax(dim=1).amax(dim=1).mean()
        fitted(model, data, LOSSES["focal-5"], replace(sure, epochs=10, learning_rate=0.01))
        after = torch.tensor(predict_logits(model, data.inputs)).softmax(dim=1).amax(dim=1).mean()
        assert after < before - 0.01

    @pytest.mark.parametrize("name", [*LOSSES, *(f"ce+{penalty}" for penalty in PENALTIES)])
    def test_every_loss_falls(self, name):
        _, history = fitted(MODELS["mlp"]((6,), 3), loss=parse_loss(name))
        assert history.epochs[-1].loss < history.epochs[0].loss

    def test_batches_of_one_row_do_not_occur(self):
        # Batch normalisation refuses them in training; 65 rows in batches of 64 would leave one.
        fitted(data=noisy(65), schedule=replace(SHORT, batch_size=64, held_out=0))

    def test_steps_are_those_of_a_plain_loop(self):
        """The last weights, by PyTorch's own optimiser and schedule, with the batches of the seed."""
        data, schedule = noisy(), replace(SHORT, epochs=2, held_out=0)
        batches = []

        class Spy(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = MODELS["mlp"]((6,), 3)

            def forward(self, rows):
                if self.training:
                    batches.append(rows)
                return self.inner(rows)

        model, _ = fitted(Spy(), data, schedule=schedule)
        plain = MODELS["mlp"]((6,), 3)
        optimizer = torch.optim.SGD(plain.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
        rates = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=len(batches))
        where = {tuple(row): label for row, label in zip(data.inputs.tolist(), data.labels, strict=True)}
        for rows in batches:
            labels = torch.tensor([where[tuple(row)] for row in rows.tolist()])
            optimizer.zero_grad()
            nn.functional.cross_entropy(plain(rows), labels).backward()
            optimizer.step()
            rates.step()
        assert sorted(tuple(row) for rows in batches[:5] for row in rows.tolist()) == sorted(where)
        assert len(batches) == 10
        assert not torch.equal(batches[0], batches[5])
        for ours, theirs in zip(model.inner.parameters(), plain.parameters(), strict=True):
            assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-6)


class TestSeeds:
    def test_the_same_seed_gives_the_same_weights(self):
        torch.rand(3)
        one, history = fitted(rng=7)
        torch.rand(5)
        other, again = fitted(rng=np.random.default_rng(7))
        assert same_weights(one, other)
        assert history == again

    def test_another_seed_gives_other_weights(self):
        assert not same_weights(fitted(rng=0)[0], fitted(rng=1)[0])

    def test_global_state_is_left_alone(self):
        torch.set_num_threads(2)
        before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002 (it must not be touched)
        fitted(MODELS["mlp"]((6,), 3, rng=4), rng=3)
        assert torch.equal(before[0], torch.get_rng_state())
        assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002
        assert torch.get_num_threads() == 2

    @pytest.mark.parametrize(("name", "shape"), [("cnn", (1, 28, 28)), ("mlp", (4, 5))])
    def test_networks_depend_on_the_seed_only(self, name, shape):
        torch.rand(3)
        one, same, other = (MODELS[name](shape, 7, rng=rng) for rng in (1, 1, 2))
        assert same_weights(one, same)
        assert not same_weights(one, other)
        assert predict_logits(one, np.zeros((3, *shape), dtype=np.float32)).shape == (3, 7)


class TestHeldOutRows:
    def test_are_never_trained_on(self):
        data = noisy()
        watched = Trainer(network(), data, LOSSES["ce"], SHORT, seed=5).watched
        assert len(watched) == 30
        inputs, labels = data.inputs.copy(), data.labels.copy()
        inputs[watched], labels[watched] = 3.0, 0
        # The same seed of the trainer, whatever the public function makes of its own.
        models = network(), network()
        for model, rows in zip(models, (data, Split(inputs, labels)), strict=True):
            trainer = Trainer(model, rows, LOSSES["ce"], SHORT, seed=5)
            trainer.advance(None)
        assert same_weights(*models)

    def test_do_not_depend_on_network_and_loss(self):
        rows = [Trainer(network(i), noisy(), loss, SHORT, seed=5).watched for i, loss in enumerate(LOSSES.values())]
        assert all(np.array_equal(rows[0], other) for other in rows)

    def test_stop_the_training_and_the_best_weights_are_kept(self):
        rng = np.random.default_rng(0)
        data = Split(rng.normal(0, 1, (120, 6)), rng.integers(0, 3, 120))  # Nothing to learn but the noise.
        schedule = Schedule(epochs=60, learning_rate=0.2, batch_size=32, patience=3, held_out=0.25)
        model, history = fitted(MODELS["mlp"]((6,), 3), data, schedule=schedule)
        losses = [epoch.held_out_loss for epoch in history.epochs]
        assert history.kept == int(np.argmin(losses)) + 1
        assert len(losses) == history.kept + 3
        seed = int(np.random.default_rng(0).integers(2**63))
        watched = Trainer(model, data, LOSSES["ce"], schedule, seed).watched
        logits = torch.tensor(predict_logits(model, data.inputs[watched])).double()
        assert LOSSES["ce"](logits, torch.tensor(data.labels[watched])).item() == pytest.approx(min(losses), rel=1e-12)

    def test_stop_the_training_by_the_log_loss_after_temperature_scaling(self):
        schedule = Schedule(
            epochs=30, learning_rate=0.2, batch_size=32, patience=5, held_out=0.3, watch="calibrated-nll"
        )
        model, history = fitted(MODELS["mlp"]((6,), 3), schedule=schedule)
        values = [epoch.held_out_calibrated_nll for epoch in history.epochs]
        assert history.kept == int(np.argmin(values)) + 1
        watched = Trainer(model, noisy(), LOSSES["ce"], schedule, int(np.random.default_rng(0).integers(2**63))).watched
        p = Predictions.from_logits(predict_logits(model, noisy().inputs[watched]), noisy().labels[watched])
        assert NLL()(calibrate(TemperatureScaling().fit(p), p)) == pytest.approx(min(values), rel=1e-9)

    def test_of_a_network_that_excludes_a_class_are_calibrated_too(self):
        class Excluding(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = MODELS["mlp"]((6,), 3)

            def forward(self, batch):
                return nn.functional.pad(self.inner(batch), (0, 1), value=-float("inf"))

        _, history = fitted(Excluding(), schedule=replace(SHORT, patience=2, watch="calibrated-nll"))
        assert all(np.isfinite(epoch.held_out_calibrated_nll) for epoch in history.epochs)

    def test_have_a_loss_in_batches_like_those_of_training(self):
        loss = parse_loss("ce+2*mmce")
        model, history = fitted(loss=loss, schedule=replace(SHORT, batch_size=8))
        seed = int(np.random.default_rng(0).integers(2**63))
        watched = Trainer(model, noisy(), loss, replace(SHORT, batch_size=8), seed).watched
        logits = torch.tensor(predict_logits(model, noisy().inputs[watched])).double().tensor_split(4)
        labels = torch.tensor(noisy().labels[watched]).tensor_split(4)
        values = [loss(*pair).item() * len(pair[1]) / 30 for pair in zip(logits, labels, strict=True)]
        assert history.epochs[-1].held_out_loss == pytest.approx(sum(values), rel=1e-12)

    def test_are_only_watched_without_patience(self):
        _, history = fitted()
        assert history.kept == 4
        assert all(0 <= epoch.held_out_accuracy <= 1 for epoch in history.epochs)

    def test_can_be_none(self):
        _, history = fitted(schedule=replace(SHORT, held_out=0))
        assert [(epoch.held_out_loss, epoch.held_out_accuracy) for epoch in history.epochs] == [(None, None)] * 4


def test_the_epoch_that_is_kept_depends_on_what_is_watched():
    # The network became too sure of itself, but ranks better: a temperature makes up for the former.
    epochs = (Epoch(0.9, 0.80, 0.7, 0.75), Epoch(0.5, 0.85, 0.8, 0.65), Epoch(0.3, 0.95, 0.8, 0.70))
    assert best_epoch(epochs, Schedule(patience=3)) == 1
    assert best_epoch(epochs, Schedule(patience=3, watch="calibrated-nll")) == 2


def test_patience_counts_epochs_since_the_best():
    schedule = Schedule(epochs=9, patience=2)
    epochs = tuple(Epoch(1.0, loss, 0.5) for loss in (0.9, 0.5, 0.6, 0.5))
    assert [is_over(epochs[:k], schedule) for k in range(5)] == [False, False, False, False, True]
    assert best_epoch(epochs, schedule) == 2


def test_progress_counts_all_steps():
    calls = []
    fitted(progress=lambda done, steps: calls.append((done, steps)))
    assert calls == [(i + 1, 16) for i in range(16)]


class TestRefusals:
    def test_a_loss_that_explodes(self):
        with pytest.raises(
            InputError, match=r"the loss must stay finite, but is .* in epoch .* Lower the learning rate"
        ):
            fitted(MODELS["mlp"]((6,), 3), schedule=replace(SHORT, learning_rate=1e9))

    def test_labels_beyond_the_outputs(self):
        with pytest.raises(InputError, match="below 3, the number of outputs of the network, but one is 3"):
            fitted(data=Split(np.ones((4, 6)), [0, 1, 2, 3]))

    def test_no_rows_left(self):
        with pytest.raises(InputError, match="1 of 1 are held out"):
            fitted(data=Split(np.ones((1, 6)), [0]))

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"epochs": 0}, "epochs must be a whole number of at least 1, but is 0"),
            ({"epochs": 2.0}, r"epochs must be a whole number of at least 1, but is 2\.0"),
            ({"batch_size": True}, "batch_size"),
            ({"patience": 0}, "patience must be a whole number of at least 1"),
            ({"threads": 0}, "threads"),
            ({"learning_rate": 0.0}, "learning_rate"),
            ({"learning_rate": float("nan")}, "learning_rate"),
            ({"weight_decay": -1.0}, "weight_decay"),
            ({"held_out": 1.0}, "held_out"),
            ({"watch": "ece"}, "watch must be one of loss, calibrated-nll, but is 'ece'"),
            ({"held_out": 0.0, "patience": 3}, "patience needs held-out rows"),
        ],
    )
    def test_schedules_that_make_no_sense(self, settings, message):
        with pytest.raises(InputError, match=message):
            Schedule(**settings)

    @pytest.mark.parametrize(
        ("name", "shape", "n_classes"), [("cnn", (64,), 10), ("cnn", (1, 3, 28), 10), ("mlp", (), 10), ("mlp", (4,), 1)]
    )
    def test_shapes_that_no_network_takes(self, name, shape, n_classes):
        with pytest.raises(InputError, match="must be"):
            MODELS[name](shape, n_classes)


class TestModes:
    def test_training_leaves_the_mode_of_every_part(self):
        model = network().eval()
        model[2].train()
        fitted(model)
        assert [part.training for part in model] == [False, False, True, False]

    def test_prediction_neither_drops_nor_learns_nor_changes_the_mode(self):
        model, data = network(), noisy()
        before = {key: value.clone() for key, value in model.state_dict().items()}
        logits = predict_logits(model, data.inputs)
        assert np.array_equal(logits, predict_logits(model, data.inputs))
        assert model.training
        assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
        model.eval()
        assert np.allclose(logits, model(torch.tensor(data.inputs)).detach().numpy(), atol=1e-6)

    def test_prediction_hardly_depends_on_the_size_of_batches(self):
        model, data = network(), noisy()
        logits = predict_logits(model, data.inputs)
        assert logits.dtype == np.float32
        assert np.allclose(logits, predict_logits(model, data.inputs, batch_size=7), atol=1e-5)

    def test_prediction_wants_a_row_of_logits_for_each_input(self):
        with pytest.raises(
            InputError, match=r"one row of logits per input, but returned the shape \(2, 3, 6\) for 2 inputs"
        ):
            predict_logits(nn.Identity(), np.zeros((2, 3, 6), dtype=np.float32))


class TestWeights:
    def test_come_back_to_the_last_bit(self, tmp_path):
        model, _ = fitted()
        save_weights(model, tmp_path / "weights.pt")
        other = network(rng=5)
        assert not same_weights(model, other)
        load_weights(other, tmp_path / "weights.pt")
        assert same_weights(model, other)
        assert [path.name for path in tmp_path.iterdir()] == ["weights.pt"]

    @pytest.mark.parametrize("damage", ["flip", "cut", "empty", "text"])
    def test_are_refused_if_damaged(self, tmp_path, damage):
        path = tmp_path / "weights.pt"
        model = network()
        save_weights(model, path)
        content = bytearray(path.read_bytes())
        middle = content.find(model[3].weight.detach().numpy().tobytes()) + 5
        content[middle] ^= 1
        path.write_bytes({"flip": content, "cut": content[:-50], "empty": b"", "text": b"weights"}[damage])
        with pytest.raises(InputError, match=r"weights\.pt cannot be used as weights"):
            load_weights(model, path)

    def test_of_another_network_leave_this_one_alone(self, tmp_path):
        save_weights(MODELS["mlp"]((6,), 4), tmp_path / "other.pt")
        model, untouched = MODELS["mlp"]((6,), 3), MODELS["mlp"]((6,), 3)
        with pytest.raises(InputError, match="belongs to another network: 4 names or shapes of weights differ"):
            load_weights(model, tmp_path / "other.pt")
        assert same_weights(model, untouched)

    def test_that_would_run_code_are_refused(self, tmp_path):
        class Hostile:
            def __reduce__(self):
                return print, ("executed",)

        torch.save({"weight": Hostile()}, tmp_path / "hostile.pt")
        with pytest.raises(InputError, match="not a file of weights"):
            load_weights(network(), tmp_path / "hostile.pt")

    def test_that_are_missing_are_an_operating_system_error(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            load_weights(network(), tmp_path / "none.pt")


def test_the_examples_of_the_page_run():
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    names = {}
    for code in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(code, names)  # noqa: S102 (the page's own code)
    assert Accuracy()(names["p"]) > 0.9
    assert (
        Accuracy()(
            Predictions.from_logits(
                predict_logits(names["model"], names["data"].test.inputs), names["data"].test.labels
            )
        )
        > 0.8
    )


def test_without_torch_the_import_says_what_to_install():
    attempt = "try: import calibrant.lab.training\nexcept ImportError as e: print(e)"
    code = f"import sys; sys.modules['torch'] = None\n{attempt}"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert shown.strip() == 'calibrant.lab.training needs PyTorch: pip install "calibrant[torch]".'


def test_logits_of_every_split_are_written_as_an_experiment_reads_them(tmp_path):
    splits = [noisy(40, seed) for seed in range(3)]
    data = Dataset("noisy", ("a", "b", "c"), *splits)
    model = network()
    write_logits(model, data, tmp_path / "net.npz")
    with np.load(tmp_path / "net.npz", allow_pickle=False) as found:
        assert found["classes"].tolist() == ["a", "b", "c"]
        for part, split in zip(("train", "calibration", "test"), splits, strict=True):
            assert np.array_equal(found[f"{part}_logits"], predict_logits(model, split.inputs))
            assert np.array_equal(found[f"{part}_labels"], split.labels)
    config = tmp_path / "config.toml"
    config.write_text(
        'title = "own"\n[data]\nsource = "logits"\nfolder = "."\n'
        '[[pipelines]]\nname = "raw"\nnetwork = "net"\ncalibrator = "identity"\n'
        '[evaluation]\nmetrics = ["nll"]\nresamples = 50\n'
    )
    result = run(config, tmp_path / "out")
    expected = Predictions.from_logits(predict_logits(model, splits[2].inputs), splits[2].labels)
    assert result.comparisons[0].entry("raw", "nll").value == pytest.approx(NLL()(expected), rel=1e-6)
