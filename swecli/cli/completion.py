"""`swecli completion`: shell scripts for completion, and the words they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from swecli.cli.actions import offer
from swecli.cli.flags import SUBCOMMANDS, Parser
from swecli.config.settings import SETTINGS
from swecli.models.action import (
    SESSION_NAME,
    Action,
    ActionResult,
    Family,
    Invocation,
    Need,
    Words,
)
from swecli.models.errors import SwecliError
from swecli.models.mode import MODES

_MAX_SESSIONS = 50  # completions: the newest
_SCRIPTS = {
    "bash": r"""_swecli() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)" -- "$2"))
}
complete -o default -F _swecli swecli
""",
    "zsh": r"""#compdef swecli
_swecli() {
  local line
  local -a found
  for line in "${(@f)$(${words[1]} completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( $#found )); then _describe swecli found; else _files; fi
}
compdef _swecli swecli
""",
    "fish": r"""function __swecli_words
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] completion words -- $words[2..-1] 2>/dev/null)
  if count $found >/dev/null
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c swecli -f -a '(__swecli_words)'
""",
}


@Action(Need.NOTHING, Words("[WORD]", shell_name="WORD"), in_session=False)
def words(_: None, invocation: Invocation) -> ActionResult:
    """List the completions of the last word, for these scripts"""
    completions = list(_complete(list(invocation.words) or [""]))
    lines = tuple(f"{word}  {description}" for word, description in completions)
    text = "".join(f"{word}\t{description}\n" for word, description in completions)
    return ActionResult(dict(completions), lines, exact=text)


def _declare_script(shell: str) -> Action:
    """Return the action that prints the completion script for a shell."""
    text = _SCRIPTS[shell]
    result = ActionResult({"script": text}, tuple(text.splitlines()), exact=text)
    return Action(
        Need.NOTHING,
        in_session=False,
        name=shell,
        help=f"Print the completion script for {shell}",
        run=lambda _, invocation: result,
    )


offer(
    Family(
        "completion",
        "Completion of swecli's own words in a shell: `source <(swecli completion bash)` in ~/.bashrc, "
        "zsh alike; for fish, `swecli completion fish | source`",
        (*map(_declare_script, _SCRIPTS), words),
        default="words",
    )
)


def _complete(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield completions of the last word after `swecli`, with descriptions; none where a file or other value fits."""
    *before, prefix = words
    fitting = _after(before, is_option=prefix.startswith("-"))
    return ((word, text) for word, text in fitting if word.startswith(prefix))


def _after(before: list[str], *, is_option: bool) -> Iterator[tuple[str, str]]:
    """Yield the words that fit after others, options or anything else."""
    parser = _parser_for(before)
    flag = parser._option_string_actions.get(before[-1]) if before else None
    if flag is not None and flag.nargs != 0:
        yield from _values_of(flag)
        return
    if is_option:
        yield from _options_of(parser)
        return
    if not before:
        yield from ((name, "") for name in SUBCOMMANDS)
    yield from _settings_after(before)
    for name, action_parser in _action_parsers(parser).items():
        yield name, action_parser.description or ""
    for argument in parser._actions:
        if argument.metavar == SESSION_NAME and not argument.option_strings:
            yield from _sessions()


def _parser_for(before: list[str]) -> argparse.ArgumentParser:
    """Return the parser of the command that the words name, as far as they do."""
    parser: argparse.ArgumentParser = Parser.for_run()
    if before and before[0] in SUBCOMMANDS:
        parser = Parser.for_subcommand(before[0])
    for word in before:
        parser = _action_parsers(parser).get(word, parser)
    return parser


def _options_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for argument in parser._actions:
        for name in argument.option_strings:
            if name.startswith("--"):
                yield name, " ".join((argument.help or "").replace("%%", "%").split())


def _settings_after(before: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the settings, and the values of one, for `swecli config`."""
    match before:
        case ["config", "get" | "set"]:
            yield from ((name, setting.doc) for name, setting in SETTINGS.items())
        case ["config", "set", name] if name in SETTINGS:
            yield from ((value, "") for value in SETTINGS[name].choices)


def _values_of(flag: argparse.Action) -> Iterator[tuple[str, str]]:
    """Yield the values of a flag, none if they are not known here, as of one that takes a file."""
    if flag.metavar == SESSION_NAME:
        yield from _sessions()
    yield from ((value, "") for value in _words_of(flag))


def _words_of(flag: argparse.Action) -> list[str]:
    """Return the words that a flag takes, [] if it takes others."""
    if flag.dest == "mode":
        return list(MODES)
    if flag.dest == "model":
        # late: the other flags need no services
        from swecli.actions.models import known_models

        return ["demo", *known_models()]
    if isinstance(flag.metavar, str) and flag.metavar.islower() and "|" in flag.metavar:
        return flag.metavar.split("|")
    return [str(choice) for choice in flag.choices or ()]


def _sessions() -> Iterator[tuple[str, str]]:
    """Yield the ids of the newest sessions, with their titles; none if there is no database that can be read."""
    # late: only where a session fits
    from swecli.cli.subcommands import open_sessions

    try:
        with open_sessions(Parser.for_run().parse_known_args([])[0]) as sessions:
            newest = sessions.catalog.list_sessions(None, _MAX_SESSIONS)
    except SwecliError:
        return
    for session in newest:
        yield session.id, session.shown_title


def _action_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a subcommand's actions by name, {} if it has none."""
    for argument in parser._actions:
        if isinstance(argument, argparse._SubParsersAction):
            return argument.choices
    return {}
