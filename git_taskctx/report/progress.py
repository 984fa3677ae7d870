"""Long work as a line on a terminal, drawn by rich; it is gone when the work is done, or given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from git_taskctx.model.progress import Progress
from git_taskctx.report.document import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Line

LEAST = 4 * 1024 * 1024
"""Work of fewer bytes is over before anybody would read the line, and not much after rich is loaded."""


class Bar:
    """The line."""

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        self._stream = stream
        self._colour = colour
        self._line: Line | None = None
        self._shown = -1
        """The percentage."""

    def show(self, progress: Progress) -> None:
        """Draw the line anew, where the percentage has changed; of work without a size write once what it is."""
        if progress.total < 0:
            self._stream.write(f"{printable(progress.what)} …\n")
            return
        if progress.total < LEAST:
            return
        if progress.done >= progress.total:
            self.close()
            return
        percent = 100 * progress.done // progress.total
        if percent != self._shown:
            self._shown = percent
            line = self._line = self._line or self._begin(progress)
            line.update(line.task_ids[0], completed=progress.done, refresh=True)

    def close(self) -> None:
        """Wipe the line out."""
        if self._line is not None:
            self._line.stop()
            self._line, self._shown = None, -1

    def _begin(self, progress: Progress) -> Line:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Line

        console = Console(file=self._stream, color_system="auto" if self._colour else None)
        columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), DownloadColumn(binary_units=True)
        line = Line(
            *columns,
            console=console,
            auto_refresh=False,  # no thread of its own
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        line.add_task(progress.what, total=progress.total)
        line.start()
        return line
