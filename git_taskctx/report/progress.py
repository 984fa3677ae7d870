"""Long work as a line on a terminal, drawn over itself, as git draws its own."""

from __future__ import annotations

from typing import TextIO

from git_taskctx.model.progress import Progress

LEAST = 1024 * 1024
"""Work of fewer bytes is over before anybody would read the line."""


class Bar:
    """The line; it is gone when the work is done, or given up."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = ""

    def show(self, progress: Progress) -> None:
        """Draw the line anew, where it has changed."""
        if progress.total < LEAST:
            return
        if progress.done >= progress.total:
            self.close()
            return
        mib = 1024 * 1024
        text = (
            f"{progress.what}: {100 * progress.done // progress.total:3} % "
            f"({progress.done / mib:.1f} of {progress.total / mib:.1f} MiB)"
        )
        if text != self._shown:
            self._draw(text.ljust(len(self._shown)))
            self._shown = text

    def close(self) -> None:
        """Wipe the line out."""
        if self._shown:
            self._draw(" " * len(self._shown) + "\r")
            self._shown = ""

    def _draw(self, text: str) -> None:
        self._stream.write(f"\r{text}")
        self._stream.flush()
