"""Read the configuration of a run in a folder; two folders can be worked in by one process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from swecli.config.paths import Paths, project_root
from swecli.config.project_files import PROJECT_SETTINGS
from swecli.config.settings import Start, load_settings
from swecli.config.trust import FolderTrust, TrustLedger
from swecli.models.errors import ConfigError
from swecli.regular_files import read_regular


def read_configuration(
    folder: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    *,
    config: Path | None = None,
    everything: bool = False,
) -> Start:
    """Load the settings for work in `folder`, with `flags` as the last layer, but choose no model.

    `config` is a settings file to use in place of the user's. With `everything` the project's files are trusted as
    they are, for this run. Raises ConfigError, BadInput.
    """
    paths = Paths.find(environ)
    root = project_root(folder)
    trust = FolderTrust(root, everything=True)
    if not everything:
        trust = TrustLedger.find(paths).trust_in(root)
    project_file = root / PROJECT_SETTINGS
    project_text, problem = _read_project_settings(project_file, trust)
    settings, notices = load_settings(
        user_file=config or paths.config_file,
        project_file=project_file,
        project_text=project_text,
        environ=environ,
        flags=flags,
        must_exist=config is not None,
    )
    if problem:
        notices.append(f"{PROJECT_SETTINGS} is not used: {problem}")
    return Start(
        settings, paths, folder, dict(environ), trust=trust, notices=tuple(notices), config=config
    )


def _read_project_settings(file: Path, trust: FolderTrust) -> tuple[str, str]:
    """Return the text of a project's settings, and the problem for which they are not used; "" for none of either.
    Raises ConfigError."""
    try:
        data = read_regular(file)
    except (FileNotFoundError, NotADirectoryError):
        return "", ""
    except OSError as error:
        return "", f"{error.strerror}"
    if problem := trust.objection(file, data):
        return "", problem
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file} is not UTF-8 text.", "Correct the file or move it away."
        ) from error
