"""The tour: a stand-in for a model, so that swecli can be tried without a key. Offline, by rules, without state."""

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
from swecli.tour.requests import Call, Made, Step, calls_in, own_words, plan, read_turn, results_in

_PIECE = re.compile(r"\S*\s*\S*\s*")
_ENOUGH_CALLS = 30  # of one turn, however many lines were typed
_MOST_LINES = 40
_SUMMARY_LINES = 15
_LONGEST = 200

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


class Tour:
    """A `ChatModel` that follows the lines of the newest message, one call a request.

    Its usage is an estimate of four characters a token; it costs nothing.
    """

    name = "demo"
    profile = Profile(32_000, 4_096, offline=True, estimates=True)
    review_notice = _NO_REVIEW

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Answer one request, piece by piece. Raises nothing."""
        text, call = _reply(request)
        for chunk in _chunks(request, text, call):
            await asyncio.sleep(0)
            yield chunk


@provider("demo", default_model="demo")
def tour(name: str, settings: Settings, environ: Mapping[str, str]) -> ChatModel:
    """The tour, whatever stands behind `demo/`."""
    return Tour()


def _reply(request: ModelRequest) -> tuple[str, Call | None]:
    """The reply to a request of any purpose: a text, and the call it makes."""
    if request.purpose == "reflect":
        return _NO_LESSONS, None
    if request.purpose == "condense":
        return _condense(request.messages[:-1]), None
    if request.purpose == "review":
        return _NO_REVIEW, None
    turn = read_turn(request)
    steps = plan(turn)
    if steps is None:
        return _ABOUT, None
    calling = [step for step in steps if step.call]
    if len(turn.made) < min(len(calling), _ENOUGH_CALLS):
        step = calling[len(turn.made)]
        return step.text, step.call
    return _answer(steps, turn.made), None


def _chunks(request: ModelRequest, text: str, call: Call | None) -> Iterator[ModelChunk]:
    most = 4 * min(request.max_tokens or 4_096, 4_096)
    shown = text if len(text) <= most else f"{text[: most - 1]}…"
    arguments = json.dumps(call.arguments, ensure_ascii=False) if call else ""
    yield from (ModelChunk(text=piece) for piece in _PIECE.findall(shown) if piece)
    if call:
        yield ModelChunk(call=CallDelta(0, f"call_{secrets.token_hex(6)}", call.name, arguments))
    size = sum(len(json.dumps(message, default=str, ensure_ascii=False)) for message in request.messages)
    usage = Usage(input=-(-size // 4), output=-(-len(shown + arguments) // 4))
    stop: StopReason = "length" if shown != text else "tool_calls" if call else "stop"
    yield ModelChunk(usage=usage, cost=0.0, stop=stop)


def _answer(steps: Sequence[Step], made: Sequence[Made]) -> str:
    """The turn's last message: what each call brought, in the words of its result."""
    parts, results = [], iter(made)
    for step in steps:
        result = next(results, None) if step.call else None
        if step.intent == "remember":
            parts.append(_REMEMBERED)
        elif step.head and result is not None:
            parts.append(_report(step, result))
    return "\n\n".join(parts)


def _report(step: Step, made: Made) -> str:
    text = made.result or "(no result)"
    if step.intent != "test":
        return f"{step.head}:\n{_quoted(text)}"
    command, code = made.call.arguments.get("command", ""), made.exit_code
    how = "did not run" if code is None else f"ended with exit code {code}"
    return f"{step.head}: `{command}` {how}.\n{_quoted(text)}"


def _quoted(text: str) -> str:
    """The text as a block, cut after `_MOST_LINES` lines; ends with a line end."""
    lines = text.split("\n")
    more = [f"… {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall(r"`+", text)), 3)
    return "\n".join([fence, *lines[:_MOST_LINES], *more, fence]) + "\n"


def _condense(messages: Sequence[ApiMessage]) -> str:
    """A summary: the first request, the files, the commands with their exit codes; 15 lines at most."""
    asked = [words for message in messages if message.get("role") == "user" and (words := own_words(message))]
    made = calls_in(messages, results_in(messages))
    paths = dict.fromkeys(str(one.call.arguments.get("path") or "") for one in made)
    commands = [
        f"- `{_short(str(one.call.arguments.get('command') or ''))}`: exit code {one.exit_code}"
        for one in made
        if one.exit_code is not None
    ]
    files = [f"- {_short(path)}" for path in paths if path]
    room = _SUMMARY_LINES - 6
    files = files[-max(room // 2, room - len(commands)) :]
    commands = commands[-(room - len(files)) :]
    lines = ["## Request", _short(asked[0]) if asked else "None."]
    lines += ["## Done", *(commands or ["None."]), "## Known", *(files or ["None."])]
    return "\n".join(lines)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
