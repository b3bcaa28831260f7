"""Plays a recorded script, so that swecli can be tried offline and without a key: everything else is real."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import tomllib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel, provider
from swecli.llm.profile import Profile
from swecli.models.json_value import Json, JsonObject
from swecli.models.message import ApiMessage, CallDelta, ModelChunk, ModelRequest, StopReason, Usage
from swecli.text import fence, truncate
from swecli.values import dataclass

_MAX_QUOTED_LINES = 40  # of a result
_TOKEN_CHARACTERS = 4  # an estimate
_PIECE = re.compile(r"\S*\s*\S*\s*")
_PLACEHOLDER = re.compile(r"\\{(\w+)\\}")
_WORD = r"\"[^\"]*\"|'[^']*'|`[^`]*`|\S+"
# Attachments after the user's own words: contents of @files, shared shell lines, a goal, the notes of the turn.
_ATTACHMENTS = re.compile(
    r"\n\n(?:Contents of what is mentioned above:\n|The user ran `|The user has set a goal|<turn_notes>\n).*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Call:
    """A recorded call, and the text before it; "" for none."""

    tool: str
    arguments: JsonObject
    introduction: str = ""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A recorded answer: its calls, one for each request, and the last words."""

    calls: tuple[_Call, ...] = ()
    text: str = ""

    @classmethod
    def from_script(cls, row: JsonObject) -> _Answer:
        calls = tuple(_Call(**call) for call in row.get("calls", ()))
        return cls(calls, row.get("answer", "").strip())

    def fill(self, words: Mapping[str, str]) -> _Answer:
        """Return the answer with the user's words in their places."""
        calls = tuple(
            _Call(call.tool, _fill(call.arguments, words), call.introduction) for call in self.calls
        )
        return _Answer(calls, _fill(self.text, words))


class _Player:
    """Gives the recorded answers of one section of the script; nothing is sent anywhere."""

    def __init__(self, name: str, section: JsonObject) -> None:
        self.name = name
        self.profile = Profile(32_000, 4_096, offline=True, estimates=True)
        self.no_review: str = section.get("no_review", "")
        self._unknown = _Answer(text=section["unknown"].strip())
        self._requests = {
            purpose: _Answer.from_script(row) for purpose, row in section["requests"].items()
        }
        self._answers = [
            (_compile_line(row["line"]), _Answer.from_script(row)) for row in section["answers"]
        ]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the reply to a request. Raises nothing."""
        text, call = self._reply(request)
        answer_text = truncate(text, _TOKEN_CHARACTERS * min(request.max_tokens or 4_096, 4_096))
        for piece in filter(None, _PIECE.findall(answer_text)):
            await asyncio.sleep(0)
            yield ModelChunk(text=piece)
        arguments = json.dumps(call.arguments, ensure_ascii=False) if call else ""
        if call:
            call_id = f"call_{secrets.token_hex(6)}"
            yield ModelChunk(call=CallDelta(0, call_id, call.tool, arguments))
        request_text = json.dumps(request.messages, default=str, ensure_ascii=False)
        usage = Usage(
            input=-(-len(request_text) // _TOKEN_CHARACTERS),
            output=-(-(len(answer_text) + len(arguments)) // _TOKEN_CHARACTERS),
        )
        stop: StopReason = "tool_calls" if call else "stop"
        if answer_text != text:
            stop = "length"
        yield ModelChunk(usage=usage, cost=0.0, stop=stop)

    def _reply(self, request: ModelRequest) -> tuple[str, _Call | None]:
        """Return the text of the reply, and the call it makes."""
        query = ""
        results = list[str]()  # of the calls since the query
        for message in request.messages:
            if message["role"] == "user":
                query = _own_words(message)
                results = []
            elif message["role"] == "tool":
                results.append(str(message["content"]))
        if request.purpose == "turn":
            answer = self._find_answer(query)
        else:
            answer = self._requests.get(request.purpose, self._unknown)
            results = []
        offered = {spec.name for spec in request.tools}
        if any(call.tool not in offered for call in answer.calls):
            return self._unknown.text, None
        if len(results) < len(answer.calls):
            call = answer.calls[len(results)]
            return call.introduction, call
        return answer.text.replace("{result}", _quote(results[-1]) if results else ""), None

    def _find_answer(self, line: str) -> _Answer:
        for pattern, answer in self._answers:
            if match := pattern.fullmatch(line):
                words = {name: _unquote(word) for name, word in match.groupdict().items()}
                return answer.fill(words)
        return self._unknown


@provider("demo", default_model="demo")
def tour(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """Return the tutorial for `demo/tutorial`, the tour for any other name after `demo/`."""
    script = tomllib.loads(Path(__file__).with_name("script.toml").read_text(encoding="utf-8"))
    if name.rpartition("/")[2] == "tutorial":
        return _Player("demo/tutorial", script["tutorial"])
    return _Player("demo", script["tour"])


def _compile_line(line: str) -> re.Pattern[str]:
    """Return the pattern of a recorded line, with a group for each word in braces."""
    pattern = _PLACEHOLDER.sub(_group, re.escape(line))
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def _group(placeholder: re.Match[str]) -> str:
    name = placeholder[1]
    return f"(?P<{name}>{'.+' if name == 'rest' else _WORD})"


def _own_words(message: ApiMessage) -> str:
    """Return the user's own words of a message."""
    text = str(message["content"] or "")
    return _ATTACHMENTS.sub("", text).strip()


def _unquote(word: str) -> str:
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "\"'`"
    return word[1:-1] if is_quoted else word.removeprefix("@")


def _fill(value: Json, words: Mapping[str, str]) -> Json:
    """Return a value in whose texts the placeholders are replaced."""
    if isinstance(value, str):
        return re.sub(r"{(\w+)}", lambda match: words.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {key: _fill(item, words) for key, item in value.items()}
    return [_fill(item, words) for item in value] if isinstance(value, list) else value


def _quote(text: str) -> str:
    """Return a fenced code block of at most `_MAX_QUOTED_LINES`."""
    lines = text.split("\n")
    more = len(lines) - _MAX_QUOTED_LINES
    if more > 0:
        lines = [*lines[:_MAX_QUOTED_LINES], f"… {more} more lines"]
    return fence("\n".join(lines)) + "\n"
