"""The words in which a session keeps its background commands, and those that an earlier run of swecli lost."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from swecli.models.message import ChatMessage
from swecli.tools.limits import one_line

LOST = "lost: swecli ended while it ran, and its output is not kept"  # the state of a job of an earlier run
_MAX_COMMAND = 60  # characters
_STARTED = re.compile(r"Job (\d+) runs in the background\.")


def job_name(number: int, command: str) -> str:
    """Return a job's name: `job 3 (make watch)`."""
    words = " ".join(one_line(command).split())  # as in a note, which has no other whitespace
    return f"job {number} ({words[:_MAX_COMMAND].rstrip()})"


def started_line(number: int) -> str:
    """Return the beginning of the result of a call that started a job."""
    return f"Job {number} runs in the background."


def ended_line(name: str, state: str) -> str:
    """Return the line that reports a job's end."""
    return f"background {name}: {state}"


def lost_jobs(messages: Iterable[ChatMessage], known: Collection[str]) -> list[str]:
    """Return the names of the jobs that were started in these messages and whose end was never reported, without those
    `known` to this run: they ended with the run that had started them."""
    started: dict[str, None] = {}
    for message in messages:
        for call in message.tool_calls:
            found = _STARTED.match(call.result or "") if call.parameters.get("background") else None
            if found:
                name = job_name(int(found[1]), str(call.parameters.get("command", "")))
                started[name] = None
        texts = list(_texts(message)) if started else []
        for name in [name for name in started if any(ended_line(name, "") in t for t in texts)]:
            del started[name]
    return [name for name in started if name not in known]


def _texts(message: ChatMessage) -> Iterator[str]:
    yield message.sent or message.content
    for call in message.tool_calls:
        yield call.result or ""
