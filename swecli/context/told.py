"""What of the playbook a conversation knows already, and what that takes of its budget."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.context.notes import strategy_lines, told_since
from swecli.context.prepare import past_request, said_in
from swecli.context.tokens import TokenCounter
from swecli.models.playbook import Bullet, render_bullets
from swecli.models.session import Session


@dataclass(frozen=True, slots=True)
class Told:
    """What the next request tells of the playbook before the query: contents by id, and the tokens of it all: of the
    head's part, and of each note since."""

    strategies: dict[str, str]
    tokens: int


def told_now(session: Session, counter: TokenCounter) -> Told | None:
    """What the present epoch tells; None before the first."""
    epoch = session.context.epoch
    if epoch is None:
        return None
    sent = said_in(past_request(session))
    notes = "".join(f"{line}\n" for text in sent for line in strategy_lines(text))
    head = render_bullets(Bullet(name, content) for name, content in epoch.strategies.items())
    return Told(told_since(epoch.strategies, sent), counter.count(head) + counter.count(notes))
