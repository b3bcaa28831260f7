"""Answers of hooks, one a row, and what a program makes of each: what runs, what the model is told, and how often it is
asked. `lab/hooks/record` writes what Claude Code makes of them to `claude_code.json`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swecli.headless.runner import refuse
from swecli.models.errors import BadInput
from swecli.models.message import ModelRequest
from swecli.models.mode import Mode
from tests.support.hooks import approve_hooks
from tests.support.runtime import calls, make_runtime, run_turn

_MODES: dict[str, Mode] = {"default": "ask", "bypassPermissions": "auto"}
RECORDED = Path(__file__).parents[1] / "tools/hooks/claude_code.json"
_WORD = re.compile(r"WORD-[A-Z]+")  # what a row's texts are known by


@dataclass(frozen=True, slots=True)
class Answer:
    """A hook: where it is declared, and what its program does when it has read its input."""

    event: str = "PreToolUse"
    matcher: str | None = "Bash"
    output: str = ""
    errors: str = ""
    code: int = 0
    before: str = ""  # shell, before the answer
    command: str = ""  # in place of all that
    more: Mapping[str, Any] = field(default_factory=dict)  # other keys of its declaration


@dataclass(frozen=True, slots=True)
class Row:
    """A run with hooks. The model calls `Bash` with each of `commands`, and then answers."""

    name: str
    hooks: Sequence[Answer]
    commands: Sequence[str] = ("echo first >> ran.txt",)
    mode: str = "default"
    allow: Sequence[str] = ("Bash",)
    deny: Sequence[str] = ()
    ask: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row.

    Attributes:
        ran: The words that the commands wrote.
        told: The words of the row that reached the model.
        requests: How often the model was asked.
        fired: How often each hook ran.
        keys: Of the input of each hook that ran, at its first time.
    """

    ran: list[str]
    told: list[str]
    requests: int
    fired: list[int]
    keys: list[list[str]]


def make_project(folder: Path, row: Row) -> None:
    """Write the settings and the programs of a row into a folder."""
    events: dict[str, list[dict[str, Any]]] = {}
    for number, answer in enumerate(row.hooks):
        (folder / f"{number}.out").write_text(answer.output, encoding="utf-8")
        (folder / f"{number}.err").write_text(answer.errors, encoding="utf-8")
        lines = [
            f"cat >> {number}.in",
            answer.before,
            f"cat {number}.out",
            f"cat {number}.err >&2",
            f"exit {answer.code}",
        ]
        (folder / f"{number}.sh").write_text("\n".join(lines), encoding="utf-8")
        hook = {
            "type": "command",
            "command": answer.command or f"cd {shlex.quote(str(folder))} && sh {number}.sh",
            **answer.more,
        }
        group: dict[str, Any] = {"hooks": [hook]}
        if answer.matcher is not None:
            group["matcher"] = answer.matcher
        events.setdefault(answer.event, []).append(group)
    (folder / ".claude").mkdir()
    rules = {"deny": [*row.deny], "ask": [*row.ask]}
    settings = {"hooks": events, "permissions": rules}
    (folder / ".claude/settings.json").write_text(json.dumps(settings), encoding="utf-8")


def read_outcome(folder: Path, row: Row, sent: Sequence[str]) -> Outcome:
    """Return what became of a row whose run has ended. `sent` are the messages of the model's requests, as text."""
    written = folder / "ran.txt"
    ran = written.read_text(encoding="utf-8").split() if written.exists() else []
    told = sorted({word for text in sent for word in _WORD.findall(text)})
    fired: list[int] = []
    keys: list[list[str]] = []
    for number in range(len(row.hooks)):
        inputs = _read_inputs(folder / f"{number}.in")
        fired.append(len(inputs))
        keys.append(sorted(inputs[0]) if inputs else [])
    return Outcome(ran, told, len(sent), fired, keys)


async def run_row(folder: Path, row: Row) -> Outcome:
    """Run a row with swecli, without a screen."""
    make_project(folder, row)
    sent: list[str] = []

    def answer(request: ModelRequest) -> Any:
        sent.append(json.dumps(request.messages, default=str))
        number = len(sent)
        if number > len(row.commands):
            return "done"
        return calls(("run_command", {"command": row.commands[number - 1], "access": "write"}))

    runtime = make_runtime(
        answer,
        refuse,  # type: ignore[arg-type]  # nobody is there to be asked
        cwd=folder,
        # no rule here allows a command that writes to a file
        mode="auto" if row.allow else _MODES[row.mode],
        deny=tuple(row.deny),
        ask=tuple(row.ask),
        sandbox="off",
    )
    approve_hooks(runtime.start)
    try:
        await runtime.agent.admit("do it")
    except BadInput:
        return read_outcome(folder, row, sent)
    await run_turn(runtime, "do it", learn=False)
    hooks = runtime.agent.toolkit.hooks
    assert hooks is not None
    await hooks.end_session("other")
    return read_outcome(folder, row, sent)


def _read_inputs(file: Path) -> list[dict[str, Any]]:
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    decoder = json.JSONDecoder()
    inputs: list[dict[str, Any]] = []
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        inputs.append(value)
        text = text[end:]
    return inputs


def _decision(decision: str, **more: Any) -> str:
    specific = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": "WORD-REASON",
        **more,
    }
    return json.dumps({"hookSpecificOutput": specific})


def _context(event: str) -> str:
    specific = {"hookEventName": event, "additionalContext": "WORD-CONTEXT"}
    return json.dumps({"hookSpecificOutput": specific})


def _permission(behavior: str) -> str:
    decision = {"behavior": behavior, "message": "WORD-REASON"}
    specific = {"hookEventName": "PermissionRequest", "decision": decision}
    return json.dumps({"hookSpecificOutput": specific})


_DENY = _decision("deny")
_ALLOW = _decision("allow")
_ASK = _decision("ask")
_STOP = json.dumps({"continue": False, "stopReason": "WORD-STOP"})
_CHANGED = {"updatedInput": {"command": "echo changed >> ran.txt", "access": "write"}}
_ONLY_CHANGED = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **_CHANGED}})
_BLOCK = json.dumps({"decision": "block", "reason": "WORD-REASON"})
_ONCE = "[ -e once ] && exit 0; touch once"  # of a hook that answers only the first time
_MUCH = "head -c 2100000 /dev/zero | tr '\\0' x"
_NOTHING: tuple[str, ...] = ()
_FAILING = ("echo first >> ran.txt; exit 7",)
_TWO = ("echo first >> ran.txt", "echo second >> ran.txt")

ROWS = [
    Row("before: silent", [Answer()]),
    Row("before: exit 1", [Answer(errors="WORD-ERROR", code=1)]),
    Row("before: exit 3", [Answer(errors="WORD-ERROR", code=3)]),
    Row("before: exit 2", [Answer(errors="WORD-ERROR", code=2)]),
    Row("before: exit 2, output only", [Answer(output="WORD-OUTPUT", code=2)]),
    Row("before: exit 2, nothing said", [Answer(code=2)]),
    Row("before: exit 2 with an allow", [Answer(output=_ALLOW, errors="WORD-ERROR", code=2)]),
    Row("before: text", [Answer(output="WORD-OUTPUT")]),
    Row("before: broken JSON", [Answer(output='{"hookSpecificOutput": {"WORD-OUTPUT"')]),
    Row("before: a list", [Answer(output='["WORD-OUTPUT"]')]),
    Row("before: empty object", [Answer(output="{}")]),
    Row("before: unknown decision", [Answer(output=_decision("maybe"))]),
    Row("before: another event's name", [Answer(output=_context("Stop"))]),
    Row("before: missing program", [Answer(command="no-such-program-here")]),
    Row("before: time-out", [Answer(before="sleep 20", more={"timeout": 1}, output=_DENY)]),
    Row("before: text around the JSON", [Answer(output=f"before\n{_DENY}\nafter")]),
    Row("before: text before the JSON", [Answer(output=f"before\n{_DENY}")]),
    Row("before: white space around the JSON", [Answer(output=f"\n  {_DENY}\n\n")]),
    Row("before: deny", [Answer(output=_DENY)]),
    Row("before: deny, exit 1", [Answer(output=_DENY, code=1)]),
    Row("before: deny, exit 3", [Answer(output=_DENY, code=3)]),
    Row("before: deny, no mode asks", [Answer(output=_DENY)], mode="bypassPermissions"),
    Row(
        "before: exit 2, no mode asks",
        [Answer(errors="WORD-ERROR", code=2)],
        mode="bypassPermissions",
    ),
    Row("before: ask", [Answer(output=_ASK)]),
    Row("before: ask, not allowed", [Answer(output=_ASK)], allow=_NOTHING),
    Row("before: ask, no mode asks", [Answer(output=_ASK)], mode="bypassPermissions"),
    Row("before: nothing said, not allowed", [Answer()], allow=_NOTHING),
    Row("before: allow, not allowed", [Answer(output=_ALLOW)], allow=_NOTHING),
    Row("before: allow, exit 1", [Answer(output=_ALLOW, code=1)], allow=_NOTHING),
    Row("before: allow, a deny rule", [Answer(output=_ALLOW)], deny=("Bash(echo *)",)),
    Row("before: allow, an ask rule", [Answer(output=_ALLOW)], ask=("Bash(echo *)",)),
    Row(
        "before: changed and allowed",
        [Answer(output=_decision("allow", **_CHANGED))],
        allow=_NOTHING,
    ),
    Row("before: changed", [Answer(output=_ONLY_CHANGED)]),
    Row("before: changed, not allowed", [Answer(output=_ONLY_CHANGED)], allow=_NOTHING),
    Row(
        "before: changed to what a rule denies",
        [Answer(output=_decision("allow", **_CHANGED))],
        deny=("Bash(echo changed:*)",),
    ),
    Row(
        "before: changed to nonsense",
        [Answer(output=_decision("allow", updatedInput={"command": 7}))],
    ),
    Row(
        "before: old approve",
        [Answer(output='{"decision": "approve", "reason": "WORD-REASON"}')],
        allow=_NOTHING,
    ),
    Row("before: old block", [Answer(output=_BLOCK)]),
    Row("before: old block, exit 1", [Answer(output=_BLOCK, code=1)]),
    Row("before: continue false", [Answer(output=_STOP)]),
    Row("before: continue false, two calls", [Answer(output=_STOP)], commands=_TWO),
    Row("before: context", [Answer(output=_context("PreToolUse"))]),
    Row("before: a message for the user", [Answer(output='{"systemMessage": "WORD-MESSAGE"}')]),
    Row("before: allow and deny", [Answer(output=_ALLOW), Answer(output=_DENY)]),
    Row("before: ask and allow", [Answer(output=_ASK), Answer(output=_ALLOW)]),
    Row("before: deny and exit 1", [Answer(output=_DENY), Answer(errors="WORD-ERROR", code=1)]),
    Row("before: exit 2 and allow", [Answer(errors="WORD-ERROR", code=2), Answer(output=_ALLOW)]),
    Row("before: 2.1 MB of text", [Answer(before=_MUCH)]),
    Row(
        "before: 2.1 MB of errors, exit 2",
        [Answer(before=f"{_MUCH} >&2", errors="WORD-ERROR", code=2)],
    ),
    Row(
        "before: it deletes its own program",
        [Answer(before="rm 0.sh", output=_DENY)],
        commands=_TWO,
    ),
    Row("before: two calls", [Answer(errors="WORD-ERROR", code=2)], commands=_TWO),
    Row("matcher: none", [Answer(matcher=None, code=2)]),
    Row("matcher: empty", [Answer(matcher="", code=2)]),
    Row("matcher: star", [Answer(matcher="*", code=2)]),
    Row("matcher: another tool", [Answer(matcher="Write", code=2)]),
    Row("matcher: part of a name", [Answer(matcher="Bas", code=2)]),
    Row("matcher: other case", [Answer(matcher="bash", code=2)]),
    Row("matcher: bar", [Answer(matcher="Edit|Bash", code=2)]),
    Row("matcher: bar and space", [Answer(matcher="Edit | Bash", code=2)]),
    Row("matcher: comma", [Answer(matcher="Edit,Bash", code=2)]),
    Row("matcher: comma and space", [Answer(matcher="Edit, Bash", code=2)]),
    Row("matcher: part of a name with a comma", [Answer(matcher="Edit,Bas", code=2)]),
    Row("matcher: hyphen", [Answer(matcher="mcp__my-server__tool|Bash", code=2)]),
    Row(
        "matcher: part of a name with a hyphen",
        [Answer(matcher="mcp__my-server__tool|Bas", code=2)],
    ),
    Row("matcher: dot star", [Answer(matcher="B.*", code=2)]),
    Row("matcher: expression in the middle", [Answer(matcher="a[s]h", code=2)]),
    Row("matcher: anchored expression", [Answer(matcher="^as", code=2)]),
    Row("matcher: broken expression", [Answer(matcher="Bash(", code=2)]),
    Row("if: the command", [Answer(more={"if": "Bash(echo *)"}, code=2)]),
    Row("if: another command", [Answer(more={"if": "Bash(git *)"}, code=2)]),
    Row(
        "if: the second of two",
        [Answer(more={"if": "Bash(ls *)"}, code=2)],
        commands=("echo first >> ran.txt; ls -l",),
    ),
    Row("if: prefix", [Answer(more={"if": "Bash(echo:*)"}, code=2)]),
    Row("if: another tool", [Answer(more={"if": "Read(*)"}, code=2)]),
    Row("if: the tool", [Answer(more={"if": "Bash"}, code=2)]),
    Row(
        "args: the words of the command",
        [Answer(command="sh", more={"args": ["-c", "cat > /dev/null; exit 2"]})],
    ),
    Row("after: text", [Answer("PostToolUse", output="WORD-OUTPUT")]),
    Row("after: exit 1", [Answer("PostToolUse", errors="WORD-ERROR", code=1)]),
    Row("after: exit 2", [Answer("PostToolUse", errors="WORD-ERROR", code=2)]),
    Row("after: block", [Answer("PostToolUse", output=_BLOCK)]),
    Row("after: context", [Answer("PostToolUse", output=_context("PostToolUse"))]),
    Row("after: continue false", [Answer("PostToolUse", output=_STOP)]),
    Row(
        "after: a failing call",
        [
            Answer("PostToolUse"),
            Answer("PostToolUseFailure", output=_context("PostToolUseFailure")),
        ],
        commands=_FAILING,
    ),
    Row(
        "after: a failing call, exit 2",
        [Answer("PostToolUseFailure", errors="WORD-ERROR", code=2)],
        commands=_FAILING,
    ),
    Row(
        "after: a refused call",
        [Answer("PostToolUse"), Answer("PostToolUseFailure"), Answer(output=_DENY)],
    ),
    Row("prompt: text", [Answer("UserPromptSubmit", None, output="WORD-OUTPUT")]),
    Row("prompt: context", [Answer("UserPromptSubmit", None, output=_context("UserPromptSubmit"))]),
    Row(
        "prompt: exit 1",
        [Answer("UserPromptSubmit", None, output="WORD-OUTPUT", errors="WORD-ERROR", code=1)],
    ),
    Row("prompt: exit 2", [Answer("UserPromptSubmit", None, errors="WORD-ERROR", code=2)]),
    Row("prompt: block", [Answer("UserPromptSubmit", None, output=_BLOCK)]),
    Row("prompt: continue false", [Answer("UserPromptSubmit", None, output=_STOP)]),
    Row("prompt: a matcher is ignored", [Answer("UserPromptSubmit", "Bash", output="WORD-OUTPUT")]),
    Row("start: text", [Answer("SessionStart", None, output="WORD-OUTPUT")]),
    Row("start: context", [Answer("SessionStart", "startup", output=_context("SessionStart"))]),
    Row("start: another source", [Answer("SessionStart", "resume", output="WORD-OUTPUT")]),
    Row("start: exit 2", [Answer("SessionStart", None, errors="WORD-ERROR", code=2)]),
    Row("stop: text", [Answer("Stop", None, output="WORD-OUTPUT")]),
    Row("stop: exit 1", [Answer("Stop", None, errors="WORD-ERROR", code=1)]),
    Row("stop: exit 2 once", [Answer("Stop", None, before=_ONCE, errors="WORD-ERROR", code=2)]),
    Row("stop: block once", [Answer("Stop", None, before=_ONCE, output=_BLOCK)]),
    Row(
        "stop: block without a reason",
        [Answer("Stop", None, before=_ONCE, output='{"decision": "block"}')],
    ),
    Row(
        "stop: continue false",
        [
            Answer(
                "Stop",
                None,
                output='{"continue": false, "stopReason": "WORD-STOP", "decision": "block", "reason": "WORD-REASON"}',
            )
        ],
    ),
    Row("stop: block for ever", [Answer("Stop", None, output=_BLOCK)]),
    Row(
        "question: allow, nobody there",
        [Answer("PermissionRequest", output=_permission("allow"))],
        allow=_NOTHING,
    ),
    Row(
        "question: deny, nobody there",
        [Answer("PermissionRequest", output=_permission("deny"))],
        allow=_NOTHING,
    ),
    Row("question: none is open", [Answer("PermissionRequest", output=_permission("deny"))]),
    Row("end: runs", [Answer("SessionEnd", None)]),
]
