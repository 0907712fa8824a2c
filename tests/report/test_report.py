"""The page as a whole: structure, embedded data, security, arguments."""

import json
import re
import subprocess
import sys
from base64 import b64encode
from collections import Counter
from functools import cache
from hashlib import sha256

import numpy as np
import pytest

from calibrant import InputError, as_record
from calibrant._border import text
from calibrant.report import page, render_html
from calibrant.report.series import series_of
from calibrant.results.drawing import thinning
from report_cases import (
    HOSTILE,
    Tree,
    advised,
    assessment,
    comparison,
    dense_curve,
    pictured,
    poisoned,
    poisoned_page,
    verdict,
)


def data_of(source):
    return json.loads(Tree(source).find("script", id="data")[0][1])


@pytest.fixture(scope="module")
def two():
    return {"before": pictured(groups=("north", "south")), "after > ts": assessment("other", classes=("no", "yes"))}


@pytest.fixture(scope="module")
def source(two):
    return render_html(two, title="Two models", comparison=comparison("before", "after > ts"), fix=advised())


@pytest.fixture(scope="module")
def harmless():
    return Tree(poisoned_page("plain")).shape


class TestPage:
    def test_has_language_title_and_landmarks(self, source):
        tree = Tree(source)
        assert source.startswith("<!DOCTYPE html>\n")
        assert tree.find("html")[0][0]["lang"] == "en"
        assert tree.find("title")[0][1] == "Two models"
        assert [t for _, t in tree.find("h1")] == ["Two models"]
        assert all(len(tree.find(tag)) == 1 for tag in ("header", "main", "footer"))

    def test_ids_are_unique_and_references_lead_somewhere(self, source):
        elements = [attributes for _, attributes, _ in Tree(source).elements]
        ids = Counter(a["id"] for a in elements if "id" in a)
        references = [a[key] for a in elements for key in ("aria-labelledby", "aria-describedby") if key in a]
        assert set(ids.values()) == {1}
        assert len(references) >= 8
        assert set(references) <= set(ids)

    def test_tables_have_captions_and_headings_have_scopes(self, source):
        tree = Tree(source)
        assert len(tree.find("table")) == len(tree.find("caption")) >= 6
        assert all(a.get("scope") in {"col", "row", "rowgroup"} for a, _ in tree.find("th"))

    def test_same_assessments_give_the_same_page(self, two, source):
        how = {"comparison": comparison("before", "after > ts"), "fix": advised()}
        assert render_html(two, title="Two models", **how) == source

    def test_a_single_assessment_goes_by_its_own_name(self):
        tree = Tree(render_html(assessment("only one")))
        assert headings_of_cards(tree) == ["only one"]
        assert tree.find("input", type="checkbox") == []
        assert tree.find("title")[0][1] == "Calibration report"

    def test_several_go_by_their_keys(self, source):
        assert headings_of_cards(Tree(source)) == ["before", "after > ts"]

    def test_verdict_has_symbol_and_words(self, source):
        tree = Tree(source)
        icons = [a["aria-label"] for a, _ in tree.find("svg", class_="icon bad")]
        assert "Over-confident" in icons
        assert [t for _, t in tree.find("strong")][:2] == ["Over-confident"] * 2

    def test_sections_come_in_the_order_of_their_weight(self, source):
        titles = [t for _, t in Tree(source).find("h2")]
        assert titles == [
            "Verdict",
            "Reliability",
            "Metrics",
            "Before and after the fix",
            "What the scores are made of",
            "Classes",
            "Groups",
            "Could it be chance?",
            "Ranking",
            "Settings",
        ]

    def test_every_figure_is_named_and_has_its_data(self, source):
        tree = Tree(source)
        drawings = [a for a, _ in tree.find("svg") if "chart" in a["class"].split()]
        assert len(drawings) == 19
        assert all("aria-label" in a or "aria-labelledby" in a for a in drawings)
        sheets = {a["data-sheet"] for a, _ in tree.find("details") if "data-sheet" in a}
        assert sheets == {
            *("curves.isotonic", "curve", "curves.kernel", "cumulative", "metrics", "/comparison.entries"),
            *("decompositions", "classes", "classwise", "groups", "null", "ranking"),
        }

    def test_an_unknown_verdict_is_shown_as_it_is(self):
        tree = Tree(render_html(assessment(verdict=verdict(code="sideways"))))
        assert tree.find("svg", class_="icon bad")[0][0]["aria-label"] == "sideways"

    def test_is_small(self, source):
        assert len(source) < 250_000
        assert len(page.asset("page.js")) < 12_000


class TestData:
    def test_equals_what_is_shown(self, two, source):
        found = data_of(source)
        assert found["title"] == "Two models"
        assert [entry["label"] for entry in found["assessments"]] == [*two]
        shown = found["assessments"][0]["assessment"]
        assert shown["verdict"] == as_record(two["before"].verdict)
        assert shown["classes"] == as_record(two["before"].classes)
        assert shown["groups"]["north"] == {"n_samples": 1500, "verdict": as_record(two["before"].verdict)}
        assert shown["curve"]["observed"] == pytest.approx(two["before"].curve.observed.tolist(), rel=1e-6)
        differences = [entry["difference"] for entry in found["comparison"]["entries"][4:]]
        assert [d and d["value"] for d in differences] == [-0.1, -0.005, -0.04, None]
        assert found["fix"]["method"] == "ts"

    def test_numbers_have_seven_digits(self):
        found = data_of(render_html(assessment(metrics={"ece": 1 / 3, "count": 12345.0})))
        metrics = found["assessments"][0]["assessment"]["metrics"]
        assert metrics["ece"]["value"] == 0.3333333
        assert metrics["count"]["value"] == 12345

    def test_curves_have_a_few_hundred_points(self):
        page = render_html(assessment(curves={"isotonic": dense_curve(n_points=1000)}))
        dense = data_of(page)["assessments"][0]["assessment"]["curves"]["isotonic"]
        assert 100 < len(dense["predicted"]) <= thinning.MAX_POINTS
        assert sum(dense["count"]) == 1000

    def test_infinity_is_a_string(self):
        found = data_of(render_html(assessment(metrics={"nll": np.inf})))
        assert found["assessments"][0]["assessment"]["metrics"]["nll"]["value"] == "inf"


@cache
def poisoned_tree(hostile):
    return Tree(poisoned_page(hostile))


class TestSecurity:
    def test_policy_allows_this_style_and_script_only(self, source):
        tree = Tree(source)
        policy = tree.find("meta", http_equiv="Content-Security-Policy")[0][0]["content"]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        (style,), scripts = tree.find("style"), [t for a, t in tree.find("script") if "type" not in a]
        assert rules == {
            "default-src": "'none'",
            "style-src": f"'{sha(style[1])}'",
            "script-src": f"'{sha(scripts[0])}'",
            "base-uri": "'none'",
            "form-action": "'none'",
        }
        assert len(scripts) == 1

    def test_refers_to_nothing_outside(self, source):
        attributes = {key for _, found, _ in Tree(source).elements for key in found}
        assert not attributes & {"src", "href", "srcset", "action", "data", "style", "xlink:href"}
        assert not [key for key in attributes if key.startswith("on")]
        # Comments of the script, and digests in base64, may hold two slashes.
        assert "//" not in re.sub(r"^\s*//.*$|sha256-[\w+/]+=", "", source, flags=re.MULTILINE)
        assert "url(" not in source
        assert "@import" not in source

    @pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
    def test_hostile_text_changes_no_element_and_no_attribute(self, hostile, harmless):
        assert poisoned_tree(hostile).shape == harmless

    @pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
    def test_hostile_text_is_shown_and_kept(self, hostile):
        source = poisoned_page(hostile)
        tree = poisoned_tree(hostile)
        shown = text.name(hostile)
        assert headings_of_cards(tree)[0] == shown
        assert tree.find("title")[0][1] == tree.find("h1")[0][1] == text.name(hostile, limit=200)
        rows = [t for a, t in tree.find("th", scope="row")]
        # A metric, a class, a group and a setting.
        assert [row.strip() for row in rows].count(shown) >= 4
        kept = data_of(source)
        assert kept["title"] == kept["assessments"][0]["label"] == hostile
        assert kept["fix"]["recommendation"]["reasons"][0] == hostile
        assert kept["assessments"][0]["assessment"]["verdict"]["headline"] == hostile
        assert kept["assessments"][0]["assessment"]["classwise"]["names"] == ["cat", "bee", hostile]

    @pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
    def test_hostile_text_can_be_written_to_a_file(self, hostile):
        written = poisoned_page(hostile).encode("utf-8")
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", written)

    def test_embedded_data_cannot_end_its_element(self):
        embedded = page.embed("<!--</script>&\u2028\u2029", series_of(poisoned(HOSTILE["script"])))
        assert not set(embedded) & set("<>&\u2028\u2029")
        assert json.loads(embedded)["title"] == "<!--</script>&\u2028\u2029"

    def test_long_names_do_not_blow_up_the_page(self):
        long, short = (render_html({key: assessment(classes=(key, "b", "c"))}) for key in ("x" * 10_000, "x" * 80))
        assert len(long) - len(short) < 32_000  # The data holds the name twice, and the title of a table once.


def headings_of_cards(tree):
    return [t for a, t in tree.find("h3") if a.get("id", "").startswith("card-")]


def sha(content):
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


class TestArguments:
    def test_an_empty_mapping_is_refused(self):
        with pytest.raises(InputError, match="must hold at least one Assessment, but is empty"):
            render_html({})

    def test_other_kinds_are_refused(self):
        with pytest.raises(TypeError, match="must be an Assessment or a mapping of names to them, but is list"):
            render_html([assessment()])
        with pytest.raises(TypeError, match=r"assessments\['x'\] must be an Assessment, but is int"):
            render_html({"x": 1})
        with pytest.raises(TypeError, match="title must be a string, but is int"):
            render_html(assessment(), title=3)

    def test_missing_template_engine_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "jinja2", None)
        with pytest.raises(ImportError, match=r'pip install "calibrant\[cli\]"'):
            page.environment.__wrapped__()

    def test_the_template_engine_is_loaded_only_when_needed(self):
        code = "import sys, calibrant.report; print('jinja2' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "False"
