r"""The commands of a project, in `.agents/commands` or `.claude/commands`, and of plug-ins: Markdown templates, sent as
queries.

`$ARGUMENTS` is replaced by the arguments, `$1` to `$9` by its words; without these the arguments are appended. `\$1` is
`$1`, and so is `$1` in code of a text that has `$ARGUMENTS`. The front matter has `description` and `argument-hint`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from swecli.config.front_matter import front_matter
from swecli.config.paths import Paths
from swecli.config.plugin_places import fill_in, may_have_plugins
from swecli.config.project_files import find_command_files, is_inside
from swecli.config.trust import FolderTrust
from swecli.models.errors import BadInput
from swecli.regular_files import read_regular
from swecli.text import decode_text
from swecli.values import dataclass

_MAX_LENGTH = 32_768  # characters
_PLACEHOLDER = re.compile(r"(?<!\\)\$(ARGUMENTS|[1-9])(?!\w|[.,]\d)")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)  # a span or a block
_ESCAPED = re.compile(r"\\(\$(?:ARGUMENTS|[1-9]))")


@dataclass(frozen=True, slots=True)
class ProjectCommand:
    """A template of a project. `hint` shows its arguments, "" for none."""

    name: str
    help: str
    hint: str
    path: Path
    body: str

    def expand(self, args: str) -> str:
        """Return the text with the arguments. Raises BadInput if it is empty or too long."""
        if not self.body:
            raise BadInput(f"{self.path} has no text to send.")
        if len(self.body) > _MAX_LENGTH:
            raise BadInput(f"{self.path} is longer than {_MAX_LENGTH:,} characters.")
        try:
            words = shlex.split(args)
        except ValueError:
            words = args.split()
        values = {str(number): word for number, word in enumerate(words[:9], 1)}
        values["ARGUMENTS"] = args
        # where the text names its arguments, `$1` in code is what a shell or awk has there
        code = _CODE.finditer(self.body) if "$ARGUMENTS" in self.body else ()
        ranges = [range(*match.span()) for match in code]

        def fill(match: re.Match[str]) -> str:
            is_code = match[1] != "ARGUMENTS" and any(
                match.start() in code_range for code_range in ranges
            )
            return match[0] if is_code else values.get(match[1], "")

        expanded = _PLACEHOLDER.sub(fill, self.body)
        if args and expanded == self.body:
            expanded = f"{self.body}\n\n{args}"
        return _ESCAPED.sub(r"\1", expanded)


def find_project_commands(trust: FolderTrust) -> list[ProjectCommand]:
    """Return the trusted commands of a project's folders, the first of each name. Links that lead out are skipped."""
    commands: dict[str, ProjectCommand] = {}
    for path in find_command_files(trust.root):
        name = path.stem.lower()
        if name in commands or not re.fullmatch(r"[\w-]+", name) or not is_inside(path, trust.root):
            continue
        try:
            data = read_regular(path)
        except OSError:
            continue
        if not trust.objection(path, data):
            commands[name] = _read_command(name, path, decode_text(data))
    return list(commands.values())


def find_plugin_commands(paths: Paths) -> Iterator[tuple[str, ProjectCommand]]:
    """Yield the commands of the user's plug-ins, each with the plug-in's name; none that cannot be read."""
    if not may_have_plugins(paths):
        return
    # late: few have plug-ins
    from swecli.config.plugins import read_plugins

    for plugin in read_plugins(paths).plugins:
        for path in plugin.folder.commands:
            with suppress(OSError):
                text = fill_in(decode_text(read_regular(path)), plugin.variables)
                yield plugin.name, _read_command(path.stem.lower(), path, text)


def _read_command(name: str, path: Path, text: str) -> ProjectCommand:
    """Return the command that sends the body of this text, which is that of `path`."""
    fields, body = front_matter(text)
    help = fields.get("description") or f"Send {'/'.join(path.parts[-3:])}"
    return ProjectCommand(name, help, fields.get("argument-hint", ""), path, body.strip())
