"""Where the copies of plug-ins lie, and how texts of theirs name that: all that is loaded without plug-ins."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from swecli.config.paths import Paths


def plugins_folder(paths: Paths) -> Path:
    """Return the folder of the copies, in whose record of trust the approvals stand."""
    return paths.data / "plugins"


def may_have_plugins(paths: Paths) -> bool:
    """Return whether the user added plug-ins, so that more has to be loaded."""
    return os.access(plugins_folder(paths), os.F_OK)


def fill_in(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with the values of these variables where it has `${NAME}`, and all else as it is."""
    if not variables:
        return text
    names = "|".join(map(re.escape, variables))
    return re.sub(rf"\$\{{({names})\}}", lambda match: variables[match[1]], text)
