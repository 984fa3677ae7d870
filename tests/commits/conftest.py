"""A repository with one commit, our hooks in it, and a chain that comes to its end."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("around")

from gated import begun, desk, validated  # noqa: E402 - found beside the tests

__all__ = ["begun", "desk", "validated"]
