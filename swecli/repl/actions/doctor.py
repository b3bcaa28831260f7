"""Check the installation: one line per check, exit code 1 if one fails."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from swecli import __version__
from swecli.config.settings import Start
from swecli.llm.price_table import tokenizer_folder
from swecli.llm.registry import choose_model, make_model
from swecli.models.errors import SwecliError
from swecli.playbook.action import ActionResult
from swecli.store.sqlite.database import open_database
from swecli.store.sqlite.files import locate
from swecli.tools.processes import find_program, find_ripgrep

_Found = Start | SwecliError
_Environ = Mapping[str, str]


def diagnose(found: _Found, environ: _Environ) -> ActionResult:
    """Run all checks. `found` is the start configuration, or the error if it cannot be read."""
    rows = []
    for what, check in _CHECKS.items():
        try:
            rows.append({"what": what, "ok": True, "detail": check(found, environ)})
        except SwecliError as error:
            rows.append({"what": what, "ok": False, "detail": str(error)})
    lines = tuple(f"{'ok  ' if row['ok'] else 'FAIL'} {row['what']}: {row['detail']}" for row in rows)
    return ActionResult(rows, lines, code=0 if all(row["ok"] for row in rows) else 1)


def _require_start(found: _Found) -> Start:
    if isinstance(found, SwecliError):
        raise SwecliError("not checked: the settings cannot be read")
    return found


def _check_settings(found: _Found, environ: _Environ) -> str:
    if isinstance(found, SwecliError):
        raise found
    if found.trusted:
        return "ok; this folder is trusted"
    return "ok; this folder is not trusted: its own settings and instructions are ignored"


def _check_folders(found: _Found, environ: _Environ) -> str:
    paths = _require_start(found).paths
    try:
        paths.ensure()
    except OSError as error:
        raise SwecliError(f"{error.filename} cannot be created: {error.strerror}.", "Set SWECLI_HOME.") from error
    places = dict.fromkeys((paths.config, paths.data, paths.state, paths.cache))
    if shut := [str(path) for path in places if not os.access(path, os.W_OK | os.X_OK)]:
        raise SwecliError(f"{', '.join(shut)} cannot be written.", "Check the permissions, or set SWECLI_HOME.")
    return ", ".join(str(path) for path in places)


def _check_database(found: _Found, environ: _Environ) -> str:
    location = _require_start(found).database
    path = locate(location)
    if path and not path.exists():
        return f"{path}: none yet, the first message creates it"
    with closing(open_database(location)) as database:
        problems = [*database.notices, *database.check()]
    if problems:
        raise SwecliError("; ".join(problems))
    return f"{path or location}: ok"


def _check_model(found: _Found, environ: _Environ) -> str:
    settings = _require_start(found).settings
    choice = choose_model(settings, environ)
    make_model(choice.name, settings, environ)  # raises what it lacks
    return f"{choice.name}: {choice.why}"


def _check_search(found: _Found, environ: _Environ) -> str:
    if program := find_ripgrep(environ, Path.cwd()):
        return f"ripgrep at {program}"
    raise SwecliError("ripgrep is not installed: files are neither listed nor searched.", "Run scripts/setup again.")


_CHECKS: dict[str, Callable[[_Found, _Environ], str]] = {
    "swecli": lambda found, environ: f"{__version__}, Python {platform.python_version()}, {platform.system()}",
    "settings": _check_settings,
    "folders": _check_folders,
    "database": _check_database,
    "model": _check_model,
    "tokens": lambda found, environ: (
        f"tables in {folder}" if (folder := tokenizer_folder()) else "estimated: the tables are not installed"
    ),
    "search": _check_search,
    "git": lambda found, environ: (
        find_program("git", environ, Path.cwd()) or "not installed: files are listed by walking the tree"
    ),
    "sandbox": lambda *_: (
        "none: commands run with your permissions; the mode and your rules decide which need approval"
    ),
}
