"""The recorded answers of the tutorial: what a capable model said and called, so that everything else can be real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from swecli.llm.profile import Profile
from swecli.models.message import ModelChunk, ModelRequest
from swecli.tour.conversation import (
    Call,
    parse_calls,
    parse_strategies,
    query_start,
    stream_reply,
    strip_attachments,
)

_UNKNOWN = """\
The tutorial's answers are recorded, and there is none for this line: press Tab for the next one.
For work of your own, start swecli in your project with a model: `-m provider/name`."""

_GROSS = {"old_text": "    return net * TAX", "new_text": "    return net * (1 + TAX)"}
_DISCOUNT = {
    "old_text": "    return net - net * percent",
    "new_text": "    return net - net * percent / 100",
}
_READ = Call("read_file", {"path": "prices.py"})
_TESTS = "python3 -m unittest"


@dataclass(frozen=True, slots=True)
class _Recorded:
    """An answer: calls with what was said before each, then the last words."""

    calls: tuple[tuple[str, Call], ...] = ()
    answer: str = ""


_ANSWERS = {
    "look around": _Recorded(
        (
            ("I look at what is here.", Call("list_files", {})),
            ("There are two files; I read both.", _READ),
            ("", Call("read_file", {"path": "test_prices.py"})),
        ),
        "A module of two functions, `gross` and `discounted` in `prices.py`, and a test of the first one in "
        "`test_prices.py`. Nothing tests `discounted`.",
    ),
    "what does gross do?": _Recorded(
        (),
        "`gross(net)` returns `net * TAX`, which is the tax alone: 19 for 100. By its name, and by its test, which "
        "expects 119, it should return the price with the tax.",
    ),
    "remember that the tests run with `python3 -m unittest`": _Recorded(
        (),
        "Noted in your words: the line with `+` below is the strategy, and every next request has it.",
    ),
    "run the tests": _Recorded(
        (("They run with the command of [P-1].", Call("run_command", {"command": _TESTS})),),
        "The test fails [P-1]: `gross(100)` is 19 and should be 119. The tax is not added to the price.",
    ),
    "fix it and run them again": _Recorded(
        (
            (
                "I add the tax to the price.",
                Call("edit_file", {"path": "prices.py", "edits": [_GROSS]}),
            ),
            ("Now the tests, as [P-1] says.", Call("run_command", {"command": _TESTS})),
        ),
        "`gross(100)` is 119 now and the test passes [P-1].",
    ),
}
_KNOWN = "how do the tests run?"
_REPAIR = "Repair the review finding"
_REPAIRED = _Recorded(
    (
        ("I read the place first.", _READ),
        (
            "A percentage is a share of 100.",
            Call("edit_file", {"path": "prices.py", "edits": [_DISCOUNT]}),
        ),
    ),
    "`discounted(100, 20)` is 80 now; before, it was -1900.",
)
_FINDING = {
    "path": "prices.py",
    "line": 9,
    "code_smell_type": "LOGIC",
    "severity": "high",
    "message": "`percent` is used as a share: 20 percent of 100 take away 2000, and the price is negative.",
    "improvement": "Divide by 100.",
    "suggestion": "    return net - net * percent / 100",
}


class Tutorial:
    """Gives the recorded answer to a line of the tutorial, one call per request; nothing is sent anywhere."""

    name = "demo/tutorial"
    profile = Profile(32_000, 4_096, offline=True, estimates=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """Stream the reply to a request. Raises nothing."""
        text, call = _reply(request)
        for chunk in stream_reply(request, text, call):
            await asyncio.sleep(0)
            yield chunk


def _reply(request: ModelRequest) -> tuple[str, Call | None]:
    match request.purpose:
        case "reflect":
            return '{"strategies": [], "lessons": []}', None
        case "review":
            return "", Call("report_findings", {"done": True, "findings": [_FINDING]})
        case "verify":
            return "", Call("judge_findings", {"judgements": [_JUDGEMENT]})
        case "turn":
            return _reply_to_line(request)
    return "The tutorial", None


_JUDGEMENT = {
    "id": "F-1",
    "verdict": "confirmed",
    "path": "prices.py",
    "line": 9,
    "quote": "return net - net * percent",
    "why": "20 for `percent` takes away 20 times the price.",
}


def _reply_to_line(request: ModelRequest) -> tuple[str, Call | None]:
    messages = request.messages
    start = query_start(messages)
    line = strip_attachments(messages[start]) if start < len(messages) else ""
    if line == _KNOWN:
        return _tell(list(parse_strategies(messages).items())), None
    recorded = _REPAIRED if line.startswith(_REPAIR) else _ANSWERS.get(line)
    if recorded is None:
        return _UNKNOWN, None
    done = len(parse_calls(messages, start))
    if done < len(recorded.calls):
        return recorded.calls[done]
    return recorded.answer, None


def _tell(strategies: Sequence[tuple[str, str]]) -> str:
    """Answer from the strategies in the request: the turns that they come from have left the window."""
    if not strategies:
        return "My playbook says nothing of it, and the turns before this one have left the window."
    told = " ".join(f"{text} [{ref}]" for ref, text in strategies)
    return f"My playbook says: {told} The turn in which you told me has left the window."
