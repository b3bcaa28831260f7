"""`swecli --check-update`: name the command that updates this installation. Nothing is asked over the network."""

from __future__ import annotations

import sys
from pathlib import Path

from swecli import __version__
from swecli.config.own_command import find_start_script

_PACKAGE = Path(__file__).resolve().parents[1]


def update_hint(package: Path = _PACKAGE, prefix: Path = Path(sys.prefix)) -> str:
    """Return a line with the version and the command that updates it, chosen by where package and Python are."""
    return f"swecli {__version__}. To update it: {_command(package, prefix)}"


def _command(package: Path, prefix: Path) -> str:
    if find_start_script(package) is not None:
        return f"git -C {package.parent} pull"
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx upgrade swecli"
    if (prefix / "uv-receipt.toml").is_file():
        return "uv tool upgrade swecli"
    return f"{prefix / 'bin' / 'python'} -m pip install --upgrade swecli"
