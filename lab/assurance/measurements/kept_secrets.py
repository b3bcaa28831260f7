"""The user's keys and secrets in a conversation: where they are afterwards."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import string
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

from lab.assurance.measurements.rows import Measurement, Row
from tests.support.secrets import secrets
from tests.support.shell import swecli
from tests.support.strict_provider import Call, Refusal, Reply, StrictProvider, Wire
from tests.support.strict_provider.server import ANTHROPIC_MODEL, OPENAI_MODEL

_SEED = 5
_PIECE = 10  # characters of a key that may not be anywhere together
_MODELS = (f"openai/{OPENAI_MODEL}", f"anthropic/{ANTHROPIC_MODEL}")
_FORMATS = ("text", "json", "stream-json")
# the ways in which a service, or a command, says the key
_ECHOES: dict[str, Callable[[str], list[Reply | Refusal]]] = {
    "refused with 401": lambda key: [Refusal(401, f"Incorrect API key provided: {key}.")],
    "refused with 403": lambda key: [Refusal(403, f"{'x' * 280} {key}")],
    "in a page of HTML": lambda key: [Refusal(400, body=f"<b>{'pad ' * 60}{key}</b>".encode())],
    "behind escaped slashes": lambda key: [
        Refusal(401, body=b'{"error": {"message": "bad: %b"}}' % key.replace("/", "\\/").encode())
    ],
    "in a redirection": lambda key: [Refusal(302, headers={"location": f"http://127.0.0.1:9/?k={key}"})],
    "in no stream": lambda key: [
        Reply(wire=Wire(body=f"no service, key {key}".encode(), content_type="text/plain"))
    ] * 3,
    "in the answer": lambda key: [Reply(f"Your key is {key}, keep it.", piece=4)],
    "in thoughts": lambda key: [Reply("See.", reasoning=f"The key is {key}", piece=1)],
    "printed by `env`": lambda key: [Reply(calls=(Call("run_command", {"command": "env"}),)), Reply("Done.")],
    "in the memory of a process": lambda key: [
        Reply(calls=(Call("run_command", {"command": "cat /proc/*/environ | tr '\\0' '\\n'"}),)),
        Reply("Done."),
    ],
}  # fmt: skip


@dataclass(slots=True)
class _Found:
    """How often a place was looked at, and where a secret was in it."""

    made: int = 0
    failures: list[str] = field(default_factory=list)

    def look(self, secret: str, text: str, what: str, has: str = "") -> None:
        """Look for pieces of the secret in a text, which must have the words `has`."""
        self.made += 1
        if has not in text:
            self.failures.append(f"{what}: there is no {has!r} in it")
            return
        size = min(_PIECE, len(secret))
        if any(secret[at : at + size] in text for at in range(len(secret) - size + 1)):
            self.failures.append(what)


def measure(count: int) -> list[Row]:
    """Let services echo `count` keys, and type as many secrets."""
    return [*_echo_keys(count), *_type_secrets(count)]


def _echo_keys(count: int) -> list[Row]:
    chance, shown, kept, exported = random.Random(_SEED), _Found(), _Found(), _Found()
    turns = cycle(_ECHOES.items())
    for number, (echo, script) in enumerate(islice(turns, count)):
        # none that the redactor knows by its shape: only that it is ours protects it
        key = "/".join("".join(chance.choices(string.ascii_letters, k=14)) for _ in range(2))
        model = _MODELS[number // len(_ECHOES) % len(_MODELS)]
        with StrictProvider(script(key), key=key) as server:
            home = Path(f"key{number}").absolute()
            environ = {**server.environ(), "SWECLI_HOME": str(home)}
            form = _FORMATS[number % len(_FORMATS)]
            done = swecli(
                "-p",
                "hello",
                "-m",
                model,
                "--mode",
                "auto",
                "--output-format",
                form,
                environ=environ,
            )
            what = f"{echo}, {model}, {form}"
            shown.look(key, done.out + done.err, what)
            kept.look(key, _all_bytes(home), what)
            exported.look(
                key,
                swecli("sessions", "export", _session(home), environ=environ).out,
                what,
                "hello",
            )
    return [
        Row("keys said by a service, on stdout and stderr", shown.made, shown.failures, f"{len(_ECHOES)} ways"),
        Row("the same, in database, log and all other files", kept.made, kept.failures),
        Row("the same, in an export", exported.made, exported.failures),
    ]  # fmt: skip


def _session(home: Path) -> str:
    """Return the id of the one session."""
    with closing(sqlite3.connect(home / "swecli.db")) as connection:
        return str(connection.execute("SELECT id FROM session").fetchone()[0])


def _all_bytes(folder: Path) -> str:
    """Return the contents of all files below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)


def _type_secrets(count: int) -> list[Row]:
    places = {"session list": _Found(), "search": _Found(), "export": _Found(), "log": _Found()}
    kinds = cycle(sorted(secrets()))
    for number, kind in enumerate(islice(kinds, count)):
        text, secret = secrets(number)[kind]
        home = Path(f"typed{number}").absolute()
        environ = {**os.environ, "SWECLI_HOME": str(home), "OPENAI_API_KEY": "test-key"}
        with StrictProvider(
            [Reply(f"walrus {text} walrus"), Refusal(400, f"no: {text}")]
        ) as server:
            environ |= server.environ()
            lines = "\n".join(json.dumps({"type": "user", "text": one}) for one in (text, "more"))
            words = ("-p", "--input-format", "stream-json", "-m", _MODELS[0], "--no-reflect")
            swecli(*words, stdin=lines, environ=environ)
        places["session list"].look(
            secret, swecli("sessions", "list", environ=environ).out, kind, _session(home)[:6]
        )
        places["search"].look(
            secret, swecli("sessions", "search", "walrus", environ=environ).out, kind
        )
        places["export"].look(
            secret,
            swecli("sessions", "export", _session(home), environ=environ).out,
            kind,
            "walrus",
        )
        log = home / "swecli.log"
        places["log"].look(secret, log.read_text() if log.exists() else "", kind)
    return [
        Row(f"secrets typed, answered and refused, in the {place}", found.made, found.failures)
        for place, found in places.items()
    ]


_METHOD = """\
A service that has the user's key says it back in ten ways, on two wires and in four output formats, or a command prints
its environment. The key has no shape that the redactor knows. It holds if no ten characters of it are together on
stdout or stderr, in any file that swecli wrote, and in an export. Then secrets of all kinds are typed, repeated by the
model and quoted in an error: a message keeps them as they were written, but lists, search, exports and the log may not
have them."""

KEPT_SECRETS = Measurement(
    "Keys and secrets of a session",
    _METHOD,
    measure,
    quick=2,
    whole=30,
    is_slow=True,
)
