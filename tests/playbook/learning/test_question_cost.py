"""What a question would take at most."""

from __future__ import annotations

from swecli.models.playbook import SessionPlaybook
from swecli.playbook.digest import CallDigest, TurnDigest
from swecli.playbook.learning.question_cost import question_tokens, worst_cost
from swecli.playbook.learning.reflector_model import MAX_TOKENS, digest_text


def test_it_is_never_less_than_what_is_sent() -> None:
    digest = TurnDigest("s", 1, "q" * 999, calls=(CallDigest("c", "run_command", {"command": "x"}, head="y" * 800),))
    tokens = question_tokens(digest, SessionPlaybook(), "template")
    assert tokens - MAX_TOKENS > len(digest_text(digest, [])) // 4


def test_a_price_is_known_or_not() -> None:
    assert (worst_cost(10_000, "openai/gpt-4o") or 0) > 0
    assert worst_cost(10_000, "scripted/test") is None
