"""Generate a session with the message sizes and pauses of a recorded one and placeholder texts."""

from __future__ import annotations

import csv
import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from lab.windows.sessions.mixed_work import BEGAN
from swecli.context.situation import environment_notes
from swecli.models.notes import notes_to_json
from swecli.models.window_spec import WindowSpec

SHAPES = Path(__file__).resolve().parents[3] / "tests" / "recorded" / "shapes"
_CALL = 14  # tokens of a placeholder call
# One token, and four characters with the space before it, so that exact and estimated sizes agree.
_WORDS = tuple(
    """
    add age ago air all and any arm art ask bad bag bar bed big bit box boy bus but buy can cap car cat cup cut day did
    dog dry due ear eat end eye far few fit fly for fun gas get got had has hat her him his hit hot how ice its job key
    kid law lay led leg let lie lot low man map may men met mix new nor not now odd off oil old one our out own pay per
    put ran red rid row run sad sat saw say sea see set she sir sit six sky son sun tax ten the too top try two use via
    war was way wet who why win yes yet you
    """.split()  # noqa: SIM905  one word a line would be two pages
)


def exported(name: str, model: str) -> dict[str, Any]:
    """Return the session of the shape `name` in the format of `swecli sessions export` and `import`. Raises OSError
    for an unknown shape."""
    with (SHAPES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    rng, messages, turns = random.Random(name), list[dict[str, Any]](), dict[int, dict[str, Any]]()

    def text(tokens: int) -> str:
        return " ".join(rng.choices(_WORDS, k=max(0, tokens)))

    for row in rows:
        number, at = int(row["turn"]), (BEGAN + timedelta(seconds=int(row["seconds"]))).isoformat()
        common = {"interaction": number, "created_at": at}
        if row["user"]:
            query = text(int(row["user"]))
            day = date.fromisoformat(at[:10])
            notes = environment_notes(Path("/home/dev/recorded"), day, "linux")
            messages.append(
                {"role": "user", "content": query, "notes": notes_to_json(notes), **common}
            )
            turns[number] = {"number": number, "status": "done", "started_at": at}
        turns[number]["finished_at"] = at
        calls = [
            {
                "id": f"call_{number}_{row['step']}_{place}",
                "name": "run_command",
                "parameters": {"command": f"{number} {row['step']} {place}"},
                "result": text(int(size)),
                "duration_ms": 0,
            }
            for place, size in enumerate(row["results"].split(), 1)
        ]
        said = {"content": text(int(row["answer"]) - _CALL * len(calls)), "tool_calls": calls}
        messages.append({"role": "assistant", **said, **common})
    return {
        "id": str(uuid5(NAMESPACE_URL, name)),
        "directory": "/home/dev/recorded",
        "title": f"recorded sizes, {name}",
        "model": model,
        "window_spec": str(WindowSpec(5, 3)),
        "first_query": messages[0]["content"][:200],
        "created_at": BEGAN.isoformat(),
        "updated_at": messages[-1]["created_at"],
        "interactions": list(turns.values()),
        "messages": messages,
        "playbook": [],
    }
