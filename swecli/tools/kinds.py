"""The permission kinds of the tools that come with the product: read and edit by path, run by command.

A tool may declare a kind of its own in its own file.
"""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.message import MODES
from swecli.tools import globs
from swecli.tools.base import PermissionKind, ToolContext
from swecli.tools.commands import rules
from swecli.tools.processes import child_environment


class _ByPath(PermissionKind):
    """Patterns are those of .gitignore; subjects are paths relative to the workspace."""

    def touches(self, pattern: str, subject: str) -> bool:
        return globs.path_matches(pattern, subject)

    def exact(self, pattern: str, subject: str) -> bool:
        return pattern in (subject, self.escape(subject))

    def escape(self, subject: str) -> str:
        return globs.escaped(subject)


class _ByCommand(PermissionKind):
    """Subjects are commands as a shell takes them: allowed as far as they are seen through, touched anywhere."""

    def objection(self, patterns: Sequence[str], subject: str, ctx: ToolContext) -> str | None:
        return rules.objection(subject, ctx.root, child_environment(ctx.environ), patterns) or None

    def touches(self, pattern: str, subject: str) -> bool:
        return rules.touches(pattern, subject)

    def exact(self, pattern: str, subject: str) -> bool:
        return rules.exactly(pattern, subject)

    def suggest(self, subject: str, ctx: ToolContext) -> str:
        return rules.suggested(subject, ctx.root, child_environment(ctx.environ))


READ = _ByPath("read", "Allow this?", "runs unasked", frozenset(MODES))
EDIT = _ByPath("edit", "Make this change?", "asks before it changes a file", frozenset({"edits", "auto"}))
RUN = _ByCommand("run", "Run this?", "asks before it runs")
