"""The tour: a model that follows fixed sentences, so that swecli can be tried offline and without a key."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel, provider
from swecli.llm.profile import Profile
from swecli.models.message import (
    ApiMessage,
    ModelChunk,
    ModelRequest,
)
from swecli.text import fence
from swecli.tour.conversation import (
    Call,
    find_top_level,
    parse_calls,
    parse_strategies,
    query_start,
    stream_reply,
    strip_attachments,
)
from swecli.tour.tutorial import Tutorial

_MAX_CALLS = 30  # of one turn
_MAX_QUOTED_LINES = 40
_MAX_LISTED, _MAX_CHARS = 5, 200  # commands and files in a summary, and characters of each

_ABOUT = """\
This is the tour: a stand-in that shows how swecli works, without a network. It is not a language model and \
understands six sentences, one per line:

- `list {folder}`: what is in a folder
- `read {file}`, or `read lines 1-20 of {file}`
- `search for "TODO" in {folder}`
- `change "old words" to "new words" in {file}`: shown as a diff, done when you allow it
- `run the tests`, or `run the tests with "npm test"`: asked first, then the exit code
- `remember that tests come first`: kept in the playbook

For real work name a model: set a key such as `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` and start again, or choose one \
with `-m provider/name`, or here with `/model provider/name`, where Tab after `/model ` lists some."""

_BEGINNING = _ABOUT[:40]  # tells that it was said

_NOT_UNDERSTOOD = """\
This is the tour, no language model, and this is none of its six sentences; `tour` lists them. One is `read {file}`.
For real work name a model: `-m provider/name` at the start, or `/model provider/name` here."""

_REMEMBERED = """\
The words are yours and no model is needed: swecli stores them itself, right after this answer. The line with `+` \
shows it, `/playbook` lists it, `/prompt full` shows it in the next request."""

_NO_LESSONS = '{"strategies": [], "lessons": [], "findings": []}'


class _Tour:
    """Follows the lines of the newest message, one call per request; estimates usage at four characters a token."""

    name = "demo"
    profile = Profile(32_000, 4_096, offline=True, estimates=True)
    no_review = "The tour reviews nothing."

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the reply to a request. Raises nothing."""
        text, call = _reply(request)
        for chunk in stream_reply(request, text, call):
            await asyncio.sleep(0)
            yield chunk


@provider("demo", default_model="demo")
def tour(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """Return the tutorial for `demo/tutorial`, the tour for any other name after `demo/`."""
    return Tutorial() if name.rpartition("/")[2] == "tutorial" else _Tour()


def _reply(request: ModelRequest) -> tuple[str, Call | None]:
    """Return the text of the reply, and the call it makes."""
    messages = request.messages
    if request.purpose == "reflect":
        return _NO_LESSONS, None
    if request.purpose == "condense":
        return _condense(messages[:-1]), None
    start = query_start(messages)
    lines = [
        line
        for message in messages[start : start + 1]
        for line in strip_attachments(message).splitlines()
    ]
    steps = _plan_steps(
        [line.strip() for line in lines if line.strip()], parse_strategies(messages)
    )
    calls = [step.call.name for step in steps or () if step.call]
    if steps is None or not {spec.name for spec in request.tools}.issuperset(calls):
        return _explain(messages, lines), None
    finished = parse_calls(messages, start)
    if len(finished) < min(len(calls), _MAX_CALLS):
        step = [step for step in steps if step.call][len(finished)]
        return step.text, step.call
    return _answer(steps, finished), None


def _explain(messages: Sequence[ApiMessage], lines: Sequence[str]) -> str:
    """Return what the tour is, in two lines if it was said before. The examples name what the folder holds."""
    names = find_top_level(messages)
    folders = [name.rstrip("/") for name in names if name.endswith("/")]
    files = [name for name in names if not name.endswith("/")]
    place = {
        "folder": _word(folders[0]) if folders else ".",
        "file": _word(files[0]) if files else "NAME",
    }
    is_asked = [line.strip(" ?!.").lower() for line in lines] == ["tour"]
    said = any(
        message["role"] == "assistant" and _BEGINNING in str(message.get("content"))
        for message in messages
    )
    return (_NOT_UNDERSTOOD if said and not is_asked else _ABOUT).format(**place)


def _word(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _answer(steps: Sequence[_Step], finished: Sequence[Call]) -> str:
    """Return the turn's last message: the result of each call, quoted."""
    parts, calls = [], iter(finished)
    for step in steps:
        call = next(calls, None) if step.call else None
        if step.intent == "remember":
            parts.append(_REMEMBERED)
        elif step.head and call is not None:
            parts.append(_report(step, call))
    return "\n\n".join(parts)


def _report(step: _Step, call: Call) -> str:
    text = call.result or "(no result)"
    if step.intent != "test":
        return f"{step.head}:\n{_quote(text)}"
    outcome = "did not run" if call.exit_code is None else f"ended with exit code {call.exit_code}"
    return f"{step.head}: `{call.arguments.get('command', '')}` {outcome}.\n{_quote(text)}"


def _quote(text: str) -> str:
    """Return a fenced code block, truncated to `_MAX_QUOTED_LINES`."""
    lines = text.split("\n")
    more = (
        [f"… {len(lines) - _MAX_QUOTED_LINES} more lines"] if len(lines) > _MAX_QUOTED_LINES else []
    )
    return fence("\n".join([*lines[:_MAX_QUOTED_LINES], *more])) + "\n"


def _condense(messages: Sequence[ApiMessage]) -> str:
    """Return a summary: the first request, the last commands with their exit codes, and the last files."""
    queries = [
        text
        for message in messages
        if message["role"] == "user" and (text := strip_attachments(message))
    ]
    calls = parse_calls(messages)
    paths = dict.fromkeys(str(call.arguments.get("path") or "") for call in calls)
    commands = [
        f"- `{shorten(str(call.arguments.get('command') or ''), _MAX_CHARS)}`: exit code {call.exit_code}"
        for call in calls
        if call.exit_code is not None
    ]
    files = [f"- {shorten(path, _MAX_CHARS)}" for path in paths if path]
    lines = ["## Request", shorten(queries[0], _MAX_CHARS) if queries else "None."]
    lines += [
        "## Done",
        *(commands[-_MAX_LISTED:] or ["None."]),
        "## Known",
        *(files[-_MAX_LISTED:] or ["None."]),
    ]
    return "\n".join(lines)


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
_SENTENCES = {
    name: re.compile(pattern.replace("TOKEN", _TOKEN), re.IGNORECASE)
    for name, pattern in _PATTERNS.items()
}
_MAX_LINE = 2_000  # characters; a longer line is pasted text
_REGEX_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_TESTS = re.compile(r"\btests?\b", re.IGNORECASE)
_DEFAULT_TEST_COMMAND = "python3 -m unittest"  # part of every Python
_UNKNOWN = 'No test command is known for this project (name one: run the tests with "npm test")'


@dataclass(frozen=True, slots=True)
class _Step:
    """A call to make, the text before it, and the heading of its result in the answer."""

    intent: str
    call: Call | None
    text: str = ""
    head: str = ""


def _plan_steps(lines: Sequence[str], strategies: Mapping[str, str]) -> list[_Step] | None:
    """Return the steps that the user's lines ask for, in order; None if a line is none of the six sentences."""
    steps: list[_Step] = []
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
            return intent, {
                name: _unquote(word) for name, word in match.groupdict().items() if word is not None
            }
    return None


def _unquote(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] + word[-1] in ('""', "''", "``", "“”") else word


def _steps_of(intent: str, words: Mapping[str, str], strategies: Mapping[str, str]) -> list[_Step]:
    path = words.get("path", "").removeprefix("@") or "."
    match intent:
        case "list":
            return [
                _Step(
                    intent,
                    Call("list_files", {"path": path}),
                    "I list the folder.",
                    f"In `{path}`",
                )
            ]
        case "read":
            arguments: dict[str, object] = {"path": path}
            if first := words.get("first") or words.get("from"):
                last = words.get("last") or words.get("to") or first
                arguments |= {"start_line": int(first[:9]), "end_line": int(last[:9])}
            return [
                _Step(intent, Call("read_file", arguments), "I read the file.", f"`{path}` holds")
            ]
        case "search":
            pattern = _REGEX_SPECIAL.sub(r"\\\g<0>", words["text"])
            call = Call("search_files", {"pattern": pattern, "path": path})
            return [_Step(intent, call, "I search the files.", f"Lines with `{words['text']}`")]
        case "replace":
            edit = {"old_text": words["text"], "new_text": words["new"]}
            read, change = (
                Call("read_file", {"path": path}),
                Call("edit_file", {"path": path, "edits": [edit]}),
            )
            proposal = "Now I propose the change. It is done only if you allow it."
            return [
                _Step(intent, read, "I read the file first, to copy its words exactly."),
                _Step(intent, change, proposal, f"The change of `{path}` was answered with"),
            ]
        case "test":
            return [_test_step(words.get("command", ""), strategies)]
    return [_Step(intent, None)]


def _test_step(command: str, strategies: Mapping[str, str]) -> _Step:
    """Run the given command, else the one in backticks of the newest strategy about tests, else Python's own."""
    why, head = "You name the command", "The tests"
    if not command:
        command, why = _DEFAULT_TEST_COMMAND, _UNKNOWN
        for id, text in strategies.items():
            if (code := _CODE_SPAN.search(text)) and _TESTS.search(text):
                command, why, head = (
                    code[1],
                    f"Strategy [{id}] names the command",
                    f"The tests [{id}]",
                )
    return _Step(
        "test", Call("run_command", {"command": command}), f"{why}: I run `{command}`.", head
    )
