"""Counts tokens: exactly if tiktoken's table is on this machine, otherwise estimated by characters."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import isqrt
from pathlib import Path

from swecli.models.api_message import (
    BLOCKS,
    IMAGES,
    KEY,
    NOTES,
    ApiMessage,
    Blocks,
    blocks_of,
    calls_of,
    images_of,
    text_of,
)
from swecli.models.json_value import Json
from swecli.models.message import ChatMessage, ToolSpec

CHARACTERS_PER_TOKEN = 4
MISSING_IMAGE_TOKENS = 450

# A run of a million equal letters stalls or kills the tokeniser: text is encoded in pieces of this length.
_PIECE_LENGTH = 4096
# Tokens that a chat format adds to each message, to each call, and once before the answer.
PER_MESSAGE = 4
_PER_CALL = 8
PER_REQUEST = 3
_MAX_CACHED = 20_000
# Fields that are counted separately, part of the frame, or never sent.
_FRAME = ("role", "content", "tool_calls", "tool_call_id", KEY, BLOCKS, IMAGES, NOTES)

_ENCODINGS_URL = "https://openaipublic.blob.core.windows.net/encodings/"
# Encoding → SHA-256 of its published table.
_TABLE_DIGESTS = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}

_log = logging.getLogger(__name__)

_Encode = Callable[[str], list[int]]


class TokenCounter:
    """Counts tokens of texts and messages for one encoding, with a cache by the texts' hash.

    The table (0.3 s) is loaded lazily, only from the folder `TIKTOKEN_CACHE_DIR` and never from the network. Without
    it, or until `load` is called if `exact` is False, a token is estimated as four characters."""

    def __init__(self, encoding: str = "o200k_base", *, exact: bool = True) -> None:
        self.encoding = encoding
        self.exact = exact
        self._encode: _Encode | None = None
        self._has_tried_table = False
        self._cache: dict[tuple[int, int], int] = {}

    @property
    def estimated(self) -> bool:
        """True while no table is loaded: counts are characters / 4."""
        return self._encode is None

    def load(self) -> bool:
        """Count exactly from now on, if the table can be loaded. Returns whether it is."""
        if not self.exact:
            self.exact = True
            self._cache.clear()
        if not self._has_tried_table:
            self._encode = _load(self.encoding)
            self._has_tried_table = True
        return self._encode is not None

    def count(self, text: str) -> int:
        """Count the tokens of a text. Never raises."""
        if not text:
            return 0
        key = (len(text), hash(text))
        tokens = self._cache.get(key)
        if tokens is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            tokens = self._measure(text)
            self._cache[key] = tokens
        return tokens

    @property
    def label(self) -> str:
        """The encoding of exact counts to store with them; "" while counts are estimated."""
        return "" if self.estimated else self.encoding

    def cache_stored(self, messages: Sequence[ChatMessage]) -> None:
        """Fill the cache with the exact counts stored with messages, from the newest back to the first known one."""
        for message in reversed(messages):
            text = message.sent_text
            key = (len(text), hash(text))
            if message.encoding != self.encoding or message.tokens is None or key in self._cache:
                break
            self._cache[key] = message.tokens
            for call in message.tool_calls:
                if call.result is not None and call.tokens is not None:
                    self._cache[(len(call.result), hash(call.result))] = call.tokens

    def count_message(self, message: ApiMessage) -> int:
        """Count the tokens of one chat message: content, calls, all other fields, and its frame."""
        total = PER_MESSAGE + count_text(message, self.count)
        for image in images_of(message):
            total += _image_tokens(len(image["data"]))
        for call in calls_of(message):
            total += _PER_CALL + self.count(call["function"]["name"])
            total += self.count(call["function"]["arguments"])
        blocks = blocks_of(message)
        if blocks is not None:
            total += _provider_block_tokens(blocks)
        for key, value in message.items():
            if key not in _FRAME and value:
                total += self.count(value if isinstance(value, str) else _to_json(value))
        return total

    def count_messages(self, messages: Iterable[ApiMessage]) -> int:
        """Count the tokens of messages as one request, without tools."""
        return PER_REQUEST + sum(self.count_message(message) for message in messages)

    def count_tools(self, specs: Iterable[ToolSpec | Mapping[str, Json]]) -> int:
        """Count the tokens of the tools' descriptions and schemas."""
        total = 0
        for spec in specs:
            schema = spec.to_api() if isinstance(spec, ToolSpec) else spec
            total += PER_MESSAGE + self.count(_to_json(schema))
        return total

    def _measure(self, text: str) -> int:
        if self.exact:
            self.load()
        if self._encode is None:
            return _estimate(text)
        if not text.isascii():
            # lone surrogates would take the tokeniser's slow path
            text = text.encode("utf-8", "replace").decode()
        total = 0
        for start in range(0, len(text), _PIECE_LENGTH):
            piece = text[start : start + _PIECE_LENGTH]
            try:
                total += len(self._encode(piece))
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # noqa: BLE001  # the tokeniser's panics are not an Exception; a count must not end a turn
                total += _estimate(piece)
        return total


def count_text(message: ApiMessage, count_tokens: Callable[[str], int]) -> int:
    """Count the tokens of a message's content, with its notes; see `estimate_token_count`."""
    content = text_of(message) if message.get(NOTES) else message.get("content")
    return estimate_token_count(content, count_tokens)


def estimate_token_count(content: Json, count_tokens: Callable[[str], int]) -> int:
    """Count the tokens of a message's content: None, text, or a list of blocks (`{"type": "text", "text": ...}`,
    `{"type": "image", "source": {"data": ...}}`, `{"type": "image_url", "image_url": ...}`; any other counts as its
    JSON text). `count_tokens` counts a text. An image counts by the length of its data, 450 without data."""
    if not content:
        return 0
    if isinstance(content, str):
        return count_tokens(content)
    return sum(_block_tokens(block, count_tokens) for block in content)


def _image_tokens(data_length: int) -> int:
    """Return the tokens of an image with `n` characters of encoded data: `ceil(ceil(sqrt(n)) * 1.5)`."""
    root = isqrt(data_length - 1) + 1 if data_length > 0 else 0
    return (3 * root + 1) // 2


def _block_tokens(block: Json, count_tokens: Callable[[str], int]) -> int:
    if not isinstance(block, Mapping):
        return estimate_token_count(str(block), count_tokens)
    kind = block.get("type")
    if kind == "text":
        return estimate_token_count(str(block.get("text") or ""), count_tokens)
    if kind in ("image", "image_url"):
        data = _image_data(block)
        return MISSING_IMAGE_TOKENS if data is None else _image_tokens(len(data))
    if kind == "tool_result":
        return estimate_token_count(block.get("content"), count_tokens)
    return count_tokens(_to_json(block))


def _image_data(block: Mapping[str, Json]) -> str | None:
    source = block.get("source")
    if isinstance(source, Mapping) and isinstance(source.get("data"), str):
        return str(source["data"])
    link = block.get("image_url")
    url = link.get("url") if isinstance(link, Mapping) else link
    if isinstance(url, str) and url.startswith("data:") and "," in url:
        return url.partition(",")[2]
    return None


def _to_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _provider_block_tokens(blocks: Blocks) -> int:
    """Estimate, by its length, what only the provider can decode, such as encrypted reasoning."""
    total = 0
    for block in blocks["content"]:
        if block.get("type") not in ("text", "tool_use"):
            total += _estimate(_to_json(block))
    return total


def _estimate(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _load(encoding: str) -> _Encode | None:
    """Load the encode function; None if its table cannot be used."""
    # reads the environment: the variable that tiktoken itself reads
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    if not folder or encoding not in _TABLE_DIGESTS:
        return None
    published = f"{_ENCODINGS_URL}{encoding}.tiktoken".encode()
    name = hashlib.sha1(published, usedforsecurity=False).hexdigest()
    try:
        return _encoder(encoding, Path(folder) / name)
    except OSError:
        return None
    except Exception:  # noqa: BLE001  # any failure means estimated counts
        _log.warning(
            "cannot use the token table of %s: token counts are estimated", encoding, exc_info=True
        )
        return None


@cache
def _encoder(encoding: str, table: Path) -> _Encode | None:
    """Return None if the table is damaged: tiktoken would delete and download it. Raises OSError."""
    if hashlib.sha256(table.read_bytes()).hexdigest() != _TABLE_DIGESTS[encoding]:
        return None
    # late: slow to import, and needed only for exact counts
    import tiktoken
    from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS

    constructed = ENCODING_CONSTRUCTORS[encoding]()
    encode = tiktoken.Encoding(**constructed).encode_ordinary
    constructed["mergeable_ranks"].clear()  # frees 28 MiB: the encoder has a copy
    return encode
