"""The page: rows in which calibrant is slower or worse come first."""

import math
from collections import defaultdict

HEAD = """# Comparison with other packages

For readers who want to know how fast and how accurate calibrant is next to other packages. `make benchmarks` installs
{peers} in a separate environment, and runs the shared features on the same arrays, in turns, on one thread.

- Times are processor time, the smallest of up to five. Both sides start from arrays, so checking the input counts.
- *Times faster* is their time divided by ours: **below 1 calibrant is slower**. These rows come first.
- Memory is what a call adds to the process, in megabytes.
- The data are simulated predictions that are 1.7 times too sure, and the test rows of a network that comes with the
  package. If a side took more than {limit:.0f} second, more rows and classes were not tried.
- If values differ, [disagreements](../disagreements.md) says why.

Versions: {versions}.
"""

TESTS = """
## Tests

None of these packages has a test of calibration; `compute_bias` of model-diagnostics gives the p-value of a t-test of
the mean error. So the tests are compared with plain definitions instead: [SKCE tests](skce_test.txt),
[omnibus test](omnibus.txt), [redraws of other statistics](replicates.txt).
"""


GROWTH = """
## How time grows

The factor by which the processor time grows from 10 000 to 100 000 rows of two classes, and from 10 to 100 classes
with 10 000 rows.

"""
NOTICEABLE = 5e-4
"""Differences of log loss and Brier score up to this one are not marked."""


def page(rows, failures, versions, limit):
    """Return the page as Markdown."""
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    fits = [r for r in rows if r.kind == "calibrator"]
    parts = [
        HEAD.format(peers=", ".join(versions), versions=named, limit=limit),
        summary(rows, fits),
        "\n## Measures and curves\n\n",
        measures([r for r in rows if r.kind == "measure"]),
        TESTS,
        "\n## Calibrators\n\nFitted to the first half of the rows, applied to the second.\n\n",
        calibrators(fits),
        GROWTH,
        growth(rows),
    ]
    if failures:
        parts.append("\n## What did not run\n\n| what | peer | data | why |\n|---|---|---|---|\n")
        parts += [f"| `{case}` | {peer} | {data} | {why} |\n" for case, peer, data, why in failures]
    return "".join(parts)


def summary(rows, fits):
    slower, worse = sum(r.ratio < 1 for r in rows), sum(map(is_worse, fits))
    return (
        f"\ncalibrant is slower in {slower} of {len(rows)} comparisons. Its log loss on held-out rows is larger by "
        f"more than {NOTICEABLE} in {worse} of {len(fits)} comparisons of calibrators.\n"
    )


def is_worse(r):
    return r.nll > r.peer_nll + NOTICEABLE


def measures(rows):
    head = "| measure | peer | data | ms, ours | theirs | times faster | MB, ours | theirs | value, ours | theirs | |\n"
    lines = [
        f"| `{r.what}` | {r.peer} | {r.data} | {cost(r)} | {r.value:.6g} | {r.peer_value:.6g} | {r.note} |\n"
        for r in sorted(rows, key=lambda r: r.ratio)
    ]
    return head + "|---" * 11 + "|\n" + "".join(lines)


def calibrators(rows):
    head = (
        "| calibrator | peer | data | ms, ours | theirs | times faster | MB, ours | theirs | log loss, ours | theirs "
        "| Brier, ours | theirs | largest difference | |\n"
    )
    lines = [
        f"| `{r.what}` | {r.peer} | {r.data} | {cost(r)} | {better(r.nll, r.peer_nll)} "
        f"| {better(r.brier, r.peer_brier)} | {r.value:.1g} | {r.note} |\n"
        for r in sorted(rows, key=lambda r: (r.ratio >= 1 and not is_worse(r), r.ratio))
    ]
    return head + "|---" * 14 + "|\n" + "".join(lines)


def cost(r):
    ratio = f"**{r.ratio:.2f}**" if r.ratio < 1 else f"{r.ratio:.3g}"
    return f"{1e3 * r.ours:.3g} | {1e3 * r.theirs:.3g} | {ratio} | {r.ours_mb:.0f} | {r.theirs_mb:.0f}"


def better(ours, theirs):
    """Return both scores, ours in bold if it is noticeably worse."""
    return f"**{ours:.4f}** | {theirs:.4f}" if ours > theirs + NOTICEABLE else f"{ours:.4f} | {theirs:.4f}"


def growth(rows):
    by_case = defaultdict(dict)
    for r in rows:
        if not r.data.startswith("network"):
            by_case[r.kind, r.what, r.peer][r.n, r.k] = r
    lines = [
        "| what | peer | 10 times the rows, ours | theirs | 10 times the classes, ours | theirs |\n",
        "|---" * 6 + "|\n",
    ]
    for (_, what, peer), found in sorted(by_case.items()):
        more = factors(found, (10_000, 2), (100_000, 2)) + factors(found, (10_000, 10), (10_000, 100))
        if any(map(math.isfinite, more)):
            lines.append(
                f"| `{what}` | {peer} | {' | '.join(f'{f:.1f}' if math.isfinite(f) else '' for f in more)} |\n"
            )
    return "".join(lines)


def factors(found, small, large):
    if small not in found or large not in found:
        return math.nan, math.nan
    a, b = found[small], found[large]
    return b.ours / a.ours, b.theirs / a.theirs
