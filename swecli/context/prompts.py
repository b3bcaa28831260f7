"""The product's own prompts, kept as text files beside this module: prompts are data."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

PromptName = Literal["system", "reflect", "condense"]

_FOLDER = Path(__file__).parent / "prompts"


def load_prompt(name: PromptName) -> str:
    """The text of a prompt, the same bytes every time.

    "system" opens every request of a turn; "reflect" is the system text of a reflector's request; "condense" is
    the user message that asks for a summary of the conversation before it.
    """
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()
