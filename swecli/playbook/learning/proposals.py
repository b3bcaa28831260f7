"""What a reflector proposes: tags for bullets, new bullets, changes of bullets. Nothing of it is applied yet."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.models.playbook import Kind, Scope, Tag


@dataclass(frozen=True, slots=True)
class TagProposal:
    """A verdict on one bullet that was shown, with the reason given."""

    bullet_id: str
    tag: Tag
    why: str = ""


@dataclass(frozen=True, slots=True)
class AddProposal:
    """A new bullet, or with `bullet_id` other words for one. `quote` are words of the turn that show it, `call_id` the
    call in whose result they stand ("": the user's own words, or none named)."""

    content: str
    when: str = ""
    kind: Kind = "strategy"
    section: str = "general"
    quote: str = ""
    call_id: str = ""
    bullet_id: str = ""
    scope: Scope = "project"


@dataclass(frozen=True, slots=True)
class Reflection:
    """A reflector's proposals for one turn."""

    tags: tuple[TagProposal, ...] = ()
    adds: tuple[AddProposal, ...] = ()
    updates: tuple[AddProposal, ...] = ()
