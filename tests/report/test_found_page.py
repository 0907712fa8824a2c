"""Groups that were searched for, on the page."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from browser import needs_chromium
from calibrant import Predictions, assess, render_html
from calibrant.cli import main
from calibrant.groups import GroupSearch
from group_cases import seeded_example, world

PROBS, LABELS, FEATURES = seeded_example()
P = Predictions(PROBS, LABELS)
NAMES = np.array(["low", "middle", "<b>high</b>"])[FEATURES["g"]]


@pytest.fixture(scope="module")
def assessment():
    return assess(P, n_resamples=9, metrics=["nll"], rng=0)


@pytest.fixture(scope="module")
def findings():
    columns = {"g": NAMES, "h": FEATURES["h"], "same": ["x"] * 6000}
    return GroupSearch(leaves=1)(P, features=columns, rng=0)


@pytest.fixture(scope="module")
def page(assessment, findings):
    return render_html(assessment, findings=findings)


def section(page):
    found = re.search(r'<section aria-labelledby="found-title">.*?</section>', page, flags=re.DOTALL)
    return None if found is None else found[0]


def test_the_groups_stand_with_their_numbers(page, findings):
    shown = section(page)
    assert "g = &lt;b&gt;high&lt;/b&gt; and h = 1" in shown
    assert "<b>high" not in shown
    assert "predictions too low" in shown
    assert "+0.190" in shown
    assert "Columns left out: same: all values are the same." in shown
    assert f"Groups that overlap with these ({findings.n_found - 2})" in shown


def test_the_page_holds_the_findings_as_data(page, findings):
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, flags=re.DOTALL)[1])
    assert len(data["findings"]["found"]) == len(findings.found)
    assert data["findings"]["found"][0]["z"] == pytest.approx(findings.found[0].z, rel=1e-6)


def test_nothing_found_is_said_with_what_could_have_been(assessment):
    p, features = world(1000, 0.0, np.random.default_rng(0))
    shown = section(render_html(assessment, findings=GroupSearch()(p, features=features, rng=0)))
    assert "No group was found" in shown
    assert "would have been found with a probability of about 80%" in shown
    assert "<table" not in shown


def test_a_verdict_that_finds_nothing_points_to_groups_that_are_off(assessment, findings):
    beside = '<p class="beside">The verdict is about all rows together. Some groups of rows are off: see '
    calm = replace(assessment, verdict=replace(assessment.verdict, pvalue=0.5))
    found = render_html(calm, findings=findings)
    assert f'{beside}<a href="#found-title">Search for groups</a>.</p>' in found
    assert "</a> and <a" in render_html(replace(calm, groups={"g": calm}, adjusted={"g": 0.01}), findings=findings)
    assert beside not in render_html(calm)
    alarmed = replace(assessment, verdict=replace(assessment.verdict, pvalue=0.01))
    assert beside not in render_html(alarmed, findings=findings)


def test_the_verdict_on_forecasts_is_printed_before_the_groups(tmp_path, capsys):
    file = tmp_path / "forecasts.csv"
    rng = np.random.default_rng(0)
    place = np.repeat(["here", "there"], 300)
    target = rng.standard_normal(600) + 2.0 * (place == "there")
    pl.DataFrame({"mu": np.zeros(600), "sigma": np.ones(600), "y": target, "place": place}).write_csv(file)
    columns = ["--label", "y", "--mean", "mu", "--sd", "sigma", "--features", "place"]
    assert main(["report", str(file), *columns, "--resamples", "99", "--out", str(tmp_path / "page.html")]) == 0
    shown = capsys.readouterr().out
    assert shown.index("◆ Biased") < shown.index("Forecasts are too low where place = there")


def test_without_a_search_there_is_no_section(assessment):
    assert section(render_html(assessment)) is None


def test_the_command_searches_the_named_columns(tmp_path, capsys):
    file, out = tmp_path / "a.csv", tmp_path / "page.html"
    pl.DataFrame({"p": PROBS[:600], "y": LABELS[:600], "x_g": NAMES[:600]}).write_csv(file)
    arguments = ["report", str(file), "--resamples", "9", "--out", str(out)]
    assert main([*arguments, "--features", "x_*"]) == 0
    assert "among" in capsys.readouterr().out
    assert section(out.read_text(encoding="utf-8")) is not None
    assert main([*arguments, "--features", "z"]) == 2
    other = tmp_path / "b.csv"
    other.write_bytes(file.read_bytes())
    assert main(["report", str(file), str(other), "--features", "x_*", "--out", str(out)]) == 2
    assert "--features is for one file" in capsys.readouterr().err


@needs_chromium
@pytest.mark.parametrize("width", [1200, 375])
def test_the_section_fits_the_screen(page, chromium, tmp_path, width):
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    with chromium.visit(path, viewport={"width": width, "height": 800}) as (window, heard):
        assert window.evaluate("document.documentElement.scrollWidth") <= width
        assert window.locator("#found-title").is_visible()
        assert heard.messages == []
