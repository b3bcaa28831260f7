"""The playbook as Markdown: to be read, edited and brought back; nothing of a strategy is lost on the way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from swecli.models.playbook import Bullet, Evidence

FORMAT = 1
TITLE = "# Playbook"
MARK = "<!-- swecli playbook {} -->"
_NOTE = (
    "One strategy a line, under its section. Words, section, kind, scope and state may be edited; "
    "`swecli playbook add --from FILE` brings it back."
)
_TIMES = (("created", "created_at"), ("updated", "updated_at"), ("used", "last_used"))


def to_markdown(bullets: Iterable[Bullet], evidence: Mapping[str, Sequence[Evidence]]) -> str:
    """Strategies with all that is known of them, by section, in order of minting.

    Args:
        bullets: those to write.
        evidence: for each id what speaks for and against it.
    """
    lines = [TITLE, "", MARK.format(FORMAT), "", _NOTE]
    ordered = sorted(bullets, key=lambda b: (b.section, b.number))
    for section, group in groupby(ordered, key=lambda b: b.section):
        lines += ["", f"## {on_one_line(section)}", ""]
        for bullet in group:
            lines += _lines_of(bullet, evidence.get(bullet.id, ()))
    return "\n".join(lines) + "\n"


def on_one_line(text: str) -> str:
    """A text on one line: as it is, or as a JSON string where it would not come back the same."""
    plain = text == " ".join(text.split()) and text and not text.startswith('"') and text.isprintable()
    return text if plain else json.dumps(text)


def _lines_of(bullet: Bullet, evidence: Sequence[Evidence]) -> list[str]:
    facts: list[tuple[str, str]] = [(name, getattr(bullet, name)) for name in ("kind", "scope", "state", "trust")]
    facts.append(("counts", f"{bullet.helpful} helpful, {bullet.harmful} harmful, {bullet.neutral} neutral"))
    facts += [("when", on_one_line(bullet.when))] if bullet.when else []
    if bullet.anchors:
        facts.append(("anchors", json.dumps(list(bullet.anchors))))
    facts += [(name, when.isoformat()) for name, field in _TIMES if (when := getattr(bullet, field))]
    facts += [("evidence", json.dumps(_evidence(item))) for item in evidence]
    return [f"- [{bullet.id}] {on_one_line(bullet.content)}", *(f"  - {name}: {value}" for name, value in facts)]


def _evidence(item: Evidence) -> dict[str, Any]:
    row = {
        "source": item.source,
        "quote": item.quote,
        "trust": item.trust,
        "session": item.session_id,
        "turn": item.interaction,
        "call": item.call_id,
        "when": item.created_at.isoformat() if item.created_at else None,
    }
    return {name: value for name, value in row.items() if value or name in ("source", "quote")}
