"""Order-preserving maps one after another: against the maps by hand, what they gain over one, and when they stop."""

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.calibrators import Compose, DeepOrderPreserving, OrderPreserving, StackedCalibration, calibrate
from calibrant.metrics import NLL
from naming import each
from simulate import calibrated, draw_labels, sharpened


def rivals(n, seed, k=5):
    """Where two classes are close to each other, both are equally likely; other classes are as likely as predicted."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, 0.15), n)
    probs = (probs + 1e-4) / (probs + 1e-4).sum(axis=1, keepdims=True)
    order = np.argsort(probs, axis=1)
    first, second = (np.take_along_axis(probs, order[:, -j : order.shape[1] - j + 1], axis=1) for j in (1, 2))
    truth = probs.copy()
    close = (second > first / 20)[:, 0]
    mean = (first + second)[close] / 2
    np.put_along_axis(truth, order[:, -1:], np.where(close[:, None], 0.0, first), axis=1)
    np.put_along_axis(truth, order[:, -2:-1], np.where(close[:, None], 0.0, second), axis=1)
    truth[np.flatnonzero(close), order[close, -1]] = mean[:, 0]
    truth[np.flatnonzero(close), order[close, -2]] = mean[:, 0]
    return Predictions(probs, draw_labels(truth, rng))


def log_likelihood(p):
    return -p.n_samples * NLL()(p)


@each("layers", [1, 2, 4])
def test_layers_are_maps_fitted_one_after_another(layers):
    p, new = rivals(2000, 0), rivals(500, 1)
    found = DeepOrderPreserving(layers).fit(p.probs, p.labels)
    assert len(found.layers_) == layers
    by_hand = Compose([OrderPreserving()] * layers).fit(p.probs, p.labels)
    assert found.predict_proba(new.probs) == pytest.approx(by_hand.predict_proba(new.probs), abs=1e-12)


def test_no_layer_lowers_the_likelihood_and_the_last_one_hardly_raises_it():
    p = rivals(200, 0)
    found = DeepOrderPreserving(layers=30).fit(p.probs, p.labels)
    outputs = [p.log_probs]
    for layer in found.layers_:
        outputs.append(layer.transform(outputs[-1]))
    gains = np.diff([log_likelihood(Predictions.from_logits(output, p.labels)) for output in outputs])
    assert 1 < len(gains) < 30
    assert (gains[:-1] >= 0.1).all()
    assert 0 <= gains[-1] < 0.1


def test_predictions_that_need_nothing_have_few_layers():
    p = calibrated(n=300, k=4, seed=0)
    assert len(DeepOrderPreserving().fit(p.probs, p.labels).layers_) <= 3


def test_several_layers_can_do_what_one_map_cannot():
    p, new = rivals(5000, 0), rivals(20000, 1)
    one, loose, deep = (
        NLL().per_row(calibrate(c.fit(p.probs, p.labels), new))
        for c in (OrderPreserving(), OrderPreserving(segments=30, smoothness=0.1), DeepOrderPreserving())
    )
    for other in (one, loose):
        gain = other - deep
        assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))
        assert gain.mean() > 0.005


def test_the_order_of_a_row_stays_and_so_do_ties():
    p = sharpened(rivals(1000, 0, k=6), 0.5)
    found = DeepOrderPreserving().fit(p.probs, p.labels)
    new = np.random.default_rng(1).dirichlet(np.full(6, 0.3), 2000)
    new[:, 1] = new[:, 2]
    new /= new.sum(axis=1, keepdims=True)
    after = found.predict_proba(new)
    order = np.argsort(new, axis=1)
    assert (np.diff(np.take_along_axis(after, order, axis=1), axis=1) >= 0).all()
    assert np.array_equal(after[:, 1], after[:, 2])
    assert np.array_equal(after.argmax(axis=1), new.argmax(axis=1))


def test_a_weight_counts_as_copies():
    p = rivals(400, 0)
    counts = np.random.default_rng(0).integers(0, 4, 400)
    rows = np.repeat(np.arange(400), counts)
    weighted = DeepOrderPreserving().fit(p.probs, p.labels, counts)
    copied = DeepOrderPreserving().fit(p.probs[rows], p.labels[rows])
    assert weighted.predict_proba(p.probs) == pytest.approx(copied.predict_proba(p.probs), abs=1e-6)


def test_a_stack_of_it_keeps_the_order():
    assert StackedCalibration([DeepOrderPreserving(), OrderPreserving()]).preserves_argmax


@each("setting", [{"layers": 0}, {"layers": 1.5}, {"segments": 0}, {"smoothness": -1.0}])
def test_bad_settings_are_refused(setting):
    with pytest.raises((InputError, TypeError), match=next(iter(setting))):
        DeepOrderPreserving(**setting).fit([0.2, 0.7], [0, 1])
