"""Six sentences the tour understands, and the calls each of them stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from swecli.tour.requests import Call, Turn

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
        found = understood(line)
        if found is None:
            return None
        steps += _STEPS[found[0]](found[1], turn)
    needed = {step.call.name for step in steps if step.call}
    return steps if steps and needed <= turn.tools else None


def understood(line: str) -> tuple[str, Mapping[str, str]] | None:
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
    call = Call("list_files", {"path": path})
    return [Step("list", call, "I list the folder.", f"In `{path}`")]


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
    return [
        Step(
            "replace", Call("read_file", {"path": path}), "I read the file first: what is changed must have been seen."
        ),
        Step(
            "replace",
            Call("edit_file", {"path": path, "edits": [edit]}),
            "Now I propose the change. It is done only if you allow it.",
            f"The change of `{path}` was answered with",
        ),
    ]


def _test(words: Mapping[str, str], turn: Turn) -> list[Step]:
    command, name = words.get("command", ""), ""
    why = "You name the command"
    if not command:
        command, name = _remembered(turn.remembered)
        why = f"Strategy [{name}] names the command" if name else _UNKNOWN
    head = f"The tests [{name}]" if name else "The tests"
    return [Step("test", Call("run_command", {"command": command}), f"{why}: I run `{command}`.", head)]


def _remembered(strategies: Mapping[str, str]) -> tuple[str, str]:
    """The command that a strategy about tests names in backticks, the newest first, with its id; else Python's own."""
    for name, text in reversed(list(strategies.items())):
        code = _CODE.search(text)
        if code and _TESTS.search(text):
            return code[1], name
    return _UNITTEST, ""


def _remember(words: Mapping[str, str], turn: Turn) -> list[Step]:
    return [Step("remember", None)]


_STEPS = {
    "list": _list, "read": _read, "search": _search, "replace": _replace, "test": _test, "remember": _remember,
}  # fmt: skip
