"""A real browser, one for each file of tests: an event loop runs in this thread for as long as it is there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("report.browsing")

from tools import TOOL_PATH  # noqa: E402 - found beside the tests

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window; root may only run it without its sandbox."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium", path=TOOL_PATH), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()
