"""The system message: the static prompt, the project's instructions, and the head that an epoch begins with."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from swecli.context.budget import is_lean
from swecli.context.outline import render_outline, split_outline
from swecli.models.context import Epoch, RetainedFact
from swecli.models.message import HEAD_OPENS, ApiMessage
from swecli.models.playbook import Bullet, WithdrawnStrategy, quote_content, render_bullets
from swecli.models.session import EarlierTurn, Session
from swecli.text import truncate
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.models.finding import Finding

PromptName = Literal["system", "reflect", "condense", "tidy", "history"]

_PROMPTS = Path(__file__).parent / "prompts"

_MAX_FACTS = 40  # newest facts of one kind
_MAX_FACT_LENGTH = 400  # characters
_MAX_FINDINGS = 20  # open findings that are listed
_TITLES = (
    ("request", "The user's first request"),
    ("todo", "Steps still open"),
    ("changed", "Files changed"),
    ("read", "Files read"),
    ("finding", "Findings of reviews"),
)
_LISTS = ("changed", "read")  # kinds rendered as names on one line


@dataclass(frozen=True, slots=True)
class HeadParts:
    """Parts of a system message that the session does not store."""

    system_prompt: str  # the static prompt
    instructions: str = ""  # of the project; "": it has none
    strategies: tuple[Bullet, ...] = ()  # of the playbook, selected for the query
    findings: Sequence[Finding] = ()  # open ones, in the session's files
    withdrawn: Sequence[WithdrawnStrategy] = ()  # strategies that do not hold any more
    outdated: Sequence[WithdrawnStrategy] = ()  # those withdrawn after the summary was written
    earlier: Sequence[
        EarlierTurn
    ] = ()  # completed turns, of which those are outlined that are not sent
    count: Callable[[str], int] = (
        len  # the tokens of a text; without a counter at most its characters
    )

    @property
    def contents(self) -> dict[str, str]:
        return {bullet.id: bullet.prompt_text for bullet in self.strategies}

    def compose(self, session: Session, summary: str, sent_interactions: Collection[int]) -> str:
        """Return the system message of an epoch that sends the interactions in `sent_interactions`: static prompt,
        project instructions, and the head if it has any content. Facts of interactions that are not sent completely are
        part of the head, and so is an outline of these interactions."""
        complete = {
            number for number in sent_interactions if not session.context.is_reduced(number)
        }
        missing_facts = _missing_facts(session.context.facts.values(), complete, summary)
        facts = [_without_withdrawn(fact, self.withdrawn) for fact in missing_facts]

        head = render_bullets(self.strategies)
        head += _render_summary(summary)
        if summary:
            head += _render_outdated(self.outdated)
        head += _render_facts(facts)
        head += _render_findings(self.findings)
        head += self._render_earlier(complete)

        text = self.system_prompt
        if self.instructions.strip():
            text += f"\n\n{self.instructions.strip()}"
        if head:
            text += HEAD_OPENS + head
        return text

    def _render_earlier(self, complete: Collection[int]) -> str:
        remaining = [turn for turn in self.earlier if turn.number not in complete]
        shown_turns: list[EarlierTurn] = []
        for turn in remaining:
            query = _without_quotes(turn.query, self.withdrawn)
            shown_turns.append(replace(turn, query=query))
        return render_outline(shown_turns, self.count)

    def split(self, epoch: Epoch) -> list[tuple[str, str]]:
        """Split an epoch's system message into its named parts, in the order of `compose`, without empty ones."""
        static, separator, head = epoch.system.partition(HEAD_OPENS)
        instructions = static.removeprefix(self.system_prompt)
        playbook = render_bullets(
            Bullet(name, content) for name, content in epoch.strategies.items()
        )
        summary = _render_summary(epoch.summary)
        facts = separator + head.replace(playbook, "", 1).replace(summary, "", 1)
        facts, outline = split_outline(facts)
        parts = [
            ("system", static.removesuffix(instructions)),
            ("instructions", instructions),
            ("playbook", playbook),
            ("summary", summary),
            ("from left-out turns", facts if facts != HEAD_OPENS else ""),
            ("outline", outline),
        ]
        return [(name, text) for name, text in parts if text]


def cache_marks(messages: Sequence[ApiMessage]) -> tuple[int, ...]:
    """Return the offset in characters at which the part of the system message ends that all epochs share."""
    if not messages or messages[0]["role"] != "system":
        return ()
    text = messages[0].get("content")
    end = text.find(HEAD_OPENS) if isinstance(text, str) else -1
    return (end,) if end > 0 else ()


def _render_summary(summary: str) -> str:
    """Render a summary as a part of the head; "" for none."""
    if not summary.strip():
        return ""
    return (
        "\n\n## Summary of what came before\n"
        "Written by the assistant itself when the conversation grew too long. It is a note, not the user's words.\n"
        f"<summary>\n{summary.strip().replace('</summary', '‹/summary')}\n</summary>"
    )


def _render_outdated(withdrawn: Sequence[WithdrawnStrategy]) -> str:
    """Render what a summary may still claim as the user's word; "" for nothing."""
    if not withdrawn:
        return ""
    opening = "Withdrawn since the summary was written. It does not hold any more, whatever the summary says:"
    return f"\n\n{opening}\n{render_withdrawn(withdrawn)}"


def render_withdrawn(withdrawn: Iterable[WithdrawnStrategy]) -> str:
    """Render one line for each text, with the text that holds in its place."""
    lines: list[str] = []
    for strategy in withdrawn:
        line = f'- "{quote_content(strategy.content)}"'
        if strategy.replacement:
            line += f': now "{quote_content(strategy.replacement)}"'
        lines.append(line)
    return "\n".join(lines)


def _without_withdrawn(fact: RetainedFact, withdrawn: Iterable[WithdrawnStrategy]) -> RetainedFact:
    """Remove words of the user's that a withdrawn strategy was learned from."""
    if fact.kind != "request":
        return fact
    return replace(fact, text=_without_quotes(fact.text, withdrawn))


def _without_quotes(text: str, withdrawn: Iterable[WithdrawnStrategy]) -> str:
    text = " ".join(text.split())
    for strategy in withdrawn:
        for quote in strategy.quotes:
            words = re.escape(" ".join(quote.split()))
            if words:
                text = re.sub(words, "[withdrawn]", text, flags=re.IGNORECASE)
    return text


def _render_facts(facts: Sequence[RetainedFact]) -> str:
    parts: list[str] = []
    for kind, title in _TITLES:
        of_kind = [fact for fact in facts if fact.kind == kind]
        if of_kind:
            parts.append(_render_kind(kind, title, of_kind))
    if not parts:
        return ""
    opening = "Taken by the program from messages that are no longer sent. What is in quotes are the user's own words."
    return "\n".join([f"\n\n## Kept from earlier\n{opening}", *parts])


def _render_kind(kind: str, title: str, facts: Sequence[RetainedFact]) -> str:
    texts: list[str] = []
    for fact in facts[-_MAX_FACTS:]:
        text = truncate(quote_content(fact.text), _MAX_FACT_LENGTH)
        if kind == "request":
            text = f'"{text}" (T{fact.interaction})'
        if kind == "todo":
            text += f" (list of T{fact.interaction})"
        texts.append(text)
    older = len(facts) - len(texts)
    rest = f" (and {older} older)" if older else ""
    if kind in _LISTS:
        return f"- {title}: {', '.join(texts)}{rest}"
    return f"- {title}{rest}:" + "".join(f"\n  - {text}" for text in texts)


def _missing_facts(
    facts: Iterable[RetainedFact], sent_interactions: Collection[int], summary: str
) -> list[RetainedFact]:
    """Return the facts that are neither in an interaction that is sent nor word for word in the summary."""
    unsent = (
        fact for fact in facts if fact.kind == "todo" or fact.interaction not in sent_interactions
    )
    return [fact for fact in unsent if fact.kind in ("todo", "finding") or fact.text not in summary]


def _render_findings(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    lines = ["\n\n## Findings\nOpen review findings in these files:"]
    for finding in findings[:_MAX_FINDINGS]:
        message = " ".join(finding.message.split())[:160]
        rule = f"{finding.code_smell_type} ({finding.severity})"
        lines.append(f"- [{finding.id}] {finding.place} {rule}: {message}")
    if len(findings) > _MAX_FINDINGS:
        lines.append(f"- … and {len(findings) - _MAX_FINDINGS} more: /findings")
    return "\n".join(lines)


def load_prompt(name: PromptName, window: int | None = None) -> str:
    """Load a prompt: "system" opens every request of a turn and is shorter for a small `window`, in tokens; "reflect"
    is the reflector's system prompt about exchanges, "tidy" the one about a whole playbook, "history" the one about
    commits, "condense" the user message that requests a summary."""
    file = "system_small.md" if name == "system" and is_lean(window) else f"{name}.md"
    return (_PROMPTS / file).read_text(encoding="utf-8").strip()
