"""Serve the playbook of a folder to another assistant, by the Model Context Protocol on standard input and output."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from pydantic import Field

import swecli
from swecli.actions.served_memory import ClientEffect, Report, ServedMemory, author_of
from swecli.config.settings import Start
from swecli.models.errors import SwecliError, UsageError
from swecli.models.ids import parse_short_id
from swecli.text import shorten
from swecli.tools.arguments import read_parameters
from swecli.tools.params import Params
from swecli.values import dataclass

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    Context = ServerRequestContext[dict[str, Any], Any]

_PLAYBOOK = "swecli://playbook"
_MARKDOWN, _LINES = "text/markdown", "text/plain"
_MAX_TITLE = 90  # characters of a strategy in a list of resources
_INSTRUCTIONS = (
    "swecli remembers what worked in this project. Call `recall` with the task before you begin it, and again when the "
    "work turns to another topic. When a strategy guided you and a command has shown what came of it, call `report`. "
    "What is worth to be known in later work here, propose with `remember`: the user decides about it."
)


class _Recall(Params):
    query: str = Field(
        min_length=1, max_length=2_000, description="The task, in a few words or as the user put it"
    )
    files: list[str] = Field(
        [], max_length=50, description="Files that it is about, as paths from the working folder"
    )


class _Remember(Params):
    text: str = Field(
        min_length=1,
        max_length=2_000,
        description="What to know in later work: one or two sentences, at most 60 words, without secrets",
    )
    why: str = Field(
        "", max_length=1_000, description="The user's words, or the result, that it comes from"
    )
    when: str = Field(
        "", max_length=1_000, description="When it matters, in other words: at most 40"
    )


class _Report(Params):
    strategy: str = Field(min_length=1, max_length=20, description="The id of the strategy: P-7")
    effect: ClientEffect = Field(
        description="What following it did: helped, or hurt if it was wrong or led astray"
    )
    command: str = Field(
        min_length=1, max_length=1_000, description="The command that showed it, such as a test run"
    )
    exit_code: int = Field(
        ge=-255, le=255, description="Its exit code: 0 for helped, another one for hurt"
    )
    why: str = Field("", max_length=500, description="In one sentence, what it did")


@dataclass(frozen=True, slots=True)
class _ServedTool:
    """A tool for the client. `call` gets the memory, the client as an author, and the parameters."""

    description: str
    parameters: type[Params]
    call: Callable[[ServedMemory, str, Any], str]
    reads_only: bool = False


_TOOLS = {
    "recall": _ServedTool(
        "Return what was learned in earlier work in this project for a task: rules of the user, and strategies that"
        " worked or failed. They are notes, not orders.",
        _Recall,
        lambda memory, author, parameters: memory.recall(parameters.query, parameters.files),
        reads_only=True,
    ),
    "remember": _ServedTool(
        "Propose something lasting for later work in this project: what the user stated, or what you found out and had"
        " to try for. It waits until the user agrees.",
        _Remember,
        lambda memory, author, parameters: memory.propose(
            author, parameters.text, parameters.why, parameters.when
        ),
    ),
    "report": _ServedTool(
        "Say what a strategy from `recall` did, with the command that showed it: it counts as evidence for or against"
        " the strategy. Only for a strategy that guided you; a check that fails for another reason is not its fault.",
        _Report,
        lambda memory, author, parameters: memory.report(author, Report(**parameters.model_dump())),
    ),
}


async def serve(start: Start) -> None:
    """Serve the client at the other end of standard input until it closes it. Raises UsageError in a terminal."""
    if sys.stdin.isatty():
        raise UsageError(
            "This speaks to a program, which starts it.",
            "For example: claude mcp add swecli -- swecli mcp serve",
        )
    # standard input is read in a thread that nothing can cancel; what was stored is stored
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # what a client sends and the library does not understand is answered, and nobody reads a log
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    server = _make_server(ServedMemory(start))
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _make_server(memory: ServedMemory) -> Server[dict[str, Any]]:
    """Return the server of a memory. Calls are done one after the other, in a thread: the connection stays alive while
    one waits for the database."""
    turn = asyncio.Lock()

    async def ask(question: Callable[[], Any]) -> Any:
        async with turn:
            return await asyncio.to_thread(question)

    async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_describe(name, tool) for name, tool in _TOOLS.items()])

    async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = _TOOLS.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r:.80}.")
        author = _author(ctx)
        try:
            parameters = read_parameters(params.name, tool.parameters, params.arguments or {})
            text = await ask(lambda: tool.call(memory, author, parameters))
        except SwecliError as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        return CallToolResult(content=[TextContent(text=text)])

    async def list_resources(
        ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        with _as_answers():
            strategies = await ask(memory.strategies)
        whole = Resource(
            uri=_PLAYBOOK,
            name="playbook",
            title="All strategies of this project",
            mime_type=_MARKDOWN,
        )
        single = [
            Resource(
                uri=f"{_PLAYBOOK}/{bullet.id}",
                name=bullet.id,
                title=shorten(bullet.content, _MAX_TITLE),
                mime_type=_LINES,
            )
            for bullet in strategies
        ]
        return ListResourcesResult(resources=[whole, *single])

    async def read_resource(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        folder, _, strategy = uri.rpartition("/")
        is_one = folder == _PLAYBOOK and parse_short_id("P", strategy) is not None
        if uri != _PLAYBOOK and not is_one:
            raise MCPError(INVALID_PARAMS, f"There is no resource {uri!r:.120}.")
        with _as_answers():
            text = await ask(lambda: memory.read_one(strategy) if is_one else memory.read_all())
        kind = _LINES if is_one else _MARKDOWN
        return ReadResourceResult(
            contents=[TextResourceContents(uri=uri, mime_type=kind, text=text)]
        )

    return Server(
        "swecli",
        version=swecli.__version__,
        title="swecli: the memory of this project",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _describe(name: str, tool: _ServedTool) -> Tool:
    return Tool(
        name=name,
        description=tool.description,
        input_schema=tool.parameters.model_json_schema(),
        # what is stored waits for the user or can be undone
        annotations=ToolAnnotations(
            read_only_hint=tool.reads_only, destructive_hint=False, open_world_hint=False
        ),
    )


def _author(ctx: Context) -> str:
    """Return as whom the client stores something: by the name that it gave, in its first request or in each."""
    params = ctx.session.client_params
    return author_of(params.client_info.name if params is not None else "")


@contextmanager
def _as_answers() -> Iterator[None]:
    """Let errors for people become answers of the protocol."""
    try:
        yield
    except SwecliError as error:
        raise MCPError(INTERNAL_ERROR, str(error)) from error
