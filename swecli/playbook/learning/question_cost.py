"""What asking a model to reflect would take at most, before it is asked."""

from __future__ import annotations

from datetime import UTC, datetime

from swecli.llm.price_table import cost_of_model
from swecli.models.message import Usage
from swecli.models.playbook import SessionPlaybook
from swecli.playbook.digest import TurnDigest
from swecli.playbook.learning.reflector_model import ATTEMPTS, MAX_TOKENS, digest_text

LETTERS = 3  # characters a token, at least: most texts have four


def day_began() -> datetime:
    """When the user's day began."""
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)


def question_tokens(digest: TurnDigest, playbook: SessionPlaybook, template: str) -> int:
    """Tokens of the question about a turn and of the longest answer: rather too many than too few."""
    shown = [playbook.bullets[name] for name in digest.shown if name in playbook.bullets]
    return (len(template) + len(digest_text(digest, shown))) // LETTERS + MAX_TOKENS


def worst_cost(tokens: int, model: str) -> float | None:
    """US dollars for that, asked as often as a bad answer is asked for again; None where no price is known."""
    once = cost_of_model(Usage(input=tokens - MAX_TOKENS, output=MAX_TOKENS), model)
    return None if once is None else ATTEMPTS * once
