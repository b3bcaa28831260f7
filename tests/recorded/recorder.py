"""Play a scripted session and record all output: request bodies, events and database rows.

A recording has a line per turn and table, with a short hash of its content, so that a change shows where it first
appears. `python -m tests.recorded.recorder FOLDER` writes every recording and the content behind its hashes into
that folder; compare the folders of two versions with `diff -r` to see the bytes that differ.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from swecli.llm.price_table import prepare_environment
from swecli.models.events import to_json
from swecli.models.message import ModelRequest

RECORDINGS = Path(__file__).parent / "recordings"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|d-[0-9a-f]{24}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?)?")
_DURATION = re.compile(r'duration_ms\\": \d+')
_VARYING = re.compile(r"_at$|^duration_ms$|^pid$|^wait$|^inode$")


class Recorder:
    """Records a session. `lines` is the recording, `content` the texts behind its hashes, by file name.

    Ids are replaced by numbers in order of appearance, times by TIME, and `root` by /work.
    """

    def __init__(self, root: Path) -> None:
        self.lines: list[str] = []
        self.content: dict[str, str] = {}
        self._root = str(root)
        self._ids: dict[str, str] = {}

    def turn(self, name: str, requests: Iterable[ModelRequest], events: Iterable[Any]) -> None:
        """Record a turn's requests and events."""
        for number, request in enumerate(requests, 1):
            body = {key: value for key, value in asdict(request).items() if key != "tools"}
            sent = [spec.to_api()["function"] for spec in request.tools]
            tools = hashlib.sha256(self._text(sent).encode()).hexdigest()[:8]
            label = f"{request.purpose} request, {len(request.messages)} messages, tools {tools}"
            self._note(f"{name}.{number}.{request.purpose}", label, [body])
        happened = [to_json(event) | {"duration_ms": 0} for event in events]
        if happened:
            self._note(f"{name}.events", f"{len(happened)} events", happened)

    def value(self, name: str, value: Any) -> None:
        """Record the output of a command."""
        self._note(name, "shown", [value])

    def tables(self, database: Path) -> None:
        """Record all rows of all tables except the search index."""
        with closing(sqlite3.connect(database)) as db:
            db.row_factory = sqlite3.Row
            names = db.execute(
                "select name from sqlite_master where type = 'table' order by name"
            ).fetchall()
            for (name,) in names:
                if "search" not in name and "fts" not in name:
                    rows = [dict(row) for row in db.execute(f'select * from "{name}"')]
                    self._note(f"table.{name}", f"{len(rows)} rows", rows)

    def _note(self, name: str, label: str, rows: Iterable[Any]) -> None:
        text = "\n".join(self._text(row) for row in rows)
        self.content[name] = text
        self.lines.append(f"{name}: {label}, {hashlib.sha256(text.encode()).hexdigest()[:16]}")

    def _text(self, value: Any) -> str:
        text = json.dumps(_steady(value), ensure_ascii=False, sort_keys=True, default=str, indent=1)
        text = _DURATION.sub("duration", text)
        text = _TIME.sub("TIME", text.replace(self._root, "/work"))
        return _ID.sub(
            lambda found: self._ids.setdefault(found[0], f"ID-{len(self._ids) + 1}"), text
        )


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: "VARIES" if _VARYING.search(k) and v is not None else _steady(v)
            for k, v in value.items()
        }
    return [_steady(item) for item in value] if isinstance(value, list) else value


def workspace() -> Path:
    """Create a folder whose name has the same number of tokens each time, whoever runs this."""
    while True:
        folder = Path(f"/tmp/recorded-{int.from_bytes(os.urandom(4), 'big') % 10**9:09}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder


def main(out: Path) -> None:
    """Write the recordings and contents of this version into a folder."""
    from tests.recorded.script import SESSIONS, play

    prepare_environment(os.environ)
    for name in SESSIONS:
        os.environ["SWECLI_HOME"] = tempfile.mkdtemp()
        recorder = asyncio.run(play(name, workspace()))
        (out / name).mkdir(parents=True, exist_ok=True)
        (out / f"{name}.txt").write_text("\n".join(recorder.lines) + "\n", encoding="utf-8")
        for part, text in recorder.content.items():
            (out / name / part).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
