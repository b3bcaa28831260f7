"""`swecli -p`: turns without a screen, from the command line or a pipe to stdout."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.flags import SUBCOMMANDS, Parser, actions_named
from swecli.context.tokens import TokenCounter
from swecli.headless.first_request import load_http, send_first_request
from swecli.headless.prompts import Prompt, read_piped, read_prompts
from swecli.headless.runner import refuse, refuse_unpriced, run_prompts
from swecli.llm.registry import make_model
from swecli.models.errors import BadInput, UsageError
from swecli.store.session_manager import SessionManager

if TYPE_CHECKING:
    from swecli.actions.goal import Goal
    from swecli.config.settings import Settings, Start
    from swecli.headless.answer_schema import AnswerSchema
    from swecli.tools.surroundings import Surroundings

_MAX_QUOTED = 80  # characters of arguments in a hint


async def run_print_mode(start: Start, args: argparse.Namespace, surroundings: Surroundings) -> int:
    """Run one turn, or one for each line of stdin, and return the exit code. `surroundings` are being read. Raises
    SwecliError."""
    schema = _read_schema(args.json_schema)
    is_stream = args.input_format == "stream-json"
    prompt = _read_prompt(start, is_stream=is_stream, is_needed=not args.goal)
    model = make_model(start.choice.name, start.settings, start.environ)
    refuse_unpriced(model, start.settings)
    counter = TokenCounter(model.profile.encoding, exact=False)
    load_http(model)
    sessions = SessionManager.open(start.database)
    with closing(sessions.database):
        sessions.is_attended = False
        first_turn = None
        if not is_stream and schema is None and not args.goal:
            first_turn = await send_first_request(
                start, prompt, model, counter, sessions, surroundings
            )
        # late: the first request is already on its way while the tools and the agent are imported
        from swecli.app import build_runtime, settle
        from swecli.headless.writers.base import make_writer

        runtime = build_runtime(
            start, refuse, model, sessions=sessions, surroundings=surroundings, counter=counter
        )
        settle()
        writer = make_writer(args.output_format or "text", sys.stdout, sys.stderr)
        with closing(runtime):
            for line in runtime.opening_lines():
                writer.note(f"swecli: {line}")
            prompts = read_prompts(prompt, 0 if is_stream else None, check=refuse_command)
            goal = _read_goal(args.goal, prompt, runtime.settings)
            return await run_prompts(runtime, prompts, writer, first_turn, schema, goal)


def _read_schema(file: str | None) -> AnswerSchema | None:
    if file is None:
        return None
    # late: most runs name no schema
    from swecli.headless.answer_schema import AnswerSchema

    return AnswerSchema.read(Path(file))


def _read_goal(command: str | None, prompt: Prompt, settings: Settings) -> Goal | None:
    if command is None:
        return None
    # late: most runs have no goal
    from swecli.actions.goal import Goal

    line = f"/goal {command}"
    return Goal.of(command, line, settings, prompt=prompt.text, attachment=prompt.tagged_attachment)


def _read_prompt(start: Start, *, is_stream: bool, is_needed: bool = True) -> Prompt:
    """Combine the prompt argument and piped text; the lines of a stream are read later. Unless it `is_needed`, both may
    be missing. Raises UsageError, BadInput."""
    if (
        sys.__stdout__ is None
    ):  # as in a shell behind `>&-`; what was opened in its place leads nowhere
        raise BadInput("There is no stdout: the answer would be lost.", "Name a file: > answer.txt")
    is_terminal = os.isatty(0)
    piped = ""
    prompt_text = start.prompt.strip()
    if is_stream and is_terminal:
        raise UsageError(
            "--input-format stream-json reads from a pipe.", "Pipe one JSON object a line in."
        )
    if not is_stream and not is_terminal:
        piped = read_piped(
            0, lambda line: print(line, file=sys.stderr), is_needed=is_needed and not prompt_text
        )
    if is_needed and not (is_stream or prompt_text or piped):
        raise BadInput("There is no prompt.", 'Give one: swecli -p "list files", or pipe it in.')
    prompt = Prompt(start.prompt, piped) if prompt_text else Prompt(piped)
    refuse_command(prompt.text)
    return prompt


def refuse_command(text: str) -> None:
    """Raise UsageError if a prompt is a slash command; its hint is the shell command to use instead."""
    if not text.lstrip().startswith("/"):
        return
    # late: few prompts begin like a command
    from swecli.models.typed_line import parse_line

    line = parse_line(text)
    if line.kind != "command":
        return
    hint = "It works in a terminal session; see also `swecli --help`."
    words = line.text.split()
    if command := _shell_command(line.name.lower()):
        text = " ".join([command, *words])
        hint = f"In a shell: swecli {text[:_MAX_QUOTED]}"
        if not _is_offered(command, words):
            hint = f"It works in a terminal session; see also `swecli {command} --help`."
    raise UsageError(f"/{line.name} is a command, not a prompt; nothing was sent to a model.", hint)


def _is_offered(command: str, words: Sequence[str]) -> bool:
    """Return whether the shell has the action that the first word names; some are there in a session only."""
    if command not in SUBCOMMANDS or not words:
        return True
    names = Parser.for_subcommand(command).action_names
    return not names or words[0] in names


def _shell_command(name: str) -> str:
    """Return the subcommand of that name, or the only action of that name; "" if there is none."""
    if name in SUBCOMMANDS:
        return name
    actions = actions_named(name)
    return actions[0] if len(actions) == 1 else ""
