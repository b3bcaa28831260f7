"""The tutorial: a small project with a mistake that its test finds and one that it does not, and the lines to type."""

from __future__ import annotations

from pathlib import Path

from swecli.config.settings import Suggestion
from swecli.models.errors import BadInput

MODEL = "demo/tutorial"  # whose answers are recorded in swecli/tour/script.toml

FILES = {
    "prices.py": """\
TAX = 0.19


def gross(net):
    return net * TAX


def discounted(net, percent):
    return net - net * percent
""",
    "test_prices.py": """\
import unittest

import prices


class Prices(unittest.TestCase):
    def test_gross(self):
        self.assertEqual(round(prices.gross(100)), 119)
""",
}

STEPS = (
    Suggestion(
        "look around", "The ● lines are what it does: it lists the folder and reads two files."
    ),
    Suggestion("what does gross do?", "It answers from what it has read, without another call."),
    Suggestion(
        "remember that the tests run with `python3 -m unittest`",
        "The line with + at the end is what it keeps, in your words, for all later sessions.",
    ),
    Suggestion("run the tests", "It uses the rule P-1 that you taught it, and the test fails."),
    Suggestion(
        "fix it and run them again",
        "You see the change first and are asked: 1 is yes. Then ✎ says that P-1 helped.",
    ),
    Suggestion("/playbook", "All that it has learned, who said it, and what it did."),
    Suggestion(
        "/playbook edit P-1 The tests run with `python3 -m unittest -v`",
        "You can correct what it has learned.",
    ),
    Suggestion("/undo", "The file and the conversation go back to before the fix; the rule stays."),
    Suggestion("/redo", "The fix is back."),
    Suggestion("/window 1", "From now on the model is sent one turn. The others stay stored."),
    Suggestion(
        "how do the tests run?",
        "The turn in which you said it is not sent any more; the rule P-1 is.",
    ),
    Suggestion(
        "/review prices.py", "It looks for mistakes that no test covers, and finds one: F-1."
    ),
    Suggestion("/review --fix F-1", "It repairs the finding, and asks you as before."),
    Suggestion("/exit", "The last line says how to start in a project of your own."),
)


def make_project(folder: Path) -> None:
    """Write the files of the tutorial into a new folder. Raises BadInput."""
    try:
        folder.mkdir(parents=True)
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise BadInput(
            f"{folder} is there already.", "Name a new folder: swecli tutorial FOLDER"
        ) from error
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be made: {error.strerror}.", "Name another: swecli tutorial FOLDER"
        ) from error
