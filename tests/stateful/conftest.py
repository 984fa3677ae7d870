"""Assertions of the rules tell what they compared."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(*(f"stateful.{name}" for name in ("commands", "handoffs", "held", "trees")))
