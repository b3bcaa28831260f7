"""The tools there are, by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from swecli.discovery import by_name, declared_in
from swecli.models.message import ToolSpec
from swecli.tools import builtin
from swecli.tools.base import Tool


class ToolRegistry:
    """A set of tools. Raises NameClash when two want one name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = by_name([(tool.name, tool) for tool in tools])

    @classmethod
    def discover(cls) -> ToolRegistry:
        """The tools that ship with the product and those of installed packages (entry point group swecli.tools)."""
        return cls(declared_in(builtin, Tool, "swecli.tools"))

    def __iter__(self) -> Iterator[Tool]:
        """All tools, sorted by name."""
        return (self._tools[name] for name in self.names())

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def names(self) -> list[str]:
        return sorted(self._tools)

    def nearest(self, name: str) -> list[str]:
        """Names that look like this one, best first."""
        return difflib.get_close_matches(name.lower(), self._tools, n=3, cutoff=0.5)

    def specs(self) -> list[ToolSpec]:
        """What the model reads of them, sorted by name: the same bytes on every run."""
        return [tool.spec() for tool in self]
