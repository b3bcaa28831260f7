"""A delta in short lines for the user: what was learned, which counts changed, and why."""

from __future__ import annotations

from swecli.models.playbook import Delta, Evidence, Op
from swecli.playbook.gate import DOUBT
from swecli.playbook.words import shorten

CONTENT = 90
_SAID = {
    "teaching": "you said so",
    "correction": "you said it was wrong",
    "undo": "you took it back",
    "complaint": "you said it did not work",
    "praise": "you said it worked",
    "denial": "you refused what it led to",
    "user": "you said so",
}
_TAUGHT = {
    "correction": "you corrected it",
    "denial": "you said so when you refused",
    "mark": "you said so",
    "transition": "the one failed, the other passed",
    "stumble": "it happened more than once",
}
FROM = {"repository": "a file", "tool": "a command's output", "web": "the web"}


def lines_of(delta: Delta) -> tuple[str, ...]:
    """One line for each operation that changes more than a neutral count."""
    return tuple(line for op in delta.ops if (line := line_of(op)))


def line_of(op: Op) -> str:
    """One operation as a line, "" for one that is not worth one."""
    if op.op == "ADD":
        return _added(op)
    if op.op == "TAG":
        return "" if op.tag == "neutral" else f"{op.bullet_id} {op.tag} +1: {_why(op)}"
    if op.op == "UNTAG":
        return f"{op.bullet_id} {op.tag} -1: {_why(op)}"
    if op.op == "UPDATE":
        content = op.fields.get("content")
        if op.fields.get("state") == "active":
            return f"{op.bullet_id} active again: {_why(op, _TAUGHT)}"
        text = f"{op.bullet_id} now: {shorten(content, CONTENT)}" if content else f"{op.bullet_id} heard again"
        return f"{text} ({_why(op, _TAUGHT)})"
    if op.op == "MERGE":
        return f"{op.bullet_id} merged into {op.into}: {_why(op)}"
    verb = {"REMOVE": "removed", "PIN": "pinned", "QUARANTINE": "set aside", "RESTORE": "active again"}[op.op]
    return f"{op.bullet_id} {verb}: {_why(op, _TAUGHT)}"


def _added(op: Op) -> str:
    content = shorten(str(op.fields.get("content", "")), CONTENT)
    doubt = next((evidence.quote for evidence in op.evidence if evidence.source == DOUBT), "")
    if doubt:
        return f"? {content} (waits for your yes: {doubt})"
    if op.fields.get("state") == "quarantined":
        return f"? {content} (waits for your yes: it comes from {FROM.get(str(op.fields.get('trust')), 'outside')})"
    return f"+ {content} ({_why(op, _TAUGHT)})"


def _why(op: Op, words: dict[str, str] | None = None) -> str:
    if not op.evidence:
        return "no reason given"
    return why_of(op.evidence[0], words or {})


def why_of(evidence: Evidence, words: dict[str, str]) -> str:
    """The reason an evidence row gives, as a few words."""
    source = evidence.source
    if source == "mark":
        quote = shorten(evidence.quote, 80)
        return words.get(source) or (quote if quote.startswith("you marked") else f"you marked it: {quote}")
    if source in words:
        return words[source]
    if source in _SAID:
        return _SAID[source]
    quote = shorten(evidence.quote, 80)
    return f"the model's view: {quote}" if source == "model" else quote
