"""The omnibus test: its parts and its rule against slow definitions, its level by enumeration, what it must find."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import expit

from calibrant import InputError, Predictions, interval
from calibrant.assessment.verdict import examine
from calibrant.binning import EqualMass
from calibrant.hypotest import TESTS, OmnibusTest
from calibrant.hypotest.omnibus import kernel, line
from calibrant.hypotest.omnibus.combined import combined_pvalue
from calibrant.hypotest.omnibus.facts import facts_of
from calibrant.hypotest.omnibus.omnibus import gather
from calibrant.metrics import ECE, CoxSlope
from naming import each
from oracles import omnibus as slow
from properties import examples
from simulate import calibrated, draw_labels, sharpened
from studies.validity.cells import inflate, rotate

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")

SEEDS = st.integers(0, 10**6)


def test_it_is_the_first_of_all_tests():
    assert next(iter(TESTS.items())) == ("omnibus", OmnibusTest())


@given(SEEDS, st.integers(1, 4), st.integers(2, 12), st.booleans())
def test_the_rule_is_its_definition(seed, m, n, ties):
    statistics = np.abs(np.random.default_rng(seed).normal(size=(m, n)))
    statistics = statistics.round() if ties else statistics
    pvalue, means = slow.combined(statistics)
    found = combined_pvalue(statistics)
    assert found.pvalue == pytest.approx(pvalue)
    assert found.means == pytest.approx(means)
    counts = (statistics >= statistics[:, :1]).sum(axis=1)
    assert counts[found.part] == counts.min()


def test_sums_that_differ_by_rounding_are_ties():
    assert combined_pvalue(np.array([[0.3, 0.1 + 0.2, 0.0]])).pvalue == pytest.approx(2 / 3)
    assert combined_pvalue(np.array([[0.1 + 0.2, 0.3, 0.0]])).pvalue == pytest.approx(2 / 3)


def random_predictions(seed, n, k, *, weighted):
    """Predictions with ties, exact zeros and labels of any kind."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), n).round(1)
    probs[probs.sum(axis=1) == 0] = 1.0
    weights = rng.exponential(size=n) + 0.01 if weighted else None
    return Predictions(probs, rng.integers(0, k, n), weights, renormalise=True)


def parts_of(p):
    details = OmnibusTest(3)(p, rng=0).details
    return {**details["parts"], **details["also"]}


def near(value):
    return pytest.approx(value, rel=1e-8, abs=1e-8)


@given(SEEDS, st.integers(2, 30), st.booleans())
@examples(40)
def test_two_classes_are_measured_by_the_definitions(seed, n, weighted):
    p = random_predictions(seed, n, 2, weighted=weighted)
    found = parts_of(p)
    for name, value in slow.of_two_classes(p.labels, p.positive, p.weights).items():
        assert found[name]["statistic"] == near(abs(value))
    assert set(found) == {"bias", "slope", "spiegelhalter", "ecce", "impossible labels"}


@given(SEEDS, st.integers(3, 25), st.integers(3, 5), st.booleans())
@example(353278, 5, 5, True)  # One row has nearly all the variance, and another one a probability of 0.
@examples(40)
def test_more_classes_are_measured_by_the_definitions(seed, n, k, weighted):
    p = random_predictions(seed, n, k, weighted=weighted)
    found = parts_of(p)
    biases, slopes = slow.class_scores(p.labels, p.probs, p.weights)
    top = p.top_label()
    expected = {
        "slope": abs(slow.slope(p.labels, p.probs, p.weights)),
        "class bias": np.abs(biases).max(),
        "class count": np.abs(slow.class_counts(p.labels, p.probs, p.weights)).max(),
        "class slope": np.abs(slopes).max(),
        "top-label ece": ECE(EqualMass(10))(top),
        "top-label bias": abs(slow.score(np.ones(n), top.labels, top.positive, p.weights)),
        "impossible labels": np.average(p.probs[np.arange(n), p.labels] == 0, weights=p.weights),
    }
    for name, value in expected.items():
        assert found[name]["statistic"] == near(value)
    if len(np.unique(p.probs, axis=0)) > 1:
        assert found["skce"]["statistic"] == near(slow.skce(p.labels, p.probs, p.weights))


def test_the_runner_up_is_the_second_most_probable_class():
    p = Predictions([[0.5, 0.3, 0.2]] * 10, [1] * 10)
    assert parts_of(p)["runner-up bias"]["statistic"] == near(10 * 0.7 / np.sqrt(10 * 0.3 * 0.7))
    assert OmnibusTest(19)(p, rng=0).details["also"]["runner-up bias"]["direction"] == "too low"


def test_redraws_get_the_statistics_that_the_same_labels_get_as_observed():
    for k in (2, 4):
        p = calibrated(n=30, k=k, seed=k)
        labels = np.random.default_rng(0).integers(0, k, (30, 6))
        together = np.concatenate([one.statistics(labels) for one in gather(p)])
        for b in range(6):
            alone = np.concatenate([one.statistics(labels[:, b : b + 1]) for one in gather(p)])[:, 0]
            assert together[:, b] == near(alone)


@pytest.mark.parametrize(
    ("probs", "pool"), [([[0.8, 0.2], [0.5, 0.5], [0.3, 0.7]], 3), ([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]], 3)]
)
def test_the_level_is_exact_by_enumeration(probs, pool):
    """All observed labels with all redraws, each with its probability: P(p-value <= t) is at most t at every t."""
    p = Predictions(probs, [0] * len(probs))
    labels = np.array(list(itertools.product(range(p.n_classes), repeat=len(probs)))).T
    chances = np.prod([row[column] for row, column in zip(p.probs, labels, strict=True)], axis=0)
    statistics = np.concatenate([one.statistics(labels) for one in gather(p)])
    total = np.zeros(pool + 1)
    for members in itertools.product(range(len(chances)), repeat=pool):
        found = combined_pvalue(statistics[:, members]).pvalue
        total[round(found * pool)] += chances[list(members)].prod()
    assert total.sum() == pytest.approx(1.0)
    assert np.all(np.cumsum(total) <= np.arange(pool + 1) / pool + 1e-12)


def test_level_holds_on_calibrated_rare_weighted_data():
    """200 sets of 30 rows, weights lognormal with sd 1.5: at most 3.3 standard errors above 10 and 2 rejections."""
    test, found = OmnibusTest(99), []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        q = rng.beta(0.5, 5.0, 30)
        p = Predictions(q, (rng.random(30) < q).astype(int), rng.lognormal(sigma=1.5, size=30))
        found.append(test(p, rng=seed + 10_000).pvalue)
    for level in (0.01, 0.05):
        assert (np.array(found) <= level).sum() < 200 * level + 3.3 * np.sqrt(200 * level * (1 - level))
    assert (np.array(found) <= 0.05).sum() > 1


def test_weights_are_relative_and_zero_means_absent():
    p = calibrated(n=60, seed=3)
    weights = np.random.default_rng(0).exponential(size=60)
    weights[::7] = 0.0
    some = OmnibusTest(49)(Predictions(p.probs, p.labels, weights), rng=0)
    present = weights > 0
    without = OmnibusTest(49)(Predictions(p.probs[present], p.labels[present], weights[present]), rng=0)
    scaled = OmnibusTest(49)(Predictions(p.probs, p.labels, 3e200 * weights), rng=0)
    for other in (without, scaled):
        assert other.pvalue == some.pvalue
        assert other.null == pytest.approx(some.null, rel=1e-9)


def test_the_result_says_what_was_found():
    p = sharpened(calibrated(n=500, k=2), 0.4)
    result = OmnibusTest(199)(p, rng=0)
    assert result.pvalue == result.details["smallest_pvalue"] == 1 / 200
    assert result.statistic < result.null.min()
    assert result.null.shape == (199,)
    assert result.details["found_by"] in ("slope", "spiegelhalter")
    assert {result.details["parts"][name]["direction"] for name in ("slope", "spiegelhalter")} == {"too extreme"}
    timid = OmnibusTest(199)(sharpened(calibrated(n=500, k=2), 2.0), rng=0).details["parts"]
    assert {timid[name]["direction"] for name in ("slope", "spiegelhalter")} == {"too timid"}


def test_directions_of_bias():
    for said, direction in ((0.7, "too high"), (0.3, "too low")):
        p = Predictions([said] * 200, [0, 1] * 100)
        assert OmnibusTest(19)(p, rng=0).details["parts"]["bias"]["direction"] == direction
    level = OmnibusTest(19)(Predictions([0.5] * 200, [0, 1] * 100), rng=0)
    assert level.details["parts"]["bias"]["direction"] is None
    assert level.pvalue > 0.05


def test_one_impossible_label_refutes():
    probs = np.full((100, 2), 0.5)
    probs[0] = [1.0, 0.0]
    labels = np.tile([1, 0], 50)
    result = OmnibusTest(99)(Predictions(probs, labels), rng=0)
    assert result.pvalue == 0.01
    assert result.details["found_by"] == "impossible labels"
    labels[0] = 0
    assert OmnibusTest(99)(Predictions(probs, labels), rng=0).details["parts"]["impossible labels"]["pvalue"] == 1.0


def spoilt(k, n, defect, seed, concentration=1.0):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(k, concentration), n)
    return Predictions(defect(truth), draw_labels(truth, rng), classes=[f"class {c}" for c in range(k)])


def test_one_bad_class_of_ten_is_found_and_named():
    found = [OmnibusTest(199)(spoilt(10, 1500, inflate, seed), rng=0) for seed in range(4)]
    assert max(result.pvalue for result in found) < 0.01
    assert {result.details["parts"]["class bias"]["class"] for result in found} == {"class 0"}
    assert {result.details["parts"]["class bias"]["direction"] for result in found} == {"too high"}


def test_a_rare_class_that_never_occurs_is_found_and_named():
    """Fifteen are expected among 1500 rows: by chance there is none once in three million."""
    rng = np.random.default_rng(0)
    first = rng.uniform(0.2, 0.79, 1500)
    probs = np.column_stack([np.full(1500, 0.01), first, 0.99 - first])
    labels = np.where(rng.random(1500) < first / 0.99, 1, 2)
    result = OmnibusTest()(Predictions(probs, labels, classes=["rare", "a", "b"]), rng=0)
    assert result.pvalue <= 0.002
    assert result.details["parts"]["class count"] == {
        "statistic": near(np.sqrt(2 * 15 / 0.99)),
        "pvalue": 0.001,
        "direction": "too high",
        "class": "rare",
    }
    assert result.details["revealed_by"].startswith("class rare (too high)")


def test_rotated_runners_up_are_found():
    for seed in range(4):
        result = OmnibusTest(199)(spoilt(4, 300, rotate, seed), rng=0)
        assert result.pvalue < 0.01
        assert (
            result.details["also"]["runner-up bias"]["pvalue"]
            < 0.01
            < result.details["also"]["top-label bias"]["pvalue"]
        )


def test_naive_bayes_with_two_percent_positives_is_rejected():
    from sklearn.datasets import make_classification
    from sklearn.naive_bayes import GaussianNB

    X, y = make_classification(20_000, 20, n_informative=5, weights=[0.98], flip_y=0.005, random_state=0)
    model = GaussianNB().fit(X[:10_000], y[:10_000])
    result = OmnibusTest(199)(Predictions(model.predict_proba(X[10_000:]), y[10_000:]), rng=0)
    assert result.pvalue == 1 / 200


def test_the_seed_decides_and_blocks_do_not(monkeypatch):
    p = calibrated(n=80, k=4)
    whole = OmnibusTest(60)(p, rng=3)
    monkeypatch.setattr("calibrant.hypotest.omnibus.omnibus.CELLS", 300)
    monkeypatch.setattr("calibrant._core.redraws._LABELS", 800)
    monkeypatch.setattr("calibrant._core.redraws._CACHED", 700)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    blocks = OmnibusTest(60)(p, rng=3)
    assert np.array_equal(whole.null, blocks.null)
    assert blocks.pvalue == whole.pvalue


def test_many_rows_are_looked_at_in_few_places(monkeypatch):
    monkeypatch.setattr(line, "PLACES", 4)
    values = np.array([0.1, 0.2, 0.2, 0.2, 0.3, 0.4, 0.5, 0.6])
    for n, places in ((8, [0, 1, 4, 6]), (6, [0, 1, 4, 5])):
        p = Predictions(values[:n], np.arange(n) % 2)
        assert line.LineEvidence.of(p, p.weights).places.tolist() == places


def test_landmarks_of_all_rows_give_the_kernel_itself_and_fewer_a_part_of_it(monkeypatch):
    probs = calibrated(n=40, k=3).probs
    exact = kernel.landmark_features(probs)
    monkeypatch.setattr(kernel, "LANDMARKS", 10)
    rough = kernel.landmark_features(probs)
    assert (exact @ exact.T).diagonal() == pytest.approx(np.ones(40))
    assert rough.shape[1] <= 10
    monkeypatch.setattr(kernel, "FEATURE_CELLS", 40 * 4)
    assert kernel.landmark_features(probs).shape[1] <= 4
    assert np.all((rough @ rough.T).diagonal() < 1 + 1e-9)


ODD = {
    "equal rows": ([[0.2, 0.4, 0.4]] * 60, [0, 1, 1] * 20),
    "one row": ([[0.2, 0.8]], [1]),
    "one row of three": ([[0.2, 0.3, 0.5]], [1]),
    "certain": (np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 0]),
    "certain of two": ([0.0, 1.0, 0.0], [0, 1, 0]),
    "extreme weights": ([0.2, 0.8, 0.5], [0, 1, 0], [1e-300, 1.0, 1e-5]),
}


@each("data", ODD)
def test_odd_data_gives_a_pvalue(data):
    result = OmnibusTest(19)(Predictions(*data), rng=0)
    assert 0 < result.pvalue <= 1
    assert all(np.isfinite(part["statistic"]) for part in result.details["parts"].values())


def test_progress_is_told():
    seen = []
    OmnibusTest(30)(calibrated(), rng=0, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (30, 30)


def test_bad_settings_and_other_data_are_refused():
    with pytest.raises(InputError, match="n_resamples must be a whole number of at least 1"):
        OmnibusTest(0)
    with pytest.raises(TypeError, match="tests Predictions or Forecasts, but got list"):
        OmnibusTest()([0.0, 1.0])


def shifted(slope, shift, n=3000):
    """Predictions of an event whose log-odds are those of the truth times a slope, plus a shift."""
    rng = np.random.default_rng(0)
    log_odds = 1.5 * rng.normal(size=n)
    return Predictions(expit(slope * log_odds + shift), (rng.random(n) < expit(log_odds)).astype(int))


@each("slope, shift, words", [(0.8, 1.5, "too timid"), (1.2, -1.5, "too extreme"), (1.0, 1.5, None)])
def test_a_wrong_mean_does_not_turn_the_direction_of_slope_and_spread(slope, shift, words):
    p = shifted(slope, shift)
    parts = OmnibusTest(39)(p, rng=0).details["parts"]
    assert parts["slope"]["pvalue"] == parts["spiegelhalter"]["pvalue"] == 0.025
    assert [parts[name]["direction"] for name in ("slope", "spiegelhalter")] == [words, words]
    low, high = interval(p, CoxSlope()).low, interval(p, CoxSlope()).high
    assert {"too timid": low > 1, "too extreme": high < 1, None: low < 1 < high}[words]


def test_a_wrong_mean_does_not_turn_the_slope_of_a_class():
    event = shifted(0.8, 1.5)
    others = 1 - event.positive
    probs = np.stack([event.positive, 0.98 * others, 0.02 * others], axis=1)
    labels = np.where(event.labels == 1, 0, 1 + (np.random.default_rng(1).random(event.n_samples) < 0.02))
    p = Predictions(probs, labels)
    part = OmnibusTest(39)(p, rng=0).details["parts"]["class slope"]
    view = p.one_vs_rest(part["class"])
    assert facts_of(view).extreme > 1.96  # What the score says if the mean is taken to be right.
    assert interval(view, CoxSlope()).low > 1
    assert part["direction"] == "too timid"


def test_parts_that_are_not_significant_have_no_direction():
    parts = OmnibusTest(39)(calibrated(n=400, k=2), rng=0).details["parts"].values()
    assert {part["direction"] for part in parts if part["pvalue"] > 0.05} == {None}
    assert any(part["pvalue"] > 0.5 for part in parts)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_part_that_is_named_is_that_of_the_verdict_and_decides(n_classes):
    p = shifted(1.0, 1.0) if n_classes == 2 else sharpened(calibrated(n=2000, k=3), 0.6)
    found, verdict = OmnibusTest(99)(p, rng=0), examine(p, 99, rng=0).verdict
    assert found.details["found_by"] == verdict.part
    assert verdict.part in found.details["parts"]
    assert found.details["revealed_by"] == verdict.gave_away
    assert verdict.gave_away == {2: "the mean (too high)", 3: "the curve of the confidence (too high)"}[n_classes]
    shown = repr(found)
    assert verdict.gave_away in shown
    assert {2: "range of predictions: ≤ 0.01", 3: "mean confidence: ≤ 0.01"}[n_classes] in " ".join(shown.split())
    assert not any(key in shown for key in ("found_by", "ecce", "spiegelhalter", "top-label"))
