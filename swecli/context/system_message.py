"""The system message: the product's own prompts, and the head of an epoch, with what outlives every reduction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from swecli.context.budget import is_lean
from swecli.models.context import RetainedFact
from swecli.models.message import HEAD_OPENS, ApiMessage
from swecli.models.playbook import Bullet, quote_content, render_bullets
from swecli.models.session import Session

if TYPE_CHECKING:
    from swecli.models.finding import Finding

PromptName = Literal["system", "system_small", "reflect", "condense"]

_PROMPTS = Path(__file__).parent / "prompts"

_MAX_ITEMS = 40  # of one kind; the newest
_MAX_LENGTH = 400  # characters of one item
_TITLES = (
    ("request", "The user's first request"),
    ("constraint", "What the user asked to keep to"),
    ("todo", "Steps still open"),
    ("changed", "Files changed"),
    ("read", "Files read"),
    ("finding", "Findings of reviews"),
)
_LISTS = ("changed", "read")  # names on one line


@dataclass(frozen=True, slots=True)
class HeadParts:
    """What a system message says besides what the session itself remembers: static text, the project's instructions
    ("" for none), the strategies, and what reviews found and is open in the files at hand."""

    system_prompt: str
    instructions: str = ""
    strategies: tuple[Bullet, ...] = ()
    open_findings: str = ""

    @property
    def contents(self) -> dict[str, str]:
        """The strategies' contents by id."""
        return {bullet.id: bullet.content for bullet in self.strategies}


def compose(parts: HeadParts, session: Session, summary: str, sent: Collection[int]) -> str:
    """The system message of an epoch that sends the interactions in `sent`: static text, the project's instructions,
    and the head where there is anything in it. What stands in an interaction that is not sent whole is kept, too."""
    whole = {number for number in sent if not session.context.is_cut(number)}
    kept = missing(session.context.facts.values(), whole, summary)
    rules = f"\n\n{parts.instructions.strip()}" if parts.instructions.strip() else ""
    head = render_bullets(parts.strategies) + render_summary(summary) + _render_facts(kept)
    head += f"\n\n## Findings\n{parts.open_findings}" if parts.open_findings else ""
    return f"{parts.system_prompt}{rules}{HEAD_OPENS if head else ''}{head}"


def cache_marks(messages: Sequence[ApiMessage]) -> tuple[int, ...]:
    """Where the part of a request's system message ends that is the same in all epochs, in characters."""
    text = messages[0].get("content") if messages and messages[0]["role"] == "system" else None
    end = text.find(HEAD_OPENS) if isinstance(text, str) else -1
    return (end,) if end > 0 else ()


def render_summary(summary: str) -> str:
    """A summary as a part of the head; "" for none."""
    if not summary.strip():
        return ""
    return (
        "\n\n## Summary of what came before\n"
        "Written by the assistant itself when the conversation grew too long. It is a note, not the user's words.\n"
        f"<summary>\n{summary.strip().replace('</summary', '‹/summary')}\n</summary>"
    )


def _render_facts(facts: Iterable[RetainedFact]) -> str:
    """What was said or done in messages that are not sent any more, as a part of the head; "" for nothing."""
    found = list(facts)
    parts = [_part(kind, title, some) for kind, title in _TITLES if (some := [f for f in found if f.kind == kind])]
    opening = "Taken by the program from messages that are no longer sent. What is in quotes are the user's own words."
    return f"\n\n## Kept from earlier\n{opening}\n" + "\n".join(parts) if parts else ""


def _part(kind: str, title: str, found: Sequence[RetainedFact]) -> str:
    newest = found[-_MAX_ITEMS:]
    left = f" (and {len(found) - len(newest)} older)" if len(found) > len(newest) else ""
    quotations = (quote_content(item.text) for item in newest)
    texts = [text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…" for text in quotations]
    if kind in _LISTS:
        return f"- {title}: {', '.join(texts)}{left}"
    if kind in ("request", "constraint"):
        texts = [f'"{text}" (T{item.interaction})' for text, item in zip(texts, newest, strict=True)]
    return f"- {title}{left}:" + "".join(f"\n  - {text}" for text in texts)


def missing(facts: Iterable[RetainedFact], sent: Collection[int], summary: str = "") -> list[RetainedFact]:
    """Those that the request would lack: not in an interaction that is sent, not word for word in the summary."""
    gone = (one for one in facts if one.kind == "todo" or one.interaction not in sent)
    return [one for one in gone if one.kind in ("todo", "finding") or one.text not in summary]


def open_findings(findings: Iterable[Finding], most: int = 20) -> str:
    """The findings that are open in the files at hand, as prompt text; "" when there is none."""
    rows = [
        f"- [{f.id}] {f.place} {f.code_smell_type} ({f.severity}): {' '.join(f.message.split())[:160]}"
        for f in findings
    ]
    more = [f"- … and {len(rows) - most} more: /findings"] if len(rows) > most else []
    return "Open review findings in these files:\n" + "\n".join([*rows[:most], *more]) if rows else ""


def load_prompt(name: PromptName) -> str:
    """The text of a prompt: "system" opens every request of a turn, "system_small" those of a model with a small
    window; "reflect" is a reflector's system text, "condense" the user message that asks for a summary."""
    return (_PROMPTS / f"{name}.md").read_text(encoding="utf-8").strip()


def system_prompt(window: int | None) -> str:
    """The system text for a model with a window of that many tokens, None where unknown."""
    return load_prompt("system_small" if is_lean(window) else "system")
