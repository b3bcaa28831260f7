"""The gate at ADD: why a text may not become a bullet, and what an existing bullet has to do with a new one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

from swecli.models.playbook import MAX_WORDS, Bullet, Trust
from swecli.playbook.redact import has_secret
from swecli.playbook.words import containment, content_words, forbids, jaccard

Relation = Literal["same", "narrower", "variant", "opposite"]

SIMILAR = 0.5
LONGEST = 600  # characters: sixty words, none of them absurd
KNOWN = 0.85  # share of its words that one line of the instructions holds
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Cn"}
_ID = re.compile(r"\[\s*(P-?\d+)\s*\]", re.IGNORECASE)
_LASTING = re.compile(
    r"(?P<pid>\bpids?\b\W{0,3}\d+|\bprocess (?:id )?\d+\b)|(?P<temp>(?<![\w.])/(?:tmp|var/folders|private/tmp|"
    r"dev/shm)/\S+"
    r"|\\AppData\\Local\\Temp)",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"(?P<date>\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b(?:yesterday|today|tonight|tomorrow|"
    r"this morning|"
    r"right now|at the moment|currently|last (?:week|month|night))\b)|(?P<time>\b\d{1,2}:\d{2}(?::\d{2})?\b)|"
    r"(?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b0x[0-9a-f]{6,}\b|"
    r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b)|(?P<line>\blines? \d+\b)|"
    r"(?P<figure>\b\d+ (?:tests? )?(?:passed|failed)\b|\b\d+(?:\.\d+)? ?(?:ms|seconds|secs?)\b)",
    re.IGNORECASE,
)
_PASSING_WORDS = {
    "pid": "a process id",
    "temp": "a temporary path",
    "date": "a date",
    "time": "a time of day",
    "id": "a passing id",
    "line": "a line number",
    "figure": "a figure of one run",
}
# A text that holds nothing but these says nothing about this project or this user.
_GENERIC_WORDS = """
    accurate action advice after aim all always analyze answer answering approach appropriate ask assume attention
    bad before best better bug careful carefully carefulness case change changing check clarity clean clear close
    code coding command complete concise consider consistent context correct correctly deep detail developer
    different document double double-check edge edit editing effective effectively efficient efficiently ensure
    error example exception exit expected fail failed file find finish finishing first fix focus follow former
    full fully function functionality gather goal good handle handling help helpful high implement implementation
    important improve information input instruction issue it keep know latter logic maintain make making
    meaningful mind mistake modern need new next occur organized output pass pay perform plan possible potential
    practice principle problem proceed program project proper properly provide quality read readable reading
    relevant reliable remember request requirement responding result review right robust run safe simple solution
    solve specific standard start starting step structure sure take task test tested testing then thing think
    thorough thoroughly thoughtful time tool try understand understanding use useful user validate verify way well
    whole work working write writing wrong yourself
"""
GENERIC = frozenset(_GENERIC_WORDS.split())
_SPECIFIC = re.compile(
    r"`[^`]+`|(?<!\w)--?[a-z]|\w[/\\]\w|\w\.\w|\w_\w|[a-z][A-Z]|\d|(?<!^)(?<![.!?:] )\b[A-Z][A-Za-z]+"
)


def clean(content: str) -> str:
    """One line of visible text; ids in brackets lose them, so that a bullet cannot cite another one."""
    text = "".join(c for c in " ".join(content.split()) if unicodedata.category(c) not in _UNSEEN)
    while (found := _ID.sub(r"\1", text)) != text:
        text = found
    return " ".join(text.split())


def objection(content: str, trust: Trust, instructions: str = "") -> str:
    """Why a cleaned text may not become a bullet; "" when it may.

    What users teach is theirs to choose: for them only size, secrets and facts that cannot last are refused.
    """
    words = len(content.split())
    if not re.search(r"\w", content):
        return "it is empty"
    if words > MAX_WORDS:
        return f"it has {words} words, at most {MAX_WORDS} are kept"
    if len(content) > LONGEST:
        return f"it has {len(content)} characters, at most {LONGEST} are kept"
    if has_secret(content):
        return "it holds a secret"
    passing = _LASTING.search(content) or (_PASSING.search(content) if trust != "user" else None)
    if passing:
        return f"it will not last: {_PASSING_WORDS[passing.lastgroup or 'id']} ({passing[0].strip()})"
    if trust == "user":
        return ""
    if is_generic(content):
        return "it is general advice"
    return "the instructions say so already" if _known(content, instructions) else ""


def is_generic(content: str) -> bool:
    """Whether a text would be as true anywhere else."""
    words = content_words(content)
    return not _SPECIFIC.search(content) and not (words - GENERIC)


def _known(content: str, instructions: str) -> bool:
    words = content_words(content)
    return any(containment(words, content_words(line)) >= KNOWN for line in instructions.splitlines() if line.strip())


def nearest(content: str, bullets: Iterable[Bullet]) -> tuple[Bullet, Relation] | None:
    """The bullet most like a text, and how they stand to each other; None when none is at least half alike.

    "same": the text adds nothing. "narrower": it says all of it and more. "variant": each says something the other
    does not. "opposite": one forbids what the other demands.
    """
    words = content_words(content)
    scored = [(jaccard(words, content_words(b.content)), b) for b in bullets if b.state != "deleted"]
    score, bullet = max(scored, key=lambda pair: (pair[0], -pair[1].number), default=(0.0, None))
    if bullet is None or score < SIMILAR:
        return None
    if forbids(content) != forbids(bullet.content):
        return bullet, "opposite"
    other = content_words(bullet.content)
    if words <= other:
        return bullet, "same"
    return bullet, "narrower" if other < words else "variant"
