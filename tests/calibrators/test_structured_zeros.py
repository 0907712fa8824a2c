"""Structured scaling of probabilities that are exactly 0, in files and exported."""

import numpy as np
import pytest
from sklearn.base import clone

from calibrant import InputError
from calibrant.calibrators import StructuredScaling, TemperatureScaling, load, save
from calibrant.export import to_torch
from naming import each
from scaling_cases import forest_like, guarded, overconfident

EARLIER = """\
{"format": 1, "calibrant": "0.1.0",
 "sha256": "4c91c9cacd0cb977b28327bbab3599351c14645a7aa0b664f82f2d2d3a21fa26", "details": {},
 "calibrator": {"class": "StructuredScaling", "params": {"diagonal": 1.0, "guard": true, "intercept": 0.3,
 "max_iter": 100, "off_diagonal": 1.0, "scores": "probs", "structure": "vector"},
 "fitted": {"classes_": {"dtype": "<i8", "shape": [2], "data": "AAAAAAAAAAABAAAAAAAAAA=="},
 "coef_": {"dtype": "<f8", "shape": [2], "data": "XDK7yvoC8T+8BzOljXvuPw=="}, "converged_": true,
 "gradient_norm_": 4.85722573273506e-17, "guard_": {"class": "LaplaceGuard", "params": {"scores": "probs"},
 "fitted": {"share_": 0.14285714285714285}}, "intercept_": {"dtype": "<f8", "shape": [2],
 "data": "eu7SWVZSwr+B7tJZVlLCPw=="}, "n_iter_": 4, "temperature_scaling_": {"class": "TemperatureScaling",
 "params": {"scores": "probs"}, "fitted": {"converged_": true, "gradient_norm_": 1.128413671978072e-09,
 "n_iter_": 3, "temperature_": 1.287937680146643}}}}}
"""
"""A file of version 0.1.0 before `zeros_` existed, but for blanks: written out, so that no code can change it."""

both = pytest.mark.parametrize("structure", ["vector", "matrix"])


class TestZeros:
    @both
    def test_fitting_to_zeros_is_fitting_to_guarded_probabilities(self, structure):
        probs, labels = forest_like()
        repaired = guarded(probs, 1.0, len(labels))
        assert (probs == 0).mean() > 0.2
        assert (probs[np.arange(len(labels)), labels] == 0).any()
        fitted = StructuredScaling(structure).fit(probs, labels)
        expected = StructuredScaling(structure).fit(repaired, labels)
        assert fitted.zeros_.share_ == pytest.approx(1 / 301, rel=1e-14)
        assert expected.zeros_.share_ == 0
        assert fitted.coef_ == pytest.approx(expected.coef_, abs=1e-9)
        assert fitted.predict_proba(probs) == pytest.approx(expected.predict_proba(repaired), abs=1e-9)

    @each("tiny", [1e-40, 1e-307, 5e-324])
    def test_small_probabilities_are_no_zeros(self, tiny):
        probs, labels = overconfident(n=200)
        probs = probs.copy()
        probs[7, (labels[7] + 1) % 4] = tiny
        probs[7] /= probs[7].sum()
        assert StructuredScaling().fit(probs, labels).zeros_.share_ == 0

    def test_logits_are_zeros_only_if_they_are_infinite(self):
        probs, labels = overconfident(n=200)
        logits = np.log(probs)
        logits[7, labels[7]] = -50.0
        assert StructuredScaling(scores="logits").fit(logits, labels).zeros_.share_ == 0
        logits[7, labels[7]] = -np.inf
        assert StructuredScaling(scores="logits").fit(logits, labels).zeros_.share_ == pytest.approx(1 / 201)

    def test_zeros_of_labels_that_were_not_observed_are_left_alone(self):
        probs, labels = overconfident(n=200)
        probs = np.where((probs < 0.01) & ~np.eye(4, dtype=bool)[labels], 0.0, probs)
        assert (probs == 0).mean() > 0.1
        probs /= probs.sum(axis=1, keepdims=True)
        assert StructuredScaling().fit(probs, labels).zeros_.share_ == 0

    def test_zeros_of_rows_without_weight_do_not_count(self):
        probs, labels = overconfident(n=200)
        probs = np.vstack([probs, np.eye(4)])
        labels, weights = np.r_[labels, 1, 2, 3, 0], np.r_[np.ones(200), np.zeros(4)]
        assert StructuredScaling().fit(probs, labels, weights).zeros_.share_ == 0
        weights[-1] = 1.0
        assert StructuredScaling().fit(probs, labels, weights).zeros_.share_ > 0

    @pytest.mark.filterwarnings("ignore:.*observed label of probability 0:calibrant.DataWarning")
    def test_one_wrong_zero_does_not_decide_the_temperature(self):
        probs, labels = overconfident(n=500)
        wrong = probs.copy()
        wrong[0] = np.eye(4)[(labels[0] + 1) % 4]
        usual, alone, inside = (
            TemperatureScaling().fit(probs, labels).temperature_,
            TemperatureScaling().fit(wrong, labels).temperature_,
            StructuredScaling().fit(wrong, labels).temperature_scaling_.temperature_,
        )
        assert alone > 5 * usual
        assert 0.8 * usual < inside < 1.2 * usual

    @each("rows", [0.01, 1.0])
    @both
    def test_zeros_of_new_rows_are_bounded_by_the_guard(self, structure, rows):
        probs, labels = overconfident(n=200)
        fitted = StructuredScaling(structure, 1e9, 1e9, 1e9, guard=rows).fit(probs, labels)
        assert fitted.zeros_.share_ == 0
        assert fitted.predict_proba(np.eye(4)).min() == pytest.approx(rows / (200 + rows) / 4, rel=1e-6)
        free = StructuredScaling(structure, guard=rows).fit(probs, labels).predict_proba(np.eye(4))
        assert free.min() > 1e-8

    @both
    def test_zeros_are_finite_without_guard(self, structure):
        probs, labels = overconfident(n=200)
        found = StructuredScaling(structure, guard=0.0).fit(probs, labels).predict_proba(np.eye(4))
        assert np.isfinite(found).all()
        assert found.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-12)

    def test_an_impossible_class_is_finite_without_guard(self):
        probs = np.repeat([[1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], 10, axis=0)
        labels = np.repeat([0, 1, 2], 10)
        labels[[3, 13, 23]] = [1, 2, 0]
        fitted = StructuredScaling("vector", guard=0.0).fit(probs, labels)
        assert np.isfinite(fitted.coef_).all()
        assert fitted.predict_proba(probs).min() > 1e-3


class TestInFiles:
    @both
    def test_the_guards_are_kept(self, structure, tmp_path):
        probs, labels = forest_like()
        before = StructuredScaling(structure, guard=0.5).fit(probs, labels)
        save(clone(before).fit(probs, labels), tmp_path / "c.json")
        after = load(tmp_path / "c.json")
        assert after.get_params() == before.get_params()
        assert (after.zeros_.share_, after.guard_.share_) == (before.zeros_.share_, before.guard_.share_)
        assert np.array_equal(after.predict_proba(probs), before.predict_proba(probs))

    def test_a_file_of_an_earlier_version_is_refused_as_its_map_was_another(self, tmp_path):
        (tmp_path / "c.json").write_text(EARLIER)
        with pytest.raises(InputError, match=r"zeros_ of StructuredScaling .* earlier version, .* fit again\."):
            load(tmp_path / "c.json")

    def test_what_has_no_guard_of_zeros_is_not_written(self, tmp_path):
        fitted = StructuredScaling().fit(*overconfident(n=50))
        del fitted.zeros_
        with pytest.raises(InputError, match="zeros_ of StructuredScaling must be a LaplaceGuard"):
            save(fitted, tmp_path / "c.json")


class TestExported:
    @pytest.mark.parametrize("rows", [0.01, 1.0, 0.0])
    @both
    def test_zeros_are_treated_alike_in_torch(self, structure, rows):
        torch = pytest.importorskip("torch")
        for probs, labels in (forest_like(), overconfident(n=300)):
            fitted = StructuredScaling(structure, guard=rows).fit(probs, labels)
            new = np.vstack([probs, np.eye(4), np.full((1, 4), 0.25)])
            found = to_torch(fitted)(torch.tensor(new)).numpy()
            assert found == pytest.approx(fitted.predict_proba(new), abs=1e-11)
