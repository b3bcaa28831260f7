"""The gate at ADD: why a text may not become a bullet, and what an existing bullet has to do with a new one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

from swecli.models.playbook import MAX_LETTERS, MAX_WORDS, Bullet, Trust
from swecli.playbook.generic import is_generic
from swecli.playbook.passing import passing
from swecli.playbook.relevance import terms
from swecli.playbook.words import containment, content_words, forbids, jaccard
from swecli.redact import has_secret

Relation = Literal["same", "narrower", "variant", "opposite"]

SIMILAR = 0.5
DOUBT = "doubt"  # the source of the evidence that says why a bullet waits: it names what is not here, or contradicts
LONGEST = MAX_LETTERS
BEGINNING = 6  # letters of a word by which two forms of it are one
KNOWN = 0.75  # share of its words that one line of the instructions holds
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Cn"}
_GERMAN_FILLERS = terms(
    "der die das dem den des ein eine einem einen einer und oder ist sind wird werden vor nach mit in im auf für von "
    "zu zum zur muss müssen soll sollen jede jedem jeden jeder immer nie nicht kein keine nur auch als bei laufen läuft"
)
_ID = re.compile(r"\[\s*(P-?\d+)\s*\]", re.IGNORECASE)
# Words of everyday: they do not tell where a text comes from.
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
    if soon_false := passing(content, strict=trust != "user"):
        return f"it will not last: {soon_false}"
    if trust == "user":
        return ""
    if is_generic(content):
        return "it is general advice"
    return "the instructions say so already" if _known(content, instructions) else ""


def _known(content: str, instructions: str) -> bool:
    """Whether one line of the instructions says it, in whatever forms and order."""
    said = _said(content)
    return any(containment(said, _said(line)) >= KNOWN for line in instructions.splitlines() if line.strip())


def _said(text: str) -> frozenset[str]:
    """What a line says, by the beginnings of its words: `indented` and `indentation` are one."""
    return frozenset(term[:BEGINNING] for term in terms(text) - _GERMAN_FILLERS)


def nearest(content: str, bullets: Iterable[Bullet], *, gone: bool = False) -> tuple[Bullet, Relation] | None:
    """The bullet most like a text, and how they stand to each other; None when none is at least half alike.

    "same": the text adds nothing. "narrower": it says all of it and more. "variant": each says something the other
    does not. "opposite": one forbids what the other demands. With `gone` it is looked for among the removed ones only.
    """
    words = content_words(content)
    scored = [(jaccard(words, content_words(b.content)), b) for b in bullets if (b.state == "deleted") == gone]
    forbidden = forbids(content)  # of two that are as like it, the one that does not say the opposite
    score, bullet = max(
        scored, key=lambda pair: (pair[0], forbids(pair[1].content) == forbidden, -pair[1].number), default=(0.0, None)
    )
    if bullet is None or score < SIMILAR:
        return None
    if forbidden != forbids(bullet.content):
        return bullet, "opposite"
    other = content_words(bullet.content)
    if words <= other:
        return bullet, "same"
    return bullet, "narrower" if other < words else "variant"
