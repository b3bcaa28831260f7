"""The gate: why a text may not become a bullet, and why one waits until the user, or a second sight of it, says yes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from swecli.models.playbook import OUTSIDE, Bullet, Trust, length_problem
from swecli.playbook.similarity import stems
from swecli.redact import has_secret

DOUBT = "doubt"  # the source of the evidence that says why a bullet waits
PROVISIONAL = "seen in a result"  # the reason of one that a second turn may confirm
_KNOWN = 0.75  # share of its words that one line of the instructions holds
_INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Cn"}
_ID = re.compile(r"\[\s*(P-?\d+)\s*\]", re.IGNORECASE)
# What reaches out, alike in every language: an address, a program that fetches, a flag that switches a check off.
_REACHES = re.compile(
    r"\b[a-z][a-z0-9+.-]*://\S*|\bwww\.\S*|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}/\S*|\b(?:curl|wget|sudo|chmod)\b|--no-[\w-]+|"
    r"--(?:force|insecure|trusted-host|index-url)\b|\|\s*(?:sudo\s+)?\w*sh\b",
    re.IGNORECASE,
)
# What no result may ask for besides, however often it is seen: to fetch, to install, to switch a check off, to obey.
_ASKS = re.compile(r"\b(?:install|download|upload|eval|disable|skip|ignore|bypass|always|never|must)\b", re.IGNORECASE)


def clean(content: str) -> str:
    """One line of visible text; ids in brackets lose them, so that a bullet cannot cite another one."""
    text = "".join(c for c in " ".join(content.split()) if unicodedata.category(c) not in _INVISIBLE)
    while (found := _ID.sub(r"\1", text)) != text:
        text = found
    return " ".join(text.split())


def rejection_reason(content: str, trust: Trust, instructions: str = "") -> str:
    """Why a cleaned text may not become a bullet; "" when it may. What users teach is theirs to choose: for them only
    size and secrets are refused."""
    if not re.search(r"\w", content):
        return "it is empty"
    if problem := length_problem(content):
        return problem
    if has_secret(content):
        return "it holds a secret"
    if trust == "user":
        return ""
    return "the instructions contain it already" if _is_in_instructions(content, instructions) else ""


def _is_in_instructions(content: str, instructions: str) -> bool:
    """Whether one line of the instructions has its words, in whatever order."""
    words = stems(content)
    lines = (stems(line) for line in instructions.splitlines() if line.strip())
    return any(len(words & line) >= _KNOWN * len(words) for line in lines)


def is_instruction(content: str) -> bool:
    """Whether a text asks for something that only the user may ask for: that is not a finding about a project."""
    return _REACHES.search(content) is not None or _ASKS.search(content) is not None


def requests_beyond(content: str, query: str) -> bool:
    """Whether a text names an address, a flag or a program that reaches out, of which the user's message has nothing:
    these are written alike in every language."""
    typed = query.casefold()
    return any(found[0].strip().casefold() not in typed for found in _REACHES.finditer(content))


def is_confirmed(bullet: Bullet, sessions: Iterable[str], session_id: str, missing: str) -> bool:
    """Whether a bullet that waits becomes active because a second turn came to it: in none of the `sessions` where it
    was seen before, and with nothing `missing` from the workspace ("" where all is there)."""
    waits = bullet.state == "quarantined" and bullet.trust in OUTSIDE
    return waits and not missing and session_id not in set(sessions) and not is_instruction(bullet.content)
