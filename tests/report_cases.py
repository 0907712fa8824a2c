"""For the tests of the report: assessments made by hand, with round numbers and any names, and a strict parser."""

from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np

from calibrant.metrics import FORECAST_METRICS, METRICS
from calibrant.report import render_html
from calibrant.results import (
    Assessment,
    Candidate,
    ClassSummary,
    ClasswiseCurves,
    Compared,
    Comparison,
    CoveredPart,
    CumulativeCurve,
    CurveLine,
    Description,
    Difference,
    DrawnIntervals,
    Estimate,
    ExperimentResult,
    Fix,
    ForecastAssessment,
    IntervalCheck,
    LearningCurve,
    LearningPoint,
    NetError,
    OutcomeHistogram,
    Pipeline,
    PipelineCurves,
    PITHistogram,
    QuantileCurve,
    Recommendation,
    ReliabilityCurve,
    ROCOutline,
    ScoreDecomposition,
    SeedSummary,
    SpreadCurve,
    TestResult,
    Verdict,
)

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


def dense_curve(*, n_points=1000):
    """Return a curve with a consistency band around the diagonal that it leaves above 0.5."""
    predicted = np.linspace(0, 1, n_points)
    return ReliabilityCurve(
        predicted=predicted,
        observed=np.where(predicted < 0.5, predicted, predicted**2 + 0.25),
        low=np.maximum(predicted - 0.1, 0),
        high=np.minimum(predicted + 0.1, 1),
        lower=predicted,
        upper=predicted,
        count=np.ones(n_points),
        weight=np.ones(n_points),
        level=0.9,
        kind="isotonic",
        band="consistency",
        histogram=OutcomeHistogram(
            edges=np.linspace(0, 1, 5), positives=np.array([1.0, 2, 3, 4]), negatives=np.array([4.0, 3, 2, 1])
        ),
    )


def path():
    """Return a running sum that falls to -0.04 and comes back."""
    return CumulativeCurve(
        share=np.array([0.0, 0.5, 1.0]),
        predicted=np.array([0.1, 0.4, 0.9]),
        cumulative=np.array([0.0, -0.04, -0.01]),
        sigma=0.005,
        ecce=Estimate(name="ECCE", value=0.04),
        ecce_range=Estimate(name="ECCE, range", value=0.04),
        worst=NetError(start=0.0, stop=0.5, lower=0.1, upper=0.4, count=750, predicted=0.28, observed=0.2, net=-0.04),
        n_samples=1500,
        n_distinct=3,
    )


def parts(score, value):
    return ScoreDecomposition(
        score=score,
        method="corp",
        view="top-label",
        value=value,
        miscalibration=value - 0.15,
        discrimination=0.05,
        uncertainty=0.2,
        within=0.0,
    )


def pictures(classes):
    """Return what the figures of an assessment show, by the names of its fields."""
    curves = tuple(replace(curve(), error=Estimate(name="ECE", value=0.01 * (i + 1))) for i, _ in enumerate(classes))
    return {
        "curves": {"isotonic": dense_curve(n_points=50), "kernel": replace(dense_curve(n_points=50), kind="kernel")},
        "cumulative": path(),
        "decompositions": (parts("squared-error", 0.18), parts("log", np.inf)),
        "ranking": ROCOutline(
            false_positive_rate=np.array([0.0, 0.25, 0.5, 1.0]),
            true_positive_rate=np.array([0.0, 0.5, 0.6, 1.0]),
            score=np.array([np.inf, 0.9, 0.5, 0.1]),
            hull=np.array([[0.0, 0.0], [0.25, 0.5], [1.0, 1.0]]),
            auc=0.6,
            hull_auc=0.625,
            view="top-label",
        ),
        "classwise": ClasswiseCurves(names=tuple(classes), curves=curves, average=curve()),
    }


def difference(value, **changes):
    settings = {
        "low": value - 0.01,
        "high": value + 0.01,
        "pvalue": 0.002,
        "adjusted": 0.004,
        "is_significant": abs(value) > 0.01,
    }
    return Difference(value=value, **{**settings, **changes})


def comparison(before="before", after="after"):
    """Return a comparison in which the log loss falls, the accuracy could be the same, and the ECE is infinite."""
    shown = {
        "nll": ("lower", 0.5, 0.4, difference(-0.1)),
        "accuracy": ("higher", 0.9, 0.895, difference(-0.005)),
        "ece": ("lower", 0.05, 0.01, difference(-0.04)),
        "brier": ("lower", np.inf, np.inf, None),
    }
    first = [Compared(model=before, metric=m, better=b, value=old) for m, (b, old, _, _) in shown.items()]
    second = [Compared(model=after, metric=m, better=b, value=new, difference=d) for m, (b, _, new, d) in shown.items()]
    return Comparison(
        models=(before, after),
        metrics=tuple(shown),
        baseline=before,
        n_samples=1500,
        n_resamples=199,
        level=0.9,
        entries=(*first, *second),
        about={key: METRICS[key].about() if key in METRICS else described(key) for key in shown},
    )


def candidate(name, loss):
    return Candidate(
        name=name,
        loss=loss,
        accuracy=0.9,
        ece=0.05,
        kde_ece=0.04,
        changed=0.02,
        converged=True,
        over_nothing=None,
        behind_best=None,
    )


def advised(method="ts", *, headline="Use ts: the loss falls.", reason="It is the simplest."):
    """Return a fix that was recommended."""
    advice = Recommendation(
        name=method,
        headline=headline,
        reasons=(reason, "Second reason."),
        calibrator=object(),
        candidates=(candidate("identity", 0.5), candidate(method, 0.4)),
        best=method,
        alternative=None,
        over_alternative=None,
        keep_argmax=False,
        score="nll",
        tolerance=0.001,
        n_samples=1500,
        n_classes=3,
        n_folds=5,
        n_resamples=99,
        level=0.9,
    )
    return Fix(method=method, changed=0.0325, n_folds=5, converged=True, recommendation=advice)


def verdict(**changes):
    numbers = {"error": 0.0537, "expected": 0.0039, "detectable": 0.0056, "gap": 0.05, "pvalue": 0.01, "level": 0.05}
    limits = {"low": 0.045, "high": 0.061, "size": "beyond tolerance", "tolerance": 0.02}
    words = {
        "gave_away": "the slope (too extreme)",
        "part": "slope",
        "code": "over-confident",
        "headline": "Over-confident: right less often than it says.",
        "explanation": "Why.",
    }
    return Verdict(**{**words, **numbers, **limits, **changes})


def consistency(*, statistic=0.0537, pvalue=0.01, seed=0):
    null = np.random.default_rng(seed).gamma(20.0, 0.0002, size=99)
    return TestResult(
        name="ConsistencyTest(n_resamples=99)", statistic=statistic, pvalue=pvalue, estimate=statistic, null=null
    )


def omnibus(name="Shirt"):
    """Return an omnibus test that was given away by a slope, and whose largest class bias is that of `name`."""
    parts = {
        "slope": {"statistic": 5.0, "pvalue": 0.01, "direction": "too extreme", "class": None},
        "class bias": {"statistic": 2.0, "pvalue": 0.25, "direction": "too high", "class": name},
        name: {"statistic": 0.0, "pvalue": 1.0, "direction": None, "class": None},
    }
    null = np.random.default_rng(0).integers(1, 100, size=99) / 100
    details = {"smallest_pvalue": 0.01, "parts": parts, "found_by": "slope", "also": {}}
    return TestResult(name="OmnibusTest(n_resamples=99)", statistic=0.01, pvalue=0.01, null=null, details=details)


def summaries(names):
    """Return classes whose errors grow in the order given."""
    return tuple(
        ClassSummary(name=name, n_observed=10 + i, predicted=0.3, observed=0.25, error=0.01 * (i + 1))
        for i, name in enumerate(names)
    )


def measured(key, value):
    """Return the value of a metric, with its description if it is a known one."""
    metric = {**METRICS, **FORECAST_METRICS}.get(key)
    return Estimate(name=f"{key}()", value=value, about=metric and metric.about())


def described(text):
    """Return a description in which everything is `text`."""
    return Description(label=text, meaning=f"Of {text}.", caution=text, better=text, group=text)


def assessment(name="model", *, classes=("ant", "bee", "cat"), metrics=None, groups=(), **changes):
    """Return an assessment; `metrics` maps names to values, `groups` lists names."""
    values = {"accuracy": 0.9, "nll": 0.35, "ece": 0.0537} if metrics is None else metrics
    whole = Assessment(
        name=name,
        n_samples=1500,
        n_classes=len(classes),
        verdict=verdict(),
        metrics={key: measured(key, value) for key, value in values.items()},
        test=consistency(),
        curve=replace(curve(), view="class" if len(classes) == 2 else "top-label"),
        classes=summaries(classes),
        settings={"seed": 0, "resamples": 99, "version": "0.0"},
    )
    parts = {group: replace(whole, name=group) for group in groups}
    adjusted = dict.fromkeys(groups, 0.02)
    return replace(whole, groups=parts, adjusted=adjusted, **changes)


def pictured(name="model", *, classes=("ant", "bee", "cat"), **changes):
    """Return an assessment that has all its figures."""
    return assessment(name, classes=classes, **pictures(classes), **changes)


def forecast(name="narrow"):
    """Return an assessment of normal forecasts that are too narrow."""
    levels = np.array([0.25, 0.5, 0.75])
    coverage = {"nominal": levels, "low": levels - 0.1, "high": levels + 0.1, "n_samples": 100, "level": 0.9}
    return ForecastAssessment(
        name=name,
        n_samples=100,
        law="Normal",
        n_dimensions=1,
        verdict=verdict(),
        metrics={key: measured(key, 0.5) for key in ("crps", "mace", "sharpness")},
        test=consistency(),
        pit=PITHistogram(
            lower=np.arange(4) / 4,
            upper=np.arange(1, 5) / 4,
            count=np.array([30.0, 20, 20, 30]),
            expected=25.0,
            low=np.full(4, 17.0),
            high=np.full(4, 33.0),
            n_samples=100,
            level=0.9,
        ),
        quantiles=QuantileCurve(observed=np.array([0.3, 0.5, 0.7]), form="quantile", **coverage),
        intervals=QuantileCurve(observed=np.array([0.2, 0.4, 0.6]), form="interval", **coverage),
        spread=SpreadCurve(
            predicted=np.array([1.0, 2.0]),
            observed=np.array([1.5, 2.1]),
            low=np.array([1.3, 1.8]),
            high=np.array([1.7, 2.4]),
            lower=np.array([0.5, 1.5]),
            upper=np.array([1.5, 2.5]),
            count=np.array([50.0, 50.0]),
            weight=np.array([50.0, 50.0]),
            level=0.9,
            kind="EqualMass(2)",
        ),
        settings={"seed": 0},
    )


def poisoned(text):
    """Return a page's worth of assessments in which every name and sentence is `text`."""
    one = pictured(text, classes=(text, "bee", "cat"), metrics={text: 0.5, "nll": np.inf}, groups=(text, "rest"))
    one = replace(
        one,
        metrics={
            text: Estimate(name=text, value=0.5, details={text: text}, about=described(text)),
            "nll": replace(measured("nll", np.inf), name=text, details={"infinite_rows": 3}),
        },
        verdict=verdict(
            code=text, headline=text, explanation=text, gave_away=f"the {text}", part=text, size=text, reason=text
        ),
        test=replace(omnibus(text), name=text),
        curve=replace(curve(), kind=text),
        settings={text: text, "seed": 1},
    )
    return {text: one, "other": pictured("other")}


@cache  # Several tests look at each.
def poisoned_page(text):
    """Return a page in which every name and sentence is `text`."""
    how = advised(text, headline=text, reason=text)
    return render_html(poisoned(text), title=text, comparison=comparison(text, "after"), fix=how)


VOID = {"meta", "input", "br"}


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


def comparison_of(models, metrics):
    """Return a comparison of many models in many metrics, in which half of the differences are significant."""
    entries = [
        Compared(
            model=model,
            metric=metric,
            better=("lower", "higher", "none")[(i + j) % 3],
            value=0.5,
            difference=difference(0.05 if (i + j) % 2 else 0.001) if i else None,
        )
        for i, model in enumerate(models)
        for j, metric in enumerate(metrics)
    ]
    return Comparison(
        models=tuple(models),
        metrics=tuple(metrics),
        baseline=models[0],
        n_samples=1500,
        n_resamples=199,
        level=0.9,
        entries=tuple(entries),
        about={key: METRICS[key].about() if key in METRICS else described(key) for key in metrics},
    )


def experiment_of(names):
    """Return the outcome of an experiment of two seeds whose pipelines have these names."""
    metrics = ("nll", *names[:2])
    line = CurveLine(predicted=np.array([0.1, 0.9]), observed=np.array([0.2, 0.8]), count=np.array([5.0, 5.0]))
    points = [
        LearningPoint(
            calibrator=name,
            metric=metric,
            size=size,
            value=0.5,
            deviation=0.1,
            change=-0.1,
            change_deviation=0.1,
            n_infinite=0,
        )
        for name in names
        for metric in metrics
        for size in (40, 240)
    ]
    summary = {"mean": 0.5, "least": 0.4, "greatest": 0.6, "difference": 0.1, "n_better": 2, "n_worse": 0}
    return ExperimentResult(
        title="Experiment",
        data="data",
        seeds=(0, 1),
        pipelines=tuple(
            Pipeline(name=name, network=names[i - 1], calibrator=names[i - 2]) for i, name in enumerate(names)
        ),
        comparisons=(comparison_of(names, metrics),) * 2,
        summary=tuple(SeedSummary(pipeline=name, metric=m, **summary) for name in names for m in metrics),
        curves=tuple(
            PipelineCurves(seed=0, pipeline=name, confidence=line, average=line, classes={names[i - 1]: line})
            for i, name in enumerate(names)
        ),
        learning=(
            LearningCurve(
                calibrators=tuple(names),
                metrics=metrics,
                sizes=(40, 240),
                n_repeats=2,
                n_held_out=100,
                baseline=dict.fromkeys(metrics, 0.6),
                points=tuple(points),
                settings={"network": names[0]},
            ),
        ),
        settings={"version": "0.0", **{name: names[i - 1] for i, name in enumerate(names)}},
    )


def checked():
    """Return intervals of two groups, one of which has too few rows."""
    held = {"n_fitted": 50, "n_samples": 40, "before": 0.6, "covered": 0.9, "width_before": 2.0}
    known = {"low": 0.8, "high": 0.98, "width": 4.0, "pvalue": 0.4}
    unknown = {"low": None, "high": None, "width": np.inf, "pvalue": None}
    return IntervalCheck(
        headline="Intervals hold.",
        method="ConformalIntervals()",
        level=0.9,
        confidence=None,
        guarantee="per group",
        total=CoveredPart(name="", **held, **(unknown | {"width": 4.0})),
        parts=(CoveredPart(name="<a>", **held, **known), CoveredPart(name="b", **held, **unknown)),
        pvalue=0.4,
        reason="",
        rows=DrawnIntervals(
            target=np.array([0.0, 9.0]),
            low_before=np.array([-1.0, 1.0]),
            high_before=np.array([1.0, 3.0]),
            low=np.array([-2.0, -np.inf]),
            high=np.array([2.0, 8.0]),
        ),
    )
