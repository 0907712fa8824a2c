"""For the tests of the report: assessments made by hand, with round numbers and any names, and a strict parser."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np

from calibrant.results import Assessment, ClassSummary, Estimate, ReliabilityCurve, TestResult, Verdict

HOSTILE = {
    "script": "</script><script>window.hacked = 1</script>",
    "image": '<img src=x onerror="window.hacked = 1">',
    "attribute": '" onmouseover="window.hacked = 1" x=\'',
    "template": "{{ 7 * 7 }}{% for x in y %}",
    "entity": "&lt;b&gt; &amp;",
    "link": "javascript:window.hacked=1",
    "separators": "a\u2028b\u2029c",
    "long": "long " * 2000,
    "ansi": "\x1b[31mred\x1b[0m\x00\r\n",
    "reversed": "\u202etxt.exe",
    "surrogate": "half \ud800 a pair",
    "comment": "--><!-- ]]> </svg></style></title>",
    "spaces": "   ",
    "empty": "",
    "emoji": "naïve 👩‍🔬 模型",
    "proto": "__proto__",
}


def curve(*, n_points=5):
    """Return a curve whose first two points have intervals that hold their prediction, and no others do."""
    predicted = (np.arange(n_points) + 0.5) / n_points
    observed = np.where(np.arange(n_points) < 2, predicted, predicted - 0.1)
    weight = np.arange(1.0, n_points + 1)
    return ReliabilityCurve(
        predicted=predicted,
        observed=observed,
        low=observed - 0.05,
        high=observed + 0.05,
        lower=np.arange(n_points) / n_points,
        upper=(np.arange(n_points) + 1) / n_points,
        count=weight,
        weight=weight,
        level=0.9,
        kind="EqualWidth(n_bins=5)",
    )


def verdict(**changes):
    numbers = {"error": 0.0537, "expected": 0.0039, "detectable": 0.0056, "gap": 0.05, "pvalue": 0.01, "level": 0.05}
    words = {
        "code": "over-confident",
        "headline": "Over-confident: right less often than it says.",
        "explanation": "Why.",
    }
    return Verdict(**{**words, **numbers, **changes})


def consistency(*, statistic=0.0537, pvalue=0.01, seed=0):
    null = np.random.default_rng(seed).gamma(20.0, 0.0002, size=99)
    return TestResult(
        name="ConsistencyTest(n_resamples=99)", statistic=statistic, pvalue=pvalue, estimate=statistic, null=null
    )


def summaries(names):
    """Return classes whose errors grow in the order given."""
    return tuple(
        ClassSummary(name=name, n_observed=10 + i, predicted=0.3, observed=0.25, error=0.01 * (i + 1))
        for i, name in enumerate(names)
    )


def assessment(name="model", *, classes=("ant", "bee", "cat"), metrics=None, groups=(), **changes):
    """Return an assessment; `metrics` maps names to values, `groups` lists names."""
    values = {"accuracy": 0.9, "nll": 0.35, "ece": 0.0537} if metrics is None else metrics
    whole = Assessment(
        name=name,
        n_samples=1500,
        n_classes=len(classes),
        verdict=verdict(),
        metrics={key: Estimate(name=f"{key}()", value=value) for key, value in values.items()},
        test=consistency(),
        curve=curve(),
        classes=summaries(classes),
        settings={"seed": 0, "resamples": 99, "version": "0.0"},
    )
    parts = {group: replace(whole, name=group) for group in groups}
    return replace(whole, groups=parts, **changes)


def poisoned(text):
    """Return a page's worth of assessments in which every name and sentence is `text`."""
    one = assessment(text, classes=(text, "bee", "cat"), metrics={text: 0.5, "nll": np.inf}, groups=(text, "rest"))
    one = replace(
        one,
        metrics={
            text: Estimate(name=text, value=0.5, details={text: text}),
            "nll": Estimate(name=text, value=np.inf, details={"infinite_rows": 3}),
        },
        verdict=verdict(code=text, headline=text, explanation=text),
        test=replace(consistency(), name=text),
        curve=replace(curve(), kind=text),
        settings={text: text, "seed": 1},
    )
    return {text: one, "other": assessment("other")}


VOID = {"meta", "input"}


class Tree(HTMLParser):
    """The elements of a page in their order, with their own text; end tags must match."""

    def __init__(self, source):
        super().__init__()
        self.open, self.elements = [], []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        names = [key for key, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for element in self.open:
            element[2].append(data)

    def find(self, tag, **attributes):
        """Return attributes and text of the elements that have these attributes (`class_` for class)."""
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        found = [(a, "".join(t)) for name, a, t in self.elements if name == tag]
        return [(a, t) for a, t in found if all(a.get(key) == value for key, value in wanted.items())]

    @property
    def shape(self):
        return [(tag, sorted(attributes)) for tag, attributes, _ in self.elements]
