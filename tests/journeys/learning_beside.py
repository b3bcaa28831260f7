"""Learn in a project in which another process learns too: run as `python -m ... DATABASE NAME TURNS`.

Each turn is said to have been helped by P-1, and the user states one rule with the name in it in each of them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from swecli.models.message import ModelRequest
from tests.support.runtime import make_runtime, run_turn


async def learn(db: str, name: str, turns: int) -> None:
    rules = [f"module {name}{number} is built with part {number}" for number in range(turns)]

    def answer(request: ModelRequest) -> Any:
        if request.purpose != "reflect":
            return "Done."
        content = str(request.messages[-1]["content"])
        text = content.removeprefix("```json").removesuffix("```")
        query = json.loads(text)["exchanges"][0]["query"]
        effect = {"id": "P-1", "effect": "helped", "why": name}
        lesson = {"text": f"M{query[1:]}", "quote": query, "from": "user"}
        return json.dumps({"why": "so", "strategies": [effect], "lessons": [lesson]})

    runtime = make_runtime(answer, db=db, reflect="always", reflect_percent=100_000)
    for rule in rules:
        await run_turn(runtime, rule)


if __name__ == "__main__":
    asyncio.run(learn(sys.argv[1], sys.argv[2], int(sys.argv[3])))
