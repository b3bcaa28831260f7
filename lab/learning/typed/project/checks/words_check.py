"""Check the words."""

import unittest

from ebb.words import trend


class Words(unittest.TestCase):
    def test_rising(self):
        self.assertEqual(trend(1.0, 2.0), "rising")
