"""Shell completion, in a real shell."""

import shutil
import subprocess
from contextlib import redirect_stdout
from io import StringIO

import pytest

from calibrant.cli import main

bash = shutil.which("bash")


@pytest.fixture(scope="module")
def script():
    """What bash is to read."""
    with redirect_stdout(StringIO()) as out:
        assert main(["completion", "bash"]) == 0
    return out.getvalue()


@pytest.mark.skipif(bash is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [(["calibrant", "ev"], ["evaluate"]), (["calibrant", "report", "--ou"], ["--out"])],
)
def test_bash_completes_commands_and_options(words, expected, script):
    asked = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _calibrant"
    code = f'{script}\n{asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    found = subprocess.run([bash, "--norc", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == expected


@pytest.mark.parametrize("shell", ["zsh", "fish", "powershell"])
def test_other_shells_get_a_script_that_names_every_command(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in ("evaluate", "compare", "report", "selfcheck"))


def test_an_unknown_shell_is_refused_in_one_line(capsys):
    assert main(["completion", "tcsh"]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "tcsh" in error
