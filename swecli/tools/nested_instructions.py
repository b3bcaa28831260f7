"""Find the instruction files of all folders of a project, so that the user can trust them together. Those that git
ignores are left out: packages bring their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from swecli.config.instruction_files import ALL_NAMES
from swecli.models.errors import ToolError
from swecli.tools.environment import child_environment
from swecli.tools.searching import list_with, ripgrep

_SECONDS = 20.0  # as long as a search may take


def find_nested_instructions(root: Path, environ: Mapping[str, str] | None) -> list[Path]:
    """Return the instruction files below a folder; none if they cannot be listed: then each is reported when the
    assistant meets it."""
    env = child_environment(environ)
    patterns = [f"--iglob=**/{name}" for name in ALL_NAMES]
    try:
        argv = [*ripgrep(root, env), "--files", "--null", *patterns, "--", "."]
        names = list_with(argv, root, ".", env, _SECONDS)
    except ToolError:
        return []
    return [root / name for name in names]
