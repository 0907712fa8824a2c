"""The page about curves says what is true: its Python runs."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "curves.md").read_text(encoding="utf-8")


def test_the_examples_run_in_order_and_write_their_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    exec(code, {})  # noqa: S102 (our own page)
    assert capsys.readouterr().out == "MCB 0.0065, outside the band: True\n"
    pictures = {path.name for path in tmp_path.glob("*.png") if path.stat().st_size > 5000}
    assert pictures == set(re.findall(r'savefig\("(.*?)"\)', code))
