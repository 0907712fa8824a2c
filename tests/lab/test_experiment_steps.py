"""Steps of experiments: what names them, damage, the lock, and what may see the test split."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import InputError
from calibrant.lab.datasets import load_dataset
from calibrant.lab.datasets.dataset import Split
from calibrant.lab.experiment import load_result, read_config, run, status, work
from calibrant.lab.experiment.plan import make_plan
from calibrant.lab.store import Store, is_running, locked
from experiment_cases import TRAINED, outputs, write_config, write_logits


def test_a_second_run_does_nothing_and_writes_the_same(done):
    config, out = done
    before, redone = outputs(out), []
    run(config, out, note=redone.append)
    assert redone == []
    assert outputs(out) == before


def test_progress_moves_from_start_to_end(small):
    calls = []
    run(*small, progress=lambda done, total: calls.append(done / total))
    assert calls == sorted(calls)
    assert calls[-1] == 1.0


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "seal", "gone"])
@pytest.mark.parametrize("name", ["seed 0 fit ce ts", "seed 0 test logits focal"])
def test_a_damaged_step_is_noticed_and_redone_alone(done, damage, name):
    config, out = done
    before, redone = outputs(out), []
    step = next(step for step in make_plan(read_config(config)).steps if step.name == name)
    _damage(Store(out).path(step), damage)
    expected = "missing" if damage == "gone" else "damaged"
    assert {s.name: s.state for s in status(out).steps if s.state != "done"} == {name: expected}
    run(config, out, note=redone.append)
    assert redone == [step.words]
    assert outputs(out) == before


def test_networks_do_not_depend_on_the_number_of_threads(tmp_path):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    split = Split(rng.random((512, 1, 8, 8), dtype=np.float32), rng.integers(0, 10, 512))
    settings = {"model": "cnn", "loss": "ce", "seed": 0, "schedule": {"epochs": 1, "batch_size": 256}}
    step, before, found = SimpleNamespace(settings=settings, needs={}), torch.get_num_threads(), set()
    for n_threads in (1, 2, 4):
        bench = SimpleNamespace(
            split=lambda _: split,
            data=SimpleNamespace(classes=range(10)),
            store=SimpleNamespace(checkpoint=lambda _, n=n_threads: tmp_path / str(n)),
        )
        torch.set_num_threads(n_threads)
        found.add(work.train_network(step, bench, lambda *_: None))
        assert torch.get_num_threads() == n_threads
    torch.set_num_threads(before)
    assert len(found) == 1


def _damage(path, how):
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "seal":
        path.with_name(f"{path.name}.sha256").write_bytes(b"\xff")
    else:
        changed = {"flip": content[:50] + bytes([content[50] ^ 1]) + content[51:], "cut": content[:-1], "empty": b""}
        path.write_bytes(changed[how])


def _names_and_digests(config):
    return {step.name: step.digest for step in make_plan(read_config(config)).steps}


def _changed(config, old, new):
    before = _names_and_digests(config)
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))
    after = _names_and_digests(config)
    return {name for name in after if before.get(name) != after[name]}


def test_a_digest_changes_with_its_settings_and_with_what_it_needs(tmp_path):
    write_logits(tmp_path / "logits")
    changed = partial(_changed, write_config(tmp_path))
    evaluation = {"seed 0 evaluate 1"}
    assert changed("Two networks", "Another title") == set()
    assert changed("resamples = 60", "resamples = 70") == evaluation
    assert changed('"ece-20"', '"ece"') == evaluation
    assert changed("resamples = 70", "folds = 4") == evaluation | {
        "seed 0 tune ce identity",
        "seed 0 tune ce ts",
        "seed 0 tune focal ts>irova",
    }
    assert changed('"ts>irova"', '"ts>irm"') == evaluation | {"seed 0 fit focal ts>irm", "seed 0 tune focal ts>irm"}
    assert changed("repeats = 2", "repeats = 3") == {
        f"seed 0 learn ce {name} {size}" for name in ("ts", "irova") for size in (40, 240)
    }


def test_a_new_archive_changes_only_what_depends_on_its_split(tmp_path):
    write_logits(tmp_path / "logits")
    config = write_config(tmp_path)
    before = _names_and_digests(config)
    write_logits(tmp_path / "logits", test_shift=1.0)
    after = _names_and_digests(config)
    changed = {name for name in after if before[name] != after[name]}
    assert {name for name in changed if "learn" not in name} == {
        "seed 0 test logits ce",
        "seed 0 test logits focal",
        "seed 0 evaluate 1",
    }


SEES_TEST = {"logits-test", "evaluate", "learn"}


def test_only_evaluation_depends_on_the_test_split(tmp_path):
    write_logits(tmp_path / "logits")
    steps = make_plan(read_config(write_config(tmp_path))).steps
    touched = {step.kind for step in steps if any(s.kind == "logits-test" for s in step.with_needs())}
    assert touched == SEES_TEST
    assert {"fit", "tune", "logits-calibration"} == {step.kind for step in steps} - touched


def test_a_poisoned_test_split_leaves_every_other_step_as_it_was(tmp_path):
    """Other logits and labels in the test split alone: nothing that is fitted, tuned or trained may notice."""
    folders = []
    for name, shift in (("clean", 0.0), ("poisoned", 5.0)):
        (tmp_path / name).mkdir()
        write_logits(tmp_path / name / "logits", test_shift=shift)
        config = write_config(tmp_path / name)
        run(config, tmp_path / name / "out")
        folders.append({s.name: Store(tmp_path / name / "out").path(s) for s in make_plan(read_config(config)).steps})
    kinds = {step.name: step.kind for step in make_plan(read_config(config)).steps}
    for name, kind in kinds.items():
        same = folders[0][name].read_bytes() == folders[1][name].read_bytes()
        assert same == (kind not in SEES_TEST), name
        assert (folders[0][name].name == folders[1][name].name) == same


def test_every_step_has_its_own_split_or_none(tmp_path):
    config = read_config(write_config(tmp_path, TRAINED))
    data, bench = load_dataset("digits"), work.Bench(config, Store(tmp_path))
    own = {"train": data.train, "logits-calibration": data.calibration, "logits-test": data.test}
    steps = make_plan(config).steps
    assert {step.kind for step in steps} == {*own, "fit", "tune", "evaluate"}
    for step in steps:
        if step.kind in own:
            assert np.array_equal(bench.split(step).inputs, own[step.kind].inputs)
        else:
            with pytest.raises(RuntimeError, match="must not see the splits"):
                bench.split(step)


def test_two_runs_do_not_share_a_folder(small):
    config, out = small
    out.mkdir()
    assert not is_running(out)
    with locked(out, "experiment"):
        assert is_running(out)
        with pytest.raises(InputError, match="another process is running the experiment"):
            run(config, out)
    run(config, out)
    assert (out / "lock").is_file()  # The file stays; what counts is who holds it.


def test_the_size_of_groups_changes_no_value_and_no_difference(done, tmp_path, monkeypatch):
    """All groups draw the same bootstrap samples; Holm's adjustment is over all of them."""
    config, out = done
    monkeypatch.setattr("calibrant.lab.experiment.plan.GROUP", 1)
    parts = run(config, tmp_path / "parts").comparisons[0]
    assert len(list((tmp_path / "parts" / "steps").glob("*evaluate*.json"))) == 2
    whole = load_result(out).comparisons[0]
    assert parts.models == whole.models
    assert parts.of("raw") == whole.of("raw")
    for found, expected in zip(parts.entries, whole.entries, strict=True):
        assert (found.model, found.metric, found.value) == (expected.model, expected.metric, expected.value)
        if found.difference is not None:
            assert vars(found.difference) == vars(expected.difference)


def test_results_of_an_earlier_config_are_not_shown_while_a_new_one_is_unfinished(done, capsys):
    config, out = done
    config.write_text(config.read_text().replace("resamples = 60", "resamples = 61"))

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config, out, progress=stop)
    assert load_result(out).comparisons[0].n_resamples == 60  # Nothing had been redone yet.
    with pytest.raises(KeyboardInterrupt):
        run(config, out, note=lambda _: None, progress=lambda done, of: stop() if done > 0.9 * of else None)
    with pytest.raises(FileNotFoundError, match="is not finished"):
        load_result(out)
    assert run(config, out).comparisons[0].n_resamples == 61
