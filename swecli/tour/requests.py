"""Parse a request of the tour: the user's lines, the calls of the turn, the strategies, and the steps they ask for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.models.message import HEAD_OPENS, UNCHANGED, ApiMessage

# Attachments after the user's own words: contents of @files, shared shell lines, the notes of the turn.
_ATTACHMENTS = re.compile(r"\n\n(?:Contents of what is mentioned above:\n|The user ran `|<turn_notes>\n).*", re.DOTALL)
# Strategies as listed in the head of the system message, and changed ones as listed in the notes of a turn.
_STRATEGY = re.compile(r"^- (?:Strategy )?\[(P-\d+)\](?: is new:| now reads:)? (.+)$", re.MULTILINE)
_REMOVED_STRATEGY = "no longer applies."
_EXIT_CODE = re.compile(r"(?:stopped: .*\()?exit code (\d+)")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, with its result as sent to the model; None before it has one."""

    name: str
    arguments: dict[str, Any]
    result: str | None = None

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of a command; None for other calls and for a command that did not run."""
        match = _EXIT_CODE.match(self.result or "") if self.name == "run_command" else None
        return int(match[1]) if match else None


def turn_start(messages: Sequence[ApiMessage]) -> int:
    """Return the index of the user's last message; the number of messages if there is none."""
    return max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=len(messages))


def parse_calls(messages: Sequence[ApiMessage], start: int = 0) -> list[Call]:
    """Return the assistant's calls from index `start` on, in order, with their results."""
    results = _parse_results(messages)
    calls = [call for message in messages[start:] for call in message.get("tool_calls") or () if isinstance(call, dict)]
    return [_parse_call(call, results) for call in calls]


def _parse_call(call: dict[str, Any], results: Mapping[str, str]) -> Call:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, TypeError):
        arguments = None
    arguments = arguments if isinstance(arguments, dict) else {}
    return Call(str(function.get("name") or ""), arguments, results.get(str(call.get("id") or "")))


def _parse_results(messages: Sequence[ApiMessage]) -> dict[str, str]:
    """Return results by call id; one that refers to an earlier result is replaced by it."""
    results: dict[str, str] = {}
    for message in messages:
        if message.get("role") == "tool":
            text = _text_of(message)
            if text.startswith(UNCHANGED):
                text = next((result for id, result in results.items() if id and id in text), text)
            results[str(message.get("tool_call_id") or "")] = text
    return results


def parse_strategies(messages: Sequence[ApiMessage]) -> dict[str, str]:
    """Return the strategies in force by id, oldest first."""
    strategies: dict[str, str] = {}
    for message in messages:
        for id, text in _STRATEGY.findall(_strategy_list(message)):
            strategies[id] = text
            if text == _REMOVED_STRATEGY:
                del strategies[id]
    return strategies


def _strategy_list(message: ApiMessage) -> str:
    """Return the list that swecli itself wrote: files and instructions may contain lines that look the same."""
    text = _text_of(message)
    if message.get("role") == "system":
        _, found, head = text.rpartition(HEAD_OPENS)
        return head.partition("<playbook>\n")[2].partition("</playbook>")[0] if found else ""
    has_notes = message.get("role") == "user" and text.endswith("</turn_notes>")
    return text.rpartition("<turn_notes>\n")[2] if has_notes else ""


def strip_attachments(message: ApiMessage) -> str:
    """Return the user's own words of a message."""
    text = _text_of(message)
    return _ATTACHMENTS.sub("", text).strip() or text.strip()


def _text_of(message: ApiMessage) -> str:
    """Return the content of a message, or the joined texts of its blocks."""
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
_MAX_LINE = 2_000  # characters; a longer line is pasted text
_REGEX_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_TESTS = re.compile(r"\btests?\b", re.IGNORECASE)
_DEFAULT_TEST_COMMAND = "python3 -m unittest"  # part of every Python
_UNKNOWN = 'No test command is known for this project (name one: run the tests with "npm test")'


@dataclass(frozen=True, slots=True)
class Step:
    """A call to make, the text before it, and the heading of its result in the answer."""

    intent: str
    call: Call | None
    text: str = ""
    head: str = ""


def plan_steps(lines: Sequence[str], strategies: Mapping[str, str]) -> list[Step] | None:
    """Return the steps that the user's lines ask for, in order; None if a line is none of the six sentences."""
    steps: list[Step] = []
    for line in lines:
        match = _match_sentence(line)
        if match is None:
            return None
        steps += _steps_of(*match, strategies)
    return steps or None


def _match_sentence(line: str) -> tuple[str, Mapping[str, str]] | None:
    """Return the intent of a line and its unquoted words by name."""
    if len(line) > _MAX_LINE:
        return None
    plain = re.sub(r"^please,? +", "", line, flags=re.IGNORECASE).rstrip(" ?!")
    plain = plain[:-1] if plain.endswith(".") and not plain.endswith((" .", "..")) else plain
    for intent, sentence in _SENTENCES.items():
        if match := sentence.fullmatch(plain):
            return intent, {name: _unquote(word) for name, word in match.groupdict().items() if word is not None}
    return None


def _unquote(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] + word[-1] in ('""', "''", "``", "“”") else word


def _steps_of(intent: str, words: Mapping[str, str], strategies: Mapping[str, str]) -> list[Step]:
    path = words.get("path", "").removeprefix("@") or "."
    match intent:
        case "list":
            return [Step(intent, Call("list_files", {"path": path}), "I list the folder.", f"In `{path}`")]
        case "read":
            arguments: dict[str, object] = {"path": path}
            if first := words.get("first") or words.get("from"):
                last = words.get("last") or words.get("to") or first
                arguments |= {"start_line": int(first[:9]), "end_line": int(last[:9])}
            return [Step(intent, Call("read_file", arguments), "I read the file.", f"`{path}` holds")]
        case "search":
            pattern = _REGEX_SPECIAL.sub(r"\\\g<0>", words["text"])
            call = Call("search_files", {"pattern": pattern, "path": path})
            return [Step(intent, call, "I search the files.", f"Lines with `{words['text']}`")]
        case "replace":
            edit = {"old_text": words["text"], "new_text": words["new"]}
            read, change = Call("read_file", {"path": path}), Call("edit_file", {"path": path, "edits": [edit]})
            proposal = "Now I propose the change. It is done only if you allow it."
            return [
                Step(intent, read, "I read the file first: what is changed must have been seen."),
                Step(intent, change, proposal, f"The change of `{path}` was answered with"),
            ]
        case "test":
            return [_test_step(words.get("command", ""), strategies)]
    return [Step(intent, None)]


def _test_step(command: str, strategies: Mapping[str, str]) -> Step:
    """Run the given command, else the one in backticks of the newest strategy about tests, else Python's own."""
    why, head = "You name the command", "The tests"
    if not command:
        command, why = _DEFAULT_TEST_COMMAND, _UNKNOWN
        for id, text in strategies.items():
            if (code := _CODE_SPAN.search(text)) and _TESTS.search(text):
                command, why, head = code[1], f"Strategy [{id}] names the command", f"The tests [{id}]"
    return Step("test", Call("run_command", {"command": command}), f"{why}: I run `{command}`.", head)
