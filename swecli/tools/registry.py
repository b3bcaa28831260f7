"""The tools of a run by name. Their files, and pydantic with them, are loaded when a tool is first looked at: what the
model is told of the built-in ones is bundled, so a turn that calls none needs none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from swecli.discovery import find_declared, index_by_name
from swecli.models.message import ToolSpec
from swecli.tools import builtin
from swecli.tools.offers import bundled_specs

if TYPE_CHECKING:
    from swecli.tools.base import Tool


class MoreTools(Protocol):
    """Tools that come and go during a run."""

    def specs(self) -> list[ToolSpec]: ...

    def tools(self) -> dict[str, Tool]: ...


class ToolRegistry(Mapping[str, "Tool"]):
    """Tools by name, sorted."""

    def __init__(self, tools: Iterable[Tool] | None = None, more: MoreTools | None = None) -> None:
        """None: the built-in tools and those of installed packages, which are loaded later. Raises NameClash if two of
        the `tools` have the same name."""
        self._more = more
        self._tools = None if tools is None else _sort(tools)

    @classmethod
    def discover(cls, more: MoreTools | None = None) -> ToolRegistry:
        """Return the built-in tools and those of installed packages (entry point group `swecli.tools`), and `more`."""
        return cls(more=more)

    def load(self) -> dict[str, Tool]:
        """Load the tools if they are not, and return them. Raises NameClash."""
        if self._tools is None:
            # late: a turn without calls needs none
            from swecli.tools.base import Tool

            self._tools = _sort(find_declared(builtin, Tool, "swecli.tools"))
        return self._tools

    def specs(self) -> list[ToolSpec]:
        """Return the specifications, sorted by name: the same bytes in every run, whether the tools are loaded or
        not."""
        bundled = bundled_specs() if self._tools is None else None
        specs = bundled or [tool.spec() for tool in self.load().values()]
        return with_more(specs, self._more)

    def __getitem__(self, name: str) -> Tool:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Tool]:
        if self._more is None:
            return self.load()
        return {**self._more.tools(), **self.load()}


def with_more(specs: list[ToolSpec], more: MoreTools | None) -> list[ToolSpec]:
    """Return specifications with those of more tools, sorted by name."""
    added = more.specs() if more is not None else []
    return sorted([*specs, *added], key=lambda spec: spec.name) if added else specs


def _sort(tools: Iterable[Tool]) -> dict[str, Tool]:
    return dict(sorted(index_by_name([(tool.name, tool) for tool in tools]).items()))
