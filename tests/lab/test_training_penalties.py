"""Penalties against sums over pairs written out, published formulas, finite differences, and at the edges of floats."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, softmax

from calibrant import InputError, Predictions
from calibrant.kernels import Euclidean, ExponentialKernel, GaussianKernel, WhiteKernel
from calibrant.lab.loss_names import split_loss
from calibrant.metrics import SKCE, DirichletECE

torch = pytest.importorskip("torch")

from calibrant.lab.training import (  # noqa: E402 (PyTorch may be missing)
    LOSSES,
    PENALTIES,
    CrossEntropy,
    FocalLoss,
    KdeECEPenalty,
    MMCEPenalty,
    Penalised,
    SKCEPenalty,
    SoftBinnedECEPenalty,
    parse_loss,
)
from naming import each  # noqa: E402
from properties import examples  # noqa: E402
from training_cases import one_thread  # noqa: E402, F401 (a fixture)

LOGITS = np.array([[2, 0, -1], [0.5, 1.5, 0], [0, 0.2, 3], [1, 1.2, 0.8], [-0.5, 2.5, 0.3], [3, 1, 0]])
LABELS = np.array([0, 1, 2, 0, 0, 0])
"""The batch of the values below, which were computed without this package."""


def confidences(logits, labels):
    probs = softmax(logits, axis=1)
    return probs.max(axis=1), (probs.argmax(axis=1) == labels) - probs.max(axis=1)


def mmce(logits, labels, lengthscale=0.4):
    c, e = confidences(logits, labels)
    n = len(c)
    pairs = [e[i] * e[j] * math.exp(-abs(c[i] - c[j]) / lengthscale) for i in range(n) for j in range(n)]
    return math.sqrt(max(sum(pairs), 0) / n**2)


def skce(logits, labels, kernel=lambda d: math.exp(-d * d / 2)):
    p, n = softmax(logits, axis=1), len(logits)
    r = np.eye(p.shape[1])[labels] - p
    pairs = [kernel(math.sqrt(sum((p[i] - p[j]) ** 2))) * (r[i] @ r[j]) for i in range(n) for j in range(n) if i != j]
    return sum(pairs) / (n * (n - 1)) if n > 1 else 0.0


def kde_ece(logits, labels, bandwidth=0.1):
    p, n = softmax(logits, axis=1), len(logits)
    hot, total = np.eye(p.shape[1])[labels], 0.0
    for i in range(n if n > 1 else 0):
        logs = [sum(p[j] / bandwidth * np.log(p[i]) - gammaln(p[j] / bandwidth + 1)) for j in range(n)]
        weights = [0.0 if j == i else math.exp(logs[j] - max(logs[:i] + logs[i + 1 :])) for j in range(n)]
        total += sum((np.array(weights) @ hot / sum(weights) - p[i]) ** 2)
    return total / n


def soft_binned_ece(logits, labels, bins=15, temperature=0.01):
    c, e = confidences(logits, labels)
    shares = np.array([[math.exp(-((x - (b + 0.5) / bins) ** 2) / temperature) for b in range(bins)] for x in c])
    shares /= shares.sum(axis=1, keepdims=True)
    total = sum(shares[:, b].sum() / len(c) * (shares[:, b] @ e / shares[:, b].sum()) ** 2 for b in range(bins))
    return math.sqrt(total)


DEFINITIONS = {
    "mmce": mmce,
    "skce": skce,
    "skce-exponential": lambda logits, labels: skce(logits, labels, lambda d: math.exp(-d)),
    "kde-ece": kde_ece,
    "sb-ece": soft_binned_ece,
}

VALUES = {
    "mmce": (0.090077166465793, 0.055152134),
    "skce": (0.035271300, 0.066949113),
    "skce-exponential": (0.017823482, None),
    "kde-ece": (0.536305276, 0.130993807),
    "sb-ece": (0.212944106, None),
}
"""Values and lengths of gradients on the batch above."""


def value_and_gradient(penalty, logits, labels, dtype=torch.float64):
    z = torch.tensor(np.asarray(logits), dtype=dtype, requires_grad=True)
    value = penalty(z, torch.tensor(labels))
    value.backward()
    return value.item(), z.grad.double().numpy()


def differences(function, logits, labels, step=1e-5):
    """Return central differences of a function of logits."""
    found = np.zeros_like(logits)
    for at in np.ndindex(*logits.shape):
        moved = np.zeros_like(logits)
        moved[at] = step
        found[at] = (function(logits + moved, labels) - function(logits - moved, labels)) / (2 * step)
    return found


def test_definitions_cover_the_table():
    assert DEFINITIONS.keys() == VALUES.keys() == PENALTIES.keys()


@pytest.mark.parametrize("name", PENALTIES)
def test_values_and_gradients_are_those_computed_elsewhere(name):
    value, gradient = value_and_gradient(PENALTIES[name], LOGITS, LABELS)
    expected, length = VALUES[name]
    assert value == pytest.approx(expected, abs=1e-8)
    assert length is None or np.linalg.norm(gradient) == pytest.approx(length, abs=1e-8)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mmce", (-0.01155674, 0.03727673, -0.02572000)), ("skce", (0.00037483, -0.00497929, 0.00460447))],
)
def test_gradient_of_a_row_is_that_computed_elsewhere(name, expected):
    assert value_and_gradient(PENALTIES[name], LOGITS, LABELS)[1][4] == pytest.approx(expected, abs=1e-8)


def test_other_bandwidth_is_that_computed_elsewhere():
    value, gradient = value_and_gradient(KdeECEPenalty(0.5), LOGITS, LABELS)
    assert value == pytest.approx(0.422832028, abs=1e-8)
    assert np.linalg.norm(gradient) == pytest.approx(0.143045692, abs=1e-8)


@examples(25)
@given(name=st.sampled_from(list(PENALTIES)), n=st.integers(1, 9), k=st.integers(2, 5), seed=st.integers(0, 10**6))
def test_values_and_gradients_are_those_of_the_definition(name, n, k, seed):
    rng = np.random.default_rng(seed)
    logits, labels = rng.normal(0, 2, (n, k)), rng.integers(0, k, n)
    value, gradient = value_and_gradient(PENALTIES[name], logits, labels)
    assert value == pytest.approx(DEFINITIONS[name](logits, labels), abs=1e-9)
    assert gradient == pytest.approx(differences(DEFINITIONS[name], logits, labels), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("gaussian", GaussianKernel(Euclidean(), 0.7)), ("exponential", ExponentialKernel(Euclidean(), 0.7))],
)
def test_skce_is_that_of_the_metric(name, kernel):
    rng = np.random.default_rng(4)
    logits, labels = rng.normal(0, 2, (40, 4)), rng.integers(0, 4, 40)
    metric = SKCE(kernel @ WhiteKernel())(Predictions.from_logits(logits, labels))
    assert value_and_gradient(SKCEPenalty(name, 0.7), logits, labels)[0] == pytest.approx(metric, abs=1e-12)


def test_kernel_regression_is_that_of_the_metric():
    rng = np.random.default_rng(7)
    logits, labels = rng.normal(0, 2, (40, 4)), rng.integers(0, 4, 40)
    metric = DirichletECE(bandwidth=0.3, norm=2)(Predictions.from_logits(logits, labels))
    assert value_and_gradient(KdeECEPenalty(0.3), logits, labels)[0] == pytest.approx(metric**2, abs=1e-12)


def test_soft_bins_with_hard_borders_are_bins():
    # In the bin of 0.55 one of two rows is right, and in that of 0.95 both: two gaps of 0.05.
    logits = np.log([[0.55, 0.45], [0.55, 0.45], [0.95, 0.05], [0.95, 0.05]])
    value, _ = value_and_gradient(SoftBinnedECEPenalty(10, 1e-5), logits, np.array([0, 1, 0, 0]))
    assert value == pytest.approx(math.sqrt((0.05**2 + 0.05**2) / 2), abs=1e-9)


def test_labels_of_calibrated_probabilities_have_no_squared_kernel_error_on_average():
    rng = np.random.default_rng(5)
    logits = torch.tensor(rng.normal(0, 1.5, (500, 16, 4)))
    probs = logits.softmax(dim=2)
    labels = (torch.tensor(rng.random((500, 16, 1))) > probs.cumsum(dim=2)).sum(dim=2).clamp(max=3)
    values = np.array([PENALTIES["skce"](z, y).item() for z, y in zip(logits, labels, strict=True)])
    assert abs(values.mean()) < 4 * values.std() / math.sqrt(len(values))
    assert (values < 0).any()
    assert (values > 0).any()


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
class TestEveryPenalty:
    def test_has_the_gradient_of_its_values(self, penalty):
        rng = np.random.default_rng(0)
        logits = torch.tensor(rng.normal(0, 1.5, (7, 4)), requires_grad=True)
        labels = torch.tensor(rng.integers(0, 4, 7))
        assert torch.autograd.gradcheck(lambda z: penalty(z, labels), (logits,))

    def test_does_not_depend_on_the_order_of_rows(self, penalty):
        order = np.random.default_rng(1).permutation(len(LABELS))
        value, gradient = value_and_gradient(penalty, LOGITS, LABELS)
        other, moved = value_and_gradient(penalty, LOGITS[order], LABELS[order])
        assert other == pytest.approx(value, rel=1e-12)
        assert moved == pytest.approx(gradient[order], abs=1e-12)

    def test_does_not_change_with_an_offset_of_the_logits(self, penalty):
        value, gradient = value_and_gradient(penalty, LOGITS, LABELS)
        other, _ = value_and_gradient(penalty, LOGITS + np.arange(6)[:, None], LABELS)
        assert other == pytest.approx(value, rel=1e-12)
        assert gradient.sum(axis=1) == pytest.approx(np.zeros(6), abs=1e-15)

    def test_of_one_row_is_its_error_or_nothing(self, penalty):
        value, gradient = value_and_gradient(penalty, LOGITS[:1], LABELS[:1])
        if penalty.notion == "confidence":
            assert value == pytest.approx(1 - 0.84379473, abs=1e-8)
            assert abs(gradient).max() > 0.1
        else:  # There are no pairs.
            assert value == 0
            assert not gradient.any()

    def test_of_sure_rows_that_are_right_is_zero(self, penalty):
        labels = np.repeat(np.arange(3), 2)
        logits = torch.tensor(200 * np.eye(3)[labels], dtype=torch.float32)
        assert set(logits.softmax(dim=1).unique().tolist()) == {0, 1}
        value, gradient = value_and_gradient(penalty, logits, labels, torch.float32)
        assert value == 0
        assert np.isfinite(gradient).all()

    def test_of_sure_rows_that_are_wrong_is_not(self, penalty):
        value, gradient = value_and_gradient(penalty, 200 * np.eye(3)[[0, 0, 0]], np.array([1, 1, 1]), torch.float32)
        assert value == pytest.approx(1 if penalty.notion == "confidence" else 2)
        assert np.isfinite(gradient).all()

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("scale", [0, 1, 30, 1e4])
    def test_is_finite_with_equal_rows_and_extreme_logits(self, penalty, dtype, scale):
        alike, labels = scale * np.repeat(LOGITS[:1], 5, axis=0), np.array([0, 1, 2, 0, 0])
        for logits, truth in ((alike, labels), (alike, np.zeros(5, dtype=int)), (scale * LOGITS, LABELS)):
            value, gradient = value_and_gradient(penalty, logits, truth, dtype)
            assert math.isfinite(value)
            assert np.isfinite(gradient).all()

    def test_takes_classes_that_are_excluded(self, penalty):
        logits = np.where(np.arange(3) == 2, -np.inf, LOGITS)
        value, gradient = value_and_gradient(penalty, logits, LABELS % 2)
        least, _ = value_and_gradient(penalty, np.where(np.arange(3) == 2, -300, LOGITS), LABELS % 2)
        assert value == pytest.approx(least, abs=1e-9)
        assert np.isfinite(gradient).all()

    def test_in_32_bits_is_that_in_64(self, penalty):
        rng = np.random.default_rng(3)
        logits, labels = rng.normal(0, 2, (128, 10)).astype(np.float32), rng.integers(0, 10, 128)
        value, gradient = value_and_gradient(penalty, logits, labels)
        short, short_gradient = value_and_gradient(penalty, logits, labels, torch.float32)
        assert short == pytest.approx(value, abs=1e-6)
        assert short_gradient == pytest.approx(gradient, abs=1e-6)

    def test_refuses_shapes_that_do_not_fit(self, penalty):
        with pytest.raises(InputError, match=r"\(n, K\) .* but they have \(3, 4\) and \(2,\)"):
            penalty(torch.zeros(3, 4), torch.tensor([0, 1]))
        with pytest.raises(InputError, match=r"n >= 1 .* but they have \(0, 4\)"):
            penalty(torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64))

    def test_beside_a_loss_is_the_weighted_sum(self, penalty):
        z, y = torch.tensor(LOGITS), torch.tensor(LABELS)
        loss = Penalised(CrossEntropy(), penalty, weight=3)
        assert loss(z, y).item() == pytest.approx((CrossEntropy()(z, y) + 3 * penalty(z, y)).item(), rel=1e-12)

    def test_goes_down_when_it_is_followed(self, penalty):
        rng = np.random.default_rng(6)
        z = torch.tensor(4 * rng.normal(0, 2, (64, 3)), requires_grad=True)
        labels = torch.tensor(rng.integers(0, 3, 64))
        before = penalty(z, labels)
        (gradient,) = torch.autograd.grad(before, z)
        after = penalty(z.detach() - 0.01 * gradient / gradient.norm(), labels)
        assert after.item() < before.item()


class TestNames:
    def test_are_a_loss_and_penalties_with_weights(self):
        assert parse_loss("ce") is LOSSES["ce"]
        assert parse_loss("ce+mmce") == Penalised(CrossEntropy(), MMCEPenalty(), 1.0)
        assert parse_loss("focal-3+0.5*skce-exponential") == Penalised(FocalLoss(3), SKCEPenalty("exponential"), 0.5)
        both = parse_loss("ce+2*kde-ece+3e-1*sb-ece")
        assert both == Penalised(Penalised(CrossEntropy(), KdeECEPenalty(), 2), SoftBinnedECEPenalty(), 0.3)

    @each(
        "name, message",
        [
            ("mmce", "loss must be one of ce, label-smoothing, .* as in ce.mmce, but is 'mmce'"),
            ("", "loss must be one of"),
            ("ce+", "a penalty added to a loss must be one of mmce, .* but is '' in 'ce.'"),
            ("ce+focal-3", "a penalty added to a loss must be one of mmce, skce, .* but is 'focal-3'"),
            ("ce+x*mmce", "the weight of a penalty must be a positive number, but is 'x'"),
            ("ce+*mmce", "the weight of a penalty must be a positive number, but is ''"),
            ("ce+0*mmce", "positive number, but is '0'"),
            ("ce+-1*mmce", "positive number, but is '-1'"),
            ("ce+inf*mmce", "positive number, but is 'inf'"),
            ("ce+nan*mmce", "positive number, but is 'nan'"),
        ],
    )
    def test_that_are_unknown_are_refused(self, name, message):
        with pytest.raises(InputError, match=message):
            split_loss(name, LOSSES, PENALTIES)


@each(
    "build, message",
    [
        (lambda: MMCEPenalty(0), "lengthscale must be a positive number, but is 0"),
        (lambda: SKCEPenalty("laplace"), "kernel must be gaussian or exponential, but is 'laplace'"),
        (lambda: SKCEPenalty(lengthscale=-1), "lengthscale"),
        (lambda: KdeECEPenalty(float("nan")), "bandwidth must be a positive number"),
        (lambda: SoftBinnedECEPenalty(0), "bins must be a whole number of at least 1, but is 0"),
        (lambda: SoftBinnedECEPenalty(1.5), r"bins must be a whole number of at least 1, but is 1\.5"),
        (lambda: SoftBinnedECEPenalty(temperature=0), "temperature"),
        (lambda: Penalised(CrossEntropy(), MMCEPenalty(), -1), "weight must be a finite number of at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_numbers_in_the_text_are_those_of_the_benchmark():
    docs = Path(__file__).parents[2] / "docs"
    means, differences = (docs / "benchmarks" / "losses.txt").read_text(encoding="utf-8").split("\n\n")[1:3]
    page = (docs / "training.md").read_text(encoding="utf-8")
    rows = page.split("### Do penalties help?")[1].split("\n|")[3:]
    for shown, row in zip(means.splitlines()[1:], rows[:8], strict=True):
        accuracy, loss, ece, _, loss_after, ece_after = re.findall(r"\d\.\d+", shown)
        assert [cell.strip() for cell in row.split("|")[1:6]] == [
            n[1:] for n in (accuracy, loss, ece, loss_after, ece_after)
        ]
    for shown, row in zip(differences.splitlines()[1:], rows[1:8], strict=True):
        *_, loss, error, over_images, ece, ece_error = re.findall(r"[+-]?\d+\.\d", shown)
        expected = [f"{thousandths(loss)} ± {thousandths(error)} ({thousandths(over_images)})"]
        assert [row.split("|")[6].strip()] == expected
        assert row.split("|")[7].strip() == f"{thousandths(ece)} ± {thousandths(ece_error)}"


def thousandths(text):
    """Return a number of the benchmark, which is in thousandths, as the page writes it."""
    sign = text[0] if text[0] in "+-" else ""
    return f"{sign}{abs(float(text)) / 1000:.4f}".replace("0.", ".", 1)
