"""The report in a real browser: nothing is loaded, nothing hostile runs, and the controls work."""

import csv
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from browser import needs_chromium
from calibrant.report import render_html
from calibrant.results import writing as text
from report_cases import HOSTILE, advised, comparison, dense_curve, forecast, pictured, poisoned_page

pytestmark = needs_chromium

UNFOLD = "for (const details of document.querySelectorAll('details')) details.open = true"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@contextmanager
def opened(chromium, folder, source, *, quiet=True, **options):
    """Open a page from a file, and see to it that it asks for nothing and complains of nothing."""
    path = Path(folder) / "report.html"
    path.write_text(source, encoding="utf-8")
    with chromium.visit(path, **options) as (page, heard):
        yield page
    if quiet:
        assert heard.messages == []
        foreign = [url for url in heard.requests if not url.startswith(("blob:", "about:"))]
        assert foreign == [path.as_uri()]


def two_models(**changes):
    """Return a page of two models; the first has many classes, groups and these changes."""
    many = tuple(f"class {i}" for i in range(30))
    pair = {
        "before": replace(pictured(classes=many, groups=("north", "south")), **changes),
        "=after": pictured(metrics={"nll": np.inf}),
    }
    return render_html(pair, title="Two models", comparison=comparison("before", "=after"), fix=advised())


@pytest.fixture(scope="module")
def source():
    return two_models()


def test_curves_can_be_hidden_and_shown(chromium, folder, source):
    with opened(chromium, folder, source) as page:
        layers = page.locator('[data-view="isotonic"] [data-series="1"]')
        assert layers.count() == 2  # The curve and its strip.
        page.get_by_role("checkbox", name="=after").uncheck()
        assert [layer.is_visible() for layer in layers.all()] == [False, False]
        assert page.locator('[data-series="0"]').first.is_visible()
        page.get_by_role("checkbox", name="=after").check()
        assert [layer.is_visible() for layer in layers.all()] == [True, True]


VIEWS = ["isotonic", "binned", "kernel", "cumulative", "bias"]


def test_every_view_can_be_switched_to_by_mouse_and_keyboard(chromium, folder, source):
    def shown():
        panels = page.locator("[data-view]")
        return [panel.get_attribute("data-view") for panel in panels.all() if panel.is_visible()]

    with opened(chromium, folder, source) as page:
        assert shown() == ["isotonic"]
        for view in VIEWS:
            page.locator(".switch label", has_text=view.capitalize()).click()
            assert shown() == [view]
            assert page.locator(f'[data-view="{view}"] .diagram').first.is_visible()
        page.keyboard.press("ArrowLeft")
        assert shown() == ["cumulative"]


def test_the_worst_24_classes_are_drawn_and_metrics_explain_themselves(chromium, folder, source):
    with opened(chromium, folder, source) as page:
        titles = page.locator("[aria-label='Small reliability diagrams of before'] .multiple-title")
        assert titles.all_inner_texts() == ["Average", *(f"class {i}" for i in range(29, 5, -1))]
        term = page.locator("abbr", has_text="Accuracy").first
        term.focus()
        assert page.get_by_role("tooltip").inner_text().startswith("Share of rows")
        assert term.get_attribute("aria-describedby") == "tip"


def test_tables_can_be_searched_sorted_and_unfolded(chromium, folder, source):
    with opened(chromium, folder, source) as page:
        table = page.get_by_role("table", name="Classes of before")
        names = table.locator("tbody th:visible")
        assert names.all_inner_texts() == [f"class {i}" for i in range(29, 19, -1)]
        page.get_by_role("searchbox", name="Search classes").fill("CLASS 1")
        assert names.all_inner_texts() == [f"class {i}" for i in (*range(19, 9, -1), 1)]
        page.get_by_role("searchbox").fill("")
        assert names.count() == 10
        page.get_by_role("button", name="Class", exact=True).first.click()
        assert names.all_inner_texts() == [f"class {i}" for i in range(10)]
        assert table.locator("[aria-sort]").get_attribute("aria-sort") == "ascending"
        page.get_by_role("button", name="Rows").first.click()
        assert names.first.inner_text() == "class 29"
        page.get_by_role("button", name="Rows").first.click()
        assert names.first.inner_text() == "class 0"
        page.get_by_role("button", name="Show all 30").click()
        assert names.count() == 30
        page.get_by_role("button", name="Show the first 10").click()
        assert names.count() == 10


def test_points_and_dense_curves_tell_their_numbers_to_mouse_and_keyboard(chromium, folder, source):
    with opened(chromium, folder, source, viewport={"width": 1100, "height": 1600}) as page:
        tip = page.get_by_role("tooltip")
        page.locator(".switch label", has_text="Binned").click()
        binned = page.locator('[data-view="binned"]')
        binned.locator('[data-series="1"] .point').nth(2).hover()  # The topmost of two that lie on each other.
        assert tip.inner_text().split("\n")[0] == "=after"
        assert "0.400 to 0.600" in tip.inner_text()
        binned.locator('[data-series="0"] .point').first.focus()
        assert tip.inner_text().split("\n")[0] == "before"
        page.keyboard.press("ArrowRight")
        assert "0.200 to 0.400" in tip.inner_text()
        page.keyboard.press("End")
        assert "0.800 to 1" in tip.inner_text()
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        page.keyboard.press("Tab")
        assert tip.inner_text().startswith("=after")
        page.locator(".switch label", has_text="Isotonic").click()
        page.locator('[data-view="isotonic"] [data-series="0"] .probe').first.focus()
        assert "Frequency\n0" in tip.inner_text()
        page.locator(".switch label", has_text="Cumulative").click()
        page.locator('[data-view="cumulative"] [data-series="0"] .probe').nth(1).focus()
        assert tip.inner_text().split("\n")[1:] == [
            *("Predictions up to", "0.400"),
            *("Rows", "750 (50.0%)"),
            *("Sum", "\N{MINUS SIGN}0.0400"),
        ]


def sheets_of(page):
    """Open the data of every figure; return the rows of the files that the links save and of the tables, by name."""
    page.evaluate("for (const box of document.querySelectorAll('[data-view]')) box.hidden = false")
    saved, shown = {}, {}
    for place in page.locator("[data-sheet]").all():
        place.locator("summary").click()
        name = place.get_attribute("data-name")
        with page.expect_download() as download:
            place.get_by_role("link", name="Download CSV").click()
        assert download.value.suggested_filename == f"{name}.csv"
        with Path(download.value.path()).open(newline="", encoding="utf-8") as file:
            saved[name] = list(csv.reader(file))
        shown[name] = place.evaluate(
            "p => Array.from(p.querySelectorAll('tr'), r => Array.from(r.cells, c => c.innerText))"
        )
    return saved, shown


def test_every_figure_has_its_data_as_table_and_as_csv(chromium, folder):
    """The table beside a figure shows 500 rows at most, the file has them all."""
    long = {"isotonic": dense_curve(n_points=600), "kernel": replace(dense_curve(n_points=101), kind="kernel")}
    with opened(chromium, folder, two_models(curves=long)) as page:
        sheets, shown = sheets_of(page)
        data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    assert set(sheets) == {
        *("isotonic", "binned", "kernel", "cumulative", "bias", "metrics", "differences", "decompositions"),
        *("classes", "classwise", "groups", "null", "roc"),
    }
    assert {name: len(rows) for name, rows in shown.items()} == {
        name: min(len(rows), 501) for name, rows in sheets.items()
    }
    curves = sheets["binned"]
    assert curves[0] == ["predictions", "predicted", "observed", "low", "high", "lower", "upper", "count", "weight"]
    assert [float(v) for v in curves[3][1:]] == pytest.approx([0.5, 0.4, 0.35, 0.45, 0.4, 0.6, 3, 3])
    assert len(curves) == 1 + 5 + 5
    # A spreadsheet must not take the name for a formula.
    assert curves[-1][0] == "'=after"
    assert ["'=after", "nll", "nll()", "inf"] in sheets["metrics"]
    assert len(sheets["null"]) == 1 + 2 * (1 + 99)
    assert len(sheets["classes"]) == 1 + 30 + 3
    assert [row[:3] for row in sheets["groups"][1:]] == [["before", "north", "1500"], ["before", "south", "1500"]]
    assert sheets["differences"][0][:4] == ["model", "metric", "better", "value"]
    isotonic = data["assessments"][0]["assessment"]["curves"]["isotonic"]
    rows = [row for row in sheets["isotonic"] if row[0] == "before"]
    assert [float(row[1]) for row in rows] == isotonic["predicted"]
    assert [float(row[1]) for row in shown["isotonic"][1 : 1 + len(rows)]] == pytest.approx(
        isotonic["predicted"], rel=1e-3
    )


def test_forecasts_have_figures_that_tell_their_numbers(chromium, folder):
    page_of_two = render_html({"narrow": forecast(), "=wide": forecast()}, title="Forecasts")
    with opened(chromium, folder, page_of_two, viewport={"width": 1100, "height": 1600}) as page:
        page.locator(".pit-0 .probe").first.focus()
        assert page.get_by_role("tooltip").inner_text().split("\n")[1:5] == ["Transforms", "0 to 0.25", "Rows", "30"]
        page.get_by_role("checkbox", name="=wide").uncheck()
        assert not page.locator('.spread [data-series="1"]').is_visible()
        sheets, _ = sheets_of(page)
    assert set(sheets) == {"pit", "quantiles", "intervals", "spread", "metrics", "null"}
    assert sheets["pit"][1] == ["narrow", "0", "0.25", "30", "17", "33"]
    with opened(chromium, folder, page_of_two, viewport={"width": 320, "height": 700}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_numbers_on_the_page_are_those_of_the_data(chromium, folder, source):
    with opened(chromium, folder, source) as page:
        data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
        facts = page.locator(".card").first.locator(".facts dd").all_inner_texts()
        classes = page.get_by_role("table", name="Classes of before").locator("tbody tr")
        errors = classes.locator("td:last-child").evaluate_all("cells => cells.map(c => Number(c.dataset.value))")
        areas = page.get_by_role("table", name="Areas under the curves").locator("tbody td").all_inner_texts()
    first = data["assessments"][0]["assessment"]
    verdict = first["verdict"]
    written = [text.number(verdict[key]) for key in ("error", "low", "high", "tolerance", "expected", "detectable")]
    error, low, high, *others = written
    assert facts == [
        *(error, f"{low} to {high}", *others, text.signed(verdict["gap"]), "p ≤ 0.01", verdict["gave_away"])
    ]
    assert errors == pytest.approx(sorted((c["error"] for c in first["classes"]), reverse=True))
    assert areas[:2] == [text.number(first["ranking"][key]) for key in ("auc", "hull_auc")]


@pytest.mark.parametrize("hostile", ["script", "image", "attribute", "link", "long", "separators", "comment", "proto"])
def test_hostile_names_run_nothing(chromium, folder, hostile):
    title = HOSTILE[hostile]
    with opened(chromium, folder, poisoned_page(title)) as page:
        page.evaluate(UNFOLD)
        page.locator(".point").first.focus()
        assert page.evaluate("window.hacked") is None
        assert page.locator("h1").inner_text() == page.title()
        assert page.locator("img").count() == 0
        # The script ran to its end, and every table was filled.
        page.wait_for_function("document.querySelectorAll('[data-sheet] a').length === 14")


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


@pytest.mark.parametrize("width", [320, 375, 768])
def test_the_page_never_scrolls_sideways_and_shows_every_value_of_both_models(chromium, folder, source, width):
    cut = """() => Array.from(document.querySelectorAll(".stacked :is(td, th)"))
        .filter((cell) => cell.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length"""
    with opened(chromium, folder, source, viewport={"width": width, "height": 700}) as page:
        for view in VIEWS:
            page.locator(".switch label", has_text=view.capitalize()).click()
            assert page.evaluate("document.documentElement.scrollWidth") == width
        page.evaluate(UNFOLD)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.locator(".metrics.stacked thead th").count() >= 3
        assert page.evaluate(cut) == 0


LOOKS = {
    "light": {"viewport": {"width": 1100, "height": 800}},
    "dark": {"viewport": {"width": 1100, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 375, "height": 700}},
    "print": {"viewport": {"width": 700, "height": 900}},
}


@pytest.mark.parametrize("look", LOOKS)
def test_pictures_of_the_page_can_be_taken(chromium, folder, source, look):
    inside = """() => Array.from(document.querySelectorAll("section > *, figure > *"))
        .filter((node) => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length"""
    with opened(chromium, folder, source, **LOOKS[look]) as page:
        if look == "print":
            page.emulate_media(media="print")
            assert not page.locator(".switch").is_visible()
        assert page.evaluate(inside) == 0
        image = page.screenshot(full_page=True, path=folder / f"{look}.png")
        assert len(image) > 50_000
        if look == "print":
            assert page.pdf(format="A4").startswith(b"%PDF")


def test_frames_that_scroll_can_be_reached_by_keyboard(chromium, folder, source):
    frames = "Array.from(document.querySelectorAll('.scroll')).filter(f => f.scrollWidth > f.clientWidth)"
    with opened(chromium, folder, source, viewport={"width": 320, "height": 700}) as page:
        assert page.evaluate(f"{frames}.length") > 0
        assert page.evaluate(f"{frames}.every(f => f.tabIndex === 0)")
    with opened(chromium, folder, source, viewport={"width": 1400, "height": 700}) as page:
        assert page.locator(".scroll[tabindex]").count() == 0


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


def test_follows_the_colour_scheme_with_text_that_stands_out_and_prints_light(chromium, folder, source):
    paper = "getComputedStyle(document.body).backgroundColor"
    with opened(chromium, folder, source, color_scheme="dark") as page:
        assert page.evaluate(paper) == "rgb(20, 23, 26)"
        assert page.evaluate(CONTRAST) >= 4.5  # WCAG 2, level AA.
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(paper) == "rgb(255, 255, 255)"
        assert not page.locator("[data-toggle]").first.is_visible()
    with opened(chromium, folder, source, color_scheme="light") as page:
        assert page.evaluate(paper) == "rgb(255, 255, 255)"
        assert page.evaluate(CONTRAST) >= 4.5
