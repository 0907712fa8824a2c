"""The page about calibration over time."""

import re

import numpy as np
import pytest

from browser import needs_chromium
from calibrant import Predictions
from calibrant._core.laws import expit
from calibrant.report.over_time import facts, render_watch
from calibrant.scale.over_time import Watch


def watched(n_days, shift=0.0, reference=None, name="2026-01-{:02d}"):
    rng = np.random.default_rng(0)
    days = {}
    for i in range(n_days):
        z = rng.normal(-1, 1.3, 400)
        y = rng.random(400) < expit(z + (shift if i >= n_days // 2 else 0.0))
        days[name.format(i + 1)] = Predictions(expit(z), y)
    return Watch()(days, reference)


@pytest.fixture(scope="module")
def changed():
    return watched(20, shift=0.9)


def test_the_page_tells_the_story(changed):
    page = render_watch(changed)
    assert changed.headline in page
    assert all(sentence.replace("'", "&#39;") in page for sentence in changed.story)
    assert page.count("<svg") == 4  # the sign and three figures
    assert "New base rate (prior shift)" in page
    assert len(re.findall(r'<th scope="row">2026-01-\d\d</th>', page)) == 20
    assert page == render_watch(changed)


def test_the_card_has_limits_of_the_slope(changed):
    found, shown = changed.change, facts(changed)
    label, limits = shown[[name for name, _ in shown].index("Slope of log-odds") + 1]
    assert label == "Its 95% limits"
    expected = [found.slope - 1.96 * found.slope_error, found.slope + 1.96 * found.slope_error]
    assert [*map(float, limits.split(" to "))] == pytest.approx(expected, abs=6e-3)


def test_a_calm_page_has_no_repair(changed):
    page = render_watch(watched(5))
    assert "What repairs it" not in page
    assert 'class="card watch-card good"' in page


def test_one_day_and_a_day_without_slope_have_a_page():
    assert "<svg" in render_watch(watched(1))
    lone = Watch()({"a": Predictions([0.2, 0.4], labels=[0, 0])})
    assert "<svg" in render_watch(lone)


def test_the_plug_in_is_shown_with_a_reference():
    rng = np.random.default_rng(1)
    z = rng.normal(-1, 1.3, 3000)
    page = render_watch(watched(6, reference=Predictions(expit(z), rng.random(3000) < expit(z))))
    assert 'class="plugin-line"' in page
    assert "too many alarms" in page


def test_names_of_days_are_harmless():
    page = render_watch(watched(3, name="<script>alert({})</script>"))
    assert "<script" not in page


@needs_chromium
@pytest.mark.parametrize("width", [1280, 375])
def test_the_page_fits_any_screen_and_asks_for_nothing(chromium, tmp_path, changed, width):
    path = tmp_path / "page.html"
    path.write_text(render_watch(changed), encoding="utf-8")
    with chromium.visit(path, viewport={"width": width, "height": 800}) as (page, heard):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.get_by_role("heading", name="Calibration over time").is_visible()
        assert page.get_by_role("img", name="Evidence of a change, after each day").is_visible()
    assert heard.messages == []
    assert heard.requests[0] == path.as_uri()
    assert len([url for url in heard.requests if not url.startswith("about:")]) == 1
