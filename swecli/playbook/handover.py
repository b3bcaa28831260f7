"""What was learned, for other tools: a patch of AGENTS.md, or a SKILL.md."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator

from swecli.models.playbook import Bullet, quoted

BEGIN, END = "<!-- swecli:playbook -->", "<!-- /swecli:playbook -->"
_BLOCK = re.compile(rf"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n?", re.DOTALL)


def agents_patch(existing: str | None, bullets: Iterable[Bullet]) -> str:
    """A unified diff that puts the strategies into AGENTS.md, for `git apply` or `patch -p1`; "" when they stand there.

    Args:
        existing: the text of AGENTS.md, None where there is none. Its block from an earlier patch is replaced.
        bullets: the strategies; only live ones whose anchors still stand, and which are not for one session alone, go
            over.
    """
    old = existing or ""
    block = "\n".join([BEGIN, "## Learned strategies", "", *_items(bullets), END]) + "\n"
    if _BLOCK.search(old):
        new = _BLOCK.sub(lambda _: block, old, count=1)
    else:
        gap = "" if not old else "\n" if old.endswith("\n") else "\n\n"
        new = old + gap + block
    source = "/dev/null" if existing is None else "a/AGENTS.md"
    pieces = difflib.unified_diff(_lines(old), _lines(new), source, "b/AGENTS.md")
    return "".join(_ended(pieces))


def skill(bullets: Iterable[Bullet], project: str) -> str:
    """A SKILL.md with the same strategies; `project` is what they were learned in."""
    name = re.sub(r"[^a-z0-9]+", "-", project.lower()).strip("-")[:48] or "project"
    about = f"Strategies learned while working on {project}. Use when you read, change, build or test it."
    head = ["---", f"name: {name}-playbook", f"description: {json.dumps(about[:1000])}", "---"]
    return "\n".join([*head, "", f"# What was learned in {' '.join(project.split())}", "", *_items(bullets)]) + "\n"


def _items(bullets: Iterable[Bullet]) -> Iterator[str]:
    for bullet in sorted(bullets, key=lambda b: b.number):
        if bullet.live and not bullet.stale and bullet.scope != "session":
            yield f"- {quoted(bullet.content).replace('<!--', '‹!--')}"


def _lines(text: str) -> list[str]:
    """The lines as git sees them: not `splitlines`, which also parts them at a form feed and others."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _ended(pieces: Iterable[str]) -> Iterator[str]:
    for piece in pieces:
        yield piece if piece.endswith("\n") else f"{piece}\n\\ No newline at end of file\n"
