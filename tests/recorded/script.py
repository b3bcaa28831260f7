"""Forty turns that change every part of a request: window, notes, pins, all reductions, undo, restart."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from swecli.actions.builtin.context import plan, show, why
from swecli.app import Runtime
from swecli.config.project_files import read_project_files
from swecli.models.action import ActionResult
from swecli.models.approval import AskRequest, Decision
from swecli.models.errors import ContextOverflow, SwecliError, Unavailable
from swecli.models.events import to_json
from swecli.models.message import ModelRequest, Usage
from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.window_spec import WindowSpec
from tests.recorded.recorder import Recorder
from tests.support.playbooks import operations
from tests.support.runtime import User, calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel

SESSIONS = {
    "5+3": WindowSpec(5, 3),
    "5": WindowSpec(5),
    "auto": WindowSpec(mode="auto"),
    "full": WindowSpec(mode="full"),
}
TEST = ("run_command", {"command": "./pytest -q tests/test_calc.py"})
SMELL = '[{"path": "calc.py", "line": 2, "codeSmellType": "BUG_RISK", "message": "wrong operator"}]'
LONG = "It is so, since the file says it in line {0} and nowhere else. "


def read(number: int) -> tuple[str, dict[str, Any]]:
    return ("read_file", {"path": f"part{number % 8}.txt"})


def edit(old: str, new: str) -> tuple[str, dict[str, Any]]:
    return ("edit_file", {"path": "calc.py", "edits": [{"old_text": old, "new_text": new}]})


TURNS: list[tuple[str, list[Any]]] = [
    (
        "Fix the failing test of calc.py. Never rename a public function.",
        [
            calls(("list_files", {}), ("read_file", {"path": "calc.py"}), text="I look first."),
            calls(TEST),
            calls(edit("a - b", "a + b")),
            calls(TEST),
            "Fixed: add subtracted. " + SMELL,
        ],
    ),
    ("Remember: run the tests of this project with ./pytest -q.", ["Noted."]),
    (
        "What does @part1.txt say?",
        [calls(read(1), read(2)), "Forty lines of it, and no more. [P-1] holds."],
    ),
    (
        "Read all of them",
        [calls(*[read(n) for n in range(8)]), calls(read(3)), "Read. " + LONG.format(3) * 20],
    ),
    (
        "Delete the build folder",
        [
            calls(("run_command", {"command": "rm -r build", "access": "write"})),
            "You said no, so I leave it.",
        ],
    ),
    ("No, that's wrong: the folder is called out, not build.", ["I see: out it is."]),
    (
        "Make a list of steps",
        [
            calls(("todo", {"items": [{"text": "read", "status": "done"}, {"text": "write"}]})),
            "Done.",
        ],
    ),
    (
        "implement a sub function in calc.py",
        [
            calls(
                ("write_file", {"path": "sub.py", "content": "def sub(a, b):\n    return a - b\n"})
            ),
            calls(TEST),
            "Written.",
        ],
    ),
    ("thanks, that works", ["Gladly."]),
    ("short one", ["Yes."]),
    (
        "Run something that fails",
        [
            calls(("run_command", {"command": "./pytest --nope"})),
            calls(TEST),
            "It does not know --nope.",
        ],
    ),
    ("Explain at length", [LONG.format(12) * 160]),
    ("Explain more", [LONG.format(13) * 160]),
    ("And more", [LONG.format(14) * 160]),
    ("Prefer small functions here, always.", ["I will."]),
    (
        "Read them again",
        [
            calls(*[read(n) for n in range(4)]),
            calls(*[read(n) for n in range(4, 8)]),
            "The same as before.",
        ],
    ),
    ("Break it", [calls(edit("a + b", "a * b")), calls(TEST), "Now it fails."]),
    ("Mend it", [calls(edit("a * b", "a + b")), calls(TEST), "Now it passes. [P-1]"]),
    ("refactor everything", [calls(read(5), text="First I read."), LONG.format(19) * 60]),
    (
        "A service that stutters",
        [
            Unavailable("busy, try again", retry_after=0.0),
            Reply("Half", cut_after=1, failure=Unavailable("gone", retry_after=0.0)),
            "Whole.",
        ],
    ),
    (
        "Search for line 3",
        [calls(("search_files", {"pattern": "line 3 of"})), "Found in eight files."],
    ),
    ("Same again", [calls(read(6)), calls(read(6)), calls(read(6)), "It does not change."]),
    (
        "A bad call",
        [calls(("read_file", '{"path": ')), calls(("no_such_tool", {"x": 1})), "So it goes."],
    ),
    ("Too long, says the service", [ContextOverflow("too long"), "Smaller now."]),
    ("What is left to do?", ["To write. " + LONG.format(25) * 100]),
    ("More of that", [LONG.format(26) * 150]),
    ("design a module layout", [calls(*[read(n) for n in range(6)]), LONG.format(27) * 90]),
    ("ok", ["Fine."]),
    ("Never touch setup.py, from now on.", ["I will not."]),
    ("A service that gives up", [SwecliError("the service is gone")]),
    ("Where were we?", ["At the layout. " + LONG.format(31) * 60]),
    (
        "Read four",
        [
            calls(*[read(n) for n in range(4)]),
            calls(*[read(n) for n in range(4)]),
            "Twice the same.",
        ],
    ),
    ("Go on", [LONG.format(33) * 140]),
    ("Further", [LONG.format(34) * 140]),
    ("Still further", [LONG.format(35) * 140]),
    ("Run the tests", [calls(TEST), "They pass. [P-1] [P-2]"]),
    (
        "Where is it described?",
        [calls(("search_files", {"pattern": "def "})), "In calc.py and sub.py."],
    ),
    (
        "implement mul as well",
        [
            calls(edit("return a + b", "return a + b\n\n\ndef mul(a, b):\n    return a * b")),
            calls(TEST),
            "There.",
        ],
    ),
    ("one more", [calls(*[read(n) for n in range(8)]), LONG.format(39) * 80]),
    ("Sum up what we did", ["Much. " + LONG.format(40) * 10]),
]


class Script:
    """The model: plays the replies of the current turn, answers two of three summary requests, and reflects."""

    def __init__(self) -> None:
        self.replies: list[Any] = []
        self.condensed = self.reflected = self.called = 0

    def __call__(self, request: ModelRequest) -> Any:
        if request.purpose == "condense":
            self.condensed += 1
            return (
                ""
                if self.condensed % 3 == 0
                else f"## Summary {self.condensed}\nThe user works on calc.py."
            )
        if request.purpose == "reflect":
            self.reflected += 1
            return Reply(
                json.dumps(self._reflection(request)), usage=Usage(input=30, output=10), cost=0.001
            )
        reply = self.replies.pop(0)
        if isinstance(reply, Reply):  # Set the ids: those generated on a collision are random.
            self.called += len(reply.calls)
            first = self.called - len(reply.calls)
            reply = replace(
                reply, calls=tuple(replace(c, id=f"c{n}") for n, c in enumerate(reply.calls, first))
            )
        return reply

    def _reflection(self, request: ModelRequest) -> dict[str, Any]:
        if self.reflected == 2:
            return {"playbook": "all new"}
        tags = (
            [{"id": "P-1", "effect": "helped", "why": "pytest passed"}]
            if "P-1" in str(request.messages)
            else []
        )
        return {"strategies": tags, "lessons": [{"kind": "fact"}]}  # no lesson: it says nothing


class Careful(User):
    """Approves everything except deletions."""

    async def __call__(self, request: AskRequest) -> Decision:
        deletes = "rm " in str(request.call.parameters)
        return Decision(not deletes, reason="keep it" if deletes else "", by="user")


def change(*ops: Op) -> Delta:
    name = f"by hand {'-'.join(f'{op.op}{op.bullet_id}' for op in ops)}"
    return Delta(name, ops, "user", reason="by hand")


def taught(content: str) -> Op:
    why = (Evidence("user", content, trust="user"),)
    return Op(
        "ADD",
        fields={"content": content, "scope": "project", "trust": "user", "section": "rules"},
        evidence=why,
    )


async def compact(runtime: Runtime) -> list[Any]:
    return [event async for event in runtime.context_control.compact("the calculator")]


def apply(*ops: Op) -> Callable[[Runtime], Any]:
    def done(runtime: Runtime) -> Any:
        session = runtime.sessions.current_session
        assert session is not None
        return operations(runtime.sessions.playbook.apply(change(*ops), session))

    return done


def undone(runtime: Runtime) -> Any:
    taken = runtime.context_control.undo()
    return [taken.how, taken.interaction, taken.before, taken.after, taken.detail]


def shown(runtime: Runtime) -> Any:
    """Return the next request as the user sees it."""

    asked = ((show, ""), (plan, ""), (why, "line 3 of"))
    results = [action.run(runtime, action.read(text)) for action, text in asked]
    values = [result.value for result in results if isinstance(result, ActionResult)]
    return [*values, runtime.agent.prepare("and now the tests").messages]


# user actions after turn N
BETWEEN: dict[int, list[Callable[[Runtime], Any]]] = {
    2: [apply(taught("Tests of calc live in tests/test_calc.py."), taught("Deploy with ./deploy --dry-run first."))],
    4: [lambda r: r.context_control.pin(1), shown],
    7: [apply(Op("UPDATE", "P-1", fields={"content": "Run ./pytest -q and nothing else for the tests."}))],
    9: [lambda r: r.learning.mark(True)],
    10: [shown, lambda r: r.sessions.set_window(WindowSpec(3)), shown],
    11: [lambda r: r.sessions.set_window(r.start.settings.window)],
    13: [undone, shown],
    15: [apply(Op("PIN", "P-2"))],
    17: [lambda r: r.learning.mark(False, "it was fine before")],
    18: [compact, shown],
    21: [lambda r: r.context_control.pin(20), lambda r: r.context_control.unpin(1), shown],
    26: [shown, undone, shown],
    28: [apply(Op("REMOVE", "P-2"))],
    33: [lambda r: r.trust_files(read_project_files(r.cwd)), shown],
    35: [undone, compact, shown],
    38: [shown],
}  # fmt: skip
RESTARTS, MODEL_CHANGE = (12, 29), 23


def prepare_files(root: Path) -> None:
    for number in range(8):
        lines = "".join(f"line {n} of part {number} {'x' * 30}\n" for n in range(40))
        (root / f"part{number}.txt").write_text(lines, encoding="utf-8")
    (root / "calc.py").write_text("def add(a, b):\n    return a - b\n", encoding="utf-8")
    (root / "AGENTS.md").write_text("Keep to the style of the code around.\n", encoding="utf-8")
    (root / "tests").mkdir()
    (root / "tests/test_calc.py").write_text("from calc import add\n", encoding="utf-8")
    runner = root / "pytest"
    runner.write_text(
        '#!/bin/sh\n[ "$1" = "-q" ] || { echo "error: unrecognized arguments: $1" >&2; exit 4; }\n'
        'grep -q "a + b" calc.py && echo "1 passed" || { echo "FAILED test_add: -1 is not 3"; exit 1; }\n'
    )
    runner.chmod(0o755)
    python = root / ".venv/bin/python"  # else the machine's own stands in the requests
    python.parent.mkdir(parents=True)
    python.symlink_to("/bin/true")


async def play(name: str, root: Path) -> Recorder:
    """Play all turns with that window."""
    os.chdir(root)
    prepare_files(root)
    recorder, script = Recorder(root), Script()
    models = [
        ScriptedModel(script, name=f"scripted/{n}", context_window=15_000, max_output=1_000)
        for n in "ab"
    ]
    settings: dict[str, Any] = {
        "window": SESSIONS[name],
        "playbook_tokens": 200,
        "reflect_percent": 90,
    }

    def begin(model: ScriptedModel, resume: str | None = None) -> Runtime:
        return make_runtime(model, Careful(), cwd=root, resume=resume, **settings)

    runtime, model = begin(models[0]), models[0]
    for number, (query, replies) in enumerate(TURNS, 1):
        script.replies = list(replies)
        runtime.agent.count_exactly()  # Estimated counts would hide changes of the sent bytes.
        events = await run_turn(runtime, query)
        recorder.turn(f"T{number:02}", model.requests, events)
        model.requests.clear()
        for place, act in enumerate(BETWEEN.get(number, []), 1):
            done = act(runtime)
            value = await done if inspect.isawaitable(done) else done
            recorder.value(f"T{number:02}.after.{place}", to_json(value))
        recorder.turn(f"T{number:02}.between", model.requests, [])
        model.requests.clear()
        if number == MODEL_CHANGE:
            model = models[1]
            runtime.agent.use_model(model)
            runtime.select_reflector()
            runtime.sessions.set_model(model.name)
        if number in RESTARTS:
            session = runtime.sessions.current_session
            assert session is not None
            runtime.close()
            runtime = begin(model, session.id)
    database = runtime.start.paths.database
    runtime.close()
    recorder.tables(database)
    return recorder
