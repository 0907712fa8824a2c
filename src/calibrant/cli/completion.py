"""`calibrant completion`: what lets a shell complete commands and options."""

import sys
from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish", "powershell"], /) -> None:
    """Print a script that lets SHELL complete the commands and options of calibrant.

    Example: calibrant completion bash > ~/.local/share/bash-completion/completions/calibrant

    Parameters
    ----------
    shell
        bash, zsh (a file _calibrant in a folder of $fpath), fish (~/.config/fish/completions/calibrant.fish) or
        powershell (appended to $PROFILE).
    """
    from calibrant.cli.application import application

    sys.stdout.write(application().generate_completion(shell=shell))
