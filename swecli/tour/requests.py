"""What one request shows: the lines typed, the calls made so far, what is remembered, and the six sentences in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.models.message import HEAD_OPENS, UNCHANGED, ApiMessage, ModelRequest

# What the product puts behind the user's own words: the contents of @files, shared shell lines, and the turn's notes.
_ATTACHED = re.compile(r"\n\n(?:Contents of what is mentioned above:\n|The user ran `|<turn_notes>\n).*", re.DOTALL)
# Strategies as the head of the system message lists them, and as the notes of a turn list changed ones.
_STRATEGY = re.compile(r"^- (?:Strategy )?\[(P-\d+)\](?: is new:| now reads:)? (.+)$", re.MULTILINE)
_GONE = "no longer applies."
_EXIT_CODE = re.compile(r"(?:stopped: .*\()?exit code (\d+)")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call by name and arguments."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made, with its result as it was sent; None where there is none."""

    call: Call
    result: str | None

    @property
    def exit_code(self) -> int | None:
        """How a command ended; None for other calls, and for one that did not run."""
        line = (self.result or "").partition("\n")[0]
        found = _EXIT_CODE.match(line) if self.call.name == "run_command" else None
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Turn:
    """The running turn: the user's words, line by line, and the calls made so far.

    `tools` are the names of the tools offered; `remembered` are the strategies the request shows, by id.
    """

    lines: tuple[str, ...]
    made: tuple[Made, ...]
    tools: frozenset[str]
    remembered: dict[str, str]


def read_turn(request: ModelRequest) -> Turn:
    """Read a request of the OpenAI chat shape. Total: what has an unexpected shape counts as not being there."""
    messages = request.messages
    opens = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=len(messages))
    asked = own_words(messages[opens]) if opens < len(messages) else ""
    lines = tuple(line.strip() for line in asked.splitlines() if line.strip())
    made = calls_in(messages[opens:], results_in(messages))
    return Turn(lines, made, frozenset(spec.name for spec in request.tools), _remembered(messages))


def calls_in(messages: Sequence[ApiMessage], results: dict[str, str]) -> tuple[Made, ...]:
    """The calls of the assistant's messages in order, with their results by the calls' ids."""
    asked = [call for message in messages for call in message.get("tool_calls") or () if isinstance(call, dict)]
    return tuple(_made(call, results) for call in asked)


def results_in(messages: Sequence[ApiMessage]) -> dict[str, str]:
    """Results by call id; one that points at an earlier result is replaced by that."""
    results: dict[str, str] = {}
    for message in messages:
        if message.get("role") == "tool":
            text = _text_of(message)
            if text.startswith(UNCHANGED):
                text = next((known for id, known in results.items() if id and id in text), text)
            results[str(message.get("tool_call_id") or "")] = text
    return results


def _made(call: dict[str, Any], results: dict[str, str]) -> Made:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, TypeError):
        arguments = None
    known = arguments if isinstance(arguments, dict) else {}
    return Made(Call(str(function.get("name") or ""), known), results.get(str(call.get("id") or "")))


def _remembered(messages: Sequence[ApiMessage]) -> dict[str, str]:
    known: dict[str, str] = {}
    for message in messages:
        for name, text in _STRATEGY.findall(_strategy_list(message)):
            known[name] = text
            if text == _GONE:
                del known[name]
    return known


def _strategy_list(message: ApiMessage) -> str:
    """Where the product itself lists strategies: files and instructions may hold lines that look the same."""
    text = _text_of(message)
    if message.get("role") == "system":
        _, opens, head = text.rpartition(HEAD_OPENS)
        return head.partition("<playbook>\n")[2].partition("</playbook>")[0] if opens else ""
    ours = message.get("role") == "user" and text.endswith("</turn_notes>")
    return text.rpartition("<turn_notes>\n")[2] if ours else ""


def own_words(message: ApiMessage) -> str:
    """A user's message without what the product attached to it."""
    text = _text_of(message)
    return _ATTACHED.sub("", text).strip() or text.strip()


def _text_of(message: ApiMessage) -> str:
    """The text of a message: its content, or that of its text blocks; an image has none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict))


_TOKEN = r"(?:\"[^\"]*\"|'[^']*'|`[^`]*`|“[^”]*”|\S+?)"
_PATTERNS = {
    "list": r"(?:list|ls)(?: (?:the |all )*files)?(?: (?:in|of))?"
    r"(?: (?:this|the) (?:folder|project)| (?P<path>TOKEN))?",
    "read": r"(?:read|show|cat)(?: lines? (?P<first>\d+)(?: ?(?:-|to) ?(?P<last>\d+))? (?:of|in))?"
    r"(?: (?:the )?file)? (?P<path>TOKEN)(?:(?: lines? |:)(?P<from>\d+)(?: ?(?:-|to) ?(?P<to>\d+))?)?",
    "search": r"(?:search|grep|look(?= for))(?: for)? (?P<text>TOKEN|.+?)(?: in (?P<path>TOKEN))?",
    "replace": r"(?:replace|change) (?P<text>TOKEN) (?:with|by|to|into) (?P<new>TOKEN) in (?P<path>TOKEN)",
    "test": r"run (?:(?:the|all|our|my|project's) )*tests?(?: (?:with|using|by) (?P<command>`[^`]+`|.+))?",
    "remember": r"remember\b.+",
}
_SENTENCES = {name: re.compile(pattern.replace("TOKEN", _TOKEN), re.IGNORECASE) for name, pattern in _PATTERNS.items()}
_LONGEST = 2_000  # characters of a line; a longer one is pasted text
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_CODE = re.compile(r"`([^`\n]+)`")
_TESTS = re.compile(r"\btests?\b", re.IGNORECASE)
# every Python has it; the user names another one, or has it remembered
_UNITTEST = "python3 -m unittest"
_UNKNOWN = 'No test command is known for this project (name one: run the tests with "npm test")'


@dataclass(frozen=True, slots=True)
class Step:
    """One call to make, the text that goes with it, and the heading of its result in the answer."""

    intent: str
    call: Call | None
    text: str = ""
    head: str = ""


def plan(turn: Turn) -> list[Step] | None:
    """What the user's lines ask for, in order; None where one of them is not understood."""
    steps: list[Step] = []
    for line in turn.lines:
        found = _understood(line)
        if found is None:
            return None
        steps += _STEPS[found[0]](found[1], turn)
    needed = {step.call.name for step in steps if step.call}
    return steps if steps and needed <= turn.tools else None


def _understood(line: str) -> tuple[str, Mapping[str, str]] | None:
    """Which of the six sentences a line is, with its words as they are meant; None for none of them."""
    if len(line) > _LONGEST:
        return None
    plain = re.sub(r"^please,? +", "", line.strip(), flags=re.IGNORECASE).rstrip(" ?!")
    plain = plain[:-1] if plain.endswith(".") and not plain.endswith((" .", "..")) else plain
    for name, sentence in _SENTENCES.items():
        if match := sentence.fullmatch(plain):
            return name, {key: _bare(value) for key, value in match.groupdict().items() if value is not None}
    return None


def _bare(token: str) -> str:
    if len(token) > 1 and token[0] + token[-1] in ('""', "''", "``", "“”"):
        return token[1:-1]
    return token


def _path(words: Mapping[str, str]) -> str:
    return words.get("path", "").removeprefix("@") or "."


def _list(words: Mapping[str, str], turn: Turn) -> list[Step]:
    path = _path(words)
    return [Step("list", Call("list_files", {"path": path}), "I list the folder.", f"In `{path}`")]


def _read(words: Mapping[str, str], turn: Turn) -> list[Step]:
    arguments: dict[str, object] = {"path": _path(words)}
    first, last = words.get("first") or words.get("from"), words.get("last") or words.get("to")
    if first:
        arguments |= {"start_line": int(first[:9]), "end_line": int((last or first)[:9])}
    return [Step("read", Call("read_file", arguments), "I read the file.", f"`{_path(words)}` holds")]


def _search(words: Mapping[str, str], turn: Turn) -> list[Step]:
    arguments = {"pattern": _SPECIAL.sub(r"\\\g<0>", words["text"]), "path": _path(words)}
    return [Step("search", Call("search_files", arguments), "I search the files.", f"Lines with `{words['text']}`")]


def _replace(words: Mapping[str, str], turn: Turn) -> list[Step]:
    path = _path(words)
    edit = {"old_text": words["text"], "new_text": words["new"]}
    first, then = Call("read_file", {"path": path}), Call("edit_file", {"path": path, "edits": [edit]})
    proposal = "Now I propose the change. It is done only if you allow it."
    return [
        Step("replace", first, "I read the file first: what is changed must have been seen."),
        Step("replace", then, proposal, f"The change of `{path}` was answered with"),
    ]


def _test(words: Mapping[str, str], turn: Turn) -> list[Step]:
    command, name = words.get("command", ""), ""
    why = "You name the command"
    if not command:
        command, name = _test_command(turn.remembered)
        why = f"Strategy [{name}] names the command" if name else _UNKNOWN
    head = f"The tests [{name}]" if name else "The tests"
    return [Step("test", Call("run_command", {"command": command}), f"{why}: I run `{command}`.", head)]


def _test_command(strategies: Mapping[str, str]) -> tuple[str, str]:
    """The command that a strategy about tests names in backticks, the newest first, with its id; else Python's own."""
    for name, text in reversed(list(strategies.items())):
        code = _CODE.search(text)
        if code and _TESTS.search(text):
            return code[1], name
    return _UNITTEST, ""


def _remember(words: Mapping[str, str], turn: Turn) -> list[Step]:
    return [Step("remember", None)]


_STEPS = {
    "list": _list, "read": _read, "search": _search, "replace": _replace, "test": _test,
    "remember": _remember,
}  # fmt: skip
