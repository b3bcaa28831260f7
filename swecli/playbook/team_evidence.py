"""What people saw of the strategies they share: each appends lines to a file of his own, so that no merge conflicts."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from swecli.config.project_files import SHARED_FOLDER, is_inside
from swecli.models.errors import BadInput
from swecli.regular_files import read_regular
from swecli.text import decode_text, one_line
from swecli.values import dataclass

EVIDENCE_FOLDER = f"{SHARED_FOLDER}/evidence"
_MAX_FILES = 50  # people whose files are read
_MAX_FIELD = 120  # characters
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class SharedVerdict:
    """What a shared strategy did in one exchange of a person's; one line of a file."""

    strategy: str  # the name of its file
    effect: str  # helped, hurt, refuted or ignored
    on: str  # ISO time of the verdict
    by: str  # the person
    commit: str = ""  # that was checked out when the line was written, "" before the first one
    check: str = ""  # what decided it, such as "pytest passes"; "": a reflection did

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same verdict, whenever it was written."""
        return self.strategy, self.effect, self.on


def evidence_file(root: Path, person: str, address: str) -> Path:
    """Return the file of a person, named after him and apart from others of that name."""
    words = _WORD.findall(person.lower())[:3]
    mailbox = _WORD.findall(address.lower())[:2]
    return root / EVIDENCE_FOLDER / f"{'-'.join([*words, *mailbox]) or 'somebody'}.jsonl"


def append_verdicts(file: Path, root: Path, verdicts: Iterable[SharedVerdict]) -> int:
    """Append the verdicts that a person's file lacks. Returns how many these were. Raises BadInput if it cannot be
    written."""
    if not is_inside(file, root):
        raise BadInput(f"{EVIDENCE_FOLDER} leads out of the project: nothing was written.")
    present = {verdict.key for verdict in _read_file(file)} if file.exists() else set()
    new = {verdict.key: verdict for verdict in verdicts if verdict.key not in present}
    lines = [json.dumps(asdict(verdict), ensure_ascii=False) + "\n" for verdict in new.values()]
    if lines:
        try:
            _append(file, "".join(lines).encode())
        except OSError as error:
            raise BadInput(f"{file} cannot be written: {error.strerror}.") from None
    return len(lines)


def _append(file: Path, data: bytes) -> None:
    """Append to a regular file, in one write. Raises OSError; a pipe would block."""
    file.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(file, flags, 0o644)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(file))
        os.write(handle, data)
    finally:
        os.close(handle)


def read_verdicts(root: Path, strategy: str) -> list[SharedVerdict]:
    """Return what people wrote of a shared strategy, by its file's name. Files and lines that cannot be read are left
    out: they come from anybody, and decide nothing."""
    try:
        files = sorted((root / EVIDENCE_FOLDER).glob("*.jsonl"))[:_MAX_FILES]
    except OSError:
        return []
    inside = [file for file in files if is_inside(file, root)]
    return [
        verdict for file in inside for verdict in _read_file(file) if verdict.strategy == strategy
    ]


def _read_file(file: Path) -> Iterator[SharedVerdict]:
    try:
        text = decode_text(read_regular(file))
    except OSError:
        return
    names = SharedVerdict.__slots__
    for line in text.split("\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):  # empty, or left by a conflict
            continue
        if isinstance(value, dict):
            fields = {name: one_line(str(value.get(name, "")), _MAX_FIELD) for name in names}
            yield SharedVerdict(**fields)
