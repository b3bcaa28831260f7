"""The own search engine, for machines without ripgrep: a program that prints matches as `rg --json` does.

It runs as a process of its own because a hostile pattern can take for ever: then it is simply ended.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from swecli.tools.globs import Glob
from swecli.tools.ignore import walk

BAD_PATTERN = 2
MAX_BYTES = 50_000_000
# Patterns whose match on a line is also a match in the whole text: they look at nothing around it.
_PLAIN = re.compile(r"(?:[^\\^$()*+?{}|]|\\[.dwsDWS()\[\]])+")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def command(pattern: str, start: str, glob: str | None, ignore_case: bool) -> list[str]:
    """The command line that runs this search in the current folder. `start` is relative to it."""
    wish = json.dumps({"pattern": pattern, "start": start, "glob": glob, "ignore_case": ignore_case})
    package = str(Path(__file__).resolve().parents[2])
    # -I keeps the searched folder off the import path: a re.py lying there must not be run
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from swecli.tools.grep import main; sys.exit(main(sys.argv[2]))"
    )
    return [sys.executable, "-I", "-W", "ignore", "-c", code, package, wish]


def main(wish: str) -> int:
    """Search as the JSON text says and print one event a line; the exit code is ripgrep's."""
    asked = json.loads(wish)
    try:
        pattern = re.compile(asked["pattern"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError) as error:
        _emit("error", {"text": str(error)})
        return BAD_PATTERN
    found = False
    for path in _files(asked["start"], asked["glob"]):
        for number, line in _matches(path, pattern):
            found = True
            start, end = _bytes_span(line, pattern)
            match = {"path": _text(path), "lines": {"text": line}, "line_number": number}
            _emit("match", match | {"submatches": [{"start": start, "end": end}]})
    return 0 if found else 1


def _files(start: str, glob: str | None) -> Iterator[str]:
    root = Path.cwd()
    wanted = Glob(glob) if glob else None
    if (root / start).is_file():
        yield start
        return
    for entry in walk(root, start):
        if entry.kind == "file" and (wanted is None or wanted.matches(entry.path)):
            yield entry.path


def _matches(path: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Matching lines with their numbers; none where the file is binary or cannot be read."""
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            _emit("skipped", {"path": _text(path)})
            return
        data = Path(path).read_bytes()
    except OSError:
        return
    encoding = "utf-8"
    for mark, name in _MARKS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], name
    if b"\0" in data and not encoding.startswith("utf-16"):
        return
    text = data.decode(encoding, "replace")
    if _PLAIN.fullmatch(pattern.pattern) and not pattern.search(text):
        return  # one look at the whole is far quicker than one at each line
    for number, line in enumerate(text.split("\n"), start=1):
        if pattern.search(line.removesuffix("\r")):
            yield number, line


def _bytes_span(line: str, pattern: re.Pattern[str]) -> tuple[int, int]:
    match = pattern.search(line.removesuffix("\r"))
    start, end = match.span() if match else (0, 0)
    return len(line[:start].encode()), len(line[:end].encode())


def _text(path: str) -> dict[str, str]:
    return {"text": os.fsencode(path).decode("utf-8", "replace")}


def _emit(kind: str, data: dict[str, Any]) -> None:
    print(json.dumps({"type": kind, "data": data}), flush=True)
