"""The report in a real browser: nothing is loaded, nothing hostile runs, and the controls work."""

import csv
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from calibrant.report import render_html
from report_cases import HOSTILE, assessment, poisoned

CHROMIUM = shutil.which("chromium")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="the browser tests need chromium on the path")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

UNFOLD = "for (const details of document.querySelectorAll('details')) details.open = true"


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@contextmanager
def opened(chromium, folder, source, *, quiet=True, **options):
    """Open a page from a file, and see to it that it asks for nothing and complains of nothing."""
    path = Path(folder) / "report.html"
    path.write_text(source, encoding="utf-8")
    context = chromium.new_context(**options)
    context.set_default_timeout(5_000)
    page = context.new_page()
    heard, asked = [], []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: heard.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(path.as_uri())
        yield page
    finally:
        context.close()
    if quiet:
        assert heard == []
        assert [url for url in asked if not url.startswith("blob:")] == [path.as_uri()]


@pytest.fixture(scope="module")
def source():
    many = tuple(f"class {i}" for i in range(30))
    pair = {
        "before": assessment(classes=many, groups=("north", "south")),
        "=after": assessment(metrics={"nll": np.inf}),
    }
    return render_html(pair, title="Two models")


def test_curves_can_be_hidden_and_shown(chromium, folder, source):
    with opened(chromium, folder, source) as page:
        layers = page.locator('[data-series="1"]')
        assert layers.count() == 2  # The curve and its strip.
        page.get_by_role("checkbox", name="=after").uncheck()
        assert [layer.is_visible() for layer in layers.all()] == [False, False]
        assert page.locator('[data-series="0"]').first.is_visible()
        page.get_by_role("checkbox", name="=after").check()
        assert [layer.is_visible() for layer in layers.all()] == [True, True]


def test_tables_sort_and_unfold(chromium, folder, source):
    with opened(chromium, folder, source) as page:
        table = page.get_by_role("table", name="Classes of before")
        names = table.locator("tbody th:visible")
        assert names.all_inner_texts() == [f"class {i}" for i in range(29, 9, -1)]
        page.get_by_role("button", name="Class", exact=True).first.click()
        assert names.all_inner_texts() == [f"class {i}" for i in range(20)]
        assert table.locator("[aria-sort]").get_attribute("aria-sort") == "ascending"
        page.get_by_role("button", name="Rows").first.click()
        assert names.first.inner_text() == "class 29"
        page.get_by_role("button", name="Rows").first.click()
        assert names.first.inner_text() == "class 0"
        page.get_by_role("button", name="Show all 30").click()
        assert names.count() == 30
        page.get_by_role("button", name="Show the first 20").click()
        assert names.count() == 20


def test_points_tell_their_numbers_to_mouse_and_keyboard(chromium, folder, source):
    with opened(chromium, folder, source, viewport={"width": 1100, "height": 1600}) as page:
        tip = page.get_by_role("tooltip")
        page.locator('[data-series="1"] .point').nth(2).hover()  # The topmost of two that lie on each other.
        assert tip.inner_text().split("\n")[0] == "=after"
        assert "0.400 to 0.600" in tip.inner_text()
        page.locator('[data-series="0"] .point').first.focus()
        assert tip.inner_text().split("\n")[0] == "before"
        page.keyboard.press("ArrowRight")
        assert "0.200 to 0.400" in tip.inner_text()
        page.keyboard.press("End")
        assert "0.800 to 1" in tip.inner_text()
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        page.keyboard.press("Tab")
        assert tip.inner_text().startswith("=after")


def test_metrics_explain_themselves(chromium, folder, source):
    with opened(chromium, folder, source) as page:
        term = page.locator("abbr", has_text="Accuracy")
        term.focus()
        assert page.get_by_role("tooltip").inner_text().startswith("Share of rows")
        assert term.get_attribute("aria-describedby") == "tip"


def test_every_figure_can_be_saved_as_csv(chromium, folder, source):
    with opened(chromium, folder, source) as page:
        sheets = {}
        for link in page.get_by_role("link", name="Download CSV").all():
            with page.expect_download() as download:
                link.click()
            with Path(download.value.path()).open(newline="", encoding="utf-8") as file:
                sheets[download.value.suggested_filename] = list(csv.reader(file))
    assert set(sheets) == {"curves.csv", "metrics.csv", "null.csv", "classes.csv", "groups.csv"}
    curves = sheets["curves.csv"]
    assert curves[0] == ["predictions", "lower", "upper", "count", "weight", "predicted", "observed", "low", "high"]
    assert [float(v) for v in curves[3][1:]] == pytest.approx([0.4, 0.6, 3, 3, 0.5, 0.4, 0.35, 0.45])
    assert len(curves) == 1 + 5 + 5
    # A spreadsheet must not take the name for a formula.
    assert curves[-1][0] == "'=after"
    assert ["'=after", "nll", "inf", "nll()"] in sheets["metrics.csv"]
    assert len(sheets["null.csv"]) == 1 + 2 * (1 + 99)
    assert len(sheets["classes.csv"]) == 1 + 30 + 3
    assert [row[:3] for row in sheets["groups.csv"][1:]] == [["before", "north", "1500"], ["before", "south", "1500"]]


@pytest.mark.parametrize("hostile", ["script", "image", "attribute", "link", "long", "separators", "comment", "proto"])
def test_hostile_names_run_nothing(chromium, folder, hostile):
    title = HOSTILE[hostile]
    with opened(chromium, folder, render_html(poisoned(title), title=title)) as page:
        page.evaluate(UNFOLD)
        page.locator(".point").first.focus()
        assert page.evaluate("window.hacked") is None
        assert page.locator("h1").inner_text() == page.title()
        assert page.locator("img").count() == 0
        assert page.locator('[data-csv="classes"] a').count() == 1  # The script ran to its end.


def test_the_policy_stops_foreign_scripts_styles_and_requests(chromium, folder, source):
    with opened(chromium, folder, source, quiet=False) as page:
        page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.hacked = 1";
                document.body.append(script);
                document.body.setAttribute("style", "opacity: 0.5");
            }"""
        )
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("getComputedStyle(document.body).opacity") == "1"
        assert page.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'stopped')") == "stopped"


@pytest.mark.parametrize("width", [320, 768])
def test_the_page_never_scrolls_sideways(chromium, folder, source, width):
    with opened(chromium, folder, source, viewport={"width": width, "height": 700}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.evaluate(UNFOLD)
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_frames_that_scroll_can_be_reached_by_keyboard(chromium, folder, source):
    frames = "Array.from(document.querySelectorAll('.scroll')).filter(f => f.scrollWidth > f.clientWidth)"
    with opened(chromium, folder, source, viewport={"width": 320, "height": 700}) as page:
        assert page.evaluate(f"{frames}.length") > 0
        assert page.evaluate(f"{frames}.every(f => f.tabIndex === 0)")
    with opened(chromium, folder, source, viewport={"width": 1400, "height": 700}) as page:
        assert page.locator(".scroll[tabindex]").count() == 0


def test_follows_the_colour_scheme_and_prints_light(chromium, folder, source):
    paper = "getComputedStyle(document.body).backgroundColor"
    with opened(chromium, folder, source, color_scheme="dark") as page:
        assert page.evaluate(paper) == "rgb(20, 23, 26)"
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(paper) == "rgb(255, 255, 255)"
        assert not page.locator("[data-toggle]").first.is_visible()
    with opened(chromium, folder, source, color_scheme="light") as page:
        assert page.evaluate(paper) == "rgb(255, 255, 255)"


CONTRAST = """() => {
  const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = numbers(colour).map(channel);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backdrop = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (numbers(colour)[3] !== 0) return colour;
    }
  };
  const worst = [];
  const written = "h1, h2, h3, p, dt, dd, th, td, summary, figcaption, label, a, code, li";
  for (const node of document.querySelectorAll(written)) {
    const [a, b] = [light(getComputedStyle(node).color), light(backdrop(node))].sort((x, y) => y - x);
    worst.push((a + 0.05) / (b + 0.05));
  }
  return Math.min(...worst);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(chromium, folder, source, scheme):
    with opened(chromium, folder, source, color_scheme=scheme) as page:
        assert page.evaluate(CONTRAST) >= 4.5  # WCAG 2, level AA.
