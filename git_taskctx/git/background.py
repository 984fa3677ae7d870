"""A call that runs beside others, in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """A call that is begun by `start`, or when its result is asked for; its error is raised to whoever asks."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, where it has not begun yet."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def result(self) -> T:
        """Wait for the call and return what it gave. Raises: what it raised."""
        self.start()
        self.wait()
        if self._error is not None:
            raise self._error
        return self._values[0]

    def wait(self) -> None:
        """Wait for the call to end, if it has begun."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:  # for `result`
            self._error = error
