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
    choice = await ctx.pick("Which model should answer?", options)
    if choice == _OTHER:
        others = [name for name in services if name not in _FIRST]
        options = [(name, services[name].default_model) for name in others]
        choice = await ctx.pick("Which service?", options, [("",) for _ in options])
    if choice == _LOCAL:
        await _connect_local(ctx)
    elif choice in services:
        await _connect_service(ctx, services[choice])
    elif choice == _TOUR:
        _show_tour(ctx)
    else:
        _say_unchanged(ctx)


def _show_tour(ctx: CommandContext) -> None:
    """Use the tour in this session."""
    # late: as above
    from swecli.llm.services import DEMO

    if ctx.runtime.agent.model.name != DEMO:
        ctx.runtime.switch_model(DEMO)
    ctx.screen.note("Type tour to see what the offline tour answers. /connect sets up a model.")


def _say_unchanged(ctx: CommandContext) -> None:
    # late: as above
    from swecli.llm.services import DEMO

    name = ctx.runtime.agent.model.name
    if name == DEMO:
        ctx.screen.note("Nothing was changed: the offline tour answers. Type tour to see what.")
    else:
        ctx.screen.note(f"Nothing was changed: {name} answers as before.")


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
            "Start one, load a model there, then /connect again. One at another port: "
            "OPENAI_BASE_URL=http://127.0.0.1:PORT/v1 swecli -m openai/NAME",
        )
    options = [(name, f"{name} · port {port}") for name, port in models]
    name = await ctx.pick("Which of its models?", options, [("",) for _ in options])
    if name is None:
        _say_unchanged(ctx)
    else:
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
        f"Your key of {service.name}? It is not shown, and stored in the keyring of this computer, "
        "or without one in a file that only you can read."
    )
    if not key:
        ctx.screen.note(f"Nothing was changed. {variable} in the environment works too.")
        return
    stored_key = await run_in_thread(
        lambda: store_key(service.name, key, runtime.start.paths), "swecli-key"
    )
    _use(ctx, service.default_model, stored_key.command)
    ctx.screen.note(f"The key is in {stored_key.place}.")


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
