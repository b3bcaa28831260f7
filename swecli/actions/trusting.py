"""What is asked before a project's files are used as they are: which of them, and what has changed in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from swecli.config.project_files import MCP_SERVERS, read_project_files
from swecli.config.settings import Start
from swecli.config.trust import FolderTrust
from swecli.models.counts import pluralize
from swecli.text import short_path
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """The question whether the user trusts a folder. `files` are all that would be used, `pending` those that are not
    used as they are now."""

    trust: FolderTrust
    files: Mapping[Path, bytes]
    pending: Mapping[Path, bytes]
    has_hooks: bool = False  # of the project, which are approved one by one

    @classmethod
    def about(cls, start: Start) -> TrustQuestion:
        """Read the files of a run's project."""
        # late: completing the names of commands needs no search
        from swecli.tools.hooks.files import may_have_hooks
        from swecli.tools.nested_instructions import find_nested_instructions

        trust = start.read_trust()
        nested = find_nested_instructions(trust.root, start.environ)
        files = read_project_files(start.cwd, nested)
        pending = {
            path: data for path, data in files.items() if trust.judge(path, data) != "approved"
        }
        return cls(trust, files, pending, may_have_hooks(start))

    @property
    def settled(self) -> str:
        """A line on why there is nothing to ask, "" if there is."""
        if not self.trust.is_trusted or self.pending:
            return ""
        count = pluralize(len(self.files), "file")
        return f"{short_path(self.trust.root)} is already trusted, with {count}"

    @property
    def text(self) -> str:
        """The question."""
        if not self.pending:
            return f"Trust {short_path(self.trust.root)}? It holds no files for swecli yet."
        count = pluralize(len(self.pending), "file")
        now = "as it is now" if len(self.pending) == 1 else "as they are now"
        return f"Use {count} of {short_path(self.trust.root)} {now}?"

    @property
    def agreed(self) -> list[str]:
        """Lines on what a yes has changed."""
        lines = [
            f"{short_path(self.trust.root)} is trusted: its instructions, skills and commands apply from now on"
        ]
        if any(path.name == "config.toml" for path in self.pending):
            lines.append("its settings apply from the next start")
        if self.has_hooks:
            lines.append("/hooks lists its hooks, and /hooks approve shows what they run")
        if any(path.name == MCP_SERVERS for path in self.pending):
            lines.append("/mcp lists its MCP servers, and /mcp approve NAME shows the tools of one")
        return lines

    def state_of(self, path: Path) -> str:
        """Return whether a pending file is "new" or "changed"."""
        return "changed" if self.trust.judge(path, self.pending[path]) == "changed" else "new"

    def text_before(self, path: Path) -> str | None:
        """Return the text of a file that was trusted, None if none was."""
        approved = self.trust.approved.get(self.trust.name_of(path))
        return approved.text if approved else None
