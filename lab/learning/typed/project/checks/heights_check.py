"""Check heights and the printed tables."""

import pathlib
import subprocess
import sys
import unittest

from ebb.heights import height

ROOT = pathlib.Path(__file__).parents[1]


class Heights(unittest.TestCase):
    def test_half_tide(self):
        self.assertEqual(height(1.0, 7.0, 3.0), 4.0)

    def test_high_water(self):
        self.assertEqual(height(1.0, 7.0, 6.0), 7.0)


class Tables(unittest.TestCase):
    def test_brest(self):
        command = [sys.executable, str(ROOT / "tools" / "tables.py"), "brest", "--check"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
