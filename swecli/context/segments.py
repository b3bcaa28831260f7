"""What a request is made of, part by part, with its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swecli.context.edits import interaction_of
from swecli.context.system_message import render_summary
from swecli.context.tokens import TokenCounter
from swecli.models.context import Epoch
from swecli.models.message import HEAD_OPENS, ApiMessage
from swecli.models.playbook import Bullet, render_bullets


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a request: system, instructions, playbook, summary, `interaction 7`, query. `text` is for the eye."""

    name: str
    tokens: int
    text: str


def segments_of(epoch: Epoch, system_prompt: str, messages: list[ApiMessage], counter: TokenCounter) -> list[Segment]:
    """The system message by its parts, and the window by its interactions."""
    static, opens, head = epoch.system.partition(HEAD_OPENS)
    rest = static.removeprefix(system_prompt)
    playbook = render_bullets(Bullet(name, content) for name, content in epoch.strategies.items())
    summary = render_summary(epoch.summary)
    kept = opens + head.replace(playbook, "", 1).replace(summary, "", 1)
    named = [("system", static[: len(static) - len(rest)]), ("instructions", rest), ("playbook", playbook)]
    named += [("summary", summary), ("kept from earlier", kept if kept != HEAD_OPENS else "")]
    found = [Segment(name, counter.count(text), text) for name, text in named if text]
    for number in dict.fromkeys(interaction_of(message) for message in messages[1:]):
        name = f"pinned {number}" if number in epoch.pins else f"interaction {number}"
        found.append(weighed(name, [m for m in messages[1:] if interaction_of(m) == number], counter))
    return found


def weighed(name: str, messages: Sequence[ApiMessage], counter: TokenCounter) -> Segment:
    """Messages as one part; of a query, only its own text is shown."""
    lines = "\n".join(f"{m['role']}: {m['content'] or ''}" for m in messages)
    text = str(messages[0]["content"]) if name == "query" else lines
    return Segment(name, sum(counter.count_message(message) for message in messages), text)
