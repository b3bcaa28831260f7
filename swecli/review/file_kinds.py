"""The kinds of files that a review tells apart by their names."""

from __future__ import annotations

import re
import tomllib
from fnmatch import translate
from pathlib import Path

_KINDS = {
    kind: re.compile("|".join(map(translate, patterns.split())))
    for kind, patterns in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text("utf-8")
    ).items()
}


def matches_kind(path: str, kind: str) -> bool:
    """Return whether a file name matches a kind of `file_kinds.toml`."""
    return _KINDS[kind].match(f"/{path.lower()}") is not None
