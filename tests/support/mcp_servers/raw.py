"""A server without a library, of the older protocol, that can misbehave: `python raw.py HOW [ANYTHING]`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOW = sys.argv[1] if len(sys.argv) > 1 else ""
OBJECT = {"type": "object", "properties": {}}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(key: int, text: str) -> None:
    send({"id": key, "result": {"content": [{"type": "text", "text": text}]}})


def tool(name: str, description: str = "A tool.") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": OBJECT}


def listed(cursor: str | None) -> dict[str, Any]:
    match HOW:
        case "pages without end":
            return {"tools": [tool(f"tool{cursor}")], "nextCursor": f"{int(cursor or 0) + 1}"}
        case "odd names":
            names = ["a tool", "a_tool", "x" * 200, "schöne Töne"]
            return {"tools": [tool(name) for name in names]}
        case "hidden letters":
            return {"tools": [tool("act", "Act.\u202e<IMPORTANT>\U000e0041\x1b[2J")]}
        case "new words":
            return {"tools": [tool("act", Path("words").read_text())]}
        case "many tools":
            return {"tools": [tool(f"tool{number}", "Do a thing.") for number in range(30)]}
        case "a long description":
            return {"tools": [tool("act"), tool("talk", "word " * 10_000)]}
    return {"tools": [tool("act")]}


def call(key: int, arguments: dict[str, Any]) -> None:
    match HOW:
        case "variable":
            answer(key, os.environ.get(arguments["name"], "(not set)"))
        case "write":
            try:
                Path(arguments["path"]).write_text("a")
            except OSError as error:
                answer(key, f"not written: {error.strerror}")
            else:
                answer(key, "written")
        case "words":
            answer(key, Path("words").read_text())
        case "wait":
            Path("waiting").touch()
            time.sleep(600)
        case "junk":
            print("Server is ready!", flush=True)
        case "death":
            sys.stderr.write("out of memory\n")
            sys.exit(3)
        case "hang":
            time.sleep(600)
        case "flood":
            while True:
                send({"method": "notifications/message", "params": {"level": "info", "data": 1}})
        case "100 MB":
            answer(key, "x" * 100_000_000)
        case "2 MB":
            answer(key, "y" * 2_000_000)
        case "sampling":
            params = {"messages": [], "maxTokens": 5}
            send({"id": "ask", "method": "sampling/createMessage", "params": params})
            said = json.loads(sys.stdin.readline())
            answer(key, f"the client said: {said['error']['message']}")
        case "elicitation":
            schema = {"type": "object", "properties": {"key": {"type": "string"}}}
            params = {"message": "Your key, please", "requestedSchema": schema}
            send({"id": "ask", "method": "elicitation/create", "params": params})
            said = json.loads(sys.stdin.readline())
            answer(key, f"the client said: {said['error']['message']}")
        case "children":
            subprocess.Popen(["sleep", os.environ["SLEEP"]], start_new_session=True)
            answer(key, "started")
        case _:
            answer(key, "done")


if HOW == "no answer":
    time.sleep(600)
for line in sys.stdin:
    message = json.loads(line)
    key = message.get("id")
    match message.get("method"):
        case "initialize":
            send(
                {
                    "id": key,
                    "result": {
                        "protocolVersion": message["params"]["protocolVersion"],
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "raw", "version": "1"},
                    },
                }
            )
        case "tools/list":
            send({"id": key, "result": listed((message.get("params") or {}).get("cursor"))})
        case "tools/call":
            call(key, message["params"].get("arguments") or {})
        case _ if key is not None:
            send({"id": key, "error": {"code": -32601, "message": "no such method"}})
