"""docs/over_time.md says what is true: its example runs and prints what it promises."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "over_time.md"


def test_the_example_runs_and_says_what_it_promises(capsys):
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(code, {})  # noqa: S102 (our own page)
    (promised,) = re.findall(r"print\(result.headline\)  # (.*)", code)
    out = capsys.readouterr().out
    assert out.startswith(promised)
    assert "Calibration changed from first to last" in out


def test_numbers_in_the_text_are_those_of_the_table():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    table = (PAGE.parent / "validity" / "over_time.md").read_text(encoding="utf-8")
    cells = {tuple(part.strip() for part in line.split("|")[1:3]): line for line in table.splitlines() if "|" in line}
    plugin = [cells[events, "5000"].split("|")[4].split()[0] for events in ("30 %", "1 %")]
    assert f"{float(plugin[0]):.0%}".replace("%", " %") in text
    assert f"{float(plugin[1]):.0%}".replace("%", " %") in text
    for row in (("30 % slope 0.8", "none"), ("30 % slope 0.8", "5000"), ("30 % slope 0.8", "50000")):
        delay = cells[row].split("|")[3].strip().replace(",", "")
        assert delay in text.replace("11 000", "11000")
