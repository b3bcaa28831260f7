"""Shows a stored conversation in the editor, as it was told when it took place."""

from __future__ import annotations

from acp.helpers import plan_entry, text_block, update_plan
from acp.schema import AgentMessageChunk, AgentThoughtChunk, ToolCallStart, UserMessageChunk

from swecli.acp.calls import describe_call, kind_of, locations_of, show_text, status_of
from swecli.acp.editor import Editor
from swecli.acp.turn_view import TODO_STATUS
from swecli.app import Runtime
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.text import fence, sanitize, truncate
from swecli.tools.execute import summary_without_plan

_MAX_RESULT = 4_000  # characters of a stored result: a long conversation has many


def show_conversation(editor: Editor, runtime: Runtime) -> None:
    """Show all turns of the current session, and the to-do list as it is now. Raises StoreError."""
    for message in runtime.sessions.read_whole().messages:
        _show_message(editor, runtime, message)
    steps = runtime.agent.ctx.todos
    if steps:
        editor.update(
            update_plan(
                plan_entry(step["text"], status=TODO_STATUS.get(step["status"], "pending"))
                for step in steps
            )
        )


def _show_message(editor: Editor, runtime: Runtime, message: ChatMessage) -> None:
    name = str(message.id)
    if message.role is Role.USER:
        labels = "".join(f" {image['label']}" for image in message.images or ())
        editor.update(
            UserMessageChunk(
                session_update="user_message_chunk",
                content=text_block(f"{message.content}{labels}"),
                message_id=name,
            )
        )
        return
    if message.role is not Role.ASSISTANT:
        return
    if message.reasoning:
        editor.update(
            AgentThoughtChunk(
                session_update="agent_thought_chunk",
                content=text_block(message.reasoning),
                message_id=f"{name}-thought",
            )
        )
    if message.content:
        editor.update(
            AgentMessageChunk(
                session_update="agent_message_chunk",
                content=text_block(message.content),
                message_id=name,
            )
        )
    for call in message.tool_calls:
        _show_call(editor, runtime, call)


def _show_call(editor: Editor, runtime: Runtime, call: ToolCall) -> None:
    tool = runtime.agent.tools.get(call.name)
    result = sanitize(call.result_message()["content"])
    fields = describe_call(
        call,
        title=summary_without_plan(call),
        kind=kind_of(tool.kind if tool else None, call.effects),
        status=status_of(call),
        content=[show_text(fence(truncate(result, _MAX_RESULT)))],
        locations=locations_of(runtime.agent.ctx.root, call.effects),
    )
    editor.update(ToolCallStart(session_update="tool_call", **fields))
