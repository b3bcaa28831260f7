"""`/connect`: set up a model by questions: a service with its key, a local server, or the tour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.errors import NoModel
from swecli.repl.background import run_in_thread
from swecli.repl.commands.base import CommandContext, command, refuse_arguments

if TYPE_CHECKING:
    from swecli.llm.services import Service

_OTHER, _LOCAL, _TOUR = "other", "local", "tour"
_FIRST = ("anthropic", "openai", "gemini")  # services that are offered first


@command()
async def _connect(ctx: CommandContext, args: str) -> None:
    """Set up a model: a provider and its key, a local server, or the offline tour"""
    refuse_arguments("connect", args)
    # late: not needed to declare a command
    from swecli.llm.services import HOSTED

    services = {service.name: service for service in HOSTED if service.default_model}
    options = [(name, f"{services[name].default_model}, with a key of yours") for name in _FIRST]
    options += [
        (_OTHER, "another service, with a key"),
        (_LOCAL, "a server on this machine, without a key (Ollama, LM Studio, llama.cpp, vLLM)"),
        (_TOUR, "none yet: look around with the offline tour"),
    ]
    picked = await ctx.pick("Which model should answer?", options)
    if picked == _OTHER:
        others = [name for name in services if name not in _FIRST]
        options = [(name, f"{name}: {services[name].default_model}") for name in others]
        picked = await ctx.pick("Which service?", options, [("",) for _ in options])
    if picked == _LOCAL:
        await _connect_local(ctx)
    elif picked in services:
        await _connect_service(ctx, services[picked])
    else:
        ctx.screen.note("Type `tour` to see what the tour answers. /connect sets up a model.")


async def _connect_local(ctx: CommandContext) -> None:
    # late: as above
    from swecli.llm.choosing import live_models
    from swecli.llm.services import LOCAL

    environ = ctx.runtime.start.environ
    models = await run_in_thread(lambda: list(live_models(environ)), "swecli-servers")
    if not models:
        ports = ", ".join(f"{server.name} {server.port}" for server in LOCAL)
        raise NoModel(
            f"No local server answers (looked at: {ports}).",
            "Start one, load a model there, then /connect again.",
        )
    options = [(name, f"{name} · port {port}") for name, port in models]
    name = await ctx.pick("Which of its models?", options, [("",) for _ in options])
    if name is not None:
        _use(ctx, name)


async def _connect_service(ctx: CommandContext, service: Service) -> None:
    # late: as above
    from swecli.actions.connecting import store_key

    runtime = ctx.runtime
    variable = service.key_variables[0]
    if any(runtime.start.environ.get(name, "").strip() for name in service.key_variables):
        _use(ctx, service.default_model)
        return
    key = await ctx.asker.ask_secret(
        f"Key of {service.name} (not shown, not kept in the history; Esc: none)"
    )
    if not key:
        ctx.screen.note(f"Nothing was changed. {variable} in the environment works too.")
        return
    stored = await run_in_thread(
        lambda: store_key(service.name, key, runtime.start.paths), "swecli-key"
    )
    _use(ctx, service.default_model, stored.command)
    ctx.screen.note(f"The key is in {stored.place}.")


def _use(ctx: CommandContext, model: str, key_command: tuple[str, ...] = ()) -> None:
    """Use the model from now on, here and at every start. Raises SwecliError."""
    # late: as above
    from swecli.actions.connecting import choose_for_every_start

    runtime = ctx.runtime
    path = runtime.start.config or runtime.start.paths.config_file
    choose_for_every_start(path, model, key_command)
    runtime.reload_models()
    runtime.switch_model(model)
    ctx.screen.line(f"{model} answers from now on, also at the next start.", "head")
