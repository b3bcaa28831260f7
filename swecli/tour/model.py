"""The tour: a model that follows fixed sentences, so that swecli can be tried offline and without a key."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel, provider
from swecli.llm.profile import Profile
from swecli.models.message import ApiMessage, CallDelta, ModelChunk, ModelRequest, StopReason, Usage
from swecli.tour.requests import Call, Step, parse_calls, parse_strategies, plan_steps, strip_attachments, turn_start

_PIECE = re.compile(r"\S*\s*\S*\s*")
_MAX_CALLS = 30  # of one turn
_MAX_QUOTED_LINES = 40
_SUMMARY_LINES = 15
_MAX_CHARS = 200  # of a line in a summary

_ABOUT = """\
This is the tour: a stand-in that shows how swecli works, without a network. It is not a language model and \
understands six sentences, one a line:

- `list shop`: what is in a folder
- `read shop/prices.py`, or `read lines 1-20 of shop/prices.py`
- `search for "TAX" in shop`
- `change "0.19" to "0.21" in shop/prices.py`: shown as a diff, done when you allow it
- `run the tests`, or `run the tests with "npm test"`: asked first, then the exit code
- `remember that prices are in cents`: kept in the playbook

For real work name a model: set a key such as `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` and start again, or choose one \
with `swecli -m provider/name` or `/model provider/name`. `swecli models` lists the models you can use."""

_REMEMBERED = """\
The words are yours and no model is needed: swecli stores them itself, right after this answer. The line with `+` \
shows it, `/playbook` lists it, `/prompt` shows it in the next request."""

_NO_REVIEW = "The tour reviews nothing, so it finds nothing. Name a model for a review: -m provider/name"
_NO_LESSONS = '{"tags": [], "add": []}'


class _Tour:
    """Follows the lines of the newest message, one call per request; estimates usage at four characters a token."""

    name = "demo"
    profile = Profile(32_000, 4_096, offline=True, estimates=True)
    review_notice = _NO_REVIEW

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the reply to a request. Raises nothing."""
        text, call = _reply(request)
        for chunk in _chunks(request, text, call):
            await asyncio.sleep(0)
            yield chunk


@provider("demo", default_model="demo")
def tour(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """Return the tour, for any model name after `demo/`."""
    return _Tour()


def _reply(request: ModelRequest) -> tuple[str, Call | None]:
    """Return the text of the reply, and the call it makes."""
    messages = request.messages
    if request.purpose == "reflect":
        return _NO_LESSONS, None
    if request.purpose == "condense":
        return _condense(messages[:-1]), None
    if request.purpose == "review":
        return _NO_REVIEW, None
    start = turn_start(messages)
    lines = strip_attachments(messages[start]).splitlines() if start < len(messages) else []
    steps = plan_steps([line.strip() for line in lines if line.strip()], parse_strategies(messages))
    calls = [step.call.name for step in steps or () if step.call]
    if steps is None or not {spec.name for spec in request.tools}.issuperset(calls):
        return _ABOUT, None
    finished = parse_calls(messages, start)
    if len(finished) < min(len(calls), _MAX_CALLS):
        step = [step for step in steps if step.call][len(finished)]
        return step.text, step.call
    return _answer(steps, finished), None


def _chunks(request: ModelRequest, text: str, call: Call | None) -> Iterator[ModelChunk]:
    max_chars = 4 * min(request.max_tokens or 4_096, 4_096)
    shown = text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"
    arguments = json.dumps(call.arguments, ensure_ascii=False) if call else ""
    yield from (ModelChunk(text=piece) for piece in _PIECE.findall(shown) if piece)
    if call:
        yield ModelChunk(call=CallDelta(0, f"call_{secrets.token_hex(6)}", call.name, arguments))
    size = sum(len(json.dumps(message, default=str, ensure_ascii=False)) for message in request.messages)
    usage = Usage(input=-(-size // 4), output=-(-len(shown + arguments) // 4))
    stop: StopReason = "length" if shown != text else "tool_calls" if call else "stop"
    yield ModelChunk(usage=usage, cost=0.0, stop=stop)


def _answer(steps: Sequence[Step], finished: Sequence[Call]) -> str:
    """Return the turn's last message: the result of each call, quoted."""
    parts, calls = [], iter(finished)
    for step in steps:
        call = next(calls, None) if step.call else None
        if step.intent == "remember":
            parts.append(_REMEMBERED)
        elif step.head and call is not None:
            parts.append(_report(step, call))
    return "\n\n".join(parts)


def _report(step: Step, call: Call) -> str:
    text = call.result or "(no result)"
    if step.intent != "test":
        return f"{step.head}:\n{_quote(text)}"
    outcome = "did not run" if call.exit_code is None else f"ended with exit code {call.exit_code}"
    return f"{step.head}: `{call.arguments.get('command', '')}` {outcome}.\n{_quote(text)}"


def _quote(text: str) -> str:
    """Return a fenced code block, truncated to `_MAX_QUOTED_LINES`."""
    lines = text.split("\n")
    more = [f"… {len(lines) - _MAX_QUOTED_LINES} more lines"] if len(lines) > _MAX_QUOTED_LINES else []
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall(r"`+", text)), 3)
    return "\n".join([fence, *lines[:_MAX_QUOTED_LINES], *more, fence]) + "\n"


def _condense(messages: Sequence[ApiMessage]) -> str:
    """Return a summary of at most 15 lines: the first request, files, and commands with their exit codes."""
    queries = [text for message in messages if message.get("role") == "user" and (text := strip_attachments(message))]
    calls = parse_calls(messages)
    paths = dict.fromkeys(str(call.arguments.get("path") or "") for call in calls)
    commands = [
        f"- `{_short(str(call.arguments.get('command') or ''))}`: exit code {call.exit_code}"
        for call in calls
        if call.exit_code is not None
    ]
    files = [f"- {_short(path)}" for path in paths if path]
    room = _SUMMARY_LINES - 6
    files = files[-max(room // 2, room - len(commands)) :]
    commands = commands[-(room - len(files)) :]
    lines = ["## Request", _short(queries[0]) if queries else "None."]
    lines += ["## Done", *(commands or ["None."]), "## Known", *(files or ["None."])]
    return "\n".join(lines)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CHARS else f"{line[: _MAX_CHARS - 1]}…"
