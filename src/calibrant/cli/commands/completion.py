"""`calibrant completion`: a script that completes commands and options in a shell."""

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from calibrant.cli.application import application
from calibrant.cli.options.reading import INPUT


def command(shell: Annotated[Literal["bash", "zsh", "fish", "powershell"], Parameter(group=INPUT)], /) -> None:
    """Print a script that completes commands and options in SHELL.

    For example:
      calibrant completion bash > ~/.local/share/bash-completion/completions/calibrant
      calibrant completion fish > ~/.config/fish/completions/calibrant.fish

    Parameters
    ----------
    shell
        bash; zsh (save as _calibrant in a folder of $fpath); fish (save as
        ~/.config/fish/completions/calibrant.fish); or powershell (append to $PROFILE).
    """
    sys.stdout.write(application().generate_completion(shell=shell))
