"""Counting tokens: exactly where tiktoken's table is on this machine, by characters and marked so where not."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import isqrt
from pathlib import Path
from typing import Any

from swecli.models.message import BLOCKS, IMAGES, ApiMessage, ChatMessage, ToolSpec

CHARACTERS_PER_TOKEN = 4
MISSING_IMAGE_TOKENS = 450

# A run of a million spaces or letters stalls or kills the tokeniser; pieces of this length never do.
_PIECE = 4096
# What a chat format adds around each message, around each call, and once before the answer.
PER_MESSAGE = 4
PER_CALL = 8
PER_REQUEST = 3
_REMEMBERED = 20_000
_FRAME = ("role", "content", "tool_call_id", "_key", BLOCKS, IMAGES)  # counted apart, part of the frame, or never sent

_BLOBS = "https://openaipublic.blob.core.windows.net/encodings/"
# Encoding → SHA-256 of the table it is published as.
_TABLES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}

_log = logging.getLogger(__name__)

_Encode = Callable[[str], list[int]]


class TokenCounter:
    """Counts text and messages for one encoding. The table (0.3 s) is loaded at the first count, or by `load`, and only
    from the folder `TIKTOKEN_CACHE_DIR` names: nothing is ever fetched. Without it a token is four characters and
    `estimated` stays True. Counts are remembered by the texts' hash. One that is not `exact` never loads the table."""

    def __init__(self, encoding: str = "o200k_base", *, exact: bool = True) -> None:
        self.encoding = encoding
        self._encode: _Encode | None = None
        self._tried = not exact
        self._seen: dict[tuple[int, int], int] = {}

    @property
    def estimated(self) -> bool:
        """Whether counts are characters / 4: there is no table, or it is not loaded yet."""
        return self._encode is None

    def load(self) -> bool:
        """Load the table now (for a thread behind the prompt). Returns whether counts are exact from here on."""
        if not self._tried:
            self._encode, self._tried = _load(self.encoding), True
        return self._encode is not None

    def count(self, text: str) -> int:
        """Tokens of a text. Never raises, whatever the text holds."""
        if not text:
            return 0
        key = (len(text), hash(text))
        known = self._seen.get(key)
        if known is None:
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            known = self._seen[key] = self._measure(text)
        return known

    @property
    def label(self) -> str:
        """The encoding of exact counts; "" while they are estimated, and not worth keeping."""
        return "" if self.estimated else self.encoding

    def remember(self, messages: Sequence[ChatMessage]) -> None:
        """Take in the counts that were made, exactly, when messages were stored; only what is new is looked at."""
        for message in reversed(messages):
            text = message.content if message.sent is None else message.sent
            key = (len(text), hash(text))
            if message.encoding != self.encoding or message.tokens is None or key in self._seen:
                break
            self._seen[key] = message.tokens
            for call in message.tool_calls:
                if call.result is not None and call.tokens is not None:
                    self._seen[(len(call.result), hash(call.result))] = call.tokens

    def count_message(self, message: ApiMessage) -> int:
        """Tokens of one message in the chat shape: content, calls, whatever else it carries, and its frame."""
        # what only the provider can read is estimated by its length: no table counts it
        parts = (message.get(BLOCKS) or {}).get("content", ())
        opaque = sum(_estimate(_as_json(part)) for part in parts if part.get("type") not in ("text", "tool_use"))
        total = PER_MESSAGE + opaque + estimate_token_count(message.get("content"), self.count)
        total += sum(image_tokens(len(image["data"])) for image in message.get(IMAGES) or ())
        for key, value in message.items():
            if key == "tool_calls":
                made = [call.get("function") or {} for call in value or ()]
                texts = (str(one.get(part) or "") for one in made for part in ("name", "arguments"))
                total += PER_CALL * len(made) + sum(map(self.count, texts))
            elif key not in _FRAME and value:
                total += self.count(value if isinstance(value, str) else _as_json(value))
        return total

    def count_messages(self, messages: Iterable[ApiMessage]) -> int:
        """Tokens of a list of messages as one request, without its tools."""
        return PER_REQUEST + sum(self.count_message(message) for message in messages)

    def count_tools(self, specs: Iterable[ToolSpec | Mapping[str, Any]]) -> int:
        """Tokens of the tools' descriptions and schemas."""
        plain = (spec.to_api() if isinstance(spec, ToolSpec) else spec for spec in specs)
        return sum(PER_MESSAGE + self.count(_as_json(spec)) for spec in plain)

    def _measure(self, text: str) -> int:
        if not self.load() or self._encode is None:
            return _estimate(text)
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()  # lone surrogates take the tokeniser's slow path
        total = 0
        for start in range(0, len(text), _PIECE):
            piece = text[start : start + _PIECE]
            try:
                total += len(self._encode(piece))
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # noqa: BLE001  # the tokeniser's panics are no Exception; a count must not end a turn
                total += _estimate(piece)
        return total


def estimate_token_count(content: Any, count_tokens: Callable[[str], int]) -> int:
    """Tokens of a message's content: None, text, or a list of blocks (`{"type": "text", "text": ...}`, `{"type":
    "image", "source": {"data": ...}}`, `{"type": "image_url", "image_url": ...}`; any other counts as its JSON text).
    `count_tokens` counts a text. An image counts by the length of its data, 450 where the data is not at hand."""
    if not content:
        return 0
    if isinstance(content, str):
        return count_tokens(content)
    return sum(_block_tokens(block, count_tokens) for block in content)


def image_tokens(data_length: int) -> int:
    """Tokens of an image whose encoded data has that many characters: `ceil(ceil(sqrt(n)) * 1.5)`."""
    root = isqrt(data_length - 1) + 1 if data_length > 0 else 0
    return (3 * root + 1) // 2


def _block_tokens(block: Any, count_tokens: Callable[[str], int]) -> int:
    if not isinstance(block, Mapping):
        return estimate_token_count(str(block), count_tokens)
    kind = block.get("type")
    if kind == "text":
        return estimate_token_count(str(block.get("text") or ""), count_tokens)
    if kind in ("image", "image_url"):
        data = _image_data(block)
        return MISSING_IMAGE_TOKENS if data is None else image_tokens(len(data))
    if kind == "tool_result":
        return estimate_token_count(block.get("content"), count_tokens)
    return count_tokens(_as_json(block))


def _image_data(block: Mapping[str, Any]) -> str | None:
    source = block.get("source")
    if isinstance(source, Mapping) and isinstance(source.get("data"), str):
        return str(source["data"])
    link = block.get("image_url")
    url = link.get("url") if isinstance(link, Mapping) else link
    if isinstance(url, str) and url.startswith("data:") and "," in url:
        return url.partition(",")[2]
    return None


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _estimate(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _load(encoding: str) -> _Encode | None:
    """The encoding's function; None where its table cannot be used."""
    # reads the environment: this is the variable tiktoken itself will read a moment later
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    if not folder or encoding not in _TABLES:
        return None
    published = f"{_BLOBS}{encoding}.tiktoken".encode()
    try:
        return _encoder(encoding, Path(folder) / hashlib.sha1(published, usedforsecurity=False).hexdigest())
    except OSError:
        return None
    except Exception:  # noqa: BLE001  # whatever is wrong with the table, an estimate will do
        _log.warning("the table of %s cannot be used: tokens are estimated", encoding, exc_info=True)
        return None


@cache
def _encoder(encoding: str, table: Path) -> _Encode | None:
    """None when the table is not whole: tiktoken would delete a damaged one and fetch it again. Raises OSError."""
    if hashlib.sha256(table.read_bytes()).hexdigest() != _TABLES[encoding]:
        return None
    # late: cost time and memory, and only who counts needs them
    import tiktoken  # noqa: PLC0415
    from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS  # noqa: PLC0415

    made = ENCODING_CONSTRUCTORS[encoding]()
    encode = tiktoken.Encoding(**made).encode_ordinary
    made["mergeable_ranks"].clear()  # the encoder has a table of its own: 28 MiB that nobody reads again
    return encode
