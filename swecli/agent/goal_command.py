"""The command of a goal: whether it can be one, and runs of it, under the same rules as every command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from swecli.agent.agent import Agent
from swecli.models.approval import Ask, AskRequest, Decision
from swecli.models.errors import UsageError
from swecli.models.message import ToolCall, ToolResult
from swecli.tools.base import Progress
from swecli.tools.builtin.run_command import run_command
from swecli.tools.commands.syntax import Word, read_command
from swecli.tools.environment import child_environment
from swecli.tools.execute import execute
from swecli.tools.limits import TIMEOUT_CODE, HeadTail, one_line, strip_terminal_codes
from swecli.tools.processes import run_group
from swecli.tools.sandbox import looks_denied
from swecli.tools.shell import shell_program
from swecli.values import dataclass

_EXAMPLE = "A goal is a command that ends with exit code 0 when it is met: /goal pytest -q"
_TEXT_HINT = f"{_EXAMPLE}. What no command can tell, ask for in a message."
_LOOK_UP_SECONDS = (
    5.0  # a shell answers at once; one that reads a slow start file is not waited for
)
_MAX_WORD = 40  # characters of a word in an error


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A run of the command. `text` is its result for the model, `line` the last line of what it printed, or why it was
    stopped. `refusal` says why it did not run, "" if it did."""

    exit_code: int = 0
    text: str = ""
    line: str = ""
    refusal: str = ""
    is_confined: bool = False  # what it printed may come of the sandbox
    has_flapped: bool = False  # it failed, and had passed at once before

    @property
    def passed(self) -> bool:
        """Whether the goal is met by it."""
        return not self.refusal and self.exit_code == 0


async def require_command(text: str, root: Path, environ: Mapping[str, str] | None) -> None:
    """Raise UsageError for a goal that is no command, such as a sentence."""
    if not text.strip():
        raise UsageError("The goal is empty.", _EXAMPLE)
    line = read_command(text)
    if not line.is_parsed:
        raise UsageError("The goal is not a command that a shell can read.", _TEXT_HINT)
    if not line.commands:  # a comment, or only a test in brackets
        if "[" in text:
            return
        raise UsageError("The goal has no command.", _EXAMPLE)
    program = line.commands[0].words[0]
    if program.is_known and not await _exists(program, root, environ):
        name = one_line(program.text, _MAX_WORD)
        raise UsageError(f"The goal is no command: there is no program {name!r}.", _TEXT_HINT)


async def _exists(program: Word, root: Path, environ: Mapping[str, str] | None) -> bool:
    """Return whether the shell that runs commands knows a program, or has it built in."""
    shell = shell_program()
    end = await run_group(
        [shell, "-c", 'command -v "$1"', shell, program.text],
        cwd=root,
        env=child_environment(environ),
        timeout=_LOOK_UP_SECONDS,
        on_output=lambda _: None,
    )
    return end.code == 0


@dataclass(slots=True)
class GoalCommand:
    """A command line that the user set as a goal. That he did is the approval that a mode would ask for; what a rule or
    a guard asks about, he is asked once. `ask` asks him."""

    agent: Agent
    line: str
    ask: Ask
    _answers: dict[str, Decision] = field(default_factory=dict)  # by the reason of the question
    _runs: int = 0

    async def check(self) -> CommandRun:
        """Run the command, and once more if it passes: one that passes and fails at random would end the goal by
        chance. Returns the last run."""
        first = await self.run()
        if not first.passed:
            return first
        second = await self.run()
        return replace(second, has_flapped=not second.passed)

    async def run(self) -> CommandRun:
        """Run the command in the workspace."""
        agent = self.agent
        self._runs += 1
        parameters = {"command": self.line, "access": "write"}
        call = ToolCall(f"goal-{self._runs}", run_command.name, parameters)
        limit = agent.result_limit()
        output = HeadTail()
        context = replace(agent.ctx, progress=Progress(output=output))
        result, _ = await execute(
            call,
            agent.tools,
            context,
            agent.permissions,
            self._decide,
            hooks=agent.toolkit.hooks,
        )
        if result.denied or result.exit_code is None:
            return CommandRun(refusal=call.reason or one_line(result.for_model))
        sandbox = agent.ctx.commands.sandbox
        is_confined = sandbox is not None and sandbox.is_active
        return _describe(result, output.text(), limit, is_confined=is_confined)

    async def _decide(self, request: AskRequest) -> Decision:
        is_strict = any(rule.list != "allow" for rule in self.agent.permissions.invalid)
        if not request.remedy and not is_strict:  # only the mode asks
            return Decision(True)
        answer = self._answers.get(request.why)
        if answer is None:
            answer = await self.ask(request)
            self._answers[request.why] = answer
        return answer


def _describe(result: ToolResult, output: str, limit: int, *, is_confined: bool) -> CommandRun:
    """Return what became of a command that printed `output`, with at most `limit` characters for the model."""
    code = result.exit_code or 0
    text = HeadTail(limit * 2 // 3, limit // 3)
    text.add(result.for_model)
    printed = strip_terminal_codes(output)
    lines = [line for line in printed.splitlines() if any(map(str.isalnum, line))]
    line = lines[-1] if lines else f"exit code {code}"
    if code == TIMEOUT_CODE:
        line = result.for_model.partition("\n")[0]
    return CommandRun(
        code,
        text.text(),
        one_line(line),
        is_confined=is_confined and code != 0 and looks_denied(printed),
    )
