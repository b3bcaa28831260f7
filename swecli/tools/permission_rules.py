"""One permission rule, as it is written in settings or saved after a question: `run(git status*)`."""

from __future__ import annotations

import re
from pathlib import Path

from swecli.models.errors import ConfigError
from swecli.tools.base import Tool, ToolPlan
from swecli.tools.limits import one_line
from swecli.tools.path_rules import ABSOLUTE
from swecli.values import dataclass

# The kind of rules for commands that run outside the sandbox; those of the kind `run` let them run in it.
OUTSIDE = "outside"
# The kind of rules for tools of MCP servers.
SERVER_TOOLS = "mcp"
_OF_COMMANDS = ("run", OUTSIDE)
_RULE = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)

# So Claude Code names a server, or tools of one.
_OF_SERVER = re.compile(r"\s*mcp__([\w-]+?)(?:__([\w*-]+))?\s*")

# Claude Code's names of permission kinds, and ours.
_FOREIGN = {
    "Bash": "run",
    "Read": "read",
    "Edit": "edit",
    "Write": "edit",
    "MultiEdit": "edit",
    "WebFetch": "fetch",
}
_EVERYTHING = (None, "*", ":*")  # patterns of that syntax that match everything


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A rule: what it is about, and which subjects of that."""

    kind: str  # a permission kind or a tool's name
    pattern: str | None  # None matches everything
    text: str  # the rule as written, possibly in the syntax of Claude Code

    @classmethod
    def parse(cls, text: str) -> PermissionRule:
        """Parse a rule. Raises ConfigError."""
        if of_server := _OF_SERVER.fullmatch(text):
            server, tools = of_server.groups("*")
            return cls(SERVER_TOOLS, f"{server}__{tools}", text.strip())
        match = _RULE.fullmatch(text)
        if match is None:
            raise _invalid(text)
        kind, pattern = match.groups()
        if pattern == "":
            raise _invalid(text)
        # a path pattern that begins with ! would match everything else, which is easily misread
        if pattern is not None and pattern.startswith("!") and kind not in _OF_COMMANDS:
            raise _invalid(text)
        if kind in _FOREIGN:
            kind, pattern = _FOREIGN[kind], _translate(kind, pattern)
        if kind not in _OF_COMMANDS and pattern is not None and re.match(r"~(?:/|\Z)", pattern):
            pattern = f"/{Path.home()}{pattern[1:]}"
        return cls(kind, pattern, text.strip())

    @property
    def is_absolute(self) -> bool:
        """Whether it is for absolute paths only."""
        return self.pattern is not None and self.pattern.startswith(ABSOLUTE)

    def is_for(self, tool: Tool) -> bool:
        """Return whether the rule names the tool or its kind."""
        return self.kind in (tool.name, tool.kind.name)

    def applies(self, tool: Tool, plan: ToolPlan) -> bool:
        """Return whether the rule, as a deny or ask rule, applies to the call."""
        is_for_outside = plan.outside != "" and self.kind == OUTSIDE
        if not self.is_for(tool) and not is_for_outside:
            return False
        if not plan.subject:
            # without a subject (the to-do list) only a tool's name matches, or a whole kind that is not read-only
            is_for_all = self.kind == tool.name or not tool.kind.is_read_only
            return self.pattern is None and is_for_all
        return self.pattern is None or tool.kind.touches(self.pattern, plan.subject)

    def is_exact(self, tool: Tool, plan: ToolPlan) -> bool:
        """Return whether the rule matches this subject and no other."""
        if self.pattern is None or not plan.subject:
            return False
        return self.is_for(tool) and tool.kind.exact(self.pattern, plan.subject)


def _invalid(text: str) -> ConfigError:
    return ConfigError(
        f"Invalid permission rule {one_line(text)!r}.",
        "Write it like run(git status*), edit(src/**), read(docs/**) or run.",
    )


def _translate(foreign: str, pattern: str | None) -> str | None:
    """Return the pattern of a rule in Claude Code's syntax in ours. Raises ConfigError for one that would mean
    something else here."""
    if pattern in _EVERYTHING:
        return None
    assert pattern is not None
    kind = _FOREIGN[foreign]
    if kind == "run":
        words = pattern.removesuffix(":*")
        hint = "`:*` is only valid at the end: write run(git push *), with * for any text."
        if ":*" not in words:
            plain = re.sub(r"[?\[]", r"[\g<0>]", words)  # plain characters in that syntax
            return f"{plain} *" if pattern.endswith(":*") else plain
    elif kind == "fetch":
        hint = "It names no host: write fetch(docs.python.org)."
        if pattern.startswith("domain:"):
            return pattern.removeprefix("domain:")
    else:
        hint = f"Paths are relative to the working folder: write {kind}(src/**), or read(//usr/lib/**) for others."
        if pattern.startswith((ABSOLUTE, "~/")):
            return pattern
        if not pattern.startswith(("/", "~", "!", "../")):
            return f"/{pattern[2:]}" if pattern.startswith("./") else pattern
    raise ConfigError(f"Ambiguous permission rule {one_line(f'{foreign}({pattern})')!r}.", hint)
