"""The files that declare hooks."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from swecli.config.paths import project_root
from swecli.config.plugin_places import may_have_plugins
from swecli.config.settings import Start
from swecli.regular_files import read_regular

# Of a project: our own, Claude Code's and codex's, which all have the same form.
PROJECT_FILES = (
    ".swecli/hooks.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
)
_USER_FILE = "hooks.json"
_KEY = b'"hooks"'


def user_file(start: Start) -> Path:
    """Return the file with the user's own hooks."""
    return start.paths.config / _USER_FILE


def project_files(start: Start) -> list[Path]:
    """Return the files of the project that may declare hooks."""
    root = project_root(start.cwd)
    return [root / name for name in PROJECT_FILES]


def may_have_hooks(start: Start) -> bool:
    """Return whether a file may declare hooks, so that more has to be loaded."""
    files = (user_file(start), *project_files(start))
    return any(map(_has_key, files)) or _has_plugin_with_hooks(start)


def _has_plugin_with_hooks(start: Start) -> bool:
    if not may_have_plugins(start.paths):
        return False
    # late: few have plug-ins
    from swecli.config.plugins import read_plugins

    return any(plugin.folder.hooks for plugin in read_plugins(start.paths).plugins)


def _has_key(file: Path) -> bool:
    with suppress(OSError):
        return _KEY in read_regular(file)
    return False
