"""Play forty turns on a clone of this repository with a scripted model and reflector, and collect the evidence of
each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from swecli.app import Runtime, build_runtime
from swecli.config.paths import Paths
from swecli.config.settings import Settings, Start
from swecli.models.approval import AskRequest, Decision
from swecli.models.message import ModelRequest
from swecli.models.model_choice import ModelChoice
from swecli.models.playbook import Delta, Op
from swecli.playbook.learning.reflector_model import ReflectorModel
from swecli.store.journal.deltas import BulletEvidence
from tests.support.scripted import Reply, ScriptedCall, ScriptedModel

FILE = "swecli/models/ids.py"
COMPILES, TESTS = f"python -m py_compile {FILE}", "python -m unittest -q check_ids"
TAUGHT = (
    f"Run `{COMPILES}` after each edit of `{FILE}`",
    "Sessions are lists of interactions",
    f"Write `{FILE}` in the syntax of Python 2",
    f"End with `{TESTS}`",
)
_TEST = "import unittest\nfrom swecli.models.ids import parse_short_id\n\n\n"
_TEST += "class Ids(unittest.TestCase):\n    def test(self):\n"
_TEST += '        self.assertEqual(parse_short_id("P", "p7"), "P-7")\n'
_DOC = '"""'


@dataclass(frozen=True)
class Turn:
    """A turn: its query, its commands and edits (a text is a command, a pair an edit's old and new text), the answer
    and the user's mark, with the expected outcome (True good, False bad, None none) and its weight. `tags` are the
    reflector's, for P-1 to P-4."""

    query: str
    does: tuple[str | tuple[str, str], ...]
    answer: str
    counts: tuple[bool, float] | None = None
    mark: str = ""
    tags: str = "nnnn"


_ROUND = (
    Turn("what does the ids module do?", ("cat " + FILE,), "It parses ids. See [P-2]."),
    Turn("print the id in it", (COMPILES, (f"{_DOC}Ids", f"print 'id'\n{_DOC}Ids"), COMPILES), "As [P-3] says.",
         (False, 1.0), tags="nnxn"),
    Turn("does it compile?", (COMPILES,), "No, as before. [P-1] shows it."),
    Turn("fix it", ((f"print 'id'\n{_DOC}Ids", f"{_DOC}Ids"), COMPILES), "It compiles, as [P-1] requires.", (True, 1.0),
         tags="hnnn"),
    Turn("improve the docstring", ((f"{_DOC}Ids", f"{_DOC}Ids, short"), COMPILES, (f"{_DOC}Ids, short", f"{_DOC}Ids")),
         "Done.", (True, 0.5), tags="hnnn"),
    Turn("read PLAN", ("cat PLAN",), "There is no such file."),
    Turn("is there a log?", ("ls nowhere/", "ls nowhere/"), "No log."),
    Turn("should it print the id?", (), "I would, by [P-3].", mark="bad", tags="nnxn"),
    Turn("what is a session?", (), "A list, see [P-2].", mark="no"),
    Turn("no, run the tests", (TESTS,), "They pass, by [P-4].", mark="good", tags="nnnh"),
)  # fmt: skip
TURNS = _ROUND * 4
_EFFECTS = {"h": "helped", "n": "irrelevant", "x": "hurt"}


def play(folder: Path) -> Iterator[tuple[int, Turn, Runtime]]:
    """Play the session in a clone below `folder`; yield each turn's number and the runtime after it."""
    project = folder / "project"
    root = Path(__file__).resolve().parents[2]
    subprocess.run(
        ("git", "clone", "-q", "--depth", "1", f"file://{root}", str(project)), check=True
    )
    source = (project / FILE).read_text(encoding="utf-8")
    (project / FILE).write_text(f"{_DOC}Ids{source.removeprefix(_DOC)}", encoding="utf-8")
    (project / "check_ids.py").write_text(_TEST, encoding="utf-8")
    runtime, script = _runtime(folder, project)
    for number, turn in enumerate(TURNS, 1):
        script.turn = turn
        yield number, turn, runtime


@dataclass
class _Script:
    """A model that answers with each step of the turn as a call, then its answer, and with the reflector's tags."""

    turn: Turn = _ROUND[0]

    def __call__(self, request: ModelRequest) -> Reply:
        if request.purpose == "reflect":
            tags = [
                {"id": f"P-{at}", "effect": _EFFECTS[tag]}
                for at, tag in enumerate(self.turn.tags, 1)
            ]
            return Reply(json.dumps({"strategies": tags}))
        done = 0
        for message in reversed(request.messages):
            if message["role"] == "user":
                break
            done += message["role"] == "tool"
        if done == len(self.turn.does):
            return Reply(self.turn.answer)
        step = self.turn.does[done]
        if isinstance(step, str):
            return Reply(calls=(ScriptedCall("run_command", {"command": step}),))
        edits = [{"old_text": step[0], "new_text": step[1]}]
        return Reply(calls=(ScriptedCall("edit_file", {"path": FILE, "edits": edits}),))


def _runtime(folder: Path, project: Path) -> tuple[Runtime, _Script]:
    python = Path(sys.executable).parent
    environ = {
        **os.environ,
        "SWECLI_HOME": str(folder / "home"),
        "PATH": f"{python}:{os.environ['PATH']}",
    }
    paths, script = Paths.find(environ), _Script()
    paths.ensure()
    settings = replace(Settings(), mode="auto", reflect="always")
    start = Start(
        settings, paths, project, environ, ModelChoice("scripted/model", "for this session"), None
    )

    async def agree(request: AskRequest) -> Decision:
        return Decision(True)

    runtime = build_runtime(start, agree, model=ScriptedModel(script, offline=False))
    model: Any = runtime.learning.reflector.model
    runtime.learning.reflector = ReflectorModel("template", model, every_turn=True)
    runtime.learning.percent = 100_000
    session = runtime.sessions.current_session
    assert session is not None, "a runtime begins one"
    ops = tuple(
        Op("ADD", fields={"content": text, "scope": "project", "trust": "reasoning"})
        for text in TAUGHT
    )
    runtime.sessions.playbook.apply(Delta("taught", ops, "user"), session)
    return runtime, script


async def take(turn: Turn, runtime: Runtime) -> None:
    """Run one turn as the prompt does: the answer, learning and the user's mark."""
    async with aclosing(runtime.agent.run(runtime.agent.prepare(turn.query))) as happening:
        async for _ in happening:
            pass
    await runtime.learning.learn()
    if turn.mark in ("good", "bad"):
        await runtime.learning.mark(turn.mark == "good")


def evidence(runtime: Runtime) -> dict[int, list[tuple[str, BulletEvidence]]]:
    """Return every piece of evidence by its turn, with its strategy."""
    found: dict[int, list[tuple[str, BulletEvidence]]] = {}
    session = runtime.sessions.current_session
    for name in session.playbook.bullets if session else ():
        for verdict in runtime.sessions.playbook.verdicts(name):
            found.setdefault(verdict.evidence.interaction or 0, []).append((name, verdict))
    return found


def problems(found: dict[int, list[tuple[str, BulletEvidence]]], runtime: Runtime) -> Iterator[str]:
    """Return the deviations: an outcome that the turn does not show, or the opposite one; a tag that was not given,
    or one that a shown strategy lacks."""
    for number, turn in enumerate(TURNS, 1):
        counts = turn.counts[0] if turn.counts else {"good": True, "bad": False}.get(turn.mark)
        if TURNS[number % len(TURNS)].query.startswith("no,"):
            counts = None  # the turn is corrected, but that says nothing of single strategies
        rows = [
            (name, verdict.label, verdict.evidence.source)
            for name, verdict in found.get(number, ())
        ]
        info = runtime.sessions.turns.turn(runtime.sessions.session.id, number)
        shown = info.shown if info else ()
        given = {
            f"P-{at}": _EFFECTS[tag] for at, tag in enumerate(turn.tags, 1) if f"P-{at}" in shown
        }
        tags = {name: tag for name, tag, source in rows if source.startswith("scripted/")}
        if tags != given:
            yield f"T{number}: the reflector's tags are {tags}, it gave {given}"
        for name, tag, source in rows:
            if source.startswith("scripted/"):
                continue
            if counts is None:
                yield f"T{number}: {name} has {tag} by {source}, and the turn shows nothing"
            elif tag == ("harmful" if counts else "helpful"):
                yield f"T{number}: {name} has {tag} by {source}, and the turn went {'well' if counts else 'wrong'}"
        kept = info.good if info else None
        if counts is not None and kept is not counts:
            yield f"T{number}: its stored outcome is {kept}"
