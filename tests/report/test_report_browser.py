"""The report in a real browser: nothing is loaded, nothing hostile runs, and the controls work."""

import csv
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from browser import WRITTEN, needs_chromium
from calibrant._border import numerals
from calibrant.report import render_html
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


@pytest.fixture(scope="module")
def shared(chromium, folder, source):
    """A page that is opened once, for tests that leave it as they found it."""
    with opened(chromium, folder, source) as page:
        yield page


def test_curves_can_be_hidden_and_shown(shared):
    layers = shared.locator('[data-view="isotonic"] [data-series="1"]')
    assert layers.count() == 2  # The curve and its strip.
    shared.get_by_role("checkbox", name="=after").uncheck()
    assert [layer.is_visible() for layer in layers.all()] == [False, False]
    assert shared.locator('[data-series="0"]').first.is_visible()
    shared.get_by_role("checkbox", name="=after").check()
    assert [layer.is_visible() for layer in layers.all()] == [True, True]


VIEWS = ["isotonic", "binned", "kernel", "cumulative", "bias"]


VISIBLE = (
    "Array.from(document.querySelectorAll('[data-view]')).filter((v) => v.checkVisibility()).map((v) => v.dataset.view)"
)


def test_every_view_can_be_switched_to_by_mouse_and_keyboard(shared):
    assert shared.evaluate(VISIBLE) == ["isotonic"]
    for view in [*VIEWS[1:], VIEWS[0], VIEWS[-1]]:
        shared.locator(".switch label", has_text=view.capitalize()).click()
        assert shared.evaluate(VISIBLE) == [view]
        assert shared.locator(f'[data-view="{view}"] .diagram').first.is_visible()
    shared.keyboard.press("ArrowLeft")
    assert shared.evaluate(VISIBLE) == ["cumulative"]
    for _ in VIEWS[:-2]:
        shared.keyboard.press("ArrowLeft")
    assert shared.evaluate(VISIBLE) == ["isotonic"]


def test_the_worst_24_classes_are_drawn_and_metrics_explain_themselves(shared):
    titles = shared.locator("[aria-label='Small reliability diagrams of before'] .multiple-title")
    assert titles.all_inner_texts() == ["Average", *(f"class {i}" for i in range(29, 5, -1))]
    term = shared.locator("abbr", has_text="Accuracy").first
    term.focus()
    assert shared.get_by_role("tooltip").inner_text().startswith("Share of rows")
    assert term.get_attribute("aria-describedby") == "tip"
    term.blur()


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


KEEP = """() => {
  const make = URL.createObjectURL;
  window.saved = new Map();
  URL.createObjectURL = (blob) => {
    const href = make.call(URL, blob);
    window.saved.set(href, blob);
    return href;
  };
}"""
SHEETS = """() => Promise.all(Array.from(document.querySelectorAll("[data-sheet]"), async (place) => {
  const [link, ...more] = place.querySelectorAll("a[download]");
  const rows = Array.from(place.querySelectorAll("tr"), (row) => Array.from(row.cells, (cell) => cell.innerText));
  const text = await window.saved.get(link.href).text();
  return [place.dataset.name, rows, text, [link.download, link.innerText, more.length]];
}))"""


def sheets_of(page):
    """Open the data of every figure; return the rows of the files that the links save and of the tables, by name.

    The first place is opened and its file saved by the mouse, which takes longer than to look at what a link saves.
    """
    page.evaluate("for (const box of document.querySelectorAll('[data-view]')) box.hidden = false")
    page.evaluate(KEEP)
    first = page.locator("[data-sheet]").first
    first.locator("summary").click()
    with page.expect_download() as download:
        first.get_by_role("link", name="Download CSV").click()
    page.evaluate("for (const place of document.querySelectorAll('[data-sheet]')) place.open = true")
    page.wait_for_function("Array.from(document.querySelectorAll('[data-sheet]')).every((p) => p.querySelector('a'))")
    saved, shown = {}, {}
    for name, rows, content, link in page.evaluate(SHEETS):
        assert link == [f"{name}.csv", "Download CSV", 0]
        if not saved:
            assert download.value.suggested_filename == f"{name}.csv"
            assert Path(download.value.path()).read_bytes() == content.encode()
        saved[name], shown[name] = list(csv.reader(content.splitlines(keepends=True))), rows
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


def test_numbers_on_the_page_are_those_of_the_data(shared):
    data = shared.evaluate("JSON.parse(document.getElementById('data').textContent)")
    facts = shared.locator(".card").first.locator(".facts dd").all_inner_texts()
    classes = shared.get_by_role("table", name="Classes of before").locator("tbody tr")
    errors = classes.locator("td:last-child").evaluate_all("cells => cells.map(c => Number(c.dataset.value))")
    areas = shared.get_by_role("table", name="Areas under the curves").locator("tbody td").all_inner_texts()
    first = data["assessments"][0]["assessment"]
    verdict = first["verdict"]
    written = [numerals.number(verdict[key]) for key in ("error", "low", "high", "tolerance", "expected", "detectable")]
    error, low, high, *others = written
    assert facts == [
        *(error, f"{low} to {high}", *others, numerals.signed(verdict["gap"]), "p ≤ 0.01", verdict["gave_away"])
    ]
    assert errors == pytest.approx(sorted((c["error"] for c in first["classes"]), reverse=True))
    assert areas[:2] == [numerals.number(first["ranking"][key]) for key in ("auc", "hull_auc")]


POISONED = """(document) => {
  const places = Array.from(document.querySelectorAll("[data-sheet]"));
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const place of places) place.dispatchEvent(new Event("toggle"));
  document.querySelector(".point").dispatchEvent(new Event("focus"));
  return [document.defaultView.hacked ?? null, document.querySelector("h1").textContent === document.title,
    document.querySelectorAll("img").length, document.querySelector("#tip").hidden,
    places.filter((place) => place.querySelectorAll("a").length === 1).length];
}"""


def test_hostile_names_run_nothing(chromium, folder):
    """Every name and sentence is hostile; the script ran to its end, and every table was filled.

    With a few texts: test_report_security has many more, and TestSecurity has them all without a browser.
    """
    some = ("script", "image", "attribute", "comment", "proto")
    sources = [poisoned_page(HOSTILE[key]) for key in some]
    with opened(chromium, folder, '<!DOCTYPE html><meta charset="utf-8">') as page:
        pages = page.evaluate(f"(sources) => ({WRITTEN})(sources, {POISONED})", sources)
        assert page.evaluate("[window, ...Array.from(frames)].every((one) => one.hacked === undefined)")
    assert dict(zip(some, pages, strict=True)) == {key: [None, True, 0, False, 14] for key in some}


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


SIDEWAYS = """(views) => {
  const wide = () => document.documentElement.scrollWidth;
  const found = views.map((view) => {
    const label = Array.from(document.querySelectorAll(".switch label")).find((l) => l.innerText.trim() === view);
    label.scrollIntoView({ block: "center" });
    const { x, y, width, height } = label.getBoundingClientRect();
    const hit = label.contains(document.elementFromPoint(x + width / 2, y + height / 2));
    label.click();
    return [hit, wide()];
  });
  const folded = Array.from(document.querySelectorAll("details")).filter((details) => !details.open);
  for (const details of folded) details.open = true;
  const cut = Array.from(document.querySelectorAll(".stacked :is(td, th)"))
    .filter((cell) => cell.getBoundingClientRect().right > document.documentElement.clientWidth + 1);
  const unfolded = wide();
  for (const details of folded) details.open = false;
  return { found, unfolded, folded: folded.length, cut: cut.length,
    heads: document.querySelectorAll(".metrics.stacked thead th").length };
}"""
FRAMES = "Array.from(document.querySelectorAll('.scroll')).filter(f => f.scrollWidth > f.clientWidth)"


def test_the_page_never_scrolls_sideways_and_shows_every_value_of_both_models(chromium, folder, source):
    """Frames that scroll can be reached by the keyboard, in a narrow window and in one that was made wide."""
    with opened(chromium, folder, source, viewport={"width": 320, "height": 700}) as page:
        assert page.evaluate(f"{FRAMES}.length") > 0
        assert page.evaluate(f"{FRAMES}.every(f => f.tabIndex === 0)")
        for width in (320, 375, 768):
            page.set_viewport_size({"width": width, "height": 700})
            seen = page.evaluate(SIDEWAYS, [view.capitalize() for view in VIEWS])
            assert seen["found"] == [[True, width]] * len(VIEWS)
            assert seen["unfolded"] == width
            assert seen["folded"] > 0
            assert seen["heads"] >= 3
            assert seen["cut"] == 0
        page.set_viewport_size({"width": 1400, "height": 700})
        page.wait_for_function("document.querySelectorAll('.scroll[tabindex]:not(.tall)').length === 0")


LOOKS = {
    "light": {"viewport": {"width": 1100, "height": 800}},
    "dark": {"viewport": {"width": 1100, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 375, "height": 700}},
    "print": {"viewport": {"width": 700, "height": 900}},
}
INSIDE = """Array.from(document.querySelectorAll("section > *, figure > *"))
  .filter((node) => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length"""
PAPER = "getComputedStyle(document.body).backgroundColor"


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


@pytest.mark.parametrize("look", LOOKS)
def test_pictures_of_the_page_can_be_taken(chromium, folder, source, look):
    """The page follows the colour scheme, its text stands out, and it prints light."""
    with opened(chromium, folder, source, **LOOKS[look]) as page:
        if look == "print":
            page.emulate_media(media="print", color_scheme="dark")
            assert not page.locator(".switch").is_visible()
            assert not page.locator("[data-toggle]").first.is_visible()
            assert page.pdf(format="A4").startswith(b"%PDF")
        else:
            assert page.evaluate(CONTRAST) >= 4.5  # WCAG 2, level AA.
        assert page.evaluate(PAPER) == ("rgb(20, 23, 26)" if look == "dark" else "rgb(255, 255, 255)")
        assert page.evaluate(INSIDE) == 0
        # The whole page once: to paint it takes as long as the rest.
        image = page.screenshot(full_page=look == "light", type="jpeg", quality=30, path=folder / f"{look}.jpg")
        shown = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
        width, height = page.evaluate(shown) if look == "light" else LOOKS[look]["viewport"].values()
        assert len(image) > 0.02 * width * height  # A blank picture takes a third of that.
