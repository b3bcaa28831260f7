"""Builds what the model is sent. The functions named here are pure: without network, store or settings."""

from swecli.context.budget import DEFAULT_MAX_TOKENS as DEFAULT_MAX_TOKENS
from swecli.context.budget import MAX_CHARACTERS as MAX_CHARACTERS
from swecli.context.budget import MAX_CONDENSE_THRESHOLD as MAX_CONDENSE_THRESHOLD
from swecli.context.budget import MIN_CONDENSE_THRESHOLD as MIN_CONDENSE_THRESHOLD
from swecli.context.budget import TOKEN_BUFFER_PERCENTAGE as TOKEN_BUFFER_PERCENTAGE
from swecli.context.budget import allowed_tokens as allowed_tokens
from swecli.context.budget import effective_threshold as effective_threshold
from swecli.context.tokens import MISSING_IMAGE_TOKENS as MISSING_IMAGE_TOKENS
from swecli.context.tokens import estimate_token_count as estimate_token_count
from swecli.context.truncate import TruncateOptions as TruncateOptions
from swecli.context.truncate import TruncateResponse as TruncateResponse
from swecli.context.truncate import loop_window as loop_window
from swecli.context.truncate import truncate_conversation as truncate_conversation
from swecli.context.truncate import (
    truncate_conversation_if_needed as truncate_conversation_if_needed,
)
from swecli.context.window import adaptive_window_size as adaptive_window_size
from swecli.models.duplicate_findings import dedupe_findings as dedupe_findings
