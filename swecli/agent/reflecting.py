"""What asking a model to reflect would take at most, before it is asked."""

from __future__ import annotations

from swecli.llm.prices import cost_of_model
from swecli.models.model_io import Usage
from swecli.models.playbook import SessionPlaybook
from swecli.playbook.digest import TurnDigest
from swecli.playbook.model_reflector import MAX_TOKENS, digest_text

LETTERS = 3  # characters a token, at least: most texts have four


def question_tokens(digest: TurnDigest, playbook: SessionPlaybook, template: str) -> int:
    """Tokens of the question about a turn and of the longest answer: rather too many than too few."""
    shown = [playbook.bullets[name] for name in digest.shown if name in playbook.bullets]
    return (len(template) + len(digest_text(digest, shown))) // LETTERS + MAX_TOKENS


def worst_cost(tokens: int, model: str) -> float | None:
    """US dollars for that, None where the model's price is not known."""
    return cost_of_model(Usage(input=tokens - MAX_TOKENS, output=MAX_TOKENS), model)
