"""Two periods: one look at whether calibration changed."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from calibrant import InputError, Predictions
from calibrant._core.laws import expit
from calibrant.scale import Sketch
from calibrant.scale.over_time import compare_periods
from calibrant.scale.over_time.compare import _redraw


def period(seed, n_rows=3000, mean=0.0, shift=0.0, slope=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(mean, 1.2, n_rows)
    return Predictions(expit(z), rng.random(n_rows) < expit(shift + slope * z))


def likelihood_ratio_by_definition(first, second):
    """Twice the gain of two lines over one, by a general optimiser on rows."""

    def loss(theta, z, y):
        eta = theta[0] + theta[1] * z
        return np.sum(np.logaddexp(0, eta) - y * eta)

    parts = [(np.log(p.probs[:, 1] / p.probs[:, 0]), p.labels) for p in (first, second)]
    both = tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    own, joint = (
        sum(minimize(loss, [0.0, 1.0], args=part, tol=1e-10).fun for part in some) for some in (parts, [both])
    )
    return 2 * (joint - own)


def test_a_direction_is_named_where_the_level_changed():
    same, moved = (compare_periods(period(0), period(1, **change)) for change in ({"slope": 0.5}, {"shift": -0.5}))
    assert abs(same.shift) < 2 * same.shift_error
    assert "at the same prediction on average the event is as frequent" in same.headline
    assert "at the same prediction the event is less frequent. Log-odds changed by -0." in moved.headline


def test_the_statistic_is_the_likelihood_ratio_of_rows():
    first, second = period(0), period(1, shift=0.3)
    found = compare_periods(first, second)
    wanted = likelihood_ratio_by_definition(first, second)
    assert found.statistic == pytest.approx(wanted, rel=1e-2)
    assert found.pvalue == pytest.approx(chi2.sf(found.statistic, 2))


def test_effects_say_what_changed():
    found = compare_periods(period(0, 20_000), period(1, 20_000, shift=0.4, slope=0.8), names=("mon", "tue"))
    assert abs(found.shift - 0.4) < 4 * found.shift_error < 0.2
    assert abs(found.slope + 0.2) < 4 * found.slope_error < 0.2
    assert found.omnibus_pvalue == 0.001
    assert found.headline.startswith("Calibration changed from mon to tue (p < 0.001)")
    low, high = (found.slope + side * 1.96 * found.slope_error for side in (-1, 1))
    assert ": at the same prediction the event is more frequent. Log-odds changed by +0." in found.headline
    assert f"their slope by {found.slope:+.3f} (95% limits {low:+.3f} to {high:+.3f})." in found.headline
    back = compare_periods(period(1, 20_000, shift=0.4, slope=0.8), period(0, 20_000))
    assert back.shift == pytest.approx(-found.shift)
    assert back.statistic == pytest.approx(found.statistic)


def test_other_predictions_are_no_change():
    """Rejections of 100 pairs whose predictions differ and whose common slope is 0.7: at most 5%, within chance."""
    hits = np.zeros(2)
    for seed in range(100):
        pair = [period(2 * seed, 600, slope=0.7), period(2 * seed + 1, 600, mean=1.0, slope=0.7)]
        found = compare_periods(*pair, n_resamples=99, rng=seed)
        hits += [found.pvalue <= 0.05, found.omnibus_pvalue <= 0.05]
    assert hits.max() <= 13  # P(more | 5%) < 0.001


def test_the_omnibus_test_sees_what_lines_do_not():
    rng = np.random.default_rng(3)
    z = rng.normal(0, 1.2, (2, 20_000))
    bent = [z[0], z[1] + 0.6 * np.abs(z[1]) - 0.6]
    first, second = (Predictions(expit(a), rng.random(20_000) < expit(b)) for a, b in zip(z, bent, strict=True))
    assert compare_periods(first, second).omnibus_pvalue == 0.001


def test_redraws_have_the_hypergeometric_law_also_of_huge_cells():
    rng = np.random.default_rng(0)
    events, total, rows = (np.array(values) for values in ([30.0, 3e8], [100.0, 1e9], [40.0, 4e8]))
    drawn = _redraw(events, total, rows, 4000, rng)
    mean = rows * events / total
    sd = np.sqrt(mean * (1 - events / total) * (total - rows) / (total - 1))
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 4 * sd / np.sqrt(4000))
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.05)


def test_sketches_are_compared_as_rows_are():
    first, second = period(0), period(1, shift=0.2)
    sketches = [Sketch().update(p.probs[:, 1], p.labels) for p in (first, second)]
    rows, cells = compare_periods(first, second), compare_periods(*sketches)
    assert cells.statistic == pytest.approx(rows.statistic, rel=1e-3)
    assert cells.omnibus_pvalue == pytest.approx(rows.omnibus_pvalue, abs=0.01)


def test_periods_of_other_classes_are_refused():
    three = Predictions(np.full((4, 3), 1 / 3), labels=[0, 1, 2, 0])
    with pytest.raises(InputError, match="the same classes"):
        compare_periods(period(0), three)
