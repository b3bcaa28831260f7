"""Find the sockets on which programs listen: whoever sees the file of one gets out of any sandbox by it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from swecli.folders import walk

_TABLE = Path("/proc/net/unix")
_COLUMNS = 7  # before the path, which may have spaces (proc_net(5))
_UPWARDS = re.compile(r"^(?:\.\./)+")


def listening_sockets(folders: Iterable[str]) -> list[Path]:
    """Return the sockets that were bound by an absolute path, and those in some folders that were bound by a relative
    one: it is not known from where, so all are returned whose paths end like it."""
    absolute, endings = [], []
    for name in _bound_names():
        if name.startswith("/"):
            absolute.append(Path(name))
        elif not name.startswith("@"):  # an abstract name, which is no file
            endings.append("/" + _UPWARDS.sub("", os.path.normpath(name)))
    inside = _sockets_in(folders, tuple(endings)) if endings else ()
    return [path for path in (*absolute, *inside) if _is_socket(path)]


def _bound_names() -> list[str]:
    lines: list[bytes] = []
    with suppress(OSError):
        lines = _TABLE.read_bytes().splitlines()[1:]
    columns = [line.split(None, _COLUMNS) for line in lines]
    return [os.fsdecode(found[_COLUMNS]) for found in columns if len(found) > _COLUMNS]


def _sockets_in(folders: Iterable[str], endings: tuple[str, ...]) -> Iterator[Path]:
    for folder in folders:
        for _, entries in walk(folder):
            yield from (Path(entry.path) for entry in entries if entry.path.endswith(endings))


def _is_socket(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:  # one that this user cannot see is out of reach anyway
        return False
