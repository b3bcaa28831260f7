"""Test token counting: exact with the tokenizer table, estimated without it, and never waiting for a download."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context import estimate_token_count
from swecli.context.tokens import (
    _PER_CALL,
    MISSING_IMAGE_TOKENS,
    PER_MESSAGE,
    TokenCounter,
    _image_tokens,
)
from swecli.models.api_message import Image, UserMessage
from swecli.models.message import ToolSpec
from tests.support.histories import call

ROOT = Path(__file__).parents[2]
TABLE_O200K = "fb374d419588a4632f3f557e76b4b70aebbca790"


def bundled_tables() -> Path:
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = bundled_tables()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def counter(tables: Path) -> TokenCounter:
    return TokenCounter()


def count_characters(text: str) -> int:
    return len(text)


def test_counts_are_exact_if_the_table_is_available(counter: TokenCounter) -> None:
    assert counter.estimated
    assert counter.count("hello world") == 2
    assert counter.count("") == 0
    assert not counter.estimated


def test_counts_are_estimated_until_the_table_is_loaded(tables: Path) -> None:
    counter = TokenCounter(exact=False)
    assert (counter.count("hello world"), counter.estimated, counter.label) == (3, True, "")
    assert counter.load()
    assert (counter.count("hello world"), counter.estimated, counter.label) == (
        2,
        False,
        "o200k_base",
    )


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@pytest.mark.slow
def test_every_bundled_encoding_can_be_loaded(tables: Path, encoding: str) -> None:
    assert TokenCounter(encoding).load()


@pytest.mark.parametrize("encoding", ["gpt2", "no_such_encoding", ""])
def test_an_encoding_without_a_table_is_estimated(tables: Path, encoding: str) -> None:
    other = TokenCounter(encoding)
    assert other.count("12345678") == 2
    assert other.estimated


def test_without_tiktoken_cache_dir_four_characters_are_estimated_as_one_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    counter = TokenCounter()
    assert [counter.count(text) for text in ("a", "abcd", "abcde", "漢字")] == [1, 1, 2, 1]
    assert counter.estimated


def test_a_damaged_table_is_neither_used_nor_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / TABLE_O200K
    shutil.copy(bundled_tables() / TABLE_O200K, damaged)
    with damaged.open("ab") as file:
        file.write(b"more")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert TokenCounter().count("a" * 8) == 2
    assert damaged.exists()


PATHOLOGICAL = [
    "a" * 1_000_000,
    " " * 1_000_000,
    "\n" * 300_000,
    "\ud800" * 300_000,
    "\x00" * 300_000,
    "漢" * 300_000,
]


@pytest.mark.parametrize(
    "text", PATHOLOGICAL, ids=["letter", "spaces", "lines", "surrogates", "nul", "cjk"]
)
def test_pathological_text_is_counted(counter: TokenCounter, text: str) -> None:
    assert 0 < counter.count(text) <= 3 * len(text)
    assert not counter.estimated


@given(st.text(st.characters(codec=None), max_size=300))
@settings(deadline=None)
def test_counting_never_raises(text: str) -> None:
    counter = TokenCounter()
    assert counter.count(text) >= (1 if text else 0)


def test_counting_the_same_text_again_gives_the_same_count(counter: TokenCounter) -> None:
    first = counter.count("some words " * 1000)
    assert counter.count("some words " * 1000) == first


def test_a_message_counts_its_content_reasoning_tool_calls_and_overhead(
    counter: TokenCounter,
) -> None:
    words = counter.count("hello world")
    assert counter.count_message({"role": "user", "content": "hello world"}) == PER_MESSAGE + words
    calling: Any = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("c1", "hello", " world")],
    }
    assert counter.count_message(calling) == PER_MESSAGE + _PER_CALL + words
    thinking: Any = {"role": "assistant", "content": "hello", "reasoning_content": " world"}
    assert counter.count_message(thinking) == PER_MESSAGE + words
    assert counter.count_messages([]) == 3
    assert counter.count_messages([thinking, thinking]) == 3 + 2 * (PER_MESSAGE + words)


def test_tools_count_by_their_schema(counter: TokenCounter) -> None:
    spec = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {}})
    assert counter.count_tools([spec]) == counter.count_tools([spec.to_api()]) > 10
    assert counter.count_tools([]) == 0


@pytest.mark.parametrize(
    ("length", "tokens"), [(0, 0), (1, 2), (10, 6), (1000, 48), (1024, 48), (1025, 50)]
)
def test_image_tokens_grow_with_the_square_root_of_the_data_length(
    length: int, tokens: int
) -> None:
    assert _image_tokens(length) == tokens
    block = {"type": "image", "source": {"data": "X" * length}}
    assert estimate_token_count([block], count_characters) == tokens
    assert isinstance(estimate_token_count([block], count_characters), int)


def test_an_image_url_counts_by_its_inline_data_or_as_a_fixed_number() -> None:
    inline = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "X" * 1000}}
    assert estimate_token_count([inline], count_characters) == 48
    for away in ({"url": "https://example.org/a.png"}, "https://example.org/a.png", None):
        assert (
            estimate_token_count([{"type": "image_url", "image_url": away}], count_characters)
            == MISSING_IMAGE_TOKENS
        )
    assert (
        estimate_token_count([{"type": "image", "source": {}}, {"type": "image"}], count_characters)
        == 900
    )


def test_the_tokens_of_content_are_the_sum_of_its_blocks() -> None:
    blocks = [
        {"type": "text", "text": "abc"},
        {"type": "text", "text": ""},
        {"type": "image"},
        "de",
    ]
    assert estimate_token_count(blocks, count_characters) == 3 + 450 + 2
    assert estimate_token_count([{"type": "tool_result", "content": "four"}], count_characters) == 4
    assert estimate_token_count("text", count_characters) == 4


@pytest.mark.parametrize("empty", [None, "", []])
def test_empty_content_has_no_tokens(empty: object) -> None:
    def never(text: str) -> int:
        raise AssertionError(text)

    assert estimate_token_count(empty, never) == 0


def test_importing_the_context_package_loads_no_tokenizer_config_or_store() -> None:
    code = "import swecli.context, sys; print(' '.join(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert (
        not {
            "tiktoken",
            "regex",
            "pydantic",
            "litellm",
            "sqlmodel",
            "swecli.config",
            "swecli.store",
        }
        & loaded
    )


def test_the_tokens_of_a_picture_are_estimated_from_the_length_of_its_data() -> None:
    image: Image = {"name": "a", "label": "[image]", "media_type": "image/png", "data": "x" * 1000}
    query: UserMessage = {"role": "user", "content": "what is it?"}
    with_image: UserMessage = {**query, "images": [image]}
    counter = TokenCounter()
    assert counter.count_message(with_image) - counter.count_message(query) == 48
    assert _image_tokens(1000) == 48
