"""Running a program in a process group of its own: output as it comes, a time limit, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
import sysconfig
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

_PIECE = 65_536
_GRACE_ON_TIMEOUT = 2.0
_GRACE_ON_CANCEL = 0.3
_DRAIN = 0.25
_LAST_WORDS = 0.05

# What the providers' own tools and litellm read their keys from.
_PROVIDER_KEY = re.compile(
    r"(?:(?:AZURE_)?OPENAI|ANTHROPIC|GEMINI|GOOGLE(?:_AI|_GENAI)?|AZURE(?:_AI)?|MISTRAL|CODESTRAL|COHERE|CO|GROQ|XAI|"
    r"DEEPSEEK|OPENROUTER|TOGETHER(?:_?AI)?|FIREWORKS(?:_AI)?|PERPLEXITY(?:AI)?|REPLICATE|HUGGINGFACE|HF|CEREBRAS|"
    r"SAMBANOVA|NVIDIA_NIM|DEEPINFRA|ANYSCALE|AI21|VOYAGE|WATSONX|DATABRICKS|MOONSHOT|ZAI|DASHSCOPE|VOLCENGINE|NOVITA|"
    r"HYPERBOLIC|LAMBDA|GITHUB_MODELS|CLARIFAI|FRIENDLI(?:AI)?|NSCALE|NEBIUS|MINIMAX|LITELLM|SWECLI|OLLAMA|LM_STUDIO|"
    r"(?:HOSTED_)?VLLM|LLAMAFILE|XINFERENCE|FEATHERLESS_AI|GALADRIEL|(?:META_)?LLAMA)"
    r"_(?:API_KEY|API_TOKEN|AUTH_TOKEN|ACCESS_TOKEN|KEY|TOKEN)|AWS_BEARER_TOKEN_BEDROCK",
    re.IGNORECASE,
)

_QUIET = {
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}

_StopReason = Literal["exit", "timeout", "stopped"]


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a program ended. `code` is as a shell says it (128 + n for signal n); `how` says why it stopped. "stopped"
    means the reader had enough. `left` is set when it had left others running, which were ended."""

    code: int
    how: _StopReason = "exit"
    left: bool = False


def child_environment(environ: Mapping[str, str] | None) -> dict[str, str]:
    """What a started program finds: the given environment (None: ours) without model keys, without pagers."""
    # reads the environment: a program started without one finds ours, as any child does
    given = os.environ if environ is None else environ
    return {name: value for name, value in given.items() if not _PROVIDER_KEY.fullmatch(name)} | _QUIET


def find_program(name: str, environ: Mapping[str, str] | None, root: Path) -> str | None:
    """A program on the PATH, but never one that lies in the workspace: nothing there runs unasked."""
    given = os.environ if environ is None else environ
    folders = [f for f in given.get("PATH", os.defpath).split(os.pathsep) if f.startswith("/")]
    top = root.resolve()
    for folder in folders:
        found = shutil.which(name, path=folder)
        if found is not None and not Path(found).resolve().is_relative_to(top):
            return found
    return None


def find_ripgrep(environ: Mapping[str, str] | None, root: Path) -> str | None:
    """ripgrep as it was installed with this program, else the one on the PATH."""
    beside = Path(sysconfig.get_path("scripts"), "rg")
    return str(beside) if beside.exists() else find_program("rg", environ, root)


async def run_group(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None,
    on_output: Callable[[bytes], bool | None],
    errors_too: bool = True,
) -> ProcessExit:
    """Run a program with nothing on its standard input and hand over its output, piece by piece, until it ends.
    `on_output` may return True to end it. `errors_too` mixes standard error in; else that is thrown away. When the
    program ends, whatever it left running in its group is ended too; so is the whole group on a time-out (seconds;
    None: no limit) and on cancellation, which is passed on. Raises OSError: the program cannot be started."""
    loop, stream = asyncio.get_running_loop(), asyncio.StreamReader()
    # a pipe of our own: asyncio's is waited for while anybody in the background holds it open
    reading, writing = os.pipe()
    protocol = asyncio.StreamReaderProtocol(stream)
    pipe, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(reading, "rb", 0))
    try:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env=dict(env),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writing,
                stderr=writing if errors_too else asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(writing)
        return await _attend(process, _read(stream, on_output), timeout)
    finally:
        pipe.close()


async def _attend(
    process: asyncio.subprocess.Process, reading: Coroutine[Any, Any, bool], timeout: float | None
) -> ProcessExit:
    reader = asyncio.ensure_future(reading)
    exited = asyncio.ensure_future(process.wait())
    try:
        how = await _until_over(reader, exited, timeout)
    except asyncio.CancelledError:
        await _finish(process, exited, reader, _GRACE_ON_CANCEL)
        raise
    left = how == "exit" and _alive(process.pid)
    await _finish(process, exited, reader, _GRACE_ON_TIMEOUT if how == "timeout" else _GRACE_ON_CANCEL)
    if not reader.cancelled() and (failure := reader.exception()):
        raise failure
    code = -signal.SIGKILL if process.returncode is None else process.returncode
    return ProcessExit(128 - code if code < 0 else code, how, left)


async def _until_over(reader: asyncio.Future[bool], exited: asyncio.Future[int], timeout: float | None) -> _StopReason:
    try:
        async with asyncio.timeout(timeout):
            both: set[asyncio.Future[Any]] = {reader, exited}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not exited.done():
                if reader.exception() or reader.result():
                    return "stopped"
                await asyncio.wait({exited})  # it closed its output and runs on
    except TimeoutError:
        return "timeout"
    # what is in the pipe is still read; somebody in the background who holds it open is not waited for
    await asyncio.wait({reader}, timeout=_DRAIN)
    return "exit"


async def _finish(
    process: asyncio.subprocess.Process, exited: asyncio.Future[int], reader: asyncio.Future[bool], grace: float
) -> None:
    """End the whole group: ask, wait `grace` seconds, then kill; cancelled once more, kill at once."""
    try:
        await _end_group(process.pid, exited, grace)
        await asyncio.wait({reader}, timeout=_LAST_WORDS)
    finally:
        reader.cancel()
    await asyncio.wait({reader})


async def _end_group(group: int, exited: asyncio.Future[int], grace: float) -> None:
    loop = asyncio.get_running_loop()
    if not _alive(group) and exited.done():
        return
    _signal(group, signal.SIGTERM)
    _signal(group, signal.SIGCONT)  # a stopped process takes the other signal only when it goes on
    deadline = loop.time() + grace
    try:
        while (_alive(group) or not exited.done()) and loop.time() < deadline:
            await asyncio.sleep(0.01)
    finally:  # also where the loop ends, and waits for nobody
        if _alive(group):
            _signal(group, signal.SIGKILL)
    await asyncio.wait({exited}, timeout=5)


async def _read(stream: asyncio.StreamReader, on_output: Callable[[bytes], bool | None]) -> bool:
    """Hand over what comes until the end of the pipe; True when the taker had enough."""
    while data := await stream.read(_PIECE):
        if on_output(data):
            return True
        await asyncio.sleep(0)  # a program that never stops talking must not keep everybody else from running
    return False


def _alive(group: int) -> bool:
    """Whether anybody of the group is left. A dead process nobody has asked about yet does not count."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not sys.platform.startswith("linux") or _living_member(group)


def _living_member(group: int) -> bool:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError, IndexError, ValueError):
            # fields after the name in brackets: state, parent, group
            fields = (entry / "stat").read_bytes().rsplit(b")", 1)[1].split()
            if int(fields[2]) == group and fields[0] not in (b"Z", b"X"):
                return True
    return False


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


_PACE = 0.05
_MOST = 16_000


class OutputThrottle:
    """Hands text on at most twenty times a second; of a flood only the newest part of each piece."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._waiting = ""
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        """Take the next piece of output. Must run inside the event loop."""
        waiting = self._waiting + text
        self._waiting = waiting if len(waiting) <= _MOST else "[…]\n" + waiting[-_MOST:]
        loop = asyncio.get_running_loop()
        if loop.time() >= self._last + _PACE:
            self.flush()
        elif self._timer is None:
            # what came in between is not kept back until more comes
            self._timer = loop.call_at(self._last + _PACE, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._last = asyncio.get_running_loop().time()
        if self._waiting:
            text, self._waiting = self._waiting, ""
            self._report(text)
