"""Test parsing, truncating and cleaning the messages and numbers of provider errors."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import replace
from email.utils import formatdate
from time import time
from typing import Any

import pytest
from httpx import ConnectTimeout

from swecli.llm.endpoints import resolve
from swecli.llm.errors import (
    ErrorBody,
    error_for_event,
    error_for_response,
    error_for_transport,
    one_line,
    parse_error_body,
)
from swecli.llm.retries import LONGEST_WAIT
from swecli.models.errors import (
    AuthFailed,
    ContextOverflow,
    ModelNotFound,
    ProviderError,
    RequestRefused,
    Unavailable,
)

ENDPOINT = resolve("openai/gpt-4.1", {"OPENAI_API_KEY": "k"})


def retry_after(headers: dict[str, str], body: str = "") -> float | None:
    error = error_for_response(429, headers, body, ENDPOINT)
    assert isinstance(error, Unavailable)
    return error.retry_after


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({}, "", None),
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, "", 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, "", 2.0),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after": "1.5"}, "", 1.5),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:30 GMT"}, "", 0.0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:30 GMT"}, "", None),
        ({"retry-after": "-3"}, "", None),
        ({}, '{"retryDelay": "17s"}', 17.0),
        ({}, "Limit 6000, Used 5999. Please try again in 7.66s.", 7.66),
        ({}, "Please try again in 28m48s.", 1728.0),
        ({}, "Please try again in 1h0m2s.", 3602.0),
        ({}, "Please retry after 35 seconds.", 35.0),
    ],
)
def test_retry_after_is_read_from_headers_and_body(
    headers: dict[str, str], body: str, seconds: float | None
) -> None:
    assert retry_after(headers, body) == seconds


def test_retry_after_is_read_from_a_date_or_reset_time() -> None:
    for wait in (
        retry_after({"retry-after": formatdate(time() + 40, usegmt=True)}),
        retry_after(
            {}, f'{{"metadata": {{"headers": {{"X-RateLimit-Reset": "{time() + 40:.0f}000"}}}}}}'
        ),
    ):
        assert wait is not None
        assert 30 < wait <= 41


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ("This model's maximum context length is 128000 tokens. However, you sent 130000", 128_000),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("request (9000 tokens) exceeds the available context size (8192 tokens)", 8_192),
        (
            "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
            1_048_576,
        ),
        ("maximum context length is 32,768 tokens", 32_768),
        ("maximum context length is 32.768 tokens", 32_768),
        ("maximum context length is 8_192 tokens", 8_192),
        ("maximum context length is 8k tokens", 8_000),
        (
            "input length and `max_tokens` exceed context limit: 184915 + 20000 > 204648, decrease input length",
            204_648,
        ),
        (
            "The decoder prompt (length 18000) is longer than the maximum model length of 16384.",
            16_384,
        ),
        ("max_tokens=8192 cannot be greater than max_model_len=max_total_tokens=4096.", 4_096),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4273 `inputs` tokens", 4_096),
        ("Input is too long for requested model.", None),
        (
            "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576.",
            None,
        ),
        (
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            131_072,
        ),
        ("prompt token count of 135000 exceeds the limit of 128000", 128_000),
        ("Your request exceeded model token limit: 262144 (requested: 291351)", 262_144),
        ("<400> InvalidParameter: Range of input length should be [1, 129024]", 129_024),
        ("length of prompt_tokens (41000) must be less than max_seq_len (32768).", 32_768),
        ("greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load", 4_096),
        ("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", 7_424),
        ("This prompt is too long for gpt-4o model. Max size: 8000 tokens.", 8_000),
        ("The input tokens exceed the configured limit of 272000 tokens.", 272_000),
        ("140000 tokens, too large for model with 131072 maximum context length", 131_072),
        ("exceeds the maximum allowed input length of 131040 tokens", 131_040),
        ("invalid params, context window exceeds limit (2013)", None),
        ("prompt too long; exceeded max context length by 100918 tokens", None),
        ("Prompt exceeds max length", None),
        ("Prompt 超长", None),
    ],
)
def test_a_context_overflow_is_detected_by_its_message_and_its_limit_is_read(
    body: str, limit: int | None
) -> None:
    error = error_for_response(400, {}, body, ENDPOINT)
    assert isinstance(error, ContextOverflow)
    assert error.limit == limit, "the window is chosen among all numbers"


@pytest.mark.parametrize(
    "body", ["Invalid 'tools[0]'", "max_tokens: must be at least 1", "unknown parameter"]
)
def test_other_400_responses_are_not_context_overflows(body: str) -> None:
    error = error_for_response(400, {}, body, ENDPOINT)
    assert type(error) is RequestRefused


def test_a_request_above_the_token_limit_per_minute_is_not_retried() -> None:
    body = "Request too large for gpt-4.1 on tokens per min (TPM): Limit 30000, Requested 45001."
    error = error_for_response(429, {"retry-after": "1"}, body, ENDPOINT)
    assert (type(error), error.retryable, error.status) == (ProviderError, False, 429)
    assert "never accepts a request of this size (429): Request too large" in error.message


@pytest.mark.parametrize(
    "body", ["API key not valid. Please pass a valid API key.", "Incorrect API key provided: k"]
)
def test_a_400_response_about_the_key_is_an_auth_error_that_names_its_variable(body: str) -> None:
    error = error_for_response(400, {}, body, ENDPOINT)
    assert isinstance(error, AuthFailed)
    assert "refused the key in OPENAI_API_KEY (400)" in error.message


@pytest.mark.parametrize(
    ("model", "status", "body", "message", "hint"),
    [
        ("openai/gpt-4.1", 403, "Your request was flagged", "does not allow this", "or the request"),
        ("openai/gpt-4.1", 407, "", "proxy between here", "HTTPS_PROXY"),
        (
            "openai/gpt-4.1",
            400,
            '{"error": {"code": "content_filter", "message": "The prompt was filtered"}}',
            "withheld the answer",
            "Rephrase",
        ),
        ("bedrock/claude", 401, "no", "the login that litellm uses", "page on bedrock"),
        ("github_copilot/gpt-4.1", 403, "no", "the login that litellm uses", "page on github_copilot"),
    ],
)  # fmt: skip
def test_a_hint_names_what_can_help(
    model: str, status: int, body: str, message: str, hint: str
) -> None:
    at = resolve(model, {"OPENAI_API_KEY": "k"})
    words = parse_error_body(body).words
    error = error_for_response(status, {}, body, at)
    assert message in error.message
    assert words in error.message
    assert hint in error.hint
    assert "BEDROCK_API_KEY" not in f"{error.message} {error.hint}"


def test_the_hint_for_a_login_of_a_proxy_names_the_variable_that_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("all_proxy", "http://proxy.example:3128")
    at = resolve("openai/gpt-4.1", {"OPENAI_API_KEY": "k"})
    assert "into all_proxy (" in error_for_response(407, {}, "", at).hint


def test_a_context_overflow_wrapped_twice_by_a_gateway_is_detected() -> None:
    inner = json.dumps(
        {"error": {"message": "This model's maximum context length is 40960 tokens."}}
    )
    wrapped = {
        "code": "error",
        "message": "Stream error occurred",
        "value": {"error_message": inner},
    }
    error = error_for_event({"error": wrapped}, ENDPOINT)
    assert isinstance(error, ContextOverflow)
    assert error.limit == 40_960


def test_the_error_of_the_service_behind_a_router_is_reported_and_classified() -> None:
    raw = json.dumps({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    error = error_for_response(400, {}, json.dumps(body), ENDPOINT)
    assert isinstance(error, ContextOverflow)
    assert (error.limit, "210000 tokens" in error.message) == (200_000, True)


def test_the_message_behind_a_router_is_shown_even_if_both_end_with_the_same_word() -> None:
    error = {
        "message": "Provider returned error",
        "metadata": {"raw": "internal error"},
        "code": "502",
    }
    assert "Provider returned error (internal error)" in str(
        error_for_event({"error": error}, ENDPOINT)
    )


@pytest.mark.parametrize(
    "body",
    [
        '[{"error": {"message": "no such thing"}}]',
        '{"success": false, "errors": [{"code": 7009, "message": "no such thing"}]}',
        '{"code": 401, "msg": "no such thing"}',
        '{"base_resp": {"status_code": 1004, "status_msg": "no such thing"}}',
        '{"code": "invalid", "error": "no such thing"}',
    ],
)
def test_the_message_is_found_in_every_shape_of_error_body(body: str) -> None:
    assert parse_error_body(body) == ErrorBody("no such thing")


def test_an_html_error_page_is_reduced_to_its_text() -> None:
    page = "<!DOCTYPE html><!--[if IE]> x <![endif]--><html><style>a {b: c}</style><h1>502 Bad Gateway</h1></html>"
    assert parse_error_body(page) == ErrorBody("502 Bad Gateway", is_page=True)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": "502", "message": "x"}, 502),
        ({"type": "billing_error", "message": "x"}, 402),
        ({"object": "error", "code": 400, "type": "BadRequestError", "message": "x"}, 400),
        ({"type": "request_too_large", "message": "x"}, 413),
    ],
)
def test_an_error_event_in_a_stream_has_the_status_that_it_names(
    error: dict[str, Any], status: int
) -> None:
    failed = error_for_event({"error": error}, ENDPOINT)
    assert failed is not None
    assert failed.status == status
    bare = error_for_event(error, ENDPOINT)
    assert (bare is not None) == ("type" in error), "also where the event itself is the error"


def test_a_400_response_about_a_failed_tool_call_is_retried_once() -> None:
    error = error_for_response(400, {}, "Failed to call a function. (tool_use_failed)", ENDPOINT)
    assert isinstance(error, Unavailable)
    assert error.tries == 2


def test_secrets_in_the_words_of_a_service_are_masked() -> None:
    words = "no route to postgres://admin:s3cr3tPW@db.internal/x with Bearer abcdefghijklmnop12345"
    failed = error_for_response(500, {}, json.dumps({"error": {"message": words}}), ENDPOINT)
    broken = error_for_event({"error": {"message": words}}, ENDPOINT)
    assert broken is not None
    for error in (failed, broken):
        assert "postgres://admin:[redacted: password]@db.internal/x" in error.message
        assert "abcdefghijklmnop" not in error.message
    # the cut must not leave the half of a secret that nobody recognises
    assert "s3cr" not in one_line("x" * 270 + " postgres://admin:s3cr3tPW@db.internal/x")


def test_one_line_removes_control_characters_and_truncates_the_text() -> None:
    assert one_line("a\n\tb\x1b[31m c\u202ed\x9b") == "a b cd"
    assert len(one_line("x" * 5000)) == 300


@pytest.mark.parametrize(
    ("number", "why"),
    [(socket.EAI_NONAME, "no such host"), (socket.EAI_AGAIN, "its name is not looked up")],
)
def test_the_cause_of_a_failed_host_name_lookup_is_reported(number: int, why: str) -> None:
    try:
        try:
            raise socket.gaierror(number, "Name or service not known")
        except OSError as low:
            raise RuntimeError("Connection error.") from low
    except RuntimeError as high:
        error = error_for_transport(high, ENDPOINT, answering=False)
    assert isinstance(error, Unavailable)
    assert f"cannot be reached ({why})" in error.message


def test_a_tls_handshake_timeout_is_not_reported_as_a_certificate_error() -> None:
    try:
        try:
            raise ssl.SSLWantReadError("The operation did not complete (read)")
        except ssl.SSLWantReadError:
            raise ConnectTimeout("") from None
    except ConnectTimeout as late:
        error = error_for_transport(late, ENDPOINT, answering=False)
    assert isinstance(error, Unavailable)
    assert "cannot be reached (no answer)" in error.message


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ('{"error": {"type": "usage_limit_reached", "message": "x", "resets_in_seconds": 12000}}', "3 h 20 min"),
        ('{"error": {"message": "Limit of 200000 tokens per day. Resets in 2h39m52s"}}', "2 h 40 min"),
        ('{"error": {"message": "Please try again in 5 hours"}}', "5 h 0 min"),
        ('{"error": {"message": "Try again in 12 minutes, 3 seconds"}}', "13 min"),
        ('{"error": {"message": "Rate limit exceeded: free-models-per-day"}}', "next day"),
        ('{"error": {"message": "Extra usage is required for long context requests"}}', "raise the limit"),
        ('{"error": {"type": "budget_exceeded", "message": "ExceededBudget: over budget"}}', "raise the limit"),
    ],
)  # fmt: skip
def test_a_limit_that_no_short_wait_ends_is_not_tried_again(body: str, hint: str) -> None:
    error = error_for_response(429, {}, body, ENDPOINT)
    assert isinstance(error, Unavailable)
    assert hint in error.hint
    assert error.tries == 1 or (error.retry_after or 0) > LONGEST_WAIT


def test_a_limit_of_a_minute_is_tried_again() -> None:
    error = error_for_response(
        429, {}, '{"error": {"message": "Requests per minute: 20"}}', ENDPOINT
    )
    assert isinstance(error, Unavailable)
    assert error.tries > 1


def test_a_size_that_a_server_before_the_service_refuses_is_no_window() -> None:
    page = "<html><h1>413 Request Entity Too Large</h1>nginx</html>"
    for body in (page, ""):
        error = error_for_response(413, {}, body, ENDPOINT)
        assert type(error) is ProviderError
        assert "takes no request of this size" in error.message


@pytest.mark.parametrize(
    ("body", "is_address"),
    [
        ('{"error": {"message": "Not Found"}}', True),
        ("404 page not found", True),
        ("", True),
        ('{"error": {"message": "The model `m` does not exist"}}', False),
        ('{"error": {"code": "DeploymentNotFound", "message": "The API deployment"}}', False),
    ],
)
def test_a_404_without_a_model_in_its_words_blames_the_address(body: str, is_address: bool) -> None:
    at = replace(ENDPOINT, base_url="http://gw.test/v1", address="http://gw.test/v1")
    error = error_for_response(404, {}, body, at)
    assert isinstance(error, ModelNotFound) is not is_address
    assert ("base URL" in error.hint) is is_address
    assert isinstance(error_for_response(404, {}, body, ENDPOINT), ModelNotFound), "a known address"
