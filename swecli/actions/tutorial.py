"""The tutorial: a small project with a mistake that its test finds and one that it does not, and the lines to type."""

from __future__ import annotations

from pathlib import Path

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

LINES = (
    # 1: look
    "look around",
    # 2: ask
    "what does gross do?",
    # 3: teach it a rule, and see the test fail
    "remember that the tests run with `python3 -m unittest`",
    "run the tests",
    # 4: an edit with its diff, and the test that passes then credits the rule
    "fix it and run them again",
    # 5: the playbook, and a rule that changes
    "/playbook",
    "/playbook edit P-1 The tests run with `python3 -m unittest -v`",
    # 6: undo the edit with the turn that made it, and redo it
    "/undo",
    "/redo",
    # 7: a window of one turn, and what stays known
    "/window 1",
    "how do the tests run?",
    # 8: a review of what no test covers, and its repair
    "/review prices.py",
    "/review --fix F-1",
    "/exit",
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
