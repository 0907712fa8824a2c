"""`calibrant completion`: scripts with which a shell completes commands and options."""

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from calibrant.cli.options import INPUT


def completion(shell: Annotated[Literal["bash", "zsh", "fish", "powershell"], Parameter(group=INPUT)], /) -> None:
    """Print a script that lets SHELL complete the commands and options of calibrant.

    For example:
      calibrant completion bash > ~/.local/share/bash-completion/completions/calibrant
      calibrant completion fish > ~/.config/fish/completions/calibrant.fish

    Parameters
    ----------
    shell
        bash, zsh (a file _calibrant in a folder of $fpath), fish (~/.config/fish/completions/calibrant.fish) or
        powershell (appended to $PROFILE).
    """
    from calibrant.cli.application import application

    sys.stdout.write(application().generate_completion(shell=shell))
