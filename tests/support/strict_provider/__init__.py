"""A model service on the loopback that implements four protocols and refuses requests as the real services do."""

from tests.support.strict_provider.script import Call, Received, Refusal, Reply, Tokens, Wire
from tests.support.strict_provider.server import StrictProvider

__all__ = ["Call", "Received", "Refusal", "Reply", "StrictProvider", "Tokens", "Wire"]
