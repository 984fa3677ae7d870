"""The throw-away project: its committed files, and the agents' versions."""

from __future__ import annotations

TASK_FILE = """\
id: TASK-0824
title: Discount on a cart
status: in_progress
priority: P1
area: shop
description: |
  Regular customers get a discount, in percent, on the whole cart.
acceptance_criteria:
  must:
    - ten percent off 1000 is 900
    - a discount under 0 or over 100 is refused
  quality_gates:
    - the tests pass
scope:
  in:
    - prices.py
    - test_prices.py
validation:
  commands:
    - python3 -m unittest -q
"""

POLICY = """\
agents = ["implementer", "reviewer", "validator"]

[chain]
distinct_actors = true   # who implements may not approve
"""

PRICES = '''\
"""What a cart costs, in cents."""


def total(items):
    """Add up pairs of price and quantity."""
    return sum(price * quantity for price, quantity in items)
'''

PRICES_DISCOUNT = '''\
"""What a cart costs, in cents."""


def total(items, discount=0):
    """Add up pairs of price and quantity, less a discount in percent."""
    whole = sum(price * quantity for price, quantity in items)
    return whole - whole * discount // 100
'''

PRICES_CHECKED = '''\
"""What a cart costs, in cents."""


def total(items, discount=0):
    """Add up pairs of price and quantity, less a discount in percent."""
    if not 0 <= discount <= 100:
        raise ValueError("a discount is 0 to 100 percent")
    whole = sum(price * quantity for price, quantity in items)
    return whole - whole * discount // 100
'''

TESTS = """\
import unittest

from prices import total


class TotalTest(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(total([(250, 2), (500, 1)]), 1000)
"""

TESTS_DISCOUNT = (
    TESTS
    + """
    def test_discount(self):
        self.assertEqual(total([(1000, 1)], discount=10), 900)
"""
)

TESTS_BOUNDS = (
    TESTS_DISCOUNT
    + """
    def test_bounds(self):
        for discount in (-1, 101):
            with self.assertRaises(ValueError):
                total([(1000, 1)], discount)
"""
)

FILES = {
    ".gitignore": "__pycache__/\n",
    ".taskctx.toml": POLICY,
    "prices.py": PRICES,
    "tasks/TASK-0824-discount.task.yaml": TASK_FILE,
    "test_prices.py": TESTS,
}
"""Committed before the task begins."""
