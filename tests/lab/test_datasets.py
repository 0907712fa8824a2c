"""Data sets: splits that share no row, and a reader of IDX that refuses what is damaged."""

import gzip
import importlib
import struct
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

import calibrant
from calibrant import InputError
from calibrant.lab.datasets import DATASETS, Split, load_dataset
from calibrant.lab.datasets.images import USUAL_FOLDER, read_idx

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(values, kind=8):
    values = np.asarray(values, dtype=np.uint8)
    return struct.pack(f">BBBB{values.ndim}I", 0, 0, kind, values.ndim, *values.shape) + values.tobytes()


@pytest.fixture
def folder(tmp_path):
    """Files like those of Fashion-MNIST, of 20 and 6 images; every image holds its number, so that rows are known."""
    for images, labels, n, first in [(*FILES[:2], 20, 0), (*FILES[2:], 6, 100)]:
        pixels = np.zeros((n, 28, 28), dtype=np.uint8)
        pixels[:, 0, 0] = first + np.arange(n)
        (tmp_path / f"{images}.gz").write_bytes(gzip.compress(idx(pixels)))
        (tmp_path / f"{labels}.gz").write_bytes(gzip.compress(idx(np.arange(n) % 10)))
    return tmp_path


class TestFashionMnist:
    def test_splits_share_no_row_and_the_test_files_stay_apart(self, folder):
        data = load_dataset("fashion-mnist", folder=folder)
        assert [len(split) for split in (data.train, data.calibration, data.test)] == [10, 10, 6]
        # The corner pixel tells which image it is: 0 to 19 in the training files, 100 to 105 in those of the test.
        corner = np.concatenate([split.inputs[:, 0, 0, 0] for split in (data.train, data.calibration)])
        step = (corner.max() - corner.min()) / 19
        assert np.allclose(np.sort(corner), corner.min() + step * np.arange(20), atol=1e-4)
        assert np.allclose(data.test.inputs[:, 0, 0, 0], corner.min() + step * np.arange(100, 106), rtol=1e-4)

    def test_every_image_keeps_its_label(self, folder):
        data = load_dataset("fashion-mnist", folder=folder)
        corner = np.concatenate([data.train.inputs, data.calibration.inputs])[:, 0, 0, 0]
        labels = np.concatenate([data.train.labels, data.calibration.labels])
        assert labels[np.argsort(corner)].tolist() == [i % 10 for i in range(20)]

    def test_the_seed_decides_the_training_rows_and_nothing_else(self, folder):
        one, same, other = (load_dataset("fashion-mnist", folder=folder, seed=seed) for seed in (0, 0, 1))
        assert np.array_equal(one.train.inputs, same.train.inputs)
        assert not np.array_equal(one.train.labels, other.train.labels)
        assert np.array_equal(one.test.labels, other.test.labels)

    def test_the_scale_comes_from_the_training_split_alone(self, folder):
        before = load_dataset("fashion-mnist", folder=folder)
        assert np.mean(before.train.inputs) == pytest.approx(0, abs=1e-5)
        assert np.std(before.train.inputs) == pytest.approx(1, abs=1e-5)
        (folder / f"{FILES[2]}.gz").write_bytes(gzip.compress(idx(np.full((6, 28, 28), 255))))
        after = load_dataset("fashion-mnist", folder=folder)
        assert np.array_equal(before.train.inputs, after.train.inputs)
        assert after.test.inputs.min() > 1

    def test_a_missing_folder_says_which_package_to_install(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="apt-get install dataset-fashion-mnist"):
            load_dataset("fashion-mnist", folder=tmp_path / "nowhere")

    @pytest.mark.parametrize("name", FILES)
    def test_a_missing_file_is_named(self, folder, name):
        (folder / f"{name}.gz").unlink()
        with pytest.raises(FileNotFoundError, match=name):
            load_dataset("fashion-mnist", folder=folder)

    @pytest.mark.parametrize(
        ("name", "values", "message"),
        [
            (FILES[0], np.zeros((20, 27, 28)), r"28 x 28 pixels, but has shape \(20, 27, 28\)"),
            (FILES[1], np.zeros(19), r"each of the 20 images, but has shape \(19,\)"),
            (FILES[3], np.full(6, 10), "labels from 0 to 9, but one is 10"),
        ],
    )
    def test_files_that_do_not_fit_are_named(self, folder, name, values, message):
        (folder / f"{name}.gz").write_bytes(gzip.compress(idx(values)))
        with pytest.raises(InputError, match=f"{name}.* must hold .*{message}"):
            load_dataset("fashion-mnist", folder=folder)

    @pytest.mark.skipif(not USUAL_FOLDER.is_dir(), reason="Debian's package is not installed")
    def test_the_test_labels_of_the_package_are_balanced(self):
        labels = read_idx(USUAL_FOLDER / f"{FILES[3]}.gz")
        assert np.bincount(labels).tolist() == [1000] * 10


class TestIdx:
    def test_reads_what_the_format_says(self, tmp_path):
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255])))
        assert read_idx(path).tolist() == [[1, 2, 3], [4, 5, 255]]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "begins with b''"),
            (b"\1\0\x08\1\0\0\0\1\7", r"must begin with b'\\x00\\x00\\x08' .* but begins with b'\\x01\\x00\\x08\\x01'"),
            (idx([1, 2], kind=0x0D), r"begins with b'\\x00\\x00\\r\\x01'"),
            (b"\0\0\x08\0", r"lengths of the axes, here \(\)"),
            (b"\0\0\x08\3\0\0\0\2", r"begins with b'\\x00\\x00\\x08\\x03'.* lengths of the axes, here \(2,\)"),
            (b"\0\0\x08\1\0\0", r"lengths of the axes, here \(\)"),
            (idx([1, 2, 3])[:-1], r"here \(3,\).* but there are 2"),
            (idx([1, 2, 3]) + b"\0", r"here \(3,\).* but there are 4"),
            (b"\0\0\x08\2\xff\xff\xff\xff\xff\xff\xff\xff", "1 to 268435456 values"),
            (b"\0\0\x08\1\0\0\0\0", r"here \(0,\), and 1 to 268435456 values"),
        ],
    )
    def test_refuses_other_content(self, tmp_path, content, message):
        path = tmp_path / "labels.gz"
        path.write_bytes(gzip.compress(content))
        with pytest.raises(InputError, match=rf"labels\.gz cannot be read as IDX: .*{message}"):
            read_idx(path)

    @pytest.mark.parametrize("damage", ["cut", "flipped", "checksum", "foreign"])
    def test_refuses_damage_to_the_compression(self, tmp_path, damage):
        content = bytearray(gzip.compress(idx(np.random.default_rng(0).integers(0, 256, (50, 9)))))
        if damage == "cut":
            content = content[:-100]
        elif damage == "foreign":
            content = bytearray(b"just a text")
        else:
            content[200 if damage == "flipped" else -8] ^= 0xFF
        path = tmp_path / "images.gz"
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"images\.gz must be compressed with gzip"):
            read_idx(path)

    def test_a_folder_is_an_operating_system_error(self, tmp_path):
        with pytest.raises(OSError, match="is a folder"):
            read_idx(tmp_path)


class TestDigits:
    def test_splits_hold_every_digit_once(self):
        data = load_dataset("digits", seed=3)
        splits = (data.train, data.calibration, data.test)
        assert [split.inputs.shape for split in splits] == [(599, 64)] * 3
        together = np.concatenate([split.inputs for split in splits])
        pixels, labels = load_digits(return_X_y=True)
        # Scaling keeps the order of rows under comparison of all their columns.
        ours, theirs = (np.lexsort(np.rint(x.T * 1000)) for x in (together, pixels))
        assert np.array_equal(np.concatenate([split.labels for split in splits])[ours], labels[theirs])

    def test_have_no_folder(self, tmp_path):
        with pytest.raises(InputError, match="are in scikit-learn"):
            load_dataset("digits", folder=tmp_path)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match=f"one of {', '.join(DATASETS)}, but is 'mnist'"):
        load_dataset("mnist")


def test_data_sets_do_not_load_torch(monkeypatch):
    monkeypatch.setattr(calibrant, "lab", calibrant.lab)  # Which the imports below would replace for good.
    for name in [name for name in sys.modules if name.startswith("calibrant.lab")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)  # Any import of it fails.
    with pytest.raises(ImportError):
        importlib.import_module("calibrant.lab.training.trainer")
    assert len(importlib.import_module("calibrant.lab.datasets").load_dataset("digits").classes) == 10


class TestSplit:
    def test_holds_floats_and_integers_that_cannot_be_changed(self):
        inputs = np.ones((2, 3))
        split = Split(inputs, np.array([0, 1], dtype=np.uint8))
        inputs[:] = 7
        assert split.inputs.dtype == np.float32
        assert split.labels.dtype == np.int64
        assert split.inputs.max() == 1
        with pytest.raises(ValueError, match="read-only"):
            split.inputs[0, 0] = 2

    @pytest.mark.parametrize(
        ("inputs", "labels", "error", "message"),
        [
            ([[1.0], [2.0]], [0], InputError, "have 2 and 1"),
            ([1.0, 2.0], [0, 1], InputError, r"shape \(2,\)"),
            ([[1.0], [np.nan]], [0, 1], InputError, "row 1 is not"),
            ([["a"], ["b"]], [0, 1], TypeError, "inputs must be numbers"),
            ([[1.0], [2.0]], [0.0, 1.0], TypeError, "labels must be integers"),
            ([[1.0], [2.0]], [0, -1], InputError, "row 1 has -1"),
            ([[1.0], [2.0]], [[0], [1]], InputError, "one integer per row"),
        ],
    )
    def test_refuses_what_no_network_can_learn_from(self, inputs, labels, error, message):
        with pytest.raises(error, match=message):
            Split(inputs, labels)
