"""Losses against arithmetic with fifty digits, at both ends of the probabilities, and their gradients."""

import mpmath
import numpy as np
import pytest

from calibrant import InputError

torch = pytest.importorskip("torch")

from calibrant.lab.training import (  # noqa: E402 (PyTorch may be missing)
    LOSSES,
    CrossEntropy,
    FocalLoss,
    LabelSmoothing,
    SampleDependentFocalLoss,
)
from naming import each  # noqa: E402
from training_cases import one_thread  # noqa: E402, F401 (a fixture)

MARGINS = [-90.0, -40.0, -17.0, -3.0, -0.25, 0.0, 0.25, 3.0, 17.0, 40.0, 90.0]
"""Logit of the label above the others: from a probability that rounds to 0 to one that rounds to 1."""


def exact_focal(logits, label, gamma):
    """Return loss and gradient from the definition, with fifty digits."""
    with mpmath.workdps(50):
        powers = [mpmath.exp(mpmath.mpf(float(z))) for z in logits]
        probs = [power / mpmath.fsum(powers) for power in powers]
        p = probs[label]
        rest = mpmath.fsum(q for k, q in enumerate(probs) if k != label)
        loss = -(rest**gamma) * mpmath.log(p)
        slope = gamma * rest ** (gamma - 1) * mpmath.log(p) - rest**gamma / p
        # d p / d z_k is p (1 - p) for the label and -p q for another class.
        gradient = [slope * (p * rest if k == label else -p * q) for k, q in enumerate(probs)]
        return float(loss), np.array([float(g) for g in gradient])


def loss_and_gradient(loss, logits, labels):
    logits = logits.clone().requires_grad_()
    value = loss(logits, labels)
    value.backward()
    return value.item(), logits.grad.double().numpy()


@each("margin", MARGINS)
@each("gamma", [0.5, 1, 2, 3, 5])
@pytest.mark.parametrize(("dtype", "rel", "tiny"), [(torch.float32, 4e-5, 1e-37), (torch.float64, 1e-12, 0.0)])
def test_focal_loss_and_gradient_are_exact_at_both_ends(margin, gamma, dtype, rel, tiny):
    logits = torch.tensor([[0.5, 0.5 + margin, -0.25, 0.125]], dtype=dtype)
    value, gradient = loss_and_gradient(FocalLoss(gamma), logits, torch.tensor([1]))
    expected, expected_gradient = exact_focal(logits[0].tolist(), 1, gamma)
    assert value == pytest.approx(expected, rel=rel, abs=tiny)
    # Near p = 0.44 two terms of the slope nearly cancel, so errors are measured by the largest entry.
    assert gradient[0] == pytest.approx(expected_gradient, rel=rel, abs=max(rel * abs(expected_gradient).max(), tiny))


def test_focal_loss_is_finite_where_logits_are_extreme():
    logits = torch.tensor([[1e4, -1e4], [-1e4, 1e4]])
    for loss in LOSSES.values():
        value, gradient = loss_and_gradient(loss, logits, torch.tensor([0, 0]))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
class TestEveryLoss:
    def test_has_the_gradient_of_its_values(self, loss):
        logits = torch.tensor(np.random.default_rng(0).normal(0, 2, (6, 4)), requires_grad=True)
        labels = torch.tensor([0, 1, 2, 3, 1, 0])
        assert torch.autograd.gradcheck(lambda z: loss(z, labels), (logits,))

    def test_does_not_change_with_an_offset_of_the_logits(self, loss):
        logits = torch.tensor(np.random.default_rng(1).normal(0, 2, (6, 4)))
        labels = torch.tensor([0, 1, 2, 3, 1, 0])
        assert loss(logits + 100, labels).item() == pytest.approx(loss(logits, labels).item(), rel=1e-12)

    def test_is_the_mean_over_rows(self, loss):
        logits = torch.tensor(np.random.default_rng(2).normal(0, 2, (5, 3)))
        labels = torch.tensor([0, 1, 2, 1, 0])
        each = [loss(logits[i : i + 1], labels[i : i + 1]).item() for i in range(5)]
        assert loss(logits, labels).item() == pytest.approx(np.mean(each), rel=1e-12)

    def test_refuses_shapes_that_do_not_fit(self, loss):
        with pytest.raises(InputError, match=r"\(n, K\) .* but they have \(3, 4\) and \(2,\)"):
            loss(torch.zeros(3, 4), torch.tensor([0, 1]))
        with pytest.raises(InputError, match="K >= 2"):
            loss(torch.zeros(3, 1), torch.tensor([0, 0, 0]))


def test_cross_entropy_is_the_focal_loss_with_exponent_zero():
    logits = torch.tensor(np.random.default_rng(3).normal(0, 3, (20, 5)))
    labels = torch.arange(20) % 5
    assert FocalLoss(0)(logits, labels).item() == pytest.approx(CrossEntropy()(logits, labels).item(), rel=1e-12)


def test_cross_entropy_of_uniform_logits_is_the_logarithm_of_the_number_of_classes():
    assert CrossEntropy()(torch.zeros(2, 5), torch.tensor([0, 4])).item() == pytest.approx(np.log(5))


def test_label_smoothing_by_hand():
    # Probabilities 3/4 and 1/4, share 0.2: -(0.9 ln 0.75 + 0.1 ln 0.25).
    logits = torch.log(torch.tensor([[0.75, 0.25]]))
    expected = -(0.9 * np.log(0.75) + 0.1 * np.log(0.25))
    assert LabelSmoothing(0.2)(logits, torch.tensor([0])).item() == pytest.approx(expected)


@pytest.mark.parametrize(("p", "gamma"), [(0.01, 5), (0.19, 5), (0.199, 5), (0.201, 3), (0.21, 3), (0.9, 3)])
def test_flsd_53_takes_exponent_five_below_a_fifth_and_three_above(p, gamma):
    logits, labels = torch.log(torch.tensor([[p, 1 - p]])), torch.tensor([0])
    value, gradient = loss_and_gradient(SampleDependentFocalLoss(), logits, labels)
    expected, expected_gradient = exact_focal(logits[0].tolist(), 0, gamma)
    assert value == pytest.approx(expected, rel=1e-5)
    assert gradient[0] == pytest.approx(expected_gradient, rel=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_flsd_53_takes_exponent_three_at_a_fifth(dtype):
    value = SampleDependentFocalLoss()(torch.zeros(1, 5, dtype=dtype), torch.tensor([2])).item()
    assert value == pytest.approx(0.8**3 * np.log(5), rel=1e-6)


def test_the_exponent_is_chosen_for_each_row():
    logits = torch.log(torch.tensor([[0.1, 0.9], [0.6, 0.4]]))
    expected = (-(0.9**5) * np.log(0.1) - 0.4**3 * np.log(0.6)) / 2
    assert LOSSES["flsd-53"](logits, torch.tensor([0, 0])).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: FocalLoss(-1), "gamma must be a finite number of at least 0, but is -1"),
        (lambda: FocalLoss(float("nan")), "gamma"),
        (lambda: SampleDependentFocalLoss(below=-2), "below"),
        (lambda: SampleDependentFocalLoss(threshold=1.5), "threshold"),
        (lambda: LabelSmoothing(1), "share must be in"),
    ],
)
def test_settings_that_make_no_sense_are_refused(build, message):
    with pytest.raises(InputError, match=message):
        build()
