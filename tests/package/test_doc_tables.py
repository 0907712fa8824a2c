"""Tables in the documentation that say what the classes say."""

import pytest

from calibrant.metrics import FORECAST_METRICS
from doc_tables import DOCS, PAGES, with_tables


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_are_those_of_the_classes(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert with_tables(page, text) == text, "run python tests/doc_tables.py"


def test_no_caution_is_left_out():
    assert not any(metric.about().caution for metric in FORECAST_METRICS.values())
