"""A loopback model service that speaks two protocols and refuses what the real services refuse."""

from tests.support.strict_provider.script import Call, Received, Refusal, Reply, Tokens, Wire
from tests.support.strict_provider.server import StrictProvider

__all__ = ["Call", "Received", "Refusal", "Reply", "StrictProvider", "Tokens", "Wire"]
