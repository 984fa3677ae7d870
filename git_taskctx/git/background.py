"""A call in a background thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import threading

T = TypeVar("T")


class Background(Generic[T]):
    """A call started by `start`, or when its result is asked for; the asker gets its error."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start, unless started."""
        if self._thread is None:
            import threading

            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def result(self) -> T:
        """Wait for the call and return its result. Raises: its error."""
        self.start()
        self.wait()
        if self._error is not None:
            raise self._error
        return self._values[0]

    def wait(self) -> None:
        """Wait for the call to end, if it has started."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:  # for `result`
            self._error = error
