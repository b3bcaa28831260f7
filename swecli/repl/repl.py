"""The REPL: show a banner and the prompt first, load the rest in the background, and run the submitted lines."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from swecli import __version__
from swecli.config.own_command import own_command
from swecli.models.counts import pluralize
from swecli.models.errors import SwecliError
from swecli.repl.background import CLOSE_TIMEOUT, Background, run_in_thread
from swecli.repl.dispatch import Dispatcher, find_excess
from swecli.repl.footer import Footer
from swecli.repl.input.dumb_prompt import TERMS_WITHOUT_CURSOR, DumbPrompt
from swecli.repl.input.prompt import PromptLine
from swecli.repl.key_map import KeyMap
from swecli.repl.line_queue import LineQueue
from swecli.repl.program import Program
from swecli.repl.startup import Build, Startup
from swecli.repl.status_command import StatusCommand
from swecli.text import one_line, short_path

if TYPE_CHECKING:
    from swecli.config.settings import Start
    from swecli.models.events import Event
    from swecli.models.session import Session

_MAX_SESSIONS = 1_000  # among which a title is looked up
# seconds until a thread that imports gives way to a key; Python's default is 0.005
_SWITCH_INTERVAL = 0.001


class REPL(Program):
    """One interactive run. `keyboard` and `output` replace the terminal, `build` replaces `build_runtime`. See
    `Program` for its interface."""

    def __init__(
        self,
        start: Start,
        keyboard: Input | None = None,
        output: Output | None = None,
        build: Build | None = None,
    ) -> None:
        self.start = start
        self._code = 0
        self._loading: asyncio.Task[None] | None = None
        self._job_watcher: asyncio.Task[None] | None = None
        settings = start.settings
        self.footer = Footer(
            start.choice.name,
            settings.mode,
            str(settings.window),
            busy="starting",
            folder=start.cwd,
            template=settings.status_line,
            shows_price=settings.next_price,
        )
        if settings.status_command:
            self.footer.command = StatusCommand(
                settings.status_command,
                start.cwd,
                start.environ,
                on_change=lambda: self.prompt.redraw(),
                on_failure=self._report_status_command,
            )
        self._started_in = _current_folder()
        self._background = Background(self)
        self._startup = Startup(start, build)
        first_lines = ["/sessions"] if start.pick else []
        if start.asks_for_model:
            first_lines.append("/connect")
        if start.prompt:
            first_lines.append(start.prompt)
        self.queue = LineQueue(first_lines)
        self.prompt: PromptLine | DumbPrompt
        # a terminal without a type cannot move its cursor
        if settings.plain or start.environ.get("TERM", "") in TERMS_WITHOUT_CURSOR:
            self.prompt = DumbPrompt(self, start)
        else:
            self.prompt = PromptLine(self, start, self._startup, keyboard, output)
        self._dispatcher = Dispatcher(self, self.prompt, self._startup, self._background)

    async def run(self) -> int:
        """Read and run lines until the user quits. Returns the exit code."""
        loop = asyncio.get_running_loop()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        loop.set_exception_handler(
            lambda _, context: self.report(context.get("exception") or context["message"])
        )
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.quit, 128 + number)
        width, _ = self.prompt.size
        self.prompt.write(_banner(self.start, self.prompt.keys, self.prompt.color, width))
        working = loop.create_task(self._dispatcher.run())
        try:
            await self.prompt.run()
        except SwecliError as error:  # loading failed
            self.report(error)
            self._code = error.exit_code
        except OSError:
            if not self._code:  # else the terminal was closed, which ended the program
                raise
        finally:
            working.cancel()
            await asyncio.wait([working])
            await self._close()
        return self._code

    async def _close(self) -> None:
        await self._dispatcher.close()
        if self.footer.command is not None:
            await self.footer.command.close()
        await self._background.cancel(timeout=CLOSE_TIMEOUT)
        if self._job_watcher is not None:
            self._job_watcher.cancel()
        if self._loading is not None:  # it would open the database after it was closed here
            self._loading.cancel()
            await asyncio.wait([self._loading])
        if not self._startup.is_loaded:
            self._startup.close()
        else:
            if self.agent.toolkit.hooks is not None:
                await self.agent.toolkit.hooks.end_session("prompt_input_exit")
            ended_jobs = await self.agent.ctx.commands.jobs.close()
            session = self.session_manager.current_session
            farewell = self._farewell(session) if session is not None else ""
            self._startup.close()
            with suppress(OSError):  # the terminal may be closed
                if ended_jobs:
                    self.prompt.write(f"{ended_jobs}\n")
                if not self._code and session is not None and session.interactions:
                    self.prompt.write(f"{farewell}\n")

    def _farewell(self, session: Session) -> str:
        """Return what to do next: continue the session, from the folder that the program was started in, or start in a
        project of one's own after the tutorial, whose database is left behind."""
        is_tutorial = bool(self.start.suggestions)
        command = own_command(
            sys.argv[0], self._started_in, self.start.environ.get("PATH"), anywhere=is_tutorial
        )
        if is_tutorial:
            return f"for work of your own, in your project: {command}"
        flags = shlex.join(self._session_flags(session))
        return f"{command} {flags} continues this session"

    def _session_flags(self, session: Session) -> list[str]:
        """Return the flags that select a session, by its title if it has one that no other has, and with them the model
        and the database that flags had named."""
        folder = str(self.start.cwd)
        # late: a session is chosen after the prompt is drawn
        from swecli.models.project import ProjectPlace

        place = ProjectPlace(session.project, session.subfolder or "")
        newest = self.session_manager.catalog.list_sessions(folder, 1, place=place)
        if [info.id for info in newest] == [session.id]:
            flags = ["-c"]
        else:
            sessions = self.session_manager.catalog.list_sessions(None, _MAX_SESSIONS)
            titles = [info.title.lower() for info in sessions]
            is_unique = titles.count(session.title.lower()) == 1
            flags = ["-r", session.title if is_unique else session.id]
        if self.start.cwd != self._started_in:
            flags += ["-C", folder]
        origins = self.start.settings.origins
        if origins.get("model") == "flags":
            flags += ["-m", self.agent.model.name]
        if origins.get("db") == "flags":
            flags += ["--db", self.start.settings.db]
        return flags

    def _report_status_command(self, problem: str) -> None:
        self.report(SwecliError(problem, "It gets JSON, and its first line is shown."))

    def start_loading(self) -> asyncio.Task[None]:
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load())
            self._loading.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._loading

    async def _load(self) -> None:
        """Load and assemble the components. If that fails, end the prompt with the error."""
        try:
            await self._startup.assemble(self, self._background, self.prompt)
        except Exception as error:
            problem = self._startup.to_user_error(error)
            self.prompt.end(problem)
            raise problem from error
        runtime = self._startup.context.runtime
        self.renderer = self._startup.context.renderer
        self.session_manager = runtime.sessions
        self.agent = runtime.agent
        self.footer.attach(runtime)
        notices = [*runtime.notices]
        if runtime.auto_confirmed:
            reason = await run_in_thread(runtime.missing_sandbox, "swecli-sandbox")
            if reason:
                notices.append(
                    f"mode auto without a sandbox: commands run as you, without a question ({reason})"
                )
        for notice in notices:
            self.renderer.screen.warn(notice)
        if notices:
            self.renderer.screen.line()
        session = runtime.sessions.current_session
        if self.start.resume is not None and session is not None:
            # late: loaded after the prompt is shown
            from swecli.repl.render.session_lines import show_session

            show_session(self.renderer.screen, session)
            # late: as above
            from swecli.repl.commands.open_elsewhere import settle_open_elsewhere

            await settle_open_elsewhere(self._startup.context)
            self.renderer.screen.line()
        self.prompt.redraw()
        self._background.start(self._background.reflect_pending(runtime.learning))
        self._job_watcher = asyncio.get_running_loop().create_task(self._watch_jobs())

    async def _watch_jobs(self) -> None:
        # late: loaded after the prompt is shown
        from swecli.models.events import Notice

        while True:
            self._background.show([Notice(await self.agent.ctx.commands.jobs.finished.get())])
            self.background_changed()

    def start_learning(self, interaction: int) -> None:
        self._background.learn(self._startup.context.runtime.learning, interaction)
        has_session = self.session_manager.current_session is not None
        if has_session and self.agent.condense_model is not None:
            self._background.start(self.agent.generate_title())

    @property
    def working(self) -> bool:
        return self._dispatcher.task is not None or self._background.runs_commands

    def submit(self, text: str) -> None:
        self._dispatcher.submit(text)

    def is_command(self, line: str) -> bool:
        return self._dispatcher.is_command(line)

    def interrupt(self) -> None:
        if self._background.cancel_command():  # the newest first
            return
        self.queue.hold()
        self._dispatcher.interrupt()

    def steer(self, text: str) -> None:
        expanded = self.prompt.history.pastes.expand(text)
        if problem := find_excess(expanded):
            self.report(problem)
            self.prompt.set_draft(text)
        elif self.working and self._startup.is_loaded and self.agent.steer(expanded):
            self.prompt.echo(text, "└ to the running turn")
        else:
            self.queue.put(text)

    def leaving_stops(self) -> str:
        if self.working:
            return "stops what is running"
        if self.queue:
            return "drops the queued lines"
        jobs = len(self.agent.ctx.commands.jobs.running) if self._startup.is_loaded else 0
        return f"stops {pluralize(jobs, 'background job')}" if jobs else ""

    def leave(self) -> None:
        if self.working or not self._startup.is_loaded:
            self.quit()
        else:
            self.queue.put("/exit")

    def quit(self, code: int = 0) -> None:
        self._code = self._code or code
        self.prompt.end()

    def unfold(self) -> None:
        if self._startup.is_loaded:
            self.renderer.unfold()
            if not self.working:
                self.renderer.screen.line()

    def set_draft(self, text: str, offered: bool = False) -> None:
        self.prompt.set_draft(text, offered)

    def show(self, event: Event) -> None:
        self.renderer.show(event)
        self.footer.observe(event)

    def measure_next(self) -> None:
        self._startup.processor.measure_next()
        self.prompt.redraw()

    def background_changed(self) -> None:
        self.footer.busy = "learning" if self._background.busy else ""
        self.footer.refresh()
        self.prompt.redraw()

    def report(self, error: BaseException | str) -> None:
        problem = self._startup.to_user_error(error)
        if not self._startup.is_loaded:  # the screen, which wraps lines, is not loaded yet
            self.prompt.write(_format_error(problem, self.prompt.color))
        else:
            self.renderer.screen.error(problem.message, problem.hint)


def _current_folder() -> Path:
    """Return the folder that the program was started in, the root of the disk if it was removed before."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/")


def _banner(start: Start, keys: KeyMap, color: bool, width: int = 80) -> str:
    """Render version, model, folder, help and notices."""
    dim, warn, end = ("\x1b[2m", "\x1b[33m", "\x1b[0m") if color else ("", "", "")
    model = one_line(_describe_model(start.choice.name, start.choice.reason))
    model_lines = textwrap.wrap(model, width, break_on_hyphens=False)
    facts = [f"swecli {__version__}", *model_lines, one_line(short_path(start.cwd))]
    lines = _wrap_parts(facts, width)
    if color:
        lines[0] = lines[0].replace("swecli", "\x1b[1mswecli\x1b[0m", 1)
    hints = ["/help for commands", keys.hint("next_mode", "to switch mode")]
    lines += [f"{dim}{line}{end}" for line in _wrap_parts(list(filter(None, hints)), width)]
    for notice in (*start.notices, *keys.notices):
        lines += [f"{warn}{line}{end}" for line in _wrap_notice(one_line(notice, 1_000), width)]
    return "\n".join(lines) + "\n\n"


def _wrap_notice(notice: str, width: int) -> list[str]:
    """Break a notice into lines between words, below each other behind the mark."""
    return textwrap.wrap(
        notice,
        width,
        initial_indent="! ",
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _format_error(error: SwecliError, color: bool) -> str:
    """Format an error with its hint as one line, before the screen is loaded."""
    sign = "\x1b[31m✗\x1b[0m" if color else "✗"
    parts = filter(None, (error.message, error.hint))
    return f"{sign} {' · '.join(one_line(part, 1_000) for part in parts)}\n"


def _describe_model(name: str, reason: str) -> str:
    """Return a model's name with the reason why it was chosen, if there is one."""
    if name.partition("/")[0] == "demo":
        return f"demo model (offline tour; {reason})" if reason else "demo model (offline tour)"
    return f"{name} ({reason})" if reason else name


def _wrap_parts(parts: Sequence[str], width: int) -> list[str]:
    """Join parts into lines of at most `width` columns, without breaking a part."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines
