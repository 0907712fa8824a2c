"""Calibrators in PyTorch and in ONNX give what they give in NumPy."""

import io
import subprocess
import sys
import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from calibrant import InputError
from calibrant.calibrators import (
    CALIBRATORS,
    BetaCalibration,
    CalibratedModel,
    Ensemble,
    Identity,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    Pooled,
    PriorShift,
    QuadraticScaling,
    ROCConvexHull,
    SplineCalibration,
    TemperatureScaling,
    Uniform,
    VennAbers,
    parse,
)
from calibrant.export import to_onnx, to_torch
from naming import each
from simulate import calibrated, sharpened

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")


from runtimes import RUNTIMES, onnx_session, run_onnx  # noqa: E402

both = pytest.mark.parametrize("run", RUNTIMES.values(), ids=RUNTIMES)


def fit(calibrator, k, scores="probs"):
    p = sharpened(calibrated(k=k), 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calibrator.fit(p.probs if scores == "probs" else 3 * p.log_probs + 1, p.labels)


def new_rows(k):
    """Rows that no calibrator was fitted on, certain ones and uniform ones among them."""
    usual = sharpened(calibrated(k=k, seed=9), 0.5).probs
    return np.vstack([usual, np.eye(k), np.full((1, k), 1 / k), _with_zero(k)])


def _with_zero(k):
    row = np.full((1, k), 1 / (k - 1))
    row[0, -1] = 0.0
    return row


def assert_the_same(calibrator, scores, within=1e-11):
    """Both runtimes give what NumPy does."""
    expected = calibrator.predict_proba(scores)
    for name, run in RUNTIMES.items():
        result = run(calibrator, scores)
        assert result.dtype == np.float64, name
        np.testing.assert_allclose(result, expected, rtol=0, atol=within, err_msg=name)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", [*CALIBRATORS, "ts>irova", "irova>ts>guard", "ts>irm", "ets>iop-oi"])
def test_every_calibrator_gives_the_same_probabilities(name, k):
    assert_the_same(fit(parse(name), k), new_rows(k))


@each("name, k", product(["ts", "vs", "irm", "isotonic", "iop-oi"], [2, 3]))
def test_logits_are_taken_as_they_are(name, k):
    calibrator = fit(parse(name, scores="logits"), k, "logits")
    logits = 1000.0 + 3 * np.log(sharpened(calibrated(k=k, seed=9), 0.5).probs)
    logits[0] = [0.0, -np.inf, 1.0][:k]
    logits[1] = [0.0, 2000.0, 1.0][:k]
    assert_the_same(calibrator, logits)


@each(
    "calibrator",
    [PlattScaling(scores="raw"), IsotonicCalibration(scores="raw"), ROCConvexHull(scores="raw"),
     IsotonicCalibration(centred=True, scores="raw"), VennAbers(scores="raw")],
)  # fmt: skip
def test_raw_scores_are_taken_as_they_are(calibrator):
    rng = np.random.default_rng(0)
    ranks = np.round(rng.normal(0.0, 30.0, 300), 1)
    calibrator.fit(ranks, rng.random(300) < 1 / (1 + np.exp(-ranks / 20)))
    new = np.concatenate([ranks, rng.normal(0.0, 30.0, 300), [-1e6, 1e6]])
    assert_the_same(calibrator, new, within=1e-12)


@each(
    "calibrator",
    [
        QuadraticScaling(monotone=True),
        BetaCalibration("ab"),
        SplineCalibration(monotone=False),
        IsotonicCalibration(centred=True),
        OneVsRest(IsotonicCalibration(), score="logit"),
        OneVsRest(VennAbers(), score="margin"),
        Pooled(PlattScaling()),
        Ensemble([Identity(), Uniform(), TemperatureScaling(), OneVsRest(PlattScaling())]),
    ],
)
def test_settings_are_respected(calibrator):
    assert_the_same(fit(calibrator, 3), new_rows(3))


@each(
    "scores, labels",
    [([0.5] * 4, [0, 0, 1, 1]), ([0.0, 0.0, 1.0, 1.0], [0, 1, 0, 1]), ([0.2, 0.3], [1, 1]), ([0.1], [0])],
)
def test_maps_with_a_single_step_or_knot_are_exported(scores, labels):
    for calibrator in (IsotonicCalibration(), ROCConvexHull(), VennAbers(), SplineCalibration()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calibrator.fit(scores, labels)
        new = np.column_stack([1 - np.linspace(0, 1, 9), np.linspace(0, 1, 9)])
        assert_the_same(calibrator, new)


@both
def test_the_order_of_classes_and_their_ties_are_kept(run):
    calibrator = fit(parse("irm"), 4)
    rows = np.array([[0.7, 0.1, 0.1, 0.1], [0.25, 0.25, 0.3, 0.2], [0.0, 0.0, 0.5, 0.5]])
    result = run(calibrator, rows)
    assert result == pytest.approx(calibrator.predict_proba(rows), abs=1e-12)
    assert np.array_equal(np.sign(result[:, :, None] - result[:, None]), np.sign(rows[:, :, None] - rows[:, None]))


@both
def test_rows_are_divided_by_their_sum(run):
    calibrator = fit(TemperatureScaling(), 3)
    rows = new_rows(3).astype(np.float32)
    assert run(calibrator, rows.astype(np.float64)) == pytest.approx(calibrator.predict_proba(rows), abs=1e-11)


@both
def test_one_row_and_many_classes_work(run):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(60), 400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calibrator = parse("ts>irm").fit(probs, rng.integers(0, 60, 400))
    assert run(calibrator, probs[:1]) == pytest.approx(calibrator.predict_proba(probs[:1]), abs=1e-11)


@pytest.mark.parametrize("export", [to_torch, to_onnx])
class TestRefusals:
    def test_what_is_not_fitted(self, export):
        with pytest.raises(NotFittedError):
            export(TemperatureScaling())

    def test_what_is_no_calibrator(self, export):
        with pytest.raises(TypeError, match="export its calibrator_"):
            export(CalibratedModel(None))

    def test_a_method_without_a_map(self, export):
        class Own(Identity):
            pass

        with pytest.raises(InputError, match="Own cannot be exported: the class must define _operations"):
            export(fit(Own(), 3))


def test_a_class_of_ones_own_states_its_map():
    class Halved(Identity):
        def _apply(self, log_probs):
            return log_probs / 2

        def _operations(self, x, k):
            return x / 2.0

    assert_the_same(fit(Halved(), 3), new_rows(3), within=1e-12)


def test_shifts_of_base_rates_are_exported():
    assert_the_same(fit(PriorShift([0.2, 0.3, 0.5]), 3), new_rows(3), within=1e-12)


class TestTorch:
    def test_gradients_flow_to_the_scores(self):
        calibrator = fit(TemperatureScaling(scores="logits"), 3, "logits")
        logits = torch.tensor([[1.0, 0.0, 0.0]], requires_grad=True)
        to_torch(calibrator)(logits)[0, 0].backward()
        p = calibrator.predict_proba([[1.0, 0.0, 0.0]])[0]
        # The derivative of a softmax of z / T.
        assert logits.grad[0, 0].item() == pytest.approx(p[0] * (1 - p[0]) / calibrator.temperature_, rel=1e-6)

    def test_numbers_are_in_the_state_and_none_is_trained(self):
        module = to_torch(fit(TemperatureScaling(), 3))
        assert list(module.parameters()) == []
        assert len(module.state_dict()) > 0
        assert not module.training

    def test_the_module_can_be_saved_by_torch_as_a_program(self, monkeypatch):
        monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)  # See tests/without_compiler.py.
        monkeypatch.delattr(torch, "_dynamo", raising=False)
        calibrator = fit(parse("ts>isotonic"), 2)
        rows = torch.tensor(new_rows(2))
        shapes = ({0: torch.export.Dim("n", min=2)},)
        exported = torch.export.export(to_torch(calibrator), (rows,), dynamic_shapes=shapes)
        content = io.BytesIO()
        torch.export.save(exported, content)
        content.seek(0)
        result = torch.export.load(content).module()(rows[:50]).numpy()
        assert result == pytest.approx(calibrator.predict_proba(new_rows(2)[:50]), abs=1e-11)


class TestOnnx:
    def test_the_number_of_rows_is_free(self):
        session = onnx_session(fit(parse("irm"), 3))
        for n in (1, 7, 300):
            assert session.run(None, {"scores": new_rows(3)[:n]})[0].shape == (n, 3)
        assert session.get_inputs()[0].shape == ["n", 3]

    @pytest.mark.parametrize("small", [0.0, 1e-12, 1e-9, -1e-6])
    def test_numbers_that_are_nearly_neutral_count(self, small):
        platt = fit(PlattScaling(), 2)
        platt.slope_, platt.intercept_ = 1.0 + small, small
        rows = new_rows(2)
        assert run_onnx(platt, rows) == pytest.approx(platt.predict_proba(rows), abs=1e-15)
        ts = fit(TemperatureScaling(), 2)
        ts.temperature_ = 1.0 + small
        assert run_onnx(ts, rows) == pytest.approx(ts.predict_proba(rows), abs=1e-15)

    def test_the_same_calibrator_gives_the_same_bytes(self):
        calibrator = fit(parse("ts>irova"), 3)
        assert to_onnx(calibrator) == to_onnx(calibrator)


@pytest.mark.parametrize(
    ("module", "call", "advice"),
    [("torch", "to_torch", "calibrant[torch]"), ("onnx", "to_onnx", "calibrant[onnx]")],
)
def test_a_missing_library_is_named(module, call, advice):
    code = (
        "import sys\n"
        "from calibrant.calibrators import Identity\n"
        f"from calibrant.export import {call}\n"
        f"sys.modules[{module!r}] = None\n"
        f"{call}(Identity().fit([0.2, 0.7], [0, 1]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert f'pip install "{advice}"' in run.stderr
