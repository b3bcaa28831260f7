"""Find the files and folders of the workspace that the words of a command name, in whatever folder they are looked
up."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from swecli.tools.base import ToolError
from swecli.tools.paths import resolve_path

_WILDCARD = re.compile(r"[*?\[]")
# Bounds on the work for one command; nobody writes such by hand.
_MAX_WORDS = 2_000
_MAX_LOOKUPS = 50_000  # some 2 µs each
_LISTING = 100  # lookups that take as long as listing a folder for a wildcard
_MAX_MATCHES = 200  # of a wildcard in one folder


def named_files(root: Path, words: Iterable[str]) -> Iterator[Path]:
    """Yield the real paths of the files in the workspace that words name, as `named_paths` finds them."""
    return (path for path in named_paths(root, words) if path.is_file())


def named_paths(root: Path, words: Iterable[str]) -> Iterator[Path]:
    """Yield the real paths of what is in the workspace and that words name, each once. A word is looked up in the
    workspace and in each folder that words name: `cd sub && ./build`, `make -C sub`. Of a command with thousands of
    words not all are looked up."""
    candidates = list(islice(dict.fromkeys(filter(None, words)), _MAX_WORDS))
    seen_paths = {root.resolve()}
    folders = [root.resolve()]
    lookups_left = _MAX_LOOKUPS
    # grows while it is gone through
    for folder in folders:
        for word in candidates:
            names = _expand(folder, word)
            lookups_left -= len(names) if names == [word] else _LISTING
            if lookups_left < 0:
                return
            for path in _existing(root, folder, names):
                if path in seen_paths:
                    continue
                seen_paths.add(path)
                if path.is_dir():
                    folders.append(path)
                yield path


def _existing(root: Path, folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield the real paths of those of these names in a folder that are there, and in the workspace."""
    for name in names:
        place = name if name.startswith("/") else f"{folder}/{name}"
        with suppress(ToolError, OSError, ValueError):
            if os.path.lexists(place):
                yield resolve_path(root, place)


def _expand(folder: Path, word: str) -> list[str]:
    """Return the entries of a folder that a word with wildcards matches, or the word."""
    if not _WILDCARD.search(word):
        return [word]
    return list(islice(glob.iglob(word, root_dir=folder), _MAX_MATCHES))  # noqa: PTH207  as a shell
