"""What the model will see; here the pure functions, usable without network, store or settings."""

from __future__ import annotations

from swecli.context.budget import (
    DEFAULT_MAX_TOKENS,
    MAX_CHARACTERS,
    MAX_CONDENSE_THRESHOLD,
    MIN_CONDENSE_THRESHOLD,
    TOKEN_BUFFER_PERCENTAGE,
    allowed_tokens,
    effective_threshold,
)
from swecli.context.epochs import adaptive_window_size
from swecli.context.system_message import dedupe_findings
from swecli.context.tokens import MISSING_IMAGE_TOKENS, estimate_token_count
from swecli.context.truncate import (
    TruncateOptions,
    TruncateResponse,
    loop_window,
    truncate_conversation,
    truncate_conversation_if_needed,
)

__all__ = [
    "DEFAULT_MAX_TOKENS",
    "MAX_CHARACTERS",
    "MAX_CONDENSE_THRESHOLD",
    "MIN_CONDENSE_THRESHOLD",
    "MISSING_IMAGE_TOKENS",
    "TOKEN_BUFFER_PERCENTAGE",
    "TruncateOptions",
    "TruncateResponse",
    "adaptive_window_size",
    "allowed_tokens",
    "dedupe_findings",
    "effective_threshold",
    "estimate_token_count",
    "loop_window",
    "truncate_conversation",
    "truncate_conversation_if_needed",
]
