"""Read a file in Claude Code's stream format with its publisher's SDK and print the types of the messages."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from claude_code_sdk import ClaudeCodeOptions, Transport, query


class _Lines(Transport):  # type: ignore[misc]  # the SDK is installed beside, if at all
    """A transport that yields the lines of a file in place of a process's output."""

    async def connect(self) -> None:
        pass

    async def write(self, data: str) -> None:
        pass

    async def _lines(self) -> AsyncIterator[dict[str, Any]]:
        for line in Path(sys.argv[1]).read_text().splitlines():
            yield json.loads(line)

    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        return self._lines()

    async def close(self) -> None:
        pass

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        pass


async def _read() -> None:
    async for message in query(prompt="x", options=ClaudeCodeOptions(), transport=_Lines()):
        print(type(message).__name__)


if __name__ == "__main__":
    asyncio.run(_read())
