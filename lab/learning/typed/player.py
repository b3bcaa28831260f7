"""Plays a typed session: the real program in a pseudo-terminal, with a real sandbox, database and HTTP service."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.learning.typed.script import Part, ScriptEnded, SessionScript
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider
from tests.support.strict_provider.script import Answer
from tests.support.strict_provider.server import OPENAI_MODEL
from tests.support.terminal import Terminal

PROJECT = Path(__file__).parent / "project"
_QUIET = 1.5  # seconds without a change of the screen after which nothing happens any more
_COLUMNS, _ROWS = 150, 60
_AUTHOR = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


@dataclass
class Step:
    """One thing that the user did: what the screen showed that is new, and the requests that it caused."""

    part: Part
    value: Any
    screen: list[str]
    requests: list[Received]


@dataclass
class TypedSession:
    """A session in a folder of its own. `requests_to` is where each request is written when it comes."""

    script: SessionScript
    folder: Path
    requests_to: Path | None = None
    _asked: int = 0
    _open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self) -> Iterator[Step]:
        """Play the script and yield each step when nothing happens any more after it."""
        self._make_project()
        with StrictProvider(self._answer) as server:
            terminal: Terminal | None = None
            try:
                for part, value in self.script.events():
                    before = terminal.text if terminal else ""
                    known = len(server.requests)
                    terminal = self._do(part, value, terminal, server)
                    after = self._settle(terminal)
                    yield Step(part, value, _new_lines(before, after), server.requests[known:])
            finally:
                if terminal:
                    terminal.process.close(force=True)

    @property
    def environ(self) -> dict[str, str]:
        home = self.folder / "home"
        return {"HOME": str(home), "SWECLI_HOME": str(home / "swecli"), **_AUTHOR}

    def _do(
        self, part: Part, value: Any, terminal: Terminal | None, server: StrictProvider
    ) -> Terminal | None:
        """Do what one line of the script says; return the terminal in which the program now runs."""
        if part is Part.START:
            if terminal:
                terminal.process.close(force=True)
            return self._start(value, server)
        if part is Part.SHELL:
            environ = {**os.environ, **self.environ, **server.environ()}
            subprocess.run(["sh", "-c", value], cwd=self.folder, env=environ, check=True)
            return terminal
        if terminal is None:
            return terminal
        if part is Part.KEYS:
            terminal.keys(value)
        elif part is Part.KILL:
            _type(terminal, value["typed"])
            terminal.wait(value["when"])
            os.kill(terminal.process.pid, signal.SIGKILL)
        else:
            _type(terminal, value)
        return terminal

    def _start(self, value: dict[str, Any], server: StrictProvider) -> Terminal:
        with contextlib.chdir(self.folder / value["folder"]):
            return Terminal(
                "-m", f"openai/{OPENAI_MODEL}", *value.get("arguments", ()),
                columns=_COLUMNS, rows=_ROWS, environ={**self.environ, **server.environ()},
            )  # fmt: skip

    def _settle(self, terminal: Terminal | None) -> str:
        """Wait until no request is open and the screen does not change; return the screen."""
        if terminal is None:
            return ""
        text, since = terminal.text, time.monotonic()
        while time.monotonic() - since < _QUIET or self._open:
            is_running = terminal.pump(0.1)
            if terminal.text != text:
                text, since = terminal.text, time.monotonic()
            if not is_running:
                time.sleep(0.1)
        return text

    def _make_project(self) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "home").mkdir()
        project = self.folder / "ebb"
        shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
        for command in ("git init -q -b main", "git add -A", "git commit -q -m 'Print tables'"):
            environ = {**os.environ, **self.environ}
            subprocess.run(["sh", "-c", command], cwd=project, env=environ, check=True)

    def _answer(self, request: Received) -> Answer:
        with self._lock:
            self._open += 1
            self._asked += 1
            number = self._asked
        try:
            part = kind_of(request)
            if self.requests_to:
                file = self.requests_to / f"{number:03}-{part or 'title'}.json"
                file.write_text(json.dumps(request.body, ensure_ascii=False, indent=1))
            if part is None:
                return Reply("Work on ebb")
            try:
                return _reply(*self.script.answer(part))
            except ScriptEnded:
                return Refusal(500, f"the script has no further {part}")
        finally:
            with self._lock:
                self._open -= 1


def kind_of(request: Received) -> Part | None:
    """Return which answers of the script a request takes, None for that of a title."""
    if request.body.get("tools"):
        return Part.ANSWER
    is_title = "response_format" not in request.body and len(request.body["messages"]) == 1
    return None if is_title else Part.REFLECTION


def _reply(number: int, answer: Any) -> Reply:
    """Return an answer of the script. Its calls are numbered by it, since a reflection names them."""
    if "strategies" in answer:
        return Reply(json.dumps(answer, ensure_ascii=False), piece=500)
    calls = tuple(
        Call(one["name"], one["arguments"], f"call_{number}_{index}")
        for index, one in enumerate(answer.get("calls", ()))
    )
    return Reply(answer.get("text", ""), calls=calls, piece=60)


def _type(terminal: Terminal, line: str) -> None:
    terminal.keys(line)
    time.sleep(0.3)  # Enter right behind a paste would belong to it
    terminal.keys("\r")


def _new_lines(before: str, after: str) -> list[str]:
    """Return the lines of a screen that were not on the one before."""
    old = Counter(line.strip() for line in before.splitlines())
    new = []
    for line in after.splitlines():
        if old[line.strip()]:
            old[line.strip()] -= 1
        elif line.strip():
            new.append(line)
    return new
