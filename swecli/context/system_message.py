"""The system message: prompts, the head of an epoch, and the retained facts that the head repeats."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from swecli.context.budget import is_lean
from swecli.models.context import Epoch, RetainedFact
from swecli.models.duplicate_findings import dedupe_findings
from swecli.models.message import HEAD_OPENS, ApiMessage, ChatMessage, Role, ToolCall
from swecli.models.playbook import Bullet, Withdrawn, quote_content, render_bullets
from swecli.models.session import Session
from swecli.text import truncate

if TYPE_CHECKING:
    from swecli.models.finding import Finding

_PromptName = Literal["system", "reflect", "condense", "consolidate"]

_PROMPTS = Path(__file__).parent / "prompts"

_MAX_ITEMS = 40  # newest facts of one kind
_MAX_LENGTH = 400  # characters of one fact
_MAX_FINDINGS = 20  # open findings that are listed
_MAX_WORDS = 120  # of the first request
_TITLES = (
    ("request", "The user's first request"),
    ("todo", "Steps still open"),
    ("changed", "Files changed"),
    ("read", "Files read"),
    ("finding", "Findings of reviews"),
)
_LISTS = ("changed", "read")  # kinds rendered as names on one line

_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_REPORTS = re.compile(r"code_?smell_?type", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HeadParts:
    """Parts of a system message that the session does not store: static prompt, project instructions ("" for none),
    strategies, the open review findings in the session's files, and the texts of strategies that were `withdrawn`;
    those in `outdated` were withdrawn after the epoch's summary was written."""

    system_prompt: str
    instructions: str = ""
    strategies: tuple[Bullet, ...] = ()
    findings: Sequence[Finding] = ()
    withdrawn: Sequence[Withdrawn] = ()
    outdated: Sequence[Withdrawn] = ()

    @property
    def contents(self) -> dict[str, str]:
        return {bullet.id: bullet.prompt_text for bullet in self.strategies}

    def compose(self, session: Session, summary: str, sent: Collection[int]) -> str:
        """Return the system message of an epoch that sends the interactions in `sent`: static prompt, project
        instructions, and the head if it has any content. Facts of interactions that are not sent completely are part of
        the head."""
        complete = {number for number in sent if not session.context.is_cut(number)}
        facts = _missing_facts(session.context.facts.values(), complete, summary)
        facts = [_without_withdrawn(fact, self.withdrawn) for fact in facts]
        rules = f"\n\n{self.instructions.strip()}" if self.instructions.strip() else ""
        head = render_bullets(self.strategies) + _render_summary(summary)
        head += _render_outdated(self.outdated) if summary else ""
        head += _render_facts(facts) + _render_findings(self.findings)
        return f"{self.system_prompt}{rules}{HEAD_OPENS if head else ''}{head}"

    def split(self, epoch: Epoch) -> list[tuple[str, str]]:
        """Split an epoch's system message into its named parts, in the order of `compose`, without empty ones."""
        static, opens, head = epoch.system.partition(HEAD_OPENS)
        rest = static.removeprefix(self.system_prompt)
        playbook, summary = _render_contents(epoch.strategies), _render_summary(epoch.summary)
        facts = opens + head.replace(playbook, "", 1).replace(summary, "", 1)
        parts = [
            ("system", static[: len(static) - len(rest)]),
            ("instructions", rest),
            ("playbook", playbook),
        ]
        parts += [("summary", summary), ("kept from earlier", facts if facts != HEAD_OPENS else "")]
        return [(name, text) for name, text in parts if text]


def _render_contents(contents: Mapping[str, str]) -> str:
    """Render strategies, id to content, as the head contains them."""
    return render_bullets(Bullet(name, content) for name, content in contents.items())


def cache_marks(messages: Sequence[ApiMessage]) -> tuple[int, ...]:
    """Return the offset in characters at which the part of the system message ends that all epochs share."""
    text = messages[0].get("content") if messages and messages[0]["role"] == "system" else None
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


def _render_outdated(withdrawn: Sequence[Withdrawn]) -> str:
    """Render what a summary may still claim as the user's word; "" for nothing."""
    if not withdrawn:
        return ""
    opening = "Withdrawn since the summary was written. It does not hold any more, whatever the summary says:"
    return f"\n\n{opening}\n{render_withdrawn(withdrawn)}"


def render_withdrawn(withdrawn: Iterable[Withdrawn]) -> str:
    """Render one line for each text, with the text that holds in its place."""
    rows = [
        f'- "{quote_content(one.content)}"'
        + (f': now "{quote_content(one.replacement)}"' if one.replacement else "")
        for one in withdrawn
    ]
    return "\n".join(rows)


def _without_withdrawn(fact: RetainedFact, withdrawn: Iterable[Withdrawn]) -> RetainedFact:
    """Remove words of the user's that a withdrawn strategy was learned from."""
    if fact.kind != "request":
        return fact
    text = fact.text
    for quote in (quote for one in withdrawn for quote in one.quotes):
        words = re.escape(" ".join(quote.split()))
        text = re.sub(words, "[withdrawn]", text, flags=re.IGNORECASE) if words else text
    return replace(fact, text=text)


def _render_facts(facts: Sequence[RetainedFact]) -> str:
    parts = [
        _render_kind(kind, title, some)
        for kind, title in _TITLES
        if (some := [f for f in facts if f.kind == kind])
    ]
    opening = "Taken by the program from messages that are no longer sent. What is in quotes are the user's own words."
    return f"\n\n## Kept from earlier\n{opening}\n" + "\n".join(parts) if parts else ""


def _render_kind(kind: str, title: str, facts: Sequence[RetainedFact]) -> str:
    newest = facts[-_MAX_ITEMS:]
    left = f" (and {len(facts) - len(newest)} older)" if len(facts) > len(newest) else ""
    quotations = (quote_content(item.text) for item in newest)
    texts = [truncate(text, _MAX_LENGTH) for text in quotations]
    if kind in _LISTS:
        return f"- {title}: {', '.join(texts)}{left}"
    if kind == "request":
        texts = [
            f'"{text}" (T{item.interaction})' for text, item in zip(texts, newest, strict=True)
        ]
    return f"- {title}{left}:" + "".join(f"\n  - {text}" for text in texts)


def _missing_facts(
    facts: Iterable[RetainedFact], sent: Collection[int], summary: str
) -> list[RetainedFact]:
    """Return the facts that are neither in an interaction that is sent nor word for word in the summary."""
    unsent = (fact for fact in facts if fact.kind == "todo" or fact.interaction not in sent)
    return [fact for fact in unsent if fact.kind in ("todo", "finding") or fact.text not in summary]


def _render_findings(findings: Sequence[Finding]) -> str:
    rows = [
        f"- [{f.id}] {f.place} {f.code_smell_type} ({f.severity}): {' '.join(f.message.split())[:160]}"
        for f in findings[:_MAX_FINDINGS]
    ]
    left = len(findings) - len(rows)
    lines = ["\n\n## Findings\nOpen review findings in these files:", *rows]
    return (
        "\n".join([*lines, *([f"- … and {left} more: /findings"] if left else [])]) if rows else ""
    )


def load_prompt(name: _PromptName, window: int | None = None) -> str:
    """Load a prompt: "system" opens every request of a turn and is shorter for a small `window`, in tokens; "reflect"
    is the reflector's system prompt about exchanges, "consolidate" the one about a whole playbook, "condense" the user
    message that requests a summary."""
    file = "system_small.md" if name == "system" and is_lean(window) else f"{name}.md"
    return (_PROMPTS / file).read_text(encoding="utf-8").strip()


def extract_facts(message: ChatMessage) -> Iterator[RetainedFact]:
    """Extract the facts that every reduction keeps from a stored message: of the user's the first request; of the
    assistant's the findings, files read and changed, and the to-do list, which ends with the turn's answer."""
    if message.role is Role.USER:
        yield from _parse_request(message)
        return
    yield from _parse_answer(message.content, message.interaction)
    yield from _inspect_calls(message.tool_calls, message.interaction)
    if message.is_answer:
        yield RetainedFact("todo", "list", "", message.interaction)


def _parse_request(message: ChatMessage) -> Iterator[RetainedFact]:
    """Find the first request of a session, code fences excluded."""
    text = _FENCE.sub(" ", message.content)
    if message.is_query and message.interaction == 1 and text.strip():
        words = text.split()[:_MAX_WORDS]
        yield RetainedFact("request", "first", " ".join(words), message.interaction)


def _inspect_calls(calls: Iterable[ToolCall], interaction: int) -> Iterator[RetainedFact]:
    """Find the files read and changed, and the open to-do items. Failed calls are skipped."""
    for call in calls:
        if call.error or call.result is None:
            continue
        for path in call.effects.read:
            yield RetainedFact("read", path, path, interaction)
        for path in call.effects.changed:
            yield RetainedFact("read", path, "", interaction)
            yield RetainedFact("changed", path, path, interaction)
        if call.effects.todo is not None:
            steps = [step["text"] for step in call.effects.todo if step["status"] != "done"]
            yield RetainedFact("todo", "list", "; ".join(filter(None, steps)), interaction)


def _parse_answer(text: str, interaction: int) -> Iterator[RetainedFact]:
    for finding in dedupe_findings(_parse_findings(text)):
        path, line, smell = finding.key
        words = (
            f"{path}:{line} {smell}: {finding.message}"
            if finding.message
            else f"{path}:{line} {smell}"
        )
        yield RetainedFact("finding", f"{path}:{line}:{smell}", words, interaction)


def _parse_findings(text: str) -> Iterator[Finding]:
    """Parse the findings in a text's JSON: every object with a place and a smell type, at any depth."""
    if not _REPORTS.search(text):
        return
    # late: few texts hold any
    from swecli.llm.lenient_json import find_json_values
    from swecli.models.finding_parser import find_rows, parse_finding

    for found in find_json_values(text):
        for row in find_rows(found.value, []):
            finding = parse_finding(row, 0, [])
            if finding is not None and finding.line:
                yield finding
