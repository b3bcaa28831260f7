"""Find the sockets and named pipes through which a command would reach a program outside the sandbox: no mount keeps it
from writing to them."""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from swecli.folders import walk
from swecli.tools.sensitive import is_installed
from swecli.values import dataclass

_TABLE = "/proc/{process}/net/unix"  # of all sockets of the network that a process is in
_COLUMNS = 7  # before the path, which may have spaces (proc_net(5))
_UPWARDS = re.compile(r"^(?:\.\./)+")
_OBJECTS_OF_GIT = "/.git/objects"

_Identity = tuple[int, int, int]  # device, inode and time of the last change of its status, in ns


@dataclass(frozen=True, slots=True)
class _BoundNames:
    """The paths by which the sockets of a network were bound. Of a relative one it is not known from where, so it fits
    every path that ends like it."""

    absolute: frozenset[str]
    endings: tuple[str, ...]

    @classmethod
    def read(cls, process: int | str) -> _BoundNames:
        """Return those of the network that a process is in; none if there is no such process."""
        lines: list[bytes] = []
        with suppress(OSError):
            lines = Path(_TABLE.format(process=process)).read_bytes().splitlines()[1:]
        columns = [line.split(None, _COLUMNS) for line in lines]
        names = [os.fsdecode(row[_COLUMNS]) for row in columns if len(row) > _COLUMNS]
        absolute = frozenset(name for name in names if name.startswith("/"))
        # an abstract name, which begins with @, is no file
        relative = [name for name in names if not name.startswith(("/", "@"))]
        endings = [f"/{_UPWARDS.sub('', os.path.normpath(name))}" for name in relative]
        return cls(absolute, tuple(endings))

    def fit(self, path: str) -> bool:
        """Return whether a socket of the network may be bound to this path."""
        return path in self.absolute or path.endswith(self.endings)


class OutsideChannels:
    """The sockets and named pipes of programs outside the sandbox, for the commands of a session. What the commands
    themselves make is theirs: sockets of their own network, and pipes that were not there at the first look; so are
    sockets where each command has a network of its own."""

    def __init__(self) -> None:
        self._first: frozenset[_Identity] | None = None  # what was there at the first look
        self._outside: set[_Identity] = set()  # sockets that were found to be of other programs

    def find(self, folders: Iterable[str], own_process: int) -> list[Path]:
        """Return the channels that lead out: sockets of this program's network wherever they are, and what is in the
        folders, by whatever path and in whatever network it was bound. `own_process` is a process in the network of the
        commands, 0 if each has its own."""
        own_names = _BoundNames.read("self")
        process_names = _BoundNames.read(own_process) if own_process else None
        special = [
            (path, _identify(status), stat.S_ISSOCK(status.st_mode))
            for path, status in _special_files(folders, is_complete=bool(own_names.endings))
        ]
        if self._first is None:
            self._first = frozenset(identity for _, identity, _ in special)
        bound_paths = [Path(name) for name in sorted(own_names.absolute)]
        leading_out = [*filter(_is_socket, bound_paths)]
        for path, identity, is_socket in special:
            is_new = identity not in self._first
            if not is_socket:
                is_outside = not is_new
            elif process_names is None and is_new:
                is_outside = own_names.fit(path)
            else:
                is_outside = self._has_other_listener(path, identity, own_names, process_names)
            if is_outside:
                leading_out.append(Path(path))
        return leading_out

    def _has_other_listener(
        self,
        path: str,
        identity: _Identity,
        own_names: _BoundNames,
        process_names: _BoundNames | None,
    ) -> bool:
        """Return whether a program that is none of the session's commands listens there."""
        if identity in self._outside or own_names.fit(path):
            return True
        if process_names is not None and process_names.fit(path):
            return False
        if not _has_listener(path):
            return False
        self._outside.add(identity)
        return True


def _special_files(
    folders: Iterable[str], *, is_complete: bool
) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the sockets and named pipes in these folders; unless `is_complete`, without those in installed dependencies
    and among the objects of git, which are many files and where no program listens."""
    for special_folder in folders:
        for folder, entries in walk(special_folder):
            if not is_complete:
                entries[:] = [entry for entry in entries if not _is_left_out(folder, entry.name)]
            for entry in entries:
                if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False):
                    continue
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISSOCK(status.st_mode) or stat.S_ISFIFO(status.st_mode):
                        yield entry.path, status


def _is_left_out(folder: str, name: str) -> bool:
    return is_installed(f"{name}/") or f"{folder}/{name}".endswith(_OBJECTS_OF_GIT)


def _identify(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _has_listener(path: str) -> bool:
    """Return whether a program listens on a socket, by connecting to it: of a program in another network, or of one in
    another container, there is no other way to know. What it left when it ended may be removed by a command, so that
    its server starts again."""
    folder, _, name = path.rpartition("/")
    try:
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # one that this user cannot see is out of reach anyway
        return False
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.setblocking(False)
            # by the folder's descriptor, since the path may be longer than an address takes
            probe.connect(f"/proc/self/fd/{descriptor}/{name}")
    except OSError as error:  # of another type, for one
        return error.errno not in (errno.ECONNREFUSED, errno.ENOENT, errno.EACCES)
    finally:
        os.close(descriptor)
    return True


def _is_socket(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:  # one that this user cannot see is out of reach anyway
        return False
