"""Calibrators in files."""

import base64
import json
import os
import pickle
import resource
import signal
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from calibrant import InputError
from calibrant.binning import EqualMass
from calibrant.calibrators import (
    CALIBRATORS,
    HistogramBinning,
    Identity,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    ROCConvexHull,
    TemperatureScaling,
    load,
    save,
    store,
)
from calibrant.calibrators.rules import Rule, check_learnt
from calibrant.calibrators.store import load_with_details
from calibrant.counts import LaplaceCorrection, MEstimate
from calibrator_cases import EVERY_CALIBRATOR
from naming import each
from simulate import calibrated, sharpened
from stored_cases import as_array, forge

EVERY = [*CALIBRATORS, "ts>irova", "irova>ts>guard"]


@cache
def fitted(name, k=3):
    """Return a calibrator, which nobody may change."""
    p = sharpened(calibrated(n=200, k=k), 0.5)
    build = EVERY_CALIBRATOR.get(name, CALIBRATORS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build().fit(p.probs, p.labels)


@cache
def rows(k):
    """Rows of all kinds: usual, certain, with exact zeros."""
    usual = sharpened(calibrated(k=k, seed=5), 0.5).probs
    return np.vstack([usual, np.eye(k), np.full((1, k), 1 / k)])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "calibrator.json"
    save(fitted("ts"), path)
    return path


@each("name", EVERY)
@each("k", [2, 3])
def test_every_calibrator_comes_back_the_same_to_the_last_bit_and_is_written_the_same_again(name, k, tmp_path):
    before = fitted(name, k)
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    checksum = save(before, first)
    after = load(first)
    assert np.array_equal(after.predict_proba(rows(k)), before.predict_proba(rows(k)))
    assert repr(after) == repr(before)
    assert after.classes_.tolist() == before.classes_.tolist()
    assert vars(after).keys() == vars(before).keys()
    assert save(after, second) == checksum
    assert first.read_bytes() == second.read_bytes()


@each("name", EVERY)
def test_no_number_may_be_nan_and_no_array_longer(name, tmp_path):
    path = tmp_path / "c.json"
    save(fitted(name), path)
    original = path.read_bytes()
    places = list(_numbers(json.loads(original)["calibrator"]["fitted"]))
    assert places or name in ("identity", "uniform")
    for place in places:
        for spoil in (_with_nan, _with_one_more):
            path.write_bytes(original)
            forge(path, lambda document, place=place, spoil=spoil: _spoil(document, place, spoil))
            with pytest.raises(InputError, match=r"c\.json cannot be used as a calibrator"):
                load(path)


def _numbers(value, path=("calibrator", "fitted")):
    """Yield where numbers are on which results depend."""
    reports = ("converged_", "gradient_norm_", "n_iter_", "n_bins_", "model_weights_", "smoothing_")
    if isinstance(value, list):
        for i, entry in enumerate(value):
            yield from _numbers(entry, (*path, i))
    elif isinstance(value, dict) and "dtype" in value:
        yield path
    elif isinstance(value, dict):
        for key, entry in value.items():
            if key not in (*reports, "params", "classes_"):
                yield from _numbers(entry, (*path, key))
    elif isinstance(value, float):
        yield path


def _spoil(document, place, spoil):
    parent = document
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = spoil(parent[place[-1]])


def _with_nan(value):
    if not isinstance(value, dict):
        return {"float": "nan"}
    array = np.frombuffer(base64.b64decode(value["data"]), value["dtype"]).reshape(value["shape"]).astype(float)
    array.flat[-1] = np.nan
    return as_array(array)


def _with_one_more(value):
    if not isinstance(value, dict):
        return as_array([value, value])
    array = np.frombuffer(base64.b64decode(value["data"]), value["dtype"]).reshape(value["shape"])
    return as_array(np.concatenate([array, array[-1:]]))


class TestSettings:
    @pytest.mark.parametrize(
        "calibrator",
        [
            HistogramBinning(EqualMass(7), smoothing=MEstimate(2, prior=[0.25, 0.75])),
            ROCConvexHull(LaplaceCorrection(), merge_equal=False),
            OneVsRest(PlattScaling(smooth_targets=True), score="margin"),
        ],
        ids=repr,
    )
    def test_choices_are_kept(self, calibrator, tmp_path):
        p = sharpened(calibrated(k=2), 0.5)
        before = calibrator.fit(p.probs, p.labels)
        save(before, tmp_path / "c.json")
        assert repr(load(tmp_path / "c.json")) == repr(before)

    def test_raw_scores_and_infinite_ones_are_kept(self, tmp_path):
        ranker = IsotonicCalibration(scores="raw").fit([-np.inf, 1.0, 2.0, 3.0, np.inf], [0, 1, 0, 1, 1])
        save(ranker, tmp_path / "c.json")
        new = np.array([-np.inf, -5.0, 1.5, 2.5, np.inf])
        assert np.array_equal(load(tmp_path / "c.json").predict_proba(new), ranker.predict_proba(new))

    @pytest.mark.parametrize("names", [["ant", "bee", "čáp"], [10, 20, 30], ["</script>", '"', "\\n"]])
    def test_names_of_classes_are_kept(self, names, tmp_path):
        p = calibrated(k=3)
        before = TemperatureScaling().fit(p.probs, np.array(names)[p.labels], classes=names)
        save(before, tmp_path / "c.json")
        after = load(tmp_path / "c.json")
        assert after.classes_.tolist() == names
        assert after.classes_.dtype == before.classes_.dtype

    def test_details_are_kept_beside(self, tmp_path):
        checksum = save(fitted("ts"), tmp_path / "c.json", details={"model": "resnet", "rows": 5000})
        stored = load_with_details(tmp_path / "c.json")
        assert stored.details == {"model": "resnet", "rows": 5000}
        assert stored.sha256 == checksum
        assert isinstance(stored.calibrator, TemperatureScaling)

    def test_a_class_of_ones_own_is_refused_before_it_is_written(self, tmp_path):
        class Own(Identity):
            pass

        p = calibrated()
        with pytest.raises(
            TypeError, match=r"only calibrators of calibrant can be saved, .* but Own\(\) is defined elsewhere"
        ):
            save(Own().fit(p.probs, p.labels), tmp_path / "c.json")
        odd = HistogramBinning().fit(p.probs, p.labels)
        odd.smoothing = len
        with pytest.raises(TypeError, match="as settings, but <built-in function len> is defined elsewhere"):
            save(odd, tmp_path / "c.json")
        assert list(tmp_path.iterdir()) == []

    def test_what_is_not_fitted_is_refused(self, tmp_path):
        with pytest.raises(NotFittedError):
            save(TemperatureScaling(), tmp_path / "c.json")
        with pytest.raises(InputError, match="fitted inside another one"):
            save(fitted("irm").calibrator_, tmp_path / "c.json")


class TestDamage:
    def test_every_flipped_byte_is_noticed(self, file):
        content = file.read_bytes()
        for place in range(len(content)):
            for bit in (0, 5):
                changed = bytearray(content)
                changed[place] ^= 1 << bit
                file.write_bytes(changed)
                with pytest.raises(InputError):
                    load(file)

    def test_every_shorter_file_is_noticed(self, file):
        content = file.read_bytes()
        for length in range(0, len(content), 7):
            file.write_bytes(content[:length])
            with pytest.raises(InputError):
                load(file)

    @given(content=st.binary(max_size=200))
    def test_any_bytes_give_one_kind_of_error(self, tmp_path_factory, content):
        path = tmp_path_factory.mktemp("any") / "c.json"
        path.write_bytes(content)
        with pytest.raises(InputError):
            load(path)

    def test_a_pickle_is_not_opened(self, tmp_path):
        class Bomb:
            def __reduce__(self):
                return (os.mkdir, (str(tmp_path / "exploded"),))

        (tmp_path / "c.json").write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(InputError, match="is not JSON"):
            load(tmp_path / "c.json")
        assert not (tmp_path / "exploded").exists()

    @pytest.mark.parametrize(
        "content", [b"[" * 100_000, b'{"format":' * 50_000, b'{"format": 1, "format": 1}', b"null"]
    )
    def test_json_that_is_built_to_harm_is_refused(self, content, tmp_path):
        (tmp_path / "c.json").write_bytes(content)
        with pytest.raises(InputError, match=r"c\.json cannot be used"):
            load(tmp_path / "c.json")

    def test_large_files_are_not_read(self, tmp_path, monkeypatch):
        monkeypatch.setattr(store, "KIND", replace(store.KIND, most_bytes=400))
        with pytest.raises(InputError, match="more than the 400 that `load` accepts"):
            save(fitted("sms"), tmp_path / "c.json")
        (tmp_path / "c.json").write_bytes(b" " * 401)
        with pytest.raises(InputError, match="larger than 400 bytes"):
            load(tmp_path / "c.json")

    def test_a_missing_file_is_an_operating_system_error(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            load(tmp_path / "c.json")

    def test_a_full_disk_leaves_the_old_file(self, file):
        before = file.read_bytes()
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, usual[1]))
        try:
            with pytest.raises(OSError, match="Nothing was changed"):
                save(fitted("vs"), file)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
            signal.signal(signal.SIGXFSZ, handler)
        assert file.read_bytes() == before
        assert [path.name for path in file.parent.iterdir()] == [file.name]


def in_fitted(**changes):
    def change(document):
        document["calibrator"]["fitted"].update(changes)

    return change


def in_settings(**changes):
    def change(document):
        document["calibrator"]["params"].update(changes)

    return change


def of_class(name):
    def change(document):
        document["calibrator"]["class"] = name

    return change


def huge_array(document):
    document["calibrator"]["fitted"]["coef_"] = {"dtype": "<f8", "shape": [2**39, 2], "data": ""}


def deep(document):
    inner = document["calibrator"]
    for _ in range(100):
        inner = {
            "class": "OneVsRest",
            "params": {"calibrator": inner, "score": "logit", "scores": "probs"},
            "fitted": {},
        }
    document["calibrator"] = inner


class TestMeaning:
    """Files with a right checksum that do not describe what a fit can give."""

    @each(
        "name, change, message",
        [
            ("ts", in_fitted(temperature_=-1.0), "temperature_ of TemperatureScaling must be a positive number"),
            ("ts", in_fitted(temperature_=0), "must be a positive number"),
            ("ts", in_fitted(temperature_={"float": "inf"}), "must be a positive number"),
            ("ts", in_fitted(temperature_="2"), "must be a positive number"),
            ("ts", in_fitted(temperature_=True), "must be a positive number"),
            ("ts", in_fitted(temperature_=10**400), "numbers must be finite, and integers below"),
            ("ts", in_fitted(classes_=as_array([0, 0, 1], "<i8")), "at least two different classes"),
            ("ts", in_fitted(classes_=as_array([0], "<i8")), "at least two different classes"),
            ("ts", in_fitted(predict=1.0), "must have names that end in an underscore"),
            ("ts", in_fitted(__class__=1.0), "must have names that end in an underscore"),
            ("ts", in_fitted(converged_="yes"), "converged_ of TemperatureScaling must be true or false"),
            ("ts", in_fitted(gradient_norm_=-1.0), "gradient_norm_ of TemperatureScaling must not be negative"),
            ("ts", in_fitted(n_iter_=1.5), "n_iter_ of TemperatureScaling must be a count"),
            ("iop-diag", in_fitted(temperature_=0.0), "must be a positive number"),
            ("iop-diag", in_fitted(slopes_=as_array([1.0])), "must be segments that meet at the knots"),
            ("iop-diag", in_fitted(knots_=as_array([0.0, -1.0]), slopes_=as_array([1.0])), "knots from the top"),
            ("iop-diag", in_fitted(knots_=as_array([0.0]), slopes_=as_array([])), "must be positive"),
            ("iop-diag", in_settings(segments=1), "knots from the top"),
            ("iop-diag", in_settings(family="op"), "knots from the top"),
            ("iop-oi", in_fitted(knots_=as_array([0.0, 1.5]), slopes_=as_array([1.0, 1.0])), "knots from the top"),
            ("iop-oi", in_fitted(knots_=as_array([0.0, 9.0]), slopes_=as_array([1.0, 1.0])), "cannot be used"),
            ("vs", in_fitted(coef_=as_array([1.0, 2.0])), "with one row per class"),
            ("vs", in_fitted(coef_=as_array([1.0, np.inf, 1.0])), "must be finite"),
            ("vs", in_fitted(coef_={**as_array([1.0] * 3), "shape": [-1]}), "must be finite, with one row per class"),
            ("vs", in_fitted(coef_={**as_array([1.0] * 3), "shape": [3.0]}), "must have such content"),
            ("vs", in_fitted(coef_={**as_array([1.0] * 3), "shape": ["3"]}), "must have such content"),
            ("vs", in_fitted(coef_={**as_array([1.0] * 3), "shape": [2**70]}), "numbers must be finite"),
            ("vs", in_fitted(coef_={**as_array([1.0] * 3), "dtype": "O"}), "must have such content"),
            ("vs", in_fitted(coef_={**as_array([1.0] * 3), "dtype": []}), "must have such content"),
            ("vs", in_fitted(coef_={**as_array([1.0] * 3), "data": "*"}), "must have such content"),
            ("vs", in_fitted(coef_={**as_array([1.0] * 3), "data": 3}), "must have such content"),
            ("vs", in_fitted(coef_={"dtype": "str", "shape": [3], "data": ["1", "2", 3]}), "strings must be in a list"),
            (
                "vs",
                in_fitted(coef_={"dtype": "str", "shape": [2001], "data": ["1" * 1000] + [""] * 2000}),
                "strings must have similar lengths",
            ),
            ("vs", huge_array, r"an array of type .<f8. and shape .549755813888, 2. must have such content"),
            ("irm", lambda d: _isotonic(d).update(scores_=as_array([2.0, 1.0])), "must have the same length"),
            (
                "irm",
                lambda d: _isotonic(d).update(scores_=as_array([2.0, 1.0]), probabilities_=as_array([0.1, 0.2])),
                "must have the same length and be non-decreasing",
            ),
            (
                "irm",
                lambda d: _isotonic(d).update(scores_=as_array([1.0, 2.0]), probabilities_=as_array([0.5, 0.2])),
                "must have the same length and be non-decreasing",
            ),
            (
                "irm",
                lambda d: _isotonic(d).update(scores_=as_array([1.0, 2.0]), probabilities_=as_array([0.5, 1.2])),
                "must hold probabilities",
            ),
            ("irm", lambda d: d["calibrator"]["fitted"].update(calibrator_=3), "cannot be used"),
            ("irova", lambda d: d["calibrator"]["fitted"]["calibrators_"].pop(), "cannot be used"),
            ("ts", of_class("os.system"), "a class must be one of calibrant's"),
            ("ts", of_class("CalibratedModel"), "a class must be one of calibrant's"),
            ("ts", of_class("Calibrator"), "a class must be one of calibrant's"),
            ("ts", of_class("VectorScaling"), "coef_ and intercept_ of VectorScaling must be"),
            ("ts", in_settings(slope=1.0), "does not have the settings"),
            ("ts", in_settings(scores="odds"), "scores must be"),
            ("ts", in_settings(scores={"choice": "Path", "fields": {}}), "a class must be one of calibrant's"),
            ("ts", lambda d: d.update(calibrator=7), "does not describe a calibrator"),
            ("ts", lambda d: d.update(details=7), "does not describe a calibrator"),
            ("ts", deep, "nested at most 20 levels deep"),
        ],
    )  # fmt: skip
    def test_nonsense_is_refused(self, name, change, message, tmp_path):
        path = tmp_path / "c.json"
        save(fitted(name), path)
        forge(path, lambda document: change(document) and None)
        with pytest.raises(InputError, match=message):
            load(path)

    def test_a_forged_file_that_makes_sense_is_loaded(self, file):
        forge(file, in_fitted(temperature_=1.0))
        assert load(file).predict_proba(rows(3)) == pytest.approx(rows(3), abs=1e-15)

    def test_a_newer_format_asks_for_an_upgrade(self, file):
        def newer(document):
            document.update(format=2, calibrant="7.1")

        forge(file, newer)
        with pytest.raises(InputError, match=r"format 2, written by calibrant 7\.1.*Upgrade calibrant"):
            load(file)

    def test_the_first_format_is_read_for_ever(self, tmp_path):
        # Written out so that no change of the code can change it.
        text = """{
 "format": 1,
 "calibrant": "0.1.0",
 "sha256": "%s",
 "details": {},
 "calibrator": {
  "class": "TemperatureScaling",
  "params": {
   "scores": "probs"
  },
  "fitted": {
   "classes_": {
    "dtype": "str",
    "shape": [
     2
    ],
    "data": [
     "no",
     "yes"
    ]
   },
   "converged_": true,
   "gradient_norm_": 0.0,
   "n_iter_": 3,
   "temperature_": 2.0
  }
 }
}
"""
        checksum = "eb07a74aaad3d73c485afe995c9526e36044472b08b149509e8a6769047e01ab"
        (tmp_path / "c.json").write_text(text % checksum)
        old = load(tmp_path / "c.json")
        assert old.classes_.tolist() == ["no", "yes"]
        # Odds of 16 become odds of 4.
        assert old.predict_proba([[1 / 17, 16 / 17]]) == pytest.approx(np.array([[0.2, 0.8]]), abs=1e-15)


def _isotonic(document):
    return document["calibrator"]["fitted"]["calibrator_"]["fitted"]


def test_rules_stand_on_the_class():
    class Mild(TemperatureScaling):
        rules = (*TemperatureScaling.rules, Rule(("temperature_",), lambda t: t < 2, "must be below 2"))

    mild = Mild().fit([0.9, 0.8, 0.7, 0.2], [1, 0, 1, 0])
    mild.temperature_ = 1.5
    check_learnt(mild)
    for wrong, words in ((2.5, "must be below 2"), (-1.0, "must be a positive number")):
        mild.temperature_ = wrong
        with pytest.raises(InputError, match=f"temperature_ of Mild {words}"):
            check_learnt(mild)
