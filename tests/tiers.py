"""Which cases of a test are for the usual tier, and which for deep runs alone."""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Container, Iterable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
U = TypeVar("U")
deep = False
"""Whether this run is a deep one."""


def some(values: Iterable[T], quick: Container[T]) -> list[Any]:
    """Return values to parametrize with: those that are not in `quick` are for deep runs."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.deep) for value in values]


def sample(values: Sequence[T]) -> Sequence[T]:
    """Return all of them in a deep run, otherwise one, always the same for a test; many tests together have all."""
    return values if deep else [values[zlib.crc32(os.environ["PYTEST_CURRENT_TEST"].encode()) % len(values)]]


def paired(ones: Sequence[T], others: Sequence[U]) -> list[tuple[T, U]]:
    """Return all pairs in a deep run, otherwise as few as have each of both."""
    if deep:
        return list(itertools.product(ones, others))
    count = max(len(ones), len(others))
    return list(itertools.islice(zip(itertools.cycle(ones), itertools.cycle(others), strict=False), count))
